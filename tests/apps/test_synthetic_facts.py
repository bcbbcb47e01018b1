"""Things, units and magnitudes: the texts are reproducible, their numbers are what they say, and they hang together."""

from __future__ import annotations

import math
import random
import re
import statistics
from collections import defaultdict
from itertools import islice

import pytest

import numerate
from numerate.apps.synthetic_fact_phrases import GROUPS, PHRASES, SPREADS, UNITS
from numerate.apps.synthetic_facts import UNIT_WORDS, _noisy, attributes, fact_texts, thing_text

TEXTS = list(fact_texts("train", 3000))


def test_there_are_things_enough() -> None:
    assert len({thing for _, thing, _, _ in attributes()}) >= 100
    names = {name for _, _, name, _ in attributes()}
    assert names == set(PHRASES) == set(SPREADS) == set(UNITS)
    assert all(len(values) == len(names) for names, things in GROUPS.values() for values in things.values())


def test_a_text_depends_on_seed_split_and_place_alone() -> None:
    assert [thing_text(index) for index in (7, 3)] == [TEXTS[7], TEXTS[3]]
    assert list(fact_texts("test", 5, seed=2)) == list(islice(fact_texts("test", 50, seed=2), 5))
    others = [{text.text for text in fact_texts(split, 200, seed)} for split, seed in (("dev", 0), ("train", 1))]
    assert all(len(other & {text.text for text in TEXTS}) < 10 for other in others)


def test_the_reader_finds_every_number_where_it_is_said_to_be() -> None:
    for text in TEXTS:
        found = numerate.find(text.text)
        assert [(one.start, one.end) for one in found] == [(one.start, one.end) for one in text.numbers], text.text
        for one, said in zip(found, text.numbers, strict=True):
            assert math.isclose(one.value, said.value), text.text
            assert not said.unit or text.text[said.end :].startswith(f" {said.unit}") or said.unit in text.text


def test_units_words_and_numbers_are_many() -> None:
    said = {number.unit for text in TEXTS for number in text.numbers if number.unit}
    assert said <= set(UNIT_WORDS) and len(said) >= 30
    assert statistics.mean(len(text.numbers) for text in TEXTS) > 2
    assert len({re.sub(r"[0-9.,]+", "#", text.text) for text in TEXTS}) > 1500
    assert any(number.value < 0 for text in TEXTS for number in text.numbers)


def test_conversions_totals_and_results_are_true() -> None:
    # What each sentence claims, read off the text alone.
    kg, lbs = 1.0, 0.45359237
    checked: dict[str, int] = defaultdict(int)
    for text in TEXTS:
        if match := re.search(r"([\d.,]+) kg(?: \(|, or )([\d.,]+) lbs", text.text):
            one, other = (float(part.replace(",", "")) for part in match.groups())
            assert one * kg == pytest.approx(other * lbs, rel=0.01)
            checked["mass"] += 1
        if match := re.search(r"(-?[\d.,]+) °C(?: \(|, or )(-?[\d.,]+) °F", text.text):
            one, other = (float(part.replace(",", "")) for part in match.groups())
            assert one * 1.8 + 32 == pytest.approx(other, rel=0.01, abs=0.06)
            checked["warmth"] += 1
        values = [number.value for number in text.numbers]
        if text.text.startswith("If one "):
            assert values[0] * values[1] == pytest.approx(values[2], rel=0.006)
            checked["total"] += 1
        if " stood from " in text.text:
            assert values[1] - values[0] == values[2]
            checked["years"] += 1
        if " a lead of " in text.text:
            assert values[0] - values[1] == values[2] > 0
            checked["match"] += 1
        if text.text.startswith("After ") and "%" in text.text:
            change = values[0] if " more," in text.text else -values[0]
            assert values[2] * (1 + change) == pytest.approx(values[1], rel=0.006)
            checked["sale"] += 1
    assert len(checked) == 6 and min(checked.values()) >= 5, checked


def test_words_and_units_tell_the_magnitude() -> None:
    # Mean absolute deviation of log10 from the median: of all masses, of those in one unit, of one thing's in one unit.
    everything, by_unit, by_thing = [], defaultdict(list), defaultdict(list)
    things = {thing for group, (names, those) in GROUPS.items() if "mass" in names for thing in those}
    for text in fact_texts("train", 6000):
        thing = next((word for word in things if f" {word}" in text.text), None)
        for number in text.numbers:
            if number.unit in UNITS["mass"] and thing:
                size = math.log10(abs(number.value))
                everything.append(size)
                by_unit[number.unit].append(size)
                by_thing[number.unit, thing].append(size)

    def spread(groups: list[list[float]]) -> float:
        return statistics.mean(abs(size - statistics.median(group)) for group in groups for size in group)

    whole, units, both = spread([everything]), spread(list(by_unit.values())), spread(list(by_thing.values()))
    assert both < 0.5 * units and units < whole


def test_noise_has_students_tails() -> None:
    # The table of Student's t with 3 degrees of freedom: 5 % lie beyond 3.182, 50 % beyond 0.765.
    rng = random.Random(0)
    steps = [abs(math.log(_noisy(rng, 5.0, 0.2) / 5.0)) / 0.2 for _ in range(20_000)]
    assert sum(step > 3.182 for step in steps) / len(steps) == pytest.approx(0.05, abs=0.006)
    assert sum(step > 0.765 for step in steps) / len(steps) == pytest.approx(0.5, abs=0.015)
    assert max(steps) <= 8 + 1e-9


@pytest.mark.parametrize(("options", "quoted"), [({"split": "tset"}, "'tset'"), ({"index": -1}, "-1")])
def test_bad_input_is_quoted(options: dict[str, object], quoted: str) -> None:
    with pytest.raises(ValueError, match=quoted):
        thing_text(**({"index": 0} | options))  # type: ignore[arg-type]


def test_an_unknown_split_is_refused_before_the_first_text() -> None:
    with pytest.raises(ValueError, match="'tset'"):
        fact_texts("tset")


def test_some_groups_and_kinds_alone() -> None:
    chosen = [text.text for text in fact_texts("train", 200, groups=("animal", "good"), kinds=("fact", "total"))]
    animals = {thing for group, thing, _, _ in attributes() if group == "animal"}
    goods = {thing for group, thing, _, _ in attributes() if group == "good"}
    others = {thing for _, thing, _, _ in attributes()} - animals - goods
    assert not any(f" {thing} " in f" {text.lower()} " for text in chosen for thing in others if len(thing) > 4)
    assert any(f" {thing} " in text for text in chosen for thing in animals)
    with pytest.raises(ValueError, match="none of the groups good has speed"):
        thing_text(0, groups=("good",), kinds=("journey",))
    with pytest.raises(ValueError, match="unknown group 'animals': did you mean 'animal'"):
        thing_text(0, groups=("animals",))
    with pytest.raises(ValueError, match="unknown kind 'facts': did you mean 'fact'"):
        thing_text(0, kinds=("facts",))
