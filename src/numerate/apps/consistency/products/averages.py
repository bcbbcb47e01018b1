"""Averages, ratios and counts of lists: `6, 7 and 8, a mean of 8.5`, `2:1 (40 and 30)`, `four titles (1998, 2001)`."""

from __future__ import annotations

import math
import re
import statistics
from typing import TYPE_CHECKING

from numerate.apps.consistency.base import Rule, finding_at, plain, rules
from numerate.apps.consistency.counts.announced_lists import announced_lists
from numerate.apps.consistency.products.paragraph_means import paragraph_means
from numerate.apps.consistency.products.stated_rates import stated_rates
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.slots import COUNT, MONEY, NO_NUMBER, UNIT, VALUE, YEAR, one, slot
from numerate.apps.consistency.sentences.traits import VALUES
from numerate.apps.consistency.sums.stated_results import stated_mean
from numerate.apps.consistency.tables.counted_rows import MOST_TABLES, CountedRows, counted_rows, rows_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.sentences.paragraphs import Paragraph
    from numerate.apps.consistency.sentences.quantities import Quantity
    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.consistency.sentences.tally import Tally
    from numerate.apps.consistency.tables.table_numbers import NumberTable
    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

__all__ = ["Averages", "ListCounts"]

_Q = one(VALUE)
_LIST = rf"(?P<list>{_Q}(?:(?:, | and |, and ){_Q}){{1,9}})"
_MEAN_BEHIND = regex(
    rf"{_LIST}(?: (?:in|for|over|on|from|at|of) (?:the|her|his|its|their|all|these) {slot('n', COUNT)}(?= [a-z]+s\b))?"
    rf"(?P<gap>{NO_NUMBER}{{0,45}}?\b(?P<word>averages?|mean|averaging|averaged)(?: [a-z]+){{0,2}}?(?: of"
    rf"| is| was| being|:|,)?) ?{slot('z', VALUE)}"
)
_MEAN_BEFORE = regex(
    r"\b(?P<word>average|mean)(?P<gap>(?: [a-z]+){0,2}?(?: of| is| was"
    rf"|:)?) {slot('z', VALUE)}(?P<far>{NO_NUMBER}{{0,25}}?[(:] ?(?:[a-z]+ ){{0,3}}?){_LIST}(?P<end>\)|\.|$)"
)
_MEAN_OF = regex(rf"\b(?P<word>average|mean) of (?:the )?{_LIST}(?P<gap>) (?:is|was|equals|=) {slot('z', VALUE)}")
_EACH = regex(
    rf"{slot('x', COUNT + MONEY)}(?P<one>(?: [a-z'’-]+){{1,4}}?) {slot('y', COUNT + MONEY)}(?P<other>(?: [a"
    r"-z'’-]+){0,4}?),? (?:or |for |with |giving )?(?:on average|an average of|average|averaging"
    rf"|a mean of|i\.e\.)(?: of)? {slot('z', COUNT + MONEY)}(?: [a-z]+){{0,2}}? (?P<each>each|apiece"
    r"|per (?P<per>[a-z]+))"
)
_THEIR_MEAN = regex(r"(?: per [a-z]+)?, (?:for |giving |with |i\.e\. |so |thus )?an? (?:mean|average)(?: of)?")
_NOT_THESE = regex(
    r"\b(?:weighted|above|below|than|against|compared|while|but|exceed|season|career|record|annual|national|previous"
    r"|respectively|versus|vs|per|state|world|beat|monthly|weekly|yearly|league|industry|usual|long-term)\b"
)
_COLON = regex(
    rf"(?P<lead>^|[a-z,] ){slot('n', COUNT + UNIT)}(?P<noun>(?: [a-z-]+){{0,2}})(?P<gap>{NO_NUMBER}{{0,50}}?)(?P"
    r"<how>:| are| were) (?P<items>[^.;:()\ue000-\uf8ff]+)\.?$"
)
_YEARS = regex(
    rf"{slot('n', COUNT)} (?P<noun>(?:[a-z-]+ ){{0,3}}?[a-z-]+s)(?P<gap>)(?: \((?:in )?(?=[^()]*\))|:(?: in)? "
    rf"|, (?:namely )?in )"
    rf"(?P<years>{one(YEAR)}(?:, {one(YEAR)})*,? and {one(YEAR)}|{one(YEAR)}(?:(?:, | and "
    rf"|, and ){one(YEAR)})+(?=\)))(?=[).;]|$)"
)
_NAMED = regex(
    rf"(?P<lead>^|[a-z,] ){slot('n', COUNT)}(?: of (?:the|its|their"
    rf"|these))?(?P<noun> (?!with |of |in |at |for |and |to )(?:[a-z-]+ ){{0,2}}?[a-z-]{{3,}}s)(?P<gap>)"
    r",? ?(?:[,(:–—]|namely)(?: namely)? ?"
    r"(?P<items>[^.;:()\ue000-\uf8ff]{5,120}?,? and [^.;:,()\ue000-\uf8ff]{3,30}?)(?P<how>,|\)|$|\.)"
)
_LOOSE = regex(
    r"\b(?:includ\w*|among|such as|e\.g|for example|etc|like|at least|more|other|or|with|both|several|least"
    r"|alongside|together|first|last|only|namely the|following|respectively|not|to|is|are|was|were|who|which|that)\b"
)
_LOOSE_LEAD = regex(
    r"\b(?:includ\w*|among|such as|e\.g|at least|more|other|of|or|first|last|between|only one|following"
    r"|with (?:the|an?|his|her|its|their))\b"
)


@rules.register("average")
class Averages(Rule):
    """An average must fit the numbers that it is the average of."""

    title = "average"
    help = "An average does not fit the numbers that it is said to be the average of."
    needs = (VALUES[3],)
    least_of_paragraph = 3

    def wants(self, tally: Tally, text: str) -> bool:
        """Three values and a word for their average, or a period or thing for each."""
        return tally.values > 2 and (
            "verag" in text or "mean" in text or "Mean" in text or " per " in text or " a " in text or " each " in text
        )

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares means with the numbers of other sentences."""
        return paragraph_means(paragraph)

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for lists with their mean, and for wholes that are shared out."""
        skeleton = sentence.skeleton
        yield from stated_rates(sentence)
        if "averag" not in skeleton and "mean" not in skeleton:
            return
        for pattern in (_MEAN_BEHIND, _MEAN_BEFORE, _MEAN_OF):
            for match in pattern.finditer(skeleton):
                yield from _mean(sentence, match)
        for match in _EACH.finditer(skeleton):
            yield from _shared_out([sentence.get(match, name) for name in "xyz"], match["one"] + match["other"])
        yield from stated_mean(sentence)
        values = [each for each in sentence.quantities if each.group in ("plain", "money")]
        if (
            len(values) == len(sentence.quantities) == 3
            and not _AVERAGE.search(values[0].before.lower())
            and " to " not in skeleton
            and _PER.match(skeleton)
        ):
            yield from _shared_out(values, skeleton)


def _mean(sentence: Sentence, match: re.Match[str]) -> Iterator[Finding]:
    parts, z = sentence.within(match["list"]), sentence.get(match, "z")
    if match.groupdict().get("n") and sentence.get(match, "n").value != len(parts):
        return
    # `4.1, 4.3 and 4.5 V`: a unit at the end holds for all.
    if len({part.unit for part in parts} - {None}) > 1 or len({part.group == "percent" for part in [*parts, z]}) > 1:
        return
    is_theirs = _THEIR_MEAN.fullmatch(match["gap"]) is not None
    if (
        (_NOT_THESE.search(match["gap"]) and not is_theirs)
        or match["gap"].rstrip().endswith((" age of", " age", " class average of"))
        or parts[0].before.rstrip().endswith(("between", "from"))
        or z.hedge in ("over", "under")
        or (z.unit and parts[-1].unit is not None and not parts[-1].comparable(z))
    ):
        return
    if len(parts) < 2 or any(part.value <= 0 for part in parts) or (parts[0].unit and not parts[-1].unit):
        return
    low, high = min(part.value for part in parts), max(part.value for part in parts)
    mean = sum(part.value for part in parts) / len(parts)
    slack = (
        max(part.half for part in parts if part.half != 0.5 or part.unit)
        if any(part.half != 0.5 or part.unit for part in parts)
        else 0.0
    )
    slack = slack / math.sqrt(len(parts)) + z.half
    if (
        abs(z.value - mean) <= slack
        or not low / 2 <= z.value <= high * 2
        or (len(parts) < 3 and not is_theirs and not low <= z.value <= high)
    ):
        return
    if abs(z.value - statistics.median(part.value for part in parts)) <= z.half:
        return
    message = f"The average of {', '.join(part.text for part in parts)} is {plain(mean)}, not {z.text}."
    yield finding_at("average", z, message, meant=mean, others=parts, probability=0.9)


_AVERAGE = regex(r"averag")
_PER = regex(r".*[\ue000-\ue009][\ue100-\uf8ff](?: [a-z]+){0,2}? (?:each|apiece|per [a-z]+)\b[^\ue000-\uf8ff]*$")


def _shared_out(values: list[Quantity], words: str) -> Iterator[Finding]:
    """The last value must be the quotient of the two others."""
    x, y, z = values
    if (
        min(x.value, y.value, z.value) <= 0
        or any(each.hedge == "over" for each in (x, y, z))
        or _NOT_THESE.search(words.replace(" per ", " "))
    ):
        return
    quotients = [x.value / y.value, y.value / x.value]
    real = max(quotients)
    # The average has its own place for rounding.
    if any(abs(each - z.value) <= z.half + 0.01 * each for each in quotients) or not 0.4 < z.value / real < 2.5:
        return
    message = f"{plain(max(x.value, y.value))} / {plain(min(x.value, y.value))} = {plain(real)}, not {z.text}."
    yield finding_at("average", z, message, meant=real, others=[x, y], probability=0.9)


@rules.register("count")
class ListCounts(Rule):
    """A list must have as many items as the number before it says."""

    title = "count"
    help = "A list has more or fewer items than the number before it says."
    needs = (VALUES[1],)

    def __init__(self) -> None:
        self._tables: dict[str, list[CountedRows]] = {}

    def wants(self, tally: Tally, text: str) -> bool:
        """A count and a list."""
        return (
            tally.small
            and tally.values > 0
            and (
                ": " in text
                or " : " in text
                or (tally.times > 1 and "(" in text)
                or ("," in text and (" are " in text or " were " in text))
                or (tally.values < 3 and ", " in text and " and " in text)
            )
        )

    def sentence(self, sentence: Sentence) -> Iterable[Finding]:
        """Looks for lists behind a colon, and for years in brackets."""
        text = sentence.text
        if not any(map(text.__contains__, (": ", " : ", "(", " are ", " were ", ", "))):
            return
        if not any(each.kind not in _NO_COUNTS and 2 <= each.value <= 12 for each in sentence.numerals):
            return
        may_have_years = sentence.tally.times > 1 and len(sentence.numerals) > 2
        if not may_have_years and not _may_have_items(sentence):
            return
        for match in _YEARS.finditer(sentence.skeleton) if may_have_years and len(sentence.quantities) > 2 else ():
            years = len(sentence.within(match["years"]))
            yield from _counted(sentence, match, {years})
        is_named = False
        found = [*_COLON.finditer(sentence.skeleton)] if ":" in text or " are " in text or " were " in text else []
        if not found and " and " in text:
            found, is_named = [*_NAMED.finditer(sentence.skeleton)], True
        for match in found:
            head = _head(match) if is_named else ""
            items = [each.strip() for each in re.split(r", (?:and |& )?|,", match["items"].strip())]
            last = items[-1].split(" and ")
            if len(items) > 1 and not re.search(r" (?:and|&) [^,]*$", match["items"]):
                continue  # something else stands behind the last comma
            if ("(" in head and match["how"] != ")") or "!" in match["items"] or "?" in match["items"]:
                continue
            if is_named and _PART_OF.search(sentence.skeleton[: match.start("n")]):
                continue  # `four of its six tracks (...)`
            is_list = match["how"] == ":" or (is_named and re.search(r"namely |[(:–—] ?$", head))
            if not is_list and (len(items) < 2 or not _are_names(text, items[:-1] + last)):
                continue
            if (len(items) == 1 and len(last) < 2) or any(
                not each or len(each.split()) > 4 for each in items[:-1] + last
            ):
                continue
            if (
                _LOOSE.search(match["items"])
                or _LOOSE_LEAD.search(match["noun"] + match["gap"])
                or match["items"].count(" and ") > 1
            ):
                continue
            # `Trinidad and Tobago` may be one item.
            counts = {len(items) - 1 + len(last)}
            if len(items) > 1 and _OXFORD.search(match["items"]):
                counts.add(len(items))
            yield from _counted(sentence, match, counts)

    def table(self, document: Document, table: NumberTable) -> Iterable[Finding]:
        """Remembers what a table lists; the text of a file follows its tables."""
        found = rows_of(document, table) if document.source else None
        if found is not None and len(known := self._tables.setdefault(document.source, [])) < MOST_TABLES:
            known.append(found)
        return ()

    def paragraph(self, paragraph: Paragraph) -> Iterable[Finding]:
        """Compares the number before a table with its rows."""
        tables = self._tables.get(paragraph.source) if self._tables else None
        return counted_rows(paragraph, tables) if tables else ()

    def whole(self, document: Document, sentences: Sequence[Sentence]) -> Iterable[Finding]:
        """Looks at bullets and numbered lines behind a colon, and at lists of names."""
        yield from announced_lists(document, sentences)


def _may_have_items(sentence: Sentence) -> bool:
    """Whether the text behind a number may match `_NAMED`, or that behind the last `_COLON`, which is cheap to know."""
    text, offset = sentence.text.lower(), sentence.offset
    if len(text) != len(sentence.text):
        return True  # some letters have a longer lower case
    for numeral in sentence.numerals:
        if numeral.unit is None and _NAMED_BEHIND.match(text, numeral.end - offset):
            return True
    # `one` may be a pronoun
    last = next((each.end for each in reversed(sentence.numerals) if each.value != 1), offset)
    return _COLON_BEHIND.search(text, last - offset) is not None


_NAMED_BEHIND = regex(
    r"(?:\s+of\s+(?:the|its|their|these))?\s+(?:[a-z-]+\s+){0,2}?[a-z-]{3,}s\s*,?\s*(?:[,(:–—]|namely)"
)
_COLON_BEHIND = regex(r"(?::|\sare|\swere)\s[^.;:()]+\.?\s*$")
_NO_COUNTS = ("year", "date", "time", "ordinal", "percent", "money")
_PART_OF = regex(r"\bof (?:(?:its|the|his|her|their|all|these|those) )?$")


def _head(match: re.Match[str]) -> str:
    """What stands between the noun and the items."""
    return match.string[match.end("noun") : match.start("items")]


_OXFORD = regex(r", (?:and|&) ")


def _are_names(text: str, items: list[str]) -> bool:
    """Whether all items begin with a capital letter in the text."""
    lower = text.lower()
    return all(text[at].isupper() for at in (lower.find(item) for item in items) if at >= 0)


_SOME_OF = regex(
    r"\b(?:one|two|three|four|five|six|seven|eight|nine|ten|some|many|most|half|\d+) of (?:(?:the|its"
    r"|his|her|their|our|all|those|these) )*$",
    re.IGNORECASE,
)
"""`three of the five finalists, A, B and C`"""


def _counted(sentence: Sentence, match: re.Match[str], counts: set[int]) -> Iterator[Finding]:
    n = sentence.get(match, "n")
    # Number words are counts; digits may be anything else.
    if n.hedge or n.value not in range(2, 13) or n.value in counts or n.value != int(n.value):
        return
    nouns = match["noun"].split()
    if (n.unit is None and not any(each.endswith("s") for each in nouns)) or (
        n.unit is not None and not n.text.endswith("s")
    ):
        return
    real = min(counts, key=lambda each: abs(each - n.value))
    if abs(real - n.value) > 2 or _SOME_OF.search(sentence.text[: n.start - sentence.offset]):
        return
    if " and a " in match["noun"] + (match.groupdict().get("gap") or ""):
        return  # `two brothers and a sister: ...`
    message = f"The list has {real} items, not {n.text}."
    yield finding_at("count", n, message, meant=float(real), probability=0.9)
