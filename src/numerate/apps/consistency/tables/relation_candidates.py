"""Which relations between the columns of a table may hold: sums, products, differences, growth and ratios."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import numpy as np

from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.tables.cell_numbers import header_unit
from numerate.apps.consistency.tables.column_ratios import LEARN_ROWS, constant_ratio, exact_ratio
from numerate.apps.consistency.tables.formulas import (
    change_of_rows,
    difference_of,
    flow_of,
    growth_of,
    growth_of_rows,
    product_of,
    quotient_of,
    running_total,
    scaled_by,
    sum_from_top,
    sum_of,
    weighted,
)
from numerate.apps.consistency.tables.named_relations import (
    COUNTED,
    PRICED,
    YEAR,
    Candidate,
    known_by_name,
    rates_by_name,
    rates_by_unit,
    runs,
)
from numerate.numerals.unit_factors import converted
from numerate.numerals.unit_tables import CODES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.tables.table_numbers import NumberTable

__all__ = [
    "LEARN_ROWS",
    "Candidate",
    "candidates_of",
    "is_extreme",
    "is_mean",
    "is_named",
    "is_span",
    "is_span_of_one",
    "row_sums",
]

_LOW = regex(
    r"\b(?:mean|median|average|avg|lowest|low|lower|min|minimum|from|start|begin|opened|open|opening|initial|before"
    r"|born|first|departure|founded|established)\b",
    re.IGNORECASE,
)
_HIGH = regex(
    r"\b(?:mean|median|average|avg|highest|high|upper|max|maximum|to|end|until|closed|close|closing|final|after"
    r"|died|last|arrival|dissolved)\b",
    re.IGNORECASE,
)
_PAIRS = [
    ("low", "high"), ("lowest", "highest"), ("lowest", "max"), ("min", "highest"),
    ("lower", "upper"), ("min", "max"), ("minimum", "maximum"), ("from", "to"), ("from", "until"),
    ("start", "end"), ("begin", "end"), ("opened", "closed"), ("open", "close"), ("born", "died"), ("first", "last"),
    ("founded", "dissolved"), ("established", "dissolved"),
    *((low, mean) for low in ("min", "minimum", "low", "lowest") for mean in ("mean", "median", "average", "avg")),
    *((mean, high) for high in ("max", "maximum", "high", "highest") for mean in ("mean", "median", "average", "avg")),
]  # fmt: skip
_MEAN = regex(r"\b(?:mean|median|average|avg)\b", re.IGNORECASE)
_EXTREME = regex(r"\b(?:mean|median|average|avg|min|minimum|max|maximum|lowest|highest)\b", re.IGNORECASE)
_ENDS = [("initial", "final"), ("before", "after"), ("opening", "closing")]
"""Ends that have a difference, of which either may be the larger."""
_CHANGE = regex(
    r"\b(?:change|diff\w*|growth|years|duration|net|margin|delta|gd|\+/-|increase|drop|loss|gain|decrease"
    r"|reduction)\b|%|Δ|±",
    re.IGNORECASE,
)
_LENGTH = regex(
    r"\b(?:years?|duration|days|months|hours|length|age|difference|diff|change|range|spread|used|consumed|taken"
    r"|drop|loss|gain|decrease|reduction|rise|fall)\b",
    re.IGNORECASE,
)
_HOURS = regex(r"\b(?:hours|hrs?|h)\b", re.IGNORECASE)
_GROWTH = regex(r"\b(?:growth|change|increase|yoy|gain|delta)\b|[+±Δ]", re.IGNORECASE)
_RUNNING = regex(r"\b(?:cumulative|running|accumulated|balance)\b", re.IGNORECASE)
_LEFT = regex(
    r"\b(?:free|vacant|available|unsold|unused|left|remaining|profit|net|surplus|balance|margin|result|gain|gewinn|überschuss|saldo|ergebnis|solde|bénéfice|marge)\b",
    re.IGNORECASE,
)
_TAKEN = regex(
    r"\b(?:taken|occupied|booked|sold|used|spent|costs?|expenses|expenditures?|spending|outgoings|kosten|ausgaben|aufwand|dépenses|coûts?|gastos)\b",
    re.IGNORECASE,
)
_GIVEN = regex(
    r"\b(?:beds|seats|rooms|places|capacity|stock|budget|tickets|income|revenues?|sales|receipts|turnover|umsatz|erlöse?"
    r"|einnahmen|recettes|ventes|ingresos)\b",
    re.IGNORECASE,
)
_IN = regex(
    r"(?:in|inflows?|deposits?|credits?|received|receipts|arrivals|added|additions|bought|purchases|income|joined|new"
    r"|births|hired|hires|paid in|incoming)(?: \(.*\))?",
    re.IGNORECASE,
)
_OUT = regex(
    r"(?:out|outflows?|withdrawals?|debits?|issued|payments|departures|removed|removals|sold|sales|expenses|left"
    r"|deaths|leavers|spent|shipped|used|paid out|outgoing)(?: \(.*\))?",
    re.IGNORECASE,
)
_TO_PAY = regex(r"\b(?:amount|total|cost|revenue|sum|sales|pay|value|charge|subtotal)\b", re.IGNORECASE)
_CURRENCY = regex(rf"\b(?:{'|'.join(sorted(CODES))})\b|[€$£¥]")
_AREA = regex(r"\barea\b", re.IGNORECASE)
_SIDE = regex(r"\b(?:length|width|depth|breadth|height|long|wide)\b", re.IGNORECASE)
_WHOLE = regex(
    r"\b(?:total|sum|all|points|pts|played|p|gp|games|matches|year|amount|overall|persons|people|members|size|staff"
    r"|employees|pupils|students|population|both|combined|households?|votes|seats|headcount|gross|balance)\b",
    re.IGNORECASE,
)


def row_sums(table: NumberTable, columns: list[int]) -> Iterator[Candidate]:
    """Columns that may be the sum of those right before or behind them, the likely ones first."""
    name = table.header
    for target in _likely(table, columns):
        for run in runs(columns, columns.index(target)):
            if len(run) > LONGEST_RUN:
                continue
            # `Profit = Sales - Cost`, and not `Sales = Cost + Profit`: what is computed is blamed.
            is_left = len(run) == 2 and any(
                _is_profit(name[less], name[target], name[left]) for less, left in (run, run[::-1])
            )
            if not is_left and not any(table.is_year(each) for each in run):
                text = f"{name[target]} = {' + '.join(name[each] for each in run)}"
                told = len(run) == len(columns) - 1 and _WHOLE.search(name[target]) is not None
                yield Candidate("row-sum", target, run, text, sum_of(run), is_told=told)


def candidates_of(table: NumberTable, columns: list[int]) -> Iterator[Candidate]:
    """The other relations that may hold, those with a likely target first."""
    name, likely = table.header, _likely(table, columns)
    yield from rates_by_name(table, columns)
    for target in likely:
        others = [each for each in columns if each != target]
        for index, a in enumerate(others):
            for b in others[index + 1 :]:
                told = _is_price(name[a], name[b], name[target])
                text = f"{name[target]} = {name[a]} x {name[b]}"
                yield Candidate("product", target, (a, b), text, product_of(a, b), is_told=told)
    yield from rates_by_unit(table, columns)
    yield from _down_the_rows(table, likely, columns)
    yield from known_by_name(table, columns)
    typical = {each: float(np.nanmedian(np.abs(table.values[:LEARN_ROWS, each]))) for each in columns}
    for target in likely:
        for a, b in itertools.permutations([each for each in columns if each != target], 2):
            blur = 1.0 if table.is_year(a) and table.is_year(b) else 0.0
            wrap = 1440.0 if table.is_clock(a) and table.is_clock(b) else 0.0
            text = f"{name[target]} = {name[b]} - {name[a]}"
            if not (table.is_year(target) and not blur):
                told = _LENGTH.search(name[target]) is not None and is_span(name[a], name[b], ordered=False)
                told = told or _is_profit(name[a], name[b], name[target])
                formula = difference_of(a, b, blur, wrap)
                yield Candidate("difference", target, (a, b), text, formula, blur, told)
            if wrap and _HOURS.search(name[target]):
                text, formula = f"{text} in hours", difference_of(a, b, blur, wrap, 60.0)
                yield Candidate(
                    "difference", target, (a, b), text, formula, is_told=is_span(name[a], name[b], ordered=False)
                )
            if blur or wrap or table.is_clock(a) or table.is_clock(b) or table.is_year(target):
                continue
            for scale in (100.0, 1.0):
                unit = " in %" if scale > 1 else ""
                if typical[target] <= MOST_GROWTH * scale:
                    text = f"{name[target]} = growth from {name[a]} to {name[b]}{unit}"
                    told = scale > 1 and table.is_percent(target) and _is_later(name[a], name[b])
                    told = told and _GROWTH.search(name[target]) is not None
                    yield Candidate("growth", target, (a, b), text, growth_of(a, b, scale), is_told=told)
                text = f"{name[target]} = {name[a]} / {name[b]}{unit}"
                yield Candidate("percentage", target, (a, b), text, quotient_of(a, b, scale))
    for a, target in itertools.combinations(columns, 2):
        known = _unit_ratio(name[a], name[target])
        told = known is not None or _are_currencies(name[a], name[target])
        ratio = known or constant_ratio(table, a, target, is_told=told)
        if ratio is not None:
            text = f"{name[target]} = {ratio:.6g} x {name[a]}"
            cost = -6.0 if known else 4.0 if ratio == float(f"{ratio:.3g}") else UNROUND
            yield Candidate("ratio", target, (a,), text, scaled_by(a, ratio), cost, told)
    for a, target in itertools.permutations(columns, 2):
        ratio = exact_ratio(table, a, target)
        if ratio is not None:
            text = f"{name[target]} = {ratio:g} x {name[a]}"
            yield Candidate("ratio", target, (a,), text, weighted(a, ratio, None), 4.0, only_slips=True)


LEAST_STEPS = 6
"""Rows of a running total that no name tells."""
LONGEST_RUN = 31
"""Columns that a sum may have: the days of a month."""
MOST_GROWTH = 20.0
"""A column whose usual size is larger is a quotient: a population is no growth from the death rate to the deaths."""
UNROUND = 12.0
"""Cost of a ratio that nobody chose: three rows of a plan are all about 95 % of what came of it."""


def is_span(one: str, other: str, *, ordered: bool = True) -> bool:
    """Whether two columns are the begin and the end of something; `ordered`: the begin is never above the end."""
    low, high = _LOW.search(one), _HIGH.search(other)
    return (
        low is not None
        and high is not None
        and (low[0].lower(), high[0].lower()) in (_PAIRS if ordered else _PAIRS + _ENDS)
    )


def is_mean(name: str) -> bool:
    """Whether a column has means."""
    return _MEAN.search(name) is not None


def is_extreme(name: str) -> bool:
    """Whether a column has extremes or means."""
    return _EXTREME.search(name) is not None


def is_span_of_one(one: str, other: str) -> bool:
    """Whether two columns are extremes or means of one thing, so that a single row tells: `temp min`, `temp mean`."""
    if not (_EXTREME.search(one) and _EXTREME.search(other)):
        return False
    return _EXTREME.sub("", one).strip().lower() == _EXTREME.sub("", other).strip().lower()


def _is_profit(less: str, whole: str, target: str) -> bool:
    """Whether the target is what is left of the whole: profit, goal difference."""
    found = _LEFT.search(target) is not None and _TAKEN.search(less) is not None and _GIVEN.search(whole) is not None
    return found or tuple(each.strip().upper() for each in (less, whole, target)) in {
        ("GA", "GF", "GD"),
        ("A", "F", "GD"),
    }


def _is_later(one: str, other: str) -> bool:
    """Whether two columns differ by their years: `Population 2010`, `Population 2020`."""
    years = [YEAR.search(each) for each in (one, other)]
    return years[0] is not None and years[1] is not None and int(years[0][0]) < int(years[1][0])


def _is_price(one: str, other: str, target: str) -> bool:
    """Whether two columns are a count and a price, and the target what is to pay."""
    counted = COUNTED.search(one), COUNTED.search(other)
    priced = PRICED.search(one), PRICED.search(other)
    if _AREA.search(target):
        return _SIDE.search(one) is not None and _SIDE.search(other) is not None
    return bool(_TO_PAY.search(target)) and bool((counted[0] and priced[1]) or (counted[1] and priced[0]))


def _down_the_rows(table: NumberTable, likely: list[int], columns: list[int]) -> Iterator[Candidate]:
    """Relations with the row above or below: growth and change since the last year, running totals."""
    name = table.header
    incoming = [each for each in columns if _IN.fullmatch(name[each].strip())]
    outgoing = [each for each in columns if _OUT.fullmatch(name[each].strip())]
    for target in likely:
        growth, running = _GROWTH.search(name[target]), _RUNNING.search(name[target])
        for a, b in itertools.product(incoming, outgoing):
            if len({a, b, target}) == 3:
                text = f"{name[target]} = {name[target]} of the last row + {name[a]} - {name[b]}"
                yield Candidate("running", target, (a, b), text, flow_of(a, b, target), is_told=True)
        if not growth and not running:
            for source in columns if not (table.is_percent(target) or table.is_year(target)) else ():
                if source != target and not (table.is_year(source) or table.is_clock(source)):
                    text = f"{name[target]} = {name[target]} of the last row + {name[source]}"
                    yield Candidate("running", target, (source,), text, running_total(source, target))
                    # A wrong reading of a meter breaks two steps, but only one sum from the top.
                    steps = table.values[np.isfinite(table.values[:, target]), source]
                    if len(steps) >= LEAST_STEPS and np.count_nonzero(steps) > 0.8 * len(steps):
                        yield Candidate("running", target, (source,), text, sum_from_top(source, target))
            continue
        for source in columns:
            if source == target or table.is_year(source) or table.is_clock(source) or table.is_percent(source):
                continue
            if running:
                text = f"{name[target]} = {name[target]} of the last row + {name[source]}"
                yield Candidate("running", target, (source,), text, running_total(source, target), is_told=True)
                # A wrong running total breaks two steps, but only one sum from the top.
                yield Candidate("running", target, (source,), text, sum_from_top(source, target), is_told=True)
                continue
            for back in (1, -1):
                row = "last" if back == 1 else "next"
                if table.is_percent(target):
                    text = f"{name[target]} = growth of {name[source]} since the {row} row in %"
                    formula = growth_of_rows(source, back)
                else:
                    text = f"{name[target]} = {name[source]} less that of the {row} row"
                    formula = change_of_rows(source, back)
                yield Candidate("row-growth", target, (source,), text, formula, -1.0, is_told=True)


def _likely(table: NumberTable, columns: list[int]) -> list[int]:
    return sorted(columns, key=lambda each: (not is_named(table.header[each]), -each))


def is_named(header: str) -> bool:
    """Whether the name of a column says that it is computed from others."""
    return _CHANGE.search(header) is not None or _WHOLE.search(header) is not None


def _are_currencies(one: str, other: str) -> bool:
    """Whether two columns are amounts in two currencies by their names: `EUR`, `Price (USD)`."""
    first, second = (_CURRENCY.findall(each) for each in (one, other))
    return len(first) == len(second) == 1 and first != second


def _unit_ratio(one: str, other: str) -> float | None:
    """The factor between two columns whose names differ by their units only: `Distance (km)`, `Distance (mi)`."""
    units = header_unit(one), header_unit(other)
    if None in units or units[0] == units[1] or one.split("(")[0].strip() != other.split("(")[0].strip():
        return None
    factors = converted(1.0, units[0], units[1])  # type: ignore[arg-type]
    return factors[0] if len(factors) == 1 and "°" not in f"{units}" else None
