"""The words of a language as the number grammar sees them: `Lexeme`, and `Lexicon` that looks words up.

Words are bytes in Latin-1 and in lower case, as `numerate.reading.word_stream` cuts them out of a text. All six
languages are written in Latin-1, and one byte for each character keeps the offsets of the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from numerate.numerals.word_tables import word_table

__all__ = ["END", "Lexeme", "Lexicon", "lexicon"]

_LONGEST_WORD = 120
"""Longer words are not cut into parts; the longest German number below 10^15 has 86 letters."""
_CONTEXT_ROLES = frozenset(["and", "of", "between", "article", "minus", "point", "spoken zero"])
"""Words that are part of a number only beside another number word."""


@dataclass(frozen=True, slots=True)
class Lexeme:
    """One number word, or one part of a compound such as German "ein-und-zwanzig".

    Attributes:
        word: The word in lower case.
        role: `number`, `zero`, `hundred`, `scale`, `count` (dozen), `part`, ...; empty between two runs of words.
        value: The value of a number or count, or the power of ten of a scale word.
        ordinal: Whether it is an ordinal.
        room: Numbers below `room` may follow and are added: 10 after "twenty", 100 after "ciento".
        part: The denominator in "one third", 0 if the word is none.
        parts: The denominator in "two thirds".
        bare: Whether a hundred or scale word needs no number before it: French "mille".
        weak: `never` or `end` for words that are also articles: alone they are no number, or only before a mark.
        alone: Whether an ordinal is never the end of a longer number: French "premier".
        digit: The digit that the word stands for after a decimal point.
        starts: Whether a number may begin with the word.
        half: Whether the word follows "and" for a half: Italian "due e mezzo".
        exact: The value of a word such as German "anderthalb".
    """

    word: str = ""
    role: str = ""
    value: int = 0
    ordinal: bool = False
    room: int = 0
    part: int = 0
    parts: int = 0
    bare: bool = False
    weak: str = ""
    alone: bool = False
    doubtful: bool = False
    digit: str = ""
    starts: bool = False
    half: bool = False
    exact: Fraction = Fraction(0)

    @property
    def multiplies(self) -> bool:
        """Whether the word multiplies the number before it."""
        return self.role in ("hundred", "scale", "count") and not self.ordinal


END = Lexeme()
"""Stands between words that are not adjacent."""


class Lexicon:
    """The word table of one language, ready for the grammar.

    Attributes:
        words: Words, each with its lexemes.
        cores: Words without which a text holds no number word.
        simple: Numbers and ordinals that are complete if no known word stands beside them, each with its lexeme.
        closing: Known words that are never part of the number before them.
        leading: Known words that may be part of the number after them; `ordinal_leading` of the ordinal after them.
        merges: Pairs of words that make one lexeme: French "quatre-vingt".
    """

    def __init__(self, language: str) -> None:
        table = word_table(language)
        self.language = language
        self.words: dict[bytes, tuple[Lexeme, ...]] = {
            word.encode("latin-1"): (lexeme,) for word, lexeme in _lexemes(table).items()
        }
        for word, parts in table.get("compounds", {}).items():
            self.words[word.encode()] = tuple(self.words[part.encode()][0] for part in parts.split())
        self.cores = frozenset(word for word, parts in self.words.items() if parts[0].role not in _CONTEXT_ROLES)
        self.simple = {
            word: parts[0]
            for word, parts in self.words.items()
            if parts[0].role == "number" and len(parts) == 1 and not parts[0].weak
        }
        self.closing = self._with_roles("of", "between", "article", "couple")
        self.leading = self._with_roles("minus", "point", "spoken zero")
        self.ordinal_leading = self.leading | self._with_roles("article")
        self.ordinal_leading |= {word for word, parts in self.words.items() if parts[0].weak}
        self.merges = {
            tuple(pair.split()): replace(
                self.words[pair.split()[1].encode("latin-1")][0],
                value=value,
                digit="",
                part=0,
                parts=0,
                room=table.get("merge_rooms", {}).get(str(value), 0),
            )
            for pair, value in table.get("merges", {}).items()
        }
        self.pronoun = frozenset(table.get("pronoun", "").split())
        self.of_words = frozenset(table["of"].split())
        self.percent = re.compile(rf"[ -](?:{table['percent']})(?!\w)")
        self.glued: bool = table.get("glued", False)
        self.compound: bool = self.glued or table.get("compound", False)
        self.long_scale: bool = table.get("long_scale", False)
        self.ordinal_chain: bool = table.get("ordinal_chain", False)
        self.units_before_tens: bool = table.get("units_before_tens", False)
        self.max_hundreds: int = table.get("max_hundreds", 0)
        self.years: bool = table.get("years", False)
        self.bare_point: bool = table.get("bare_point", False)
        self.and_after = frozenset(table["and_after"].split())
        self.and_values = frozenset(table.get("and_values", range(1000)))
        self.context = {
            name: frozenset(table.get(name, "").split())
            for name in (
                *("before_pronoun", "after_pronoun", "after_the_one", "of_pronoun"),
                *("before_share", "after_share", "of_share"),
            )
        }
        self._longest = max(map(len, self.words))
        # A cache for each lexicon: most words of a text are common ones.
        self.parts_of = lru_cache(maxsize=1 << 16)(self._parts_of) if self.compound else self.words.get

    def _with_roles(self, *roles: str) -> frozenset[bytes]:
        return frozenset(word for word, parts in self.words.items() if parts[0].role in roles)

    def present(self, words: list[bytes]) -> set[bytes] | frozenset[bytes]:
        """The words that make a text worth reading."""
        if not self.compound:
            return self.cores.intersection(words)
        known, lookup = self.words, self.parts_of
        return {word for word in set(words) if (word in self.cores if word in known else lookup(word))}

    def _parts_of(self, word: bytes) -> tuple[Lexeme, ...] | None:
        """The lexemes of a word, or None; compounds are cut from the left, the longest part first."""
        if word in self.words or len(word) > _LONGEST_WORD:
            return self.words.get(word)
        if not any(word[:end] in self.words for end in range(1, min(self._longest, len(word)) + 1)):
            return None
        # From the right: `ends[i]` is where the longest part at offset i ends, if the rest can be cut, too.
        ends: dict[int, int] = {len(word): 0}
        for start in range(len(word) - 1, -1, -1):
            for end in range(min(start + self._longest, len(word)), start, -1):
                if end in ends and word[start:end] in self.words:
                    ends[start] = end
                    break
        if 0 not in ends:
            return None
        parts, at = [], 0
        while at < len(word):
            parts.append(self.words[word[at : ends[at]]][0])
            at = ends[at]
        return tuple(parts)


@cache
def lexicon(language: str) -> Lexicon:
    """The lexicon of a language, built once."""
    return Lexicon(language)


def _lexemes(table: dict[str, Any]) -> dict[str, Lexeme]:
    """All words of a table; a word with several meanings has one lexeme with several fields."""
    words: dict[str, Lexeme] = {}

    def add(key: str, role: str, **fields: Any) -> None:
        for word in table.get(key, "").split():
            words[word] = replace(words.get(word, END), word=word, role=role, **fields)

    def add_all(key: str, role: str, **fields: Any) -> None:
        for value, group in table.get(key, {}).items():
            for word in group.split():
                words[word] = replace(words.get(word, END), word=word, role=role, value=int(value), **fields)

    bare = frozenset(table.get("bare", "").split())
    rooms = table.get("rooms", {})
    add_all("numbers", "number", starts=True)
    add_all("ordinals", "number", ordinal=True, starts=True)
    add_all("ordinals_alone", "number", ordinal=True, alone=True, starts=True)
    for word, lexeme in words.items():
        value = lexeme.value
        room = rooms.get(word, 100 if value >= 100 else 10 if value >= 20 and value % 10 == 0 else 0)
        digit = str(value) if value < 10 and not lexeme.ordinal else ""
        words[word] = replace(lexeme, room=room, digit=digit)
    add("weak_ones", "number", value=1, weak="never", digit="1", starts=True)
    add("end_ones", "number", value=1, weak="end", digit="1", starts=True)
    add("doubtful_ordinals", "number", doubtful=True)
    add("zero", "zero", digit="0", starts=True)
    add("zeroth", "zero", ordinal=True, starts=True)
    add("spoken_zero", "spoken zero", digit="0", starts=True)
    add("hundred", "hundred", value=2)
    add("hundredth", "hundred", value=2, ordinal=True, starts=True)
    add_all("scales", "scale")
    add_all("scale_ordinals", "scale", ordinal=True, starts=True)
    add_all("counts", "count")
    add("couple", "couple", value=2)
    for word in bare:
        words[word] = replace(words[word], bare=True, starts=True)
    _add_parts(table, words)
    add("glued_half", "glued half")
    for value, group in table.get("mixed", {}).items():
        words |= {word: Lexeme(word, "mixed", starts=True, exact=Fraction(value)) for word in group.split()}
    for role in ("and", "of", "between", "point"):
        add(role, role, starts=role == "point")
    add("articles", "article", value=1, starts=True)
    add("minus", "minus", starts=True)
    return words


def _add_parts(table: dict[str, Any], words: dict[str, Lexeme]) -> None:
    """Adds the denominators: words of their own (quarter) and, in some languages, the ordinals (fifth, fifths)."""

    def add(word: str, role: str, **fields: Any) -> None:
        lexeme = words.get(word, END)
        words[word] = replace(lexeme, word=word, role=lexeme.role or role, **fields)

    if "ordinals_are_parts" in table:
        plural = table["ordinals_are_parts"] or None
        for word, lexeme in list(words.items()):
            value = {"number": lexeme.value, "hundred": 100, "scale": 10**lexeme.value}.get(lexeme.role, 0)
            if lexeme.ordinal and value > 2 and not lexeme.alone:
                if plural is None and word.endswith("s"):  # the plurals are in the table
                    words[word] = replace(lexeme, parts=value)
                else:
                    words[word] = replace(lexeme, part=value)
                    if plural:
                        add(word + plural, "part", parts=value)
    for value, group in table.get("parts", {}).items():
        for word in group.split():
            add(word, "part", part=int(value), **({"parts": int(value)} if table.get("parts_have_no_plural") else {}))
    for value, group in table.get("plural_parts", {}).items():
        for word in group.split():
            add(word, "part", parts=int(value))
    for value, group in table.get("compound_parts", {}).items():
        for word in group.split():
            add(word, "compound part", value=int(value))
    for word in table.get("half", "").split():
        words[word] = replace(words.get(word, END), word=word, role="half", starts=True)
    for word in table.get("and_half", "").split():
        words[word] = replace(words[word], half=True)
