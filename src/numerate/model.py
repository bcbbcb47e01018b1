"""`NumberModel`: a Hugging Face backbone that sees and predicts numbers.

The backbone is never resized or edited. [NUM] and every other token of ours live in rows of our own, with ids above all of
the backbone's; their logits are appended to the backbone's. So text without numbers gives the very logits it gave before.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn
from transformers.utils import ModelOutput

from numerate.batch import ASKED
from numerate.config import Config
from numerate.embedders.gate import ZeroGate
from numerate.hub import push_artefact, save_artefact
from numerate.objectives.base import Objective, Task, Vocabulary, token_loss
from numerate.slots import PLACEMENTS, number_positions, place, table_of, vectors_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from transformers import PreTrainedModel

    from numerate.embedders.base import Embedder
    from numerate.heads.base import Head, NumberDistribution
    from numerate.processor import NumberProcessor

__all__ = ["NumberModel", "NumberModelConfig", "NumberOutput", "hidden_dim"]


@dataclass(frozen=True, kw_only=True)
class NumberModelConfig(Config):
    """Everything that is needed to build a `NumberModel` again on the same backbone."""

    kind: ClassVar[str] = "number-model"
    recipe: str | None = None
    base_model: str = ""
    base_task: str = ""
    processor: dict[str, Any]
    embedder: dict[str, Any] | None = None
    placement: str = "replace"
    gated: bool = False
    head: dict[str, Any] | None = None
    objective: dict[str, Any] | None = None
    first_id: int
    embedding_dim: int
    hidden_dim: int


@dataclass
class NumberOutput(ModelOutput):
    """The backbone's output with what we add.

    Attributes:
        loss: The objective's loss, or the backbone's own.
        logits: The backbone's logits; for language models our tokens' logits are appended.
        numbers: Distributions of the numbers asked for, in reading order; None without a head or without any.
        number_index: (N, 2) row and position in the row's table of each of them.
        backbone: The backbone's own output.
    """

    loss: Tensor | None = None
    logits: Tensor | None = None
    numbers: Any = None
    number_index: Tensor | None = None
    backbone: Any = None


class NumberModel(nn.Module):
    """A backbone with number embedder, head and objective, all given ready-made; `numerate.attach` builds it by name.

    Args:
        backbone: What a Hugging Face Auto class gives.
        processor: The processor whose batches it takes.
        embedder: Vectors for the numbers; None leaves the slots as they are.
        placement: `replace` the slot's embedding by the vector, `add` it, or `scale` by it.
        gated: Put the embedder behind a gate that is shut at first.
        head: Distributions for the numbers asked for.
        objective: What `loss` means in training, when no labels are given.
        recipe: The recipe's name, for the record.
        citation: What the model card cites.
    """

    def __init__(
        self,
        backbone: PreTrainedModel,
        processor: NumberProcessor,
        *,
        embedder: Embedder | None = None,
        placement: str = "replace",
        gated: bool = False,
        head: Head | None = None,
        objective: Objective | None = None,
        recipe: str | None = None,
        citation: str = "",
    ) -> None:
        super().__init__()
        if placement not in PLACEMENTS:
            raise ValueError(f"placement must be one of {', '.join(PLACEMENTS)}, however: {placement=}")
        if embedder is not None and (embedder.width == 1) != (placement == "scale"):
            need = "an embedder of width 1" if placement == "scale" else "placement='scale' or another embedder"
            raise ValueError(f"placement {placement!r} with {type(embedder).__name__}: needs {need}")
        self.backbone, self.processor, self.recipe, self.citation = backbone, processor, recipe, citation
        self.embedder, self.placement, self.head, self.objective = embedder, placement, head, objective
        self.gate = ZeroGate(embedder.width) if gated and embedder is not None else None
        weight = backbone.get_input_embeddings().weight
        own = len(processor.own_tokens)
        self.own_rows = nn.Parameter(_first_rows(weight, own))
        output = backbone.get_output_embeddings()
        self.is_language_model = output is not None
        self.is_encoder_decoder = bool(getattr(backbone.config, "is_encoder_decoder", False))
        self.is_causal = self.is_language_model and not self.is_encoder_decoder and _is_causal(backbone)
        self.hidden_dim = hidden_dim(backbone)
        self.own_logits = nn.Linear(self.hidden_dim, own) if self.is_language_model else None
        if self.own_logits is not None:
            nn.init.normal_(self.own_logits.weight, std=0.02)
            nn.init.zeros_(self.own_logits.bias)
        for part in (self.embedder, self.gate, self.head, self.own_logits):
            if part is not None:
                part.to(device=weight.device, dtype=weight.dtype)
        tokenizer = processor.tokenizer
        self.vocabulary = Vocabulary(tokenizer.mask_token_id, processor.num_id, tuple(tokenizer.all_special_ids))

    @property
    def config(self) -> Any:
        """The backbone's own config, as Hugging Face tools expect it."""
        return self.backbone.config

    @property
    def device(self) -> torch.device:
        """The device of the backbone's embeddings."""
        return self.backbone.get_input_embeddings().weight.device

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
        **kwargs: Any,
    ) -> NumberOutput:
        """Runs the backbone on a processor's batch.

        Args:
            input_ids: (B, T), with ids of our own among them.
            attention_mask: As the backbone takes it; so are `token_type_ids`, `position_ids` and the `decoder_` masks.
            token_type_ids: See there.
            position_ids: See there.
            number_slots: (B, T); this and the table below are described in `numerate.batch`.
            number_bits: (B, M).
            number_chars: (B, M, L).
            number_precision: (B, M).
            number_given: (B, M).
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
            **kwargs: Passed to the backbone.
        """
        names = ("slots", "bits", "chars", "precision", "given")
        given = locals()
        batch: dict[str, Any] = {f"number_{name}": given[f"number_{name}"] for name in names}
        batch |= {"input_ids": input_ids, "attention_mask": attention_mask}
        task: Task | None = None
        wanted = self.training if return_loss is None else return_loss
        if wanted and self.objective is not None and labels is None and not self.is_encoder_decoder:
            task = self.objective.prepare(batch, self.vocabulary)
            batch = task.inputs
        passed = {"token_type_ids": token_type_ids, "start_positions": start_positions, "end_positions": end_positions}
        passed |= {key: value for key, value in kwargs.items()}
        passed["position_ids"] = self._positions(batch["input_ids"]) if position_ids is None else position_ids
        if self.is_encoder_decoder:
            decoder = {f"decoder_number_{name}": given[f"decoder_number_{name}"] for name in names}
            passed |= self._decoder_inputs(decoder, decoder_input_ids, labels)
            passed["decoder_attention_mask"] = decoder_attention_mask
            batch |= decoder
        if not self.is_language_model and labels is not None:
            passed["labels"] = labels
        passed = {key: value for key, value in passed.items() if value is not None}
        embeddings = self._embed(batch["input_ids"], batch, "")
        needs_hidden = self.is_language_model or self.head is not None
        output = self.backbone(
            inputs_embeds=embeddings,
            attention_mask=batch["attention_mask"],
            return_dict=True,
            **({"output_hidden_states": True} if needs_hidden else {}),
            **passed,
        )
        return self._finish(output, batch, task, labels)

    def predict(self, text: str | list[str]) -> NumberDistribution:
        """The distributions of the numbers that the texts ask for with a literal `[NUM]`, in reading order."""
        if self.head is None:
            raise ValueError("this model has no number head: attach one with head=..., for example head='mixture'")
        texts = [text] if isinstance(text, str) else text
        batch = self.processor(texts, padding=True, return_tensors="pt").to(self.device)
        with self._evaluating(), torch.no_grad():
            numbers = self(**batch, return_loss=False).numbers
        if numbers is None:
            raise ValueError(f"no text asks for a number: write [NUM] where it belongs, as in {texts[0][:60]!r}")
        return numbers

    def trainable_parameters(self) -> tuple[int, int]:
        """How many parameters are trained, and how many there are."""
        counts = [(p.numel(), p.requires_grad) for p in self.parameters()]
        return sum(n for n, trained in counts if trained), sum(n for n, _ in counts)

    def print_trainable_parameters(self) -> None:
        """Prints how many parameters are trained."""
        trained, total = self.trainable_parameters()
        print(f"trainable params: {trained:,} || all params: {total:,} || trainable%: {100 * trained / total:.4f}")

    def freeze_backbone(self, frozen: bool = True) -> NumberModel:
        """Freezes the backbone, or lets it train again."""
        self.backbone.requires_grad_(not frozen)
        return self

    def own_state(self) -> dict[str, Tensor]:
        """The weights that are ours, without the backbone's."""
        return {key: value for key, value in self.state_dict().items() if not key.startswith("backbone.")}

    def gradient_checkpointing_enable(self, *arguments: Any, **options: Any) -> None:
        """Passed on to the backbone."""
        self.backbone.gradient_checkpointing_enable(*arguments, **options)

    def gradient_checkpointing_disable(self) -> None:
        """Passed on to the backbone."""
        self.backbone.gradient_checkpointing_disable()

    def save_pretrained(self, folder: str | Path, **options: Any) -> None:
        """Writes config, weights of ours and a model card into `folder`; never the backbone."""
        del options
        save_artefact(folder, self.describe(), self.own_state(), self.citation)

    def describe(self) -> NumberModelConfig:
        """The config that `numerate.from_pretrained` builds the model from."""
        # PEFT wraps the model; what is named in the config is the model inside.
        inner = self.backbone.get_base_model() if hasattr(self.backbone, "get_base_model") else self.backbone
        return NumberModelConfig(
            recipe=self.recipe,
            base_model=str(getattr(inner.config, "_name_or_path", "") or ""),
            base_task=next((task for end, task in _TASK_OF_CLASS if type(inner).__name__.endswith(end)), "encoder"),
            processor=self.processor.config(),
            embedder=_described(self.embedder),
            placement=self.placement,
            gated=self.gate is not None,
            head=_described(self.head),
            objective=_described(self.objective),
            first_id=self.processor.first_id,
            embedding_dim=self.own_rows.shape[1],
            hidden_dim=self.hidden_dim,
        )

    def push_to_hub(self, repo_id: str, **options: Any) -> str:
        """Saves into a temporary folder and uploads it."""
        with tempfile.TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            return push_artefact(folder, repo_id, **options)

    @contextmanager
    def _evaluating(self) -> Iterator[None]:
        modes = [(module, module.training) for module in self.modules()]
        self.eval()
        try:
            yield
        finally:
            for module, mode in modes:
                module.training = mode

    def _embed(self, ids: Tensor, fields: dict[str, Any], prefix: str) -> Tensor:
        """Token embeddings with our own rows and the numbers' vectors in them."""
        backbone = self.backbone.get_decoder() if prefix and hasattr(self.backbone, "get_decoder") else self.backbone
        own = ids >= self.processor.first_id
        words = backbone.get_input_embeddings()
        embeddings = words(ids.masked_fill(own, 0))
        rows = self.own_rows.to(embeddings.dtype)[(ids - self.processor.first_id).clamp_min(0)]
        embeddings = torch.where(own[..., None], rows, embeddings)
        table, slots = table_of(fields, prefix), fields.get(f"{prefix}number_slots")
        if self.embedder is None or table is None or slots is None:
            return embeddings
        vectors = vectors_of(self.embedder, table)
        if self.gate is not None:
            vectors = self.gate(vectors)
        return place(embeddings, slots, table, vectors, self.placement)

    def _positions(self, ids: Tensor) -> Tensor | None:
        """Position ids for backbones that would derive them from the token ids (RoBERTa and its kin)."""
        for module in self.backbone.modules():
            if hasattr(module, "create_position_ids_from_inputs_embeds"):
                real = ids.ne(module.padding_idx).int()
                return (torch.cumsum(real, dim=1).type_as(real) * real).long() + module.padding_idx
        return None

    def _decoder_inputs(self, fields: dict[str, Any], ids: Tensor | None, labels: Tensor | None) -> dict[str, Any]:
        """The decoder's embeddings; where the labels make its input, they and their slots move right by one."""
        if ids is None:
            if labels is None:
                raise ValueError("an encoder-decoder needs labels or decoder_input_ids")
            ids = self.backbone.prepare_decoder_input_ids_from_labels(labels)  # type: ignore[operator]
            slots = fields["decoder_number_slots"]
            if slots is not None:
                shifted = torch.zeros_like(slots)
                shifted[:, 1:] = slots[:, :-1]
                fields = fields | {"decoder_number_slots": shifted}
        return {"decoder_inputs_embeds": self._embed(ids, fields, "decoder_")}

    def _finish(self, output: Any, batch: dict[str, Any], task: Task | None, labels: Tensor | None) -> NumberOutput:
        """Appends our logits, reads the numbers, adds up the loss."""
        hidden = _last_hidden(output, self.is_encoder_decoder) if self.head or self.own_logits else None
        logits = getattr(output, "logits", None)
        if self.own_logits is not None and hidden is not None and logits is not None:
            logits = self._append(logits, self.own_logits(hidden.to(self.own_logits.weight.dtype)))
        result = NumberOutput(loss=getattr(output, "loss", None), logits=logits, backbone=output)
        prefix = "decoder_" if self.is_encoder_decoder else ""
        table, slots = table_of(batch, prefix), batch.get(f"{prefix}number_slots")
        number_loss: Tensor | None = None
        # In a causal model the position before a number predicts it; a decoder's targets stand where they are predicted.
        shift = -1 if self.is_causal else 0
        if self.head is not None and hidden is not None and table is not None and slots is not None:
            scored = task.scored if task is not None else None
            if scored is not None and task is not None and task.targets is not None:
                rows, tokens, numbers = number_positions(slots, scored, shift)
                terms = self.head.loss(hidden[rows, tokens], task.targets[rows, numbers])
                number_loss = terms.sum() / max(len(rows), 1)
            rows, tokens, numbers = number_positions(slots, table.given == ASKED, shift)
            if len(rows):
                result.numbers = self.head(hidden[rows, tokens])
                result.number_index = torch.stack([rows, numbers], dim=1)
        token_labels = task.labels if task is not None else labels if self.is_language_model else None
        tokens_loss = None
        if token_labels is not None and logits is not None and self.is_language_model:
            tokens_loss = token_loss(logits, token_labels, shift=self.is_causal)
        if self.objective is not None and (tokens_loss is not None or number_loss is not None):
            result.loss = self.objective.combine(tokens_loss, number_loss)
        elif tokens_loss is not None:
            result.loss = tokens_loss
        return result

    def _append(self, logits: Tensor, own: Tensor) -> Tensor:
        """The backbone's logits with ours behind them, each at its token's id."""
        gap = self.processor.first_id - logits.shape[-1]
        parts = [logits, own.to(logits.dtype)]
        if gap > 0:  # ids that neither side uses
            parts.insert(1, logits.new_full((*logits.shape[:-1], gap), torch.finfo(logits.dtype).min))
        return torch.cat(parts, dim=-1)


_TASK_OF_CLASS = (
    ("ForMaskedLM", "masked-lm"),
    ("ForSequenceClassification", "sequence-classification"),
    ("ForTokenClassification", "token-classification"),
    ("ForQuestionAnswering", "question-answering"),
    ("LMHeadModel", "causal-lm"),
    ("ForCausalLM", "causal-lm"),
    ("ForConditionalGeneration", "seq2seq-lm"),
)


def _described(part: Any) -> dict[str, Any] | None:
    if part is None:
        return None
    return {key: value for key, value in part.config.to_dict().items() if key != "version"}


def _first_rows(weight: Tensor, count: int) -> Tensor:
    """New rows near the middle of the backbone's, which is where an unknown token does least harm."""
    mean = weight.detach().float().mean(dim=0)
    spread = weight.detach().float().std(dim=0)
    noise = torch.randn(count, weight.shape[1], device="cpu").to(weight.device)
    return (mean + 0.1 * spread * noise).to(weight.dtype)


def _is_causal(backbone: PreTrainedModel) -> bool:
    return bool(getattr(backbone.config, "is_decoder", False)) or "CausalLM" in type(backbone).__name__ or (
        type(backbone).__name__.endswith("LMHeadModel")
    )


def hidden_dim(backbone: PreTrainedModel) -> int:
    """The width of a backbone's last hidden state."""
    config = backbone.config
    for name in ("hidden_size", "d_model", "n_embd", "dim"):
        if isinstance(size := getattr(config, name, None), int):
            return size
    return backbone.get_input_embeddings().weight.shape[1]


def _last_hidden(output: Any, encoder_decoder: bool) -> Tensor:
    states = output.decoder_hidden_states if encoder_decoder else output.hidden_states
    return states[-1]
