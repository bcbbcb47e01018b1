"""Sentences with one annotated number: Wiki-Convert, Numeracy-600K and other data of the same layout.

A row has a text (`comment`, `title` or `text`), `offset` and `length` of a number in it, and usually the `number`
itself. `id` and `unit` are optional.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.numerals.numeral import Numeral
from numerate.numerals.style import render
from numerate.reading import make_reader
from numerate.reading.base import Reader
from numerate.training.sources import SPLITS, SourceError, rows_of
from numerate_lab.tasks.next_numeral.corpora import drawn_split, text_field

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

__all__ = ["AnnotatedReader", "NumberSentence", "plain_sentences", "read_number_sentences", "sentence_of_row"]

TEXT_FIELDS = ("comment", "title", "text")
ID_FIELDS = ("id", "UNIQUE_STORY_INDEX")
_ENDINGS = (".jsonl.gz", ".jsonl", ".json.gz", ".json", ".csv.gz", ".csv", ".parquet")
_LARGEST = 2.0**63
"""Wiki-Convert's Hub files clip larger numbers to this value."""
_standard = make_reader("standard")


@dataclass(frozen=True, slots=True)
class NumberSentence:
    """A text and one of its numbers.

    Attributes:
        id: Id of the row, or its index.
        text: The sentence.
        numeral: The annotated number, if any.
        unit: Its unit as spelled in the text, if the data has one.

    Example:
        >>> sentence = sentence_of_row({"comment": "It weighs 1,200 kg.", "offset": 10, "length": 5, "number": "1200"})
        >>> sentence.numeral.value, sentence.scaled(1000).text
        (1200.0, 'It weighs 1,200,000 kg.')
    """

    id: str
    text: str
    numeral: Numeral | None = None
    unit: str | None = None

    def with_number(self, written: str) -> NumberSentence:
        """The sentence with its number replaced by another text."""
        if self.numeral is None:
            raise ValueError(f"sentence {self.id!r} has no number to change")
        start, end = self.numeral.start, self.numeral.end
        text = self.text[:start] + written + self.text[end:]
        return replace(self, text=text, numeral=_numeral(text, start, start + len(written), None))

    def scaled(self, factor: float) -> NumberSentence:
        """The sentence with its number multiplied by a factor and written in the same style."""
        if self.numeral is None:
            return self
        return self.with_number(render(self.numeral.style, self.numeral.value * factor))

    def rendered(self) -> NumberSentence:
        """The sentence with its number as the code of Thawani et al. writes it: no commas, at most two decimals.

        Example:
            >>> row = {"text": "1,200.50 m", "offset": 0, "length": 8, "number": 1200.5}
            >>> sentence_of_row(row).rendered().text, sentence_of_row(row).with_number("10,000").rendered().text
            ('1200.5 m', '10000 m')
        """
        if self.numeral is None:
            return self
        value = round(self.numeral.value, 2)
        return self.with_number(str(int(value)) if value > 1 and value == int(value) else str(value))


class AnnotatedReader(Reader):
    """Finds the annotated numbers of known sentences.

    Args:
        sentences: Sentences with different texts.
        others: Reader of all other numbers; None for annotated numbers only, as in the papers.
        kinds: Kinds of other numbers to include; None for all.

    Example:
        >>> sentence = sentence_of_row({"text": "2 of 30 mice", "offset": 5, "length": 2, "number": 30})
        >>> [number.text for number in AnnotatedReader([sentence]).find(sentence.text)]
        ['30']
        >>> [number.text for number in AnnotatedReader([sentence], make_reader("luna")).find(sentence.text)]
        ['2', '30']
    """

    def __init__(
        self, sentences: Iterable[NumberSentence], others: Reader | None = None, kinds: Collection[str] | None = None
    ) -> None:
        self._numerals = {sentence.text: sentence.numeral for sentence in sentences}
        self._others, self._kinds = others, kinds

    def find(self, text: str) -> list[Numeral]:
        """The annotated number and, with `others`, all other numbers, in order."""
        own = self._numerals.get(text)
        found = [] if self._others is None else self._others.find(text)
        found = [numeral for numeral in found if self._kinds is None or numeral.kind in self._kinds]
        if own is None:
            return found
        apart = [numeral for numeral in found if numeral.end <= own.start or numeral.start >= own.end]
        return sorted([*apart, own], key=lambda numeral: numeral.start)


def read_number_sentences(
    source: str | Path, split: str = "train", *, most: int | None = None,
    lengths: tuple[int, int] | None = None, values: tuple[float, float] | None = None,
) -> Iterator[NumberSentence]:  # fmt: skip
    """Streams the sentences of one split.

    Args:
        source: One of

            - a folder with one file per split (`train.jsonl.gz`, `dev.json`, `test.csv` ...);
            - one file whose rows have a field `split`, or are divided by a hash of their text as in `read_corpus`
              (70, 10 and 20 %; equal texts are in the same split);
            - the name of a Hub data set with splits.
        split: `train`, `dev` or `test`.
        most: Read at most this many rows, counted before filtering.
        lengths: Keep texts with more characters than the first and fewer than the second value; papers: (15, 150).
        values: Keep numbers between these two values; papers: (1e-4, 1e6).

    Raises:
        SourceError: A row is invalid; the message names file, line and field.

    Example:
        >>> import json, tempfile
        >>> rows = [{"text": f"{n} m", "offset": 0, "length": len(str(n))} for n in range(1000)]
        >>> file = Path(tempfile.mkdtemp()) / "one.json"
        >>> _ = file.write_text(json.dumps(rows))
        >>> [len(list(read_number_sentences(file, split))) for split in ("train", "dev", "test")]
        [691, 115, 194]
    """
    if split not in SPLITS:
        raise SourceError(f"split must be one of {', '.join(SPLITS)}, got {split=}")
    path = Path(source)
    divided = path.is_file()
    if path.is_dir():
        named = [path / f"{name}{ending}" for name in SPLITS[split] for ending in _ENDINGS]
        found = next((file for file in named if file.is_file()), None)
        if found is None:
            raise SourceError(f"{path}: a folder without {split}.jsonl, {split}.json or {split}.csv")
        path = found
    # `Path` would change some Hub names.
    rows = enumerate(rows_of(str(path) if path.exists() else str(source), split=split))
    if divided:
        rows = _rows_of_split(rows, split)
    for number, (where, row) in islice(rows, most):
        sentence = sentence_of_row(row, where, number)
        if lengths is not None and not lengths[0] < len(sentence.text) < lengths[1]:
            continue
        if values is None or sentence.numeral is None or values[0] < sentence.numeral.value < values[1]:
            yield sentence


def sentence_of_row(row: Mapping[str, Any], where: str = "row", number: int = 0) -> NumberSentence:
    """Converts a row of Wiki-Convert's or Numeracy-600K's layout.

    An offset that is off by one, as in some files of Numeracy-600K, is corrected by the field `number`. Without this
    field, as in its market comments, the number is read at the offset. Error messages name `where` the row is; its
    index `number` is the id of rows without one.

    Example:
        >>> sentence_of_row({"comment": "Up 1,250.5 pct", "offset": 3, "length": 7}).numeral.value
        1250.5
    """
    text = row[text_field(row, TEXT_FIELDS, where)]
    offset, length = (_whole(row, name, where) for name in ("offset", "length"))
    if length < 1 or offset < 0 or offset + length > len(text):
        raise SourceError(f"{where}: field 'offset': {offset} + {length} is not within a text of {len(text)}")
    value = _number(row, where)
    start = offset
    if value is not None:
        start = next((at for at in (offset, offset + 1, offset - 1) if _matches(text, at, length, value)), offset)
    if not any(char.isdigit() for char in text[start : start + length]):
        raise SourceError(f"{where}: field 'offset': {text[offset : offset + length]!r} is not a number")
    numeral = _numeral(text, start, start + length, value) if value is not None else _read(text, start, length, where)
    name = next((str(row[key]) for key in ID_FIELDS if row.get(key) not in (None, "")), str(number))
    unit = row.get("unit")
    return NumberSentence(name, text, numeral, unit if isinstance(unit, str) and unit else None)


def plain_sentences(texts: Iterable[str], most: int | None = None) -> list[NumberSentence]:
    """Texts without any number, at most `most` of them, to measure what training costs there.

    Example:
        >>> [sentence.text for sentence in plain_sentences(["It rains.", "It rains 3 days."])]
        ['It rains.']
    """
    without = (text for text in texts if not any(char.isdigit() for char in text) and not _standard.find(text))
    return [NumberSentence(f"plain-{index}", text) for index, text in enumerate(islice(without, most))]


def _rows_of_split(rows: Iterable[tuple[int, tuple[str, Any]]], split: str) -> Iterator[tuple[int, tuple[str, Any]]]:
    """Rows of one file that belong to a split, by their field `split` or by a hash of their text."""
    names = {name: own for own, several in SPLITS.items() for name in several}
    has_field: bool | None = None
    for number, (where, row) in rows:
        text, own = row[text_field(row, TEXT_FIELDS, where)], row.get("split")
        if has_field is None:
            has_field = own is not None
        if has_field != (own is not None) or (has_field and str(own) not in names):
            wanted = f"expected one of {', '.join(SPLITS)} in all rows, or none in any"
            raise SourceError(f"{where}: field 'split' is {own!r}, {wanted}")
        if (names[str(own)] if has_field else drawn_split(text)) == split:
            yield number, (where, row)


def _whole(row: Mapping[str, Any], field: str, where: str) -> int:
    if field not in row:
        raise SourceError(f"{where}: field {field!r} is missing; it has {', '.join(map(repr, row))[:200]}")
    value = _float(row[field])
    if not value.is_integer():
        raise SourceError(f"{where}: field {field!r} must be a whole number, got {row[field]!r}")
    return int(value)


def _number(row: Mapping[str, Any], where: str) -> float | None:
    if row.get("number") in (None, ""):  # missing fields of a CSV file are empty
        return None
    value = _float(str(row["number"]).replace(",", ""))
    if not math.isfinite(value):
        raise SourceError(f"{where}: field 'number' must be a number, got {str(row['number'])[:40]!r}")
    return value


def _float(written: Any) -> float:
    """The value of a field; NaN if it is no number."""
    try:
        return float(str(written))
    except ValueError:
        return math.nan


def _matches(text: str, start: int, length: int, value: float) -> bool:
    """Whether the text at this position is exactly this number."""
    part = text[max(start, 0) : start + length]
    same = math.isclose(_float(part.replace(",", "")), value, rel_tol=1e-9)
    return same and start >= 0 and part == part.strip()


def _read(text: str, start: int, length: int, where: str) -> Numeral:
    """Reads the number at an offset when the row has no field `number`."""
    end = start + length
    if not any(char.isdigit() for char in text[max(start - 1, 0) : start] + text[end : end + 1]):
        try:
            return _numeral(text, start, end, None)
        except ValueError:
            pass
    raise SourceError(f"{where}: field 'offset': {text[start:end]!r} is not one whole number; give the field 'number'")


def _numeral(text: str, start: int, end: int, value: float | None) -> Numeral:
    """The number at a position as a numeral, with the style that the standard reader finds."""
    written = text[start:end]
    found = _standard.find(written)
    if len(found) == 1 and found[0].text == written and found[0].special is None:
        read = found[0]
        same = value is None or math.isclose(read.value, value, rel_tol=1e-9) or abs(value) >= _LARGEST
        if same or read.point != ".":
            return replace(read, start=start, end=end)
    if value is None:
        raise ValueError(f"no number can be read from {written!r}")
    return Numeral(written, start, end, value)
