"""`numbers_of`: predictions of every number of a batch from the text before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import CAUSAL, NUMBERS, PLAIN, backbone_of, number_batch, open_features, tokenizer_of

import numerate
from numerate.processing.slot_positions import first_tokens, last_tokens

if TYPE_CHECKING:
    from pathlib import Path

FEATURES: dict[str, Any] = {"reach": 1, "late_reach": 2, "relations": 1, "head": {"kind": "mixture", "ratios": True}}
"""Everything through which a number affects other tokens and numbers."""


def attached(name: str, recipe: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return numerate.attach(backbone_of(name), tokenizer_of(name), recipe, **options)


@pytest.mark.parametrize("name", CAUSAL)
@pytest.mark.parametrize("features", [{"head": "mixture"}, FEATURES], ids=["plain", "features"])
def test_numbers_are_predicted_from_the_text_before(name: str, features: dict[str, Any]) -> None:
    model = open_features(attached(name, "float", objective={"kind": "causal"}, **features)).train()
    seen, numbers = model.numbers_of(number_batch(model, name, NUMBERS))
    assert model.training, "the mode is restored"
    found = [(text, number) for text in NUMBERS for number in model.processor.reader.find(text)]
    assert numbers.values().tolist() == [number.value for _, number in found]
    # Each distribution is that of a number asked for at the end of the text before it.
    asked = torch.cat([model.predict(text[: number.start] + "[NUM]").median() for text, number in found])
    torch.testing.assert_close(seen.median(), asked, rtol=1e-4, atol=1e-9)


@torch.no_grad()
@pytest.mark.parametrize("recipe", ["float", "luna", "value-prefix", "in-place"])  # all places of a number's vector
def test_a_number_affects_only_what_comes_after_it(recipe: str) -> None:
    model = open_features(attached("gpt2", recipe, objective={"kind": "causal"}, **FEATURES))
    batch = number_batch(model, "gpt2", NUMBERS[2:])
    slots, count = batch["number_slots"], batch["number_bits"].shape[1]
    first, last = first_tokens(slots, count, written=True)[0].tolist(), last_tokens(slots, count)[0].tolist()
    before = model(**batch, every_number=True)
    for k in range(count):
        changed = batch | {key: batch[key].clone() for key in ("number_bits", "number_chars")}
        changed["number_bits"][0, k] = torch.tensor(77.5, dtype=torch.float64).view(torch.int64)
        changed["number_chars"][0, k] = changed["number_chars"][0, (k + 2) % count]
        after = model(**changed, every_number=True)
        torch.testing.assert_close(after.logits[0, : first[k]], before.logits[0, : first[k]])
        torch.testing.assert_close(after.numbers[: k + 1].median(), before.numbers[: k + 1].median())
        moved = (after.logits - before.logits)[0, last[k] :].abs().amax(-1)
        assert bool((moved[1:3] > 1e-3).all()), f"number {k} does not change the tokens after it"
        rest = (after.numbers[k + 1 :].median(), before.numbers[k + 1 :].median())
        assert not (rest[0] == rest[1]).any(), f"number {k} does not change the numbers after it"


def test_features_of_causal_models_are_trained_and_saved(tmp_path: Path) -> None:
    model = open_features(attached("llama", "in-place", **FEATURES))
    batch = number_batch(model, "llama", NUMBERS)
    model.train()(**batch).loss.backward()
    for weight in (model.reach.maps, model.late_reach.maps, model.relations.network[1].weight):
        assert float(weight.grad.abs().sum()) > 0
    assert (len(model.reach.maps), len(model.late_reach.maps), model.relations.steps) == (1, 2, [-1])
    model.zero_grad(set_to_none=True)
    model.eval().save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, backbone_of("llama"), tokenizer_of("llama")).eval()
    with torch.no_grad():
        torch.testing.assert_close(again(**batch).logits, model(**batch).logits)


@torch.no_grad()
def test_distributions_agree_with_the_loss() -> None:
    model = attached("gpt2", "luna", head={"kind": "mixture", "written": True}, objective={"kind": "causal"}).eval()
    batch = number_batch(model, "gpt2", NUMBERS, side="left")
    seen, numbers = model.numbers_of(batch)
    whole = model(**batch, return_loss=True)
    words = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)[:, 1:].flatten()
    tokens = torch.nn.functional.cross_entropy(whole.logits[:, :-1].flatten(0, 1), words)
    torch.testing.assert_close(-seen.log_prob(numbers).mean().float(), whole.loss - tokens, rtol=1e-4, atol=1e-4)
    both = model(**batch, every_number=True)
    assert torch.equal(both.logits, whole.logits) and torch.equal(both.numbers.mean(), seen.mean())
    rows, places = both.number_index.unbind(1)
    assert torch.equal(batch["number_bits"][rows, places], numbers.bits)


def test_a_number_at_the_beginning_of_a_text_is_left_out() -> None:
    model = attached("gpt2", "luna", head="mixture", objective={"kind": "causal"})
    batch = number_batch(model, "gpt2", ["7 cats and 12 dogs", "it rose to [NUM] or 3"])
    seen, numbers = model.numbers_of(batch)
    assert numbers.values().tolist() == [12.0, 3.0] and len(seen) == 2


def test_no_numbers_at_all() -> None:
    model = attached("gpt2", "luna", head="mixture", objective={"kind": "causal"})
    seen, numbers = model.numbers_of(number_batch(model, "gpt2", PLAIN))
    assert len(seen) == len(numbers) == 0
    assert seen.log_prob(numbers).shape == seen.median().shape == (0,)


def test_an_encoder_decoder_predicts_the_numbers_of_its_answer() -> None:
    model = attached("t5", "luna", head="mixture", objective=None)
    batch = number_batch(model, "t5", NUMBERS)
    answer = model.processor(NUMBERS[::-1], padding=True, return_tensors="pt")
    batch["labels"] = answer["input_ids"].masked_fill(answer["attention_mask"] == 0, -100)
    batch |= {f"decoder_{key}": value for key, value in answer.items() if key.startswith("number_")}
    _, numbers = model.numbers_of(batch)
    said = [number.value for text in NUMBERS[::-1] for number in model.processor.reader.find(text)]
    assert numbers.values().tolist() == said


def test_models_that_cannot_predict_are_refused() -> None:
    model = attached("bert", "luna", head="mixture")
    with pytest.raises(ValueError, match="reads from left to right, got 'masked-lm'"):
        model.numbers_of(number_batch(model, "bert", NUMBERS))
    model = attached("gpt2", "num")
    with pytest.raises(ValueError, match="no number head"):
        model.numbers_of(number_batch(model, "gpt2", NUMBERS))
    model = attached("gpt2", "luna", head="mixture")
    with pytest.raises(ValueError, match="no number table; it has input_ids"):
        model.numbers_of({"input_ids": torch.tensor([[1, 2, 3]])})


@torch.no_grad()
@pytest.mark.parametrize("name", [*CAUSAL, "bert"])
def test_a_text_alone_equals_itself_in_a_batch_padded_on_the_left(name: str) -> None:
    model = attached(name, "in-place", **({} if name == "bert" else FEATURES)).eval()
    options: dict[str, Any] = {"padding": True, "padding_side": "left", "return_tensors": "pt"}
    batch = model.processor(NUMBERS, **options)
    together, row = model(**batch), 0
    for index, text in enumerate(NUMBERS):
        alone = model.processor(text, return_tensors="pt")
        length = alone["input_ids"].shape[1]
        torch.testing.assert_close(together.logits[index, -length:], model(**alone).logits[0], rtol=1e-4, atol=1e-5)
        if name != "bert":
            numbers, _ = model.numbers_of(alone)
            seen = model.numbers_of(batch)[0][row : row + len(numbers)]
            torch.testing.assert_close(seen.median(), numbers.median(), rtol=1e-4, atol=1e-9)
            row += len(numbers)
