"""What is loaded reads a text as the tokens of what was saved, whatever the classes of transformers make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
import transformers as hf
from tokenizers import pre_tokenizers

import numerate
from numerate.processing.saved_tokenizer import load_saved_tokenizer

from ..tiny_models import byte_level, new_backbone, tokenizer_of

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "In 1999 it cost 6e8, or [NUM] kg."


def one_of_its_own() -> Any:
    """A tokenizer that was trained on its own, where `AutoTokenizer` takes the class of the architecture."""
    tokenizer = byte_level({"eos": "<|endoftext|>", "pad": "<pad>"})
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split("t", "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return tokenizer


def split_digits() -> Any:
    """BERT's tokenizer with a step of one's own; its class makes the usual steps when it is loaded."""
    tokenizer = hf.BertTokenizer(vocab=tokenizer_of("bert").get_vocab())
    backend = tokenizer.backend_tokenizer
    digits = pre_tokenizers.Digits(individual_digits=True)
    backend.pre_tokenizer = pre_tokenizers.Sequence([digits, backend.pre_tokenizer])
    return tokenizer


@pytest.mark.parametrize(("backbone", "make"), [("qwen2", one_of_its_own), ("bert", split_digits)])
def test_a_loaded_model_has_the_tokens_it_was_saved_with(backbone: str, make: Any, tmp_path: Path) -> None:
    tokenizer = make()
    model = numerate.attach(new_backbone(backbone), tokenizer, fit=[1.0, 2.0, 3.0]).eval()
    model.save_pretrained(tmp_path / "model", backbone=True)
    usual = hf.AutoTokenizer.from_pretrained(tmp_path / "model" / "backbone")
    assert usual.tokenize(TEXT) != tokenizer.tokenize(TEXT)  # otherwise this tests nothing
    again = numerate.from_pretrained(tmp_path / "model")
    assert again.processor.tokenizer.tokenize(TEXT) == tokenizer.tokenize(TEXT)
    torch.testing.assert_close(again.predict(TEXT).median(), model.predict(TEXT).median())

    model.processor.save_pretrained(tmp_path / "processor")
    processor = numerate.NumberProcessor.from_pretrained(tmp_path / "processor")
    assert processor(TEXT)["input_ids"] == model.processor(TEXT)["input_ids"]


def test_a_tokenizer_keeps_its_class_and_special_tokens(tmp_path: Path) -> None:
    tokenizer = split_digits()
    tokenizer(["a", "a b c"], padding=True, truncation=True, max_length=4)  # is written into the file
    tokenizer.save_pretrained(tmp_path)
    again = load_saved_tokenizer(tmp_path)
    assert type(again) is type(tokenizer) and again.special_tokens_map == tokenizer.special_tokens_map
    long = TEXT * 9
    assert again(long)["input_ids"] == tokenizer(long)["input_ids"]
    again.save_pretrained(tmp_path / "second")
    assert load_saved_tokenizer(tmp_path / "second").tokenize(TEXT) == tokenizer.tokenize(TEXT)
