"""Weights of 8 bits: exact to half a step, a quarter of the size, nearly the same answers, broken files refused."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from tiny_models import ASKING, KINDS, NUMBERS, backbone_of, tokenizer_of
from transformers import AutoModelForMaskedLM, BertConfig, BertForMaskedLM

import numerate
from numerate.modeling.artefact import BASE_FOLDER, CONFIG_FILE, WEIGHTS_FILE, ArtefactError
from numerate.modeling.compact_storage import COMPACT_FILE, packed, rounded, unpacked

if TYPE_CHECKING:
    from pathlib import Path


def attached(name: str = "bert", recipe: str = "in-place") -> Any:
    torch.manual_seed(0)
    return numerate.attach(backbone_of(name), tokenizer_of(name), recipe).eval()


def test_no_weight_moves_by_more_than_half_a_step_of_its_row() -> None:
    torch.manual_seed(1)
    weight = torch.randn(64, 40) * torch.logspace(-6, 6, 64)[:, None]
    weight[3], weight[4, 0] = 0.0, 1e30
    state = {"w": weight, "cube": torch.randn(3, 20, 24), "bias": torch.randn(40), "codes": torch.arange(3)}
    stored = packed(state)
    assert stored["w"].dtype == stored["cube"].dtype == torch.int8 and stored["cube.scale"].shape == (3, 20)
    again = unpacked(stored)
    assert again.keys() == state.keys() and torch.equal(again["bias"], state["bias"])
    for key in ("w", "cube"):
        step = state[key].abs().amax(-1, keepdim=True) / 127
        assert bool(((again[key] - state[key]).abs() <= step * 0.50001).all())
        # The row's largest weight is kept.
        assert torch.allclose(again[key].abs().amax(-1), state[key].abs().amax(-1), rtol=1e-6)
    assert torch.equal(again["w"][3], torch.zeros(40))
    halves = rounded({"w": weight[:32].bfloat16()})
    assert halves["w"].dtype == torch.bfloat16


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_of_a_training_that_diverged_are_not_saved(value: float) -> None:
    with pytest.raises(ArtefactError, match="'w' has NaN or infinite"):
        packed({"w": torch.full((32, 32), value)})


@pytest.mark.parametrize("name", ["bert", "modernbert", "gpt2", "t5", "encoder"])
def test_a_folder_is_complete_and_answers_nearly_the_same(name: str, tmp_path: Path) -> None:
    model = attached(name)
    model.max_tokens = 100
    model.save_pretrained(tmp_path, bits=8)
    inside = tmp_path / BASE_FOLDER
    assert {path.name for path in tmp_path.iterdir()} == {CONFIG_FILE, WEIGHTS_FILE, "README.md", BASE_FOLDER}
    assert (inside / COMPACT_FILE).is_file() and not (inside / "model.safetensors").exists()
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".bin", ".pt", ".pkl")]
    again = numerate.from_pretrained(tmp_path)
    assert type(again.backbone) is type(model.backbone) and again.max_tokens == 100 and again.has_own_backbone
    batch = model.processor(NUMBERS, padding=True, return_tensors="pt")
    extra = {"labels": batch["input_ids"].clone()} if name == "t5" else {}
    with torch.no_grad():
        one, other = (each(**batch, **extra, return_loss=False) for each in (model, again))
    field = "last_hidden_state" if name == "encoder" else "logits"
    ours, loaded = getattr(one, field), getattr(other, field)
    assert not torch.equal(ours, loaded) and torch.allclose(ours, loaded, atol=0.05 * float(ours.abs().max()))
    # The loaded weights are the rounded ones, so that they can be saved again without a change of more than rounding.
    again.save_pretrained(tmp_path / "again", bits=8)
    third = numerate.from_pretrained(tmp_path / "again")
    for (key, weight), (_, same) in zip(again.named_parameters(), third.named_parameters(), strict=True):
        assert torch.allclose(weight, same, rtol=1e-4, atol=1e-7), key


def test_the_size_is_about_a_quarter_and_ties_are_stored_once(tmp_path: Path) -> None:
    torch.manual_seed(0)
    words = tokenizer_of("bert")
    sizes = {"hidden_size": 128, "intermediate_size": 512, "num_attention_heads": 4, "num_hidden_layers": 3}
    model = numerate.attach(BertForMaskedLM(BertConfig(vocab_size=len(words), **sizes)), words, "in-place")
    model.save_pretrained(tmp_path / "whole", backbone=True)
    model.save_pretrained(tmp_path / "compact", bits=8)
    whole, compact = (
        sum(path.stat().st_size for path in (tmp_path / name).rglob("*.safetensors")) for name in ("whole", "compact")
    )
    assert 0.24 < compact / whole < 0.33  # number parts, a sixth of this small model, are in bfloat16
    again = numerate.from_pretrained(tmp_path / "compact")
    loaded: Any = again.backbone
    assert loaded.cls.predictions.decoder.weight is loaded.bert.embeddings.word_embeddings.weight
    assert len(load_file(tmp_path / "compact" / BASE_FOLDER / COMPACT_FILE)) < 2 * len(model.backbone.state_dict())


def test_types_and_own_weights_alone(tmp_path: Path) -> None:
    model = attached()
    model.save_pretrained(tmp_path / "own", backbone=False, bits=8)
    assert not (tmp_path / "own" / BASE_FOLDER).exists()
    again = numerate.from_pretrained(tmp_path / "own", backbone_of("bert"), tokenizer_of("bert"))
    assert torch.allclose(again.predict(ASKING).median(), model.predict(ASKING).median(), rtol=0.3)
    model.save_pretrained(tmp_path / "all", bits=8)
    half = numerate.from_pretrained(tmp_path / "all", dtype=torch.bfloat16)
    assert {weight.dtype for weight in half.backbone.parameters()} == {torch.bfloat16}
    # From 8 bits to full precision in the same folder, and back: never two files of weights.
    model.save_pretrained(tmp_path / "all", backbone=True)
    assert not (tmp_path / "all" / BASE_FOLDER / COMPACT_FILE).exists() and numerate.from_pretrained(tmp_path / "all")
    model.save_pretrained(tmp_path / "all", bits=8)
    assert not (tmp_path / "all" / BASE_FOLDER / "model.safetensors").exists()
    assert numerate.from_pretrained(tmp_path / "all").describe().stored_bits is None
    with pytest.raises(OSError, match=r"model\.safetensors"):  # nobody else reads the codes as weights
        AutoModelForMaskedLM.from_pretrained(tmp_path / "all" / BASE_FOLDER)
    for bits in (4, True, "8"):
        with pytest.raises(ValueError, match="bits must be 8"):
            model.save_pretrained(tmp_path / "x", bits=bits)
    assert "bert" in KINDS


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("truncated", "cannot be read"),
        ("gone", f"has no {COMPACT_FILE}"),
        ("no-scale", "no scales"),
        ("short-scale", "one F32 scale for each row"),
        ("unknown", "unknown"),
        ("missing", "missing"),
        ("nan", "NaN"),
        ("link", "links to a file outside"),
        ("both", "remove the older"),
        ("bits", "stored_bits must be 8"),
    ],
)
def test_broken_folders_are_refused_with_one_line(change: str, said: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    attached().save_pretrained(folder, bits=8)
    path = folder / BASE_FOLDER / COMPACT_FILE
    tensors = load_file(path)
    key = next(name for name in tensors if name.endswith("query.weight"))
    if change == "truncated":
        path.write_bytes(path.read_bytes()[:-10])
    elif change == "gone":
        path.unlink()
    elif change == "link":
        path.rename(tmp_path / "elsewhere.safetensors")
        path.symlink_to(tmp_path / "elsewhere.safetensors")
    elif change == "both":
        save_file({"a": torch.zeros(1)}, folder / BASE_FOLDER / "model.safetensors")
    elif change == "bits":
        config = json.loads((folder / CONFIG_FILE).read_text())
        (folder / CONFIG_FILE).write_text(json.dumps(config | {"stored_bits": 4}))
    else:
        changes: dict[str, Any] = {
            "no-scale": {f"{key}.scale": None}, "short-scale": {f"{key}.scale": tensors[f"{key}.scale"][:-1].clone()},
            "unknown": {"stranger": torch.zeros(2)}, "missing": {key: None, f"{key}.scale": None},
            "nan": {f"{key}.scale": tensors[f"{key}.scale"] * float("nan")},
        }  # fmt: skip
        kept = {name: value for name, value in (tensors | changes[change]).items() if value is not None}
        save_file(kept, path)
    with pytest.raises(ArtefactError, match=said) as caught:
        numerate.from_pretrained(folder)
    assert "\n" not in str(caught.value)
