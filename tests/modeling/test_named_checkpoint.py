"""A backbone that differs from the checkpoint that it was loaded from is saved with its weights."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import assert_same, new_backbone, tokenizer_of

import numerate
from numerate.modeling.artefact import ArtefactError
from numerate.modeling.named_checkpoint import difference, misfit

if TYPE_CHECKING:
    from pathlib import Path


def base_in(folder: Path, name: str = "bert", **options: Any) -> Any:
    """A base model that was loaded from a folder."""
    new_backbone(name).save_pretrained(folder)
    tokenizer_of(name).save_pretrained(folder)
    return type(new_backbone(name)).from_pretrained(folder, attn_implementation="eager", **options)


def edit(backbone: Any, how: str) -> Any:
    with torch.no_grad():
        if how == "row":
            backbone.get_input_embeddings().weight[7, 3] += 1e-3
        elif how == "shorter":
            backbone.bert.encoder.layer = backbone.bert.encoder.layer[:1]
            backbone.config.num_hidden_layers = 1
        elif how == "resized":
            backbone.resize_token_embeddings(len(backbone.get_input_embeddings().weight) + 3)
        else:
            backbone.config.layer_norm_eps = 0.5
            for module in backbone.modules():
                if isinstance(module, torch.nn.LayerNorm):
                    module.eps = 0.5
    return backbone


@pytest.mark.parametrize("how", ["row", "shorter", "resized", "config"])
@pytest.mark.parametrize("adapters", [False, True])
def test_an_edited_backbone_is_saved(how: str, adapters: bool, tmp_path: Path) -> None:
    from peft import LoraConfig, get_peft_model

    backbone = edit(base_in(tmp_path / "base"), how)
    if adapters:
        backbone = get_peft_model(backbone, LoraConfig(r=2, target_modules=["query"]))
    model = numerate.attach(backbone, tokenizer_of("bert"), freeze=True)
    model.save_pretrained(tmp_path / "out")
    assert (tmp_path / "out" / "backbone" / "model.safetensors").is_file()
    assert_same(model, numerate.from_pretrained(tmp_path / "out", attn_implementation="eager"), "bert")


@pytest.mark.parametrize("name", ["bert", "gpt2", "t5", "llama", "encoder"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_an_untouched_backbone_does_not_differ(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    backbone = base_in(tmp_path, name, dtype=dtype)
    backbone.config.pad_token_id = 0
    assert difference(backbone) is None and misfit(backbone) is None
    new_backbone(name).save_pretrained(tmp_path, max_shard_size="20kB")
    (tmp_path / "model.safetensors").unlink(missing_ok=True)
    assert difference(base_in(tmp_path, name)) is None, "in several files"


def test_weights_that_are_not_in_the_checkpoint_differ(tmp_path: Path) -> None:
    from transformers import AutoModelForMaskedLM

    new_backbone("encoder").save_pretrained(tmp_path)
    made = AutoModelForMaskedLM.from_pretrained(tmp_path)
    assert "cls.predictions" in str(difference(made))
    assert difference(new_backbone("bert")) is None, "no checkpoint is named"
    made.config._name_or_path = "nobody/nothing"
    assert difference(made) is None, "not in the cache"


def test_layers_that_the_config_still_counts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    backbone = base_in(tmp_path / "base")
    backbone.bert.encoder.layer = backbone.bert.encoder.layer[:1]
    said = r"the backbone has no weight 'bert\.encoder\.layer\.1\..*' .* its config .*num_hidden_layers"
    with caplog.at_level(logging.WARNING):
        model = numerate.attach(backbone, tokenizer_of("bert"), freeze=True)
    assert "num_hidden_layers" in caplog.text
    with pytest.raises(ArtefactError, match=said):
        model.save_pretrained(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    model.backbone.config.num_hidden_layers = 1
    model.save_pretrained(tmp_path / "out")
    assert_same(model, numerate.from_pretrained(tmp_path / "out", attn_implementation="eager"), "bert")
