"""Shares and changes of a paragraph: `n (p %)` of a whole named before, what remains of 100 %, a tip of 20 %."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.percents.told_shares import told_fees, told_shares
from numerate.apps.consistency.percents.whole_before import shares_of_wholes_before
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["paragraph_shares"]

_REST = regex(
    r"\b(?:remaining|rest|(?<!and )(?<!all )(?<!some )(?<!no )(?<!any )others?|remainder|balance|leaving|leaves"
    r"|which leaves)(?:,? [a-z'’-]+){0,4}[ ,:–—(]*$"
)
_TO = regex(r" ?(?:to|–|-) ?$")
"""Behind the beginning of a range: `3.9 to 6.9 %`."""
_SEVERAL = regex(
    r"more than one|multiple|several|both|overlap\w*|at least one|all that apply|not add|as many as|each could"
    r"|of (?:these|them|those)\b|of the (?:remaining|rest)|\b(?:rose|fell|grew|increase\w*|decrease\w*|compared|than|up"
    r"|down|growth|from (?=\d)|discount|off|interest|margin|confidence|ci)\b"
)
_OF = regex(r"^ (?:(?:out )?of|in|among) (?:the |all |our |its |their |these |those |a total of )?(?:[a-z]+ )?$")
_WHOLE = regex(
    r"\b(?:of|among|surveyed|asked|enrolled|screened|had|received|polled|interviewed|total of|studied"
    r"|recruited|examined|tested|with)(?: [a-z'’]+){0,3} $"
)
_SHARE_CUE = regex(
    r"\b(?:turnout|share|rate|proportion|percentage|or|i\.e\.|about|that is|equal to|only|just|some|a"
    r"|at|is|was|were|are)\b[^.]{0,24}$|\($"
)
_STRONG = regex(
    r"(?:(?:^|,) or(?: (?:about|just|roughly|only))?|\bthat is|\bi\.e\."
    r"|\b(?:rate|share|proportion|percentage|turnout|majority|quota) (?:of|was|is|came to)(?: just| only)?) $"
)
_KNOWN_RATE = regex(
    r"\b(?:response|pass|success|participation|return|completion|turnout|attendance|acceptance|approval|majority"
    r"|share)\b"
)
_RATE = regex(r"\b([a-z]{4})[a-z]* (?:rate|quota|percentage|proportion)\b")
_OF_ALL = regex(r"^(?:out )?(?:of|among) (?:the |all |our |its |these |those |all the )?$")
_OTHER_SHARE = regex(
    r"\b(?:rose|fell|grew|up|down|increase\w*|decrease\w*|rise|drop|growth|gain|decline|more|less"
    r"|fewer|compared|points?|confidence|ci|interest|discount|off|tax|vat|below|above)\b"
)
_THAT = regex(
    r"\b(?:that is|that's|this is|which is|that makes|making|i\.e\.|so|equals|equal to|in other words"
    r"|corresponding to)(?: (?:about|just|only|some|a|an|roughly))* $"
)
_FRACTIONS = regex(
    r"\b(?:half|halves|thirds?|quarters?|fifths?|tenths?|eighths?|sixths?) of|\b[a-z]+ (?:in"
    r"|out of)(?: every)? [a-z]+ of "
)
_FRACTION = regex(r"^ (?:of (?:the |all |our |its |their |these |those |a total of )?|of the (?:[a-z]+ ){0,2})$")


_PARTS = ("half", "halves", "third", "quarter", "fifth", "tenth", "eighth", "sixth")
_FRACTION_WORDS = tuple(f"{part}{end} of" for part in _PARTS for end in ("", "s"))
_PART_CUES = stems(" ".join(_PARTS))
_ONE_IN = regex(r" (?:in|out of)(?: every)? [a-z]+ of ")
_OF_THESE = regex(r"(?:of|among) (?:these|them|those)(?: [a-z'’-]+)?,? ")
_HELD = regex(r"[a-z' -]{0,24}\(|(?: [a-z'-]+){0,4}, (?:or|i\.e\.|that is)(?:,? (?:about|just|only|some))? ")
"""Between a count and its share: `350 respondents (28 %)`, `475, or 38 %`."""
_OF_SOME = regex(r"\b(?:of|among|amongst|within) (?:the|these|those|them|all|our|its|her|his|whom|which)\b|\bhere\b")
_IN_ONE = regex(r"(?:in|at|for|on|within) (?!(?:total|all|fact|short|addition)\b)[^,]{2,40}, $")
_GROUP = regex(r"\b(?:most|many|some|several|half|majority|third|quarter|few|rest|others?|excluded?|excluding)\b")


_RATE_BEHIND = regex(r" (?:loss|profit|discount|interest|tax|margin|gain|tip|commission|deposit|off|mark-?up)\b")
_HALF_OF = regex(r"(?<!one )(?<!a )(?<!and )\b(?:one )?half (?:of )?(?:the|those|these|them|all|our|its|their)\b")
_OF_THEM = regex(r" of (?:the|those|these|them|all|our|its|their)\b")


def _may_have_fraction(paragraph: Paragraph) -> bool:
    lower = paragraph.lower
    return (paragraph.words & _PART_CUES and any(map(lower.__contains__, _FRACTION_WORDS))) or (
        _ONE_IN.search(lower) is not None
    )


_LEAST_WHOLE = 0.75
"""What a rest and its parts add up to at least, if nobody exchanged digits."""


def paragraph_shares(paragraph: Paragraph) -> Iterator[Finding]:
    """All findings about percentages and fractions of a paragraph."""
    lower = paragraph.lower
    has_percents = paragraph.tally.percents and paragraph.tally.values > 1
    percents = [each for each in paragraph.values if each.group == "percent"] if has_percents else []
    if percents:
        yield from _rests(paragraph, percents)
        yield from _counted(paragraph, percents)
        yield from told_fees(paragraph, percents)
        yield from shares_of_wholes_before(paragraph, percents)
        if paragraph.tally.values > 2:
            yield from told_shares(paragraph, percents)
    if paragraph.tally.values > 2 and _may_have_fraction(paragraph) and _FRACTIONS.search(lower):
        yield from _fractions(paragraph)


def _rests(paragraph: Paragraph, percents: list[Quantity]) -> Iterator[Finding]:
    """`47 % go by road and 38 % by rail; the remaining 25 % by barge`."""
    for index, z in enumerate(percents):
        if index == 0 or z.hedge or not _REST.search(paragraph.lead(z)) or _TO.match(paragraph.tail(z)):
            continue
        if _RATE_BEHIND.match(paragraph.tail(z)) or paragraph.lead(z).endswith(" at "):
            continue  # `the rest is taxed at 20 %`, `to his other friend with a 10 % loss`
        here = paragraph.place(z)
        parts = [each for each in percents[:index] if paragraph.place(each) == here]
        worded = _worded(paragraph, z)
        if len(parts) + len(worded) < 2:
            parts = [each for each in percents[:index] if paragraph.place(each) >= here - 1]
        if not parts or any(each.hedge in ("over", "under") for each in parts):
            continue
        words = paragraph.lower[parts[0].start - paragraph.whole.offset : z.end - paragraph.whole.offset]
        words = words.replace("made up", "was").replace("make up", "are").replace("makes up", "is")
        lead = paragraph.lead(parts[0])
        if worded:
            lead = _OF_THEM.sub(" ", _HALF_OF.sub(" ", lead), count=1)
        if _SEVERAL.search(words) or _SEVERAL.search(lead):
            continue
        real = round(1 - sum(each.value for each in parts) - sum(worded), 10)
        slack = z.slack + 0.01 * any(each != 0.5 for each in worded) + sum(each.slack for each in parts)
        if 0 < real < 1 and abs(real - z.value) > slack + 1e-9 and z.value < 1 and z.value + 1 - real < 1.4:
            if z.value + 1 - real < _LEAST_WHOLE and not slip_bits(z, real):
                continue  # there are other parts, further away
            is_one = len(parts) == 1 and paragraph.place(parts[0]) == here and "remaining" in paragraph.lead(z)
            if len(parts) == 1 and not worded and not (slip_bits(z, real) or (is_one and z.value + 1 - real > 0.8)):
                continue
            told = " - ".join(plain(100 * each) for each in (*worded, *(part.value for part in parts)))
            message = f"100 - {told} = {plain(100 * real)}, not {z.text}."
            yield finding_at("percent", z, message, meant=real, others=parts, probability=0.88)


def _worded(paragraph: Paragraph, z: Quantity) -> list[float]:
    """The shares in words of the sentence of a rest: `half of them said yes, 30 % said no, and the remaining 20 %`."""
    thirds = [
        each.value
        for each in paragraph.values
        if each.group == "plain"
        and 0 < each.value < 1
        and each.text[:1].isalpha()
        and each.end < z.start
        and paragraph.place(each) == paragraph.place(z)
        and _OF_THEM.match(paragraph.tail(each)) is not None
    ]
    return [0.5] * len(_HALF_OF.findall(paragraph.upto(z))) + thirds


def _counted(paragraph: Paragraph, percents: list[Quantity]) -> Iterator[Finding]:
    """`16.2 % turned out: 18,904 of the 30,889 voters`; `We had 200 replies. 75 (48 %) want ...`."""
    counts = [each for each in paragraph.values if each.group == "plain" and each.value >= 1]
    if not 2 <= len(counts) <= 16:
        return
    pairs = [
        (one, other)
        for one, other in itertools.pairwise(counts)
        if one.value < other.value and _OF.match(paragraph.between(one, other))
    ]
    for n in counts:
        if re.match(r" of (?:them|these|those|whom)\b", paragraph.tail(n)):
            wholes = [
                each
                for each in counts
                if each.end <= n.start and each.value > n.value and paragraph.place(n) - paragraph.place(each) < 2
            ]
            pairs += [(n, wholes[-1])] if wholes else []
    for whole, n in itertools.pairwise(counts):
        # `Of the 450 trees planted, 378 survived`
        if (
            n.value < whole.value
            and paragraph.place(n) == paragraph.place(whole)
            and _OF_ALL.search(paragraph.upto(whole))
        ):
            pairs.append((n, whole))
    for p in percents:
        if p.hedge in ("over", "under"):
            continue
        lead, tail = paragraph.lead(p), paragraph.tail(p)
        slack = p.half + 1e-9
        numbers = [(n, whole) for n in counts for whole in counts if n.value < whole.value]
        # What another share stands beside has its own.
        own = [n for n in counts if n.end <= p.start and re.fullmatch(r"[a-z' -]{0,24}\(", paragraph.between(n, p))]
        others = [each for each in percents if each is not p and each.value == p.value] if own else []
        held_by = {
            id(n) for each in others for n in counts
            if n.end <= each.start and _HELD.fullmatch(paragraph.between(n, each))
        }  # fmt: skip
        numbers = [(n, whole) for n, whole in numbers if id(n) not in held_by]
        if any(abs(n.value / whole.value - p.value) <= slack for n, whole in numbers):
            continue
        if any(
            abs(1 - n.value / whole.value - p.value) <= slack or abs(whole.value / n.value - 1 - p.value) <= slack
            for n, whole in numbers
        ):
            continue
        if _OTHER_SHARE.search(lead) or _OTHER_SHARE.search(tail[:24]):
            continue
        held = own
        best: tuple[float, float, Quantity, Quantity] | None = None
        for n, whole in pairs:
            if abs(paragraph.place(n) - paragraph.place(p)) > 1 or held:
                continue
            near = 3.0 if paragraph.place(n) == paragraph.place(p) and _SHARE_CUE.search(lead) else 0.0
            told = any(abs(n.value / whole.value - each.value) <= each.half + 1e-9 for each in percents)
            if (
                len(pairs) == 1
                and not told
                and n.end <= p.start
                and _STRONG.search(lead)
                and (paragraph.place(n) == paragraph.place(p) or _is_its_rate(paragraph, n, lead))
                and 0.4 < p.value * whole.value / n.value < 2.5
            ):
                near = 8.0
            bits = near + slip_bits(_hundredfold(p), 100 * n.value / whole.value)
            best = max(best or (0.0,), (bits, n.value / whole.value, n, whole), key=lambda each: each[0])  # type: ignore[assignment]
        if not pairs and not held and _THAT.search(lead):
            near = [
                (n, whole)
                for n, whole in numbers
                if all(abs(paragraph.place(each) - paragraph.place(p)) < 2 for each in (n, whole))
            ]
            for n, whole in near:
                bits = (
                    4.0 + slip_bits(_hundredfold(p), float(f"{100 * n.value / whole.value:.3g}")) - math.log2(len(near))
                )
                if bits > 10.0 - math.log2(len(near)):
                    best = max(best or (0.0,), (bits, n.value / whole.value, n, whole), key=lambda each: each[0])  # type: ignore[assignment]
        for n in held[-1:]:
            wholes = [each for each in counts if each.end <= n.start and each.value > n.value]
            named = [
                each
                for each in wholes
                if _WHOLE.search(paragraph.lead(each)) or paragraph.place(each) < paragraph.place(n)
            ]
            largest = max(wholes, key=lambda each: each.value, default=None)
            if largest is not None and _is_of_these(paragraph, n, largest):
                # Whatever `these` are: none of the numbers before has this share.
                real = n.value / largest.value
                best = max(best or (0.0,), (8.0, real, n, largest), key=lambda each: each[0])  # type: ignore[assignment]
            last = [each for each in named[:-2] if each is largest]  # the whole of all, behind which parts were told
            for whole in (*last, *named[-2:]):
                alike = [
                    m
                    for other in percents
                    for m in counts
                    if other is not p
                    and m is not n
                    and m.end <= other.start
                    and _HELD.fullmatch(paragraph.between(m, other))
                    and abs(m.value / whole.value - other.value) <= other.half + 1e-9
                ]
                siblings = len(alike)
                near = any(paragraph.place(each) == paragraph.place(n) for each in (*alike, whole))
                if _IN_ONE.fullmatch(paragraph.upto(n)) or (_OF_SOME.search(paragraph.upto(n)) and not near):
                    siblings = 0  # `In year ten, 40 pupils (32 %)`, `Among the commuters, 90 (27 %)`
                bits = 6.0 * siblings + (2.0 if whole.before.lower().endswith(("of the ", "of ", "among ")) else 1.0)
                bits += slip_bits(_hundredfold(p), 100 * n.value / whole.value)
                best = max(best or (0.0,), (bits, n.value / whole.value, n, whole), key=lambda each: each[0])  # type: ignore[assignment]
        if best is not None and best[0] >= NEEDED - 0.5:
            _, real, n, whole = best
            message = f"{n.text} of {whole.text} are {plain(100 * real)} %, not {p.text}."
            yield finding_at("percent", p, message, meant=real, others=[n, whole], probability=0.88)


def _is_of_these(paragraph: Paragraph, n: Quantity, whole: Quantity) -> bool:
    """Whether a sentence begins with `Of these, n` behind one with the whole, and no group without a number between."""
    if paragraph.place(n) - paragraph.place(whole) != 1 or not _OF_THESE.fullmatch(paragraph.lead(n)):
        return False
    return _GROUP.search(paragraph.between(whole, n)) is None


def _is_its_rate(paragraph: Paragraph, n: Quantity, lead: str) -> bool:
    """Whether a rate is told of a count: `378 survived. A survival rate of 84 %`, and no birth rate."""
    rate = _RATE.search(lead)
    return _KNOWN_RATE.search(lead) is not None or (rate is not None and rate[1] in paragraph.tail(n))


def _hundredfold(p: Quantity) -> Quantity:
    """A percentage with the value that is written."""
    return replace(p, value=100 * p.value, step=200 * p.half)


def _fractions(paragraph: Paragraph) -> Iterator[Finding]:
    """`Three quarters of the 1,600 households surveyed (1,020)`; `one in five of the 450 shops (80)`."""
    values = paragraph.values
    for index, f in enumerate(values):
        share, after = f.value, index + 1
        if not f.text[:1].isalpha() or f.group != "plain" or after + 1 >= len(values):
            continue
        if f.value == int(f.value) and re.fullmatch(r" (?:in|out of)(?: every)? ", paragraph.between(f, values[after])):
            share, after = f.value / values[after].value if values[after].value else 0.0, index + 2
        if not 0 < share < 1 or after + 1 >= len(values) or f.hedge:
            continue
        whole, n = values[after], values[after + 1]
        if not _FRACTION.match(paragraph.between(values[after - 1], whole)) or whole.group not in (
            "plain",
            "money",
            "unit",
        ):
            continue
        if (
            (whole.group, whole.unit) != (n.group, n.unit)
            or n.value >= whole.value
            or n.hedge == "about"
            or whole.hedge
        ):
            continue
        real, words = share * whole.value, paragraph.between(whole, n)
        if abs(real - n.value) <= max(0.02 * real, 1.0, n.half + share * whole.half if n.unit else 0.0):
            continue
        is_held = n.text.startswith("(") or words.endswith("(")
        is_told = is_held or re.search(r"(?:, or|, i\.e\.|, that is,?|, namely|=)(?: [a-z]+)? $", words) is not None
        bits = (6.0 if is_told else 0.0) + (2.0 if is_told and 0.5 < n.value / real < 2 else 0.0) + slip_bits(n, real)
        if bits >= NEEDED:
            message = f"{f.text} of {whole.text} are {plain(real)}, not {n.text.strip('()')}."
            yield finding_at("percent", n, message, meant=real, others=[f, whole], probability=0.88)
