"""TRL's `SFTTrainer` for a `NumberModel`: its preparation of data, with number fields and number loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import Trainer
from trl import SFTConfig, SFTTrainer  # type: ignore[import-not-found]

from numerate.modeling.fitting import first_numbers, fit_parts
from numerate.modeling.number_model import NumberModel
from numerate.processing.encoding import NumberCollator
from numerate.processing.processor import NumberProcessor
from numerate.processing.token_ids import check_reads_ids, read_ids

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor

__all__ = ["NumberSFTTrainer", "ReadingCollator"]


class ReadingCollator(NumberCollator):
    """A `NumberCollator` that also takes rows of another program: token ids, with or without labels.

    Args:
        processor: The model's processor.
        pad_to_multiple_of: Round the length of the rows up to a multiple of this.
    """

    def __init__(self, processor: NumberProcessor, pad_to_multiple_of: int | None = None) -> None:
        super().__init__(processor.tokenizer, pad_to_multiple_of)
        self.processor = processor

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Makes one batch."""
        return super().__call__([self.read(example) for example in examples])

    def read(self, example: Mapping[str, Any]) -> dict[str, Any]:
        """One row with its number fields, and with labels: all tokens, if it has none."""
        row = dict(example)
        if "number_slots" not in row:
            kept = {"labels": row["labels"]} if row.get("labels") is not None else {}
            row = read_ids(self.processor, row["input_ids"]) | kept
        row.setdefault("labels", list(row["input_ids"]))
        return row


class NumberSFTTrainer(SFTTrainer):
    """Supervised fine-tuning as TRL does it: texts, prompts with completions, or chats.

    TRL tokenizes, applies the chat template and masks prompts; the numbers are then read from the tokens, and the loss
    is that of the model's objective: labelled tokens and the numbers that begin with one. Head and embedder are fitted
    to the training data, unless they were. For notations that rewrite numbers, pass rows of `model.processor` and
    `SFTConfig(dataset_kwargs={"skip_prepare_dataset": True})`.

    Args:
        model: A `NumberModel` of a causal language model.
        args: TRL's `SFTConfig`; packing and `padding_free` are refused.
        data_collator: By default a `ReadingCollator`.
        processing_class: By default the model's tokenizer; a `NumberProcessor` stands for its tokenizer.
        **options: Other options of `SFTTrainer`.
    """

    _tag_names = ["trl", "sft", "numerate"]  # noqa: RUF012 (as TRL has it)

    def __init__(
        self, model: NumberModel, args: Any = None, data_collator: Any = None, *, processing_class: Any = None,
        **options: Any,
    ) -> None:  # fmt: skip
        if not isinstance(model, NumberModel) or model.info.task != "causal-lm":
            kind = model.info.task if isinstance(model, NumberModel) else type(model).__name__
            raise ValueError(f"NumberSFTTrainer needs a NumberModel of a causal language model, got {kind}")
        args = SFTConfig() if args is None else args
        for name in ("packing", "eval_packing", "padding_free"):
            if getattr(args, name, False):
                raise ValueError(f"{name}=True: several texts in one row would share one number table; set it to False")
        if options.get("peft_config") is not None:
            raise ValueError(
                "peft_config: put the adapter on the backbone before, with get_peft_model(model.backbone, ...)"
            )
        if not (args.dataset_kwargs or {}).get("skip_prepare_dataset"):
            check_reads_ids(model.processor)
        if isinstance(processing_class, NumberProcessor) or processing_class is None:
            processing_class = model.processor.tokenizer
        data_collator = ReadingCollator(model.processor) if data_collator is None else data_collator
        self._numbers = model
        super().__init__(model, args, data_collator, processing_class=processing_class, **options)  # type: ignore[misc]

    def train(self, *positional: Any, **options: Any) -> Any:
        """Trains; before, head and embedder are fitted to the numbers of the first training texts."""
        if not self._numbers.fitted and isinstance(self.data_collator, ReadingCollator):
            numbers = first_numbers(map(self.data_collator.read, iter(self.train_dataset)))  # type: ignore[arg-type]
            if len(numbers):
                fit_parts(self._numbers, numbers)
        return super().train(*positional, **options)

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """The model's own loss, which has the numbers in it; TRL's would only have the tokens."""
        return Trainer.compute_loss(self, model, inputs, return_outputs, num_items_in_batch)

    def _set_signature_columns_if_needed(self) -> None:
        if self._signature_columns is None:
            self._signature_columns = [*self._numbers.processor.model_input_names, "labels"]
