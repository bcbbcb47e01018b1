"""Counts before a list of another length: bullets, numbered lines, lists of names, `A, B and C are the four ...`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from numerate.apps.consistency.counts.enumerations import enumerations, listed_members
from numerate.apps.consistency.counts.listed_codes import listed_codes, numbered_points
from numerate.apps.consistency.counts.measured_lists import measured_lists
from numerate.apps.consistency.sentences.patterns import regex
from numerate.apps.consistency.sentences.traits import stems
from numerate.apps.findings import Finding

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numerate.apps.consistency.sentences.sentences import Sentence
    from numerate.apps.documents import Document

__all__ = ["announced_lists"]

MOST_LINES = 1_000
"""Lines behind a line with a count in which the items of its list are counted."""
_WORDS = {
    word: index
    for index, word in enumerate(
        "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen".split(),  # noqa: SIM905
        2,
    )
}
_N = rf"(?P<n>{'|'.join(sorted(_WORDS, key=len, reverse=True))}|1[0-9]|[2-9])"
_ITEM = regex(r"^(?P<indent>[ \t]*)(?P<mark>[-*•–+◦▪]|\(?(?:\d{1,2}|[a-h])[.)]|\[[ x]\])[ \t]+(?P<body>\S.*)$")
_LEAD = regex(
    rf"\b{_N}(?: (?!hours?\b|minutes?\b|days?\b|weeks?\b|months?\b|years?\b|per\b|euros?\b"
    r"|dollars?\b)[a-z][\w'’-]*){0,3}? (?P<noun>(?!hours\b|minutes\b|days\b|weeks\b|months\b|years\b"
    r"|euros\b|dollars\b)[a-z][\w'’-]*s|people|men|women|children"
    r"|criteria)\b(?P<gap>[^:.!?\n]{0,80}):$",
    re.IGNORECASE,
)
_BARE_LEAD = regex(rf"\b(?:there|they|these|which) (?:are|were) {_N}(?P<noun>)(?P<gap>):$", re.IGNORECASE)
"""`Steps before you ring the helpline. There are three:`"""
_LOOSE = regex(
    r"\b(?:includ\w*|such as|among|e\.g|for example|of the|of these|of our|of them|at least|up to|or more|one of|any"
    r"|some|choose|pick|select|between|either|over|more than|per|each|every|about|around|first|last|next|top|minimum"
    r"|maximum|another|other|main|per cent|%|hours|minutes|days|from|was|ago)\b",
    re.IGNORECASE,
)
_LOOSE_LEAD = regex(
    r"\b(?:(?:one|two|three|four|five|six|seven|some|many|most|all but \w+|any|each|\d+) (?:out )?of (?:the |its |his "
    r"|her |their |our )?|at least |up to |more than |over |about |around |first |last |top |between |than |another "
    r"|other |part |chapter |page |grade |no\. |number |aged? )$",
    re.IGNORECASE,
)
_OPEN = regex(
    r"\b(?:includ\w*|such as|among|e\.g|for example|etc|others|or|respectively|as well as|both|notably|especially|plus"
    r"|with (?:its|their|his|her|the))\b",
    re.IGNORECASE,
)
_ANOTHER = regex(r"\bfollowing\b|\b(?:one|two|three|four|five|six|seven|\d+) of\b|(?<!\bthi)(?<!\bwa)(?<!\bha)(?<!s)s$")
"""Between the noun and the list: the list is one of something else."""
_COLON = regex(
    r"\b(?P<art>(?:the|these|those|its|his|her|their|our|my|all|only|just|of|for|from|with|to|named"
    rf"|are|were|and|by|on|in|has|had|have|at|took|a|following) )?(?i:{_N}) (?P<adj>(?:[a-z][\w'’-]* "
    r"){0,3}?)(?P<noun>[a-z][\w'’-]*s|people|men|women|children)\b"
    r"(?P<gap>[^:;.!?()\n]{0,90}?)(?P<mark>: | (?:are|were) (?=[A-Z])|, (?=[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*,? \(?\d)"
    r"|, (?:namely|that is|i\.e\.),? | \((?=[A-Z])| – | — )(?P<items>(?:[^:;()\n]"
    r"|\((?:aged )?\d{1,3}\)){6,400}?)(?P<end>\)|[.;!?](?=\s|$)|$| – | — |,(?= (?!and\b"
    r"|aged\b|the [A-Z])[a-z]))",
)
_COUNT_CUES = stems("_ ".join(_WORDS) + "_")
_SO_MANY_CUES = stems("are_ were_ make_ made_ form_ formed_ complete_ completed_ round_ will_ became_")
"""The verbs of `_SO_MANY`."""
_COUNTED = regex(r"[1-9](?<![0-9].)[0-9]?,? [A-Za-z-]")
"""Counts in words and in digits: all patterns for a sentence have one."""
_MARK = regex(r": | (?:are|were) [A-Z]|, [A-Z]|, (?:namely|that is|i\.e\.)| \([A-Z]| [–—] ")
"""What a match of `_COLON` has in it, which is faster to look for."""
_AGE = regex(r", (?:aged )?\d{1,3}(?=,|;| and\b|$)|,? \((?:aged )?\d{1,3}\)")
_SPLIT = regex(r", and |, & |; and |, |; | and | & ")
_SO_MANY = (
    r" (?:are|were|make up|made up|form|formed|complete|completed|round out|will be"
    rf"|became) (?P<all>the|all|its|their|our|her|his) {_N} "
)
_ARE_SO_MANY = regex(_SO_MANY)
"""What a match of `_ARE_ALL` has, which is faster to look for."""
_ARE_ALL = regex(
    r"(?:^|[.!?] )(?P<items>[A-Z][\w’'.-]*(?: [A-Z][\w’'.-]*){0,2}(?:, [A-Z][\w’'.-]*(?: "
    r"[A-Z][\w’'.-]*){0,2})+,? and [A-Z][\w’'.-]*(?: [A-Z][\w’'.-]*){0,2})"
    rf"{_SO_MANY}(?P<noun>(?:[a-z]+ ){{0,2}}[a-z]+s|men|women|people)\b"
)
_BOTH = regex(
    r"\b[Bb]oth (?P<items>[A-Z][\w’'.-]*(?: [A-Z][\w’'.-]*)?, [A-Z][\w’'.-]*(?: [A-Z][\w’'.-]*)?,? "
    r"and [A-Z][\w’'.-]*(?: [A-Z][\w’'.-]*)?) (?:are|were|have|had|said|voted|won|finished|played)\b"
)
_TO_EACH = regex(r"\b(?:each|every) (?:of )?(?:you|us|one|participant|student|child|person|team|member|guest)\b", re.I)
"""Who has to do with all items of a list."""


def announced_lists(document: Document, sentences: Sequence[Sentence]) -> Iterator[Finding]:
    """Findings of the lines and sentences of a text."""
    text = document.text
    if _COLON_LINE.search(text) or (_ITEM_LINE.search(text) and _BEFORE_ITEM.search(text)):
        yield from _lines(text)
    yield from _told(enumerations(text, sentences), 0)
    if "(2)" in text or "(b)" in text or "(ii)" in text:
        yield from _told(numbered_points(text), 0)
    for sentence in sentences:
        for numeral in sentence.numerals:
            if 1 < numeral.value < 20:
                break
        else:
            continue
        start, part = sentence.offset, sentence.text
        has_and = " and " in part
        has_list = "," in part and (has_and or ";" in part or ":" in part)
        if (not has_list and not (has_and and " minute" in part)) or len(part) > 900:
            continue
        is_counted = sentence.words & _COUNT_CUES or _COUNTED.search(part)
        if has_list and (is_counted or "oth " in part):
            yield from _inline(part, start, sentence.words)
        if is_counted and has_and and ("," in part or " minute" in part):
            yield from _told(listed_codes(part), start)
            yield from _told(measured_lists(part), start)
            yield from _told(listed_members(part), start)


def _told(claims: Iterable[tuple[re.Match[str], int]], offset: int) -> Iterator[Finding]:
    for match, real in claims:
        said = _number(match["n"])
        if said != real and abs(said - real) < 4:
            yield _finding(match, offset, said, real)


_COLON_LINE = regex(r":[ ]*\n")
_BEFORE_ITEM = regex(r"[a-z][.)]?[ ]*\n\s*(?:[-*•–+]|\(?1[.)]) ")
"""A line before a list that ends without a colon."""
_ITEM_LINE = regex(r"\n\s*(?:[-*•–+]|\(?1[.)]) ")
"""What a match of `_BEFORE_ITEM` has, which is faster to look for."""
_HEAD = regex(r"[a-z](?:\)|\.)?$")
_INNER = regex(r"\((?P<n>\d{1,2}|[a-z]+)(?P<noun> [a-z]+s)\):\s*$")
_ASIDE = regex(r" \([^)]*\)(?=:$)")
_THAT_DAY = regex(r"\b(?:first|last|next) (?:day|morning|visit|lesson|page|week|meeting|evening)\b")
_FOR_PEOPLE = regex(r"\b(?:for|serves|feeds) (?:\d+|[a-z]+) (?:people|persons|guests|days|nights)\b", re.IGNORECASE)


def _number(word: str) -> int:
    return _WORDS.get(word.lower()) or int(word)


def _lines(text: str) -> Iterator[Finding]:
    """A line that ends with a colon, and the lines of a list behind it."""
    at, lines = 0, []
    for line in text.split("\n"):
        lines.append((at, line))
        at += len(line) + 1
    for index, (start, line) in enumerate(lines):
        stripped = line.rstrip()
        if stripped.endswith("):"):
            stripped = _ASIDE.sub(lambda each: " " * len(each[0]), stripped)
        if stripped.endswith("  :"):
            inner = _INNER.search(line)
            stripped = stripped if inner is None else line[: inner.end("n") + len(inner["noun"])] + ":"
        is_head = (
            not stripped.rstrip().endswith(":")
            and (not index or not lines[index - 1][1].strip())
            and _HEAD.search(line.rstrip()[-2:])
        )
        if is_head:
            stripped = line.rstrip().rstrip(".)") + ":"
        if not stripped.endswith(":") or _ITEM.match(line):
            continue
        real = _items_behind(lines[at][1] for at in range(index + 1, min(index + MOST_LINES, len(lines))))
        if real < 2:
            continue
        last = stripped[stripped.rfind(". ") + 1 :]
        match = _LEAD.search(last) or _BARE_LEAD.search(last)
        if match is None or (is_head and match["gap"]) or _FOR_PEOPLE.search(stripped):
            continue
        if _LOOSE.search(_THAT_DAY.sub("", match["gap"])) or _ANOTHER.search(match["gap"]):
            continue
        shift = start + stripped.rfind(". ") + 1
        lead = match.string[max(0, match.start() - 30) : match.end("noun")]
        if _LOOSE.search(_TO_EACH.sub("", lead[:-1])) and _LOOSE.search(_TO_EACH.sub("", lead)):
            continue
        said = _number(match["n"])
        if real == said or abs(real - said) > 3:
            continue
        others = [_number(each) for each in re.findall(rf"\b({'|'.join(_WORDS)}|1[0-9]|[2-9])\b", stripped.lower())]
        if real in others:
            continue
        yield _finding(match, shift, said, real)


def _items_behind(lines: Iterable[str]) -> int:
    """Items of the list that begins within two lines; those that are further in belong to one of them."""
    count, blank, indent, kind = 0, 0, None, ""
    for line in lines:
        if not line.strip():
            blank += 1
            if blank > 1:
                break
            continue
        match = _ITEM.match(line)
        if match is None and re.match(r" \S", line) and (kind in ("", " ")):
            depth, mark = 1, " "  # an asterisk that the reader of Markdown took away
        elif match is not None:
            depth, mark = (
                len(match["indent"].expandtabs(4)),
                "1" if match["mark"].strip("().").isdigit() else match["mark"][:1],
            )
        elif line.startswith(("  ", "\t")) and count:
            blank = 0
            continue  # the item goes on
        elif count and not blank:
            blank = 0
            continue
        else:
            break
        if indent is None:
            indent, kind = depth, mark
        if depth <= indent and mark == kind:
            count += 1
        elif depth <= indent:
            return 0  # two lists
        blank = 0
    return count


_PLAIN_ITEMS = frozenset(["ingredients", "kinds", "things", "symptoms", "items", "types", "tools", "forms", "courses"])
"""What a list of things in small letters has, quantities among them."""
_AND_MORE = regex(r",? (?:with|plus|as well as|including|besides|together with|alongside)\b")
"""Behind a list that goes on in other words."""
_GOES_ON = regex(r" [a-z ]{2,30},? and ")
"""Behind what looks like the last item: `light and air, water, and good soil`."""
_AND_SO_MANY = regex(r"\b(?:an?|one|two|three|four|five|six|\d+) [a-z]+ and $", re.IGNORECASE)


def _inline(part: str, offset: int, words: int) -> Iterator[Finding]:
    for match in _COLON.finditer(part) if _MARK.search(part) else ():
        if match["mark"].strip() in ("–", "—") and match["end"].strip() not in ("–", "—", "."):
            continue
        items = match["items"]
        had_ages = _AGE.search(items) is not None
        is_plain = match["noun"] in _PLAIN_ITEMS and match["mark"] == ": "
        if match["mark"] != ": " or had_ages:
            items = _AGE.sub("", items)
        lead = part[max(0, match.start() - 25) : match.start("items")]
        if (
            _LOOSE_LEAD.search(part[max(0, match.start() - 25) : match.start("n")])
            or _OPEN.search(lead)
            or _OPEN.search(match["items"])
            or (re.search(r"\d", items) and not is_plain)
            or _AND_SO_MANY.search(part[max(0, match.start("n") - 25) : match.start("n")])
        ):
            continue
        if (
            not had_ages
            and not is_plain
            and "namely" not in match["mark"]
            and "that is" not in match["mark"]
            and not _are_names(items)
        ):
            continue
        if (
            _ANOTHER.search(match["gap"])
            or _AND_MORE.match(part, match.end("items"))
            or (is_plain and match["end"] == "," and _GOES_ON.match(part, match.end()))
            or " and a" in match["gap"]
            or (match["mark"] == " (" and (len(match["gap"]) > 30 or "," in match["gap"]))
        ):
            continue
        if match["n"].isdigit() and re.search(r"[A-Z][a-z]*\.? $", part[: match.start("n")]):
            continue  # `Table 4`
        counted = _count(items)
        said = _number(match["n"])
        if not counted or said in counted:
            continue
        real = min(counted, key=lambda each: abs(each - said))
        if abs(real - said) <= 2:
            yield _finding(match, offset, said, real)
    may_be_all = " and " in part and words & _SO_MANY_CUES and _ARE_SO_MANY.search(part)
    for match in _ARE_ALL.finditer(part) if may_be_all else ():
        counted, said = _count(match["items"]), _number(match["n"])
        if said not in counted and counted and abs(min(counted) - said) <= 2:
            yield _finding(match, offset, said, min(counted))
    for match in _BOTH.finditer(part) if "oth " in part else ():
        span = match.start() + offset, match.start() + 4 + offset
        yield Finding(
            rule="count",
            message="The list behind 'both' has 3 items.",
            written=part[match.start() : match.start() + 4],
            span=span,
            probability=0.87,
        )


def _are_names(items: str) -> bool:
    """Whether each item begins with a capital letter."""
    return all(each.lstrip("\"“‘'").removeprefix("the ")[:1].isupper() for each in _SPLIT.split(items.strip()) if each)


def _count(items: str) -> set[int]:
    """How many items a list may have: `Trinidad and Tobago` may be one."""
    items = items.strip(" ,")
    if not re.search(r" and | & ", items) or ("," not in items and ";" not in items and items.count(" and ") > 1):
        return set()
    if ";" in items:
        found = [each for each in re.split(r"; ?", items) if each]
        return {len(found), len(found) + 1}
    commas = [each for each in re.split(r", ?", items) if each]
    last = commas[-1]
    if not re.search(r"(?:^| )(?:and|&) ", last) or any(
        len(each.split()) > 5 for each in (*commas[:-1], *(last.split(" and ") if _are_names(last) else [last]))
    ):
        return set()
    ands = items.count(" and ") + (" & " in last)  # `Port & Starboard` is one name among others
    if ands > 1:
        return set()  # one of the items has an `and` of its own
    if re.match(r"(?:and|&) ", last):
        return {len(commas)}
    return {len(commas) + 1}


def _finding(match: re.Match[str], offset: int, said: int, real: int) -> Finding:
    span = match.start("n") + offset, match.end("n") + offset
    message = f"The list has {real} items, not {match['n']}."
    evidence = {"value": said, "expected": real}
    return Finding(rule="count", message=message, written=match["n"], span=span, probability=0.88, evidence=evidence)
