"""Learning, not only running: small models learn to add, whichever way their numbers are written."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
import transformers as hf
from tokenizers import Tokenizer, models, pre_tokenizers

import numerate

PAIRS = [(a, b) for a in range(10, 100) for b in range(10, 100)]


def plus_tokenizer() -> Any:
    """Three words and the signs + and =; numbers are ours."""
    words = Tokenizer(models.WordLevel({"<pad>": 0, "<eos>": 1, "<unk>": 2, "+": 3, "=": 4}, unk_token="<unk>"))  # type: ignore[call-arg]
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # type: ignore[assignment]
    return hf.PreTrainedTokenizerFast(tokenizer_object=words, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>")


def share_of_sums(
    recipe: str, *, steps: int, batch: int, rate: float, width: int = 128, held_out: int = 400, seed: int = 0
) -> float:
    """Trains a tiny GPT-2 on sums; returns the share of held-out pairs whose sum it predicts, digit by digit."""
    random.Random(seed).shuffle(pairs := list(PAIRS))
    test, train = pairs[:held_out], pairs[held_out:]
    torch.manual_seed(seed)
    tokenizer = plus_tokenizer()
    backbone = hf.GPT2LMHeadModel(
        hf.GPT2Config(
            vocab_size=len(tokenizer), n_embd=width, n_layer=2, n_head=4, n_positions=32, resid_pdrop=0.0,
            embd_pdrop=0.0, attn_pdrop=0.0, initializer_range=width**-0.5, activation_function="relu",
            bos_token_id=None, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id,
        )
    )  # fmt: skip
    model: Any = numerate.attach(backbone, tokenizer, recipe)
    texts = [f"{a} + {b} = {a + b} <eos>" for a, b in train]
    data = dict(model.processor(texts, padding=True, return_tensors="pt"))
    ids, equals = data["input_ids"], data["input_ids"] == tokenizer.convert_tokens_to_ids("=")
    labels = ids.masked_fill(~((equals.cumsum(1) > 0) & ~equals & (data["attention_mask"] == 1)), -100)
    optimiser = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=steps, pct_start=0.1)
    model.train()
    for _ in range(steps):
        some = torch.randint(len(train), (batch,))
        model(**{key: value[some] for key, value in data.items()}, labels=labels[some]).loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        schedule.step()
    said = model.generate([f"{a} + {b} =" for a, b in test], max_new_tokens=8)
    exact = sum(text.replace("<eos>", "").strip() == str(a + b) for text, (a, b) in zip(said.texts, test, strict=True))
    print(f"{recipe}: {exact} of {held_out}, such as {said.texts[:3]} for {test[:3]}")
    return exact / held_out


@pytest.mark.slow
def test_adds_digit_by_digit() -> None:
    assert share_of_sums("digits", steps=1000, batch=128, rate=3e-3, width=96) >= 0.95


@pytest.mark.slow
def test_adds_with_fourier_features_and_digits_in_parallel() -> None:
    assert share_of_sums("fone", steps=800, batch=128, rate=3e-3, width=96) >= 0.95


def test_an_untrained_model_cannot_add() -> None:
    assert share_of_sums("fone", steps=20, batch=8, rate=1e-3, width=32, held_out=20) < 0.5
