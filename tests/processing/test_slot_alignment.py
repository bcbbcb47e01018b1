"""Which tokens write which number, in texts of any length."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tiny_models import TOKENIZERS
from tokenizer_families import make_tokenizer

from numerate.processing import slot_alignment
from numerate.processing.processor import NumberProcessor
from numerate.registry import notations

FAMILIES = ("bert", "roberta", "gpt2", "unigram", "metaspace-first", "llama")
TEXTS = [
    "Take 1½ cups of ٣٤ or 10⁶ at −１２３ m, 7‰ and  3.2 million; it cost $1.5 billion, 12 %, or 7%.",
    "a" * 40 + " 5 km\n\n6 of 7",
    "no number",
]


def processor(family: str, **options: Any) -> NumberProcessor:
    words = TOKENIZERS[family]() if family in TOKENIZERS else make_tokenizer(family)
    return NumberProcessor(words, "standard", notations["keep"].build(slot=True), **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_both_ways_of_searching_agree(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = processor(family)
    words = [text.split() for text in TEXTS]
    for given, options in (
        ((TEXTS,), {}), ((TEXTS, TEXTS[::-1]), {}), ((words,), {"is_split_into_words": True}),
        ((TEXTS,), {"truncation": True, "max_length": 30}), ((TEXTS,), {"padding": True, "padding_side": "left"}),
        ((TEXTS,), {"truncation": True, "max_length": 30, "stride": 5, "return_overflowing_tokens": True}),
    ):  # fmt: skip
        monkeypatch.setattr(slot_alignment, "_SHORT", 10_000)
        short = ours(*given, **options)
        monkeypatch.setattr(slot_alignment, "_SHORT", 0)
        long = ours(*given, **options)
        assert [row for row in short["number_slots"] if any(row)]
        for name in ("input_ids", "number_slots", "number_scale"):
            assert short[name] == long[name], (options, name)


def test_the_lists_of_a_long_text_are_copied_once() -> None:
    """Copied or searched for each number, they would take a time that grows with the square of the text."""
    asked: Counter[str] = Counter()

    class Counting:
        def __init__(self, encoding: Any) -> None:
            self.encoding = encoding

        def __len__(self) -> int:
            return len(self.encoding)

        def __getattr__(self, name: str) -> Any:
            asked[name] += 1
            return getattr(self.encoding, name)

    ours = processor("gpt2")
    encoding: Any = ours.tokenizer("It is 12.5 km. " * 500)
    tokens = slot_alignment._Tokens(Counting(encoding.encodings[0]))
    for number in range(500):
        begin = 15 * number + 6
        first, last = tokens.text(0, None, begin, begin + 4) or (0, 0)
        assert encoding.char_to_token(begin) == first and encoding.char_to_token(begin + 3) == last - 1
    assert asked and max(asked.values()) == 1
