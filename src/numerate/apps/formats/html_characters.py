"""Characters of HTML pages: where entities stand in the source, and raised and lowered digits."""

from __future__ import annotations

import re
from html import unescape

__all__ = ["SHIFTED", "placed_pieces", "shifted_text"]

SHIFTED = frozenset(("sup", "sub"))
"""Elements whose digits belong to no number beside them."""
_ENTITY = re.compile(r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[^\t\n\f <&#;]{1,32};?)")
_SIGNED = re.compile(r"\s*([-+−–])(?=[0-9]+\s*$)")
_DIGITS = {
    "sup": str.maketrans("0123456789-+−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺⁻⁻"),
    "sub": str.maketrans("0123456789-+−–", "₀₁₂₃₄₅₆₇₈₉₋₊₋₋"),
}
_UNSIGNED = {tag: {key: value for key, value in table.items() if chr(key).isdigit()} for tag, table in _DIGITS.items()}


def shifted_text(text: str, tag: str) -> str:
    """A text inside of <sup> or <sub> with the digits of Unicode that are raised or lowered, character by character.

    Else `10<sup>8</sup>` would be read as 108, and a footnote would add its digit to the number before it.

    Example:
        >>> shifted_text("-3", "sup"), shifted_text("10", "sub"), shifted_text("nd", "sup"), shifted_text("2-4", "sup")
        ('⁻³', '₁₀', 'nd', '²-⁴')
    """
    return text.translate((_DIGITS if _SIGNED.match(text) else _UNSIGNED)[tag])


def placed_pieces(raw: str, text: str, place: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
    r"""The pieces of a text that begin where its source says: an entity is one character, and more in the source.

    Args:
        raw: The source, which may go on behind the text.
        text: What is shown of it, without entities.
        place: Line (from 1) and column (from 0) of the source.

    Returns:
        The length of each piece, and the line and column where it begins.

    Example:
        >>> placed_pieces("28&nbsp;km (17&nbsp;mi)", "28\xa0km (17\xa0mi)", (7, 3))
        [(3, (7, 3)), (7, (7, 11)), (3, (7, 23))]
    """
    if "&" not in raw:
        return [(len(text), place)]
    pieces: list[tuple[int, tuple[int, int]]] = []
    line, column = place
    size = start = 0
    plain = ""
    for match in _ENTITY.finditer(raw):
        part = raw[start : match.end()]
        plain += unescape(part)
        pieces.append((len(plain) - size, (line, column)))
        ended = part.count("\n")
        line, column = line + ended, len(part) - part.rfind("\n") - 1 + (0 if ended else column)
        size, start = len(plain), match.end()
        if size >= len(text):
            break
    plain += unescape(raw[start:])
    if size < len(text):
        pieces.append((len(text) - size, (line, column)))
    return pieces if size <= len(text) and plain.startswith(text) else [(len(text), place)]
