"""Changes into the other direction than their two values: `fell from 5.1 percent in July to 5.6 percent in August`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate.apps.consistency.base import finding_at
from numerate.apps.consistency.sentences.gates import paragraph_gate
from numerate.apps.consistency.sentences.other_languages import in_english
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, MONEY, ORDINAL, PERCENT, TIME, UNIT, one, slot
from numerate.apps.consistency.sentences.traits import VALUES, stems

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.findings import Finding

__all__ = ["directions"]

_UP = (
    r"rose|risen|rises|rising|grew|grown|grows|growing|climbed|climbs|climbing|increased|increases|increasing"
    r"|jumped|jumps"
    r"|jumping|soared|surged|raised|raising|went up|has gone up|increase|rise|jump|up"
)
_DOWN = (
    r"fell|fallen|falls|falling|dropped|drops|dropping|declined|declines|declining|decreased|decreases|decreasing"
    r"|shrank"
    r"|shrunk|shrinks|plunged|tumbled|slumped|sank|slipped|dipped|cut|reduced|reducing|lowered|lowering|went down"
    r"|has gone down|decline|drop|decrease|reduction|down"
)
_MOVED = rf"\b(?:(?P<up>{_UP})|(?P<down>{_DOWN}))\b(?P<far>(?:,? (?!(?:{_UP}|{_DOWN})\b)[a-z'’-]+){{0,4}}?),?"
_ANOTHER = regex(rf"\b(?:{_UP}|{_DOWN}|trim\w*|revis\w+|slow\w*|eas\w+|forecast\w*|target\w*|expect\w*)\b")
"""Before the word: `reduced the increase from 5 to 4 percent`."""
_NOUNS = frozenset(
    ("increase", "rise", "jump", "decline", "drop", "decrease", "reduction", "cut", "falls", "rises", "drops")
)
_LEAD = r"(?:(?:an?|the|some|about|around|exactly) )?(?:[a-z]+ of )?"
_VALUE = COUNT + MONEY + UNIT + PERCENT
_TIME = one(TIME + ORDINAL)
_GAP = rf"(?P<gap>(?:[^.;:()\ue000-\uf8ff]|{_TIME}|\((?:in )?{_TIME}\)){{0,45}}?)"
_WAYS = (
    regex(rf"{_MOVED} from {_LEAD}{slot('a', _VALUE)}{_GAP}\bto {_LEAD}{slot('b', _VALUE)}"),
    regex(rf"{_MOVED} to {_LEAD}{slot('b', _VALUE)}{_GAP}\bfrom {_LEAD}{slot('a', _VALUE)}"),
)
_BREAK = regex(
    r"\b(?:and|but|or|while|when|which|who|that|as|because|than|after|before|then|away|apart|back|until|by|between|with"
    r"|without|stretch\w*|rang\w+|moved?|moving|went|going|run\w*|ran|aged?)\b"
)
_OTHER = regex(
    r"\b(?:frequenc\w+|headways?|sailings?|loss(?:es)?|deficits?|debts?|minus|negative|below|overdra\w+|places?"
    r"|positions?|rank\w*|standings?"
    r"|league|table"
    r"|seed\w*|charts?|handicap|odds|every|once|one in|ratio|respectively|strength|dilut\w+|range[sd]?|rain\w*"
    r"|snow\w*|hail"
    r"|asleep|significan\w+|resolution|sensitivity|grid|spacing|magnitude|frost|slope|stage|left to right|page"
    r"|ages|asked"
    r"|step|level [a-z]?\d|gear|floor|category|class|grade|tier|division|no|number [\ue000-\ue009]|about-turn"
    r"|order|reverse\w*|score|scored|lead|beat"
    r"|interval|threshold|tolerance|uncertainty|error|sigma|z|redshift|top|rated|rating|spread)\b"
)
"""Words with which more is told by a smaller number, or the numbers are names or bounds."""
_BEHIND = regex(
    r" ?(?:/|:|–|-\w|×|\^|times\b|fold\b|o['’]clock|percentile|th\b|(?:to|against) the\b|(?:of|out of"
    r"|in|to) (?:every |the |an? )?[\ue000-\ue003\ue007-\ue009])"
)
_SIGNED = "-−–+"
MOST_RATIO = 5.0


@paragraph_gate(
    stems("from_ auf_ von_ de_ del_"),
    stems("rose risen rises rising grew grown grow climb increas jump soar surg rais went gone rise fell fall drop"
          " declin"
          " decreas shrank shrunk shrink plung tumbl slump sank slip dip cut_ reduc lower up_ down_"
          " stieg steigt gestiegen gewachsen wuchs sinkt gesunken gefallen fiel erhöh verringer augment progress"
          " recul baiss"
          " diminu chut subió subieron subido bajó bajaron bajado aument creci cayó cayeron descend disminu redujo"),
    VALUES[2],
)  # fmt: skip
def directions(paragraph: Paragraph) -> Iterator[Finding]:
    """Two values of which the second lies on the other side than the verb says."""
    whole = paragraph.whole
    yield from _told(whole)
    english = in_english(whole)
    if english is not None:
        yield from _told(english)


def _told(sentence: Sentence) -> Iterator[Finding]:
    skeleton = sentence.skeleton
    for pattern in _WAYS:
        for match in pattern.finditer(skeleton):
            a, b = sentence.slots(match, "ab")
            if not _is_change(a, b) or (match["up"] is not None) == (b.value > a.value):
                continue
            begin, end = skeleton.rfind(". ", 0, match.start()) + 1, match.end()
            around = skeleton[max(begin, match.start() - 70) : end + 24].partition("; ")[0]
            if _BREAK.search(match["far"]) or _BREAK.search(match["gap"]) or _OTHER.search(around):
                continue
            before = skeleton[max(begin, match.start() - 40) : match.start()]
            word = match["up"] or match["down"]
            if _ANOTHER.search(before) or (word in _NOUNS and match["far"][:4] not in ("", " in ", " of ")):
                continue
            if _BEHIND.match(skeleton, end) or any(_is_joined(sentence, each) for each in (a, b)):
                continue
            if match["down"] and _may_be_range(a, b) and not _has_time(match, skeleton):
                continue
            way = "more" if b.value > a.value else "less"
            word = word if word in sentence.text.lower() else "otherwise"
            message = f"From {a.text} to {b.text} is {way}, but the text says {word!r}."
            yield finding_at("percent", b, message, others=[a], probability=0.86)
            return


def _is_change(a: Quantity, b: Quantity) -> bool:
    """Whether two values are of one kind and size."""
    if (a.group == "percent") != (b.group == "percent") or a.hedge or b.hedge or min(a.value, b.value) <= 0:
        return False
    if not (a.comparable(b) or (a.unit is None and a.group == "plain" and b.group == "unit")):
        return False
    if a.group in ("ratio", "other") or b.group in ("ratio", "other") or a.text[:1] in _SIGNED or b.text[:1] in _SIGNED:
        return False
    if any(each.unit is None and each.group == "plain" and 1800 <= each.value <= 2100 for each in (a, b)):
        return False
    return a.value != b.value and 1 / MOST_RATIO < b.value / a.value < MOST_RATIO


def _may_be_range(a: Quantity, b: Quantity) -> bool:
    """`Prices fell from 5 to 10 percent`: both ends are round, or a unit stands behind the second only."""
    return all(round(each.value / (2 * each.half)) % 5 == 0 or each.value / each.half < 20 for each in (a, b))


def _has_time(match: re.Match[str], skeleton: str) -> bool:
    return any(char in match["gap"] + skeleton[match.end() : match.end() + 12] for char in TIME)


def _is_joined(sentence: Sentence, quantity: Quantity) -> bool:
    """Whether a dash or slash joins it to another number, or a minus stands before it."""
    before, behind = sentence.beside(quantity)
    is_begun = behind[:1] in ("-", "–", "/", ":") and behind[1:2].isdecimal()
    return is_begun or before[-1:] in ("-", "–", "−", "/", ":")
