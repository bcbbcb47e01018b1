"""Relations between the columns of a table: sums, products, differences, growth, ratios and order.

A relation is learnt from the rows in which it holds; a row that breaks it is reported. Names of columns help, but are
not needed: `Amount = Quantity x Price` is seen from the numbers.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.base import Rule, plain, rules
from numerate.apps.consistency.formulas import (
    Formula,
    change_of_rows,
    difference_of,
    growth_of,
    growth_of_rows,
    product_of,
    quotient_of,
    running_total,
    scaled_by,
    sum_of,
)
from numerate.apps.consistency.table_numbers import header_unit
from numerate.apps.findings import Finding
from numerate.numerals.unit_factors import converted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numerate.apps.consistency.table_numbers import NumberTable
    from numerate.apps.documents import Document

__all__ = ["Relation", "Relations", "find_relations"]

MAX_COLUMNS = 14
"""Only the first numeric columns are compared with each other: the number of relations grows with the cube."""
LEARN_ROWS = 2_000
TRIALS = 256
_LABEL = re.compile(r"^(?:rank|no\.?|pos\.?|position|#|id|number|seed|place)$", re.IGNORECASE)
_LOW = re.compile(
    r"\b(?:low|lower|min|minimum|from|start|begin|opened|open|born|first|departure|founded|established)\b",
    re.IGNORECASE,
)
_HIGH = re.compile(
    r"\b(?:high|upper|max|maximum|to|end|until|closed|close|died|last|arrival|dissolved)\b", re.IGNORECASE
)
_PAIRS = [
    ("low", "high"), ("lower", "upper"), ("min", "max"), ("minimum", "maximum"), ("from", "to"), ("from", "until"),
    ("start", "end"), ("begin", "end"), ("opened", "closed"), ("open", "close"), ("born", "died"), ("first", "last"),
    ("founded", "dissolved"), ("established", "dissolved"),
]  # fmt: skip
_CHANGE = re.compile(
    r"\b(?:change|diff\w*|growth|years|duration|net|margin|delta|gd|\+/-|increase)\b|%|Δ|±", re.IGNORECASE
)
_LENGTH = re.compile(
    r"\b(?:years?|duration|days|months|hours|length|age|difference|diff|change|range|spread)\b", re.IGNORECASE
)
_GROWTH = re.compile(r"\b(?:growth|change|increase|yoy|gain|delta)\b|[+±Δ]", re.IGNORECASE)
_RUNNING = re.compile(r"\b(?:cumulative|running|accumulated|balance)\b", re.IGNORECASE)
_LEFT = re.compile(r"\b(?:profit|net|surplus|balance|margin|result|gain)\b", re.IGNORECASE)
_TAKEN = re.compile(r"\b(?:costs?|expenses|expenditures?|spending|outgoings)\b", re.IGNORECASE)
_GIVEN = re.compile(r"\b(?:income|revenues?|sales|receipts|turnover)\b", re.IGNORECASE)
_YEAR = re.compile(r"\b[12]\d{3}\b")
_COUNTED = re.compile(r"\b(?:quantity|qty|count|units|hours|pieces|number|sold|items)\b", re.IGNORECASE)
_PRICED = re.compile(r"\b(?:price|rate|cost|fee|wage|each|per)\b", re.IGNORECASE)
_TO_PAY = re.compile(r"\b(?:amount|total|cost|revenue|sum|sales|pay|value|charge|subtotal)\b", re.IGNORECASE)
_WHOLE = re.compile(r"\b(?:total|sum|all|points|pts|played|p|gp|games|matches|year|amount|overall)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation that holds in most rows.

    Attributes:
        kind: `row-sum`, `product`, `difference`, `growth`, `percentage` or `ratio`.
        target: The column that is computed.
        sources: The columns that it is computed from.
        text: The relation in words.
        formula: Computes expected values and their slack.
        share: Share of the rows in which it holds.
    """

    kind: str
    target: int
    sources: tuple[int, ...]
    text: str
    formula: Formula
    share: float


@rules.register("relation")
class Relations(Rule):
    """A row that breaks what holds in the other rows of its table."""

    title = "relation of columns"
    help = "A row breaks a relation of columns (sum, product, difference, growth, ratio) that holds in the other rows."

    def __init__(self) -> None:
        self._learnt: dict[str, list[Relation]] = {}

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Learns relations from the first rows, and looks for rows that break them."""
        if document.first_row == 0:
            self._learnt[document.source] = find_relations(table)
        relations = self._learnt.get(document.source, [])
        if document.is_last:
            self._learnt.pop(document.source, None)
        explained: dict[tuple[int, frozenset[int]], bool] = {}
        halves = table.steps / 2
        found: dict[int, list[Finding]] = {}
        for relation in relations:
            expected, slack = relation.formula(table.values, halves)
            actual = table.values[:, relation.target]
            with np.errstate(invalid="ignore"):
                # A quotient may have been cut off instead of rounded, or be made from unrounded numbers.
                digits = 1.02 if relation.kind in ("row-sum", "product", "difference") else 2.04
                wrong = np.abs(actual - expected) > slack + halves[:, relation.target] * digits + 1e-9 * np.abs(
                    expected
                )
            wrong &= np.isfinite(actual) & np.isfinite(expected)
            if relation.kind not in ("row-sum", "difference"):
                wrong[table.total_rows] = False
                if table.is_percent(relation.target):
                    wrong &= ~((expected > 99) & (expected < 101))  # the turnout, or a total without that name
            for row in np.flatnonzero(wrong):
                columns = frozenset((relation.target, *relation.sources))
                if (int(row), columns) not in explained:
                    explained[int(row), columns] = True
                    found.setdefault(int(row), []).append(
                        _finding(document, relation, int(row), float(actual[row]), float(expected[row]))
                    )
        for each in found.values():
            yield _culprit(each)
        yield from _orders(document, table)


def find_relations(table: NumberTable) -> list[Relation]:
    """The relations that hold in most rows, the simplest for each set of columns.

    Example:
        >>> from numerate.apps.consistency.table_numbers import NumberTable
        >>> from numerate.apps.documents import Document
        >>> rows = [["3", "4.50", "13.50"], ["2", "8.25", "16.50"], ["12", "1.20", "14.40"], ["7", "3.00", "21.00"]]
        >>> table = NumberTable(Document(kind="table", header=["quantity", "price", "amount"], rows=rows))
        >>> [relation.text for relation in find_relations(table)]
        ['amount = quantity x price']
    """
    totals = set(table.total_rows)
    keep = [row for row in range(min(len(table.values), LEARN_ROWS)) if row not in totals]
    values, halves = table.values[keep], table.steps[keep] / 2
    columns = [column for column in table.numeric if not _LABEL.search(table.header[column])][:MAX_COLUMNS]
    # The more relations are tried, the more hold by chance.
    tried = np.log2(4.0 * len(columns) ** 3 + 1)
    found: list[Relation] = []
    taken: set[frozenset[int]] = set()
    sums: set[frozenset[int]] = set()
    for each in _candidates(table, columns):
        used = frozenset((each.target, *each.sources))
        if used in taken or any(used < other for other in sums):
            continue
        needed = tried + (2 if _is_named(table.header[each.target]) else 7)
        share = _share(values, halves, each, 4.0 if each.is_told else needed)
        if share is not None:
            taken.add(used)
            sums |= {used} if each.kind == "row-sum" else set()
            found.append(Relation(each.kind, each.target, each.sources, each.text, each.formula, share))
    return found


@dataclass(frozen=True, slots=True)
class _Candidate:
    kind: str
    target: int
    sources: tuple[int, ...]
    text: str
    formula: Formula
    cost: float = 0.0
    is_told: bool = False
    """Whether the names of the columns say so."""


def _share(values: np.ndarray, halves: np.ndarray, candidate: _Candidate, needed: float) -> float | None:
    """Share of rows in which a relation holds; None if it does not hold, or may hold by chance."""
    known, holds = _holding(values, halves, candidate.target, candidate.formula)
    count, right = int(known.sum()), int(holds.sum())
    least = 0.9 if count < 200 else 0.98
    # Names that say what the column is computed from need fewer rows as a proof: `From`, `To`, `Years`.
    if right < (2 if candidate.is_told else 3) or right < (count - 1 if count < 12 else least * count):
        return None
    if any(np.ptp(values[known, source]) == 0 for source in candidate.sources):
        return None
    if candidate.kind in ("ratio", "growth", "percentage") and candidate.cost >= 0:
        expected, slack = candidate.formula(values[holds], halves[holds])
        half, size = np.median(halves[holds, candidate.target]), np.median(np.abs(expected)) + 1e-12
        if np.median(slack) > 2 * half and np.median(slack) / size > 0.02:
            return None  # small counts have many ratios
        if candidate.kind == "ratio" and (np.median(slack) + half) / size > 0.02:
            return None
    # How often it would hold by chance: the same formula with cells of different rows.
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(known)
    columns = (*candidate.sources, candidate.target)
    mixed, steps = np.full((TRIALS, values.shape[1]), np.nan), np.ones((TRIALS, values.shape[1])) / 2
    first = rng.integers(0, len(rows), TRIALS)
    for position, column in enumerate(columns):
        shift = 0 if position == 0 else rng.integers(1, len(rows), TRIALS)
        chosen = rows[(first + shift) % len(rows)]
        mixed[:, column], steps[:, column] = values[chosen, column], halves[chosen, column]
    usable, lucky = _holding(mixed, steps, candidate.target, candidate.formula)
    chance = (lucky.sum() + 1) / (usable.sum() + 2)
    # Zeros agree with many formulas.
    telling = holds & (values[:, candidate.target] != 0)
    distinct = len(np.unique(values[telling][:, columns], axis=0))
    bits = min(right, distinct) * -np.log2(chance) - candidate.cost
    return right / count if bits >= needed else None


def _holding(values: np.ndarray, halves: np.ndarray, target: int, formula: Formula) -> tuple[np.ndarray, np.ndarray]:
    """Rows in which a relation can be computed, and those in which it holds."""
    expected, slack = formula(values, halves)
    actual = values[:, target]
    known = np.isfinite(actual) & np.isfinite(expected)
    with np.errstate(invalid="ignore"):
        holds = np.abs(actual - expected) <= slack + halves[:, target] * 1.02 + 1e-9 * np.abs(expected)
    return known, known & holds


def _candidates(table: NumberTable, columns: list[int]) -> Iterator[_Candidate]:
    """All relations that may hold, those with a likely target first."""
    name = table.header
    likely = sorted(columns, key=lambda each: (not _is_named(name[each]), -each))
    for target in likely:
        for run in _runs(columns, columns.index(target)):
            if not any(table.is_year(each) for each in run):
                text = f"{name[target]} = {' + '.join(name[each] for each in run)}"
                told = len(run) == len(columns) - 1 and _WHOLE.search(name[target]) is not None
                yield _Candidate("row-sum", target, run, text, sum_of(run), is_told=told)
    for target in likely:
        others = [each for each in columns if each != target]
        for index, a in enumerate(others):
            for b in others[index + 1 :]:
                told = _is_price(name[a], name[b], name[target])
                text = f"{name[target]} = {name[a]} x {name[b]}"
                yield _Candidate("product", target, (a, b), text, product_of(a, b), is_told=told)
    yield from _down_the_rows(table, likely, columns)
    for target in likely:
        for a, b in itertools.permutations([each for each in columns if each != target], 2):
            blur = 1.0 if table.is_year(a) and table.is_year(b) else 0.0
            wrap = 1440.0 if table.is_clock(a) and table.is_clock(b) else 0.0
            text = f"{name[target]} = {name[b]} - {name[a]}"
            if not (table.is_year(target) and not blur):
                told = _LENGTH.search(name[target]) is not None and _is_span(name[a], name[b])
                told = told or _is_profit(name[a], name[b], name[target])
                formula = difference_of(a, b, blur, wrap)
                yield _Candidate("difference", target, (a, b), text, formula, blur, told)
            if blur or wrap or table.is_clock(a) or table.is_clock(b) or table.is_year(target):
                continue
            for scale in (100.0, 1.0):
                unit = " in %" if scale > 1 else ""
                text = f"{name[target]} = growth from {name[a]} to {name[b]}{unit}"
                told = scale > 1 and table.is_percent(target) and _is_later(name[a], name[b])
                told = told and _GROWTH.search(name[target]) is not None
                yield _Candidate("growth", target, (a, b), text, growth_of(a, b, scale), is_told=told)
                text = f"{name[target]} = {name[a]} / {name[b]}{unit}"
                yield _Candidate("percentage", target, (a, b), text, quotient_of(a, b, scale))
    for a, target in itertools.combinations(columns, 2):
        known = _unit_ratio(name[a], name[target])
        ratio = known or _constant(table, a, target)
        if ratio is not None:
            text = f"{name[target]} = {ratio:.6g} x {name[a]}"
            cost = -6.0 if known else 4.0
            yield _Candidate("ratio", target, (a,), text, scaled_by(a, ratio), cost, known is not None)


def _is_span(one: str, other: str) -> bool:
    """Whether two columns are the begin and the end of something."""
    low, high = _LOW.search(one), _HIGH.search(other)
    return low is not None and high is not None and (low[0].lower(), high[0].lower()) in _PAIRS


def _is_profit(less: str, whole: str, target: str) -> bool:
    """Whether the target is what is left of the whole: profit, goal difference."""
    found = _LEFT.search(target) is not None and _TAKEN.search(less) is not None and _GIVEN.search(whole) is not None
    return found or tuple(each.strip().upper() for each in (less, whole, target)) in {
        ("GA", "GF", "GD"),
        ("A", "F", "GD"),
    }


def _is_later(one: str, other: str) -> bool:
    """Whether two columns differ by their years: `Population 2010`, `Population 2020`."""
    years = [_YEAR.search(each) for each in (one, other)]
    return years[0] is not None and years[1] is not None and int(years[0][0]) < int(years[1][0])


def _is_price(one: str, other: str, target: str) -> bool:
    """Whether two columns are a count and a price, and the target what is to pay."""
    counted = _COUNTED.search(one), _COUNTED.search(other)
    priced = _PRICED.search(one), _PRICED.search(other)
    return bool(_TO_PAY.search(target)) and bool((counted[0] and priced[1]) or (counted[1] and priced[0]))


def _down_the_rows(table: NumberTable, likely: list[int], columns: list[int]) -> Iterator[_Candidate]:
    """Relations with the row above or below: growth and change since the last year, running totals."""
    name = table.header
    for target in likely:
        growth, running = _GROWTH.search(name[target]), _RUNNING.search(name[target])
        if not growth and not running:
            continue
        for source in columns:
            if source == target or table.is_year(source) or table.is_clock(source) or table.is_percent(source):
                continue
            if running:
                text = f"{name[target]} = {name[target]} of the last row + {name[source]}"
                yield _Candidate("running", target, (source,), text, running_total(source, target), is_told=True)
                continue
            for back in (1, -1):
                row = "last" if back == 1 else "next"
                if table.is_percent(target):
                    text = f"{name[target]} = growth of {name[source]} since the {row} row in %"
                    formula = growth_of_rows(source, back)
                else:
                    text = f"{name[target]} = {name[source]} less that of the {row} row"
                    formula = change_of_rows(source, back)
                yield _Candidate("row-growth", target, (source,), text, formula, -1.0, is_told=True)


def _is_named(header: str) -> bool:
    return _CHANGE.search(header) is not None or _WHOLE.search(header) is not None


def _unit_ratio(one: str, other: str) -> float | None:
    """The factor between two columns whose names differ by their units only: `Distance (km)`, `Distance (mi)`."""
    units = header_unit(one), header_unit(other)
    if None in units or units[0] == units[1] or one.split("(")[0].strip() != other.split("(")[0].strip():
        return None
    factors = converted(1.0, units[0], units[1])  # type: ignore[arg-type]
    return factors[0] if len(factors) == 1 and "°" not in f"{units}" else None


def _runs(columns: list[int], position: int) -> Iterator[tuple[int, ...]]:
    """Runs of two or more neighbours right before or behind a column, the longest first."""
    for start in range(position - 1):
        yield tuple(columns[start:position])
    for end in range(len(columns), position + 2, -1):
        yield tuple(columns[position + 1 : end])


def _constant(table: NumberTable, a: int, target: int) -> float | None:
    """The constant ratio of two columns, from the rows with the most digits; None if one column copies the other."""
    one, other = table.values[:LEARN_ROWS, a], table.values[:LEARN_ROWS, target]
    known = np.isfinite(one) & np.isfinite(other) & (one != 0) & (other != 0)
    if known.sum() < 3 or table.is_year(a) or table.is_year(target):
        return None
    ratios = other[known] / one[known]
    ratio = float(np.median(ratios))
    if ratio == 0 or not np.isfinite(ratio):
        return None
    # The median of rounded quotients is rough; the sums of the rows near it are better.
    near = np.abs(ratios / ratio - 1) < 0.1
    whole = float(np.abs(one[known][near]).sum())
    ratio = float(np.abs(other[known][near]).sum()) / whole * (1 if ratio > 0 else -1) if whole > 0 else ratio
    return None if abs(ratio - 1) < 1e-9 else ratio


def _culprit(findings: list[Finding]) -> Finding:
    """The finding whose relation holds most widely, where several relations of a row are broken."""
    return max(
        findings, key=lambda each: (each.evidence["share"], _is_named(each.key or ""), each.evidence["kind"] != "ratio")
    )


def _finding(document: Document, relation: Relation, row: int, actual: float, expected: float) -> Finding:
    written = document.rows[row][relation.target].strip()
    message = (
        f"{relation.text} holds in {relation.share:.0%} of the rows; here "
        f"it gives {plain(round(expected, 4))}, not {written}."
    )
    return Finding(
        rule="relation",
        message=message,
        written=written,
        meant=plain(round(expected, 4)),
        cell=(row + document.first_row, relation.target),
        key=document.header[relation.target],
        probability=0.92 if relation.kind != "ratio" else 0.85,
        evidence={"kind": relation.kind, "expected": expected, "value": actual, "share": relation.share,
                  "columns": [document.header[each] for each in relation.sources]},
    )  # fmt: skip


def _orders(document: Document, table: NumberTable) -> Iterator[Finding]:
    """Rows whose minimum, start, ... is above their maximum, end, ..."""
    for a in table.numeric:
        for b in table.numeric:
            low, high = _LOW.search(table.header[a]), _HIGH.search(table.header[b])
            if a == b or low is None or high is None or (low[0].lower(), high[0].lower()) not in _PAIRS:
                continue
            one, other = table.values[:, a], table.values[:, b]
            known = np.isfinite(one) & np.isfinite(other)
            with np.errstate(invalid="ignore"):
                wrong = known & (one > other)
            if known.sum() < 3 or wrong.sum() > max(1, 0.05 * known.sum()) or table.is_clock(a):
                continue
            for row in np.flatnonzero(wrong).tolist():
                cell = document.rows[row][a].strip(), document.rows[row][b].strip()
                message = f"{table.header[a]} {cell[0]} is more than {table.header[b]} {cell[1]}."
                yield Finding(
                    rule="relation",
                    message=message,
                    written=cell[0],
                    cell=(row + document.first_row, a),
                    key=table.header[a],
                    probability=0.92,
                    evidence={"kind": "order", "value": float(one[row]), "other": float(other[row]), "share": 1.0},
                )
