"""Python 3.11.0 to 3.11.4 restore no position when a possessive group fails halfway (python/cpython#106052).

`(?:ab?c)++` matches all of "aca" there. An atomic group restores it, so possessive groups are written `(?>ab?c)++`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numerate

SOURCES = Path(numerate.__file__).parent
OTHER_ENGINES = {"word_tokenizer.py"}
"""Files whose patterns are for the engine of `tokenizers`."""


def strings(source: str) -> list[str]:
    """The string constants of a source, f-strings with `x` for each value."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.append(node.value)
        elif isinstance(node, ast.JoinedStr):
            found.append("".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values))
    return found


def possessive_groups(pattern: str) -> list[str]:
    """The groups of a pattern, from bracket to bracket, that have a possessive quantifier and are not atomic."""
    opened, found = [], []
    for match in re.finditer(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|(\()|(\))(\+\+|\*\+|\?\+|\{[\d,]+\}\+)?", pattern, re.S):
        if match[1]:
            opened.append(match.start())
        elif match[2] and opened:
            start = opened.pop()
            if match[3] and not pattern.startswith("(?>", start):
                found.append(pattern[start : match.end()])
    return found


def test_the_search_finds_possessive_groups() -> None:
    assert possessive_groups(r"a(?:b[)(]c)++(?>d)*+(\)e){2,}+\(f\)++") == ["(?:b[)(]c)++", r"(\)e){2,}+"]


def test_possessive_groups_are_atomic() -> None:
    found = []
    for path in SOURCES.rglob("*.py"):
        if path.name not in OTHER_ENGINES:
            texts = strings(path.read_text(encoding="utf-8"))
            found += [(path.name, group) for text in texts for group in possessive_groups(text)]
    assert found == []
