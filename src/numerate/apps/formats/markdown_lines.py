"""Lines of Markdown as a reader sees them: without code, links, tags and emphasis, with entities as characters."""

from __future__ import annotations

import re
from html import unescape

from numerate.apps.formats.html_characters import shifted_text

__all__ = ["plain_cell", "plain_line"]

MAX_MARKED = 10_000
"""Longer lines are read as they stand: the time of the search for markup grows with the square of the line."""
_MARKED = re.compile(r"[`<\[*_~&\\]|://|^\s{0,3}(?:[#>]|[-=]+\s*$)")
_LEAD = re.compile(r"\s{0,3}(?:(?:> ?)*(?P<heading>\s{0,3}#{1,6}(?!\S))|(?:> ?)+|\[\^[^\]\s]+\]:|(?:-+|=+)\s*$)")
"""What begins a line and is no text: marks of headings, quotes and footnotes; lines that part or underline."""
_MARKUP = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>(?<!`)(?P<ticks>`+)(?!`).*?(?<!`)(?P=ticks)(?!`))"
    r"|(?P<hidden>~~[^~]+~~|<!--.*?-->|https?://\S+)"
    r"|(?P<note>\[\^[^\]\s]+\])"
    r"|(?P<link>!?\[(?=[^\[\]]*\]\([^)\s]*(?: +[\"'][^)]*)?\)))"
    r"|(?P<target>\]\([^)\s]*(?: +[\"'][^)]*)?\))"
    r"|<(?P<shift>su[bp])>(?P<shifted>[^<>]*)</(?P=shift)>"
    r"|(?P<tag></?(?P<name>[a-zA-Z][a-zA-Z0-9]*)(?![a-zA-Z0-9])[^<>]*>)"
    r"|(?P<entity>&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-zA-Z][a-zA-Z0-9]{1,31});)"
    r"|(?P<emphasis>(?<![\s*])\*{1,3}(?![\w*])|(?<![\w*])\*{1,3}(?![\s*])|(?<!\w)_{1,3}(?=\w)|(?<=[^\W_])_{1,3}(?!\w))"
)
"""Emphasis stands at the edge of a word: `5*3` and `snake_case` have none."""
_INLINE = frozenset((
    "a", "abbr", "b", "big", "cite", "del", "em", "font", "i", "ins", "mark", "small", "span", "strong", "time", "u",
    "sub", "sup", "wbr",
))  # fmt: skip
"""Tags that do not part words."""


def plain_line(line: str) -> tuple[str, list[tuple[int, int]]]:
    r"""The text of a line, and where its pieces were: offset in the text, column in the line (from 1).

    A heading is set off by line ends, as it belongs to no sentence below it.

    Example:
        >>> plain_line("The lake is **28**&nbsp;km ([27&nbsp;mi](lakes.md)) long.")[0]
        'The lake is 28\xa0km (27\xa0mi) long.'
        >>> plain_line("A cost of \\$5")
        ('A cost of $5', [(0, 1), (11, 13)])
        >>> plain_line("## Lakes of 10<sup>2</sup> km")[0]
        '\n Lakes of 10² km\n'
    """
    if len(line) > MAX_MARKED or not _MARKED.search(line):
        return line, [(0, 1)]
    lead = _LEAD.match(line)
    start = lead.end() if lead else 0
    text, places = _plain(line, start)
    if lead and lead["heading"]:
        return f"\n{text}\n", [(offset + 1, column) for offset, column in places]
    return text, places


def plain_cell(cell: str, *, keep_code: bool = False) -> str:
    """The text of a cell of a table; a lone star at its end points to a footnote.

    Example:
        >>> [plain_cell(cell) for cell in ("**1,200** ", "[Pears](pears.md)", "1,300*", "5<br>m<sup>2</sup>", "`7`")]
        ['1,200', 'Pears', '1,300*', '5 m²', '']
    """
    cell = cell.strip()
    if len(cell) > MAX_MARKED or not _MARKED.search(cell):
        return cell
    if cell.count("*") % 2 and cell.endswith("*"):
        cell = f"{cell[:-1]}\\*"
    return _plain(cell, 0, keep_code=keep_code)[0].strip()


def _plain(line: str, start: int, *, keep_code: bool = False) -> tuple[str, list[tuple[int, int]]]:
    """The text behind `start`, and offsets in it with their columns in the line."""
    parts: list[str] = []
    places = [(0, start + 1)]
    size = links = 0
    for match in _MARKUP.finditer(line, start):
        shown = _shown(match, line, links, keep_code=keep_code)
        if shown is None:
            continue
        links += (match["link"] is not None) - (match["target"] is not None and links > 0)
        parts += (line[start : match.start()], shown)
        size += match.start() - start + len(shown)
        start = match.end()
        places.append((size, start + 1))
    return "".join((*parts, line[start:])), places


def _shown(match: re.Match[str], line: str, links: int, *, keep_code: bool) -> str | None:
    """What a reader sees of a piece of markup; None if it stays as it is."""
    kind = match.lastgroup
    if kind == "escape":
        return match[0][1]
    if kind == "entity":
        return unescape(match[0])
    if kind == "link":
        # `in 2010[3](#notes)`: without its bracket the note would be a digit of the year.
        return None if line[match.start() - 1 : match.start()].isalnum() else ""
    if kind == "target":
        return "" if links else "]"
    if match["shift"]:
        return shifted_text(unescape(match["shifted"]), match["shift"])
    if match["tag"]:
        return "" if (match["name"] or "").lower() in _INLINE else " "
    if match["code"]:
        return match[0].strip("`").strip() if keep_code else " "
    return " " if kind == "hidden" else ""
