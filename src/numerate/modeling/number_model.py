"""`NumberModel`: a Hugging Face backbone that reads and predicts numbers.

The backbone is never resized or edited. [NUM] and our other tokens have embeddings of our own (`own_rows`), with ids
above all of the backbone's, and their logits are appended to the backbone's. So text without numbers gives the same
logits as before.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from numerate.embedders.gate import ZeroGate
from numerate.errors import BadInput
from numerate.modeling import introspection
from numerate.modeling.answer_context import in_context
from numerate.modeling.asking import (
    asked_batch,
    asked_ids,
    check_asked,
    in_turn,
    mark_head,
    refusal,
    text_list,
    warn_bare,
    warn_untrained,
)
from numerate.modeling.generation import generate, generate_ids
from numerate.modeling.inputs import NumberVectors, decoder_inputs, embed, late_change, number_vectors
from numerate.modeling.introspection import BackboneInfo, LastState, NumberOutput, evaluating
from numerate.modeling.last_state import replaced_embeddings
from numerate.modeling.neighbour_features import NeighbourFeatures
from numerate.modeling.options import NEIGHBOUR_OPTIONS, PlacementOptions
from numerate.modeling.outputs import Predicted, number_outputs
from numerate.modeling.peft_adapters import check_prompts
from numerate.modeling.placement import PLACEMENTS
from numerate.modeling.pretrained_interface import PretrainedInterface
from numerate.modeling.ratio_features import RatioFeatures
from numerate.modeling.saving import fingerprint_of
from numerate.modeling.trainer_checkpoint import describe_in_state
from numerate.objectives.base import Objective, Task, Vocabulary
from numerate.objectives.causal import Causal
from numerate.objectives.hiding import gather_rows
from numerate.processing.slot_positions import NumberPlaces, table_of
from numerate.processing.static_shapes import is_recorded, labelled_places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from transformers import PreTrainedModel

    from numerate.embedders.base import Embedder
    from numerate.heads.base import Head, NumberDistribution
    from numerate.modeling.fingerprint import Fingerprint
    from numerate.processing.number_table import NumberTable
    from numerate.processing.processor import NumberProcessor

__all__ = ["NumberModel"]


class NumberModel(PretrainedInterface):
    """A backbone with number embedder, head and objective; `numerate.attach` builds one from names.

    Args:
        backbone: A model from a Hugging Face Auto class.
        processor: The processor that makes its batches.
        embedder: Makes the vectors of numbers; None leaves the embeddings at their slots unchanged.
        head: Predicts distributions of the numbers that are asked for.
        objective: What `loss` means in training, when no labels are given.
        options: How the vectors enter the backbone.
        recipe: The recipe's name, for the record.
        citation: The citation in the model card.

    Attributes:
        info: What we know of the backbone: its task, its widths, whether it is causal.
        labelled_logits: Compute token logits in training steps only where there is a label, which saves most of the
            time of a small masked language model; `logits` are then (N, 1, V). `NumberTrainer` does so; off by default.
        on_numbers: Called after each forward pass with the `numbers` and `number_index` of its output, which mixed
            precision drops from the output itself, and the task's targets (a `NumberTable` or None); None for nothing.
    """

    fitted = False
    """Whether head and embedder were fitted to data or trained; see `numerate.modeling.fitting`."""
    head_fingerprint: Fingerprint | None = None
    """The fingerprint of the head's weights while it is untrained; see `numerate.modeling.asking`."""
    number_loss: Tensor | None = None
    """The mean loss of the number head in the last batch that had a loss, for logs; not in compiled code."""
    left_out: Tensor | None = None
    """Number of masked tokens and numbers that found no place on an accelerator and were not learnt; see
    `numerate.processing.static_shapes`. In practice 0: the places are eight standard deviations above the expected
    number."""
    has_warned = False
    """Whether `predict` has said that the head is untrained."""
    has_warned_bare = False
    """Whether `forward` has said that a batch has no number fields."""

    def __init__(
        self,
        backbone: PreTrainedModel,
        processor: NumberProcessor,
        *,
        embedder: Embedder | None = None,
        head: Head | None = None,
        objective: Objective | None = None,
        options: PlacementOptions | None = None,
        recipe: str | None = None,
        citation: str = "",
    ) -> None:
        super().__init__()
        check_prompts(backbone)
        self.info = info = BackboneInfo.of(backbone)
        self.options = options = PlacementOptions() if options is None else options
        self.placement = options.placement or "replace"
        self._check(embedder, head, objective, processor)
        self.backbone, self.processor, self.recipe, self.citation = backbone, processor, recipe, citation
        processor.learns_without_labels = objective is not None and not objective.needs_labels
        self.embedder, self.head, self.objective = embedder, head, objective
        dim, causal = info.embedding_dim, info.is_causal
        self.gate = ZeroGate(embedder.width) if options.gated and embedder is not None else None
        near, late, related = (getattr(options, name) for name in NEIGHBOUR_OPTIONS)
        self.reach = NeighbourFeatures(dim, near, causal=causal) if near else None
        self.late_reach = NeighbourFeatures(dim, late, info.hidden_dim, causal) if late else None
        self.relations = RatioFeatures(dim, related, causal) if related else None
        own = len(processor.own_tokens)
        rows = introspection.first_rows(backbone.get_input_embeddings(), own)
        # Beside a backbone of half precision ours stay in float32: small steps of new weights would be rounded away.
        self.own_rows = nn.Parameter(rows.to(torch.promote_types(rows.dtype, torch.float32)))
        self.own_logits = nn.Linear(info.hidden_dim, own) if info.is_language_model else None
        if self.own_logits is not None:
            nn.init.normal_(self.own_logits.weight, std=0.02)
            nn.init.zeros_(self.own_logits.bias)
        self.objective_parts = None if objective is None else objective.parts(info.hidden_dim)
        for part in self.children():
            if part is not backbone:
                part.to(device=self.own_rows.device, dtype=self.own_rows.dtype)
        words: Any = processor.tokenizer
        special = tuple(words.all_special_ids)
        self.vocabulary = Vocabulary(
            words.mask_token_id, processor.num_id, special, head is not None, len(words), words.pad_token_id or 0,
            several_tokens=processor.several_tokens, spells_numbers=processor.spells_numbers,
        )  # fmt: skip
        # Takes the place of our tokens where the backbone needs ids of its own: any token without a special meaning.
        self._stand_in = next((token for token in range(len(words)) if token not in special), 0)
        self.labelled_logits = False
        self.on_numbers: Callable[[NumberDistribution | None, Tensor | None, NumberTable | None], Any] | None = None
        introspection.list_ties_once(self, "backbone.")
        describe_in_state(self)
        self.backbone_fingerprint = fingerprint_of(backbone)
        mark_head(self, trained=False)
        if objective is not None:
            objective.bind(words)
        self.last_state = LastState(backbone)
        if options.late_reach and self.last_state.asks:
            raise ValueError(f"late_reach={options.late_reach}: needs a backbone with an encoder below its head")

    def _check(
        self, embedder: Embedder | None, head: Head | None, objective: Objective | None, processor: NumberProcessor
    ) -> None:
        """Refuses parts and options that do not fit together or do not fit the backbone."""
        placement, info = self.placement, self.info
        if placement not in PLACEMENTS:
            raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, got {placement=}")
        if embedder is not None and (embedder.width == 1) != (placement == "scale"):
            need = "an embedder of width 1" if placement == "scale" else "placement='scale' or another embedder"
            raise ValueError(f"placement {placement!r} with {type(embedder).__name__}: needs {need}")
        if info.is_encoder_decoder and objective is not None and not objective.needs_labels:
            raise ValueError(f"objective {objective.config.kind!r} on an encoder-decoder: needs 'labelled' or None")
        if isinstance(objective, Causal) and not info.is_causal:
            raise ValueError("objective 'causal' on a model that sees the tokens after a token: use 'masked' or None")
        narrow = embedder is None or embedder.width == 1
        for part, need in ((None if narrow else embedder, info.embedding_dim), (head, info.hidden_dim)):
            if part is not None and part.dim != need:
                raise ValueError(f"{type(part).__name__} was built with dim={part.dim}: this backbone needs dim={need}")
        for name in NEIGHBOUR_OPTIONS if narrow or info.is_encoder_decoder else ():
            if count := getattr(self.options, name):
                need = "an embedder as wide as tokens" if narrow else "a model that is no encoder-decoder"
                raise ValueError(f"{name}={count}: needs {need}")
        if self.options.pooled and (info.is_language_model or info.is_encoder_decoder):
            kind = "an encoder-decoder" if info.is_encoder_decoder else "a language model"
            raise ValueError(f"pooled=True on {kind}: needs an encoder or decoder without a language-model head")
        hides = objective is not None and getattr(objective.config, "joint", False) and processor.has_slots
        if hides and objective is not None and objective.config.number_tokens is not None:
            kind = processor.notation.config.kind
            raise ValueError(f"number_tokens with notation {kind!r}: hidden numbers have no tokens, set joint=False")

    def forward(
        self,
        input_ids: Tensor | None = None, attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None, position_ids: Tensor | None = None,
        number_slots: Tensor | None = None, number_bits: Tensor | None = None, number_chars: Tensor | None = None,
        number_precision: Tensor | None = None, number_given: Tensor | None = None,
        number_scale: Tensor | None = None, number_wanted: Tensor | None = None,
        number_column: Tensor | None = None, sample_id: Tensor | None = None,
        labels: Tensor | None = None, start_positions: Tensor | None = None, end_positions: Tensor | None = None,
        decoder_input_ids: Tensor | None = None, decoder_attention_mask: Tensor | None = None,
        decoder_number_slots: Tensor | None = None, decoder_number_bits: Tensor | None = None,
        decoder_number_chars: Tensor | None = None, decoder_number_precision: Tensor | None = None,
        decoder_number_given: Tensor | None = None, return_loss: bool | None = None, every_number: bool = False,
        loss_counts: Mapping[str, Tensor] | None = None, word_logits: bool = True, prepared: Task | None = None,
        **kwargs: Any,
    ) -> NumberOutput:  # fmt: skip
        """Runs the backbone on a processor's batch; its fields are described in `numerate.processing.number_table`.

        Every field is a named argument, because the HF Trainer drops all others. The masks, `token_type_ids`,
        `position_ids`, the positions of question answering and `kwargs` are passed to the backbone. `labels` are (B, T)
        token ids with -100 elsewhere for language models, otherwise as the backbone takes them. For encoder-decoders,
        the decoder has a number table of its own, aligned with `labels` if `decoder_input_ids` are not given.

        Besides, there are: `number_wanted` (B, M), the numbers that the objective `masked` masks instead of random
        ones; `number_column` (B, M), the column of each number, for the objective `column`; `sample_id` (B,), so that
        masks depend on the sample and not on its batch; `return_loss`, whether the objective masks the batch and gives
        a loss (by default in training, without labels); `every_number`, to predict all given numbers (see `numbers_of`)
        instead of those that are asked for; `loss_counts`, the counts that the losses of a step of several batches are
        divided by (see `numerate.training.loss_normalisation`; by default a loss is the batch's mean);
        `word_logits`: False leaves out the logits of words where they are not needed, half of the time of a small
        masked language model, and `logits` are then (0, 1, V); and `prepared`, the task that the objective has made of
        the batch already, whose inputs are used instead of the fields (see `numerate.training.prepared_batches`).
        With `return_dict=False`, the output is a tuple, as in transformers.
        """
        self._refuse_offload()
        kwargs = {key: value for key, value in kwargs.items() if value is not None}
        as_tuple = kwargs.pop("return_dict", True) is False
        if "inputs_embeds" in kwargs:
            raise ValueError("inputs_embeds: numbers are found by input_ids; prompt tuning is not supported, use LoRA")
        if not isinstance(input_ids, Tensor):
            got = "none" if input_ids is None else repr(input_ids)[:60]
            raise ValueError(
                f"input_ids must be a tensor, got {got}: call model(**model.processor(texts, return_tensors='pt'))"
            )
        if labels is not None and labels.dim() == 2 and labels.shape[1] == 0:  # of a collator, for the stock Trainer
            labels, return_loss = None, return_loss is not False
        if number_slots is None and prepared is None:
            warn_bare(self)
        fields: dict[str, Any] = {
            "input_ids": input_ids, "attention_mask": attention_mask, "token_type_ids": token_type_ids,
            "position_ids": position_ids, "sample_id": sample_id,
            "number_slots": number_slots, "number_bits": number_bits, "number_chars": number_chars,
            "number_precision": number_precision, "number_given": number_given, "number_scale": number_scale,
            "number_wanted": number_wanted, "number_column": number_column,
        }  # fmt: skip
        passed: dict[str, Any] = {"start_positions": start_positions, "end_positions": end_positions}
        if self.info.is_encoder_decoder:
            decoder = {
                "input_ids": decoder_input_ids, "number_slots": decoder_number_slots,
                "number_bits": decoder_number_bits, "number_chars": decoder_number_chars,
                "number_precision": decoder_number_precision, "number_given": decoder_number_given,
            }  # fmt: skip
            kwargs.pop("decoder_number_scale", None)  # a decoder's numbers are not hidden
            passed["decoder_inputs_embeds"], predicted = decoder_inputs(self, decoder, labels)
            passed["decoder_attention_mask"] = decoder_attention_mask
            task = self.task(predicted, labels, return_loss)
        else:
            task = prepared
            if prepared is None:
                task = self.task(fields, labels, return_loss)
            else:
                fields = dict.fromkeys(fields) | prepared.inputs
            fields = predicted = fields if task is None or prepared is not None else task.inputs
            if task is not None and task.source is not None:
                kwargs = {key: _moved(value, task.source) for key, value in kwargs.items()}
        if not self.info.is_language_model:
            passed["labels"] = labels
        passed |= {name: fields[name] for name in ("attention_mask", "token_type_ids", "position_ids")}
        if passed["position_ids"] is None:
            passed["position_ids"] = self.info.position_ids(fields["input_ids"], fields["attention_mask"])
        passed = kwargs | {key: value for key, value in passed.items() if value is not None} | {"return_dict": True}
        places = NumberPlaces.of(fields) if task is None or task.places is None else task.places
        numbers = number_vectors(self, fields, places)
        labelled, own = self._labelled(task, word_logits), places if predicted is fields else NumberPlaces.of(predicted)
        wanted = Predicted(self, predicted, own, task, has_labelled=labelled is not None)
        embeddings = self.embed(self.backbone.get_input_embeddings(), fields, numbers)
        self.last_state.change = late_change(self, numbers)
        self.last_state.labelled = labelled
        output, hidden = introspection.run_with_embeddings(
            self.backbone, self.info, self.last_state, self._plain(fields), embeddings, **passed
        )

        def again(backbone: nn.Module, own_words: bool = False) -> Any:
            inputs = {"input_ids": self._plain(fields)()}
            if own_words:
                return backbone(**inputs, **passed)
            if not self.info.needs_ids:
                return backbone(inputs_embeds=embeddings.detach(), **passed)
            with replaced_embeddings(backbone, embeddings.detach()):  # type: ignore[arg-type]
                return backbone(**inputs, **passed)

        read, self.last_state.read = self.last_state.read, None
        shares = loss_counts and {key: count / loss_counts["batches"] for key, count in loss_counts.items()}
        whole = number_outputs(
            self, output, hidden, wanted, task, every=every_number, again=again, shares=shares, labelled=labelled,
            read=read,
        )  # fmt: skip
        return whole.to_tuple() if as_tuple else whole  # type: ignore[return-value]

    @in_turn
    def predict(self, text: str | list[str], target: str | list[str] = "[NUM]") -> NumberDistribution:
        """The distributions of the numbers that the texts ask for with a literal `[NUM]`, in reading order.

        They are in the units of the text, also if the processor scales numbers, and `best` writes numbers as the text
        does.

        Args:
            text: One text or more; for an encoder-decoder, the encoder's input. Texts are cut as in training, at
                `max_tokens` or the backbone's maximum. No texts give no distributions.
            target: For an encoder-decoder, the decoder's text with `[NUM]` in it; one for all texts, or one for each.

        Raises:
            BadInput: A text has no `[NUM]`, a `[NUM]` is cut off, or the model did not learn to predict hidden
                numbers. A head that was never trained on numbers is only a warning in the log.
        """
        head = self._needs_head()
        if said := refusal(self):
            raise BadInput(said)
        texts = text_list(text, "predict")
        warn_untrained(self)
        if not texts:
            return head(torch.zeros(0, self.info.hidden_dim, device=self.device))
        answer = asked_batch(self, texts)
        if not self.info.is_encoder_decoder:
            check_asked(answer, texts)
        batch = dict(answer)
        batch["input_ids"] = asked_ids(self, batch)
        asking = texts
        if not self.info.is_encoder_decoder and target != "[NUM]":
            raise BadInput(f"target is what an encoder-decoder answers, got {target!r}: ask with [NUM] in the text")
        if self.info.is_encoder_decoder:
            asking = [target] * len(texts) if isinstance(target, str) else list(target)
            if len(asking) != len(texts):
                raise BadInput(f"target must be one text or one for each of {len(texts)} texts, got {len(asking)}")
            answer = asked_batch(self, asking)
            check_asked(answer, asking)
            batch["labels"] = answer["input_ids"].masked_fill(answer["attention_mask"] == 0, -100)
            table = {key: value for key, value in answer.items() if key.startswith("number_") and key != "number_scale"}
            batch |= {f"decoder_{key}": value for key, value in table.items()}
        with evaluating(self), torch.no_grad():
            output = self(**batch, return_loss=False, word_logits=False)
        return in_context(self, output.numbers, output.number_index, asking, answer.numerals)

    @in_turn
    def numbers_of(self, batch: Mapping[str, Any]) -> tuple[NumberDistribution, NumberTable]:
        """Predicts every number of a batch from the text before it, for evaluation: without gradients or dropout.

        Numbers come in reading order, row by row, without those that are not finite or have no token before them.
        `forward(**batch, every_number=True)` gives the same distributions beside the logits, and the row and number
        index of each in `number_index`.

        Args:
            batch: A processor's batch, for a causal model or (with `labels` and the `decoder_` table) an
                encoder-decoder. A model that attends to both sides would see the number itself.

        Returns:
            N distributions, and a flat table of the N numbers.
        """
        self._needs_head()
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

    @in_turn
    def generate(
        self, prompts: Any = None, max_new_tokens: int | None = None, *, input_ids: Tensor | None = None, **options: Any
    ) -> Any:
        """Continues prompts in words and numbers.

        Args:
            prompts: One text or more; options as `numerate.modeling.generation.generate` takes them.
            max_new_tokens: The largest number of new tokens; by default 64.
            input_ids: (B, T) token ids instead of texts, as Hugging Face tools pass them; see `generate_ids`.
            **options: Options of `generate` or `generate_ids`.

        Returns:
            A `Generation` for texts; for ids, (B, T + new) ids of the tokenizer.
        """
        if isinstance(prompts, Tensor) and input_ids is None:
            prompts, input_ids = None, prompts
        if (prompts is None) == (input_ids is None):
            raise ValueError("generate needs either prompts (texts) or input_ids (a tensor)")
        if input_ids is not None:
            return generate_ids(self, input_ids, max_new_tokens=max_new_tokens, **options)
        texts: Any = prompts
        return generate(self, texts, 64 if max_new_tokens is None else max_new_tokens, **options)

    def embed(self, words: nn.Module, fields: Mapping[str, Any], numbers: NumberVectors | None = None) -> Tensor:
        """Token embeddings (B, T, D) with our own rows and the numbers' vectors in them; see `inputs.embed`."""
        return embed(self, words, fields, numbers)

    def _plain(self, fields: Mapping[str, Any]) -> Callable[[], Tensor]:
        """A function that gives the backbone's own ids: an ordinary token takes the place of each of ours."""
        ids: Tensor = fields["input_ids"]
        return lambda: torch.where(ids >= self.processor.first_id, self._stand_in, ids)

    def _needs_head(self) -> Head:
        if self.head is None:
            raise BadInput(
                "this model has no number head: attach it with head='mixture', or head='recipe' if its recipe has one"
            )
        return self.head

    def _labelled(self, task: Task | None, words: bool = True) -> Tensor | None:
        """Places of the only tokens whose logits are needed, none of them without `words`; None for all."""
        if not words and task is None and self.info.task == "masked-lm" and not self.last_state.asks:
            return torch.zeros(0, dtype=torch.int64, device=self.device)
        labels = None if task is None else task.labels
        if not (self.labelled_logits and self.training) or labels is None or self.info.task != "masked-lm":
            return None
        if self.last_state.asks or self.last_state.pick is not None or is_recorded():
            return None
        if self.objective is None or self.objective.reads_logits:
            return None
        if (added := self.objective.number_tokens) is not None and added.reads_neighbours:
            return None  # tokens that are picked from their rows have none
        known, share = task.token_places, task.token_share  # type: ignore[union-attr]
        return labelled_places(labels != -100, share) if known is None else known

    def task(self, fields: dict[str, Any], labels: Tensor | None, return_loss: bool | None) -> Task | None:
        """What is learnt from a batch (or a decoder's fields); None if nothing is, or the backbone has its own loss."""
        if labels is not None:
            if not self.info.is_language_model:
                return None
            return Task(fields, labels) if self.objective is None else self.objective.label(fields, labels)
        wanted = self.training if return_loss is None else return_loss
        if not wanted or self.objective is None or self.objective.needs_labels:
            return None
        return self.objective.prepare(fields, self.own_vocabulary())

    def own_vocabulary(self) -> Vocabulary:
        """The vocabulary for the objective's `prepare`."""
        if self.info.takes_positions and self.processor.tokenizer.padding_side == "left":
            return dataclasses.replace(self.vocabulary, pads_left=True)
        return self.vocabulary


def _moved(value: Any, source: Tensor) -> Any:
    """A further argument of the backbone with one entry for each token, such as boxes, moved with the tokens."""
    is_field = isinstance(value, Tensor) and value.dim() > 1 and value.shape[:2] == source.shape
    return gather_rows(value, source) if is_field else value
