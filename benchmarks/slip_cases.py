"""Held-out texts, and the slips that are planted in them."""

from __future__ import annotations

import dataclasses
import gzip
import json
import random
from typing import TYPE_CHECKING, Any

import numpy as np
from mini_corpus import drawn_passages, lines_of, passages
from planted_slips import KINDS, planted

from numerate.apps.documents import sentence_spans
from numerate.records.row_text import row_texts

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numerate.numerals.numeral import Numeral

CORPORA = ("wiki", "units", "market", "tatqa")
LONGEST = 500
"""Characters of a text."""


@dataclasses.dataclass
class Case:
    """A held-out text, one of its numbers, and the same number with slips: by kind, the new text and numeral."""

    text: str
    numeral: Numeral
    wrong: dict[str, tuple[str, Numeral | None]]
    is_row: bool = False

    @property
    def is_plain(self) -> bool:
        """A quantity without a unit."""
        return self.numeral.kind == "quantity" and self.numeral.unit is None


def held_out(
    data: Path, name: str, split: str, most: int | None = None, *, drawn: bool = False
) -> list[tuple[str, bool]]:
    """Sentences of a corpus, and rows of its tables as text (True); `drawn` gives any passages, not the first ones."""
    found: list[tuple[str, bool]] = []
    if name == "wiki":
        some = drawn_passages(data, split, most) if drawn else passages(data, split, most)
        found = [(text, False) for texts in some for text in texts]
    elif name in ("units", "market"):
        found = [(each["comment"], False) for each in lines_of(data / name / f"{split}.jsonl.gz")]
    elif name == "tatqa":
        with gzip.open(data / "tatqa" / "dev.json.gz", "rt", encoding="utf-8") as file:
            contexts = json.load(file)
        half = len(contexts) // 2
        for each in contexts[:half] if split == "dev" else contexts[half:]:
            for paragraph in each["paragraphs"]:
                text = paragraph["text"]
                found += [(text[start:end], False) for start, end in sentence_spans(text)]
            table = each["table"]["table"]
            header = header_of(table)
            found += [(part.text, True) for row in table for part in row_texts(header, row) if row[0]]
    return found


def header_of(table: list[list[str]]) -> list[str]:
    """The cells of the rows above the first named row, joined by column."""
    above = []
    for row in table:
        if row[0].strip():
            break
        above.append(row)
    return [" ".join(row[column] for row in above if row[column]) for column in range(len(table[0]))]


def cases_of(texts: Iterable[tuple[str, bool]], reader: Any, kinds: Any, most: int, seed: int) -> list[Case]:
    """One number of each text, with every slip that changes it."""
    draw = random.Random(seed)
    order = list(texts)
    draw.shuffle(order)
    found = []
    for text, is_row in order:
        numerals = [each for each in reader.find(text) if kinds is None or each.kind in kinds]
        # Most slips leave a zero as it is.
        numerals = [each for each in numerals if np.isfinite(each.value) and each.value and is_decimal(each)]
        if not numerals or len(text) > LONGEST:
            continue
        numeral = draw.choice(numerals)
        wrong = {kind: made for kind in KINDS if (made := planted(text, numeral, kind, reader, draw)) is not None}
        found.append(Case(text, numeral, wrong, is_row))
        if len(found) == most:
            break
    return found


def is_decimal(numeral: Numeral) -> bool:
    """Whether a number is written in digits of base ten, neither in words nor as a fraction."""
    return numeral.style.family == "decimal"
