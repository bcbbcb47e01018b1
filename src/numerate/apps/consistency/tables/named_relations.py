"""Relations that the names of the columns tell: points of a league table, means, ages and shares."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_numbers import header_unit
from numerate.apps.consistency.tables.formulas import (
    Formula,
    changed_by,
    changed_product,
    index_of_body,
    mean_by_count,
    mean_of,
    quotient_of,
    signed_sum,
    sum_of,
    taken_from,
    weighted,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.tables.table_numbers import NumberTable

__all__ = ["COUNTED", "PRICED", "YEAR", "Candidate", "known_by_name", "rates_by_name", "rates_by_unit", "runs"]

_WON = regex(r"w|won|wins", re.IGNORECASE)
_DRAWN = regex(r"d|t|drawn|draws|ties|tied", re.IGNORECASE)
_LEAGUE = regex(r"pts\.?|points", re.IGNORECASE)
_DEDUCTED = regex(r"deduct|penalt|bonus|adjust", re.IGNORECASE)
_PERCENT_OF = regex(r"(?:%|percent|share) of (?:n ?= ?)?(\d+)\b", re.IGNORECASE)
_MEAN = regex(r"\b(?:average|mean|avg\.?)\b", re.IGNORECASE)
_STOCK_START = regex(r"\b(?:opening|start\w*|begin\w*|initial|previous|before|old|brought forward)\b", re.IGNORECASE)
_STOCK_END = regex(r"\b(?:closing|end\w*|final|current|after|now|balance|new|carried forward|stock)\b", re.IGNORECASE)
_REDUCED = regex(r"\b(?:discount|rebate|reduction|off|loss|waste|shrinkage)\b", re.IGNORECASE)
_RAISED = regex(r"\b(?:tax|vat|markup|mark-up|surcharge|interest|margin|increase|rise|raise)\b", re.IGNORECASE)
COUNTED = regex(r"\b(?:quantity|qty|count|units|hours|pieces|number|sold|items)\b", re.IGNORECASE)
PRICED = regex(r"\b(?:price|rate|cost|fee|wage|each|per)\b", re.IGNORECASE)
YEAR = regex(r"\b[12]\d{3}\b")
_BORN = regex(r"\b(?:born|birth|yob|founded|built|established|opened)\b", re.IGNORECASE)
_AGED = regex(r"^age\b(?! (?:at|when|of))|\bage (?:in|on) |\byears old\b", re.IGNORECASE)
_BODY_MASS = regex(r"\b(?:bmi|body[ -]mass[ -]index)\b", re.IGNORECASE)
_WEIGHT = regex(r"\b(?:weight|mass)\b", re.IGNORECASE)
_HEIGHT = regex(r"\b(?:height|size|stature)\b", re.IGNORECASE)
_CENTIMETRES = 3.0
"""Heights of people above this are no metres."""
_HALVES = (
    ("girls", "boys"), ("women", "men"), ("female", "male"), ("females", "males"), ("adults", "children"),
    ("home", "away"), ("day", "night"), ("present", "absent"), ("passed", "failed"),
)  # fmt: skip
"""Names of two columns that leave nothing else."""
_BOTH = regex(
    r"\b(?:total|all|sum|both|pupils|students|people|persons|patients|members|staff|employees|visitors|guests|participants"
    r"|candidates|overall)\b",
    re.IGNORECASE,
)
_PER = regex(r"(\S.*?)(?: per | ?/ ?)(?:an? )?(\S.*)", re.IGNORECASE)
_BRACKETS = regex(r"\s*\([^()]*\)")
_UNITS = regex(r"\((?:in )?([a-zµ€$£°²³]{1,8}) ?(?:/|per) ?([a-zµ€$£°²³]{1,8})\)\s*$", re.IGNORECASE)
_SCALES = (
    (1e9, regex(r"\([^()]*(?:\bbillions?|\bbn|\bmrd|[€$£]bn)\b[^()]*\)", re.IGNORECASE)),
    (1e6, regex(r"\((?:[^()]*(?:\bmillions?|\bmn|\bmio|[€$£]m)|m)\b[^()]*\)", re.IGNORECASE)),
    (1e3, regex(r"\((?:[^()]*(?:\bthousands?|\b000s?|'000|[€$£]k)|k)\b[^()]*\)", re.IGNORECASE)),
)
_PERSONS = ("capita", "head", "person", "inhabitant", "resident")
_PEOPLE = regex(r"\b(?:populations?|inhabitants?|persons?|people|residents?|heads?|capita)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A relation that may hold between columns."""

    kind: str
    target: int
    sources: tuple[int, ...]
    text: str
    formula: Formula
    cost: float = 0.0
    is_told: bool = False
    """Whether the names of the columns say so."""
    only_slips: bool = False
    """Whether a row that breaks it must look like a slip: it may have a price of its own."""


def known_by_name(table: NumberTable, columns: list[int]) -> Iterator[Candidate]:
    """Relations that only the names tell: points of a league table, means, and percentages of a number in the name."""
    name = table.header
    for target in columns:
        for run in runs(columns, columns.index(target)) if _MEAN.search(name[target]) else ():
            text = f"{name[target]} = mean of {', '.join(name[each] for each in run)}"
            yield Candidate("mean", target, run, text, mean_of(run), is_told=True)
        for a, count in itertools.permutations(columns, 2) if _MEAN.search(name[target]) else ():
            counts = table.values[np.isfinite(table.values[:, count]), count]
            if target not in (a, count) and (counts == np.round(counts)).all() and (counts > 0).all():
                text = f"{name[target]} = {name[a]} / {name[count]}"
                yield Candidate("percentage", target, (a, count), text, mean_by_count(a, count), is_told=True)
        for start in columns if _STOCK_END.search(name[target]) else ():
            if start == target or not _STOCK_START.search(name[start]):
                continue
            for a, b in itertools.combinations([each for each in columns if each not in (start, target)], 2):
                for signs in ((1, 1, -1), (1, -1, 1)):
                    marks = [" + " if sign > 0 else " - " for sign in signs]
                    text = f"{name[target]} = {name[start]}{marks[1]}{name[a]}{marks[2]}{name[b]}"
                    formula = signed_sum((start, a, b), signs)
                    yield Candidate("row-sum", target, (start, a, b), text, formula, is_told=True)
        for percent in columns:
            if percent == target or not table.is_percent(percent) or table.is_percent(target):
                continue
            sign = -1 if _REDUCED.search(name[percent]) else 1 if _RAISED.search(name[percent]) else 0
            for source in columns if sign else ():
                if source not in (percent, target):
                    text = f"{name[target]} = {name[source]} {'+' if sign > 0 else '-'} {name[percent]}"
                    yield Candidate(
                        "product", target, (source, percent), text, changed_by(source, percent, sign), is_told=True
                    )
            rest = [each for each in columns if sign and each not in (percent, target)]
            for a, b in itertools.permutations(rest, 2):
                if COUNTED.search(name[a]) and PRICED.search(name[b]) and not table.is_percent(a):
                    text = f"{name[target]} = {name[a]} x {name[b]} {'+' if sign > 0 else '-'} {name[percent]}"
                    yield Candidate(
                        "product", target, (a, b, percent), text, changed_product(a, b, percent, sign), is_told=True
                    )
    for target, source in itertools.permutations(columns, 2):
        if _AGED.search(name[target]) and _BORN.search(name[source]) and table.is_year(source):
            sums = table.values[:, target] + table.values[:, source]
            told = YEAR.search(name[target])
            year = float(told[0]) if told else float(np.nanmedian(sums))
            text = f"{name[target]} = {year:.0f} - {name[source]}"
            blur = 0.0 if "31 dec" in name[target].lower() else 1.0
            yield Candidate("difference", target, (source,), text, taken_from(year, source, blur), is_told=True)
    yield from _bodies(table, columns)
    yield from _halves(table, columns)
    won = [each for each in columns if _WON.fullmatch(name[each].strip())]
    drawn = [each for each in columns if _DRAWN.fullmatch(name[each].strip())]
    for target in columns:
        # Points may be taken off or given as a bonus: the caption says so.
        is_league = _LEAGUE.fullmatch(name[target].strip()) and not _DEDUCTED.search(table.document.caption)
        if is_league and len(won) == len(drawn) == 1:
            for worth in (3.0, 2.0):
                text = f"{name[target]} = {worth:.0f} x {name[won[0]]} + {name[drawn[0]]}"
                yield Candidate(
                    "points", target, (won[0], drawn[0]), text, weighted(won[0], worth, drawn[0]), is_told=True
                )
        for source in columns if table.is_percent(target) else ():
            counts = table.values[: len(table.values), source]
            known = np.isfinite(counts)
            known[table.total_rows] = False
            whole = float(counts[known].sum())
            if source != target and not table.is_percent(source) and whole > 0 and (counts[known] >= 0).all():
                text = f"{name[target]} = 100 x {name[source]} / {whole:g}"
                exact = weighted(source, 100 / whole, None)
                yield Candidate("percentage", target, (source,), text, exact, -1.0, is_told=True)
        share = _PERCENT_OF.search(name[target])
        if share is None or float(share[1]) == 0:
            continue
        for source in columns:
            if source != target and not table.is_percent(source) and not table.is_year(source):
                text = f"{name[target]} = 100 x {name[source]} / {share[1]}"
                exact = weighted(source, 100 / float(share[1]), None)
                yield Candidate("percentage", target, (source,), text, exact, -1.0, is_told=True)


def _bodies(table: NumberTable, columns: list[int]) -> Iterator[Candidate]:
    """Body-mass indexes beside weights in kilograms and heights in metres or centimetres."""
    name = table.header
    for target in columns:
        if not _BODY_MASS.search(name[target]):
            continue
        masses = [each for each in columns if each != target and _WEIGHT.search(name[each])]
        heights = [each for each in columns if each != target and _HEIGHT.search(name[each])]
        if len(masses) == len(heights) == 1:
            metre = 100.0 if float(np.nanmedian(table.values[:, heights[0]])) > _CENTIMETRES else 1.0
            text = f"{name[target]} = {name[masses[0]]} / {name[heights[0]]}²"
            formula = index_of_body(masses[0], heights[0], metre)
            yield Candidate("percentage", target, (masses[0], heights[0]), text, formula, is_told=True)


def _halves(table: NumberTable, columns: list[int]) -> Iterator[Candidate]:
    """Girls and boys beside all pupils."""
    names = {table.header[each].strip().lower(): each for each in columns}
    for one, other in _HALVES:
        for target in columns if one in names and other in names else ():
            pair = names[one], names[other]
            if target not in pair and _BOTH.search(table.header[target]):
                text = f"{table.header[target]} = {table.header[pair[0]]} + {table.header[pair[1]]}"
                yield Candidate("row-sum", target, pair, text, sum_of(pair), is_told=True)


def rates_by_name(table: NumberTable, columns: list[int]) -> Iterator[Candidate]:
    """Quotients that a name tells: `Tonnes per ship` beside `Tonnes` and `Ships`, `EUR / kg` beside `Weight (kg)`."""
    for target in columns:
        rate = _PER.fullmatch(_BRACKETS.sub("", table.header[target]).strip())
        if rate is None:
            continue
        for a, b in itertools.permutations([each for each in columns if each != target], 2):
            if _is_called(table.header[a], rate[1]) and (
                _is_called(table.header[b], rate[2]) or header_unit(table.header[b]) == rate[2]
            ):
                yield from _quotients(table.header, target, a, b)


def rates_by_unit(table: NumberTable, columns: list[int]) -> Iterator[Candidate]:
    """Quotients that the units tell: `Speed (km/h)` beside columns in km and in h."""
    for target in columns:
        units = _UNITS.search(table.header[target])
        if units is None:
            continue
        for a, b in itertools.permutations([each for each in columns if each != target], 2):
            if (_unit_in(table.header[a]), _unit_in(table.header[b])) == (units[1].lower(), units[2].lower()):
                yield from _quotients(table.header, target, a, b)


def _quotients(name: Sequence[str], target: int, a: int, b: int) -> Iterator[Candidate]:
    """A quotient as the numbers stand, and as the names scale them: `(m)` are millions, or metres."""
    for scale in {1.0: None, _scale_of(name[a]) / _scale_of(name[b]) / _scale_of(name[target]): None}:
        text = f"{name[target]} = {name[a]} / {name[b]}{'' if scale == 1 else f' x {scale:,.6g}'}"
        yield Candidate("percentage", target, (a, b), text, quotient_of(a, b, scale), is_told=True)


def _unit_in(header: str) -> str | None:
    """What stands in the brackets at the end of a name: `km` of `Distance (km)`."""
    found = _BRACKETS.findall(header)
    return found[-1].strip(" ()").lower() if found else None


def _scale_of(header: str) -> float:
    """What a number of a column stands for, by its name: a million of `GDP (€ million)`, else 1."""
    return next((size for size, pattern in _SCALES if pattern.search(header)), 1.0)


def _is_called(header: str, noun: str) -> bool:
    """Whether a column is named by a noun, in whatever number: `Ships` by `ship`, `Total cost (EUR)` by `cost`."""
    words, wanted = (_BRACKETS.sub("", each).strip().lower() for each in (header, noun))
    if wanted in _PERSONS:
        return _PEOPLE.search(words) is not None
    words, wanted = (f"{each[:-3]}y" if each.endswith("ies") else each.removesuffix("s") for each in (words, wanted))
    return words == wanted or words.endswith(f" {wanted}")


def runs(columns: list[int], position: int) -> Iterator[tuple[int, ...]]:
    """Runs of two or more neighbours right before or behind a column, the longest first."""
    for start in range(position - 1):
        yield tuple(columns[start:position])
    for end in range(len(columns), position + 2, -1):
        yield tuple(columns[position + 1 : end])
