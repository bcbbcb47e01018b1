"""A price, what is added or taken off, and what is paid: `£72,000. With a fee of £14,400, he pays £86,400`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import MEASURES, stems
from numerate.apps.consistency.wrong import wrong_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["added_fees", "change_given"]

_NOUNS = (
    r"(?:premiums?|vat|mwst|gst|tax(?:es)?|dut(?:y|ies)|fees?|commissions?|tips?|gratuity|surcharges?|levy|shipping"
    r"|postage|delivery"
    r"|carriage|packing|handling|freight|insurance|deposit|interest|fines?|penalty|service(?: charge)?|charges?"
    r"|supplement"
    r"|extras?|parking|utilities|heating|royalt(?:y|ies))"
)
_OFFS = (
    r"(?:discounts?|rebates?|vouchers?|coupons?|credits?|deductions?|bonus(?:es)?|grants?|subsid(?:y|ies)"
    r"|allowances?|trade-in)"
)
_FEE_LEAD = regex(rf"\b(?:{_NOUNS}|{_OFFS})(?: [a-z'’-]+){{0,4}}?[ :,(]*[$€£]?$")
_FEE_TAIL = regex(rf" (?:[a-z'’-]+ )?(?:{_NOUNS}|{_OFFS})\b")
_OFF = regex(rf"\b{_OFFS}\b|\b(?:less|minus|deduct\w*|subtract\w*|taking off|knocked off|reduced by|net of)\b")
_OPENS = regex(
    r"\b(?:with|including|adding|add|added|adds|plus|together with|after|less|minus|on top|and|brings?|at \d+"
    r"|there is|comes)\b"
)
_PAYS = regex(
    r"\b(?:(?:pays?|paid|spent|spends?|owes?|charged|costs?|totals?|tot(?:al)?led|outlay|due|payable|settled?"
    r"|remit\w*|transfer\w*|invoice\w*"
    r"|bill(?:ed)?|total|in all|altogether)(?: (?!of which|per|each)[a-z'’-]+){0,4}"
    r"|(?:brings?|bringing|brought|takes?|taking|took|makes?|making|made)(?: [a-z'’-]+){1,5} (?:to|of)|com(?:es?"
    r"|ing) to|came to|amount\w* to)"
    r"[ :,=]*[$€£]?$"
)
_MORE = regex(
    r"\b(?:per|each|every|apiece|instead|compared|originally|last year|previous\w*|deposit|instal\w*|monthly"
    r"|of which|including|excluding"
    r"|minimum|at least|up to|either|or|if|would|refund\w*|both|two|three|four|five|six|twice)\b"
)
_BESIDES = regex(
    r"\b(?:and|plus) (?:(?:the|other|all|some) )?(?:vat|tax\w*|shipping|delivery|postage|insurance|overtime|fees"
    r"|expenses|handling|costs|duty"
    r"|extras?|tips?|charges)\b"
)
_LATER = regex(r"\b(?:today|then|already|next|another|later|second|remaining|rest|balance|still|left|extra|back)\b")
_PERIOD = regex(
    r"\b(?:per|an?|each|every) (?:person|head|month|week|year|hour|ticket|item|unit|copy|kilo|piece|litre|kg|m²|seat)\b"
)


@paragraph_gate(
    stems(
        "premium vat_ mwst gst_ tax dut fee commission tip gratuity surcharge levy shipping postage delivery "
        "carriage packing "
        "handling freight insurance deposit interest fine penalty service charge supplement extra parking utilities "
        "heating "
        "royalt discount rebate voucher coupon credit deduction bonus grant subsid allowance trade"
    ),
    MEASURES[2],
)
def added_fees(paragraph: Paragraph) -> Iterator[Finding]:
    """Three amounts in a row of one or two sentences, of which the last is said to be paid."""
    values = [each for each in paragraph.values if each.group == "money" or (each.group == "plain" and each.value > 9)]
    for base, fee, z in zip(values, values[1:], values[2:], strict=False):
        if len({each.unit for each in (base, fee, z)}) > 1 or not 0 < fee.value < base.value or z.hedge or fee.hedge:
            continue
        if z.place - base.place > 1 or base.hedge or z.group not in ("money", "plain"):
            continue
        own = [each for each in values if each.unit == z.unit and base.place <= each.place <= z.place]
        lead = paragraph.lead(fee)
        gap = paragraph.between(base, fee)
        is_fee = _FEE_LEAD.search(lead) or _FEE_TAIL.match(paragraph.tail(fee)) or _PERCENT_FEE.search(gap)
        words, behind = paragraph.between(fee, z), paragraph.tail(z)
        if len(own) > 3 or not is_fee or not _OPENS.search(gap) or not _PAYS.search(words):
            continue
        if _BESIDES.search(words):
            continue
        is_rate = _PERIOD.search(behind[:16]) is not None or _MORE.search(gap.replace("including", "with")) is not None
        if (is_rate or _MORE.search(words)) and not _is_same_period(paragraph, base, z):
            continue
        if _LATER.search(words):
            continue
        near = f"{gap} {words}"
        real = base.value - fee.value if _OFF.search(near) else base.value + fee.value
        slack = z.blur + base.blur + fee.blur
        if abs(z.value - base.value) <= fee.value * (1 + 1e-9) + slack and any(
            abs(z.value - each) <= slack for each in (base.value + fee.value, base.value - fee.value, base.value)
        ):
            continue
        is_slip = max(slip_bits(z, real), slip_bits(fee, abs(z.value - base.value))) > 0
        if not 0.8 < z.value / real < 1.25 or not (is_slip or _share_of(paragraph, base, fee)):
            continue
        yield wrong_sum(z, [base, fee], real, 0.87, "-" if real < base.value else "+")


_CHANGE = regex(r" (?:[a-z]+ )?(?:in |of |as )?change\b(?! of)")
_CHANGE_LEAD = regex(r"\b(?:change|back)(?: (?:of|was|is|came to|is then))?[: ]+[$€£]?$")
_CENT = 0.004
_NOTE = regex(r"[ -](?:note|bill|voucher|coupon)\b")
_NOTE_LEAD = regex(
    r"\b(?:out of|from|with|handed (?:over|her|him|them)?|gave (?:her|him|them)?|tendered|cash|offered)"
    r"(?: an?| my| the| exactly)? ?[$€£]?$"
)


@paragraph_gate(stems("change"), MEASURES[2])
def change_given(paragraph: Paragraph) -> Iterator[Finding]:
    """`£13.65; I handed over a £20 note and got £6.35 change`: a price, a note, and what comes back."""
    money = [each for each in paragraph.values if each.group == "money"]
    if len(money) != 3 or len({each.unit for each in money}) > 1:
        return
    back = [each for each in money if _CHANGE.match(paragraph.tail(each)) or _CHANGE_LEAD.search(paragraph.lead(each))]
    paid = [
        each
        for each in money
        if each not in back and (_NOTE.match(paragraph.tail(each)) or _NOTE_LEAD.search(paragraph.lead(each)))
    ]
    if len(back) != 1 or len(paid) != 1:
        return
    (z,), (note,) = back, paid
    price = next(each for each in money if each not in (z, note))
    real = note.value - price.value
    places = [each.place for each in money]
    is_off = real > 0 and abs(real - z.value) > _CENT and 0.3 < z.value / real < 3
    if is_off and max(places) - min(places) < 2:
        yield wrong_sum(z, [note, price], real, 0.87, "-")


_PERCENT_FEE = regex(rf"%(?: [a-z'’-]+){{0,2}} (?:{_NOUNS}|{_OFFS})\b")


def _share_of(paragraph: Paragraph, base: Quantity, fee: Quantity) -> bool:
    """Whether the text says by a percentage that the fee is one of this price."""
    return any(
        each.group == "percent"
        and abs(each.place - fee.place) < 2
        and abs(each.value * base.value - fee.value) <= fee.half + 0.005 * fee.value
        for each in paragraph.values
    )


def _is_same_period(paragraph: Paragraph, base: Quantity, z: Quantity) -> bool:
    """Whether both amounts are for one of the same: `$1,450 per month. With parking he pays $1,570 per month`."""
    one, other = (_PERIOD.search(paragraph.tail(each)[:24]) for each in (base, z))
    return one is not None and other is not None and one[0].split()[-1] == other[0].split()[-1]
