"""Sentences that have just the parts of one whole: a total with all other numbers as its parts, a part with its share.

Where no other number stands in the sentence, the words between the numbers matter little: `With 72 in maths, 81 in
physics and 64 in chemistry she came to 227 points`. A word for a total must stand beside the largest number.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain, written_like
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_typo
from numerate.apps.consistency.wrong import wrong_sum

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["closed_opposites", "closed_part", "closed_share", "closed_total"]

_TOTAL_BEFORE = regex(
    r"\b(?:total(?:s|led|ed|ling|ing)?|sum|altogether|in all|in total|together|combined|overall|add(?:s|ed|ing)? up to"
    r"|amount(?:s|ed|ing)? to|(?:came|comes?|coming|bringing|brings|brought)(?: [a-z]+){0,4} to|making|makes|giving"
    r"|gives?"
    r"|(?:for|,) an? (?:[a-z]+ ){1,3}of|for (?:an? )?(?:(?:group|combined|joint|overall|total|company|annual"
    r"|full-year|net|gross)"
    r" )+[a-z]+ of|tally of|these|all)(?: (?:of|to|is|was|the|an?|it|up|at|[a-z]+ of|[a-z]+))?[:,]? $"
    r"|(?:,|;|:| [–—-]) (?:so|thus|hence|therefore)(?: [a-z]+){0,4} $|\b(?:amount due|bill|sum|invoice) (?:is|was"
    r"|came to|comes to) $"
)
_TOTAL_BEHIND = regex(
    r"(?: [a-z'’-]+){0,4}? (?:in all|in total|altogether|all told|combined|overall|together)(?=[.,;)]|$| (?:for"
    r"|over|on)\b)"
    r"|(?: [a-z'’-]+){0,3}? as a whole\b"
)
_NOT_PARTS = regex(
    r"\b(?:of which|of whom|of them|of these|of those|of it|of that|among|including|includes?|included|than|compared"
    r"|versus|vs|against|per|each|every|between|averag\w*|mean|median|respectively|until|rose|fell|grew|ranked|aged"
    r"|times|more|another|further|additional|additionally|also|both|but|if|while|whereas|up from|down|from|at least"
    r"|record|previous|other|others|some|several|season|career|since|ago|remaining|rest|after|before|approximately"
    r"|ratio|out of|except|plus|minus|less|left|sold for|worth|priced|score[ds]?|beat|won|lost|led|margin"
    r"|second only)\b|%|[×+]|\d ?[-–] ?\d| of (?:the|its|their|his|her|all) [\ue000-\ue009]"
)
_JOINED = regex(r",|\band\b|;|:|–|—")


def closed_total(sentence: Sentence) -> Iterator[Finding]:
    """The largest number has a word for a total, and all other numbers of the sentence are of its kind."""
    values = sentence.values
    if not 3 <= len(values) <= 8:
        return
    total = max(values, key=lambda each: each.value)
    parts = [each for each in values if each is not total]
    if total is not values[-1] or any(each.hedge or each.value <= 0 for each in values):
        return
    if any(not _is_part(each, total) for each in parts):
        return
    if total.unit is None and len({each.value == int(each.value) for each in values}) > 1:
        return
    before, behind = sentence.beside(total)
    if not (_TOTAL_BEFORE.search(before) or _TOTAL_BEHIND.match(behind)):
        return
    if any(":" in sentence.between(one, other) for one, other in itertools.pairwise(values[:-1])):
        return
    if not all(_JOINED.search(sentence.between(one, other)) for one, other in itertools.pairwise(values)):
        return
    whole = sum(each.value for each in parts)
    slack = total.blur + 1.7 * math.sqrt(sum(each.blur**2 for each in parts))
    if abs(whole - total.value) <= slack or not 0.8 < total.value / whole < 1.25 or _some_add_up(parts, total, slack):
        return
    begin = sentence.skeleton.find("\ue100") - 1
    is_apart = _NOT_PARTS.search(sentence.skeleton, max(0, begin)) is not None
    if is_apart and not is_typo(total, whole):
        return
    yield wrong_sum(total, parts, whole, 0.85)


_OPPOSITES = regex(
    r"\b(?:death|died|killed)\w*\b.*\b(?:surviv|recover)|\b(?:surviv|recover)\w*\b.*\b(?:death|died|killed)"
    r"|\bpassed\b.*\bfailed\b|\bfailed\b.*\bpassed\b|\baccepted\b.*\brejected\b|\bpresent\b.*\babsent\b"
    r"|\bpositive\b.*\bnegative\b|\bnegative\b.*\bpositive\b|\b(?:for|favou?r)\b.*\bagainst\b|\bcorrect\b.*\b(?:wrong"
    r"|incorrect)\b|\bcompleted\b.*\bdropped out\b|\bemployed\b.*\bunemployed\b"
)
_WHOLE_BEFORE = regex(r"\b(?:of|among|out of|from) (?:the |all |its |these |those |a total of )?$")


def closed_opposites(sentence: Sentence) -> Iterator[Finding]:
    """`14 deaths among the 80 infected, and 76 survived`: two parts that exclude each other are more than the whole."""
    values = sentence.values
    if len(values) != 3 or any(each.group != "plain" or each.hedge or each.value != int(each.value) for each in values):
        return
    whole = max(values, key=lambda each: each.value)
    parts = [each for each in values if each is not whole]
    if not _WHOLE_BEFORE.search(sentence.beside(whole)[0]) or not _OPPOSITES.search(sentence.skeleton):
        return
    real = sum(each.value for each in parts)
    if not whole.value < real <= 1.25 * whole.value or _NOT_OPPOSED.search(sentence.skeleton):
        return
    terms = " + ".join(plain(each.value) for each in parts)
    message = f"{terms} = {plain(real)}, which is more than {whole.text}."
    yield finding_at("sum", whole, message, others=parts, expected_at_least=real, probability=0.85)


_NOT_OPPOSED = regex(r"\b(?:each|per|respectively|both|than|another|more|twice|tests?|times|years?|votes? to|also)\b")


def _is_part(part: Quantity, total: Quantity) -> bool:
    """Whether both have one unit, or the part leaves out a currency that its neighbours have."""
    if part.comparable(total):
        return part.group == total.group or {part.group, total.group} <= {"plain", "ratio", "other"}
    return part.unit is None and total.group == "money" and part.value >= 0.05 * total.value


def _some_add_up(parts: list[Quantity], total: Quantity, slack: float) -> bool:
    """Whether some of the parts are the total already: then one of them is a subtotal."""
    return any(
        abs(sum(each.value for each in some) - total.value) <= slack
        for count in range(2, len(parts))
        for some in itertools.combinations(parts, count)
    )


_PART_OF = regex(r"^(?: (?!of )[a-z'’-]+){0,5}? (?:out )?of (?:(?:the|its|all|their|these|those|our|a total of) )*$")
_OF_THEM = regex(r"(?: [a-z'’-]+){0,2} of (?:them|these|those|whom|which)\b")
_WHOLE_FIRST = regex(r"(?:^|[,;:] )(?:out )?(?:of|among) (?:(?:the|its|all|these|those|our|their) )*$")
_THEREOF = regex(r",? (?:of which|of whom|of these|of those|of this|of that|thereof)\b")
_MADE_UP = regex(r"\bma[dk](?:es?|ing) up\b")
_SHARE_WORD = regex(
    r" (?:of (?:them|these|those|the total|all|the whole)\b|(?:approval|support|turnout|success|response|pass"
    r"|attendance|hit|completion|conversion|majority|accuracy|rate)\b)|[).,;:]|$| (?:were|was|had|have|are|in favou?r"
    r"|voted|said)\b"
)
_NOT_PART = regex(
    r"\b(?:rose|fell|grew|increase\w*|decrease\w*|declin\w*|up|down|gain\w*|growth|more|less|fewer|than|higher|lower"
    r"|per|each|every|while|whereas|but|interest|discount|compared|versus|against|average|respectively|another|other"
    r"|additional|previous\w*|forecast|expected|target|since|stake|least|nearly|almost|roughly|doubl\w*|halv\w*|needed"
    r"|required|another|aged?|confidence|last|first|only|counted|leads?|and (?:[a-z]+ )?[\ue002])\b|;"
)


_AND_THEN = regex(r"\band (?:his|her|their|its|the|an?|one|another) [a-z]")
_OR_SHARE = regex(r"(?:, or|, i\.e\.,?|, that is,?|, which is|, exactly|\() $|\($")


def closed_part(sentence: Sentence) -> Iterator[Finding]:
    """A part, its whole and one percentage, wherever it stands: `with 78 votes out of 120, it passed with 75 %`."""
    values = sentence.values
    if len(values) != 3 or _NOT_PART.search(_MADE_UP.sub(" ", sentence.skeleton)):
        return
    shares = [each for each in values if each.group == "percent" or _is_fraction(each)]
    others = [
        each for each in values if each.group in ("plain", "money", "ratio", "other", "unit") and each not in shares
    ]
    if len(shares) != 1 or len(others) != 2 or not others[0].comparable(others[1]):
        return
    p, part, whole = shares[0], *sorted(others, key=lambda each: each.value)
    if any(each.hedge or each.value <= 0 for each in values) or whole.value < 8 or part.value == whole.value:
        return
    if part.start < whole.start:
        is_part = _PART_OF.match(sentence.between(part, whole)) is not None
    else:
        is_part = (
            _OF_THEM.match(sentence.beside(part)[1]) is not None
            or _WHOLE_FIRST.search(sentence.beside(whole)[0]) is not None
            or _THEREOF.search(sentence.between(whole, part)) is not None
        )
    if p.end <= part.start and _AND_THEN.search(sentence.between(p, part)):
        return  # `of the 200 cookies, his wife took 30 %, and his daughter took 40`
    before, behind = sentence.beside(p)
    is_share = _SHARE_WORD.match(behind) or (behind.startswith(" of ") and _SHARE_BEFORE.search(before))
    if not is_part or not (_is_fraction(p) or is_share):
        return
    if _is_fraction(p) and p.start > part.start and not (p.start > whole.start and _OR_SHARE.search(before)):
        return
    real = part.value / whole.value
    blur = (0.04 if _is_fraction(p) else 1.2 * p.half + 0.002) + real * (
        part.blur / part.value + whole.blur / whole.value
    )
    if any(abs(each - p.value) <= blur for each in (real, 1 - real)) or not 0.4 < p.value / real < 2.5:
        return
    meant = f"{real:.0%}" if _is_fraction(p) else written_like(p, real)
    message = f"{plain(part.value)} of {plain(whole.value)} are {meant}, not {p.text}."
    yield finding_at(
        "percent", p, message, meant=None if _is_fraction(p) else real, others=[part, whole], probability=0.87
    )


def _is_fraction(quantity: Quantity) -> bool:
    """Whether it is a fraction in words: `two thirds`."""
    return quantity.group == "plain" and 0 < quantity.value < 1 and quantity.text[:1].isalpha()


_SHARE_BEFORE = regex(
    r"(?:\b(?:or|i\.e\.,?|that is,?|covering|covers|covered|meeting|met|supplying|representing|equal to|equivalent to"
    r"|a share of|making up|represents?|represented|accounts? for|accounted for|made up|makes up|is|was|equals)|,|\() $"
)
_NOT_SHARE = regex(
    r"\b(?:rose|fell|grew|increase\w*|decrease\w*|declin\w*|up|down|gain\w*|lost|growth|more|less|fewer|than|higher"
    r"|lower|per|each|every|while|whereas|but|of which|of whom|of them|interest|yield|discount|off|tax|compared|versus"
    r"|against|average|respectively|margin|another|other|additional|previous\w*|forecast|expected|target|since|turnout"
    r"|stake|raised?|cut|including|national\w*|world\w*|global\w*|only|under|aged?|years?|least|nearly|almost|roughly"
    r"|doubl\w*|halv\w*|wom[ae]n|m[ae]n|male|female)\b|;"
)


def closed_share(sentence: Sentence) -> Iterator[Finding]:
    """Two counts and one percentage of a whole: `a city of 200,000 has 15,000 students, 7.5 % of the population`."""
    values = sentence.values
    if len(values) != 3 or _NOT_SHARE.search(sentence.skeleton):
        return
    shares = [each for each in values if each.group == "percent"]
    others = [each for each in values if each.group != "percent"]
    if len(shares) != 1 or not others[0].comparable(others[1]) or any(each.hedge or each.value <= 0 for each in values):
        return
    p, part, whole = shares[0], *sorted(others, key=lambda each: each.value)
    before, behind = sentence.beside(p)
    if not behind.startswith(" of ") or not _SHARE_BEFORE.search(before) or whole.value < 20:
        return
    real = part.value / whole.value
    blur = p.half + 0.002 + real * (part.blur / part.value + whole.blur / whole.value)
    fits = (
        real,
        1 - real,
        1 / real - 1,
        part.value / (part.value + whole.value),
        whole.value / (part.value + whole.value),
    )
    if any(abs(each - p.value) <= blur for each in fits) or not 0.4 < p.value / real < 2.5:
        return
    message = f"{plain(part.value)} of {plain(whole.value)} are {written_like(p, real)}, not {p.text}."
    yield finding_at("percent", p, message, meant=real, others=[part, whole], probability=0.85)
