"""What a rule of consistency is, and the registry of all rules."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.apps.findings import Finding
from numerate.numerals.numeral import render
from numerate.numerals.unit_factors import measure_of
from numerate.reading import find
from numerate.registry import Registry

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.documents import Document

__all__ = ["Rule", "finding_at", "finding_in_cell", "matches", "plain", "rules", "written_like"]

rules: Registry[Any] = Registry("rule", "numerate.apps.consistency")
"""All rules by their ids; a new one is one file in a folder of this package with `@rules.register("id")`."""
MOST_ROUNDING = 0.05
"""Relative error by which a correction may be rounded to the decimals of what it replaces."""
MOST_DECIMALS = 12


class Rule:
    """A rule of consistency; each method has findings of its own.

    Attributes:
        title: A few words for reports.
        help: One sentence that says what the rule compares.
        needs: Few bits (see `sentences.traits`), of each of which a sentence with a finding has one, so that `wants` is
            asked for those only; mostly of numbers, as `VALUES[2]`.
        cues: Bits of words, one of which a sentence with a finding has; 0: it needs none.
        least_of_paragraph: Least number of values of a paragraph with a finding.
    """

    title: ClassVar[str] = ""
    help: ClassVar[str] = ""
    needs: ClassVar[tuple[int, ...]] = ()
    cues: ClassVar[int] = 0
    least_of_paragraph: ClassVar[int] = 0

    def wants(self, tally: Tally, text: str) -> bool:
        """Whether a sentence with these numbers may have a finding; looked at before anything is made of it."""
        return tally.values > 1

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Findings of one sentence."""
        return ()

    def passage(self, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Findings of several sentences that follow each other."""
        return ()

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Findings of a whole text; `sentences` are those with a number."""
        return ()

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Findings of a paragraph with two numbers or more."""
        return ()

    def table(self, document: Document, table: Any) -> Iterable[Finding]:
        """Findings of a table; `table` is its `numerate.apps.consistency.tables.table_numbers.NumberTable`."""
        return ()


def matches(skeleton: str, patterns: Iterable[tuple[tuple[str, ...], re.Pattern[str]]]) -> Iterator[re.Match[str]]:
    """Matches of the patterns that have one of their words in the skeleton: a look for words is cheap."""
    has = skeleton.__contains__
    for words, pattern in patterns:
        if any(map(has, words)):
            yield from pattern.finditer(skeleton)


def finding_at(
    rule: str,
    quantity: Quantity,
    message: str,
    *,
    meant: float | None = None,
    probability: float = 0.95,
    others: Sequence[Quantity] = (),
    **evidence: Any,
) -> Finding:
    """A finding at a quantity; `meant` is the value that would fit, written as the quantity is."""
    evidence = {"value": quantity.value, **evidence}
    if others:
        evidence["others"] = [{"text": other.text, "start": other.start, "end": other.end} for other in others]
    if meant is not None:
        evidence["expected"] = meant
    return Finding(
        rule=rule,
        message=message,
        written=quantity.text,
        meant=written_like(quantity, meant) if meant is not None else None,
        probability=probability,
        span=(quantity.start, quantity.end),
        evidence=evidence,
    )


def finding_in_cell(
    rule: str,
    document: Document,
    row: int,
    column: int,
    message: str,
    *,
    meant: str | None = None,
    probability: float = 0.95,
    **evidence: Any,
) -> Finding:
    """A finding at a cell of a table; `row` counts from the first row of this piece of it."""
    return Finding(
        rule=rule,
        message=message,
        written=document.rows[row][column].strip(),
        meant=meant,
        probability=probability,
        cell=(row + document.first_row, column),
        key=document.header[column],
        evidence=evidence,
    )


def written_like(quantity: Quantity, value: float) -> str:
    """Another value in the style of the quantity, with its unit: `17 mi` for 17.4 and `27 mi`."""
    if (
        len(quantity.numerals) != 1
        or _has_unread_one(quantity)
        or quantity.text.endswith((" and a half", " and a quarter"))
    ):
        return _in_two_units(quantity, value) or f"{value:.4g}{f' {quantity.unit}' if quantity.unit else ''}"
    numeral = quantity.numerals[0]
    if numeral.text[:1].isalpha():
        value = float(f"{value:.3g}")  # words for the noise of a float are long
    try:
        number = _rendered(numeral.style, value)
    except (ValueError, OverflowError):
        number = plain(value)
    left, right = numeral.start - quantity.start, numeral.end - quantity.start
    return quantity.text[:left] + number + quantity.text[right:]


def _rendered(style: Any, value: float) -> str:
    """The value in a style, with more decimals where rounding would make it another one: 0.009 in the style of 0.09."""
    first = number = render(style, value)
    while style.family == "decimal" and style.decimals < MOST_DECIMALS:
        read = find(number)
        # `3.7m` of `€3.7m` reads as metres.
        if len(read) != 1 or read[0].unit is not None or abs(read[0].value - value) <= MOST_ROUNDING * abs(value):
            return number
        style = dataclasses.replace(style, decimals=style.decimals + 1, anchor=None)
        number = render(style, value)
    return first  # decimals are not what it lacks: `1.130,0` by itself reads as another number than in its text


def _has_unread_one(quantity: Quantity) -> bool:
    """Whether it begins with an article that counts: `an hour and 45 minutes`."""
    units = [numeral.unit for numeral in quantity.numerals]
    return len(units) == 1 and units[0] is not None and quantity.text.startswith(("a ", "an ", "A ", "An "))


def _in_two_units(quantity: Quantity, value: float) -> str | None:
    """`5 ft 11 in` for 5.91 and `6 ft 11 in`; None for other quantities than two whole numbers with units."""
    units = [numeral.unit for numeral in quantity.numerals]
    if _has_unread_one(quantity):
        units.insert(0, quantity.unit)
    sizes = [measure_of(unit) for unit in units if unit is not None]
    if len(units) != 2 or len(sizes) != 2 or sizes[0] is None or sizes[1] is None or not 0 < value < 1e6:
        return None
    count = round(sizes[0].factors[0] / sizes[1].factors[0])
    if count < 2 or sizes[0].powers != sizes[1].powers:
        return None
    large, small = divmod(round(value * count), count)
    return f"{large} {units[0]} {small} {units[1]}"


def plain(value: float) -> str:
    """A value for a message: at most four decimals, thousands separated.

    Example:
        >>> plain(1234567.0), plain(0.30004), plain(17.398)
        ('1,234,567', '0.3', '17.4')
    """
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    size = abs(value)
    text = f"{value:,.1f}" if size >= 100 else f"{value:.2f}" if size >= 0.1 else f"{value:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text
