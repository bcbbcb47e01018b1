"""Extracts sentences with a number and its unit from a MediaWiki dump, by its unit conversion templates.

`{{convert|5|km|mi}}` marks 5 as a number and kilometres as its unit, as in Wiki-Convert (Thawani et al. 2021). A dump
is streamed page by page, and cleaning a page takes time linear in its length.
"""

from __future__ import annotations

import bz2
import gzip
import html
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

from numerate.training.sources import SourceError
from numerate_lab.tasks.wikipedia.wiki_template import NAMES, RANGE, Conversion, conversion_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numerate_lab.tasks.wikipedia.wiki_template import Wording

__all__ = ["Page", "pages_of_dump", "plain_text", "sentences_of_page"]

_DROPPED = ("ref", "math", "gallery", "timeline", "syntaxhighlight", "source", "score", "table", "pre", "poem")
_BRACKETS = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}(?!\})")
_TAG = re.compile(r"<[^<>]{0,300}>")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:\w|[Cc]a|St|Dr|Mr|Mrs|Ms|Mt|No|vs|Jr|approx|cf|e\.g|i\.e)\.$")
_END = re.compile(
    r"[.!?]['\"”’)]?\s+(?=[\"“‘«„'(\[¿¡]?[^\W\d_a-zа-я])"
    # No space follows these marks; before a closing quote, the outer sentence continues.
    r"|[。！？｡।։።۔؟]++(?![」』）】》”’\"')])\s*+"
)
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Delimiters of a conversion's index in a text: private-use characters, which are first removed from the page."""
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


class Page(NamedTuple):
    """An article and the language code of its dump, such as `en`; empty if the dump names none."""

    id: str
    title: str
    text: str
    language: str


def pages_of_dump(path: str | Path) -> Iterator[Page]:
    """Streams the articles of a MediaWiki XML dump (`.bz2`, `.gz` or plain), without redirects and other namespaces.

    Raises:
        SourceError: The dump cannot be read, or is not XML.
    """
    try:
        openers: dict[str, Any] = {".bz2": bz2.open, ".gz": gzip.open}
        with openers.get(Path(path).suffix, open)(path, "rb") as file:
            # Python's expat limits entity expansion; a dump declares no entities.
            events = ElementTree.iterparse(file, events=("start", "end"))  # noqa: S314
            _, root = next(events)
            language = root.get(_LANGUAGE, "")
            for event, element in events:
                if event != "end" or _local(element.tag) != "page":
                    continue
                fields = {_local(child.tag): (child.text or "").strip() for child in element}
                text = next((e.text for e in element.iter() if _local(e.tag) == "text"), None)
                if "redirect" not in fields and fields.get("ns", "0") == "0" and text:
                    yield Page(fields.get("id", ""), fields.get("title", ""), text, language)
                root.clear()
    except ElementTree.ParseError as error:
        raise SourceError(f"{path}: not an XML dump: {error}") from None
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except (OSError, EOFError) as error:
        raise SourceError(f"{path}: cannot be read: {error}") from None


def sentences_of_page(
    page: str, text: str, conversions: Sequence[Conversion], single: bool = True
) -> Iterator[tuple[list[dict[str, Any]], str]]:
    """Yields each sentence with a conversion, as rows of Wiki-Convert's layout or as a reason for leaving it out.

    `text` and `conversions` are those of `plain_text`; row ids start with the id of the `page`. With `single`, only
    sentences with one conversion and no other digit are kept, as in Wiki-Convert.

    Example:
        >>> page = plain_text("'''Foo''' is a [[river]]. It is {{convert|1200|km}} long.<ref>{{cite}}</ref> It ends.")
        >>> [rows for rows, _ in sentences_of_page("12", *page)]
        [[{'id': '12-0', 'comment': 'It is 1,200 kilometres long.', 'offset': 6, 'length': 5, 'number': '1200', \
'unit': 'kilometres'}]]
        >>> page = plain_text("It is {{convert|5|to|10|km}} long. In 2001 it had {{convert|1|km}}.")
        >>> [why for _, why in sentences_of_page("1", *page)]
        ['not one plain number, such as a range or a fraction', 'other numbers; see --every']
    """
    count = 0
    for line in text.split("\n"):
        if _OPEN not in line:
            continue
        for sentence in _sentences(line):
            found = [conversions[int(match[1])] for match in _MARK.finditer(sentence)]
            if not found:
                continue
            if why := _why_not(sentence, found, single):
                yield [], why
                continue
            comment, places = _written(sentence, conversions)
            rows: list[dict[str, Any]] = []
            for (offset, length), conversion in zip(places, found, strict=True):
                row = {"id": f"{page}-{count}", "comment": comment, "offset": offset, "length": length}
                rows.append(row | {"number": conversion.number, "unit": conversion.unit})
                count += 1
            yield rows, ""


def _why_not(sentence: str, found: Sequence[Conversion], single: bool) -> str:
    """Reason for leaving a sentence out, or an empty text. Reasons that no option can change come first."""
    if why := next((conversion.why for conversion in found if conversion.written is None), ""):
        return why
    if single and len(found) > 1:
        return "several conversions; see --every"
    others = "".join([_MARK.sub("", sentence), *(conversion.behind for conversion in found)])
    return "other numbers; see --every" if single and any(char.isdigit() for char in others) else ""


def plain_text(
    wikitext: str, names: Sequence[str] = NAMES, wording: Wording | None = None
) -> tuple[str, list[Conversion]]:
    """The text of an article without markup, one paragraph per line, and its conversions, which are marks in the text.

    Templates, tables, references, files and lists are removed; links are replaced by their words.
    """
    text = wikitext.replace(_OPEN, " ").replace(_CLOSE, " ")
    text = _without(text, "<!--", "-->")
    for name in _DROPPED:
        text = _without_tag(text, name)
    conversions: list[Conversion] = []
    text = _unbracketed(text, {name.casefold() for name in names}, conversions, wording)
    text = re.sub(r"'{2,5}", "", html.unescape(_TAG.sub("", text)))
    text = re.sub(r"\[(?:https?:)?//[^\s\]]{1,2000}+[ \t]*+([^\]\n]{0,500})\]", r"\1", text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line and line[0] not in "*#:;|!={"), conversions


def _unbracketed(text: str, names: set[str], conversions: list[Conversion], wording: Wording | None) -> str:
    """Resolves templates, tables and links from the inside out, in one pass."""
    stack: list[tuple[str, list[str]]] = [("", [])]
    position = 0
    for match in _BRACKETS.finditer(text):
        stack[-1][1].append(text[position : match.start()])
        position, mark = match.end(), match[0]
        if mark in ("{{", "[[", "{|"):
            stack.append((mark, []))
            continue
        opening = {"}}": "{{", "]]": "[[", "|}": "{|"}[mark]
        if stack[-1][0] != opening:  # no matching opening bracket
            continue
        inside = "".join(stack.pop()[1])
        if mark == "]]":
            stack[-1][1].append(_link(inside))
        elif mark == "}}":
            parts = inside.split("|")
            if parts[0].strip().casefold() in names:
                stack[-1][1].append(f"{_OPEN}{len(conversions)}{_CLOSE}")
                # A nested conversion has no number of its own.
                nested = _OPEN in inside
                conversions.append(Conversion(None, why=RANGE) if nested else conversion_of(parts, wording))
    stack[-1][1].append(text[position:])
    # Unclosed brackets are dropped, their content is text.
    return "".join(part for _, parts in stack for part in parts)


def _link(inside: str) -> str:
    """The words of `[[target|words]]`; empty for files, categories and other namespaces."""
    target, mark, words = inside.rpartition("|")
    if ":" in (target or inside).lstrip(":").split("|")[0]:
        return ""
    return words if mark else inside


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        part = line[start : match.end()].rstrip()
        if not _ABBREVIATION.search(part[-12:]):
            yield part
            start = match.end()
    yield line[start:].strip()


def _written(sentence: str, conversions: Sequence[Conversion]) -> tuple[str, list[tuple[int, int]]]:
    """A sentence with its conversions written out, and offset and length of their numbers."""
    places: list[tuple[int, int]] = []
    shift = 0

    def text(match: re.Match[str]) -> str:
        nonlocal shift
        conversion = conversions[int(match[1])]
        places.append((match.start() + shift, len(conversion.written or "")))
        shift += len(conversion.text) - len(match[0])
        return conversion.text

    return _MARK.sub(text, sentence), places


def _without(text: str, opening: str, closing: str) -> str:
    """Removes everything between two marks; unclosed parts remain."""
    parts, position = [], 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        parts.append(text[position:start])
        position = end + len(closing)
    return "".join([*parts, text[position:]])


def _without_tag(text: str, name: str) -> str:
    """Removes elements of one name, `<ref/>` and `<ref>...</ref>`; of an unclosed element only the tag is removed."""
    parts, position, closing = [], 0, f"</{name}>"
    last = text.rfind(closing)
    for match in re.finditer(rf"<{name}(?:\s[^<>]{{0,500}})?>", text):
        if match.start() < position:
            continue
        parts.append(text[position : match.start()])
        position = match.end()
        if not match[0].endswith("/>") and last >= position:
            position = text.find(closing, position) + len(closing)
    return "".join([*parts, text[position:]])


def _local(tag: Any) -> str:
    return str(tag).rpartition("}")[2]
