"""Log-ratio features between neighbouring numbers: compared with a loop, never of masked numbers, saved and loaded."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.modeling.options import NEIGHBOUR_OPTIONS
from numerate.modeling.ratio_features import RatioFeatures
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["It is 28 km (17 mi) and $1,200 away.", "12 dogs", "No number here at all."]


def related(count: int = 2, name: str = "bert", **options: Any) -> Any:
    torch.manual_seed(0)
    return numerate.attach(new_backbone(name), tokenizer_of(name), "in-place", relations=count, **options).eval()


def opened(model: Any) -> Any:
    with torch.no_grad():
        for weight in model.gate.parameters():
            weight.fill_(1.0)
    return model


def table_of(values: list[list[float]]) -> NumberTable:
    flat = [value for row in values for value in row]
    return NumberTable.of_values(flat)[torch.arange(len(flat)).reshape(len(values), -1)]


def test_features_equal_a_loop() -> None:
    values = [[28.0, -17.0, 0.0, 5.0], [3.0, 9.0, math.inf, 27.0]]
    slots = torch.tensor([[0, 1, 1, 0, 2, 3, 0, -4, 4], [1, 2, 0, 0, 3, 0, 0, 4, 0]])
    table = table_of(values)
    hidden = torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]])  # the first of the second row is not given
    table = dataclasses.replace(table, given=hidden.to(table.given))
    relations = RatioFeatures(4, numbers=2)
    found = relations.features(slots, table).reshape(2, 4, 4, -1)
    periods = [16.0 * (0.25 / 16.0) ** (k / 13) for k in range(14)]
    for row in range(2):
        for own in range(4):
            for place, step in enumerate((-2, -1, 1, 2)):
                other, expected = own + step, torch.zeros(31, dtype=torch.float64)
                some = [k for k in (own, other) if 0 <= k < 4 and hidden[row, k]]
                if len(some) == 2 and all(values[row][k] not in (0.0, math.inf) for k in some):
                    ratio = values[row][own] / values[row][other]
                    angles = [2 * math.pi * math.log10(abs(ratio)) / period for period in periods]
                    first = [slots[row].tolist().index(k + 1) for k in some]
                    told = [math.copysign(1.0, ratio), 1 / abs(first[0] - first[1]), 1.0]
                    expected = torch.tensor([*map(math.cos, angles), *map(math.sin, angles), *told]).double()
                assert torch.allclose(found[row, own, place], expected, atol=1e-6), (row, own, step)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(1e-6, 1e6), min_size=3, max_size=3), st.floats(1e-3, 1e3))
def test_features_depend_on_ratios_only(values: list[float], factor: float) -> None:
    relations, slots = RatioFeatures(4, numbers=2), torch.tensor([[1, 0, 2, 0, 3]])
    one, other = (relations.features(slots, table_of([[f * v for v in values]])) for f in (1.0, factor))
    assert torch.allclose(one, other, atol=1e-6)


def test_numbers_far_apart_stay_finite() -> None:
    found = RatioFeatures(4, numbers=1)(torch.tensor([[1, 2, 3]]), table_of([[5e-324, 1.7e308, math.nan]]))
    assert bool(found.isfinite().all())


def test_rows_without_numbers() -> None:
    assert RatioFeatures(4, numbers=1)(torch.zeros(2, 3, dtype=torch.int64), table_of([[], []])).shape == (2, 0, 4)


def test_nothing_changes_before_training_and_weights_are_trained() -> None:
    model, plain = related(), related(0)
    plain.load_state_dict(model.state_dict(), strict=False)
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.equal(model(**batch).logits, plain(**batch).logits)
        assert not torch.equal(opened(related())(**batch).logits, opened(plain)(**batch).logits)
    opened(model).train()(**batch, labels=batch["input_ids"].clamp_max(20)).loss.backward()
    assert float(model.relations.network[1].weight.grad.abs().sum()) > 0


def test_masked_numbers_have_no_effect() -> None:
    model = opened(related(reach=1))
    found = []
    for value in (28.0, 98600.0):
        batch = model.processor(TEXTS[:1], return_tensors="pt")
        batch["number_bits"][0, 0] = torch.tensor(value, dtype=torch.float64).view(torch.int64)
        batch["number_given"][0, 0] = 0
        with torch.no_grad():
            found.append(model(**batch).logits)
    assert torch.equal(*found)


def test_saved_and_loaded(tmp_path: Path) -> None:
    model = opened(related(3))
    model.save_pretrained(tmp_path, backbone=True)
    again = numerate.from_pretrained(tmp_path).eval()
    assert again.relations is not None and again.relations.numbers == 3 and model.recipe is None
    batch = model.processor(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        assert torch.allclose(model(**batch).logits, again(**batch).logits, atol=1e-5)


@settings(deadline=None, max_examples=25)
@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4), st.integers(0, 3), st.floats(-1e6, 1e6))
def test_causal_features_look_back_only(values: list[float], changed: int, value: float) -> None:
    relations, slots = RatioFeatures(4, numbers=2, causal=True), torch.tensor([[1, 0, 2, 0, 3, -4, 4]])
    one = relations.features(slots, table_of([values]))
    both_sides = RatioFeatures(4, numbers=2).features(slots, table_of([values]))
    assert torch.equal(one, both_sides[..., : one.shape[-1]]), "those of the two numbers before"
    other = relations.features(slots, table_of([[*values[:changed], value, *values[changed + 1 :]]]))
    assert torch.equal(one[:, :changed], other[:, :changed])


def test_encoder_decoders_and_narrow_embedders_are_refused() -> None:
    refused = {"t5": ("in-place", "a model that is no encoder-decoder"), "bert": ("xval", "an embedder as wide as tok")}
    for name, (recipe, need) in refused.items():
        for option in NEIGHBOUR_OPTIONS:
            with pytest.raises(ValueError, match=f"{option}=2: needs {need}"):
                numerate.attach(new_backbone(name), tokenizer_of(name), recipe, **{option: 2})
    recipe = dataclasses.replace(numerate.load_recipe("in-place"), reach=1, relations=1)
    options = numerate.attach(new_backbone("t5"), tokenizer_of("t5"), recipe).options
    assert options.reach == options.relations == 0, "options of a recipe are left out"


def test_bad_sizes() -> None:
    with pytest.raises(ValueError, match="must be positive, got numbers=0"):
        RatioFeatures(4, numbers=0)
