"""A value with that of an earlier time beside it, and both a difference and a percentage of the change.

`164 accidents, 12 fewer than in 2021 (176)`; `€12.4 million (2022: €11.3 million), plus €1.1 million or 10 %`; `grew
from €820,000 to €902,000, that is by €82,000 or 10 %`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, written_like
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import AMOUNT, COUNT, MONEY, ORDINAL, PERCENT, TIME, UNIT, one, slot
from numerate.apps.consistency.wrong import wrong_difference

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["earlier_values"]

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?"
)
_PERIOD = r"(?:year|quarter|month|week|season|period|day|half-year|census|survey|term)"
_WHEN = (
    r"(?:(?:in|at|on|by|during|for) )?(?:the )?(?:(?:end|start|beginning|close) of )?(?:the )?"
    rf"(?:(?:a |an |last |previous |prior |preceding |same )*{_PERIOD}(?: (?:earlier|before|ago))?(?: of)?"
    rf"|{_MONTH}|q{one(ORDINAL)}|then|before)?(?: ?{one(TIME)})?"
)
_A, _B = slot("a", AMOUNT), slot("b", AMOUNT)
_D = slot("d", COUNT + UNIT + MONEY)
_WORDS = r"(?: [a-z'’-]+){0,3}?"
_SECOND = rf"(?:,? (?:or|i\.e\.,?|that is,?|which is) (?:by )?| ?\(){slot('p', PERCENT)}"
_KIND = r"(?:increase|rise|gain|growth|decrease|fall|drop|decline|reduction|loss|change|plus|minus)"
_BY = rf"(?:(?:an? |the )?{_KIND}(?: of)?|up|down|by|which is|that is,?(?: by)?|more by|i\.e\.,?(?: by)?)"
_PATTERNS = (
    # `164 accidents, 12 fewer than in 2021 (176)`
    ((" than ",), regex(
        rf"{_B}{_WORDS}(?:,| –| —) (?:that is |which is |or )?{_D}(?: [a-z'’-]+)? (?:more|fewer|less|higher|lower)"
        rf" than {_WHEN}(?P<lead> ?\(?){_A}(?=\)|[.,;]|$)"
    )),
    # `€12.4 million (2022: €11.3 million), plus €1.1 million or 10 %`
    (("(",), regex(
        rf"{_B}{_WORDS} \((?:against |compared with |up from |down from |from )?{_WHEN}:? ?{_A}\),? {_BY} {_D}"
        rf"{_SECOND}"
    )),
    # `from €820,000 to €902,000, that is by €82,000 or 10 %`
    (("from ",), regex(
        rf"\bfrom {_A}(?: (?:in|at) {_WHEN})? to {_B}(?: (?:in|at) {_WHEN})?,? {_BY} {_D}{_SECOND}"
    )),
)  # fmt: skip
_NOT = regex(r"\b(?:respectively|average|each|per|target|budget\w*|forecast|plan(?:ned)?)\b")
MOST = 30.0
"""How often the difference that is told goes into the real one, or the other way round, at most."""


def earlier_values(sentence: Sentence) -> Iterator[Finding]:
    """Differences and percentages that do not fit a value and the earlier one, where the words allow no other pair."""
    skeleton = sentence.skeleton
    if len(sentence.values) < 3:
        return
    for cues, pattern in _PATTERNS:
        for match in pattern.finditer(skeleton) if any(map(skeleton.__contains__, cues)) else ():
            if _NOT.search(match[0]):
                continue
            a, b, d = (sentence.get(match, name) for name in "abd")
            p = sentence.get(match, "p") if "p" in match.groupdict() else None
            yield from _judged(a, b, d, p)


def _judged(a: Quantity, b: Quantity, d: Quantity, p: Quantity | None) -> Iterator[Finding]:
    if not a.comparable(b) or not (d.comparable(b) or d.unit is None) or any(each.hedge for each in (a, b, d)):
        return
    # `at the end of June (1,248)` is no negative number of accounts.
    before, now, told = abs(a.value), abs(b.value), abs(d.value)
    real, slack = abs(now - before), a.half + b.half + d.half
    if not before or not real or not told:
        return
    fits = abs(real - told) <= (0.0 if a.half == b.half == d.half == 0.5 else slack * 1.02)
    share = real / before
    blur = (a.half + b.half) / before + 0.0005
    fits_share = p is not None and (abs(share - abs(p.value)) <= p.slack + blur or p.hedge != "")
    if not fits and (p is None or fits_share) and 1 / MOST < told / real < MOST:
        yield wrong_difference(d, b, a, real, 0.9)
    elif fits and p is not None and not fits_share and 1 / MOST < abs(p.value) / share < MOST:
        meant = written_like(p, share)
        yield finding_at(
            "percent", p, f"From {a.text} to {b.text} is {'+' if now > before else '-'}{meant}, not {p.text}.",
            meant=share, others=[a, b], probability=0.93,
        )  # fmt: skip
