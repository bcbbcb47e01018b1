"""Questions as rows of tensors: what a model reads, which token belongs to which unit, and the labels."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from numerate.files import write_atomically
from numerate.processing.encoding import NumberCollator
from numerate_lab.tasks.tatqa.context_units import by_likeness, in_words, segments_of
from numerate_lab.tasks.tatqa.operator_labels import Places, labels_of
from numerate_lab.tasks.tatqa.operators import OPERATORS, operand_order
from numerate_lab.tasks.tatqa.report_file import SCALES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from torch import Tensor

    from numerate.processing.processor import NumberProcessor
    from numerate_lab.tasks.tatqa.context_units import Segment, Unit
    from numerate_lab.tasks.tatqa.operator_labels import Labels
    from numerate_lab.tasks.tatqa.report_file import Context, Question

__all__ = ["NUMBER_FIELDS", "TABLE", "TEXT", "Example", "Rows", "encode", "examples_of"]

TABLE, TEXT = 1, 2
"""Parts of the input besides the question."""
_QUESTION = 400
"""Characters of a question, at most."""
_AT_ONCE = 64
NUMBER_FIELDS = ("number_bits", "number_chars", "number_precision", "number_given")
"""Columns of the number table."""


@dataclass(frozen=True, slots=True, eq=False)
class Example:
    """One question with its context, laid out as a model reads it.

    Attributes:
        question: The question.
        context: The index of its context in the file.
        segments: The segments of the context.
        order: Indices of the segments as they are read: cells, then paragraphs, most similar to the question first.
        units: The units in that order.
        labels: What is to be learnt; None if the answer is no result of one operator, or unknown.
        tagged: Indices of the tagged units in `units`.
        pair: Indices of the first two operands in `units`, in reading order; empty if there is no order to learn.
        turned: Whether the operands are turned; see `computed`.
    """

    question: Question
    context: int
    segments: tuple[Segment, ...]
    order: tuple[int, ...]
    units: tuple[Unit, ...]
    labels: Labels | None
    tagged: tuple[int, ...] = ()
    pair: tuple[int, ...] = ()
    turned: bool = False


def examples_of(contexts: Sequence[Context]) -> list[Example]:
    """All questions of some contexts."""
    found = []
    for number, context in enumerate(contexts):
        segments = tuple(segments_of(context))
        places = Places(context, segments)
        found += [_example(question, number, segments, places) for question in context.questions]
    return found


def _example(question: Question, context: int, segments: tuple[Segment, ...], places: Places) -> Example:
    order = by_likeness(segments, question.text)
    first = np.cumsum([0, *(len(segment.units) for segment in segments)]).tolist()
    read = [index for number in order for index in range(first[number], first[number + 1])]
    units = tuple(places.units[index] for index in read)
    labels = labels_of(question, places)
    if labels is None:
        return Example(question, context, segments, tuple(order), units, None)
    position = {index: place for place, index in enumerate(read)}
    tagged = tuple(sorted(position[index] for index in labels.tagged))
    operands = [position[index] for index in labels.operands]
    numbers = [number for place in operands if (number := units[place].number) is not None]
    turned, pair = labels.turned, tuple(sorted(operands)[:2])
    if len(operands) == 2 and labels.operator in ("CHANGE_RATIO", "DIFF", "DIVIDE"):
        turned ^= operands[0] > operands[1]  # the formula's order, told by the order of reading
    if len(pair) < 2 or not operand_order(labels.operator, numbers):
        pair = ()
    return Example(question, context, segments, tuple(order), units, labels, tagged, pair, turned)


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Encoded questions, one row each; U is the largest number of units that a row shows.

    Attributes:
        fields: The model's input: (N, T) tokens and (N, M) number tables.
        part: (N, T) int64: `TABLE`, `TEXT` or 0.
        unit: (N, T) int64: the unit of each token, counted from 1; 0 for none.
        numeric: (N, U) bool: units with a number.
        tags: (N, T) int64: 1 for tokens of tagged units, 0 for other tokens of units, -100 elsewhere.
        operator: (N,) int64, -100 for none.
        scale: (N,) int64, -100 for none.
        pair: (N, 2) int64: the operands, counted from 1; 0 for none.
        turned: (N,) int64: 0 or 1, -100 where there is no order to learn.
        tokens: Tokens of each row.
        numbers: Numbers of each row.
        cut: Rows whose context does not fit in whole.
    """

    fields: dict[str, Tensor]
    part: Tensor
    unit: Tensor
    numeric: Tensor
    tags: Tensor
    operator: Tensor
    scale: Tensor
    pair: Tensor
    turned: Tensor
    tokens: np.ndarray
    numbers: np.ndarray
    cut: np.ndarray

    def __len__(self) -> int:
        return len(self.tokens)

    def to(self, device: torch.device) -> Rows:
        """The same on a device."""
        moved = {name: getattr(self, name).to(device) for name in _TENSORS}
        fields = {key: value.to(device) for key, value in self.fields.items()}
        return Rows(fields=fields, tokens=self.tokens, numbers=self.numbers, cut=self.cut, **moved)

    def save(self, file: Path) -> None:
        """Writes the rows, which `load` reads again."""
        arrays = {f"fields.{key}": value.cpu().numpy() for key, value in self.fields.items()}
        arrays |= {name: getattr(self, name).cpu().numpy() for name in _TENSORS}
        buffer = io.BytesIO()
        np.savez_compressed(buffer, tokens=self.tokens, numbers=self.numbers, cut=self.cut, **arrays)  # type: ignore[arg-type]
        write_atomically(file, buffer.getvalue())

    @classmethod
    def load(cls, file: Path) -> Rows:
        """The rows that `save` wrote."""
        with np.load(file, allow_pickle=False) as arrays:
            read = {name: arrays[name] for name in arrays.files}
        fields = {
            name.removeprefix("fields."): torch.from_numpy(value)
            for name, value in read.items()
            if name.startswith("fields.")
        }
        tensors = {name: torch.from_numpy(read[name]) for name in _TENSORS}
        return cls(fields=fields, tokens=read["tokens"], numbers=read["numbers"], cut=read["cut"], **tensors)

    def batch(self, index: np.ndarray) -> dict[str, Any]:
        """Some rows, without the padding that none of them needs; no device is waited for."""
        return self.take(self.places(index), *self.sizes(index))

    def places(self, index: np.ndarray) -> Tensor:
        """Indices of rows on the device, which is not waited for."""
        return torch.from_numpy(np.ascontiguousarray(index)).to(self.unit.device, non_blocking=True)

    def sizes(self, index: np.ndarray) -> tuple[int, int]:
        """The most tokens and the most numbers of some rows."""
        return int(self.tokens[index].max()), int(self.numbers[index].max(initial=0))

    def take(self, chosen: Tensor, length: int, count: int) -> dict[str, Any]:
        """Some rows, cut or padded to `length` tokens and `count` numbers as far as the rows have them."""
        fields = {
            key: value[:, :count][chosen] if key in NUMBER_FIELDS else value[:, :length][chosen]
            for key, value in self.fields.items()
        }
        wide = {name: getattr(self, name)[:, :length][chosen] for name in ("part", "unit", "tags")}
        narrow = {name: getattr(self, name)[chosen] for name in ("numeric", "operator", "scale", "pair", "turned")}
        return {"fields": fields, **wide, **narrow}


_TENSORS = ("part", "unit", "numeric", "tags", "operator", "scale", "pair", "turned")


def encode(processor: NumberProcessor, examples: Sequence[Example], most: int, spelled: bool = False) -> Rows:
    """Encodes questions: question, cells row by row, and paragraphs, cut behind `most` tokens.

    Cells and paragraphs are read one by one, so that a cell is a cell for the reader of numbers. With `spelled`,
    numbers are written as words.
    """
    rows: list[dict[str, Any]] = []
    columns: dict[str, list[list[int]]] = {"part": [], "unit": []}
    cut = []
    separator = str(processor.tokenizer.sep_token or "")
    options: dict[str, Any] = {"is_split_into_words": True, "truncation": "only_second", "max_length": most}
    shown: dict[int, list[Segment]] = {}
    for start in range(0, len(examples), _AT_ONCE):
        some = examples[start : start + _AT_ONCE]
        words = []
        for one in some:
            if one.context not in shown:
                shown[one.context] = [in_words(segment) if spelled else segment for segment in one.segments]
            texts = [shown[one.context][index].text for index in one.order]
            cells = sum(not one.segments[index].paragraph for index in one.order)
            words.append([*texts[:cells], separator, *texts[cells:]] if separator else texts)
        questions = [[one.question.text[:_QUESTION] or "?"] for one in some]
        batch = processor(questions, words, return_offsets_mapping=True, **options)
        offsets = batch.pop("offset_mapping")
        for row, one in enumerate(some):
            rows.append({key: batch[key][row] for key in batch})
            place = batch.word_ids(row), batch.sequence_ids(row), offsets[row]
            part, unit = _units_of_tokens(place, one, shown[one.context], bool(separator))
            columns["part"].append(part)
            columns["unit"].append(unit)
            cut.append(max(unit, default=0) < len(one.units))
    return _rows(processor, examples, rows, columns, np.array(cut))


def _units_of_tokens(
    place: tuple[Any, Any, Any], example: Example, shown: Sequence[Segment], separated: bool
) -> tuple[list[int], list[int]]:
    """Part and unit of each token of a row; units are counted from 1 in reading order."""
    words, sequences, offsets = place
    cells = sum(not example.segments[index].paragraph for index in example.order)
    first = np.cumsum([1, *(len(example.segments[index].units) for index in example.order)]).tolist()
    parts, units = [], []
    last, at = -1, 0
    for word, sequence, (start, end) in zip(words, sequences, offsets, strict=True):
        if sequence != 1 or word is None or (separated and word == cells):
            parts.append(0)
            units.append(0)
            continue
        number = word - (separated and word > cells)
        own = shown[example.order[number]].units
        if number != last:
            last, at = number, 0
        while at < len(own) and own[at].end <= start:
            at += 1
        parts.append(TABLE if number < cells else TEXT)
        units.append(first[number] + at if at < len(own) and own[at].start < max(end, start + 1) else 0)
    return parts, units


def _rows(
    processor: NumberProcessor, examples: Sequence[Example], rows: list[dict[str, Any]],
    columns: dict[str, list[list[int]]], cut: np.ndarray,
) -> Rows:  # fmt: skip
    collate = NumberCollator(processor.tokenizer)
    if collate.side == "left":
        raise ValueError("TagOp needs a tokenizer that pads on the right: set tokenizer.padding_side = 'right'")
    fields = collate(rows)
    count, length = fields["input_ids"].shape
    part, unit = (np.zeros((count, length), dtype=np.int64) for _ in range(2))
    for row, (parts, units) in enumerate(zip(columns["part"], columns["unit"], strict=True)):
        part[row, : len(parts)], unit[row, : len(units)] = parts, units
    most = int(unit.max(initial=0))
    numeric = np.zeros((count, most), dtype=bool)
    tags = np.where(unit > 0, 0, -100)
    pair, turned, operator, scale = np.zeros((count, 2), dtype=np.int64), *(np.full(count, -100) for _ in range(3))
    for row, one in enumerate(examples):
        visible = int(unit[row].max(initial=0))
        numeric[row, :visible] = [one.units[index].number is not None for index in range(visible)]
        if one.question.answers is not None:
            scale[row] = SCALES.index(one.question.scale)
        if one.labels is None:
            continue
        operator[row] = OPERATORS.index(one.labels.operator)
        tags[row, np.isin(unit[row], np.array(one.tagged, dtype=np.int64) + 1)] = 1
        if one.pair and max(one.pair) < visible:
            pair[row], turned[row] = np.array(one.pair) + 1, int(one.turned)
    tensors = {
        name: torch.from_numpy(np.ascontiguousarray(value))
        for name, value in (
            ("part", part), ("unit", unit), ("numeric", numeric), ("tags", tags), ("operator", operator),
            ("scale", scale), ("pair", pair), ("turned", turned),
        )
    }  # fmt: skip
    tokens = np.array([len(row["input_ids"]) for row in rows])
    numbers = np.array([len(row["number_bits"]) for row in rows]) if "number_bits" in fields else np.zeros(count, int)
    return Rows(fields=fields, tokens=tokens, numbers=numbers, cut=cut, **tensors)
