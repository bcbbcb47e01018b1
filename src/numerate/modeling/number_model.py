"""`NumberModel`: a Hugging Face backbone that sees and predicts numbers.

The backbone is never resized or edited. [NUM] and every other token of ours live in rows of our own, with ids above all
of the backbone's; their logits are appended to the backbone's. So text without numbers gives the very logits it gave
before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from numerate.embedders.gate import ZeroGate
from numerate.modeling.generation.interface import Speaks
from numerate.modeling.introspection import (
    BackboneInfo,
    LastState,
    NumberOutput,
    evaluating,
    first_rows,
    list_ties_once,
    run_with_embeddings,
)
from numerate.modeling.neighbour_features import NeighbourFeatures
from numerate.modeling.outputs import Answers
from numerate.modeling.placement import PLACEMENTS, place, rows_at, vectors_of
from numerate.modeling.ratio_features import RatioFeatures
from numerate.modeling.saving import Keeps
from numerate.objectives.base import Objective, Task, Vocabulary
from numerate.processing.slot_positions import table_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from transformers import PreTrainedModel

    from numerate.embedders.base import Embedder
    from numerate.heads.base import Head, NumberDistribution
    from numerate.processing.number_table import NumberTable
    from numerate.processing.processor import NumberProcessor

__all__ = ["NumberModel"]


class NumberModel(Speaks, Answers, Keeps, nn.Module):
    """A backbone with number embedder, head and objective, all given ready-made; `numerate.attach` builds it by name.

    Args:
        backbone: What a Hugging Face Auto class gives.
        processor: The processor whose batches it takes.
        embedder: Vectors for the numbers; None leaves the slots as they are.
        placement: `replace` the slot's embedding by the vector, `add` it, or `scale` by it.
        gated: Put the embedder behind a gate that is shut at first.
        reach: How many tokens on each side of a number its vector is added to as well; see `neighbour_features`.
        late_reach: The same in the backbone's last state, which its head sees.
        relations: How many numbers on each side of a number get ratio features; see `ratio_features`.
        head: Distributions for the numbers asked for.
        objective: What `loss` means in training, when no labels are given.
        recipe: The recipe's name, for the record.
        citation: What the model card cites.
    """

    accepts_loss_kwargs = False
    """For the HF Trainer: our losses are means over the batch."""

    def __init__(
        self,
        backbone: PreTrainedModel,
        processor: NumberProcessor,
        *,
        embedder: Embedder | None = None,
        placement: str = "replace",
        gated: bool = False,
        reach: int = 0,
        late_reach: int = 0,
        relations: int = 0,
        head: Head | None = None,
        objective: Objective | None = None,
        recipe: str | None = None,
        citation: str = "",
    ) -> None:
        super().__init__()
        if placement not in PLACEMENTS:
            raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, got {placement=}")
        if embedder is not None and (embedder.width == 1) != (placement == "scale"):
            need = "an embedder of width 1" if placement == "scale" else "placement='scale' or another embedder"
            raise ValueError(f"placement {placement!r} with {type(embedder).__name__}: needs {need}")
        self.info = BackboneInfo.of(backbone)
        if self.info.is_encoder_decoder and objective is not None and not objective.needs_labels:
            raise ValueError(f"objective {objective.config.kind!r} on an encoder-decoder: needs 'labelled' or None")
        one_sided = self.info.is_causal or self.info.is_encoder_decoder
        fits = embedder is not None and embedder.width == self.info.embedding_dim and not one_sided
        for name, count in (("reach", reach), ("late_reach", late_reach), ("relations", relations)):
            if count and not fits:
                raise ValueError(
                    f"{name}={count}: needs an embedder as wide as tokens, and a model that sees both sides"
                )
        self.backbone, self.processor, self.recipe, self.citation = backbone, processor, recipe, citation
        self.embedder, self.placement, self.head, self.objective = embedder, placement, head, objective
        self.gate = ZeroGate(embedder.width) if gated and embedder is not None else None
        self.reach = NeighbourFeatures(self.info.embedding_dim, reach) if reach else None
        into = self.info.hidden_dim
        self.late_reach = NeighbourFeatures(self.info.embedding_dim, late_reach, into) if late_reach else None
        self.relations = RatioFeatures(self.info.embedding_dim, relations) if relations else None
        own = len(processor.own_tokens)
        self.own_rows = nn.Parameter(first_rows(backbone.get_input_embeddings(), own))
        self.own_logits = nn.Linear(self.info.hidden_dim, own) if self.info.is_language_model else None
        if self.own_logits is not None:
            nn.init.normal_(self.own_logits.weight, std=0.02)
            nn.init.zeros_(self.own_logits.bias)
        self.objective_parts = None if objective is None else objective.parts(self.info.hidden_dim)
        near = (self.reach, self.late_reach, self.relations)
        for part in (self.embedder, self.gate, *near, self.head, self.own_logits, self.objective_parts):
            if part is not None:
                part.to(device=self.own_rows.device, dtype=self.own_rows.dtype)
        words: Any = processor.tokenizer
        special = tuple(words.all_special_ids)
        self.vocabulary = Vocabulary(words.mask_token_id, processor.num_id, special, head is not None, len(words))
        # Stands in for our tokens where the backbone wants ids of its own: any token that means nothing to it.
        self._stand_in = next((token for token in range(len(words)) if token not in special), 0)
        self._frozen: list[nn.Parameter] = []
        list_ties_once(self, "backbone.")
        if objective is not None:
            objective.bind(words)
        self.last_state = LastState(backbone, self.info)
        if late_reach and self.last_state.asks:
            raise ValueError(f"{late_reach=}: needs a backbone with an encoder of its own below its head")

    @property
    def config(self) -> Any:
        """The backbone's own config, as Hugging Face tools expect it."""
        return self.backbone.config

    @property
    def device(self) -> torch.device:
        """The device of the backbone's embeddings."""
        return self.own_rows.device

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        number_slots: Tensor | None = None,
        number_bits: Tensor | None = None,
        number_chars: Tensor | None = None,
        number_precision: Tensor | None = None,
        number_given: Tensor | None = None,
        number_wanted: Tensor | None = None,
        number_column: Tensor | None = None,
        sample_id: Tensor | None = None,
        labels: Tensor | None = None,
        start_positions: Tensor | None = None,
        end_positions: Tensor | None = None,
        decoder_input_ids: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
        decoder_number_slots: Tensor | None = None,
        decoder_number_bits: Tensor | None = None,
        decoder_number_chars: Tensor | None = None,
        decoder_number_precision: Tensor | None = None,
        decoder_number_given: Tensor | None = None,
        return_loss: bool | None = None,
        every_number: bool = False,
        loss_counts: Mapping[str, Tensor] | None = None,
        **kwargs: Any,
    ) -> NumberOutput:
        """Runs the backbone on a processor's batch.

        Args:
            input_ids: (B, T), with ids of our own among them.
            attention_mask: As the backbone takes it; so are `token_type_ids`, `position_ids` and the `decoder_` masks.
            token_type_ids: See there.
            position_ids: See there.
            number_slots: (B, T); this and the table below are described in `numerate.processing.number_table`.
            number_bits: (B, M).
            number_chars: (B, M, L).
            number_precision: (B, M).
            number_given: (B, M).
            number_wanted: (B, M), which numbers `masked` masks, instead of drawn ones.
            number_column: (B, M), which column of its row each number belongs to, for the objective `column`.
            sample_id: (B,), so that masks depend on the sample and not on the batch it is in.
            labels: For language models (B, T) token ids with -100 elsewhere; otherwise as the backbone takes them.
            start_positions: For question answering.
            end_positions: For question answering.
            decoder_input_ids: Encoder-decoders only; by default the labels, shifted.
            decoder_attention_mask: As the backbone takes it.
            decoder_number_slots: The same table for the decoder, aligned with `labels` where those make its input.
            decoder_number_bits: See there.
            decoder_number_chars: See there.
            decoder_number_precision: See there.
            decoder_number_given: See there.
            return_loss: Whether the objective masks the batch and gives a loss; by default in training, without labels.
            every_number: Whether `numbers` are the distributions of all given numbers, see `numbers_of`, instead of
                those asked for.
            loss_counts: What the losses of a step are means over, if it is made of several batches: int64 by name, and
                `batches`; see `numerate.training.loss_normalisation`. By default a loss is the mean of its batch.
            **kwargs: Passed to the backbone.
        """
        if input_ids is None:
            raise ValueError("input_ids are needed: a processor's batch has them")
        fields: dict[str, Any] = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "number_slots": number_slots,
            "number_bits": number_bits,
            "number_chars": number_chars,
            "number_precision": number_precision,
            "number_given": number_given,
            "number_wanted": number_wanted,
            "number_column": number_column,
            "sample_id": sample_id,
        }
        passed = {"token_type_ids": token_type_ids, "start_positions": start_positions, "end_positions": end_positions}
        if self.info.is_encoder_decoder:
            decoder = {
                "input_ids": decoder_input_ids,
                "number_slots": decoder_number_slots,
                "number_bits": decoder_number_bits,
                "number_chars": decoder_number_chars,
                "number_precision": decoder_number_precision,
                "number_given": decoder_number_given,
            }
            passed["decoder_inputs_embeds"], predicted = self._decoder_inputs(decoder, labels)
            passed["decoder_attention_mask"] = decoder_attention_mask
            task = self._task(predicted, labels, return_loss)
        else:
            task = self._task(fields, labels, return_loss)
            fields = predicted = fields if task is None else task.inputs
        if not self.info.is_language_model:
            passed["labels"] = labels
        passed["attention_mask"] = attention_mask
        passed["position_ids"] = self.info.position_ids(input_ids) if position_ids is None else position_ids
        passed = kwargs | {key: value for key, value in passed.items() if value is not None} | {"return_dict": True}
        ids: Tensor = fields["input_ids"]
        plain = torch.where(ids >= self.processor.first_id, self._stand_in, ids)
        numbers = self._vectors(fields)
        embeddings = self._embed(self.backbone.get_input_embeddings(), fields, numbers)
        late = self.late_reach
        self.last_state.change = None if late is None or numbers is None else lambda state: late(state, *numbers)
        try:
            output, hidden = run_with_embeddings(self.backbone, self.info, self.last_state, plain, embeddings, **passed)
        finally:
            self.last_state.change = None

        def again(backbone: nn.Module, own_words: bool = False) -> Any:
            inputs = {"input_ids": plain} if own_words else {"inputs_embeds": embeddings.detach()}
            return backbone(**inputs, **passed)

        shares = loss_counts and {key: count / loss_counts["batches"] for key, count in loss_counts.items()}
        return self._finish(output, hidden, predicted, task, every_number, again, shares)

    def predict(self, text: str | list[str], target: str | list[str] = "[NUM]") -> NumberDistribution:
        """The distributions of the numbers that the texts ask for with a literal `[NUM]`, in reading order.

        Args:
            text: One text or more; for an encoder-decoder, what its encoder reads.
            target: For an encoder-decoder, what its decoder says, with the `[NUM]` asked for; one for all, or one a
                text.
        """
        if self.head is None:
            raise ValueError("this model has no number head: attach one with head=..., for example head='mixture'")
        texts = [text] if isinstance(text, str) else list(text)
        batch = dict(self.processor(texts, padding=True, return_tensors="pt").to(self.device))
        asking = texts
        if self.info.is_encoder_decoder:
            asking = [target] * len(texts) if isinstance(target, str) else list(target)
            answer = self.processor(asking, padding=True, return_tensors="pt").to(self.device)
            batch["labels"] = answer["input_ids"].masked_fill(answer["attention_mask"] == 0, -100)
            batch |= {f"decoder_{key}": value for key, value in answer.items() if key.startswith("number_")}
        with evaluating(self), torch.no_grad():
            numbers = self(**batch, return_loss=False).numbers
        if numbers is None:
            example = asking[0][:60] if asking else ""
            raise ValueError(f"no text asks for a number: write [NUM] where it belongs, as in {example!r}")
        return numbers

    def numbers_of(self, batch: Mapping[str, Any]) -> tuple[NumberDistribution, NumberTable]:
        """What the model predicts for every number of a batch from what stands before it, and what is written there.

        For measuring, without gradients and in evaluation mode. Numbers come in reading order, row by row; one with no
        token before it is left out, and so is one that is not finite. `forward(**batch, every_number=True)` gives the
        same distributions beside the logits, and row and number of each in `number_index`.

        Args:
            batch: A processor's, for a causal model or (with `labels` and the `decoder_` table) an encoder-decoder.
                A model that sees both sides of a number would see the number itself.

        Returns:
            N distributions, and a flat table of the N numbers.
        """
        if self.head is None:
            raise ValueError("this model has no number head: attach one with head=..., for example head='mixture'")
        if not (self.info.is_causal or self.info.is_encoder_decoder):
            raise ValueError(f"numbers_of needs a model that reads from left to right, got {self.info.task!r}")
        fields = {key: value.to(self.device) if isinstance(value, Tensor) else value for key, value in batch.items()}
        prefix = "decoder_" if self.info.is_encoder_decoder else ""
        table = table_of({key.removeprefix(prefix): value for key, value in fields.items() if key.startswith(prefix)})
        with evaluating(self), torch.no_grad():
            output = self(**fields, return_loss=False, every_number=True)
        if table is None or output.number_index is None:
            raise ValueError(f"the batch has no number table; it has {', '.join(batch)}")
        rows, numbers = output.number_index.unbind(1)
        return output.numbers, table[rows, numbers]

    def trainable_parameters(self) -> tuple[int, int]:
        """How many parameters are trained, and how many there are."""
        counts = [(p.numel(), p.requires_grad) for p in self.parameters()]
        return sum(n for n, trained in counts if trained), sum(n for n, _ in counts)

    def print_trainable_parameters(self) -> None:
        """Prints how many parameters are trained."""
        trained, total = self.trainable_parameters()
        print(f"trainable params: {trained:,} || all params: {total:,} || trainable%: {100 * trained / total:.4f}")

    def freeze_backbone(self, frozen: bool = True) -> NumberModel:
        """Freezes the backbone, or lets those of its weights train again that did before."""
        if frozen:
            self._frozen += [weight for weight in self.backbone.parameters() if weight.requires_grad]
        for weight in self._frozen:
            weight.requires_grad_(not frozen)
        self._frozen = self._frozen if frozen else []
        return self

    def gradient_checkpointing_enable(self, *arguments: Any, **options: Any) -> None:
        """Passed on to the backbone."""
        self.backbone.gradient_checkpointing_enable(*arguments, **options)

    def gradient_checkpointing_disable(self) -> None:
        """Passed on to the backbone."""
        self.backbone.gradient_checkpointing_disable()

    def _task(self, fields: dict[str, Any], labels: Tensor | None, return_loss: bool | None) -> Task | None:
        """What is to be learnt from a batch; None if nothing is, or if the backbone sees to it."""
        if labels is not None:
            if not self.info.is_language_model:
                return None
            return Task(fields, labels) if self.objective is None else self.objective.label(fields, labels)
        wanted = self.training if return_loss is None else return_loss
        if not wanted or self.objective is None or self.objective.needs_labels:
            return None
        return self.objective.prepare(fields, self.vocabulary)

    def _vectors(self, fields: dict[str, Any]) -> tuple[Tensor, NumberTable, Tensor] | None:
        """The slots, the table and the vectors of a batch's numbers; None where there are none."""
        table, slots = table_of(fields), fields["number_slots"]
        if self.embedder is None or table is None or slots is None:
            return None
        vectors = vectors_of(self.embedder, table)
        return slots, table, vectors if self.relations is None else vectors + self.relations(slots, table)

    def _embed(
        self, words: nn.Module, fields: dict[str, Any], numbers: tuple[Tensor, NumberTable, Tensor] | None = None
    ) -> Tensor:
        """Token embeddings with our own rows and the numbers' vectors, from `_vectors`, in them."""
        ids: Tensor = fields["input_ids"]
        own = ids >= self.processor.first_id
        embeddings = words(ids.masked_fill(own, 0))
        rows = rows_at(self.own_rows.to(embeddings.dtype), ids - self.processor.first_id, own)
        embeddings = torch.where(own[..., None], rows, embeddings)
        numbers = self._vectors(fields) if numbers is None else numbers
        if numbers is None:
            return embeddings
        slots, table, vectors = numbers
        gated = vectors if self.gate is None else self.gate(vectors)
        placed = place(embeddings, slots, table, gated, self.placement)
        return placed if self.reach is None else self.reach(placed, slots, table, vectors)

    def _decoder_inputs(self, fields: dict[str, Any], labels: Tensor | None) -> tuple[Tensor, dict[str, Any]]:
        """The decoder's embeddings, and its fields with the slots where their numbers are predicted, as labels are."""
        slots = fields["number_slots"]
        zero = None if slots is None else torch.zeros_like(slots[:, :1])
        predicted = fields
        if fields["input_ids"] is None:
            if labels is None:
                raise ValueError("an encoder-decoder needs labels or decoder_input_ids")
            shifted = None if slots is None or zero is None else torch.cat([zero, slots[:, :-1]], dim=1)
            ids = self.backbone.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
            fields = fields | {"input_ids": ids, "number_slots": shifted}
        elif slots is not None and zero is not None:
            predicted = fields | {"number_slots": torch.cat([slots[:, 1:], zero], dim=1)}
        return self._embed(self.backbone.get_decoder().get_input_embeddings(), fields), predicted
