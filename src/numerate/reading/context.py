"""The words and marks round a number that say what it is."""

from __future__ import annotations

__all__ = [
    "BARRIERS",
    "CONNECTORS",
    "DATE_JOINTS",
    "LABELS",
    "MONTHS",
    "NAME_PREFIXES",
    "ORDINAL_SUFFIXES",
    "SCALE_SUFFIXES",
    "SCALE_WORDS",
    "SCORE_WORDS",
    "SIGN_LEADERS",
    "VERSION_WORDS",
    "YEAR_CUES",
    "counts_things",
]


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_MONTH_NAMES = "January February March April May June July August September October November December"
_SHORT_MONTHS = "Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec"
MONTHS = frozenset(
    form for name in _set(f"{_MONTH_NAMES} {_SHORT_MONTHS}") for form in (name, name.upper())
)  # never lower case: "may 5 people" and "march 3 miles" are no dates

SCALE_WORDS = {
    "hundred": 2,
    "thousand": 3,
    "lakh": 5,
    "lakhs": 5,
    "million": 6,
    "millions": 6,
    "mln": 6,
    "mlns": 6,
    "mn": 6,
    "crore": 7,
    "crores": 7,
    "billion": 9,
    "billions": 9,
    "bln": 9,
    "bn": 9,
    "Bn": 9,
    "BN": 9,
    "trillion": 12,
    "trillions": 12,
    "trn": 12,
    "tn": 12,
    "quadrillion": 15,
}
SCALE_WORDS |= {form: power for word, power in SCALE_WORDS.items() for form in (word.capitalize(), word.upper())}

SCALE_SUFFIXES = {"k": 3, "K": 3, "M": 6, "B": 9}
"""Only directly behind the digits: `10M`; with a currency also m, b, T (`$5m`)."""
MONEY_SUFFIXES = SCALE_SUFFIXES | {"m": 6, "b": 9, "T": 12, "MM": 6}

ORDINAL_SUFFIXES = frozenset(["st", "nd", "rd", "th", "ST", "ND", "RD", "TH"])

LABELS = _set(
    "table tables tab tabs figure figures fig figs section sections sec secs chapter chapters page pages pp no nos "
    "equation equations eq eqs eqn theorem theorems lemma lemmas corollary definition proposition algorithm algorithms "
    "appendix step steps layer layers column columns row rows line lines day part parts vol volume volumes issue act "
    "article articles rule rules route highway interstate flight boeing airbus experiment experiments room phase "
    "stage episode season series example examples case type item version question footnote note ref refs "
    "channel area district ward zone unit exhibit clause paragraph para resolution psalm opus op under timeslot "
    "period group model task scenario config configuration iteration node property assumption claim remark "
    "subsection # §"
)
"""Words that point at a numbered thing: `Table 3`, `page 14`."""

VERSION_WORDS = frozenset(["v", "v.", "ver", "ver.", "version", "versions", "release"])

YEAR_CUES = _set(
    "in since until till during by from of before after circa c ca early late mid summer winter spring autumn fall "
    "year years born died b d fy annual christmas between ended ending anno ad"
)
"""Words after which four digits are a year even where a counted thing could follow."""

SCORE_WORDS = (
    "won", "win", "beat", "defeat", "lost", "loss", "score", "record", "victory", "draw", "drew", "tie", "final",
    "lead", "vote", "triumph", "down",
)  # fmt: skip

NAME_PREFIXES = _set("mid pre post early late non sub top over under multi semi anti inter intra about of to in and up")
"""What may stand before a hyphen without making a name of it: `mid-1990s`, `top-5`."""

SIGN_LEADERS = frozenset(" \t\n\r\v\f([{=<>:;,*/|×÷≈~≤≥\"“”‘'`&\u00a0\u2009\u202f")
"""Behind these a minus is a sign, not a hyphen."""

BARRIERS = frozenset('\t\r,;:<>|~*"/&?!%)')
"""Directly before a number, these part it from the word before them."""

CONNECTORS = frozenset(
    [", ", ",", " and ", ", and ", " & ", " or ", ", or ", " to ", " , ", "-", "–", "; ", " , and ", "/"]
)
"""What joins a list of references: `Tables 5 and 6`."""

DATE_JOINTS = frozenset([", ", " , ", ",", " ", "  ", ". ", "st, ", "nd, ", "rd, ", "th, "])
"""What stands between the day and the year of a written date."""

_UNCOUNTED = _set(
    "was is has as its his this us thus plus versus series census status virus across news always towards afterwards "
    "besides perhaps less unless does sometimes includes excludes reflects represents shows remains"
)


def counts_things(word: str) -> bool:
    """Whether a word behind a number looks like a plural noun, so that the number counts: `2000 sentences`."""
    return word in ("people", "men", "women", "children", "feet") or (
        len(word) > 3 and word[-1] == "s" and word[-2] != "s" and word.islower() and word not in _UNCOUNTED
    )
