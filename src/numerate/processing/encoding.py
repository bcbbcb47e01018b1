"""Batches with numbers: the numbers found in each text, their number table, and collation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from transformers import BatchEncoding

from numerate.numerals.numeral import Numeral
from numerate.processing.flat_rows import FlatRows
from numerate.processing.number_table import (
    ASKED,
    GIVEN,
    PADDING,
    Written,
    clipped_precision,
    given_value,
    padded_table,
    precisions,
)
from numerate.reading.luna import LunaReader
from numerate.reading.plain import PlainReader
from numerate.reading.records import RecordsReader

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from numerate.processing.scaling import Scaling
    from numerate.reading.base import Reader

__all__ = ["ENCODE", "BareSpans", "Found", "NumberBatch", "NumberCollator", "number_table", "reads_bare_spans"]

ENCODE = "encode texts, as in [dict(model.processor(text)) for text in texts]"
"""What errors about data sets of bare texts say."""
_LABELS = frozenset({"label", "labels", "label_ids", "start_positions"})
_OTHER_NAMES = ("label", "label_ids")
"""What data sets of classifiers call `labels`; the collators of transformers rename them, too."""
_PLAIN_POINT = (RecordsReader, LunaReader, PlainReader)


def reads_bare_spans(reader: Reader) -> bool:
    """Whether a reader's spans are enough for a number table: its decimal mark is always the point."""
    return type(reader) in _PLAIN_POINT


@dataclass(slots=True)
class BareSpans:
    """The spans of the numbers of one text; the numerals themselves are read only if someone needs them.

    Attributes:
        source: The text.
        columns: Starts, ends, values and kinds of the numbers.
        read: Reads the numerals of a text, one for each span.
        first: The number of numerals in the text before these.
    """

    source: str
    columns: tuple[Sequence[Any], ...]
    read: Callable[[str], list[Numeral]]
    first: int = 0

    @classmethod
    def of(cls, source: str, rows: Sequence[Sequence[Any]], read: Callable[[str], list[Numeral]]) -> BareSpans:
        """From the output of a reader's `spans`."""
        return cls(source, tuple(zip(*rows, strict=True)) if rows else ((), (), (), ()), read)

    def __len__(self) -> int:
        return len(self.columns[0])

    def part(self, begin: int, end: int) -> BareSpans:
        """The numbers from `begin` to `end`."""
        columns = tuple(column[begin:end] for column in self.columns)
        return BareSpans(self.source, columns, self.read, self.first + begin)

    def numerals(self) -> list[Numeral | None]:
        """The numerals."""
        return list(self.read(self.source)[self.first : self.first + len(self)])

    def texts(self) -> list[str]:
        """The numbers as they are written."""
        source = self.source
        return [source[start:end] for start, end in zip(self.columns[0], self.columns[1], strict=True)]


Found = BareSpans | list[Numeral | None]
"""The numbers of one row; None for a number that is asked for."""


class NumberBatch(BatchEncoding):
    """A tokenizer's batch with the number table beside it.

    `tokens`, `word_ids`, `sequence_ids`, `char_to_token` and the other methods of a `BatchEncoding` refer to the words
    and characters of the original texts. They are computed at their first use, and pickled only after it.
    """

    # Defaults of the class: BatchEncoding looks up unknown attributes among its fields, also while it is unpickled.
    found: list[Found] | None = None
    _align: Callable[[], list[Any]] | None = None
    _made: list[Any] | None = None

    @classmethod
    def of(cls, data: dict[str, Any], found: list[Found] | None, align: Callable[[], list[Any]] | None = None) -> Self:
        """A batch of these fields, with the numbers found in each row; None if they are not known.

        `align` gives the alignment of each row's tokens with its text: a `tokenizers.Encoding` or `TokenAlignment`.
        """
        batch = cls(data)
        batch.found, batch._align = found, align
        return batch

    @property
    def _encodings(self) -> list[Any] | None:
        """What the methods of `BatchEncoding` read."""
        if self._made is None and self._align is not None:
            self._made, self._align = self._align(), None
        return self._made

    @_encodings.setter
    def _encodings(self, made: list[Any] | None) -> None:
        self._made = made

    @property
    def n_sequences(self) -> int | None:
        """1 for single texts, 2 for pairs; None if unknown."""
        rows = self._encodings
        return rows[0].n_sequences if rows else None

    def __getitem__(self, item: Any) -> Any:
        """The field of a name, the token alignment of a row, or all fields of a slice of rows."""
        return (
            {key: self.data[key][item] for key in self.data} if isinstance(item, slice) else super().__getitem__(item)
        )

    @property
    def numerals(self) -> list[list[Numeral | None]]:
        """The numerals in each row's table, in order; None for a number that is asked for.

        Raises:
            ValueError: The batch was padded from rows that have no numerals, such as plain dicts.
        """
        if self.found is None:
            raise ValueError("this batch does not know its numerals: it was padded from rows without them")
        self.found = [row.numerals() if isinstance(row, BareSpans) else row for row in self.found]
        return self.found  # type: ignore[return-value]

    def __getstate__(self) -> dict[str, Any]:
        found = None if self.found is None else self.numerals
        return {"data": self.data, "encodings": self._made, "found": found}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.found = state.get("found")


class NumberCollator:
    """Pads processed examples and their number tables to one batch of tensors; a `data_collator` for the HF Trainer.

    Args:
        tokenizer: A `NumberProcessor` or its `tokenizer`, for the padding's id and side. It is not stored, so that
            little is sent to the workers of a `DataLoader`. With the processor of a model whose objective needs no
            labels, a batch without labels gets empty ones, so that the stock Trainer has an `eval_loss`.
        pad_to_multiple_of: Round the length of the rows up to a multiple of this.
        label_padding: The padding of labels.
        least: The smallest length of the rows.

    Attributes:
        empty_labels: Whether a batch without labels gets `labels` of shape (B, 0).

    Example:
        >>> from types import SimpleNamespace
        >>> collate = NumberCollator(SimpleNamespace(pad_token_id=0, padding_side="right", pad_token_type_id=0))
        >>> rows = [{"input_ids": [5, 6], "number_slots": [0, 0]}, {"input_ids": [7], "number_slots": [1]}]
        >>> collate(rows)["input_ids"].tolist()
        [[5, 6], [7, 0]]
    """

    _TYPES: ClassVar[dict[str, torch.dtype]] = {
        "number_chars": torch.uint8, "number_given": torch.uint8, "number_precision": torch.int16,
    }  # fmt: skip

    def __init__(
        self, tokenizer: Any, pad_to_multiple_of: int | None = None, label_padding: int = -100, least: int = 0
    ) -> None:
        if not hasattr(tokenizer, "pad_token_id"):
            raise TypeError(f"NumberCollator takes model.processor or a tokenizer, got {tokenizer!r:.60}")
        if tokenizer.pad_token_id is None:
            raise ValueError(
                "the tokenizer has no padding token: set one, as in tokenizer.pad_token = tokenizer.eos_token"
            )
        self.side: str = tokenizer.padding_side
        self.multiple, self.least = pad_to_multiple_of or 1, least
        self.empty_labels: bool = getattr(tokenizer, "learns_without_labels", False)
        self._fill: dict[str, int] = {
            "input_ids": tokenizer.pad_token_id, "token_type_ids": tokenizer.pad_token_type_id,
            "special_tokens_mask": 1, "labels": label_padding, "number_given": PADDING,
        }  # fmt: skip

    def __call__(self, examples: Sequence[Mapping[str, Any]]) -> dict[str, Tensor]:
        """Makes one batch of examples with the same fields; `FlatRows` take a twentieth of the time of dicts."""
        if isinstance(examples, FlatRows):
            batch = examples.padded(self._fill, left=self.side == "left", multiple=self.multiple, least=self.least)
            return self._with_labels(batch, len(examples))
        for example in examples:
            if not isinstance(example, Mapping) or "input_ids" not in example:
                raise TypeError(f"NumberCollator needs processed texts, got {str(example)[:60]!r}: {ENCODE}")
        rows = [dict(example) for example in examples]
        for row in rows:
            row.setdefault("attention_mask", [1] * len(row["input_ids"]))
            for name in _OTHER_NAMES:
                if name in row and "labels" not in row:
                    row["labels"] = row.pop(name)
            if row.keys() != rows[0].keys():
                raise ValueError(f"examples differ in their fields: {sorted(row)} and {sorted(rows[0])}")
        keys = rows[0] if rows else {}
        # Labels of several classes are no tokens: their number stays as it is.
        classes = not any(key.startswith("decoder_") for key in keys) and not any(_labels_tokens(row) for row in rows)
        batch = {key: self._column(key, [row[key] for row in rows], classes and key == "labels") for key in keys}
        return self._with_labels(batch, len(rows))

    def _with_labels(self, batch: dict[str, Tensor], rows: int) -> dict[str, Tensor]:
        if self.empty_labels and rows and not batch.keys() & _LABELS:
            batch["labels"] = torch.zeros((rows, 0), dtype=torch.int64)
        return batch

    def _width(self, longest: int, classes: bool) -> int:
        return longest if classes else -(-max(longest, self.least) // self.multiple) * self.multiple

    def _column(self, key: str, cells: list[Any], classes: bool = False) -> Tensor:
        name = key.removeprefix("decoder_")
        if (quick := self._of_lists(name, cells, classes)) is not None:
            return quick
        tensors = [_tensor(key, cell) for cell in cells]
        if tensors[0].dim() == 0:
            return torch.stack(tensors)
        table = name.startswith("number_") and name not in ("number_slots", "number_scale")
        length = max(len(tensor) for tensor in tensors)
        if not table:  # slots are indices into the table, so it is always padded on the right
            length = self._width(length, classes)
        if name == "number_chars":
            width = max(1, *(tensor.shape[1] if tensor.dim() == 2 else 0 for tensor in tensors))
            shape, fill = (len(cells), length, width), 0
        else:
            shape, fill = (len(cells), length), self._fill.get(name, 0)
        floating = any(tensor.is_floating_point() and len(tensor) for tensor in tensors)
        result = torch.full(shape, fill, dtype=tensors[0].dtype if floating else self._TYPES.get(name, torch.int64))
        for row, tensor in zip(result, tensors, strict=True):
            if len(tensor):
                part = row[-len(tensor) :] if self.side == "left" and not table else row[: len(tensor)]
                part[..., : tensor.shape[1]].copy_(tensor) if tensor.dim() == 2 else part.copy_(tensor)
        return result

    def _of_lists(self, name: str, cells: list[Any], classes: bool) -> Tensor | None:
        """The column of a field with one integer for each token, from lists or arrays; None for all others.

        One copy for all rows takes a third of the time of one for each.
        """
        if name.startswith("number_") and name not in ("number_slots", "number_scale"):
            return None
        if all(isinstance(cell, list) for cell in cells):
            values = list(chain.from_iterable(cells))
            flat = np.array(values) if values and type(values[0]) is int else None
        else:
            flat_cells = all(isinstance(cell, np.ndarray) and cell.ndim == 1 for cell in cells)
            flat = np.concatenate(cells) if flat_cells else None
        if flat is None or flat.ndim != 1 or flat.dtype.kind not in "iu":
            return None
        lengths = np.fromiter(map(len, cells), np.int64, len(cells))
        width = self._width(int(lengths.max(initial=0)), classes)
        places = np.arange(width)
        there = places >= width - lengths[:, None] if self.side == "left" else places < lengths[:, None]
        result = np.full(there.shape, self._fill.get(name, 0), dtype=np.int64)
        result[there] = flat
        return torch.from_numpy(result)


def _labels_tokens(row: Mapping[str, Any]) -> bool:
    """Whether a row has one label for each token."""
    labels: Any = row.get("labels")
    has_length = hasattr(labels, "__len__") and getattr(labels, "ndim", 1)  # an array without axes has none
    return bool(has_length) and len(labels) == len(row["input_ids"])


def _tensor(key: str, cell: Any) -> Tensor:
    if isinstance(cell, np.ndarray) and not cell.flags.writeable:  # of a data set in numpy format; torch warns
        cell = cell.copy()
    try:
        return torch.as_tensor(cell)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"column {key!r} must have numbers, got {cell!r:.60}: remove it, as in dataset.remove_columns({key!r})"
        ) from None


def number_table(rows: Sequence[Found], written: bool, scaling: Scaling | None) -> dict[str, np.ndarray]:
    """The number table of a batch, in the form of `numerate.processing.number_table.padded_table`."""
    counts = [len(row) for row in rows]
    if all(isinstance(row, BareSpans) for row in rows) and not written:
        texts = list(chain.from_iterable(row.texts() for row in rows))  # type: ignore[union-attr]
        values = meant = np.fromiter(chain.from_iterable(row.columns[2] for row in rows), float, len(texts))  # type: ignore[union-attr]
        if scaling is not None:
            values = scaling.apply([""] * len(texts), meant)  # type: ignore[arg-type]
        forms = Written.of(texts)
        precision, unsettled = forms.plain_precisions()
        if unsettled.any():
            kinds = list(chain.from_iterable(row.columns[3] for row in rows))  # type: ignore[union-attr]
            for index in np.flatnonzero(unsettled).tolist():
                precision[index] = clipped_precision(_numeral_of(texts[index], float(meant[index]), kinds[index]))
        return padded_table(counts, forms, values, precision, np.full(len(texts), GIVEN, dtype=np.uint8))
    lists = [row.numerals() if isinstance(row, BareSpans) else row for row in rows]
    given = np.array([ASKED if n is None else GIVEN for row in lists for n in row], dtype=np.uint8)
    flat = [n for row in lists for n in row if n is not None]
    numbers = np.array([given_value(n, written) for n in flat], dtype=np.float64)
    if scaling is not None:
        numbers = scaling.apply(flat, numbers)  # type: ignore[arg-type]
    present = given == GIVEN
    values, precision = np.zeros(len(given)), np.zeros(len(given), dtype=np.int16)
    values[present], precision[present] = numbers, precisions(flat)
    texts = [n.text if n is not None else "" for row in lists for n in row]
    return padded_table(counts, Written.of(texts), values, precision, given)


def _numeral_of(text: str, value: float, kind: str) -> Numeral:
    """The numeral of a span, with everything that its precision depends on."""
    special = None
    if not math.isfinite(value) and not any(char.isdigit() for char in text):
        special = "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    return Numeral(text, 0, len(text), value, kind, power=-2 if kind == "percent" else 0, special=special)
