r"""Slots: how numbers stand in the skeleton of a sentence, and patterns of them.

A slot has two characters of the private use area: what kind of quantity it is, and its index. So the pattern of a rule
says `{UNIT} \\(({UNIT})\\)` and needs to know nothing about spellings of numbers.
"""

from __future__ import annotations

__all__ = [
    "AMOUNT", "ANY", "CLASSES", "CLOCK", "COUNT", "DATED", "FIRST", "MONEY", "NO_NUMBER", "ORDINAL", "PERCENT", "PLAIN",
    "TIME", "UNIT", "VALUE", "YEAR", "one", "slot",
]  # fmt: skip

FIRST = 0xE100
"""The second character of the first slot of a sentence."""
CLASSES = {
    name: chr(0xE000 + code)
    for code, name in enumerate(
        ["plain", "unit", "percent", "money", "year", "date", "clock", "ordinal", "ratio", "other"]
    )
}
_INDEX = "."
"""The second character of a slot, from U+E100; nothing else follows a class, and a set takes long to compile."""
PLAIN, UNIT, PERCENT, MONEY, YEAR, DATED, CLOCK, ORDINAL = (
    CLASSES[name] for name in ("plain", "unit", "percent", "money", "year", "date", "clock", "ordinal")
)
COUNT = PLAIN + CLASSES["ratio"] + CLASSES["other"]
"""Numbers without a unit; those that the reader takes for a ratio are among them."""
ANY = "".join(CLASSES.values())
AMOUNT = COUNT + MONEY + UNIT
VALUE = AMOUNT + PERCENT
TIME = YEAR + DATED
NO_NUMBER = r"[^.;\ue000-\uf8ff]"
"""A character within a clause that belongs to no number."""


def slot(name: str, classes: str) -> str:
    """The pattern of a slot of some classes, as a group called `name`."""
    return f"(?P<{name}>[{classes}]{_INDEX})"


def one(classes: str) -> str:
    """The pattern of a slot of some classes, without a group."""
    return f"[{classes}]{_INDEX}"
