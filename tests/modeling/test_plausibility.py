"""Hidden numbers: asked for as `predict` asks, one at a time, without logits of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from judging_models import judging_model
from tiny_models import NUMBERS, PLAIN, backbone_of, tokenizer_of

import numerate
from numerate.errors import BadInput
from numerate.modeling.plausibility import bits_of, hidden_numbers, slip_scores, tail_of


def attached(recipe: str = "in-place") -> numerate.NumberModel:
    torch.manual_seed(0)
    model = numerate.attach(backbone_of("bert"), tokenizer_of("bert"), recipe, head={"kind": "mixture", "ratios": True})
    with torch.no_grad():
        for key, weight in model.named_parameters():
            if not key.startswith("backbone."):
                weight.add_(0.1 * torch.randn_like(weight))
    return model.eval()


@pytest.mark.parametrize("recipe", ["in-place", "xval", "luna"])
def test_each_number_is_asked_for_as_predict_asks(recipe: str) -> None:
    model = attached(recipe)
    texts = [*NUMBERS, *PLAIN, "It rose 3.2% to $1.5 million."]
    seen = 0
    for batch_tokens in (4096, 40):
        for hidden in hidden_numbers(model, texts, batch_tokens=batch_tokens):
            medians = hidden.numbers.median()
            for at, (row, numeral) in enumerate(zip(hidden.rows, hidden.numerals, strict=True)):
                text = texts[row]
                assert text[numeral.start : numeral.end] == numeral.text
                digits = numeral.text
                if model.processor.shows_scale:  # its percent sign or scale word stays in sight
                    digits = digits.removesuffix("%").removesuffix(" million").removesuffix(" billion")
                place = text.index(digits, numeral.start)
                asked = f"{text[:place]}[NUM]{text[place + len(digits) :]}"
                if "-" in digits:  # a sign belongs to the hidden number
                    continue
                assert float(model.predict(asked).median()[0]) == pytest.approx(float(medians[at]), rel=2e-3)
                seen += 1
    assert seen >= 20


def test_words_have_no_logits_and_numbers_are_the_same() -> None:
    model = attached()
    batch = model.processor(["The tower is [NUM] metres tall, or 12 cats."], return_tensors="pt")
    with torch.no_grad():
        whole, bare = (model(**batch, return_loss=False, word_logits=flag) for flag in (True, False))
    assert bare.logits.shape[:2] == (0, 1) and torch.equal(whole.numbers.median(), bare.numbers.median())


def test_one_number_or_all_at_once() -> None:
    model = attached()
    text = NUMBERS[2]
    place = text.index("12 cats")
    (one,) = hidden_numbers(model, [text], only=[place])
    assert [each.text for each in one.numerals] == ["12"]
    together = list(hidden_numbers(model, [text], together=True))
    alone = list(hidden_numbers(model, [text]))
    assert [each.text for hidden in together for each in hidden.numerals] == [
        each.text for hidden in alone for each in hidden.numerals
    ]
    assert list(hidden_numbers(model, PLAIN)) == [] == list(hidden_numbers(model, []))


def test_scores_follow_the_distribution() -> None:
    model = judging_model()
    texts = ["The tower is 300 metres tall.", "The tower is 3000 metres tall.", "The tower is 30 metres tall."]
    (hidden,) = hidden_numbers(model, texts)
    order = np.argsort(hidden.rows)
    tails, bits = tail_of(hidden.numbers, hidden.targets)[order], bits_of(hidden.numbers, hidden.targets)[order]
    evidence, readings, gains = slip_scores(hidden)
    evidence = evidence[order]
    assert tails[0] > 0.1 > 0.02 > tails[1:].max() and bits[0] < bits[1:].min() - 3
    assert evidence[0] < 0 < 3 < evidence[1:].min()
    # A gain is the ratio of two densities of the signed logarithm; against a density by differences of the cdf.
    at = int(order[1])
    meant = next(k for k, each in enumerate(readings[at]) if each.slip == "factor" and each.written == 300.0)
    near = hidden.numbers[at].cdf([[2999.7, 3000.3, 299.97, 300.03]])[0]
    ratio = (near[3] - near[2]) / (near[1] - near[0])
    assert gains[at][meant] == pytest.approx(float(torch.log2(ratio)), abs=0.05)


def test_models_that_cannot_judge_are_refused() -> None:
    causal = numerate.attach(backbone_of("gpt2"), tokenizer_of("gpt2"), "in-place")
    headless = numerate.attach(backbone_of("bert"), tokenizer_of("bert"), "in-place", head=None)
    for model, said in ((causal, "both sides"), (headless, "no number head")):
        with pytest.raises(BadInput, match=said):
            list(hidden_numbers(model, ["5 km"]))
