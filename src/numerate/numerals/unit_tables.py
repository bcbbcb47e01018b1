"""Tables of unit and currency spellings, loaded from `data/units.json`, and their translation to pint's spellings.

A new unit is one new entry in the JSON file; a test checks that pint knows every normal spelling. Keys of the file:

* `si_prefixes`: SI symbol -> prefixes in use. Combinations that usually mean something else are left out: pm, am, as,
  at, us, dm (D-mark), mb, kb, kt (kilotonne or knot), Mg, MA, MN, PA, and cd with prefixes.
* `no_bare_symbol`: SI symbols read only with a prefix (`mM`, `µF`): the bare letter is a scale suffix or an identifier.
* `symbols`: normal spelling -> other symbols, case-sensitive.
* `words`: normal spelling -> words, read in lower case, in capitals (if longer than 4 letters or in `short_capitals`)
  and, for plurals, with an initial capital (except `no_capital`: Miles Davis, Marks & Spencer). Left out are the
  symbol `pt` (a type size) and `mark`, `won`, `crowns`, `real`, `lira` and `pound` as currencies without a country.
* `phrases`, `country_currencies`: spellings of several words; a space stands for a space or a hyphen.
* `currency_codes`: ISO codes. Codes that are English words in capitals (ALL, TRY, TOP, CUP, PEN) are left out.
* `lone_letters`: the one-letter units that are read at each place, because single letters have many other meanings.
  Never read: A after a space (article), C F (20C, 70F), B M G T k (scale, 5G), D (3D), K attached (thousand), and any
  letter on the next line (`wrapped`: the first column of a table).
"""

from __future__ import annotations

import json
import re
from functools import cache, lru_cache
from importlib import resources
from typing import Any

from numerate.errors import NumerateError

_TABLES: dict[str, Any] = json.loads((resources.files("numerate") / "data" / "units.json").read_text("utf-8"))

CODES: dict[str, str] = {code: code for code in _TABLES["currency_codes"].split()} | _TABLES["currency_code_aliases"]
"""Currency codes as written -> ISO code."""
CURRENCIES: frozenset[str] = frozenset([*CODES.values(), *_TABLES["other_currencies"].split()])
"""Units that are money: ISO codes, and `cent` and `penny`."""
CURRENCY_SIGNS: dict[str, str] = _TABLES["currency_signs"]
DOLLAR_SIGNS: dict[str, str] = _TABLES["dollar_signs"]
"""Letters before a dollar sign -> ISO code: `HK` -> `HKD`."""
LENGTHS = frozenset(_TABLES["lengths"].split())
LONE_LETTERS = {place: frozenset(letters) for place, letters in _TABLES["lone_letters"].items()}
"""Place -> one-letter units that are read there. `inner` means after `/` or `per`, and in products."""
POWER_WORDS: dict[str, int] = _TABLES["power_words"]
SHORTER_SPELLINGS: dict[str, str] = _TABLES["shorter_spellings"]
"""Compound units -> their shorter normal spelling: `mi/h` -> `mph`."""
PINT: dict[str, str] = _TABLES["pint_spellings"]
"""Normal spelling -> pint's spelling, where they differ."""


class UnitError(NumerateError, ValueError):
    """A quantity cannot be converted: it has no unit, is money, or measures something else than the target unit."""


class PintMissingError(NumerateError, ImportError):
    """The package pint, which converts units, is not installed."""


def _unit_spellings() -> dict[str, str]:
    found: dict[str, str] = {}
    words: dict[str, str] = {name: normal for normal, names in _TABLES["words"].items() for name in names.split()}
    for base, prefixes in _TABLES["si_prefixes"].items():
        names = _TABLES["si_names"].get(base, "").split()
        for prefix in [*prefixes, ""]:
            normal = "KB" if prefix + base == "kB" else prefix + base
            words |= {_TABLES["prefix_names"].get(prefix, "") + name: normal for name in names}
            if prefix or base not in _TABLES["no_bare_symbol"].split():
                found[prefix + base] = normal
            if prefix == "µ":  # also the Greek letter mu, and the ASCII letter u
                found["μ" + base] = found["u" + base] = normal
    found |= {symbol: normal for normal, symbols in _TABLES["symbols"].items() for symbol in symbols.split()}
    found |= {symbol.replace("Ω", "\u2126"): normal for symbol, normal in found.items() if "Ω" in symbol}
    short_capitals, no_capital, capital = (_TABLES[key].split() for key in ("short_capitals", "no_capital", "capital"))
    for word, normal in words.items():
        found[word] = normal
        if (word.endswith("s") and word not in no_capital and len(word) > 3) or word in capital:
            found[word.capitalize()] = normal
        if len(word) > 4 or word.upper() in short_capitals:
            found[word.upper()] = normal
    return found | CODES | {"Rs": "INR"}


def _phrases_by_first_word() -> dict[str, tuple[tuple[str, str], ...]]:
    flat = {phrase: normal for normal, phrases in _TABLES["phrases"].items() for phrase in phrases}
    for nouns, countries in _TABLES["country_currencies"].items():
        for country, normal in countries.items():
            flat |= {f"{country} {noun}": normal for noun in nouns.split()}
    heads: dict[str, list[tuple[str, str]]] = {}
    for phrase in sorted(flat, key=len, reverse=True):
        heads.setdefault(re.split(r"[ .$/]", phrase)[0], []).append((phrase, flat[phrase]))
    return {head: tuple(rows) for head, rows in heads.items()}


UNITS = _unit_spellings()
"""One-word spelling -> normal spelling."""
PHRASES = _phrases_by_first_word()
"""First word in lower case -> the spellings of several words that begin with it, longest first."""
SIMPLE_UNITS = {
    word: normal
    for word, normal in UNITS.items()
    if len(word) > 1 and word.lower() not in PHRASES and normal not in ("in", "°")
}
"""The entries of `UNITS` that are units in every context, except those in `VETO`."""

VETO = {
    "per": re.compile(r"per.cent").match,
    # A preposition and a pronoun, unless attached to the number, part of a compound, or `in.` with its full stop.
    "in": re.compile(r"(?<!\d)in(?!\.(?![A-Za-z])|[\^²³23/·⋅])").match,
    "us": re.compile(r"(?<!\d)us(?![\^²³/·⋅$]|[ -](?:do|dl|ce))").match,
    # Counts, not measures: `degrees of freedom`, `5-gram` (but `200-gram` is a weight).
    **dict.fromkeys(("degree", "degrees"), re.compile(r"degrees? of ").match),
    **dict.fromkeys(("gram", "grams"), re.compile(r"(?<!\d\d-)(?<![.,]\d-)(?<=\d-)gram").match),
    # The ordinal: `the 1991 second quarter`, `55 second-level topics`.
    "second": re.compile(r"(?<![\d-])second(?:-| half| quarter| round)").match,
    # A point in time: `307,000 head versus 294,000 week ago`.
    **dict.fromkeys(("day", "week", "month", "year"), re.compile(r"(?<!\b1 )(?<=[ \n])[a-z]+ ago").match),
}
"""Spelling -> a match function (text, offset of the spelling) that tells whether it is something else than a unit."""


@cache
def pint_registry() -> Any:
    """The one pint registry of this process, so that quantities of different numerals can be added and compared."""
    try:
        from pint import UnitRegistry
    except ImportError:
        raise PintMissingError('converting units needs pint: pip install "numerate[units]"') from None
    registry = UnitRegistry()
    registry.define("parts_per_billion = 1e-9 = ppb")
    return registry


@lru_cache(maxsize=1024)
def pint_unit(unit: str) -> Any:
    """The `pint.Unit` of a unit in our normal spelling or in pint's.

    Raises:
        UnitError: pint does not know the unit.
    """
    spelled = "".join(PINT.get(part.strip(), part) for part in re.split(r"([/*^])", unit))
    registry = pint_registry()
    try:
        return registry.parse_units(spelled)
    except Exception:  # besides its own errors, pint's parser raises AssertionError, TokenError and TypeError
        raise UnitError(f"pint knows no unit {unit!r}") from None
