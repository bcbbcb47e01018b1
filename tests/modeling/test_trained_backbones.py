"""What was trained is what is loaded: trained backbones, fingerprints and PEFT's adapters."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, assert_same, new_backbone, number_batch, tokenizer_of

import numerate
from numerate.modeling.artefact import ArtefactError
from numerate.modeling.fingerprint import fingerprint, is_comparable, is_same

if TYPE_CHECKING:
    from pathlib import Path

TARGETS = {"bert": ["query", "value"], "gpt2": ["c_attn"], "t5": ["q", "v"]}


def base_in(folder: Path, name: str = "bert") -> Any:
    """A base model that was loaded from a folder, as people have them."""
    new_backbone(name).save_pretrained(folder)
    tokenizer_of(name).save_pretrained(folder)
    return type(new_backbone(name)).from_pretrained(folder, attn_implementation="eager")


def attached(folder: Path, name: str = "bert", **options: Any) -> Any:
    return numerate.attach(base_in(folder, name), tokenizer_of(name), "in-place", **options)


def train(model: Any, name: str = "bert", steps: int = 2) -> Any:
    optimiser = torch.optim.AdamW([weight for weight in model.parameters() if weight.requires_grad], lr=1e-2)
    model.train()
    for step in range(steps):
        torch.manual_seed(step)
        model(**number_batch(model, name, NUMBERS)).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
    return model.eval()


def test_a_trained_backbone_is_saved_by_default(tmp_path: Path) -> None:
    model = train(attached(tmp_path / "base"))
    model.save_pretrained(tmp_path / "out")
    again = numerate.from_pretrained(tmp_path / "out", attn_implementation="eager")
    assert_same(model, again, "bert")
    again.save_pretrained(tmp_path / "twice")  # not trained since, but the weights are nowhere else
    assert_same(model, numerate.from_pretrained(tmp_path / "twice", attn_implementation="eager"), "bert")


@pytest.mark.parametrize("freeze", [True, False])
def test_an_untrained_backbone_is_not_saved(freeze: bool, tmp_path: Path) -> None:
    model = attached(tmp_path / "base", freeze=freeze)
    if freeze:
        train(model)
    model.save_pretrained(tmp_path / "out")
    assert not (tmp_path / "out" / "backbone").exists()
    assert_same(model.eval(), numerate.from_pretrained(tmp_path / "out", attn_implementation="eager"), "bert")


def test_one_changed_row_of_an_embedding_is_a_change(tmp_path: Path) -> None:
    model = attached(tmp_path / "base")
    with torch.no_grad():
        model.backbone.get_input_embeddings().weight[7] += 0.01
    model.save_pretrained(tmp_path / "out")
    assert (tmp_path / "out" / "backbone").exists()


def test_another_backbone_is_refused(tmp_path: Path) -> None:
    model = train(attached(tmp_path / "base"))
    model.save_pretrained(tmp_path / "out", backbone=False)
    assert not (tmp_path / "out" / "backbone").exists()
    for backbone in (None, new_backbone("bert")):
        given = {} if backbone is None else {"backbone": backbone, "tokenizer": tokenizer_of("bert")}
        with pytest.raises(ArtefactError, match=r"other weights than the one .* or check_backbone=False"):
            numerate.from_pretrained(tmp_path / "out", **given)
    assert numerate.from_pretrained(tmp_path / "out", check_backbone=False).fitted
    assert_same(model, numerate.from_pretrained(tmp_path / "out", model.backbone, tokenizer_of("bert")), "bert")


@pytest.mark.filterwarnings("ignore:mkldnn_matmul failed")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_another_precision_is_the_same_backbone(dtype: torch.dtype, tmp_path: Path) -> None:
    attached(tmp_path / "base").save_pretrained(tmp_path / "out")
    again = numerate.from_pretrained(tmp_path / "out", dtype=dtype)
    assert again.backbone.dtype == dtype
    again.save_pretrained(tmp_path / "half")
    assert not (tmp_path / "half" / "backbone").exists()
    usual = torch.float32 if dtype == torch.float64 else dtype
    assert numerate.from_pretrained(tmp_path / "half").backbone.dtype == usual, "in the precision it was saved with"
    assert numerate.from_pretrained(tmp_path / "half", dtype=torch.float32).backbone.dtype == torch.float32


def test_fingerprints() -> None:
    weights = {"a": torch.randn(300, 300), "b": torch.randn(5), "norm": torch.ones(5)}
    one: Any = fingerprint(weights)
    assert one == fingerprint({"x": weights["b"], "y": weights["norm"], "z": weights["a"].t().contiguous().t()})
    half = {key: value.half() for key, value in weights.items()}
    brain = {key: value.bfloat16() for key, value in weights.items()}
    mixed = brain | {"norm": weights["norm"] + 1e-6}
    there: Any = fingerprint({key: value + 1e-6 for key, value in weights.items()})
    for other in (half, brain, mixed):
        found: Any = fingerprint(other)
        assert is_same(one, found) and is_same(found, one) and is_comparable(one, found)
        assert not is_same(found, fingerprint({**other, "b": other["b"] * 1.1})), "another tensor"  # type: ignore[arg-type]
    assert not is_same(one, there) and is_comparable(one, there)
    rounded: Any = fingerprint({key: value.float() for key, value in brain.items()})
    assert is_same(rounded, fingerprint(brain)), "loaded in a higher precision"  # type: ignore[arg-type]
    assert not is_same(one, rounded), "small steps of a training from rounded weights are a change"
    assert not is_comparable(fingerprint(half), fingerprint(brain)), "rounded twice"  # type: ignore[arg-type]
    quantised: Any = fingerprint(weights | {"a": torch.ones(3, dtype=torch.uint8)})
    assert not is_comparable(one, quantised)
    assert fingerprint({"a": torch.empty(3, device="meta")}) is None


def test_a_fingerprint_of_many_weights_is_cheap() -> None:
    read = 0

    class Counting(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            nonlocal read
            result = function(*args, **(kwargs or {}))
            is_copy = isinstance(result, torch.Tensor) and result.data_ptr() not in places
            read += result.numel() if is_copy else 0
            return result

    weights = {"words": torch.zeros(20_000, 64), "layer": torch.zeros(1000, 1000), "turned": torch.zeros(1000, 500).t()}
    places = {weight.data_ptr() for weight in weights.values()}
    with Counting():
        fingerprint(weights)
    assert read < 250_000 < sum(weight.numel() for weight in weights.values()) / 8


def test_weights_that_would_be_drawn_anew_are_an_error(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    model = train(attached(tmp_path / "base"))
    model.save_pretrained(tmp_path / "out")
    file = tmp_path / "out" / "backbone" / "model.safetensors"
    tensors = load_file(file)
    name = "bert.encoder.layer.0.attention.self.query"
    save_file({key.replace(f"{name}.w", f"{name}.base_layer.w"): value for key, value in tensors.items()}, file)
    with pytest.raises(ArtefactError, match=r"has no weights for .*query.*weight.* \(2 in all\)"):
        numerate.from_pretrained(tmp_path / "out", check_backbone=False)


# LoRA.


def lora(name: str, **options: Any) -> Any:
    from peft import LoraConfig

    return LoraConfig(r=2, target_modules=TARGETS[name], fan_in_fan_out=name == "gpt2", **options)


def with_lora(folder: Path, name: str, how: str) -> Any:
    from peft import get_peft_model

    torch.manual_seed(3)
    if how == "before":
        peft = get_peft_model(base_in(folder, name), lora(name))
        return numerate.attach(peft, tokenizer_of(name), "in-place")
    model = attached(folder, name)
    if how == "after":
        model.backbone = get_peft_model(model.backbone, lora(name))
    else:
        model.backbone.add_adapter(lora(name))
    return model


@pytest.mark.parametrize("backbone", [None, True])
@pytest.mark.parametrize(
    ("name", "how"), [("bert", "before"), ("bert", "after"), ("bert", "added"), ("gpt2", "added"), ("t5", "before")]
)
def test_adapters_are_saved_and_loaded(name: str, how: str, backbone: bool | None, tmp_path: Path) -> None:
    from peft import PeftModel

    model = train(with_lora(tmp_path / "base", name, how), name)
    model.save_pretrained(tmp_path / "out", backbone=backbone)
    assert (tmp_path / "out" / "adapter" / "adapter_model.safetensors").exists()
    assert (tmp_path / "out" / "backbone").exists() == bool(backbone)
    again = numerate.from_pretrained(tmp_path / "out", attn_implementation="eager")
    assert_same(model, again, name)
    assert isinstance(again.backbone, PeftModel)
    trained = {key for key, weight in again.backbone.named_parameters() if weight.requires_grad}
    assert trained and all("lora_" in key for key in trained), "it can be trained on"
    # PEFT itself reads the folder, and a saved copy of the copy is the same.
    theirs = PeftModel.from_pretrained(base_in(tmp_path / "base", name), str(tmp_path / "out" / "adapter"))
    assert theirs.peft_config.keys() == {"default"}
    again.save_pretrained(tmp_path / "twice")
    assert_same(model, numerate.from_pretrained(tmp_path / "twice", attn_implementation="eager"), name)


def test_adapters_on_a_given_backbone(tmp_path: Path) -> None:
    model = train(with_lora(tmp_path / "base", "bert", "before"))
    model.save_pretrained(tmp_path / "out")
    words = tokenizer_of("bert")
    assert_same(model, numerate.from_pretrained(tmp_path / "out", base_in(tmp_path / "base"), words), "bert")
    with pytest.raises(ArtefactError, match="has adapters, and so has the backbone"):
        numerate.from_pretrained(tmp_path / "out", model.backbone, words)
    assert_same(model, numerate.from_pretrained(tmp_path / "out", model.backbone, words, check_backbone=False), "bert")
    model.save_pretrained(tmp_path / "bare", backbone=False)
    assert not (tmp_path / "bare" / "adapter").exists()
    assert_same(model, numerate.from_pretrained(tmp_path / "bare", model.backbone, words), "bert")


def test_several_adapters_and_modules_to_save(tmp_path: Path) -> None:
    from peft import get_peft_model

    backbone = get_peft_model(base_in(tmp_path / "base"), lora("bert", modules_to_save=["decoder"]))
    backbone.add_adapter("second", lora("bert"))
    backbone.set_adapter("second")
    model = train(numerate.attach(backbone, tokenizer_of("bert"), "in-place"))
    model.save_pretrained(tmp_path / "out", backbone=True)
    assert json.loads((tmp_path / "out" / "number_config.json").read_text())["adapters"] == {
        "default": False,
        "second": True,
    }
    assert_same(model, numerate.from_pretrained(tmp_path / "out", attn_implementation="eager"), "bert")


def test_merged_adapters_are_refused(tmp_path: Path) -> None:
    model = train(with_lora(tmp_path / "base", "bert", "before"))
    model.backbone.merge_adapter()
    with pytest.raises(ArtefactError, match="merged into the base model: call unmerge_adapter"):
        model.save_pretrained(tmp_path / "out")
    model.backbone.unmerge_adapter()
    model.backbone = model.backbone.merge_and_unload()
    model.save_pretrained(tmp_path / "out")
    assert (tmp_path / "out" / "backbone").exists() and not (tmp_path / "out" / "adapter").exists()


@pytest.mark.parametrize("spoilt", ["megatron", "code", "missing", "weights", "linked"])
def test_adapters_that_cannot_be_trusted_are_refused(spoilt: str, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    train(with_lora(tmp_path / "base", "bert", "before")).save_pretrained(tmp_path / "out")
    config, weights = (tmp_path / "out" / "adapter" / f"adapter_{x}" for x in ("config.json", "model.safetensors"))
    if spoilt in ("megatron", "code"):
        change: dict[str, Any] = {"megatron_config": {"a": 1}} if spoilt == "megatron" else {"trust_remote_code": True}
        config.write_text(json.dumps(json.loads(config.read_text()) | change))
    elif spoilt == "missing":
        weights.unlink()
    elif spoilt == "linked":
        weights.rename(tmp_path / "elsewhere")
        weights.symlink_to(tmp_path / "elsewhere")
    else:
        tensors = load_file(weights)
        tensors.pop(min(tensors))
        save_file(tensors, weights)
    with pytest.raises(ArtefactError):
        numerate.from_pretrained(tmp_path / "out")


def test_adapters_around_the_whole_model_are_saved_by_peft(tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    model = attached(tmp_path)
    whole: Any = get_peft_model(model, LoraConfig(r=2, target_modules=["query", "value"]))
    with pytest.raises(ArtefactError, match="save with the PeftModel's own save_pretrained"):
        model.save_pretrained(tmp_path / "out")
    whole.save_pretrained(tmp_path / "adapters")
    with pytest.raises(ArtefactError, match=r"load it with peft\.PeftModel\.from_pretrained"):
        numerate.from_pretrained(tmp_path / "adapters")
