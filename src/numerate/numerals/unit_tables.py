"""Tables of unit and currency spellings, loaded from `data/units.json`, and their translation to pint's spellings.

A new unit is one new entry in the JSON file; a test checks that pint knows every normal spelling. Keys of the file:

* `si_prefixes`: symbol -> prefixes in use. Combinations that usually mean something else are left out: pm, am, as,
  at, us, dm (D-mark), mb, kb, kt (kilotonne or knot), Mg, MA, MN, PA, TV, ML, pH. `name_prefixes` are further prefixes
  of names, which have no other meaning: `decimetre`, `megagram`.
* `no_bare_symbol`, `no_bare_name`: read only with a prefix (`mM`, `µF`, `centigray`): the bare symbol is a scale suffix
  or an identifier, the bare name another word.
* `symbols`: normal spelling -> other symbols, case-sensitive.
* `words`: normal spelling -> words, read in lower case, in capitals (if longer than 4 letters or in `short_capitals`)
  and, for plurals, with an initial capital (except `no_capital`: Miles Davis, Marks & Spencer). Left out are the
  symbol `pt` (a type size) and `mark`, `won`, `crowns`, `real`, `lira` and `pound` as currencies without a country.
* `bound`: normal spelling -> spellings read only in a product or quotient or with a power: `Mb/s`, `dm³`, `cells/µL`.
* `phrases`, `country_currencies`: spellings of several words; a space stands for a space or a hyphen.
* `products`: pairs of units that are multiplied with a space or hyphen between them: `5 N m`, `ohm-metres`.
* `letter_quotients`: quotients of two capital letters that are units; others (`N/A`, `A/V`, `F/A-18`) are not.
* `currency_codes`: ISO codes. Codes that are English words in capitals (ALL, TRY, TOP, CUP, PEN) are left out.
* `lone_letters`: the one-letter units that are read at each place, because single letters have many other meanings.
  Never read: A after a space (article), B k (scale), G D (5G, 3D), K attached (thousand), and any letter on the next
  line (`wrapped`: the first column of a table). C, F, M, T and U need a context (`unit_context`).
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
"""Units that are money: ISO codes, `BTC`, `cent` and `penny`."""
CURRENCY_SIGNS: dict[str, str] = _TABLES["currency_signs"]
SIGNS_AFTER_ONLY = frozenset(_TABLES["signs_after_only"])
"""Currency signs that stand only after the number: `5 ¢`, `100元`."""
CURRENCY_ABBREVIATIONS: dict[str, str] = _TABLES["currency_abbreviations"]
"""Currencies before a number that are neither a code nor a sign: `Rs.`, `kr`, `RM`."""
DOLLAR_SIGNS: dict[str, str] = _TABLES["dollar_signs"]
"""Letters before a dollar sign -> ISO code: `HK` -> `HKD`."""
LENGTHS = frozenset(_TABLES["lengths"].split())
LONE_LETTERS = {place: frozenset(letters) for place, letters in _TABLES["lone_letters"].items()}
"""Place -> one-letter units that are read there. `inner` means after `/` or `per`, and in products; `bound` letters are
read as the first factor of a product or quotient."""
POWER_WORDS: dict[str, int] = _TABLES["power_words"]
PRODUCTS = frozenset(tuple(pair.split(":")) for pair in _TABLES["products"].split())
LETTER_QUOTIENTS = frozenset(_TABLES["letter_quotients"].split())
SHORTER_SPELLINGS: dict[str, str] = _TABLES["shorter_spellings"]
"""Compound units -> their shorter normal spelling: `mi/h` -> `mph`."""
PINT: dict[str, str] = _TABLES["pint_spellings"]
"""Normal spelling -> pint's spelling, where they differ."""


class UnitError(NumerateError, ValueError):
    """A quantity cannot be converted: it has no unit, is money, or measures something else than the target unit."""


class PintMissingError(NumerateError, ImportError):
    """The package pint, which converts units, is not installed."""


def _prefixed() -> dict[str, tuple[str, str]]:
    """Normal spelling -> prefix and base, for every base unit with every prefix: `kPa` -> (`k`, `Pa`)."""
    extra = _TABLES["name_prefixes"]
    rows = ((base, prefix) for base, some in _TABLES["si_prefixes"].items() for prefix in [*some, *extra.get(base, "")])
    found = {base: ("", base) for base in _TABLES["si_prefixes"]}
    return {"KB" if prefix + base == "kB" else prefix + base: (prefix, base) for base, prefix in rows} | found


PREFIXED = _prefixed()
"""Normal spelling of a unit that may have a prefix -> prefix and base."""


def _unit_spellings() -> dict[str, str]:
    found: dict[str, str] = {}
    words: dict[str, str] = {}
    bare_symbols, bare_names = (frozenset(_TABLES[key].split()) for key in ("no_bare_symbol", "no_bare_name"))
    names = {base: row.split() for base, row in _TABLES["si_names"].items()}
    for normal, (prefix, base) in PREFIXED.items():
        start = _TABLES["prefix_names"].get(prefix, "")
        words |= {start + name: normal for name in names.get(base, ()) if prefix or name not in bare_names}
        if prefix not in _TABLES["si_prefixes"][base] or (not prefix and base in bare_symbols):
            continue
        found[prefix + base] = normal
        if prefix == "µ":  # also the Greek letter mu, and the ASCII letter u
            found["μ" + base] = found["u" + base] = normal
    words |= {name: normal for normal, names in _TABLES["words"].items() for name in names.split()}
    found |= {symbol: normal for normal, symbols in _TABLES["symbols"].items() for symbol in symbols.split()}
    found |= {symbol.replace("Ω", "\u2126"): normal for symbol, normal in found.items() if "Ω" in symbol}
    short_capitals, no_capital, capital = (
        frozenset(_TABLES[key].split()) for key in ("short_capitals", "no_capital", "capital")
    )
    for word, normal in words.items():
        found[word] = normal
        upper = word.upper()
        if (word[-1] == "s" and word not in no_capital and len(word) > 3) or word in capital:
            found[upper[0] + word[1:]] = normal
        if len(word) > 4 or upper in short_capitals:
            found[upper] = normal
    return found | CODES | {"Rs": "INR"}


def _phrases_by_first_word() -> dict[str, tuple[tuple[str, str], ...]]:
    flat = {phrase: normal for normal, phrases in _TABLES["phrases"].items() for phrase in phrases.split("; ")}
    for nouns, countries in _TABLES["country_currencies"].items():
        for country, normal in countries.items():
            flat |= {f"{country} {noun}": normal for noun in nouns.split()}
    heads: dict[str, list[tuple[str, str]]] = {}
    for phrase in sorted(flat, key=len, reverse=True):
        head = _FIRST_WORD(phrase)[0]  # type: ignore[index] (every phrase begins with a letter)
        heads.setdefault(head.lower(), []).append((phrase.lower(), flat[phrase]))
        PHRASE_HEADS.update((head, head.lower(), head.capitalize(), head.upper()))
    return {head: tuple(rows) for head, rows in heads.items()}


_FIRST_WORD = re.compile(r"[A-Za-z]+").match
PHRASE_HEADS: set[str] = set()
"""First words of the phrases as they may be written."""
UNITS = _unit_spellings()
"""One-word spelling -> normal spelling."""
PHRASES = _phrases_by_first_word()
"""First word in lower case -> the spellings of several words that begin with it, longest first."""
PHRASE_TAILS = {
    word: tuple(
        mark + tail[1:] if tail[0] == " " else tail
        for phrase, _ in PHRASES[word.lower()]
        for tail in [phrase[len(word) : len(word) + 3]]
        for mark in " -\u00a0\u2009\u202f"
    )
    for word in UNITS
    if word.lower() in PHRASES
}
"""Unit that also begins a phrase -> the three characters that follow it there, in lower case."""
BOUND: dict[str, str] = {word: normal for normal, words in _TABLES["bound"].items() for word in words.split()}
"""One-word spellings that are units only in a product or quotient or with a power -> normal spelling."""
PARTS = UNITS | BOUND | {letter: letter for letter in LONE_LETTERS["bound"]}
"""Spellings of the factors of a compound unit -> normal spelling."""
SIMPLE_UNITS = {word: normal for word, normal in UNITS.items() if len(word) > 1 and normal not in ("in", "°")}
"""The entries of `UNITS` that are units in every context, except those in `unit_context.VETO`."""


@cache
def pint_registry() -> Any:
    """The one pint registry of this process, so that quantities of different numerals can be added and compared."""
    try:
        from pint import UnitRegistry
    except ImportError:
        raise PintMissingError('converting units needs pint: pip install "numerate[units]"') from None
    registry = UnitRegistry()
    for definition in _TABLES["pint_definitions"]:
        registry.define(definition)
    return registry


@lru_cache(maxsize=1024)
def pint_unit(unit: str) -> Any:
    """The `pint.Unit` of a unit in our normal spelling or in pint's; a `pint.Quantity` for `L/(100*km)`.

    Raises:
        UnitError: pint does not know the unit.
    """
    spelled = "".join(_pint_spelling(part.strip()) for part in re.split(r"([/*^()])", unit))
    registry = pint_registry()
    try:
        if "100" in spelled:  # not a unit for pint, because it has a factor
            return registry.parse_expression(spelled)
        return registry.parse_units(spelled)
    except Exception:  # besides its own errors, pint's parser raises AssertionError, TokenError and TypeError
        raise UnitError(f"pint knows no unit {unit!r}") from None


def _pint_spelling(part: str) -> str:
    """Pint's spelling of one factor: its own entry of `PINT`, or the prefix's name and the entry of its base."""
    prefix, base = PREFIXED.get(part, ("", part))
    if part in PINT or not prefix or base not in PINT:
        return PINT.get(part, part)
    return _TABLES["prefix_names"][prefix] + PINT[base]
