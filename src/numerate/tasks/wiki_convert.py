"""Sentences with a number and its unit out of a MediaWiki dump, by the templates that convert units.

`{{convert|5|km|mi}}` says that 5 is a number and kilometres its unit: so Wiki-Convert (Thawani et al. 2021) was made. A
dump is streamed, page by page, and cleaning a page takes time linear in its length, whatever stands in it.
"""

from __future__ import annotations

import bz2
import gzip
import html
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast
from xml.etree import ElementTree

from numerate.training.sources import SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["NAMES", "UNIT_NAMES", "Conversion", "pages_of_dump", "plain_text", "rows_of_page"]

NAMES = ("convert", "cvt", "convertir", "converter", "converti", "umrechnen", "konverter", "конвертировать", "конв")
"""What the template is called, in some languages; case does not matter."""
SHORT = ("cvt",)
"""Those that write the unit's symbol."""
UNIT_NAMES: dict[str, tuple[str, str]] = {
    "km": ("kilometre", "kilometres"), "m": ("metre", "metres"), "cm": ("centimetre", "centimetres"),
    "mm": ("millimetre", "millimetres"), "mi": ("mile", "miles"), "ft": ("foot", "feet"), "in": ("inch", "inches"),
    "yd": ("yard", "yards"), "nmi": ("nautical mile", "nautical miles"), "kg": ("kilogram", "kilograms"),
    "g": ("gram", "grams"), "lb": ("pound", "pounds"), "oz": ("ounce", "ounces"), "t": ("tonne", "tonnes"),
    "ST": ("short ton", "short tons"), "LT": ("long ton", "long tons"), "L": ("litre", "litres"),
    "l": ("litre", "litres"), "ha": ("hectare", "hectares"), "acre": ("acre", "acres"),
    "km2": ("square kilometre", "square kilometres"), "sqkm": ("square kilometre", "square kilometres"),
    "m2": ("square metre", "square metres"), "sqmi": ("square mile", "square miles"),
    "sqft": ("square foot", "square feet"), "sqm": ("square metre", "square metres"), "kW": ("kilowatt", "kilowatts"),
    "MW": ("megawatt", "megawatts"), "hp": ("horsepower", "horsepower"), "PS": ("PS", "PS"), "bhp": ("bhp", "bhp"),
    "km/h": ("kilometre per hour", "kilometres per hour"), "mph": ("mile per hour", "miles per hour"),
    "kn": ("knot", "knots"), "C": ("°C", "°C"), "F": ("°F", "°F"), "K": ("kelvin", "kelvins"),
    "m3": ("cubic metre", "cubic metres"), "cuft": ("cubic foot", "cubic feet"), "chain": ("chain", "chains"),
}  # fmt: skip
"""Unit codes with the names that the template writes; any other code stands for itself."""
SYMBOLS = {"km2": "km²", "sqkm": "km²", "m2": "m²", "sqm": "m²", "sqmi": "sq mi", "sqft": "sq ft", "m3": "m³"}
_DROPPED = ("ref", "math", "gallery", "timeline", "syntaxhighlight", "source", "score", "table", "pre", "poem")
_BRACKETS = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}(?!\})")
_TAG = re.compile(r"<[^<>]{0,300}>")
_NUMBER = re.compile(r"[+\-−]?[0-9]++(?:,[0-9]{3})*+(?:\.[0-9]++)?+")
_ABBREVIATION = re.compile(r"(?:^|[\s(])(?:\w|[Cc]a|St|Dr|Mr|Mrs|Ms|Mt|No|vs|Jr|approx|cf|e\.g|i\.e)\.$")
_END = re.compile(r"[.!?]['\"”’)]?\s+(?=[\"“‘'(\[]?[^\W\d_a-zа-я])")
_LONGEST = 300
"""A number of more characters is none that anybody converts, and past what a float holds."""
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Around the index of a conversion in a text; characters of the private area, which a page's own lose to a space."""
_MARK = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a template says: the number as it is to be written, its value, and its unit.

    Attributes:
        written: None for what is not one plain number, such as a range.
        number: Without commas.
        unit: As it is to be written.
        code: As the template has it.
    """

    written: str | None
    number: str = ""
    unit: str = ""
    code: str = ""


def pages_of_dump(path: str | Path) -> Iterator[tuple[str, str, str]]:
    """The articles of a MediaWiki XML dump, `.bz2` or `.gz` or plain: id, title and wikitext of each.

    Redirects and pages outside the main namespace are passed over. A page is let go once it was given.

    Raises:
        SourceError: It cannot be read, or is not XML.
    """
    try:
        with _opened(path) as file:
            # Python's expat stops entities that blow up; a dump declares none.
            events = ElementTree.iterparse(file, events=("start", "end"))  # noqa: S314
            _, root = next(events)
            for event, element in events:
                if event != "end" or _local(element.tag) != "page":
                    continue
                fields = {_local(child.tag): child for child in element}
                text = next((e.text for e in element.iter() if _local(e.tag) == "text"), None)
                if fields.get("redirect") is None and _said(fields, "ns", "0") == "0" and text:
                    yield _said(fields, "id"), _said(fields, "title"), text
                root.clear()
    except ElementTree.ParseError as error:
        raise SourceError(f"{path}: not the XML of a dump: {error}") from None
    except FileNotFoundError:
        raise SourceError(f"{path}: no such file") from None
    except (OSError, EOFError) as error:
        raise SourceError(f"{path}: cannot be read: {error}") from None


def rows_of_page(page: str, wikitext: str, names: Sequence[str] = NAMES, single: bool = True) -> list[dict[str, Any]]:
    """The sentences of an article with a conversion, as rows of Wiki-Convert's layout.

    Args:
        page: The page's id, which is in the rows' own.
        wikitext: Its text.
        names: Of the template.
        single: Only sentences with one conversion and no other digit, as in Wiki-Convert; else one row a conversion.

    Example:
        >>> text = "'''Foo''' is a [[river]]. It is {{convert|1200|km|mi}} long.<ref>{{cite}}</ref> It ends."
        >>> rows_of_page("12", text)
        [{'id': '12-0', 'comment': 'It is 1,200 kilometres long.', 'offset': 6, 'length': 5, 'number': '1200', \
'unit': 'kilometres'}]
    """
    text, conversions = plain_text(wikitext, names)
    rows: list[dict[str, Any]] = []
    for line in text.split("\n"):
        if _OPEN not in line:
            continue
        for sentence in _sentences(line):
            found = [conversions[int(match[1])] for match in _MARK.finditer(sentence)]
            bare = _MARK.sub("", sentence)
            if not found or (single and (len(found) > 1 or any(char.isdigit() for char in bare))):
                continue
            if any(conversion.written is None for conversion in found):
                continue
            comment, places = _written(sentence, conversions)
            for (offset, length), conversion in zip(places, found, strict=True):
                row = {"id": f"{page}-{len(rows)}", "comment": comment, "offset": offset, "length": length}
                rows.append(row | {"number": conversion.number, "unit": conversion.unit})
    return rows


def plain_text(wikitext: str, names: Sequence[str] = NAMES) -> tuple[str, list[Conversion]]:
    """Wikitext without its markup; conversions stay as marks.

    Templates, tables, references, files and lists go; links leave their words.

    Returns:
        The text, a paragraph a line, and the conversions that its marks name.
    """
    text = wikitext.replace(_OPEN, " ").replace(_CLOSE, " ")
    text = _without(text, "<!--", "-->")
    for name in _DROPPED:
        text = _without_tag(text, name)
    known = {name.casefold() for name in names}
    conversions: list[Conversion] = []
    text = _unbracketed(text, known, conversions)
    text = re.sub(r"'{2,5}", "", html.unescape(_TAG.sub("", text)))
    text = re.sub(r"\[(?:https?:)?//[^\s\]]{1,2000}+[ \t]*+([^\]\n]{0,500})\]", r"\1", text)
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return "\n".join(line for line in lines if line and line[0] not in "*#:;|!={"), conversions


def _unbracketed(text: str, names: set[str], conversions: list[Conversion]) -> str:
    """Templates, tables and links resolved from the inside out, in one pass."""
    stack: list[tuple[str, list[str]]] = [("", [])]
    position = 0
    for match in _BRACKETS.finditer(text):
        stack[-1][1].append(text[position : match.start()])
        position, mark = match.end(), match[0]
        if mark in ("{{", "[[", "{|"):
            stack.append((mark, []))
            continue
        opening = {"}}": "{{", "]]": "[[", "|}": "{|"}[mark]
        if stack[-1][0] != opening:  # it closes nothing
            continue
        inside = "".join(stack.pop()[1])
        if mark == "]]":
            stack[-1][1].append(_link(inside))
        elif mark == "}}":
            parts = inside.split("|")
            if parts[0].strip().casefold() in names:
                stack[-1][1].append(f"{_OPEN}{len(conversions)}{_CLOSE}")
                conversions.append(_conversion(parts))
    stack[-1][1].append(text[position:])
    # What is never closed is text, but for its brackets.
    return "".join(part for _, parts in stack for part in parts)


def _conversion(parts: list[str]) -> Conversion:
    named = {key.strip(): value.strip() for key, mark, value in (part.partition("=") for part in parts[1:]) if mark}
    values = [part.strip() for part in parts[1:] if "=" not in part]
    if len(values) < 2 or not _NUMBER.fullmatch(values[0]) or _NUMBER.fullmatch(values[1]) or not values[1]:
        return Conversion(None)
    if len(values) > 2 and _NUMBER.fullmatch(values[2]):  # a range, `5|to|10|km`, or two units, `6|ft|2|in`
        return Conversion(None)
    number, code = values[0].replace(",", "").replace("−", "-").lstrip("+"), values[1]
    whole, point, rest = number.lstrip("-").partition(".")
    if len(number) > _LONGEST:
        return Conversion(None)
    comma = named.get("comma") != "off"
    written = ("-" if number.startswith("-") else "") + (f"{int(whole):,}" if comma else whole) + point + rest
    short = parts[0].strip().casefold() in SHORT or named.get("abbr") in ("on", "in", "values", "~", "mos")
    singular, plural = UNIT_NAMES.get(code, (code, code))
    unit = SYMBOLS.get(code, code) if short else singular if number == "1" or named.get("adj") == "on" else plural
    if code in ("C", "F"):
        unit = plural
    return Conversion(written, number, unit, code)


def _link(inside: str) -> str:
    """The words of `[[target|words]]`; nothing of a file or a category, whatever their namespaces are called."""
    target, mark, words = inside.rpartition("|")
    if ":" in (target or inside).lstrip(":").split("|")[0]:
        return ""
    return words if mark else inside


def _sentences(line: str) -> Iterator[str]:
    start = 0
    for match in _END.finditer(line):
        part = line[start : match.end()].rstrip()
        if not _ABBREVIATION.search(part[-12:]):
            yield part
            start = match.end()
    yield line[start:].strip()


def _written(sentence: str, conversions: Sequence[Conversion]) -> tuple[str, list[tuple[int, int]]]:
    """A sentence with its conversions written out, and where their numbers stand."""
    parts: list[str] = []
    places: list[tuple[int, int]] = []
    length, position = 0, 0
    for match in _MARK.finditer(sentence):
        conversion = conversions[int(match[1])]
        number = conversion.written or ""
        before = sentence[position : match.start()]
        length += len(before)
        places.append((length, len(number)))
        joint = "" if conversion.unit.startswith("°") else " "
        parts += [before, number, joint, conversion.unit]
        length += len(number) + len(joint) + len(conversion.unit)
        position = match.end()
    return "".join([*parts, sentence[position:]]), places


def _without(text: str, opening: str, closing: str) -> str:
    """A text without all that stands between two marks; what is never closed stays."""
    parts, position = [], 0
    while (start := text.find(opening, position)) >= 0 and (end := text.find(closing, start)) >= 0:
        parts.append(text[position:start])
        position = end + len(closing)
    return "".join([*parts, text[position:]])


def _without_tag(text: str, name: str) -> str:
    """A text without the elements of one name, `<ref/>` and `<ref>...</ref>`; one never closed loses its tag alone."""
    if f"<{name}" not in text:
        return text
    parts, position, closing = [], 0, f"</{name}>"
    for match in re.finditer(rf"<{name}(?:\s[^<>]{{0,500}})?>", text):
        if match.start() < position:
            continue
        parts.append(text[position : match.start()])
        position = match.end()
        if not match[0].endswith("/>") and closing is not None:
            end = text.find(closing, position)
            if end < 0:
                closing = None  # nor behind any later one
            else:
                position = end + len(closing)
    return "".join([*parts, text[position:]])


def _local(tag: Any) -> str:
    return str(tag).rpartition("}")[2]


def _said(fields: dict[str, Any], name: str, otherwise: str = "") -> str:
    return (fields[name].text or "").strip() if name in fields else otherwise


def _opened(path: str | Path) -> IO[bytes]:
    name = str(path)
    if name.endswith(".bz2"):
        return cast("IO[bytes]", bz2.open(path))
    return cast("IO[bytes]", gzip.open(path) if name.endswith(".gz") else Path(path).open("rb"))
