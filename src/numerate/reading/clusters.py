"""Splits clusters of digits and separators into numbers, and recognises ranges, dates, times, versions and so on.

A *cluster* is a maximal run of digits joined by single separators (`1,234.5`, `2019-12-31`, `12:30`, `120/80`).
`split_cluster` splits it into parts, each of which is one number. Ambiguous separators split, and no digit is lost.
All patterns are possessive, so that the time is linear in the length of the cluster.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import NamedTuple

__all__ = ["DASHES", "SIMPLE", "THIN_SPACES", "Part", "pair_kind", "plain_list", "split_cluster"]

DASHES = "-–−‐‑"
THIN_SPACES = "\u00a0\u2009\u202f"
FRACTION_DENOMINATORS = frozenset([*range(2, 11), 12, 16, 20, 25, 32, 50, 64, 100, 1000])


class Part(NamedTuple):
    """One number of a cluster.

    Attributes:
        start: Offset of its first character in the cluster.
        end: Offset after its last character.
        point: Its decimal mark; empty if all marks separate groups of digits.
        kind: The kind by the shape of the cluster; None if the context decides.
        fraction: (whole, numerator, denominator) of a fraction.
    """

    start: int
    end: int
    point: str = "."
    kind: str | None = None
    fraction: tuple[int, int, int] | None = None


SIMPLE = re.compile(r"\d++\.\d++|[1-9]\d{0,2}(?>,\d{3})++(?:\.\d++)?")
"""The two most common shapes besides integers: decimals and English thousands."""

_NUMBER = {
    "auto": (
        (r"(?!0)\d{1,3}(?>,\d{3})++(?:\.\d++)?|\d++\.\d++|\d++", "."),
        (r"\d{1,3}(?>\.\d{3})++,\d++", ","),
        (r"\d{1,3}(?>\.\d{3}){2,}+", ""),
        (r"\d{1,2}(?>,\d{2}(?=,))++,\d{3}(?:\.\d++)?", "."),
        (r"\d{1,3}(?>['’]\d{3})++(?:\.\d++)?", "."),
        (r"\d{1,3}(?:([\u00a0\u2009\u202f])\d{3})(?>\1\d{3})*+(?:\.\d++)?", "."),
        (r"\d{1,3}(?:([\u00a0\u2009\u202f])\d{3})(?>\1\d{3})*+,\d++", ","),
        (r"\d{1,3}(?>٬\d{3})*+٫\d++|\d++٫\d++", "٫"),
        (r"\d{1,3}(?>٬\d{3})++", ""),
        (r"\d++．\d++", "．"),
        (r"\d{1,3}(?>，\d{3})++(?:．\d++)?", "．"),
    ),
    "eu": (
        (r"\d{1,3}(?>\.\d{3})++(?:,\d++)?|\d++,\d++|\d++", ","),
        (r"\d{1,3}(?:([\u00a0\u2009\u202f])\d{3})(?>\1\d{3})*+(?:,\d++)?", ","),
        (r"\d{1,3}(?>['’]\d{3})++(?:,\d++)?", ","),
        (r"\d++\.\d++", "."),
    ),
}
_NUMBER["en"] = tuple(row for row in _NUMBER["auto"] if row[1] not in (",", ""))
_NUMBER["in"] = (_NUMBER["auto"][3], *_NUMBER["en"])
_NUMBER["ch"] = (_NUMBER["auto"][4], *_NUMBER["en"])
_SHAPES = {locale: [(re.compile(shape), point) for shape, point in rows] for locale, rows in _NUMBER.items()}

# Items of a list that is not one number: `12,34` is 12 and 34.
_LIST_ITEM = {
    locale: re.compile(r"\d{1,3}(?>\.\d{3})++(?!\d)|\d++,\d++(?![,\d])|\d++" if locale == "eu" else
                       r"(?!0)\d{1,3}(?>,\d{3})++(?![\d,])(?:\.\d++)?|\d++\.\d++(?!\.\d)|\d++")
    for locale in _NUMBER
}  # fmt: skip
_ISO_DATE = re.compile(r"(\d{4})([-/.])(0?[1-9]|1[0-2])\2(0?[1-9]|[12]\d|3[01])")
_DAY_FIRST = re.compile(r"(0?[1-9]|[12]\d|3[01])([-/.])(0?[1-9]|1[0-2])\2(\d{4}|\d{2})")
_MONTH_FIRST = re.compile(r"(0?[1-9]|1[0-2])([-/])(0?[1-9]|[12]\d|3[01])\2(\d{4}|\d{2})")
_TIME = re.compile(
    r"(?:[01]?\d|2[0-4]):[0-5]\d(?:\.\d++)?|\d{1,3}:[0-5]\d:[0-5]\d(?:[.,]\d++)?|[2-5]\d:[0-5]\d(?:\.\d++)?"
)
# `1:25,000`, the scale of a map: groups of three digits, and no time of which a comma or point splits a second.
_SCALE = {locale: re.compile(r"[1-9]\d{0,2}:[1-9]\d{0,2}(?>,\d{3})++") for locale in _NUMBER} | {
    "eu": re.compile(r"[1-9]\d{0,2}:[1-9]\d{0,2}(?>\.\d{3})*+(?<=00)")
}
_HARDWARE = re.compile(r"\d\d(?::\d\d){5}")  # a MAC address without letters
_TELEPHONE = re.compile(r"(?:\d{1,2}[-.])?\d{3}[-.]\d{3}[-.]\d{4}|\d{1,2}-800-[\d-]++")
_ADDRESS = re.compile(r"(?:(?:25[0-5]|2[0-4]\d|1?\d{1,2})\.){3}(?:25[0-5]|2[0-4]\d|1?\d{1,2})")
_DOTTED = re.compile(r"\d++(?>\.\d++){2,}+")
_MIXED = re.compile(r"([1-9]\d{0,11})[-‐‑]([1-9]\d?)[/⁄]([1-9]\d{0,3})")
_SLASHED = re.compile(r"([1-9]\d{0,3})[/⁄]([1-9]\d{0,3})")
_COLONS = re.compile(r"\d++(?:\.\d++)?(?>:\d++(?:\.\d++)?)++")
_ROW = re.compile(r"\d++(?>-\d++){2,}+")
_LIST_CUTS = re.compile(rf"[{DASHES},]")
_CUTS = re.compile(rf"[{DASHES}:/⁄]")
_DATES = ((_ISO_DATE, "date"), (_DAY_FIRST, "date"), (_MONTH_FIRST, "date"))
_CUT_SHAPES = (*_DATES, (_TIME, "time"), (_TELEPHONE, "identifier"), (_HARDWARE, "identifier"))
_PAIR_SHAPES = ((_TIME, "time"), (_TELEPHONE, "identifier"))
"""Shapes with one cut; a date has two."""
_DOTTED_SHAPES = (*_DATES, (_TELEPHONE, "identifier"), (_ADDRESS, "identifier"), (_DOTTED, "version"))
_RUN = re.compile(r"\d++()")
_DECIMAL_RUN = re.compile(r"\d++(?:([.,])\d++)?")


def split_cluster(cluster: str, locale: str = "auto") -> list[Part]:
    """Splits a cluster into its numbers.

    Example:
        >>> split_cluster("1,234.5")
        [Part(start=0, end=7, point='.', kind=None, fraction=None)]
        >>> [(part.start, part.end, part.kind) for part in split_cluster("2018-2019")]
        [(0, 4, 'year'), (5, 9, 'year')]
    """
    if not cluster.isascii() and len({_script(char) for char in cluster if char.isdecimal()}) > 1:
        return _split_scripts(cluster)
    cuts = [match.start() for match in _CUTS.finditer(cluster)]
    if not cuts:
        if cluster.isdecimal():
            return [Part(0, len(cluster))]
        point = _number_point(cluster, locale)
        if point is not None and not (point == "" and _ADDRESS.fullmatch(cluster)):
            return [Part(0, len(cluster), point)]
    if (fraction := _as_fraction(cluster)) is not None:
        return [Part(0, len(cluster), kind=None, fraction=fraction)]
    if len(cuts) == 1 and _SCALE[locale].fullmatch(cluster):
        return _cut_apart(cluster, cuts, locale)
    for shape, kind in (_CUT_SHAPES if len(cuts) > 1 else _PAIR_SHAPES) if cuts else _DOTTED_SHAPES:
        if shape.fullmatch(cluster):
            runs = (_DECIMAL_RUN if kind == "time" else _RUN).finditer(cluster)
            return [Part(*match.span(), match[1] or ".", kind, None) for match in runs]
    if ":" in cluster and any(map(_TIME.fullmatch, _LIST_CUTS.split(cluster))):  # 10:30-11:30, 10:30,11:30
        cuts = [match.start() for match in _LIST_CUTS.finditer(cluster)]
    if cuts:
        return _cut_apart(cluster, cuts, locale)
    items = [(item.span(), item.group()) for item in _LIST_ITEM[locale].finditer(cluster)]
    points = ("." if text.isdecimal() else _number_point(text, locale) or "." for _, text in items)
    return [Part(*span, point) for (span, _), point in zip(items, points, strict=True)]


def plain_list(cluster: str) -> list[str] | None:
    """The items of a long list of whole numbers, `1,2,3,...` or `1.2.3...`; None if it can be something else."""
    mark = "." if "." in cluster else ","
    items = cluster.split(mark)
    if len(items) < 20 or not "".join(items).isdecimal() or any(len(item) == 3 for item in items):
        return None
    return items


def _number_point(cluster: str, locale: str) -> str | None:
    """The decimal mark of a cluster that is one number; None if it is not one number."""
    return next((point for shape, point in _SHAPES[locale] if shape.fullmatch(cluster)), None)


def _as_fraction(cluster: str) -> tuple[int, int, int] | None:
    if "/" not in cluster and "⁄" not in cluster:
        return None
    if match := _MIXED.fullmatch(cluster):
        whole, numerator, denominator = map(int, match.groups())
    elif match := _SLASHED.fullmatch(cluster):
        whole, (numerator, denominator) = 0, map(int, match.groups())
    else:
        return None
    good = numerator < denominator and denominator in FRACTION_DENOMINATORS
    return (whole, numerator, denominator) if good else None


def _cut_apart(cluster: str, cuts: list[int], locale: str) -> list[Part]:
    """Splits a cluster at dashes, slashes and colons; each piece is a number or a list of numbers."""
    parts: list[Part] = []
    begin = 0
    for cut in [*cuts, len(cluster)]:
        piece = cluster[begin:cut]
        if piece.isdecimal() and piece.isascii():  # most pieces
            parts.append(Part(begin, cut))
        else:
            parts += [
                part._replace(start=part.start + begin, end=part.end + begin) for part in split_cluster(piece, locale)
            ]
        begin = cut + 1
    if len(cuts) == 1 and len(parts) == 2:
        kind = pair_kind(cluster[parts[0].start : parts[0].end], cluster[cuts[0]], cluster[parts[1].start :])
    elif _COLONS.fullmatch(cluster):
        kind = "ratio"
    else:
        kind = _row_kind(cluster) if len(cuts) > 1 and _ROW.fullmatch(cluster) else None
    return parts if kind is None else [Part(p.start, p.end, p.point, p.kind or kind, p.fraction) for p in parts]


def _row_kind(cluster: str) -> str:
    """The kind of three or more whole numbers with hyphens: a code (978-3-16-148410-0) or a record (8-0-1)."""
    return "ratio" if max(map(len, cluster.split("-"))) <= 3 else "identifier"


def pair_kind(first: str, mark: str, second: str) -> str | None:
    """The kind of two numbers with one mark between them."""
    whole = first.isdecimal() and second.isdecimal()
    if mark not in DASHES:
        return "range" if mark == "/" and whole and _is_season(first, second) else "ratio"
    if whole and _is_year(first):
        if _is_year(second) and int(first) < int(second):
            return "year"
        if len(second) == 2 and int(second) == (int(first) + 1) % 100:
            return "year"
        if len(second) in (1, 2) and int(second) > int(first[-len(second) :]):
            return "year"
    if whole and len(first) <= 15 and len(second) <= 15 and int(first) >= int(second):
        return "ratio"
    return "range"


def _is_season(first: str, second: str) -> bool:
    """Whether two numbers are a year and the next one: `1986/87`, `1999/2000`."""
    if not _is_year(first) or len(second) not in (2, 4):
        return False
    return int(second) == (int(first) + 1 if len(second) == 4 else (int(first) + 1) % 100)


def _is_year(digits: str) -> bool:
    return len(digits) == 4 and "1000" <= digits <= "2199"


def _script(char: str) -> int:
    """Code point of the digit 0 in the script of `char`: digits of two scripts are never one number."""
    return ord(char) - int(char)


def _split_scripts(cluster: str) -> list[Part]:
    """Splits a cluster with digits of several scripts into runs of digits of one script."""
    parts: list[Part] = []
    begin = 0
    for script, chars in groupby(cluster, lambda char: _script(char) if char.isdecimal() else None):
        end = begin + len(list(chars))
        if script is not None:
            parts.append(Part(begin, end))
        begin = end
    return parts
