"""Hidden elements of HTML pages: where one ends whose end tag is left out, as HTML allows for many."""

from __future__ import annotations

__all__ = ["VOID", "HiddenElements"]

VOID = frozenset((
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr",
))  # fmt: skip
"""Elements without content."""
_OF_HEAD = frozenset((
    "base", "basefont", "bgsound", "link", "meta", "noframes", "noscript", "script", "style", "template", "title",
))  # fmt: skip
_AFTER_P = frozenset((
    "address", "article", "aside", "blockquote", "details", "div", "dl", "fieldset", "figcaption", "figure", "footer",
    "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "main", "menu", "nav", "ol", "p", "pre", "section",
    "table", "ul",
))  # fmt: skip
_PARTS = frozenset(("thead", "tbody", "tfoot"))
_ENDED_BY = {
    "p": _AFTER_P, "li": frozenset(("li",)), "dt": frozenset(("dt", "dd")), "dd": frozenset(("dt", "dd")),
    "option": frozenset(("option", "optgroup")), "td": frozenset(("td", "th", "tr")) | _PARTS,
    "th": frozenset(("td", "th", "tr")) | _PARTS, "tr": frozenset(("tr",)) | _PARTS,
    **dict.fromkeys(_PARTS, _PARTS),
}  # fmt: skip
"""Elements whose end tag may be left out, and the start tags that end them."""
_PARENTS = _PARTS | frozenset((
    "ul", "ol", "dl", "select", "table", "body", "html", "div", "section", "article", "main",
))  # fmt: skip
"""Elements whose end ends those of `_ENDED_BY` inside of them; a start tag behind one of these ends none outside."""


class HiddenElements:
    """The hidden element that a parser is in, with the elements that are open inside of it.

    Example:
        >>> hidden = HiddenElements()
        >>> hidden.open("head")
        >>> hidden.holds_start("title"), hidden.holds_end("title"), hidden.holds_start("body"), hidden.is_inside
        (True, True, False, False)
        >>> hidden.open("li")
        >>> hidden.holds_start("b"), hidden.holds_start("li"), hidden.is_inside
        (True, False, False)
    """

    def __init__(self) -> None:
        self._open: list[str] = []

    @property
    def is_inside(self) -> bool:
        """Whether nothing is shown."""
        return bool(self._open)

    def open(self, tag: str) -> None:
        """Begins a hidden element."""
        self._open = [tag]

    def holds_start(self, tag: str) -> bool:
        """Takes a start tag; returns whether its element is hidden, too. If not, the hidden element has ended."""
        if self._open == ["head"] and tag not in _OF_HEAD:
            self._open = []
            return False
        for place in range(len(self._open) - 1, -1, -1):
            if tag in _ENDED_BY.get(self._open[place], ()):
                del self._open[place:]
                break
            if self._open[place] in _PARENTS:
                break
        if self._open and tag not in VOID:
            self._open.append(tag)
        return bool(self._open)

    def holds_end(self, tag: str) -> bool:
        """Takes an end tag; returns whether it is of a hidden element. If not, the hidden element has ended, too."""
        if tag in self._open:
            del self._open[len(self._open) - 1 - self._open[::-1].index(tag) :]
            return True
        is_parent = tag in _PARENTS or tag == "tr"
        if is_parent and (self._open[0] in _ENDED_BY or self._open[0] == "head"):
            self._open = []
            return False
        return True
