"""Made-up sentences in which things, units and magnitudes belong together, and numbers depend on one another.

A hummingbird weighs some grams and a whale some tonnes; the same mass stands in kilograms, pounds or tonnes, so that
the unit depends on the number and the number on unit and thing; a size word moves both. In many sentences one number
follows from the others: conversions, ranges, totals, speeds, differences of years, results of matches. Whoever reads
the others as numbers can say what the missing one is; the words alone give no more than its magnitude.

Noise is heavy-tailed (Student's t with 3 degrees of freedom, on the logarithm). A text depends on seed, split and its
place alone. Every word and figure here is our own invention.
"""

from __future__ import annotations

import math
import random
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numerate.apps.synthetic_fact_phrases import GROUPS, PHRASES, PLACES, SIZES, SPREADS, UNITS
from numerate.registry import near_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Groups = Sequence[str]

SPLITS = ("train", "dev", "test")

__all__ = ["UNIT_WORDS", "ThingNumber", "ThingText", "attributes", "fact_texts", "thing_text"]

UNIT_WORDS = tuple(sorted({unit for units in UNITS.values() for unit in units}))
"""Every word that can stand behind a number as its unit."""
_SIZED = ("mass", "price", "cost", "floor", "volume")
_FIELD = re.compile(r"\{(\w+)\}")
_DEGREES = 3
"""Of freedom, of the noise: its tails are heavy, and its variance is finite."""


@dataclass(frozen=True)
class ThingNumber:
    """A number of a text: `text[start:end]`, what it means, and the unit behind it, if any."""

    start: int
    end: int
    value: float
    unit: str = ""


@dataclass(frozen=True)
class ThingText:
    """A text, and its numbers in order."""

    text: str
    numbers: tuple[ThingNumber, ...]


@dataclass(frozen=True)
class _Written:
    """A number as it is to stand in the text."""

    text: str
    value: float
    unit: str = ""


_Pieces = list["str | _Written"]


def attributes() -> list[tuple[str, str, str, float]]:
    """Every group, thing and attribute with its usual value, in the attribute's first unit.

    Example:
        >>> len(attributes()), len({thing for _, thing, _, _ in attributes()}), attributes()[0]
        (433, 148, ('animal', 'hummingbird', 'mass', 0.004))
    """
    return [
        (group, thing, name, value)
        for group, (names, things) in GROUPS.items()
        for thing, values in things.items()
        for name, value in zip(names, values, strict=True)
    ]


def thing_text(
    index: int, split: str = "train", seed: int = 0, groups: Groups = tuple(GROUPS), kinds: Sequence[str] = ()
) -> ThingText:
    """One text of a split.

    Args:
        index: Which.
        split: Of which split.
        seed: Of all texts.
        groups: Only things of these groups; some of them must have what the sentences tell (`journey`: a speed).
        kinds: Only these kinds of sentence: `fact`, `total`, `journey`, `history`, `match`, `sale`. All, if empty.

    Example:
        >>> example = thing_text(19)
        >>> example.text
        'We carried a wolf of 52 kg (115 lbs).'
        >>> [(example.text[number.start : number.end], number.value, number.unit) for number in example.numbers]
        [('52', 52.0, 'kg'), ('115', 115.0, 'lbs')]
    """
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split=}")
    if index < 0:
        raise ValueError(f"index must not be negative, got {index=}")
    known = {write.__name__[1:]: weight for write, weight in _SENTENCES.items()}
    for what, given, all_names in (("group", groups, list(GROUPS)), ("kind", kinds, list(known))):
        if unknown := [name for name in given if name not in all_names]:
            raise ValueError(f"unknown {what} {unknown[0]!r}: {near_names(unknown[0], all_names)}")
    rng = random.Random(f"numerate things {seed} {split} {index}")  # noqa: S311 (it makes data, no keys)
    writers = {write: weight for write, weight in _SENTENCES.items() if not kinds or write.__name__[1:] in kinds}
    write = rng.choices(list(writers), list(writers.values()))[0]
    text, numbers = "", []
    for piece in write(rng, groups):
        if isinstance(piece, _Written):
            numbers.append(ThingNumber(len(text), len(text) + len(piece.text), piece.value, piece.unit))
            piece = piece.text
        text += piece
    return ThingText(text[:1].upper() + text[1:], tuple(numbers))


def fact_texts(
    split: str = "train", count: int = 10_000, seed: int = 0, groups: Groups = tuple(GROUPS), kinds: Sequence[str] = ()
) -> Iterator[ThingText]:
    """A split's texts, one after the other; see `thing_text`."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split=}")
    return (thing_text(index, split, seed, groups, kinds) for index in range(count))


# How a number is drawn, converted and written.


def _noisy(rng: random.Random, centre: float, spread: float) -> float:
    """A value around a centre; seldom, far from it."""
    step = rng.gauss(0, 1) / math.sqrt(rng.gammavariate(_DEGREES / 2, 2) / _DEGREES)
    return centre * math.exp(spread * max(-8.0, min(8.0, step)))


def _number(value: float, digits: int = 3, unit: str = "") -> _Written:
    """A value with some significant digits and commas between thousands."""
    places = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    text = f"{round(value, places):,.{max(0, places)}f}"
    return _Written(text, float(text.replace(",", "")), unit)


def _converted(value: float, attribute: str, unit: str, other: str) -> float:
    """A value in another unit.

    Example:
        >>> _converted(10, "warmth", "°C", "°F"), _converted(2, "length", "km", "m")
        (50.0, 2000.0)
    """
    if attribute == "warmth":
        return value if unit == other else value * 9 / 5 + 32 if other == "°F" else (value - 32) * 5 / 9
    return value * UNITS[attribute][unit] / UNITS[attribute][other]


def _unit_for(rng: random.Random, attribute: str, value: float, but: str = "") -> str:
    """A unit in which a value (in the first unit) is a handy number; seldom others. "" if none but `but` would be."""
    first, weights = next(iter(UNITS[attribute])), {}
    for unit in UNITS[attribute]:
        size = math.log10(abs(_converted(value, attribute, first, unit)) + 1e-12)
        weights[unit] = math.exp(-3 * max(0.0, -0.3 - size, size - 3.2)) + 1e-9
    if but:
        weights = {unit: weight for unit, weight in weights.items() if unit != but and weight > 0.01}
    return rng.choices(list(weights), list(weights.values()))[0] if weights else ""


def _in_unit(rng: random.Random, attribute: str, value: float, unit: str, digits: int | None = None) -> _Written:
    """A value of the first unit, written in another; people are whole."""
    amount = _converted(value, attribute, next(iter(UNITS[attribute])), unit)
    if attribute in ("people", "crowd"):
        amount = max(2.0, round(amount))
    digits = rng.choice((2, 3)) if digits is None else digits
    return _number(amount, min(digits, len(str(round(amount)))) if unit == "people" else digits, unit)


def _whole(value: int, unit: str = "") -> _Written:
    return _Written(str(value), float(value), unit)


def _spoken(number: _Written) -> _Pieces:
    return [number, f" {number.unit}"] if number.unit else [number]


def _measure(rng: random.Random, attribute: str, value: float) -> _Pieces:
    """A value with its unit: alone, in two units, or as a range."""
    unit = _unit_for(rng, attribute, value)
    one = _in_unit(rng, attribute, value, unit)
    style = rng.random()
    if style < 0.55 and (other := _unit_for(rng, attribute, value, but=unit)):
        same = _number(_converted(one.value, attribute, unit, other), 3, other)
        return [*_spoken(one), *rng.choice(([" (", *_spoken(same), ")"], [", or ", *_spoken(same)]))]
    if style < 0.75:
        more = _in_unit(rng, attribute, value * (1.1 + rng.random() * 0.5), unit)
        if more.value > one.value:
            return [*rng.choice((["between ", one, " and "], ["from ", one, " to "])), *_spoken(more)]
    return [rng.choice(("", "about ", "nearly ", "only ")), *_spoken(one)]


# Sentences.


def _place(rng: random.Random) -> str:
    return f" {rng.choice(PLACES)}" if rng.random() < 0.25 else ""


def _filled(rng: random.Random, template: str, thing: str, size: str = "", **parts: _Pieces) -> _Pieces:
    named = f"{size} {thing}" if size else thing
    article = "an" if named[0] in "aeiou" else "a"
    words = {"thing": named, "the": "the", "The": "The", "a": article, "place": _place(rng)}
    pieces: _Pieces = []
    for position, part in enumerate(_FIELD.split(template)):
        pieces += parts[part] if position % 2 and part in parts else [words[part] if position % 2 else part]
    return pieces


def _drawn(rng: random.Random, groups: Groups, *wanted: str) -> tuple[str, str, dict[str, float]]:
    """A thing of a group that has these attributes, a word for its size, and values."""
    fitting = [name for name in groups if set(wanted) <= set(GROUPS[name][0])]
    if not fitting:
        raise ValueError(f"none of the groups {', '.join(groups)} has {', '.join(wanted)}: choose other kinds")
    group = rng.choice(fitting)
    names, things = GROUPS[group]
    thing = rng.choice(list(things))
    size = rng.choice(list(SIZES)) if rng.random() < 0.4 and set(wanted or names) & set(_SIZED) else ""
    values = dict(zip(names, things[thing], strict=True))
    for name in values:
        scale = SIZES[size] if size and name in _SIZED else 1.0
        values[name] = _noisy(rng, values[name] * scale, SPREADS[name])
    return thing, size, values


def _fact(rng: random.Random, groups: Groups) -> _Pieces:
    """What a thing is like: one or two of its attributes."""
    thing, size, values = _drawn(rng, groups)
    first, *others = rng.sample(list(values), k=min(len(values), rng.choice((1, 1, 1, 1, 2))))
    template = rng.choice(PHRASES[first])
    pieces = _filled(rng, template, thing, size if first in _SIZED else "", x=_measure(rng, first, values[first]))
    for other in others:
        again = rng.choice([phrase for phrase in PHRASES[other] if "{a}" not in phrase] or PHRASES[other])
        pieces += [" ", *_filled(rng, again, thing, "", x=_measure(rng, other, values[other]))]
    return pieces


def _total(rng: random.Random, groups: Groups) -> _Pieces:
    """So many things of a price or mass each, and what they come to."""
    attribute = rng.choice(("price", "mass"))
    thing, size, values = _drawn(rng, groups, attribute)
    unit = _unit_for(rng, attribute, values[attribute])
    each = _in_unit(rng, attribute, values[attribute], unit)
    count = rng.choice((2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 40))
    total = _number(each.value * count, 3, unit)
    named = f"{size} {thing}" if size else thing
    many, verb = _whole(count), "cost" if attribute == "price" else "weigh"
    return rng.choice((
        ["If one ", named, f" {verb}s ", *_spoken(each), ", then ", many, f" of them {verb} ", *_spoken(total), "."],
        [many, " times a ", named, " of ", *_spoken(each), " make ", *_spoken(total), " in all."],
        ["They counted ", many, ", a ", named, f" each, and in all {verb}ed ".replace("costed", "paid"),
         *_spoken(total), ", that is ", *_spoken(each), " for one."],
    ))  # fmt: skip


def _journey(rng: random.Random, groups: Groups) -> _Pieces:
    """Speed, time and distance of a vehicle or animal."""
    thing, _, values = _drawn(rng, groups, "speed")
    unit = _unit_for(rng, "speed", values["speed"])
    speed = _in_unit(rng, "speed", values["speed"], unit, 2)
    hours = _number(_noisy(rng, 2.5, 0.6), 2, "hours")
    way = _number(speed.value * hours.value, 3, "km" if unit == "km/h" else "miles")
    return rng.choice((
        ["At ", *_spoken(speed), ", the ", thing, " needs ", *_spoken(hours), " for ", *_spoken(way), "."],
        ["The ", thing, " came ", *_spoken(way), " in ", *_spoken(hours), ", which makes ", *_spoken(speed), "."],
    ))  # fmt: skip


def _history(rng: random.Random, groups: Groups) -> _Pieces:
    """Two years and what lies between them."""
    thing, _, _ = _drawn(rng, groups, "height")
    start = rng.randint(1650, 1985)
    stood = max(1, min(2024 - start, round(_noisy(rng, 40, 0.7))))
    years = [_whole(year) for year in (start, start + stood)]
    span = _whole(stood, "years")
    return rng.choice((
        ["Built in ", years[0], f", the {thing} burned down after ", *_spoken(span), ", in ", years[1], "."],
        [f"The {thing}{_place(rng)} stood from ", years[0], " to ", years[1], ", for ", *_spoken(span), "."],
    ))  # fmt: skip


def _match(rng: random.Random, groups: Groups) -> _Pieces:
    """The result of a match, the lead, and who saw it."""
    game, goals = rng.choice((("football", 3), ("handball", 28), ("basketball", 82), ("hockey", 4), ("rugby", 24)))
    less = round(_noisy(rng, goals, 0.2))
    more = less + 1 + round(rng.random() * goals * 0.4)
    crowd = _in_unit(rng, "crowd", _noisy(rng, 60 * goals + 900, 0.6), "people")
    scores = [_whole(points) for points in (more, less, more - less)]
    return rng.choice((
        [f"Our {game} team scored ", scores[0], " and theirs ", scores[1], ", a lead of ", scores[2], "."],
        [*_spoken(crowd), f" saw the {game} match: ", scores[0], " for us, ", scores[1], " for them."],
    ))  # fmt: skip


def _sale(rng: random.Random, groups: Groups) -> _Pieces:
    """A price before and after, and the change in percent."""
    thing, size, values = _drawn(rng, groups, "price")
    unit = _unit_for(rng, "price", values["price"])
    old, percent = _in_unit(rng, "price", values["price"], unit), rng.choice((5, 10, 15, 20, 25, 30, 40, 50, 75))
    rises = rng.random() < 0.5
    new = _number(old.value * (1 + percent / 100 if rises else 1 - percent / 100), 3, unit)
    change: _Pieces = [_Written(f"{percent}%", percent / 100)]
    named = f"{size} {thing}" if size else thing
    return rng.choice((
        [f"The {named} {'rose' if rises else 'fell'} by ", *change, " from ", old, " to ", *_spoken(new), "."],
        ["After ", *change, f" {'more' if rises else 'less'}, the {named} costs ", *_spoken(new), ", not ", old, "."],
    ))  # fmt: skip


_SENTENCES: dict[Callable[[random.Random, Groups], _Pieces], float] = {
    _fact: 0.6, _total: 0.12, _journey: 0.08, _history: 0.05, _match: 0.06, _sale: 0.09,
}  # fmt: skip
"""Kinds of sentence, and how often."""
