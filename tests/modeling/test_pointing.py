"""Heads that copy earlier numbers: which numbers each prediction may copy, and that copying is learnt."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import NUMBERS, PLAIN, backbone_of, new_backbone, number_batch, tokenizer_of

import numerate
from numerate.heads.pointer import CopiedDistribution
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from pathlib import Path

COPIES = {"kind": "combination", "members": [{"kind": "mog", "granularities": 3}], "copies": True}


def attached(name: str, recipe: str = "float", **options: Any) -> Any:
    torch.manual_seed(0)
    return numerate.attach(backbone_of(name), tokenizer_of(name), recipe, head=COPIES, **options).eval()


def copied(distribution: Any) -> CopiedDistribution:
    assert isinstance(distribution.members[-1], CopiedDistribution)
    return distribution.members[-1]


def support(distribution: Any) -> list[set[float]]:
    """The values that each row can copy."""
    own = copied(distribution)
    rows = zip(own.log_masses.tolist(), own.values.tolist(), strict=True)
    return [{v for mass, v in zip(masses, values, strict=True) if mass > -math.inf} for masses, values in rows]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("recipe", ["float", "luna", "in-place"])  # a token of its own, one beside the subwords, none
def test_only_earlier_numbers_are_copied(recipe: str, side: str) -> None:
    model = attached("gpt2", recipe, objective={"kind": "causal"})
    batch = number_batch(model, "gpt2", [*NUMBERS, PLAIN[0]], side)
    distribution, _ = model.numbers_of(batch)
    expected = []
    for text in NUMBERS:
        values = [number.value for number in model.processor.reader.find(text)]
        expected += [set(values[:place]) for place in range(len(values))]
    assert support(distribution) == expected


@torch.no_grad()
@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_a_later_number_does_not_leak(name: str) -> None:
    model = attached(name, objective={"kind": "causal"} if name == "gpt2" else None)
    texts = ["a 41 and 17 and 23 and 5 cats", "a 41 and 17 and 88 and 5 cats", "a 17 and 17 and 23 and 5 cats"]
    batch = number_batch(model, name, texts)
    if name == "t5":  # the encoder must not see the difference
        batch["input_ids"], batch["number_bits"] = (
            batch[key][:1].expand(3, -1) for key in ("input_ids", "number_bits")
        )
        batch["number_chars"] = batch["number_chars"][:1].expand(3, -1, -1)
    distribution, _ = model.numbers_of(batch)
    assert support(distribution)[:4] == [set(), {41.0}, {41.0, 17.0}, {41.0, 17.0, 23.0}]
    gold = NumberTable.of_values([41, 17, 23, 5] * 3)
    scores = distribution.log_prob(gold).reshape(3, 4)
    torch.testing.assert_close(scores[0, :3], scores[1, :3])  # up to the number that differs
    assert scores[0, 3] != scores[1, 3] and scores[0, 1] != scores[2, 1]


def test_a_masked_number_may_copy_any_other_given_one() -> None:
    model = attached("bert")
    distribution = model.predict(
        ["It rose 3.5 to [NUM] and then to [NUM] or 12.", "[NUM] cats ate 7.", "It rose to [NUM]."]
    )
    assert support(distribution) == [{3.5, 12.0}, {3.5, 12.0}, {7.0}, set()]
    batch = number_batch(model, "bert", NUMBERS)
    model.train()
    model(**batch).loss.backward()
    assert model.head.pointer.query.weight.grad.isfinite().all()


@torch.no_grad()
def test_the_loss_agrees_with_the_distributions() -> None:
    model = attached("gpt2", objective={"kind": "causal"})
    batch = number_batch(model, "gpt2", NUMBERS, side="left")
    distribution, numbers = model.numbers_of(batch)
    whole = model(**batch, return_loss=True)
    words = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)[:, 1:].flatten()
    tokens = torch.nn.functional.cross_entropy(whole.logits[:, :-1].flatten(0, 1), words)
    torch.testing.assert_close(
        -distribution.log_prob(numbers).mean().float(), whole.loss - tokens, rtol=1e-4, atol=1e-4
    )
    asked = model.predict("A cat weighs about 4.5 kg, and another [NUM]")
    again = model.predict(["[NUM]", "A cat weighs about 4.5 kg, and another [NUM]"])
    torch.testing.assert_close(asked.mean(), again.mean()[1:], rtol=1e-5, atol=0)
    assert support(again) == [set(), {4.5}]


def test_save_and_load(tmp_path: Path) -> None:
    model = attached("gpt2", objective={"kind": "causal"})
    model.save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, backbone_of("gpt2"), tokenizer_of("gpt2")).eval()
    batch = number_batch(model, "gpt2", NUMBERS)
    (ours, numbers), (theirs, _) = model.numbers_of(batch), again.numbers_of(batch)
    assert torch.equal(ours.log_prob(numbers), theirs.log_prob(numbers)) and again.head.config.copies


def test_generation_uses_the_other_members() -> None:
    model = attached("gpt2", objective={"kind": "causal"})
    torch.nn.init.constant_(model.own_logits.bias, 50.0)  # numbers only
    (said,) = model.generate(["a 41 and 17 and"], 3).numbers
    assert said and all(len(number.distribution.members) == 1 for number in said)


def test_learns_to_copy() -> None:
    """The third number of each text repeats one of the two before it; the word between tells which."""
    draw = random.Random(0)

    def texts(count: int) -> list[str]:
        pairs = [(draw.randint(1000, 9999), draw.randint(1000, 9999)) for _ in range(count)]
        return [f"a cat {a} on {b} mat {a}" if draw.random() < 0.5 else f"a cat {a} on {b} on {b}" for a, b in pairs]

    torch.manual_seed(0)
    backbone, tokenizer = new_backbone("gpt2"), tokenizer_of("gpt2")
    model = numerate.attach(backbone, tokenizer, "float", head=COPIES, objective={"kind": "causal"})
    model.head.fit(NumberTable.of_values(draw.randint(1000, 9999) for _ in range(500)))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(50):
        optimizer.zero_grad()
        model(**number_batch(model, "gpt2", texts(24)), return_loss=True).loss.backward()
        optimizer.step()
    distribution, numbers = model.numbers_of(number_batch(model, "gpt2", texts(100)))
    first, _, third = (-distribution.log_prob(numbers)).reshape(100, 3).mean(0).tolist()
    # No integer has a higher density than the middle of the narrowest component.
    narrowest = model.head.members[0].spreads.view(torch.float64).min().item()
    least = math.log(narrowest * math.sqrt(2 * math.pi))
    assert least > 6 and first > least
    assert third < 0.6, "a random choice would give ln 2"
