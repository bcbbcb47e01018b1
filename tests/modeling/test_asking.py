"""Predicted numbers in the units and in the style of their texts."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.heads.rescaled import RescaledDistribution
from numerate.processing.scaling import Scaling


@pytest.fixture(scope="module")
def model() -> Any:
    torch.manual_seed(0)
    return numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place").eval()


def test_best_numbers_are_written_as_the_text_writes_numbers(model: Any) -> None:
    texts = [
        "The car weighs [NUM] kg and costs 25,000 dollars.",
        "Das Auto wiegt [NUM] kg und kostet 25.000,50 Euro.",
        "It weighs [NUM] kg in 2019.",
        "It fell by −3 degrees and then by [NUM] to 1 234 567 or so.",
    ]
    found = model.predict(texts)
    styles = [context.style for context in found.contexts]
    assert [(style.group, style.point, style.negative) for style in styles] == [
        (",", ".", "-"), (".", ",", "-"), ("", ".", "-"), (" ", ".", "−"),
    ]  # fmt: skip
    for row, style in zip(found, styles, strict=True):
        for each in row.best(20)[0]:
            assert each.text == numerate.render(
                numerate.numerals.style.Style(
                    group=style.group, point=style.point, negative=style.negative,
                    decimals=len(each.text.partition(style.point)[2]) if "e" not in each.text else 0,
                ),
                each.value,
            ) or "e" in each.text  # fmt: skip
    assert found[2:].contexts == found.contexts[2:] and found[[3, 0]].contexts[1] == found.contexts[0]


def test_numerals_with_the_sign_behind_the_gap_are_the_written_number(model: Any) -> None:
    found = model.predict(["Costs rose [NUM]%.", "Costs rose [NUM]."])
    assert [context.power for context in found.contexts] == [-2, 0]
    percent, plain = found
    [numeral] = numerate.find("Costs rose 3.2%.")
    assert float(percent.log_prob(numeral)) == float(percent.log_prob(3.2)) != float(percent.log_prob(0.032))
    assert float(plain.cdf(numeral)) == float(plain.cdf(0.032))
    assert found.cdf(numeral).tolist() == found.cdf([3.2, 0.032]).tolist() == found.cdf([numeral] * 2).tolist()
    with pytest.raises(ValueError, match="2 rows with different units take 1 or 2 numerals, got 3"):
        found.cdf([numeral] * 3)
    [large], [million] = numerate.find("1.5 billion"), model.predict("[NUM] million people")
    assert float(million.log_prob(large)) == float(million.log_prob(1500))


def test_a_number_whose_scale_stands_at_another_number(model: Any) -> None:
    found = model.predict(["It costs $[NUM]-65 million.", "It costs $43-[NUM] million.", "It rose [NUM] to 9%."])
    assert [(context.power, context.style.power) for context in found.contexts] == [(6, 0), (6, 0), (-2, 0)]
    [numeral, *_] = numerate.find("It costs $43-65 million.")
    assert float(found[0].log_prob(numeral)) == float(found[0].log_prob(43.0))
    for row in (found[0], found[2]):
        for each in row.best(20)[0]:
            assert float(each.text.replace(",", "")) == pytest.approx(each.value, rel=1e-6)


def test_predictions_are_in_the_units_of_the_text_under_scaling() -> None:
    numerals = numerate.find("between 1000 and 1001 metres")
    scaling = Scaling(by="none", scaler="range").fit(numerals)
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "xval", scaling=scaling).eval()
    found = model.predict(["It is [NUM] m and [NUM] m."])
    assert isinstance(found, RescaledDistribution) and len(found) == 2
    torch.testing.assert_close(found.median(), 1000.5 + found.scaled.median() / 10)
    assert bool((found.interval(0.9)[0] > 900).all())


def test_each_field_has_its_own_scaler() -> None:
    texts = ['{"mass": 3.5, "age": 7000}', '{"mass": 4.5, "age": 3000}']
    numerals = [numeral for row in numerate.find_batch(texts, reader="records") for numeral in row]
    scaling = Scaling(by="path", scaler="range").fit(numerals)
    backbone, tokenizer = new_backbone("bert"), tokenizer_of("bert")
    model = numerate.attach(backbone, tokenizer, "xval", reader="records", scaling=scaling).eval()
    found: Any = model.predict(['{"mass": [NUM], "age": [NUM]}', '{"age": [NUM]}'])
    assert found.keys == ("mass", "age", "age")
    torch.testing.assert_close(
        found.median(), torch.tensor([4, 5000, 5000]) + found.scaled.median() * torch.tensor([0.1, 400, 400])
    )
    assert scaling.unseen == {}


def test_an_encoder_decoder_answers_in_the_style_of_its_target() -> None:
    model = numerate.attach(new_backbone("t5"), tokenizer_of("t5"), "luna").eval()
    found = model.predict("How much?", "from 12,500 to [NUM]")
    assert found.contexts is not None and found.contexts[0].style.group == ","
