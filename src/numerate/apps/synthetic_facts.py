"""Synthetic sentences about items (animals, vehicles ...) in which numbers, units and words depend on each other.

A hummingbird weighs some grams and a whale some tonnes. The same mass is written in kilograms, pounds or tonnes, so the
unit depends on the number, and the number on the unit and the item; a size word ("huge") shifts it. In many sentences
one number follows from the others: conversions, ranges, totals, speeds, differences of years, results of matches. A
model that reads the other numbers as values can compute the missing one; the words alone give only its magnitude.

The noise is heavy-tailed (Student's t with 3 degrees of freedom, on the logarithm). A text depends only on the seed,
the split and its index. The vocabulary is `data/synthetic_facts.json`; all of it was invented for numerate.
"""

from __future__ import annotations

import json
import math
import random
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Groups = Sequence[str]

__all__ = ["GROUPS", "UNIT_WORDS", "FactNumber", "FactText", "fact_text", "fact_texts"]

_DATA = json.loads(resources.files("numerate").joinpath("data", "synthetic_facts.json").read_text("utf-8"))
GROUPS: dict[str, tuple[list[str], dict[str, list[float]]]] = {
    name: (group["attributes"], group["items"]) for name, group in _DATA["groups"].items()
}
"""Groups of items: their attributes, and each item's typical values in the first unit of each attribute."""
SPREADS: dict[str, float] = _DATA["spreads"]
"""Scale of the noise of each attribute, as a natural logarithm."""
UNITS: dict[str, dict[str, float]] = _DATA["units"]
"""Units of each attribute, as multiples of the first."""
PAIRS: dict[str, list[str]] = _DATA["pairs"]
"""Units of an attribute that sentences of the kind `conversion` use."""
PHRASES: dict[str, list[str]] = _DATA["phrases"]
"""Sentence templates of each attribute: {x} is the value with its unit, {place} is empty in most sentences."""
SENTENCES: dict[str, list[str]] = _DATA["sentences"]
"""Templates of the sentences in which one number follows from others, by kind."""
SPLITS = ("train", "dev", "test")
UNIT_WORDS = tuple(sorted({unit for units in UNITS.values() for unit in units}))
"""Every word that can follow a number as its unit."""
_SIZED = ("mass", "price", "cost", "floor", "volume")
"""Attributes that a size word multiplies."""
_FIELD = re.compile(r"\{(\w+)\}")
_DEGREES_OF_FREEDOM = 3
"""Of the noise: heavy tails with a finite variance."""


@dataclass(frozen=True)
class FactNumber:
    """A number of a text: its span `text[start:end]`, its value, and the unit that follows it, if any."""

    start: int
    end: int
    value: float
    unit: str = ""


@dataclass(frozen=True)
class FactText:
    """A text and its numbers, in the order of the text."""

    text: str
    numbers: tuple[FactNumber, ...]


@dataclass(frozen=True)
class _Written:
    """A number as it is written in the text."""

    text: str
    value: float
    unit: str = ""


_Pieces = list["str | _Written"]


def fact_text(
    index: int, split: str = "train", seed: int = 0, groups: Groups = tuple(GROUPS), kinds: Sequence[str] = ()
) -> FactText:
    """One text of a split.

    Args:
        index: Index of the text in the split.
        split: "train", "dev" or "test".
        seed: Seed of all texts.
        groups: Use items of these groups only; at least one must have the attribute of each kind (`journey`: a speed).
        kinds: Kinds of sentence: `fact`, `total`, `journey`, `history`, `match`, `sale`. Empty for all of these.
            `comparison` has to be asked for, because one more kind would change the texts of all seeds.

    Example:
        >>> example = fact_text(19)
        >>> example.text
        'We carried a wolf of 52 kg (115 lbs).'
        >>> [(example.text[number.start : number.end], number.value, number.unit) for number in example.numbers]
        [('52', 52.0, 'kg'), ('115', 115.0, 'lbs')]
    """
    if index < 0:
        raise ValueError(f"index must not be negative, got {index=}")
    _check_split(split)
    by_name = {write.__name__[1:]: write for write in _WRITERS | _ON_REQUEST}
    for what, given, known in (("group", groups, GROUPS), ("kind", kinds, by_name)):
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"unknown {what} {unknown[0]!r}: {near_names(unknown[0], list(known))}")
    # The seed's text is part of the data: another one would give other sentences.
    rng = random.Random(f"numerate things {seed} {split} {index}")  # noqa: S311 (it makes data, no keys)
    known = _WRITERS | _ON_REQUEST if kinds else _WRITERS
    weights = {write: known[write] for name, write in by_name.items() if (name in kinds if kinds else write in known)}
    write = rng.choices(list(weights), list(weights.values()))[0]
    text, numbers = "", []
    for piece in write(rng, groups):
        if isinstance(piece, _Written):
            numbers.append(FactNumber(len(text), len(text) + len(piece.text), piece.value, piece.unit))
            piece = piece.text
        text += piece
    return FactText(text[:1].upper() + text[1:], tuple(numbers))


def fact_texts(
    split: str = "train", count: int = 10_000, seed: int = 0, groups: Groups = tuple(GROUPS), kinds: Sequence[str] = ()
) -> Iterator[FactText]:
    """Yields the first `count` texts of a split; `fact_text` explains the arguments."""
    _check_split(split)  # here, not when the first text is drawn
    return (fact_text(index, split, seed, groups, kinds) for index in range(count))


def _check_split(split: str) -> None:
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split=}")


# Drawing, converting and writing numbers.


def _noisy(rng: random.Random, centre: float, spread: float) -> float:
    """A value near `centre`, in rare cases far from it."""
    step = rng.gauss(0, 1) / math.sqrt(rng.gammavariate(_DEGREES_OF_FREEDOM / 2, 2) / _DEGREES_OF_FREEDOM)
    return centre * math.exp(spread * max(-8.0, min(8.0, step)))


def _number(value: float, digits: int = 3, unit: str = "") -> _Written:
    """A value with `digits` significant digits and thousands commas."""
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{round(value, places):,.{max(0, places)}f}"
    return _Written(text, float(text.replace(",", "")), unit)


def _converted(value: float, attribute: str, unit: str, other: str) -> float:
    """Converts a value from `unit` to `other`.

    Example:
        >>> _converted(10, "warmth", "°C", "°F"), _converted(2, "length", "km", "m")
        (50.0, 2000.0)
    """
    if attribute == "warmth":
        return value if unit == other else value * 9 / 5 + 32 if other == "°F" else (value - 32) * 5 / 9
    return value * UNITS[attribute][unit] / UNITS[attribute][other]


def _unit_for(rng: random.Random, attribute: str, value: float, but: str = "") -> str:
    """Draws a unit in which a value (in the first unit) is a handy number; "" if only `but` is such a unit."""
    first, weights = next(iter(UNITS[attribute])), {}
    for unit in UNITS[attribute]:
        size = math.log10(abs(_converted(value, attribute, first, unit)) + 1e-12)
        weights[unit] = math.exp(-3 * max(0.0, -0.3 - size, size - 3.2)) + 1e-9
    if but:
        weights = {unit: weight for unit, weight in weights.items() if unit != but and weight > 0.01}
    return rng.choices(list(weights), list(weights.values()))[0] if weights else ""


def _in_unit(rng: random.Random, attribute: str, value: float, unit: str, digits: int | None = None) -> _Written:
    """A value of the first unit, written in another unit; people are counted in whole numbers."""
    amount = _converted(value, attribute, next(iter(UNITS[attribute])), unit)
    if attribute in ("people", "crowd"):
        amount = max(2.0, round(amount))
    digits = rng.choice((2, 3)) if digits is None else digits
    return _number(amount, min(digits, len(str(round(amount)))) if unit == "people" else digits, unit)


def _whole(value: int, unit: str = "") -> _Written:
    return _Written(str(value), float(value), unit)


def _compose(template: str, **parts: str | _Written | _Pieces) -> _Pieces:
    """Replaces the {fields} of a template: a number is followed by its unit, unless it is given in a list."""
    pieces: _Pieces = []
    for position, text in enumerate(_FIELD.split(template)):
        part = parts[text] if position % 2 else text
        if isinstance(part, _Written):
            part = [part, f" {part.unit}"] if part.unit else [part]
        pieces += part if isinstance(part, list) else [part]
    return pieces


def _measure(rng: random.Random, attribute: str, value: float) -> _Pieces:
    """A value with its unit: one value, the same value in two units, or a range."""
    unit = _unit_for(rng, attribute, value)
    one = _in_unit(rng, attribute, value, unit)
    style = rng.random()
    if style < 0.55 and (other := _unit_for(rng, attribute, value, but=unit)):
        same = _number(_converted(one.value, attribute, unit, other), 3, other)
        return _compose(rng.choice(("{one} ({same})", "{one}, or {same}")), one=one, same=same)
    if style < 0.75:
        more = _in_unit(rng, attribute, value * (1.1 + rng.random() * 0.5), unit)
        if more.value > one.value:
            return _compose(rng.choice(("between {low} and {high}", "from {low} to {high}")), low=[one], high=more)
    return _compose(rng.choice(("{one}", "about {one}", "nearly {one}", "only {one}")), one=one)


# Kinds of sentence.


def _place(rng: random.Random) -> str:
    return f" {rng.choice(_DATA['places'])}" if rng.random() < 0.25 else ""


def _described(rng: random.Random, template: str, named: str, x: _Pieces) -> _Pieces:
    """Fills a template of `PHRASES`."""
    article = "an" if named[0] in "aeiou" else "a"
    return _compose(template, item=named, a=article, place=_place(rng), x=x)


def _drawn(rng: random.Random, groups: Groups, *wanted: str) -> tuple[str, str, dict[str, float]]:
    """Draws an item that has the `wanted` attributes: its name, a size word (may be ""), and noisy values."""
    fitting = [name for name in groups if set(wanted) <= set(GROUPS[name][0])]
    if not fitting:
        raise ValueError(f"none of the groups {', '.join(groups)} has {', '.join(wanted)}: choose other kinds")
    names, items = GROUPS[rng.choice(fitting)]
    item, sizes = rng.choice(list(items)), _DATA["sizes"]
    size = rng.choice(list(sizes)) if rng.random() < 0.4 and set(wanted or names) & set(_SIZED) else ""
    values = dict(zip(names, items[item], strict=True))
    for name in values:
        scale = sizes[size] if size and name in _SIZED else 1.0
        values[name] = _noisy(rng, values[name] * scale, SPREADS[name])
    return item, size, values


def _fact(rng: random.Random, groups: Groups) -> _Pieces:
    """One or two attributes of an item."""
    item, size, values = _drawn(rng, groups)
    first, *others = rng.sample(list(values), k=min(len(values), rng.choice((1, 1, 1, 1, 2))))
    template, named = rng.choice(PHRASES[first]), f"{size if first in _SIZED else ''} {item}".strip()
    pieces = _described(rng, template, named, _measure(rng, first, values[first]))
    for other in others:
        again = rng.choice([phrase for phrase in PHRASES[other] if "{a}" not in phrase] or PHRASES[other])
        pieces += [" ", *_described(rng, again, item, _measure(rng, other, values[other]))]
    return pieces


def _total(rng: random.Random, groups: Groups) -> _Pieces:
    """Price or mass of one item, a count, and the total."""
    attribute = rng.choice(("price", "mass"))
    item, size, values = _drawn(rng, groups, attribute)
    unit = _unit_for(rng, attribute, values[attribute])
    each = _in_unit(rng, attribute, values[attribute], unit)
    count = rng.choice((2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 40))
    total = _number(each.value * count, 3, unit)
    verb, past = ("cost", "paid") if attribute == "price" else ("weigh", "weighed")
    parts = {"verb": verb, "past": past, "each": each, "count": _whole(count), "total": total}
    return _compose(rng.choice(SENTENCES["total"]), item=f"{size} {item}".strip(), **parts)


def _journey(rng: random.Random, groups: Groups) -> _Pieces:
    """Speed, time and distance of a vehicle or animal."""
    item, _, values = _drawn(rng, groups, "speed")
    unit = _unit_for(rng, "speed", values["speed"])
    speed = _in_unit(rng, "speed", values["speed"], unit, 2)
    hours = _number(_noisy(rng, 2.5, 0.6), 2, "hours")
    way = _number(speed.value * hours.value, 3, "km" if unit == "km/h" else "miles")
    return _compose(rng.choice(SENTENCES["journey"]), item=item, speed=speed, hours=hours, way=way)


def _history(rng: random.Random, groups: Groups) -> _Pieces:
    """Two years and their difference."""
    item, _, _ = _drawn(rng, groups, "height")
    start = rng.randint(1650, 1985)
    stood = max(1, min(2024 - start, round(_noisy(rng, 40, 0.7))))
    parts = {"start": _whole(start), "end": _whole(start + stood), "span": _whole(stood, "years"), "place": _place(rng)}
    return _compose(rng.choice(SENTENCES["history"]), item=item, **parts)


def _match(rng: random.Random, groups: Groups) -> _Pieces:
    """The result of a match, the lead, or the number of spectators."""
    game, goals = rng.choice((("football", 3), ("handball", 28), ("basketball", 82), ("hockey", 4), ("rugby", 24)))
    less = round(_noisy(rng, goals, 0.2))
    more = less + 1 + round(rng.random() * goals * 0.4)
    crowd = _in_unit(rng, "crowd", _noisy(rng, 60 * goals + 900, 0.6), "people")
    template = rng.choice(SENTENCES["match"])
    lead = _whole(more - less)
    return _compose(template, game=game, more=_whole(more), less=_whole(less), lead=lead, crowd=crowd)


def _sale(rng: random.Random, groups: Groups) -> _Pieces:
    """An old price, a new price, and the change in percent."""
    item, size, values = _drawn(rng, groups, "price")
    unit = _unit_for(rng, "price", values["price"])
    old, percent = _in_unit(rng, "price", values["price"], unit), rng.choice((5, 10, 15, 20, 25, 30, 40, 50, 75))
    rises = rng.random() < 0.5
    new = _number(old.value * (1 + percent / 100 if rises else 1 - percent / 100), 3, unit)
    template = rng.choice(SENTENCES["sale"])
    verb, more = ("rose", "more") if rises else ("fell", "less")
    change = _Written(f"{percent}%", percent / 100)
    return _compose(template, item=f"{size} {item}".strip(), verb=verb, more=more, change=change, old=[old], new=new)


def _conversion(rng: random.Random, groups: Groups) -> _Pieces:
    """One value of an item in two units; each unit has one partner only."""
    item, size, values = _drawn(rng, groups)
    attribute = rng.choice([name for name in values if name in PAIRS])
    unit, other = rng.sample(PAIRS[attribute], k=2)
    one = _in_unit(rng, attribute, values[attribute], unit)
    same = _number(_converted(one.value, attribute, unit, other), 3, other)
    x = _compose(rng.choice(("{one} ({same})", "{one}, or {same}")), one=one, same=same)
    return _described(rng, rng.choice(PHRASES[attribute]), f"{size if attribute in _SIZED else ''} {item}".strip(), x)


def _comparison(rng: random.Random, groups: Groups) -> _Pieces:
    """Two values of one kind of item and the word that compares them: only the numbers tell which word it is."""
    attribute = rng.choice(("mass", "price"))
    item, _, values = _drawn(rng, groups, attribute)
    unit = PAIRS[attribute][0]
    first = _in_unit(rng, attribute, values[attribute], unit, 2)
    factor = math.exp(rng.choice((-1, 1)) * rng.uniform(0.1, 1.0))
    second = _in_unit(rng, attribute, values[attribute] * factor, unit, 2)
    more, less = ("heavier", "lighter") if attribute == "mass" else ("dearer", "cheaper")
    parts = {"first": first, "second": second, "than": more if factor < 1 else less, "item": item}
    return _compose(rng.choice(SENTENCES["comparison"]), a="an" if item[0] in "aeiou" else "a", **parts)


def _bill(rng: random.Random, groups: Groups) -> _Pieces:
    """A count, the price or mass of one item, and the total."""
    attribute = rng.choice(("mass", "price"))
    item, _, values = _drawn(rng, groups, attribute)
    unit = PAIRS[attribute][0]
    each = _in_unit(rng, attribute, values[attribute], unit, 2)
    count = rng.choice((2, 3, 5, 8, 12, 20))
    parts = {"each": each, "count": _whole(count), "total": _number(each.value * count, 3, unit)}
    return _compose(rng.choice(SENTENCES["bill"]), item=item, **parts)


_WRITERS: dict[Callable[[random.Random, Groups], _Pieces], float] = {
    _fact: 0.6, _total: 0.12, _journey: 0.08, _history: 0.05, _match: 0.06, _sale: 0.09,
}  # fmt: skip
"""Functions that write one kind of sentence, with the probability of each."""
_ON_REQUEST: dict[Callable[[random.Random, Groups], _Pieces], float] = {
    _conversion: 0.25,
    _comparison: 0.5,
    _bill: 0.25,
}
"""Kinds that are written only if they are named."""
