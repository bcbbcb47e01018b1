"""Words and marks around a number that tell its kind, loaded from `data/context_words.json`."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from numerate.numerals.units import CURRENCY_CUES

_TABLES: dict[str, Any] = json.loads((resources.files("numerate") / "data" / "context_words.json").read_text("utf-8"))


def word_set(key: str) -> frozenset[str]:
    """A word list of `data/context_words.json` as a set."""
    return frozenset(_TABLES[key].split())


MONTHS = frozenset(form for name in word_set("months") for form in (name, name.upper())).union(
    ["january", "february", "april", "june", "july", "august", "september", "october", "november", "december"]
)
"""Month names; in lower case without "may 5 people" and "march 3 miles", which are not dates."""
SCALE_WORDS = {
    form: int(power)
    for power, words in _TABLES["scale_words"].items()
    for word in words.split()
    for form in (word, word.capitalize(), word.upper())
}
"""Scale word -> power of ten."""
SCALE_SUFFIXES = {"k": 3, "K": 3, "M": 6, "B": 9}
"""Scale letters directly after the digits: `10M`."""
MONEY_SUFFIXES = SCALE_SUFFIXES | {"m": 6, "b": 9, "T": 12, "MM": 6, "mm": 6}
"""Scale letters directly after the digits of an amount of money: `$5m`."""
ORDINAL_SUFFIXES = frozenset(["st", "nd", "rd", "th", "ST", "ND", "RD", "TH"])
LABELS = word_set("labels")
"""Words before the number of a numbered thing: `Table 3`, `page 14`."""
DOUBTFUL_LABELS = word_set("doubtful_labels")
"""Labels that are often ordinary words."""
LOWER_LABELS = word_set("lower_labels")
"""Doubtful labels that are labels in lower case, too, if neither an article nor a plural is beside them: `class 2`."""
BEFORE_NO_LABEL = word_set("before_no_label")
"""Words after which one of `LOWER_LABELS` is an ordinary word: `won the game 5`."""
VERSION_WORDS = word_set("version_words")
FULL_MONTHS = frozenset(form for form in MONTHS if len(form) > 4 or form.lower() in ("may", "june", "july"))
"""Months that are no abbreviations, so that a full stop behind them ends a sentence."""
LOWER_MONTHS = word_set("lower_months")
"""Month names of languages that write them in lower case."""
SCRIPTURE = word_set("scripture")
"""Books whose verses are cited with a colon: `John 3:16`."""
CHANGE_VERBS = frozenset(form for word in word_set("change_verbs") for form in (word, word.capitalize()))
"""Words after which `31 to 104` is a change and its result, not a range."""
COUNTED_IN_MILLIONS = word_set("counted_in_millions")
"""Nouns after which an attached `m` means million: `1.5m people`."""
MOLAR_SOLUTES = word_set("molar_solutes")
"""Words after which an attached `M` means mol/L: `6M urea`."""
STATUTES = word_set("statutes")
"""Words before the year of a law: `Companies Act 2006`."""
HASH_CUES = word_set("hash_cues")
"""Words before a hexadecimal id."""
YEAR_CUES = word_set("year_cues")
"""Words after which four digits are a year even before a plural noun."""
YEAR_NOUNS = word_set("year_nouns")
"""Plurals that are not counted by four digits from 1850 to 2035 before them: `1986 results`."""
COUNTED_AFTER = word_set("counted_after")
"""Words between four digits and the plural that they count: `1700 training sentences`."""
NO_TITLES = word_set("no_titles")
"""Words that may begin with a capital letter and are no end of a title: `The`, `Over`, `Monday`, `Sales`."""
APPROXIMATIONS = word_set("approximations")
"""Words after which four digits before a noun are a count: `nearly 1900 small firms`."""
SCORE_WORDS = tuple(_TABLES["score_words"].split())
NAME_PREFIXES = word_set("name_prefixes")
"""Words before a hyphen that do not make the number part of a name: `mid-1990s`, `top-5`."""
SIGN_LEADERS = frozenset(" \t\n\r\v\f([{=<>:;,*/|×÷≈~∼±≤≥\"“”‘'`&\u00a0\u2009\u202f")
"""Characters after which a minus is a sign, not a hyphen."""
MINUS_WORDS = frozenset(["minus", "Minus", "MINUS", "negative", "Negative"])
"""Words that may be the sign of a number: `minus 5`."""
BARRIERS = frozenset('\t\r,;:<>|~*"/&?!%)')
"""Characters directly before a number that separate it from the preceding word."""
CONNECTORS = frozenset(
    [", ", ",", " and ", ", and ", " & ", " or ", ", or ", " to ", " , ", "-", "–", "; ", " , and ", "/", " - ", " – "]
)
"""Text between the numbers of a list of references: `Tables 5 and 6`."""
DATE_JOINTS = frozenset([", ", " , ", ",", " ", "  ", ". ", "st, ", "nd, ", "rd, ", "th, "])
"""Text between the day and the year of a written date."""
_NOT_PLURAL = word_set("not_plural")


def _written_forms(words: frozenset[str]) -> frozenset[str]:
    """All forms of a cue in a text: `fig`, `Fig`, `(Fig.`, `FIG:`."""
    cases = {case for word in words for case in (word, word.capitalize(), word.upper())}
    return frozenset(lead + case + tail for case in cases for lead in ("", "(", "[") for tail in ("", ".", ",", ":"))


# A doubtful label is a label with a capital, and an ordinary word without: `Class 3`, `set 37 records`.
_DOUBTFUL_WORDS = frozenset(
    form for form in _written_forms(DOUBTFUL_LABELS & LABELS) if form[-1] not in ".,:"
).difference(LOWER_LABELS)
_DOUBTFUL_FORMS = _written_forms(DOUBTFUL_LABELS) - _DOUBTFUL_WORDS
CUE_KINDS: dict[str, str] = (
    dict.fromkeys(_written_forms(VERSION_WORDS) | _DOUBTFUL_FORMS, "?")
    | {word: "identifier" for word in _DOUBTFUL_WORDS if word[0].isupper()}
    | {lead + cue: "?" for cue in CURRENCY_CUES for lead in ("", *"([{\"'“‘-–−+/=<>≤≥~≈:")}
    | {
        cue: "?" if cue[-1] == ":" or (cue[-1] == "." and len(cue) > 5 and cue.islower()) else "identifier"
        for cue in _written_forms(LABELS - DOUBTFUL_LABELS - VERSION_WORDS)
    }
    | {form + tail: "date" for form in MONTHS for tail in ("", ".")}
    | {form + ",": "?" for form in MONTHS}  # `In May, 12 trees`
    | {form + ".": "?" for form in FULL_MONTHS}
    | {cue: "money" for cue in CURRENCY_CUES if cue[-1] in "$£€¥"}
    | {"to": "to", "and": "and", "±": "?", "+/-": "?", "-": "dash", "–": "dash", "=": "no year"}
    | dict.fromkeys(_written_forms(STATUTES | HASH_CUES), "?")
    | dict.fromkeys([*MINUS_WORDS, *("(" + word for word in MINUS_WORDS), *LOWER_MONTHS, "de", "del"], "?")
    | dict.fromkeys(["iPhone", "iPad"], "identifier")
    | {".": "?"}
    | dict.fromkeys(APPROXIMATIONS, "no year")
)
"""Word before a number -> kind of the number; "?" if the slow path has to decide; or one of `_BY_PLACE`."""
_BY_PLACE = frozenset(["to", "and", "dash", "no year", "money"])
"""Cues whose meaning depends on the number before them, or on the number of digits."""
_JOINING = frozenset(["to", "and"])


def counts_things(word: str) -> bool:
    """Whether a word after a number looks like a plural noun, so that the number is a count: `2000 sentences`."""
    return word in ("people", "men", "women", "children", "feet") or (
        len(word) > 3 and word[-1] == "s" and word[-2] != "s" and word.islower() and word not in _NOT_PLURAL
    )


def word_before(text: str, begin: int) -> str:
    """The last 20 characters of the word that ends at `begin` or one space before it; empty if there is none."""
    if begin:
        before = text[begin - 1]
        if before in BARRIERS:
            return ""
        if before.isspace():
            begin -= 1
            if begin and text[begin - 1].isspace():
                return ""  # another table cell or paragraph
    words = text[begin - 20 if begin > 20 else 0 : begin].split()
    return words[-1] if words else ""


def key_of(cue: str) -> str:
    """The bare word of a cue: `fig` for `(Fig.`."""
    key = cue[1:] if cue[:1] in ("(", "[") else cue
    key = key[:-1] if key[-1:] in (".", ",", ":") else key
    return key.lower() if key != "=" else cue


def cue_after_line_end(cue: str, near: bool) -> str | None:
    """The kind by the last word of `cue`, for text before a number that contains a line end or a special space.

    `near`: whether another number is near, so that `and` and `to` may join them.
    """
    if cue == "" or cue[-1].isspace():
        return None
    kind = CUE_KINDS.get(cue.split()[-1])
    if kind in _BY_PLACE:
        return "?" if near or kind not in _JOINING else None
    return kind
