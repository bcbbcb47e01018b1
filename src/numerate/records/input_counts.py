"""What was odd about the records that a model was asked about, counted."""

from __future__ import annotations

from collections import Counter

__all__ = ["Counts"]


class Counts:
    """Counters by what was met and by field.

    | what | is |
    |---|---|
    | `missing` | a value that was not there |
    | `infinite` | an infinite number, treated as missing |
    | `outside` | a number outside of what was seen in training; it enters as it is |
    | `strays` | a value of another kind than its field's, which enters as text |
    | `unknown` | a key that was not seen in training, and is left out |

    Example:
        >>> counts = Counts()
        >>> counts.add("outside", "x"); counts.add("outside", "x")
        >>> counts["outside"]
        {'x': 2}
    """

    KINDS = ("missing", "infinite", "outside", "strays", "unknown")

    def __init__(self) -> None:
        self.records = 0
        self._found: dict[str, Counter[str]] = {kind: Counter() for kind in self.KINDS}

    def add(self, what: str, path: str) -> None:
        """Counts one."""
        self._found[what][path] += 1

    def __getitem__(self, what: str) -> dict[str, int]:
        return dict(self._found[what])
