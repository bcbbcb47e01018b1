"""Synthetic facts: texts are reproducible, numbers are annotated correctly, and depend on units and other numbers."""

from __future__ import annotations

import math
import random
import re
import statistics
from collections import defaultdict
from itertools import islice

import pytest

import numerate
from numerate.apps.synthetic_facts import (
    GROUPS,
    PHRASES,
    SPREADS,
    UNIT_WORDS,
    UNITS,
    _noisy,
    fact_text,
    fact_texts,
)

TEXTS = list(fact_texts("train", 3000))


def test_vocabulary_is_large_and_consistent() -> None:
    assert len({item for _, items in GROUPS.values() for item in items}) >= 100
    names = {name for names, _ in GROUPS.values() for name in names}
    assert names == set(PHRASES) == set(SPREADS) == set(UNITS)
    assert all(len(values) == len(names) for names, items in GROUPS.values() for values in items.values())


def test_text_depends_only_on_seed_split_and_index() -> None:
    assert [fact_text(index) for index in (7, 3)] == [TEXTS[7], TEXTS[3]]
    assert list(fact_texts("test", 5, seed=2)) == list(islice(fact_texts("test", 50, seed=2), 5))
    others = [{text.text for text in fact_texts(split, 200, seed)} for split, seed in (("dev", 0), ("train", 1))]
    assert all(len(other & {text.text for text in TEXTS}) < 10 for other in others)


def test_reader_finds_every_annotated_number() -> None:
    for text in TEXTS:
        found = numerate.find(text.text)
        assert [(one.start, one.end) for one in found] == [(one.start, one.end) for one in text.numbers], text.text
        for one, said in zip(found, text.numbers, strict=True):
            assert math.isclose(one.value, said.value), text.text
            assert not said.unit or text.text[said.end :].startswith(f" {said.unit}") or said.unit in text.text


def test_texts_are_varied() -> None:
    said = {number.unit for text in TEXTS for number in text.numbers if number.unit}
    assert said <= set(UNIT_WORDS) and len(said) >= 30
    assert statistics.mean(len(text.numbers) for text in TEXTS) > 2
    assert len({re.sub(r"[0-9.,]+", "#", text.text) for text in TEXTS}) > 1500
    assert any(number.value < 0 for text in TEXTS for number in text.numbers)


def test_conversions_totals_and_results_are_true() -> None:
    # What each sentence claims, from the text alone.
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


def test_magnitude_depends_on_unit_and_item() -> None:
    # Mean absolute deviation of log10 from the median: of all masses, of those in one unit, of one item in one unit.
    everything, by_unit, by_item = [], defaultdict(list), defaultdict(list)
    items = {item for group, (names, those) in GROUPS.items() if "mass" in names for item in those}
    for text in TEXTS:
        item = next((word for word in items if f" {word}" in text.text), None)
        for number in text.numbers:
            if number.unit in UNITS["mass"] and item:
                size = math.log10(abs(number.value))
                everything.append(size)
                by_unit[number.unit].append(size)
                by_item[number.unit, item].append(size)

    def spread(groups: list[list[float]]) -> float:
        return statistics.mean(abs(size - statistics.median(group)) for group in groups for size in group)

    whole, units, both = spread([everything]), spread(list(by_unit.values())), spread(list(by_item.values()))
    assert both < 0.5 * units and units < whole


def test_noise_is_student_t() -> None:
    # The table of Student's t with 3 degrees of freedom: 5 % lie beyond 3.182, 50 % beyond 0.765.
    rng = random.Random(0)
    steps = [abs(math.log(_noisy(rng, 5.0, 0.2) / 5.0)) / 0.2 for _ in range(20_000)]
    assert sum(step > 3.182 for step in steps) / len(steps) == pytest.approx(0.05, abs=0.006)
    assert sum(step > 0.765 for step in steps) / len(steps) == pytest.approx(0.5, abs=0.015)
    assert max(steps) <= 8 + 1e-9


def test_bad_arguments_are_quoted() -> None:
    with pytest.raises(ValueError, match="-1"):
        fact_text(-1)
    with pytest.raises(ValueError, match="'tset'"):
        fact_text(0, "tset")
    with pytest.raises(ValueError, match="'tset'"):  # before the first text is drawn
        fact_texts("tset")
    with pytest.raises(ValueError, match="none of the groups good has speed"):
        fact_text(0, groups=("good",), kinds=("journey",))
    with pytest.raises(ValueError, match="unknown group 'animals': did you mean 'animal'"):
        fact_text(0, groups=("animals",))
    with pytest.raises(ValueError, match="unknown kind 'facts': did you mean 'fact'"):
        fact_text(0, kinds=("facts",))


def test_groups_and_kinds_can_be_chosen() -> None:
    chosen = [text.text for text in fact_texts("train", 200, groups=("animal", "good"), kinds=("fact", "total"))]
    animals, goods = (set(GROUPS[group][1]) for group in ("animal", "good"))
    others = {item for _, items in GROUPS.values() for item in items} - animals - goods
    assert not any(f" {item} " in f" {text.lower()} " for text in chosen for item in others if len(item) > 4)
    assert any(f" {item} " in text for text in chosen for item in animals)
