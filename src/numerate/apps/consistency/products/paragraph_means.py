"""Means, medians and ratios of the numbers of a paragraph: `72, 68, 75 and 69, an average of 73`."""

from __future__ import annotations

import itertools
import re
import statistics
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.products.told_rates import nouns_of, stem_of
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.paragraphs import NEEDED, slip_bits
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.findings import Finding

__all__ = ["paragraph_means"]

_MEAN = regex(
    r"\b(?P<what>average|mean|median|averag(?:es|ed|ing)|durchschnitt(?:lich)?|mittelwert|schnitt|moyenne|promedio)"
    r"(?: (?!(?:annual|national|long-term)\b)[a-z'’-]+){0,5}[ ,:(=]*$"
)
_MEAN_OF = regex(r"\b(?P<what>average|mean|median) of (?:the|these|those|all|all the|her|his|their|our|my) $")
_BARE = regex(
    r"(?:(?:so|thus|hence|that gives|the|an?|der|la|le|el|overall|group|class|team|their|her|his|our|on|im) )*"
    r"(?:average|mean|median|durchschnitt|mittelwert|schnitt|moyenne|promedio)"
    r"(?: (?:is|was|of|ist|est|es|they|it|score|mark|height|weight|time|price|all|the|these|three|four|five|six"
    r"|stand|stands)"
    r")*[ :=]+[$€£]?"
)
"""A sentence that tells the mean of the one before, and nothing else."""
_WEIGHTED = regex(r"\b(?:weigh\w*|counts?|credits?|double|twice|best|drop\w*|without|excluding|points? average)\b|%")
_MEAN_BEHIND = regex(
    r"^(?: [a-z'’-]+){0,1} (?:batting )?(?P<what>average|mean|median)\b|^(?: [a-z'’-]+){0,5}? on average\b"
)
_OTHER = regex(
    r"\b(?:than|national|annual|weighted|career|league|record|below|above|previous\w*|long-term|usual"
    r"|since|class|group|team|overall|course|whole|field|industry|age|usually|we get|typical|normal|last"
    r"|county|world|state|sd|deviation|season|against|versus|vs|compared"
    r"|for (?:january|february|march|april|may|june|july|august|september|october|november|december))\b"
)
_SO_THEIRS = regex(
    r"^(?:(?:so|thus|hence|therefore|which (?:makes|gives)|giving|making)(?: that)?"
    r"(?: the| their| our| his| her| its| an?)? )?(?:(?:group|team|class|overall|course) )?(?=average|mean|median)"
)
"""The mean follows from the numbers before it, whatever it is called."""
_OF_EACH = regex(
    r"\b(?:average|mean) (?:number of [a-z]+ (?:per|in an?|in each) )?(?P<of>[a-z]{3,}) (?:(?:size|has|had|have"
    r"|holds?|counts?|contains?|seats?"
    r"|numbers?|comprises?|is made up of) ?)(?:(?:of|is|was|were|at|about|stands at|comes to|came to|works out at"
    r"|then|now|thus|just|:) ?)*$"
)
"""`an average class size of`, `the average class has`"""
_SOME = regex(r" [a-z]+ (?:with [a-z]+|without|that|who|which have|in the|under|over)\b")
"""Behind a count of groups that are not all: `the 210 households with children`."""
_PERIODS = frozenset(("day", "week", "month", "year", "hour", "person", "child", "man", "woman", "family", "adult"))
_CHANGED = regex(
    r"\b(?:last year|year ago|previous\w*|formerly|from \d|rose|fell|grew|down|up from|target|limit|maximum|minimum"
    r"|national|state|county"
    r"|should|would|aim\w*|goal|plan\w*|recommend\w*|compar\w*|than|between|largest|smallest|other|another|some"
    r"|only|excluding|except"
    r"|left|joined|absent)\b"
)
_AMONG = regex(
    r"\b(?:in|from|over|on|of|across|out of|for|among|off|per)(?: the| his| her| their| its| only| just| all)? $"
)
_LINKED = regex(r"\b(?:so|thus|hence|therefore|which|that|giving|making|averaging)\b")
_AGES = regex(r"\b(?:aged?|ages) (?:from |between )?\d+ ?(?:to|and|[-–]) ?\d+")
_RIGHT_BEHIND = regex(r"^ on average\b")
_CLOSED_BEHIND = regex(r"^ on average *(?:[.,;)]|$)")
_SMALL = frozenset(["and", "the", "for", "after", "before", "with", "from", "then", "while", "this"])
_BACK = regex(
    r"(?:that|this|so|thus|we|which|giv|(?:overall |on |im |der |la )?(?:mean|median|average|durchschnitt"
    r"|mittelwert|moyenne"
    r"|schnitt|promedio)\b|the (?:mean|median|average)\b"
    r"|(?:her|his|its|their|our|my|at an?|with an?|the (?:[a-z]+ )?) ?(?:[a-z]+ )?(?:mean|median|average)\b)"
)
_ITEM = regex(
    r"^(?: ?,| ?;| and|, and|,? then|/|:)(?: [a-z'’-]+){0,3} ?$|^(?: [a-z°%/'’-]+){1,6}(?:,|;| and"
    r"|, and)(?: [a-z'’-]+){0,4} $|^/$"
)


@paragraph_gate(stems("averag mean_ median durchschnitt mittelwert schnitt_ moyenne promedio"), VALUES[3])
def paragraph_means(paragraph: Paragraph) -> Iterator[Finding]:
    """A mean or median that is not that of the list before it, and an average that is not the ratio of two counts."""
    if not re.search(r"averag|\bmean\b|\bmedian\b|schnitt|mittelwert|moyenne|promedio", paragraph.lower):
        return
    for z in paragraph.values:
        lead, tail = paragraph.lead(z), paragraph.tail(z)
        match = _MEAN.search(lead) or _MEAN_BEHIND.match(tail) or _mean_of(paragraph, z, lead)
        if match is None or z.value <= 0 or z.group not in ("plain", "unit", "money"):
            continue
        what = match.groupdict().get("what") or "mean"
        if (named := _OF_EACH.search(lead)) is not None and stem_of(named["of"]) not in _PERIODS:
            yield from _of_groups(paragraph, z, stem_of(named["of"]))
            continue
        if (z.text.isalpha() and _MEAN_OF.search(lead)) or _OTHER.search(_SO_THEIRS.sub("", lead)):
            continue
        yield from _of_list(paragraph, z, "median" if what == "median" else "mean")
        if what != "median":
            yield from _of_two(paragraph, z)


def _mean_of(paragraph: Paragraph, z: Quantity, lead: str) -> re.Match[str] | None:
    """`the average of the three is 4.2`: the count stands between the word and the mean."""
    before = [each for each in paragraph.values if each.end <= z.start and paragraph.place(each) == paragraph.place(z)]
    return _MEAN_OF.search(paragraph.lead(before[-1])) if before and lead in (" is ", " was ", " equals ") else None


def _of_groups(paragraph: Paragraph, z: Quantity, group: str) -> Iterator[Finding]:
    """`486 pupils in 18 classes, an average class size of 37`: the only count of the groups, and what they share."""
    here = paragraph.place(z)
    near = [each for each in paragraph.values if each is not z and 0 <= here - paragraph.place(each) <= 2]
    near = [each for each in near if each.value > 0 and each.end <= z.start]
    groups = [each for each in near if each.group == "plain" and group in nouns_of(paragraph, each)[:2]]
    kin = [each for each in near if each not in groups and (each.group, each.unit) == (z.group, z.unit)]
    if not kin and z.unit is None:
        kin = [each for each in near if each not in groups and each.group == "plain"]
    if len(groups) != 1 or groups[0].hedge or groups[0].value < 2 or not kin or len(near) > 5:
        return
    n, whole = groups[0], max(kin, key=lambda each: each.value)
    rest = [each.value for each in kin if each is not whole]
    if (
        whole.value <= n.value
        or whole.hedge in ("over", "under")
        or (rest and abs(sum(rest) - whole.value) > whole.half)
    ):
        return  # each of several counts may be the one that is shared
    real = whole.value / n.value
    if _SOME.match(paragraph.tail(n)):
        return
    slack = (
        z.half
        + (0.12 if group in ("household", "family") else 0.006) * real
        + whole.half / n.value * (whole.unit is not None)
    )
    ratio = z.value / real
    if abs(z.value - real) <= slack + 0.5 * (z.half == 0.5) or z.hedge in ("over", "under"):
        return
    is_near = abs(n.place - z.place) < 2 and not _CHANGED.search(paragraph.around(whole, n, z))
    if is_near and (1 / 3 < ratio < 3 or slip_bits(z, round(real / (2 * z.half)) * 2 * z.half)):
        message = f"{whole.text} / {n.text} = {plain(real)}, not {z.text}."
        yield finding_at("average", z, message, meant=real, others=[whole, n], probability=0.87)


def _of_list(paragraph: Paragraph, z: Quantity, what: str) -> Iterator[Finding]:
    for run in _lists(paragraph, z):
        numbers = [each.value for each in run]
        nouns = [
            each[0] if each and each[0] not in _SMALL else ""
            for each in (nouns_of(paragraph, item) for item in run[:-1])
        ]
        if z.unit is None and len(set(nouns) - {""}) > 1:
            continue  # `30 students averaged 70 points`
        if len(run) < 3 or len(set(numbers)) < 2 or max(numbers) > 12 * min(numbers) or min(numbers) <= 0:
            continue
        mean, median = statistics.fmean(numbers), statistics.median(numbers)
        slack = z.half + max(each.half for each in run) * (0.6 if z.half < 0.5 or what == "mean" else 0.0)
        if any(abs(z.value - each) <= slack + 1e-9 for each in (mean, median)):
            return
        real = median if what == "median" else mean
        if not min(numbers) <= z.value <= max(numbers) and not slip_bits(z, round(real / (2 * z.half)) * 2 * z.half):
            continue
        rounded = round(real / (2 * z.half)) * 2 * z.half
        named = re.search(
            r"\b(?:scores?|rounds?|ratings?|heights?|times|values|readings|measurements|results|marks|temperatures"
            r"|trials|samples|weights"
            r"|prices|bids|laps|grades|runs|counts|intervals|tests|points|splits|quotes|offers)\b",
            paragraph.lower,
        )
        bits = 5.0 + slip_bits(z, rounded) + (2.0 if len(run) > 3 else 0.0) + (2.0 if named else 0.0)
        bits += 2.0 if what == "median" or _CLOSED_BEHIND.match(paragraph.tail(z)) else 0.0
        if (
            paragraph.place(run[-1]) == paragraph.place(z) - 1
            and _BARE.fullmatch(paragraph.lower[_begin(paragraph, z) : z.start - paragraph.whole.offset].lstrip())
            and paragraph.tail(z)[:1] in ("", ".", ",", ";")
            and not _WEIGHTED.search(paragraph.lower)
        ):
            bits += 3.0
        if paragraph.place(run[-1]) != paragraph.place(z):
            bits -= 2.0 if _BACK.match(paragraph.upto(z)) else 4.0
        near = [
            each
            for each in paragraph.alike(z)
            if paragraph.place(each) in (paragraph.place(run[0]), paragraph.place(z))
        ]
        bits += 2.0 if len(run) > 3 and len(near) == len(run) else 0.0
        if bits >= NEEDED and not z.hedge.startswith(("over", "under")):
            told = ", ".join(each.text for each in run)
            message = f"The {what} of {told} is {plain(real)}, not {z.text}."
            yield finding_at("average", z, message, meant=real, others=run, probability=0.87)
        return


def _begin(paragraph: Paragraph, z: Quantity) -> int:
    """Where the sentence of a number begins in the text of its paragraph."""
    return z.start - paragraph.whole.offset - len(paragraph.upto(z))


def _lists(paragraph: Paragraph, z: Quantity) -> Iterator[list[Quantity]]:
    """Lists of numbers like z that stand before it in its sentence or the one before, or right behind it."""
    unit, group = z.unit, z.group
    is_rate = unit is not None and "/" in unit and group == "unit" and _LINKED.search(paragraph.lead(z)) is not None
    if unit is not None and is_rate and not any(each.unit == unit for each in paragraph.alike(z)):
        unit = unit.partition("/")[0]  # `88 mm, 61 mm and 73 mm, so it averaged 74 mm a month`
    elif unit is not None and group == "unit" and f" in {unit}" in paragraph.lower:
        unit, group = None, "plain"  # `Heights in cm: 412, 380, 405. On average they are 399 cm`
    before = [each for each in paragraph.values if each.end <= z.start and paragraph.place(each) == paragraph.place(z)]
    if group == "plain" and before and before[-1].half == z.half and _RIGHT_BEHIND.match(paragraph.tail(z)):
        unit, group = before[-1].unit, before[-1].group  # `61.2, 60.8 and 61.6 seconds, 61.2 on average`
    alike = [
        each
        for each in paragraph.values
        if each is not z and ((each.group, each.unit) == (group, unit) or each.group == "plain")
    ]
    run: list[Quantity] = []
    runs: list[list[Quantity]] = []
    for each in alike:
        is_next = (
            bool(run)
            and paragraph.place(run[-1]) == paragraph.place(each)
            and _ITEM.match(paragraph.between(run[-1], each))
        )
        if run and (not is_next or (run[-1].end <= z.start < each.start)):
            runs.append(run)
            run = []
        run.append(each)
    runs.append(run)
    for some in reversed(runs):
        if (
            len(some) > 2
            and some[-1].unit == unit
            and some[-1].end <= z.start
            and paragraph.place(z) - paragraph.place(some[-1]) <= 1
        ):
            yield some
            return
    for some in runs:
        if (
            len(some) > 2
            and some[0].start >= z.end
            and paragraph.place(some[0]) == paragraph.place(z)
            and re.search(r"[:(]", paragraph.between(z, some[0]))
        ):
            yield some
            return


def _of_two(paragraph: Paragraph, z: Quantity) -> Iterator[Finding]:
    """`41 hits in 128 at-bats for a .302 average`; `18 matches, 45,900 spectators; the average gate was 2,550`."""
    here, offset = paragraph.place(z), paragraph.whole.offset
    ages = [match.span() for match in _AGES.finditer(paragraph.lower)]
    counts = [
        each for each in paragraph.values
        if each is not z and each.end <= z.start and here - paragraph.place(each) < 2 and each.value > 0
        and each.group in ("plain", "unit", "money")
        and not any(start <= each.start - offset < end for start, end in ages)
    ]  # fmt: skip
    own = [each for each in counts if paragraph.place(each) == here]
    if 1 < len(own) < len(counts):
        counts = own
    if not 2 <= len(counts) <= 4:
        return
    ratios = [
        (one.value / other.value, one, other)
        for one, other in itertools.permutations(counts, 2)
        if other.value > 1 and other.value == int(other.value)
    ]
    slack = z.half if z.hedge and "averag" in z.before[-16:].lower() else z.slack
    if any(abs(ratio - z.value) <= max(slack, 0.006 * z.value) for ratio, *_ in ratios):
        return
    for ratio, one, other in ratios:
        is_told = _AMONG.search(paragraph.lead(other)) is not None and own == counts
        # Nothing else is told: a total of the kind of the mean, and a count of other things.
        is_closed = len(counts) == 2 and (one.group, one.unit) == (z.group, z.unit) and other.group == "plain"
        if not (is_told or (is_closed and one.value > 20 * other.value)):
            continue
        step = 2 * z.half
        bits = 4.0 + slip_bits(z, round(ratio / step) * step)
        if bits > 4.0 and bits >= NEEDED:
            message = f"{one.text} / {other.text} = {plain(ratio)}, not {z.text}."
            yield finding_at("average", z, message, meant=ratio, others=[one, other], probability=0.86)
            return
