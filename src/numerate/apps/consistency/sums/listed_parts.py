"""A whole and a list of its parts that fill the sentence: `14 witnesses, 9 for the prosecution and 6 for the defence`.

No word has to say that these are all parts. That the list is complete is seen from its form: a colon or a bracket
before it, parts that are told in the same way, parts that exclude each other, or a word for how many parts there are
(`in three provinces: ...`). That a sum nearly holds is the other half of the proof.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at, plain
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.slips import is_typo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["listed_parts"]

_SEPARATOR = regex(r",|\band\b|;|\bplus\b|\bwith\b|\bwhile\b|\+|\(")
_OPEN = regex(
    r"\b(?:than|compared|versus|vs|against|per|each|every|averag\w*|mean|median|respectively|until|rose|fell"
    r"|grew|rank\w*"
    r"|aged?|times|another|further|additional|also|both|if|up|down|from [\ue000-\uf8ff]|at least|record|previous\w*|for"
    r" example|such as|some|several|since|ago|approximately|ratio|except|minus|less|left|worth|priced|beat|margin|or"
    r"|e\.g|mostly|mainly|especially|notably|overlap\w*|multiple|more|about|most|between|over)\b|%|[×±=]|\betc"
)
_SOME = regex(r"\b(?:includ\w+|among|of (?:which|whom|them|these|those|it|that)|out of)\b")
_WHOLE_OF = regex(r"(?:^|[,;:] )(?:of|among|out of) (?:(?:the|all|these|those|its|their|our|his|her|a total of) )*$")
_IN_GAMES = regex(r"\b(?:in|from|over|across|of) (?:(?:the|all|its|their|his|her|those|these) )*$")
_RESULTS = regex(r" (?:wins?|losses|loss|draws?|defeats?|ties|victories|victory|no-results?)\b")
_VERB = regex(
    r"^(?: (?:breaks?|broke|splits?|falls?|divides?|went|goes) (?:down )?(?:into|as|between|among|to) $)|"
    r"^ ?\((?:[a-z'’-]+ ){0,3}$|"
    r"^(?: [a-z'’-]+){1,12}?(?: [–—-]|:|;|,| \(|,? (?:namely|i\.e\.,?|that is,?|made up of|consisting of"
    r"|comprising|with|composed of|split into|divided into|broken down into))(?: (?:the|an?|into|of|as"
    r"|follows:))* ?(?:[a-z'’-]+ ){0,4}$"
)
_DOWN = regex(r"^ (?:breaks?|broke|splits?|falls?|divides?) (?:down )?(?:into|as|between|among)\b")
_BROKEN = regex(r"\b(?:breaks?|broken?|broke) down\b|\bmade up of\b")
_COLON = regex(r"(?::| [–—-]| \(|\bnamely|\bi\.e\.,?|\bthat is,?)(?: ?[a-z'’-]+){0,4} ?$|\($")
_AFTER = regex(
    r"^ ?(?:(?P<how>in|at|from|for|to|by|on|under|over|with|against|as|of|into|aged|via|through|during|before|after"
    r"|were|are|was|is|had|have|did|went|came|live|work|chose|voted|said|will)\b|(?P<noun>[a-z'’-]+))"
)
_OVERLAP = regex(
    r"\b(?:had|have|has|having|speak\w*|spoke|owns|owned|lik\w*|play\w*|stud\w*|report\w*|us(?:e|ed|es|ing)|experienced"
    r"|kn[eo]w|visited|read|suffered|complained|mentioned|said|cited|drank|watched|showed|received|contain\w*|with"
    r"|goals?|assists?)\b"
)
_OPPOSITES = (
    ("men", "women"), ("adults", "juniors"), ("seniors", "juniors"), ("teachers", "pupils"),
    ("male", "female"), ("males", "females"), ("boys", "girls"), ("adults", "children"),
    ("positive", "negative"), ("passed", "failed"), ("survived", "died"), ("recovered", "died"), ("for", "against"),
    ("yes", "no"), ("accepted", "rejected"), ("present", "absent"), ("home", "away"), ("public", "private"),
    ("employed", "unemployed"), ("full-time", "part-time"), ("drug", "placebo"), ("won", "lost"), ("wins", "losses"),
    ("wins", "defeats"), ("new", "used"), ("domestic", "foreign"), ("urban", "rural"), ("correct", "wrong"),
)  # fmt: skip
_UNNAMED = regex(
    r"(?:,|\band\b|\bplus\b|\bwith\b) (?:the|an?|one|his|her|its|their|several|many|some|others?|numerous|various|no)\b"
)
"""A part without a number: `and the mayor`."""
_OF_THE = regex(r"\bof (?:the|these|those|them|his|her|its|their)\b")
_OF_WHOLE = regex(r"^(?: [a-z'’-]+)? (?:out )?of (?:(?:the|its|all|these|those|our|their) )+$")
_REMAINING = regex(r"\b(?:the )?(?:remaining|other|rest|remainder)\b")
_COUNTED = regex(r" (?:[a-z'’-]+ )?(?P<noun>[a-z]{3,}s|people|men|women|children|staff|aircraft|fish|sheep)\b")
_NUMBERED = regex(r"\b(?:no\.|number|table|figure|room|chapter|section|page|act|type|class|route|line|version)\s*$")
MOST_PARTS = 8


def listed_parts(sentence: Sentence) -> Iterator[Finding]:
    """The largest number is a whole, and all others of its kind are a list of its parts."""
    values = [each for each in sentence.values if each.group != "percent"]
    if len(values) > 3 and values[0].unit is None and values[0].value == len(values) - 2 and _share_unit(values[1:]):
        values = values[1:]  # `the three lakes hold 96 km³: ...`
    if len(values) > 2 and values[0].unit is not None and _share_unit(values):
        values = [
            values[0],
            *(dataclasses.replace(each, unit=values[0].unit, group=values[0].group) for each in values[1:]),
        ]
    elif values and {each.unit is None for each in values} == {True, False}:
        # `12 tracks, seven on side A and five on side B, and lasts 41 minutes`
        counts = [each for each in values if each.unit is None]
        values = counts if len(counts) > 2 and values[: len(counts)] == counts else values
    if not 3 <= len(values) <= MOST_PARTS + 2:
        return
    total = max(values, key=lambda each: each.value)
    at = values.index(total)
    if at > 1:
        return  # parts before the total need a word for it
    parts = [each for each in values if each is not total]
    containers = [each for each in parts if _is_container(sentence, each, len(parts) - 1)]
    if len(containers) == 1 and len(parts) > 2:
        parts.remove(containers[0])
    part_first = at == 1 and _OF_WHOLE.match(sentence.between(values[0], total)) is not None
    if at != 0 and not (part_first or (at == 1 and containers and values[0] is containers[0])):
        return
    if len(parts) < 2 or any(each.hedge or each.value <= 0 or each.group in ("ratio", "other") for each in values):
        return
    if any(not each.comparable(total) or each.group != total.group for each in parts):
        return
    if total.unit is None and any(each.value != int(each.value) for each in (total, *parts)):
        return
    whole = sum(each.value for each in parts)
    slack = total.blur + 1.7 * math.sqrt(sum(each.blur**2 for each in parts))
    if abs(whole - total.value) <= slack or not 0.8 < whole / total.value < 1.25 or _some_add_up(values, total, slack):
        return
    skeleton = sentence.skeleton
    first = sentence.between(total, parts[0])
    named = skeleton[_place(sentence, parts[0]) :]
    gaps = [sentence.between(one, other) for one, other in itertools.pairwise(parts)]
    if not all(_SEPARATOR.search(gap) for gap in gaps) or any("." in gap.replace("i.e.", "") for gap in gaps):
        return
    begin = _BROKEN.sub(" ", skeleton[_place(sentence, total) :])
    if (_OPEN.search(begin) and not is_typo(total, whole)) or any(
        _NUMBERED.search(each.before.lower()) for each in values
    ):
        return
    if part_first:
        # `seven of the 20 kittens are black, nine tabby and the remaining four white`
        first, named = sentence.between(total, parts[1]), skeleton[_place(sentence, parts[1]) :]
        if not (_REMAINING.search(skeleton) or (whole > total.value and _are_opposed(skeleton))):
            return
    if (whole < total.value and _UNNAMED.search(named)) or _OF_THE.search(named):
        return
    if "(" in first and any(")" in gap for gap in gaps):
        return
    too_much = whole > total.value + slack
    is_some = _SOME.search(first) is not None or _WHOLE_OF.search(sentence.beside(total)[0]) is not None
    exclusive = _are_opposed(named)
    if part_first:
        complete = True
    elif _SOME.search(first):
        complete = too_much and exclusive
    elif is_some or _OVERLAP.search(named):
        complete = too_much and (exclusive or (len(parts) > 2 and not _OVERLAP.search(named)))
    elif all(_RESULTS.match(sentence.beside(each)[1]) for each in parts):
        complete = _IN_GAMES.search(sentence.beside(total)[0]) is not None and (too_much or len(parts) > 2)
    else:
        # The unit of a total stands for the word behind it: `46.1 GWh, 7.2 GWh from wind and ...`; of two parts less
        # than the whole there may be a third.
        is_sure = too_much or len(parts) > 2 or is_typo(total, whole)
        behind = f" unit{first}" if total.unit is not None and is_sure else first
        complete = _VERB.match(_without(behind, containers)) is not None and (
            bool(containers)
            or _DOWN.match(first) is not None
            or _COLON.search(first) is not None
            or exclusive
            or (_are_parallel(sentence, parts) and not _are_parallel(sentence, [total, *parts]))
        )
    if not complete:
        return
    terms = " + ".join(plain(each.value) for each in parts)
    verb = "which is more than" if too_much and is_some else "not"
    yield finding_at(
        "sum", total, f"{terms} = {plain(whole)}, {verb} {total.text}.", meant=whole, others=parts, probability=0.87
    )


def _place(sentence: Sentence, quantity: Quantity) -> int:
    """Where the slot of a quantity stands in the skeleton."""
    at = next(index for index, each in enumerate(sentence.quantities) if each.start == quantity.start)
    return sentence.skeleton.find(chr(0xE100 + at)) - 1


def _share_unit(values: list[Quantity]) -> bool:
    """Whether only the whole has a unit, or the last part of a list has it for all: `41, 33 and 22 km³` of 96 km³."""
    total, *parts, last = values
    parts = [each for each in parts if not (each.half == 0.5 and each.value == len(values) - 2)]
    return (
        bool(parts)
        and all(each.unit is None and each.group == "plain" for each in parts)
        and (last.unit is None or last.unit == total.unit)
    )


def _without(text: str, containers: list[Quantity]) -> str:
    for each in containers:
        text = text.replace(each.text.lower(), "few")
    return text


def _is_container(sentence: Sentence, quantity: Quantity, count: int) -> bool:
    """Whether a number says how many parts there are: `in three provinces`."""
    before, behind = sentence.beside(quantity)
    return (
        quantity.value == count > 1
        and quantity.unit is None
        and re.search(r"\b(?:in|at|across|over|on|among|between|from|into|the|of|for|its|their|by) $", before)
        is not None
        and _COUNTED.match(behind) is not None
    )


def _are_opposed(named: str) -> bool:
    words = set(re.findall(r"[a-z][a-z-]*", named))
    return any(one in words and other in words for one, other in _OPPOSITES)


def _are_parallel(sentence: Sentence, parts: list[Quantity]) -> bool:
    """Whether the parts are told in one way: each with `for`, `in`, ..., or each but the first without its verb."""
    found = [_AFTER.match(sentence.beside(each)[1]) for each in parts]
    hows = [match["how"] if match is not None else None for match in found]
    leads = [sentence.beside(each)[0].split()[-1:] for each in parts]
    if (
        len(parts) > 2
        and leads[0] in (["for"], ["in"], ["from"], ["to"], ["on"])
        and leads.count(leads[0]) == len(parts)
    ):
        return True
    return None not in hows and len(set(hows)) == 1 and hows[0] not in ("had", "have", "with", "of", "as")


def _some_add_up(values: list[Quantity], total: Quantity, slack: float) -> bool:
    """Whether some of the numbers add up to another one: then one of them is a subtotal."""
    others = [each for each in values if each is not total]
    fits: Callable[[float, float], bool] = lambda one, other: abs(one - other) <= slack  # noqa: E731
    if any(
        fits(sum(each.value for each in some), total.value)
        for count in range(2, len(others) + 1)
        for some in itertools.combinations(others, count)
    ):
        return True
    return len(others) > 2 and any(
        fits(sum(each.value for each in others if each is not one), one.value) for one in others
    )
