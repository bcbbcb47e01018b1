"""Whether two values whose digits are exchanged, or which differ by a factor of ten, are one quantity.

Two numbers of three digits differ so by chance in one of 450 pairs. What the words around both say is counted in bits:
words that both share, words that point back (`the 41 mm nodule`, `at 24.7 cm it is`), a unit. Words that set one apart
(another year, another subject, `second`) forbid a finding.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, NamedTuple

from numerate.apps.consistency.repeats.told_words import ALL_OF_IT, APART, STOP
from numerate.apps.consistency.sentences.patterns import regex

if TYPE_CHECKING:
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence

__all__ = ["Told", "are_same", "is_contrasted", "told"]

NEEDED = 10.3
REACH = 100
TELLING = 3
"""Digits that need no shared word, where a word points back."""
YOUNGEST, OLDEST = 12, 110
"""Ages of people that are told as `who was 78`."""
_FAMILIES = (
    "sell sold sale sales sells selling", "buy bought buys buying purchase acquires acquired acquisition takeover",
    "cost costs price priced paid pay pays payment bill fee", "tall height high tallest highest climb climbs",
    "long length longest", "wide width widest broad across diameter", "deep depth deepest",
    "weigh weighs weighed weight heavy heaviest", "old age aged oldest dated", "fast speed fastest quick",
    "people inhabitants residents population live lives lived", "die died dies death deaths dead killed",
    "win won wins winner winning victory", "lend loan loans borrow borrowed lent",
    "give gift gave donated donation grant", "employ employs employed employees staff headcount workforce workers jobs",
    "build built building construction constructed", "founded founding foundation", "born birth",
    "complete completed completion", "open opened opening opens",
    "find found discovered discovery", "area covers covered cover", "capacity hold holds held seats seated seat",
    "admission admitted arrival arrived", "flow delivers delivered", "damages damage claim claims sued award awarded",
    "orbit orbits circles around", "fine fined penalty", "insure insured insurance", "earn earns earned salary wage",
    "contract order orders", "raise raised appeal", "read reading", "volume stores", "last lasts lasted duration",
    "injured hurt wounded injuries", "temperature degrees hot cold", "invest invested investment",
    "robbed stolen theft stole",
)  # fmt: skip
_FAMILY = {word: family.split()[0] for family in _FAMILIES for word in family.split()}
_ATTRIBUTES = frozenset([
    "sample", "collec", "group", "number", "crowd", "revenu", "profit", "budget",
    "cost", "tall", "long", "wide", "deep", "weigh", "old", "fast", "people", "area", "capaci", "volume", "size",
    "amount", "figure", "sum", "total", "value", "distan", "flow", "temper", "last", "earn",
])  # fmt: skip
"""Names of quantities, which are no other things: `its height of 121 m`."""
_WORD = regex(r"[^\W\d_]{3,}")
_SMALL = frozenset([
    "the", "and", "for", "was", "are", "had", "has", "who", "she", "his", "her", "its", "our", "all", "but", "not",
    "one", "two", "six", "ten", "can", "may", "you", "they", "off", "out", "now", "per", "via", "yet", "too", "any",
    "how", "why", "him", "did", "does", "use", "own", "new", "day", "days", "away", "your", "were", "will", "than",
    "cubic", "square", "million", "billion", "euro", "dollar", "pound", "kilometre", "centimetre", "millimetre",
    "litre", "gram", "grams", "kilo", "minute", "second", "percent", "kwh", "mph",
    "mln", "dlr", "dlrs", "bln",
])  # fmt: skip
_NAME = regex(r"(?<=[a-z,;–-] )(?:[A-ZÀ-Ý][a-zà-ÿ]{2,}|[A-Z]{2,4}\b)")
_LABEL = regex(r"\b[a-z]{3,} ([A-Z]|\d{1,2}|I{1,3}|IV)\b(?![-–.,]?\d)", re.IGNORECASE)
_CODE = regex(
    r"(?:#|\b(?:[Nn]os?\. ?|[Nn]umber ))(\d{1,6})\b(?![-–.,]?\d)|(?<![\w$€£-])([A-Z]{1,3}-?\d{1,5})\b(?![-–.,]?\d)"
    r"|^[A-Z][a-z]{2,} (\d{3,5})(?= [a-z])"
)
"""`lot no. 3`, `#17`, `S-12`, and at the beginning of a sentence `Invoice 103`."""
_TIME = regex(
    r"\b(?:[12]\d{3}|monday|tuesday|wednesday|thursday|friday|saturday|sunday|january|february|march|april|june|july"
    r"|august|september|october|november|december|noon|dusk|dawn|midnight)\b"
)
_RANKED = regex(
    r"\b(?:second|third|fourth|next)[- ][a-z]+est\b|\bbetween [12]\d{3} and [12]\d{3}\b|\bon an average\b"
    r"|\bper second\b|\b(?:one|each|every one) of (?:the|these|its|our)\b|\bmore than (?:an?|one|half)\b"
)
"""Words that only look as if they set a thing apart: `the third largest`."""
_ORDER = regex(
    r"\b(?:first|second|third|fourth|last|next|final|old|new|upper|lower|claim(?:ed|s|ing)|demanded|premium|vat|taxes"
    r"|interest|tomorrow|yesterday|tonight|brother|wife|husband)\b"
)
_SET_APART = regex(
    r"\b(?:an?other|others?|former\w*|latter|sister|older|newer|neighbou?r\w*|adjacent|rival|beside|opposite|more|fewer"
    r"|less|than|compar\w*|versus|vs|against|instead|extra|further|additional|previous\w*|earlier|later|each|per|rose"
    r"|risen|fell|fallen|increased|reduc\w*|cut (?:to|by)|revised|corrected|average|mean|median|alone|including|between"
    r"|respectively|whereas|while|minus|plus|planned|forecast|estimate[ds]?|target\w*|maximum|minimum|at least|at most"
    r"|remaining|rest|left over|grew|grown|dropp\w+|narrow(?:ed|s|ing)|widen\w*|smaller|larger|bigger|longer|shorter"
    r"|cheaper|originally|initial\w*|except|similar|twin|last year|today|nowadays|currently|formerly|asked|wanted"
    r"|sought|offered|the ones?|also|peak|discount\w*|% off)\b"
)
_APART_BEFORE = regex(
    r"\b(?:ago|until|before|if|would|could|without|nearby|still|no longer|(?:up|down|rise|fall|went|change) from)\b"
    r"|\bfrom [$€£]?$"
)
_PART = regex(r"\b(?:of|among) (?:them|which|whom)\b|\b(?:of|among) (?:these|those),")
_FROM = regex(r"^ ?(?:to|from|-|–) ?[$€£]?\d|^ [a-z]+ (?:was|were) sold\b")
_BACK = regex(
    r"\b(?:the|this|these|those|its|his|her|their|our|your|same|all)(?: (?!an? |and |for |in |on )[a-z'’-]+){0,3}"
    r"[ ,(]*(?:(?:of|is|was|at|being|had|has|measur\w+|totall?ing) )?[a-z]{0,2}[$€£]?$"
    r"|\b(?:with|at) an? (?:[a-z]+ ){1,2}of $|^at [$€£]?$"
)
_IT = regex(r"^[^.;:]{0,24}?\b(?:it|they|he|she|this)\b")
_VERB = (
    r"(?:is|was|are|were|has|had|have|would|will|can|could|costs?|weigh(?:s|ed)|holds?|seats|covers|measures?|runs|went"
    r"|takes?|took|ran|came|stands|fetched|sold|earned|received|got|uses?|used|needs?|lies|reach(?:es|ed))"
)
_SUBJECT = regex(
    rf"(?:^|[.;:,] )(?:the|an?|its|this) (?P<name>(?:(?!{_VERB}\b|of\b)[a-z'’-]+ ?){{1,4}}),?"
    rf"(?: ?{_VERB}(?: [a-z]+){{0,2}})?[ ,(]*[$€£]?$"
)
_NOUN_OF = regex(r"(?P<name>[a-z'’-]{3,}) of (?:an? |about |only )?[$€£]?$")
_OF = regex(r"([a-z|]+) +of (?:the )?([a-z]{3,})")
_FOLLOWS = regex(r"^[- ]?((?:[^\W\d_][\w'’-]+[- ]?){1,3})")
_NOUN = regex(
    r"^[- ]?(?!(?:by|for|of|in|at|on|to|from|until|before|as|which|that|and|will|is|are|was|were|has|had|into) )"
    r"((?:[^\W\d_][\w'’-]+[- ]?){1,3})"
)
_FOR = regex(r" for (?:the |an? |its |their )?([a-z]{3,})")
_BEGIN = regex(r"(?:the|an?|this) ([a-z-]{3,})(?: ([a-z-]{3,}))?(?= |,)")
_BESIDE = regex(r"\bthe ([a-z-]{3,}),? [$€£]?$")
_AGED = regex(r"\b(?:who|he|she|[a-z]+,) (?:was|is|who was|who is|then) $|\baged $")
_SOME = regex(
    r" [a-z]+ (?:([a-z]+)ing|without|that|which|over|under|aged|for|who (?=finish|complet|remain|stay"
    r"|surviv|answer|repli|return|continu|left)\w+)[ ,](?!this |that |the same )"
)
"""Behind a noun: these are some of those told before."""
_DETERMINED = regex(r"\b(?:the|this|these|those|its|his|her|their|our|your) [$€£]?$")


_THOSE = regex(rf"{_DETERMINED.pattern}|\ball [$€£]?$")
"""Before a noun told before: the names around it are those of other things."""
_OWN_PART = regex(r"^(?:its|his|her|their) (?P<name>[a-z-]+(?: [a-z-]+)?), ")
_NOW = regex(r",? (?:it|he|she|they) (?:is|are|has|have) now\b")
_SMALLER = regex(r"\b(?:new|small\w*|young\w*|other|second|latest|unit|division|branch|subsidiary|segment)\b")
_WITH_A = regex(r"\b(?:with|at|having) (?:an? )?[a-z-]+ of [$€£]?$")
_ITS_SUBJECT = regex(r",? the (?:[a-z-]+ )?(?P<name>[a-z-]{3,}) (?:is|was|has|had|are|were|serves?|stays?|remains?)\b")
_SUMMARY = regex(
    r"^(?:in short|to sum up|in sum|in summary|summing up|in all|all in all|overall|in total|to conclude)\b"
)


class Told(NamedTuple):
    """A quantity with what the words around it say."""

    quantity: Quantity
    place: int
    before: str
    behind: str
    words: frozenset[str]
    near: frozenset[str]
    names: frozenset[str]
    labels: frozenset[str]

    @property
    def context(self) -> str:
        """The words on both sides."""
        return f"{self.before} | {self.behind}"


def told(sentence: Sentence, place: int, quantity: Quantity) -> Told:
    """A quantity of a sentence with the words around it."""
    at, end, text = quantity.start - sentence.offset, quantity.end - sentence.offset, sentence.text
    before, behind = text[max(0, at - REACH) : at], text[end : end + REACH]
    before = before.rpartition("; ")[2]
    words = _stems(before) | _stems(behind)
    follows = _FOLLOWS.match(behind)
    near = _stems(follows[1]) if follows else frozenset()
    near |= frozenset(list(map(_stem, filter(_counts, _WORD.findall(re.split(r"[.;:(]", before)[-1].lower()))))[-1:])
    both = f"{before} | {behind}"
    if quantity.group == "plain" and OLDEST > quantity.value > YOUNGEST and _AGED.search(before.lower()):
        words, near = words | {"old"}, near | {"old"}
    found = [] if text.isupper() else [name for name in _NAME.findall(both) if not _TIME.fullmatch(name.lower())]
    names = frozenset(name.lower()[:6] for name in found)
    labels = frozenset(label for label in _LABEL.findall(both) if label.isdigit() or label.isupper())
    labels |= frozenset(filter(None, itertools.chain.from_iterable(_CODE.findall(f"{text[:at]} | {behind}"))))
    return Told(quantity, place, before.lower(), behind.lower(), words, near, names, labels)


def _stems(text: str) -> frozenset[str]:
    return frozenset(_stem(word) for word in _WORD.findall(text.lower()) if _counts(word))


def _counts(word: str) -> bool:
    return word in _FAMILY or not (
        _TIME.fullmatch(word) or word in STOP or word in _SMALL or word.removesuffix("s") in _SMALL
    )


def _stem(word: str) -> str:
    if word in _FAMILY:
        return _FAMILY[word][:6]
    return re.sub(r"(?<=..[^s])(?:ing|ed|es|s|er|ly)$", "", word)[:6]


def are_same(first: Told, again: Told, others: int) -> bool:
    """Whether two values that differ by a slip are one quantity; `others` is how many values of the unit are near."""
    return _bits(first, again) - math.log2(max(1, others - 1)) >= NEEDED


def _bits(first: Told, again: Told) -> float:
    a, b = first.quantity, again.quantity
    if _is_summed_up(first, again) or _is_of_another_scale(first, again):
        return 2 * NEEDED
    if a.hedge or (b.hedge and not _DETERMINED.search(again.before)) or _is_set_apart(first, again):
        return 0.0
    size = max(map(_size, (a, b)))
    slip = 3.3 * (size - 1) + 2 if _mantissa(a) == _mantissa(b) else 3.2 * size
    is_aged = "old" in again.near & first.near and len(first.words & again.words) > 1
    is_bare = a.group in ("plain", "percent") and not is_aged
    near = (again.near & first.words) | (first.near & again.words)
    is_back = _is_back(again)
    shared = len(first.words & again.words)
    if not is_back and again.names - first.names:
        return 0.0  # the name may be that of another thing
    if not shared and size < TELLING and not _IT.match(again.behind):
        return 0.0
    if a.group == "year":
        return NEEDED if again.near & first.near and (shared > 1 or is_back or "since" in again.before) else 0.0
    if _mantissa(a) == _mantissa(b) and not (is_back or first.words & again.words & _ATTRIBUTES):
        return 0.0
    if is_bare and not (near and (is_back or (size > 3 and (shared > 1 or again.near & first.words)))):
        return 0.0
    bits = slip + 2.0 if not is_bare or again.near & first.near else slip
    bits += 2.0 if again.near & first.near else 1.0 if near else 0.0
    return bits + min(6.0, 2.0 * shared) + (2.0 if is_back else 0.0)


def _is_summed_up(first: Told, again: Told) -> bool:
    """`Revenue of $1.5 billion ... In short, with revenue of $1.5 million`: another scale of one noun in a summary."""
    a, b = first.quantity, again.quantity
    if _mantissa(a) != _mantissa(b) or _size(a) < 2 or a.value in (10 * b.value, b.value / 10) or a.hedge or b.hedge:
        return False
    nouns = [_NOUN_OF.search(each.before) for each in (first, again)]
    if not _SUMMARY.match(again.before) or not (nouns[0] and nouns[1] and nouns[0]["name"] == nouns[1]["name"]):
        return False
    return not is_contrasted(first) and not is_contrasted(again) and _SMALLER.search(again.behind) is None


_THE_SUM = regex(r"\b(?:the|this|that|its|their|his|her) (?:proposed |planned |all-cash |cash |record )?[$€£¥]?$")
_DEAL = regex(
    r"[- ](?:(?!of\b|in\b|from\b|to\b|for\b|and\b)[a-z-]+ ){0,2}?(?:takeover|deal|acquisition|merger|purchase"
    r"|buyout|transaction|bid|offer"
    r"|sale|fine|penalty|settlement|verdict|award|contract|project|package|programme|program|grant|loan|investment"
    r"|round|scheme|plan|fund"
    r"|bailout|order|stake|gift|donation|price|budget|bond|flotation|listing|damages|jackpot|prize)\b"
)


_OF_A_FIRM = regex(
    r"\b(?:revenues?|sales|turnover|profits?|income|earnings|assets|market|worth|manages?|net|gdp|debts?|valued"
    r"|valuation)\b"
)
"""Words for amounts of which a deal is a small part."""
_ANOTHER_DEAL = regex(
    r".*\b(?:another|second|separate|other|further|additional|instead|than|per|each|smaller|earlier)\b"
)


def _is_of_another_scale(first: Told, again: Told) -> bool:
    """`buy it for $2.4 billion ... the $2.4 million takeover`: millions and billions of one amount."""
    a, b = first.quantity, again.quantity
    if a.group != "money" or _mantissa(a) != _mantissa(b) or _size(a) < 2 or a.hedge or b.hedge:
        return False
    ratio = max(a.value, b.value) / min(a.value, b.value)
    if abs(ratio - 1000) > 1e-6 or not _THE_SUM.search(again.before) or not _DEAL.match(again.behind):
        return False
    if _OF_A_FIRM.search(first.context):
        return False
    return _ANOTHER_DEAL.search(again.before) is None and _ANOTHER_DEAL.match(again.behind) is None


def _size(quantity: Quantity) -> int:
    """Digits that tell: 4 of 1,260, and 2 of 1,200."""
    if quantity.group == "plain" and quantity.value >= 1000 and quantity.value % 100:
        return len(str(int(quantity.value)))
    return len(f"{quantity.value:.10g}".partition("e")[0].replace(".", "").strip("0"))


def _mantissa(quantity: Quantity) -> str:
    return f"{quantity.value:.9e}".partition("e")[0]


def _is_set_apart(first: Told, again: Told) -> bool:
    """Whether words say that there are two quantities."""
    both = (first, again)
    is_same_noun = _THOSE.search(again.before) is not None and bool(again.near & first.words)
    if first.labels and again.labels and first.labels != again.labels:
        return True
    if first.names - again.names and again.names - first.names and not is_same_noun:
        return True
    contexts = [_RANKED.sub("", each.context) for each in both]
    for words in (APART, _TIME, _ORDER):
        one, other = (set(words.findall(context)) for context in contexts)
        if one - other and other - one:
            return True
    ordered = set(_ORDER.findall(_RANKED.sub("", again.before))) - set(_ORDER.findall(first.context))
    if ordered or _PART.search(again.before):
        return True
    if is_contrasted(again) or (is_contrasted(first) and not _is_rate_again(first, again)):
        return True
    is_back = _is_back(again)
    if not is_back and _PLUPERFECT.search(again.before) and not _PLUPERFECT.search(first.before):
        return True  # what had happened before is another thing
    if not is_back and set(_YEAR.findall(again.context)) - set(_YEAR.findall(first.context)):
        return True
    nouns = [{noun: word for word, noun in _MODIFIED.findall(each.context)} for each in both]
    if any(nouns[1].get(noun, word) != word for noun, word in nouns[0].items()):
        return True  # `the main runway`, `the cross runway`
    of = [dict(_OF.findall(each.context)) for each in both]
    if any(of[1].get(noun, name) != name and _stem(name) not in again.words for noun, name in of[0].items()):
        return True  # `sales of phones`, `sales of tablets`
    return _is_another_thing(first, again)


def _is_rate_again(first: Told, again: Told) -> bool:
    """Whether only a rate contrasts: `245 francs per child ... transfer the 254 francs`."""
    return (
        _DETERMINED.search(again.before) is not None
        and re.match(r" (?:per|each)\b", first.behind) is not None
        and not is_contrasted(first._replace(behind=""))
    )


def is_contrasted(each: Told) -> bool:
    """Whether a word beside a quantity sets it apart."""
    before, behind = (_RANKED.sub("", part) for part in (each.before[-40:], each.behind[:24]))
    return any(
        (
            _SET_APART.search(before),
            _APART_BEFORE.search(before),
            _SET_APART.search(behind),
            _FROM.match(behind),
            _NOW.match(behind),
        )
    )


_PLUPERFECT = regex(r"\bhad (?:[a-z]+ )?[a-z]+(?:ed|en|[^aeiou]t|ne|ld) |\bhad (?:[a-z]+ )?[a-z]+ [$€£]?$")
_YEAR = regex(r"\b[12]\d{3}\b")
_MODIFIED = regex(r"\bthe ([a-z-]{3,}) ([a-z-]{3,})\b")
_LIGHT = _ATTRIBUTES | {"run", "tak", "mak", "go", "com", "caus", "reach", "need", "las", "holds", "us"}
"""Stems that many things share."""


def _is_back(again: Told) -> bool:
    return _BACK.search(again.before) is not None or _IT.match(again.behind) is not None


def _is_another_thing(first: Told, again: Told) -> bool:
    """Whether the later value belongs to a thing that the earlier words do not name: `the spire, 57 m tall`."""
    whole = ALL_OF_IT.match(again.behind) if again.before.endswith(("all ", "the ")) else None
    part = _OWN_PART.match(again.before)
    for name in (whole["whole"] if whole else "", part["name"] if part else ""):
        new = _stems(name)
        if new and not any(each in first.words or each in _ATTRIBUTES or each in first.context for each in new):
            return True  # `12 rooms for you. All 21 rooms of the hotel`, `Its viewing platform, at a height of`
    thing = _ITS_SUBJECT.match(again.behind) if _WITH_A.search(again.before) else None
    if thing is not None and thing["name"] not in first.context and "est " not in again.behind:
        return True  # `With a capacity of 120 the annex is used for lectures`
    follows, subject = _NOUN.match(again.behind), _NOUN_OF.search(again.before) or _SUBJECT.search(again.before)
    begin = _BEGIN.match(again.before)
    if begin is not None and not _is_back(again) and not (first.words & again.words) - _LIGHT:
        new = [_stem(word) for word in begin.groups() if word and _counts(word)]
        if new and not any(each in first.context or each in _ATTRIBUTES for each in new):
            return True  # `The film runs for 154 minutes.`
    beside = _BESIDE.search(again.before)
    if beside is not None and _stem(beside[1]) not in first.words | _ATTRIBUTES and beside[1] not in first.context:
        return _counts(beside[1])  # `the rolls 95 g and the baguette 395 g`
    purpose = _FOR.match(again.behind)
    if _DETERMINED.search(again.before) and purpose is not None and not _stems(purpose[1]) & first.words:
        return True  # `the 1,300 million euros for roads`
    if _DETERMINED.search(again.before) and follows is not None:
        some = _SOME.match(again.behind)
        if some is not None and not (some[1] and _stem(some[1]) in first.words):
            return True
        named = follows[1]
    elif subject is not None:
        named = re.sub(r"[a-z]+['’]s ", "", subject["name"])
    else:
        return False
    stems = _stems(named)
    subjects = [_SUBJECT.search(each.before) for each in (first, again)]
    if subjects[0] and subjects[1]:
        one, other = (each["name"].split() for each in subjects if each)
        if one[-1] == other[-1] and len(one) > 1 < len(other) and one[-2] != other[-2]:
            return True  # `the acquisition price`, `the disposal price`
    return bool(stems) and not any(
        each in first.words or each in _ATTRIBUTES or each in first.context for each in stems
    )
