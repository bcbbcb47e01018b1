"""Word tables of the languages in which numbers are read, from `data/number_words/*.json`."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["LANGUAGES", "english_words", "word_table", "words_of"]

LANGUAGES = ("en", "de", "fr", "es", "it", "pt")
"""Languages with a word table: English, German, French, Spanish, Italian and Portuguese."""


@cache
def word_table(language: str) -> dict[str, Any]:
    """The word table of a language: values with their words, and the switches of its grammar.

    Example:
        >>> word_table("de")["numbers"]["12"]
        'zwölf zwoelf'
    """
    return json.loads((resources.files("numerate") / "data" / "number_words" / f"{language}.json").read_text("utf-8"))


def words_of(language: str, *keys: str) -> frozenset[str]:
    """All words under some keys of a table.

    Example:
        >>> sorted(words_of("fr", "point", "minus"))
        ['moins', 'point', 'virgule']
    """
    entries = [word_table(language).get(key, "") for key in keys]
    groups = [group for entry in entries for group in (entry.values() if isinstance(entry, dict) else [entry])]
    return frozenset(word for group in groups for word in group.split())


def english_words() -> frozenset[str]:
    """All words of English numbers."""
    ordinals = words_of("en", "ordinals", "hundredth", "scale_ordinals")
    keys = ("numbers", "zero", "zeroth", "spoken_zero", "hundred", "scales", "counts", "couple", "half", "parts")
    more = ("plural_parts", "articles", "and", "of", "point", "minus", "compound_parts", "compounds")
    return words_of("en", *keys, *more) | ordinals | {f"{word}s" for word in ordinals} | {"threescore", "fourscore"}
