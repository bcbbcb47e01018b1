"""The rows below the items of a bill: net amount, tax, shipping, discount and what is to pay, whatever they are called.

Each row below the items has a number in one column only. It is a sum of what stands above it, or a part of the next
sum. Where that does not work out, but does after a slip in one of these rows is undone, that row is wrong.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numerate.apps.consistency.base import finding_in_cell
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_slip
from numerate.apps.consistency.tables.cell_style import like_cell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["bill_tails", "closing_cells"]

MOST_ITEMS, LEAST_ITEMS = 400, 2
LEAST_ROWS, MOST_ROWS = 2, 6
_RATE = regex(r"(?<![\d.,])(\d{1,2}(?:[.,]\d{1,2})?) ?(?:%|percent\b|per cent\b|v\.\s?H\.)", re.IGNORECASE)

_NET = regex(
    r"(?:(?:sub|net)[ -]?totals?|net(?: amount| price| value)?|netto(?:betrag|summe|preis|wert)?|zwischensumme"
    r"|goods(?: total)?|(?:sous-)?total ht|(?:montant )?(?:net )?ht|sous-total|imponibile|base imponible|subtotale?"
    r"|warenwert|summe netto|total (?:net|before tax|ex(?:cl)?\.? vat))\b.{0,20}",
    re.IGNORECASE,
)
_TAX = regex(
    r"\b(?:vat|tax|gst|hst|mwst|ust|tva|iva|moms|btw|shipping|delivery|postage|carriage|versand\w*|discount|rabatt"
    r"|skonto|remise|porto|tip|service|fees?)\b",
    re.IGNORECASE,
)
_TO_PAY = regex(
    r"\b(?:totals?|due|to pay|payable|gross|brutto\w*|gesamt\w*|rechnungs(?:betrag|summe)|end(?:betrag|summe)|zu zahlen"
    r"|zahlbetrag|ttc|à payer|importe|totale|amount|balance)\b",
    re.IGNORECASE,
)


class _Tail(NamedTuple):
    """The rows below the items.

    Attributes:
        first: Index of the first one.
        column: Where their numbers stand.
        items: Sum of the items.
        slack: How far rounding may move a sum.
        rates: The percentage that each row names, as a share.
    """

    first: int
    column: int
    items: float
    slack: float
    rates: list[float | None]


def bill_tails(document: Document, table: NumberTable) -> Iterator[Finding]:
    """The one row below the items that is wrong, if a slip explains it and everything fits without.

    Example:
        >>> from numerate.apps.consistency.tables.table_numbers import NumberTable
        >>> from numerate.apps.documents import Document
        >>> rows = [["Chair", "4", "180.00"], ["Lamp", "6", "135.00"], ["Net", "", "315.00"], ["VAT 20 %", "", "36.00"],
        ...         ["To pay", "", "378.00"]]
        >>> table = Document(kind="table", header=["Item", "Count", "Amount"], rows=rows)
        >>> [(each.written, each.meant) for each in bill_tails(table, NumberTable(table))]
        [('36.00', '63.00')]
    """
    tail = _tail_of(table)
    if tail is None:
        return
    values = table.values[tail.first :, tail.column].tolist()
    if _closes(tail, values):
        return
    found = {(row, value) for row in range(len(values)) for value in _proposals(tail, values, row)}
    if not found:
        found = {(len(values) - 1, value) for value in _last(tail, values)}
    if len(found) != 1:
        return
    ((row, value),) = found
    meant = like_cell(document.rows, tail.first + row, tail.column, value)
    written = document.rows[tail.first + row][tail.column].strip()
    message = f"With {meant} instead of {written}, the rows below the items of {document.header[tail.column]!r} add up."
    yield finding_in_cell(
        "total", document, tail.first + row, tail.column, message, meant=meant, probability=0.9, expected=value,
        value=values[row],
    )  # fmt: skip


def closing_cells(table: NumberTable) -> Iterator[tuple[int, int]]:
    """The cells below the items of a bill whose rows all add up: row and column."""
    tail = _tail_of(table)
    if tail is not None and _closes(tail, table.values[tail.first :, tail.column].tolist()):
        yield from ((row, tail.column) for row in range(tail.first, len(table.values)))


def _tail_of(table: NumberTable) -> _Tail | None:
    """The rows at the end of a table that have a number in one column only, below rows that have several."""
    known = np.isfinite(table.values[:, table.numeric])
    if not known.shape[1]:
        return None
    counts = known.sum(1)
    first = _first_named(table.labels) if known.shape[1] == 1 else len(counts)
    while first and counts[first - 1] == 1 < known.shape[1]:
        first -= 1
    column = table.numeric[-1]  # amounts stand on the right
    is_bill = LEAST_ITEMS <= first <= MOST_ITEMS and LEAST_ROWS <= len(counts) - first <= MOST_ROWS
    if not is_bill or not (counts[:first] >= min(2, known.shape[1])).all() or not known[:, -1].all():
        return None
    if table.is_clock(column) or table.is_percent(column) or table.is_year(column):
        return None
    steps = table.steps[:, column]
    slack = float(steps.max()) * (0.51 if steps.max() < 1 else 0.0)
    rates = [_rate(label) for label in table.labels[first:]]
    return _Tail(first, column, float(table.values[:first, column].sum()), slack, rates)


def _first_named(labels: Sequence[str]) -> int:
    """The first row that is named as a net amount is, if the last one is what is to pay; else the number of rows.

    It is asked where rows have nothing else but their amount.
    """
    if not labels or not _TO_PAY.search(labels[-1]):
        return len(labels)
    first = next((row for row, label in enumerate(labels) if _NET.fullmatch(label.strip())), len(labels))
    return first if any(map(_TAX.search, labels[first + 1 :])) else len(labels)


def _rate(label: str) -> float | None:
    found = _RATE.findall(label)
    return float(found[0].replace(",", ".")) / 100 if len(found) == 1 else None


def _closes(tail: _Tail, values: Sequence[float]) -> bool:
    """Whether each row is a sum of what stands above it, a part of a sum that follows, or a share of the last sum."""
    whole, parts, is_closed = tail.items, [], False
    for value, rate in zip(values, tail.rates, strict=True):
        was_closed = is_closed
        # What is given less what is to pay is the change.
        is_closed = any(abs(abs(each) - abs(value)) <= tail.slack + 1e-9 * abs(value) for each in _sums(whole, parts))
        if is_closed:
            whole, parts = value, []
            continue
        if rate is not None:
            shares = (rate * whole, rate / (1 + rate) * whole, rate * (whole + sum(parts)))
            if not any(abs(abs(value) - each) <= tail.slack + 0.006 for each in shares):
                return False
            if was_closed and abs(abs(value) - shares[1]) <= tail.slack + 0.006:
                is_closed = True  # a tax that is included
                continue
        parts.append(value)
    return is_closed


def _sums(whole: float, parts: Sequence[float]) -> Iterator[float]:
    """What a row may be after the last sum and some parts, each of which is added or taken off."""
    for signs in itertools.product((1, -1), repeat=len(parts)):
        yield whole + sum(sign * part for sign, part in zip(signs, parts, strict=True))


def _proposals(tail: _Tail, values: Sequence[float], row: int) -> Iterator[float]:
    """Numbers with which everything fits, and of which the one that stands there is a slip."""
    wholes = [tail.items, *values[:row]]
    others = values[:row] + values[row + 1 :]  # type: ignore[operator]
    rate = tail.rates[row] or 0.0
    needed = {*wholes, *(share * each for share in (rate, rate / (1 + rate)) for each in wholes)}
    for count in range(1, min(len(others), 4) + 1):
        for some in itertools.combinations([tail.items, *others], count + 1):
            needed |= {abs(each) for each in _sums(some[0], some[1:])}
    decimals = 2 if tail.slack else 0
    for value in sorted({round(each, decimals) for each in needed}):
        if value and abs(value - values[row]) > 2 * tail.slack and _is_slip(abs(values[row]), abs(value)):
            signed = value if values[row] >= 0 else -value
            if _closes(tail, [*values[:row], signed, *values[row + 1 :]]):
                yield signed


def _last(tail: _Tail, values: Sequence[float]) -> Iterator[float]:
    """What is to pay, where the net amount fits the items and the tax beside it fits its rate."""
    net, *parts, said = values
    is_told = any(rate is not None for rate in tail.rates[1:-1]) and tail.rates[-1] is None
    real = round(net + sum(parts), 2)
    is_net = abs(net - tail.items) <= tail.slack and all(each > 0 for each in (net, *parts))
    if is_told and is_net and 0.5 < said / real < 2 and _closes(tail, [net, *parts, real]):
        yield real


def _is_slip(said: float, real: float) -> bool:
    """A factor of ten, two digits exchanged, or one other digit of three or more."""
    if is_slip(said, real):
        return True
    one, other = (f"{each:.2f}".strip("0") for each in (said, real))
    return len(one) == len(other) > 3 and sum(a != b for a, b in zip(one, other, strict=True)) == 1
