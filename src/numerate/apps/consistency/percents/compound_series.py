"""Series that grow or shrink at a rate that the text tells: `5 % each year ... £2,100.00, £2,205.00, £2,351.25`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import PERCENTS, VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["compound_series"]

_PERIOD = regex(
    r"\b(?:per|an?|each|every|once an?|in each|in every|par|pro|al|cada|jede[sn]?) (?:[a-z]+ )?(?:year|month"
    r"|quarter|week"
    r"|day|hour|anniversary|birthday|period|generation|step|round|annum|an|jahr|monat|año|mes)\b|\bannual\w*|\byearly\b"
    r"|\bmonthly\b|\bcompound\w*|\bp\.a\.|\banniversary\b|\bjährlich|\bsteadily|\bsteady\b|\byear (?:on|after) year\b"
)
_DOWN = regex(
    r"\b(?:los(?:e|es|ing|t)|loss|fall\w*|fell|depreciat\w+|declin\w+|shrink\w*|shrank|reduc\w+|decay\w*|cut|less"
    r"|down|drop\w*"
    r"|decreas\w+|cheaper|verliert|sinkt|baisse\w*|pierde)\b"
)
_OTHER = regex(
    r"\b(?:simple interest|not compounded|straight[- ]line|of the original|of the initial|of the purchase"
    r"|on average|averag\w+)\b"
)
MOST_VALUES, MOST_RATE = 16, 2.0
LEAST_BITS = 4.0


@paragraph_gate(
    PERCENTS[1], VALUES[4],
    stems("year month quarter week day hour annivers birthday period annum annual yearly compound p_ jahr jähr an_"
          " ans año"
          " steady steadily generation step round"),
)  # fmt: skip
def compound_series(paragraph: Paragraph) -> Iterator[Finding]:
    """Each value must be the one before it with the rate added, where that holds for the others."""
    rates = [each for each in paragraph.values if each.group == "percent" and 0 < each.value < MOST_RATE]
    if len(rates) != 1 or rates[0].hedge or _OTHER.search(paragraph.lower):
        return
    rate = rates[0]
    words = paragraph.upto(rate)[-60:] + " | " + paragraph.tail(rate)
    if not _PERIOD.search(words):
        return
    factor = 1 - rate.value if _DOWN.search(words) and rate.value < 1 else 1 + rate.value
    kinds: dict[tuple[str, str | None], list[Quantity]] = {}
    for each in paragraph.values:
        if each.group in ("plain", "money", "unit") and each.value > 0:
            kinds.setdefault((each.group, each.unit), []).append(each)
    for values in kinds.values():
        if 3 <= len(values) <= MOST_VALUES:
            yield from _series(values, factor, rate)


def _series(values: list[Quantity], factor: float, rate: Quantity) -> Iterator[Finding]:
    for index in range(len(values) - 2):
        first, second, third = values[index : index + 3]
        if not _follows(first, second, factor) or _follows(second, third, factor):
            continue
        real = second.value * factor
        if not 0.5 < third.value / real < 2 or third.hedge:
            continue
        if any(_follows(one, third, factor) for one in values[: index + 1]):
            continue
        behind = values[index + 3 : index + 4]
        is_held = bool(behind) and abs(behind[0].value - real * factor) <= _slack(behind[0], factor, third)
        if not is_held and abs(third.value - 2 * second.value + first.value) <= third.half + second.half:
            continue  # the same was added again
        if is_held or slip_bits(third, round(real / (2 * third.half)) * 2 * third.half) >= LEAST_BITS:
            message = f"{second.text} with a change of {rate.text} is {plain(real)}, not {third.text}."
            yield finding_at("percent", third, message, meant=real, others=[rate, second], probability=0.87)
            return


def _follows(one: Quantity, other: Quantity, factor: float) -> bool:
    return abs(other.value - one.value * factor) <= _slack(one, factor, other)


def _slack(one: Quantity, factor: float, other: Quantity) -> float:
    """Each value may have been rounded before the next one was computed."""
    return other.half * 1.01 + factor * one.half + 1e-9
