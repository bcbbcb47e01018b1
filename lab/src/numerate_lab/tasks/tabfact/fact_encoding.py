"""Statements and serialised tables as rows of a model's batches.

A table becomes a list of segments: cells and the words of a template. The processor reads the numbers of each segment
alone, so that a cell `(317)` is negative and the numbers of two neighbouring cells are never one.
"""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from numerate.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate.processing.processor import NumberProcessor
    from numerate_lab.tasks.tabfact.fact_data import FactTable, Statement

__all__ = ["LAYOUTS", "PairFrame", "TableWords", "encode_statements", "laid_out", "linked", "segments"]

LAYOUTS = ("rows", "columns", "template")
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_COMMON = frozenset(
    _WORD.findall(
        "a an the of in on at to for by with and or is are was were be been has have had not no than more less most "
        "least from as that this it its their his her they he she only all there when who which during did do does"
    )
)
"""Words that link nothing."""
_CHARACTERS = 8
"""Characters of a token, at most on average: a table's text is not read further than may be needed."""
_EMPTY = "-"
"""Written for an empty cell, so that the cells after it keep their columns."""
_CHUNK = 256
_BY_TOKEN = ("input_ids", "token_type_ids", "attention_mask", "number_slots", "number_scale")
_BY_NUMBER = ("number_bits", "number_chars", "number_precision", "number_given")


def segments(
    table: FactTable, layout: str = "rows", caption: bool = False, numbers: Sequence[int] | None = None
) -> list[str]:
    """The segments of a table, in reading order.

    Args:
        table: The table.
        layout: `rows`: the header, then row after row, as LUNA has it. `columns`: each column's name, then its cells.
            `template`: "row 1 is : <column> is <cell> ; ... .", the horizontal template of Table-BERT, for all columns.
        caption: Whether the table's caption comes first.
        numbers: The numbers of the rows, for a template; None to count them.

    Example:
        >>> from numerate_lab.tasks.tabfact.fact_data import FactTable
        >>> table = FactTable("t", "cars", ("name", "kg"), (("fox", "900"), ("elk", "")))
        >>> segments(table), segments(table, "columns", caption=True)
        (['name', 'kg', 'fox', '900', 'elk', '-'], ['cars', 'name', 'fox', 'elk', 'kg', '900', '-'])
        >>> " ".join(segments(table, "template"))
        'row 1 is : name is fox ; kg is 900 . row 2 is : name is elk ; kg is - .'
    """
    if layout not in LAYOUTS:
        raise ConfigError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}")
    grid = [table.header, *table.rows]
    if layout == "columns":
        grid = list(zip(*grid, strict=True))
    if layout == "template":
        parts: list[str] = []
        for number, row in zip(numbers or range(1, len(table.rows) + 1), table.rows, strict=True):
            parts += ["row", str(number), "is :"]
            for name, cell in zip(table.header, row, strict=True):
                parts += [name, "is", cell, ";"]
            parts[-1] = "."
    else:
        parts = [cell for row in grid for cell in row]
    first = [table.caption] if caption and table.caption.strip() else []
    return first + [part if part.strip() else _EMPTY for part in parts]


def linked(table: FactTable, text: str, words: TableWords | None = None) -> tuple[FactTable, list[int]]:
    """What a statement may speak of: the columns that share a word with it, rows that do so first; their numbers.

    Table-BERT leaves out columns without a linked entity, too. A table without a column in common stays as it is.

    Args:
        table: The table.
        text: The statement.
        words: Of the table, if they are known.

    Example:
        >>> from numerate_lab.tasks.tabfact.fact_data import FactTable
        >>> table = FactTable("t", "", ("car", "kg", "made in"), (("fox", "900", "France"), ("elk", "950", "Norway")))
        >>> part, numbers = linked(table, "the elk is the heaviest car with 950 kg")
        >>> part.header, part.rows, numbers
        (('car', 'kg'), (('elk', '950'), ('fox', '900')), [2, 1])
    """
    own, known = _words(text), words or TableWords(table)
    columns = [at for at, some in enumerate(known.columns) if own & some] or list(range(len(table.header)))
    shared = [len(own & some) for some in known.rows]
    order = sorted(range(len(table.rows)), key=lambda at: -shared[at])
    rows = tuple(tuple(table.rows[at][column] for column in columns) for at in order)
    header = tuple(table.header[column] for column in columns)
    return dataclasses.replace(table, header=header, rows=rows), [at + 1 for at in order]


class TableWords:
    """The words of a table's columns (header and cells) and rows."""

    def __init__(self, table: FactTable) -> None:
        cells = [[_words(cell) for cell in row] for row in table.rows]
        self.rows = [frozenset().union(*row) for row in cells]
        names = [_words(name) for name in table.header]
        self.columns = [name.union(*(row[at] for row in cells)) for at, name in enumerate(names)]


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.lower())) - _COMMON


class PairFrame:
    """Joins two encoded parts with the special tokens that a tokenizer puts around and between a pair of texts.

    A table is encoded once, and joined with each of its statements: that takes a quarter of the time of encoding pairs.

    Args:
        tokenizer: A fast tokenizer.
        longest: The most tokens of a joined row; the second part is cut first.
    """

    def __init__(self, tokenizer: Any, longest: int) -> None:
        sample = tokenizer(["a"], ["a"])
        ids, own = sample["input_ids"][0], sample.sequence_ids(0)
        types = sample.get("token_type_ids")
        self.types = None if types is None else tuple(types[0][own.index(part)] for part in (0, 1))
        bounds = [own.index(0), own.index(1)]
        ends = [len(own) - own[::-1].index(0), len(own) - own[::-1].index(1)]
        spans = ((0, bounds[0]), (ends[0], bounds[1]), (ends[1], len(own)))
        self.special = [[(ids[at], None if types is None else types[0][at]) for at in range(*span)] for span in spans]
        self.room = longest - sum(map(len, self.special))
        if self.room < 2:
            raise ConfigError(f"max_tokens must be at least {longest - self.room + 2} for this model, got {longest}")

    def join(self, first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
        """A row of two parts without special tokens, as the processor makes of a pair of texts."""
        kept = min(len(first["input_ids"]), max(self.room - len(second["input_ids"]), self.room // 2))
        parts = [_cut(first, kept), _cut(second, self.room - kept)]
        shift = len(parts[0]["number_given"])
        # A negative slot is a token that writes a number beside its slot.
        slots = [slot + shift if slot > 0 else slot - shift if slot else 0 for slot in parts[1]["number_slots"]]
        parts[1] = {**parts[1], "number_slots": slots}
        row: dict[str, Any] = {key: [] for key in _BY_TOKEN if key in parts[0]}
        for special, part, kind in zip(self.special, [*parts, None], (0, 1, None), strict=True):
            for token, token_type in special:
                given = {"input_ids": token, "token_type_ids": token_type, "attention_mask": 1}
                for key, values in row.items():
                    values.append(given.get(key, 0))
            if part is not None:
                for key, values in row.items():
                    own = self.types if key == "token_type_ids" else None
                    values += part[key] if own is None else [own[kind or 0]] * len(part[key])
        return row | {key: _stacked(parts[0][key], parts[1][key]) for key in _BY_NUMBER}


def _stacked(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The numbers of two parts; written forms are padded to the same width."""
    if one.ndim == 2:
        width = max(one.shape[1], other.shape[1])
        one, other = (np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in (one, other))
    return np.concatenate([one, other])


def _cut(part: Mapping[str, Any], length: int) -> Mapping[str, Any]:
    """The first tokens of a part, and the numbers that they show."""
    if len(part["input_ids"]) <= length:
        return part
    tokens = {key: part[key][:length] for key in _BY_TOKEN if key in part}
    numbers = max(tokens["number_slots"], default=0)
    # A number whose slot is cut off is no number any more, though some of its subwords may be left.
    lost = [-slot > numbers for slot in tokens["number_slots"]]
    for key in {"number_slots", "number_scale"} & tokens.keys():
        tokens[key] = [0 if gone else value for gone, value in zip(lost, tokens[key], strict=True)]
    return tokens | {key: part[key][:numbers] for key in _BY_NUMBER}


def laid_out(
    statements: Sequence[Statement], tables: Mapping[str, FactTable], *, layout: str, caption: bool, linked_only: bool,
    max_tokens: int,
) -> tuple[list[list[str]], list[int]]:  # fmt: skip
    """Different texts of tables, as segments, and which of them belongs to each statement.

    Args:
        statements: The statements.
        tables: Their tables, by id.
        layout: See `segments`.
        caption: See `segments`.
        linked_only: Whether a statement has what is `linked` to it alone, up to about `max_tokens`.
        max_tokens: Tokens of a row.
    """
    texts: dict[Any, int] = {}
    found: list[list[str]] = []
    index, words = [], {}
    for statement in statements:
        table, key, numbers = tables[statement.table], (statement.table,), None
        if linked_only:
            known = words.setdefault(statement.table, TableWords(table))
            table, numbers = linked(table, statement.text, known)
            key = (statement.table, table.header, tuple(numbers))
        if key not in texts:
            texts[key] = len(found)
            parts = segments(table, layout, caption, numbers)
            ends = np.cumsum([len(part) + 1 for part in parts])
            found.append(parts[: int((ends < _CHARACTERS * max_tokens).sum()) + 1] if linked_only else parts)
        index.append(texts[key])
    return found, index


def encode_statements(
    processor: NumberProcessor, statements: Sequence[Statement], tables: Mapping[str, FactTable], *,
    layout: str = "rows", caption: bool = False, max_tokens: int = 512, linked_only: bool = False,
) -> tuple[list[dict[str, Any]], list[bool]]:  # fmt: skip
    """Rows of statements, each followed by its table, and whether a row was cut to `max_tokens`."""
    frame = PairFrame(processor.tokenizer, max_tokens)
    options = {"layout": layout, "caption": caption, "linked_only": linked_only, "max_tokens": max_tokens}
    texts, index = laid_out(statements, tables, **options)
    parts, rows, cut = _encoded(processor, texts, max_tokens), [], []
    for at, part in zip(
        index, _encoded(processor, [[statement.text] for statement in statements], max_tokens), strict=True
    ):
        table = parts[at]
        rows.append(frame.join(part, table))
        cut.append(len(part["input_ids"]) + len(table["input_ids"]) > frame.room)
    return rows, cut


def _encoded(processor: NumberProcessor, texts: Sequence[list[str]], most: int) -> list[dict[str, Any]]:
    """Texts of segments without special tokens; one token more than `most` tells that a text was cut."""
    found = []
    for start in range(0, len(texts), _CHUNK):
        batch = processor(
            texts[start : start + _CHUNK], is_split_into_words=True, add_special_tokens=False, truncation=True,
            max_length=most + 1,
        )  # fmt: skip
        for row in range(len(batch["input_ids"])):
            one = {key: batch[key][row] for key in batch}
            count = max(one["number_slots"], default=0)  # a table is padded to the longest of its batch
            numbers = {key: np.asarray(one[key])[:count] for key in _BY_NUMBER}
            found.append({key: list(value) for key, value in one.items() if key not in _BY_NUMBER} | numbers)
    return found
