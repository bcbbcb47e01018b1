"""Models saved by version 0.1.0 load and give the outputs they gave then; tests/saved_models/make.py wrote them.

`bittokens-added` and `bittokens-released` are of version 0.2.0; `bittokens` is the first, under its name of 0.1.0.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import numerate
from numerate.modeling.recipe import current_name

FOLDER = Path(__file__).parent / "saved_models"
TEXTS = ["The tower is 324 metres tall and weighs 10,100 tons.", "Revenue rose 3.2% to [NUM] in 1999."]
NAMES = sorted(path.parent.name for path in FOLDER.glob("*/outputs.safetensors"))
EXACT = os.environ.get("NUMERATE_EXACT") == "1"
"""Ask for equality to the last bit: true only on the kind of processor that wrote the files."""


def test_every_recipe_was_saved() -> None:
    assert set(numerate.recipe_names()) <= set(map(current_name, NAMES)), "the folder of a recipe keeps its old name"


@pytest.mark.parametrize("name", NAMES)
def test_an_old_model_gives_its_old_outputs(name: str) -> None:
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    backbone = AutoModelForMaskedLM.from_pretrained(FOLDER / "backbone", attn_implementation="eager")
    tokenizer = AutoTokenizer.from_pretrained(FOLDER / "backbone")
    model = numerate.from_pretrained(FOLDER / name, backbone, tokenizer).eval()
    saved = load_file(FOLDER / name / "number_model.safetensors")
    own = model.own_state()
    assert own.keys() == saved.keys() and all(torch.equal(own[key], saved[key]) for key in saved)
    with torch.no_grad():
        output = model(**model.processor(TEXTS, padding=True, return_tensors="pt"), return_loss=False)
    expected = load_file(FOLDER / name / "outputs.safetensors")
    found = {"logits": torch.cat([output.logits[..., ::37], output.logits[..., -1:]], dim=-1)}
    if output.numbers is not None:
        found["median"] = output.numbers.median()
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=0 if EXACT else 1e-4, atol=0 if EXACT else 1e-5, msg=key)
