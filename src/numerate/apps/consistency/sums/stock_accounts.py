"""Stocks and accounts told over sentences: `Opening stock 420. Received 180, issued 235. Closing stock 356`."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["stock_accounts"]

_OPENED = regex(
    r"\b(?:opening|opened|at open|start(?:ed|ing)?|beg[aiu]n\w*|brought forward|carried forward|b/?f|initial(?:ly)?"
    r"|anfangs\w*|stock initial|solde initial|existencias iniciales|saldo inicial|1 january"
    r"|on 1 [a-z]+)\b[^.;\d]{0,40}$"
)
_OPENED_BEHIND = regex(
    r"(?: [a-z]+){0,3} (?:at|on|in) (?:the )?(?:start|beginning|outset|opening|hand at)\b|(?: [a-z]+){0,2} on 1 january"
)
_CLOSED = regex(
    r"\b(?:closing|closed|at close|end(?:s|ed|ing)?|final|remain\w*|left|on hand|now|leav\w+|carried forward|c/?f"
    r"|balance"
    r"|endbestand|schlussbestand|stock final|solde final|existencias finales|saldo final|finish\w*|3[01] [a-z]+)\b"
    r"[^.;\d]{0,40}$"
)
_CLOSED_BEHIND = regex(r"(?: [a-z]+){0,3} (?:left|remain\w*|on hand|in stock|at the end|at (?:the )?close)\b")
_CAME = (
    r"received|receipts?|bought|purchas\w+|deliver(?:ed|ies|y)|deposit\w*|paid in|came in|come in|coming in"
    r"|in\b(?=[:,. ]?$)"
    r"|added|additions|born|births|joined|production|produced|takings|takes?|took|income|intake|arriv\w+|hatched"
    r"|admitted"
    r"|admissions|enrol\w+|hired|zugang|zugänge|eingang|eingänge|entrées?|entradas?|restocked|transferred in"
    r"|new(?: members)?"
)
_WENT = (
    r"issued|sold|sales|withdr[ae]w\w*|went out|gone out|out\b(?=[:,. ]?$)|paid out|paid|payments?|died|deaths"
    r"|lost|scrapped"
    r"|shipped|shipments?|used|consumed|consumption|dispatched|despatched|resigned|resignations|left|departures"
    r"|departed"
    r"|discharged|abgang|abgänge|ausgang|ausgänge|sorties?|salidas?|written off|spent|expenses|outgoings"
    r"|transferred out"
    r"|wasted|stolen|slaughtered|retired|returned to|thrown away|gave away|given away"
)
_MOVE_BEFORE = regex(rf"\b(?:(?P<came>{_CAME})|(?P<went>{_WENT}))(?: [a-z'’-]+){{0,2}}?[ :,=+−-]*[$€£]?$")
_MOVE_BEHIND = regex(
    rf"(?: (?!and |or )[a-z'’-]+)?(?: (?:were|was|have|had|have been|had been))?"
    rf" (?:(?P<came>{_CAME}|in\b)|(?P<went>{_WENT}|out\b))\b"
)
_CODE = regex(
    r"(?:\b[A-Z]{2,4}|\b(?:[Nn]os?\.?|[Nn]r\.?|[Ll]ine|[Oo]rder|[Rr]ef\.?|[Ww]eek|[Ll]ot|[Bb]atch|[Ii]nvoice"
    r"|[Pp]art|[Bb]in|[Pp]age|[Pp]\.)|#) ?$"
)
_OTHER = regex(
    r"\b(?:per|each|every|than|compared|versus|averag\w*|of (?:which|whom|these|them|those)|respectively|planned"
    r"|forecast"
    r"|budget\w*|target|if|would|should|between|up to|at least|price[sd]?|twice|exclud\w*|last year|previous\w*)\b"
)
MOST_MOVES = 6


@paragraph_gate(
    stems("open start beg brought carried b/f bf_ initial anfang stock_ solde saldo existencias herd")
    | stems("january april july october"),
    stems("clos end final remain left on_ now leav c/f cf_ balance carried schluss solde saldo stock finish mar"
          " jun sep dec"),
    VALUES[3],
)  # fmt: skip
def stock_accounts(paragraph: Paragraph) -> Iterator[Finding]:
    """What there was, with all that came and less all that went, must be what there is."""
    values = [each for each in paragraph.values if each.group in ("plain", "money", "unit")]
    for at, start in enumerate(values):
        if not (_OPENED.search(paragraph.lead(start)) or _OPENED_BEHIND.match(paragraph.tail(start))):
            continue
        yield from _account(paragraph, start, values[at + 1 :])
        return


def _account(paragraph: Paragraph, start: Quantity, values: list[Quantity]) -> Iterator[Finding]:
    moves: list[tuple[float, Quantity]] = []
    for each in values:
        if (each.group, each.unit) != (start.group, start.unit):
            if each.group == "plain" or start.group == "plain":
                continue  # a code, or something else that is counted
            return
        sign = _sign(paragraph, each)
        is_end = _CLOSED.search(paragraph.lead(each)) or _CLOSED_BEHIND.match(paragraph.tail(each))
        if moves and is_end and (not sign or _is_last(each, values, start)):
            yield from _judged(paragraph, start, moves, each)
            return
        if not sign:
            if _is_code(paragraph, each):
                continue
            return
        moves.append((sign, each))
        if len(moves) > MOST_MOVES:
            return


def _is_last(each: Quantity, values: list[Quantity], start: Quantity) -> bool:
    return each is [one for one in values if (one.group, one.unit) == (start.group, start.unit)][-1]


def _sign(paragraph: Paragraph, each: Quantity) -> float:
    match = _MOVE_BEHIND.match(paragraph.tail(each)) or _MOVE_BEFORE.search(paragraph.lead(each))
    return 0.0 if match is None else 1.0 if match["came"] else -1.0


def _is_code(paragraph: Paragraph, each: Quantity) -> bool:
    """Whether a number names an order or a line: `on PO 7731`, `to line 2`."""
    whole = paragraph.whole
    return each.unit is None and _CODE.search(whole.text, 0, each.start - whole.offset) is not None


def _judged(
    paragraph: Paragraph, start: Quantity, moves: list[tuple[float, Quantity]], end: Quantity
) -> Iterator[Finding]:
    those = [start, *(each for _, each in moves), end]
    signs = {sign for sign, _ in moves}
    if any(each.hedge or each.value <= 0 for each in those) or _OTHER.search(paragraph.between(start, end)):
        return
    real = start.value + sum(sign * each.value for sign, each in moves)
    slack = sum(each.half for each in those if each.half < 0.4) / 2 + 1e-9
    if any(each.half > 0.5 for each in those) or (start.group == "unit" and start.half == 0.5):
        slack = sum(each.half for each in those)
    if real <= 0 or abs(real - end.value) <= slack or not 0.6 < end.value / real < 1.67:
        return
    if len(signs) < 2 and not slip_bits(end, real):
        return  # not all that came or went may be told
    numbers = [sign * each.value for sign, each in moves]
    for chosen in itertools.product((0, 1), repeat=len(numbers)):
        if abs(start.value + sum(each * one for each, one in zip(chosen, numbers, strict=True)) - end.value) <= slack:
            return
    told = plain(start.value) + "".join(f" {'+' if sign > 0 else '−'} {plain(each.value)}" for sign, each in moves)
    message = f"{told} = {plain(real)}, not {end.text}."
    yield finding_at("sum", end, message, meant=real, others=those[:-1], probability=0.87)
