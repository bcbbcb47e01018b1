"""Passages around the gaps of long texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from numerate.apps import gap_passages
from numerate.apps.gap_passages import passages_of


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A model that reads 32 tokens, one for each word and two beside them."""
    monkeypatch.setattr(gap_passages, "most_tokens", lambda model: model.most)
    return SimpleNamespace(most=32, processor=lambda text, **_: {"input_ids": [0, *text.split(), 0]})


def test_short_texts_stay_whole(model: Any) -> None:
    text = "It is [NUM] m. " * 7
    assert passages_of(model, text, ("[NUM]",)) == [text]
    assert passages_of(SimpleNamespace(most=None), "word " * 99 + "[NUM]", ("[NUM]",)) == ["word " * 99 + "[NUM]"]


def test_each_gap_stands_once_with_words_beside_it(model: Any) -> None:
    words = [f"w{k}" for k in range(200)]
    for places in ([0], [199], [3, 5, 90, 100, 150], list(range(0, 200, 2))):
        some = ["[NUM]" if at in places else word for at, word in enumerate(words)]
        found = passages_of(model, " ".join(some), ("[NUM]",))
        assert sum(each.count("[NUM]") for each in found) == len(places)
        assert all(len(each.split()) <= 30 and each in " ".join(some) for each in found)
        assert all("w" in each for each in found)
    (only,) = passages_of(model, " ".join([*words[:100], "[NUM]", *words[100:]]), ("[NUM]",))
    assert len(only.split()) == 30 and only.split()[15] == "[NUM]"


def test_only_words_near_a_gap_are_counted(model: Any) -> None:
    counted: list[str] = []

    def processor(text: str, **_: Any) -> dict[str, Any]:
        counted.append(text)
        return {"input_ids": [0, *text.split(), 0]}

    words = [f"w{k}" for k in range(5000)]
    model.processor = processor
    found = passages_of(model, " ".join([*words, "[NUM]", *words, "[NUM]", *words]), ("[NUM]",))
    assert [each.count("[NUM]") for each in found] == [1, 1] and all(len(each.split()) == 30 for each in found)
    assert len(counted) < 200


def test_a_word_that_is_too_long_is_left_to_the_model(model: Any) -> None:
    model.processor = lambda text, **_: {"input_ids": list(text)}
    text = "x" * 100 + "[NUM]"
    assert passages_of(model, text, ("[NUM]",)) == [text]
