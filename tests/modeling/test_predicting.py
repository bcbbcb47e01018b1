"""`predict` on long texts, on no texts and of untrained models; what `fit` takes; tokenizers that do not fit."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from tiny_models import ASKING, KINDS, NUMBERS, PLAIN, new_backbone, number_batch, tokenizer_of

import numerate
from numerate.errors import BadInput
from numerate.modeling.fitting import fit_parts
from numerate.processing.number_table import NumberTable
from numerate.processing.scaling import Scaling

if TYPE_CHECKING:
    from pathlib import Path

LONG = "The tower is [NUM] metres tall" + ", and the river is wide" * 60


def attached(name: str = "bert", recipe: str | None = "in-place", **options: Any) -> Any:
    torch.manual_seed(0)
    return numerate.attach(new_backbone(name), tokenizer_of(name), recipe, **options).eval()


@pytest.mark.parametrize("name", ["bert", "roberta", "gpt2"])
@pytest.mark.parametrize("recipe", ["in-place", "luna-replace"])
def test_long_texts_are_cut_as_in_training(name: str, recipe: str) -> None:
    model = attached(name, recipe)
    assert len(model.predict([LONG, *ASKING])) == 4
    late = "so it was, and " * 60 + "the tower is [NUM] metres tall"
    with pytest.raises(BadInput, match=r"\[NUM\] of text 1 is not among its first 12[68] tokens: shorten the text"):
        model.predict([ASKING[0], late])
    with pytest.raises(BadInput, match=r"text 1 has no \[NUM\], .* got 'no gap'"):
        model.predict([ASKING[0], "no gap"])


def test_texts_are_cut_at_the_length_of_the_training(tmp_path: Path) -> None:
    model = attached()
    whole = model.predict(LONG).median()
    model.max_tokens = 16
    short = model.predict(LONG).median()
    assert not torch.equal(whole, short)
    model.save_pretrained(tmp_path)
    again = numerate.from_pretrained(tmp_path, new_backbone("bert"), tokenizer_of("bert"))
    assert again.max_tokens == 16 and torch.equal(again.predict(LONG).median(), short)


@pytest.mark.parametrize("head", numerate.heads.names())
def test_no_texts_give_no_distributions(head: str) -> None:
    found = attached("bert", "in-place", head=head, fit=[1.0, 2.0, 30.0]).predict([])
    assert found.median().shape == (0,)


def test_no_texts_of_an_encoder_decoder() -> None:
    assert attached("t5").predict([]).median().shape == (0,)


def test_an_untrained_head_says_so(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    model = attached(fit=NUMBERS)
    for _ in range(2):
        model.predict(ASKING)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING and "has not been trained on numbers" in record.message
    caplog.clear()
    for texts, trained in ((PLAIN, False), (NUMBERS, True)):  # texts without numbers teach a head nothing
        model = attached(fit=NUMBERS)
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
        for seed in range(3):
            torch.manual_seed(seed)
            model.train()(**number_batch(model, "bert", texts)).loss.backward()
            optimiser.step()
            optimiser.zero_grad()
        model.save_pretrained(tmp_path / str(trained))
        again = numerate.from_pretrained(tmp_path / str(trained))
        assert again.fitted
        for either in (model, again):
            either.predict(ASKING)
            assert len(caplog.records) == (not trained), trained
            caplog.clear()


def test_a_model_that_was_not_fitted_is_loaded_as_such(tmp_path: Path) -> None:
    attached().save_pretrained(tmp_path)
    assert not numerate.from_pretrained(tmp_path, new_backbone("bert"), tokenizer_of("bert")).fitted


VALUES = [1.5, -2.0, 300.0, 45.0, 7.0]


@pytest.mark.parametrize(
    "data",
    [
        VALUES, tuple(VALUES), iter(VALUES), torch.tensor(VALUES), torch.tensor(VALUES).view(5, 1), np.array(VALUES),
        [torch.tensor(value) for value in VALUES], NumberTable.of_values(VALUES),
        numerate.find("1.5 and -2, then 300, 45 and 7"), [f"It is {value:g}." for value in VALUES],
    ],
    ids=["list", "tuple", "iterator", "tensor", "matrix", "array", "tensors", "table", "numerals", "texts"],
)  # fmt: skip
def test_fit_takes_numbers_and_texts(data: Any) -> None:
    data = list(data) if hasattr(data, "__next__") else data  # an iterator lives for one use
    model, other = attached(fit=data), attached()
    fit_parts(other, data)
    for key, value in attached(fit=VALUES).own_state().items():
        assert torch.equal(model.own_state()[key], value) and torch.equal(other.own_state()[key], value), key
    assert model.fitted and other.fitted


def test_what_fit_does_not_take() -> None:
    for data, message in (
        ("It is 5.", "fit must be an iterable of texts, got one text"),
        ([1.0, "It is 5."], "fit must have numbers or texts, not both"),
        ([object()], "fit takes texts or numbers, got object"),
    ):
        with pytest.raises(TypeError, match=message):
            attached(fit=data)
    for empty in ([], PLAIN, torch.zeros(0)):
        with pytest.raises(ValueError, match="fit has no numbers"):
            attached(fit=empty)
    assert attached(recipe="none", fit=PLAIN).fitted, "nothing depends on data there"
    by_field = Scaling(by="unit", scaler="range").fit(numerate.find("5 km, 7 kg, 9 km"))
    with pytest.raises(ValueError, match="numbers without a text cannot be scaled by unit: give texts"):
        attached(recipe="xval", scaling=by_field, fit=VALUES)


# Tokenizers.


def test_a_tokenizer_without_padding_can_be_asked_as_one_with_it() -> None:
    """GPT-2's tokenizer has no padding token; `generate` filled rows without one, and `predict` could not."""
    import copy

    words = copy.deepcopy(tokenizer_of("gpt2"))
    words.pad_token = None
    torch.manual_seed(0)
    bare = numerate.attach(new_backbone("gpt2"), words, "in-place").eval()
    answers = bare.predict(ASKING).median()
    assert torch.equal(answers, attached("gpt2").predict(ASKING).median()) and words.pad_token is None
    assert torch.allclose(answers[:1], bare.predict(ASKING[0]).median())


@pytest.mark.parametrize(("backbone", "words"), [("bert", "roberta"), ("bert", "gpt2"), ("classifier", "llama")])
def test_a_tokenizer_with_too_many_ids_is_refused(backbone: str, words: str) -> None:
    with pytest.raises(ValueError, match=r"the tokenizer has \d+ ids, the backbone \d+ token embeddings"):
        numerate.attach(new_backbone(backbone), tokenizer_of(words), "in-place")


def test_a_special_token_outside_of_the_embeddings_is_refused() -> None:
    import copy

    words = copy.deepcopy(tokenizer_of("bert"))
    words.add_special_tokens({"pad_token": "<late>"})
    with pytest.raises(ValueError, match=r"pad_token '<late>' has the id \d+.*resize_token_embeddings"):
        numerate.attach(new_backbone("bert"), words, "in-place")
    spare = copy.deepcopy(tokenizer_of("bert"))
    spare.add_tokens(["<image>"])  # as in text-only models of a larger family
    numerate.attach(new_backbone("bert"), spare, "in-place")


def test_a_tokenizer_of_another_family_is_refused() -> None:
    # As BERT's tokenizer beside RoBERTa: far fewer ids, and every special token has another id.
    wide = new_backbone("roberta")
    wide.resize_token_embeddings(900)
    with pytest.raises(ValueError, match="does not belong to the backbone"):
        numerate.attach(wide, tokenizer_of("bert"), "in-place")
    numerate.attach(new_backbone("roberta"), tokenizer_of("roberta"), "in-place")


@pytest.mark.parametrize("name", KINDS)
def test_a_tokenizer_of_its_own_is_taken(name: str) -> None:
    numerate.attach(new_backbone(name), tokenizer_of(name), "in-place")


def test_targets_are_one_or_as_many_as_texts() -> None:
    model = attached("t5", None)
    with pytest.raises(ValueError, match="target must be one text or one for each of 1 texts, got 2"):
        model.predict(["a 5"], ["x [NUM]", "y [NUM]"])


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_threads_are_answered_one_after_the_other(name: str) -> None:
    """As in a web service: their states must not be mixed up."""
    model = numerate.attach(new_backbone(name), tokenizer_of(name), fit=[5.0, 7.0, 12.0]).eval()
    texts = [f"It is [NUM] m of {count}" + " tall" * count for count in range(1, 9)]
    expected = [model.predict(text).median().item() for text in texts]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda text: model.predict(text).median().item(), texts * 4))
        assert found == expected * 4
        if name == "gpt2":
            written = list(threads.map(lambda text: model.generate(text.split("[")[0], 3).ids, texts))
            assert written == [model.generate(text.split("[")[0], 3).ids for text in texts]


def test_a_text_without_a_gap_is_refused() -> None:
    model = numerate.attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", fit=[1.0, 2.0])
    with pytest.raises(
        ValueError, match=r"text 1 has no \[NUM\], as in 'It is \[NUM\] km long.': got 'The tower is tall.'"
    ):
        model.predict(["It is [NUM] m.", "The tower is tall."])
    assert len(model.predict(["[NUM] km and [NUM] kg.", "It is [NUM] m."])) == 3
    with pytest.raises(
        ValueError, match=r"input_ids must be a tensor, got 'It is 5 m.': call model\(\*\*model.processor"
    ):
        model("It is 5 m.")
    with pytest.raises(TypeError, match="a processor takes a text or a list of texts, got None"):
        model.processor(None)
