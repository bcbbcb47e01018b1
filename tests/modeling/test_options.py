"""One list of attach options: each is an argument of `attach`, a key of recipes and runs, and kept by saved models."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tiny_models import backbone_of, tokenizer_of

import numerate
from numerate.config import ConfigError
from numerate.modeling.options import AttachArguments, AttachOptions, PlacementOptions
from numerate.training.run import ModelPlan

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLES: dict[str, Any] = {
    "reader": "luna",
    "reader_options": {"words": True},
    "notation": {"kind": "marker"},
    "kinds": ("money", "quantity"),
    "written": True,
    "embedder": {"kind": "float"},
    "placement": "replace",
    "gated": False,
    "reach": 2,
    "late_reach": 1,
    "relations": 3,
    "pooled": True,
    "head": {"kind": "scalar"},
}
"""For each option a value that differs from the recipe in-place's; a new option is added here, too."""
NAMES = [field.name for field in dataclasses.fields(AttachOptions)]


def saved(model: numerate.NumberModel) -> dict[str, Any]:
    """What a saved config says of each option."""
    config = json.loads(model.describe().to_json())
    reader = dict(config["processor"]["reader"])
    found = {"reader": reader.pop("kind"), "reader_options": reader} | config["processor"] | config
    return {name: {"reader": reader, "reader_options": reader}.get(name, found[name]) for name in NAMES}


def test_every_option_has_an_example_and_a_type_in_attach() -> None:
    assert set(EXAMPLES) == set(NAMES) == set(AttachArguments.__annotations__)


@pytest.mark.parametrize("name", NAMES)
def test_an_option_reaches_every_place(name: str, tmp_path: Path) -> None:
    value, base = EXAMPLES[name], {"recipe": "in-place"}
    recipe = numerate.Recipe.from_dict({"kind": "recipe", name: json.loads(json.dumps(value))})
    assert getattr(recipe, name) == value, "a key of recipes"
    plan = ModelPlan.from_dict({"checkpoint": "x", name: json.loads(json.dumps(value))})
    assert plan.arguments() == {name: value}, "a key of runs; `attach(head=None)` would mean no head"
    kind = "encoder" if name == "pooled" else "bert"  # it is for models without a language-model head
    backbone, tokenizer = backbone_of(kind), tokenizer_of(kind)
    plain, model = (numerate.attach(backbone, tokenizer, **base, **more) for more in ({}, {name: value}))
    assert plain.recipe == "in-place" and model.recipe is None
    assert saved(model)[name] != saved(plain)[name], "an argument of attach, which the config keeps"
    model.save_pretrained(tmp_path)
    again = numerate.NumberModel.from_pretrained(tmp_path, backbone, tokenizer)
    assert saved(again) == saved(model) and again.describe() == model.describe()
    assert again.own_state().keys() == model.own_state().keys()


def test_placement_options_are_checked_when_loaded() -> None:
    config = numerate.attach(backbone_of("bert"), tokenizer_of("bert")).describe()
    for field in dataclasses.fields(PlacementOptions):
        if type(getattr(config, field.name)) is int:
            with pytest.raises(ConfigError, match=rf"{field.name} must lie between 0 and 4096, got 4097"):
                type(config).from_dict(config.to_dict() | {field.name: 4097})


def test_options_are_light() -> None:
    code = "import sys, numerate.modeling.options, numerate.training.run; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("old", ["batch", "found", "hub", "model", "numeral", "processor", "scaling", "units"])
def test_modules_of_version_0_1_warn(old: str) -> None:
    import importlib

    target, names = numerate._MOVED[old]
    new, moved = importlib.import_module(f"numerate.{target}"), importlib.import_module(f"numerate.{old}")
    assert getattr(numerate, old) is moved
    for name in names.split():
        with pytest.warns(DeprecationWarning, match=f"numerate.{old} has moved: import {name} from numerate.{target}"):
            assert getattr(moved, name) is getattr(new, name)
    with pytest.raises(AttributeError, match=f"'numerate.{old}' has no attribute 'nothing'; see numerate.{target}"):
        moved.nothing  # noqa: B018


def test_old_imports_work() -> None:
    with pytest.warns(DeprecationWarning, match="numerate.batch has moved"):
        from numerate.batch import NumberTable
    from numerate.processing.number_table import NumberTable as Moved

    assert NumberTable is Moved
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from numerate.batch import nothing  # noqa: F401
    with pytest.raises(AttributeError, match="has no attribute 'atach'"):
        numerate.atach  # noqa: B018
