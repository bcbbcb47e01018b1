"""Texts that are given as token ids, also as ids that the tokenizer itself would not make of the text."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tiny_models import TOKENIZERS
from tokenizer_families import make_tokenizer

from numerate.processing.processor import NumberProcessor
from numerate.processing.token_ids import read_ids
from numerate.registry import notations

TEXT = "about 45 kg of ٣٤ x, −5 or 10⁶ and ½; 1,234.5 of １２３ m. "


def pieces_of(words: Any, ids: list[int], draw: random.Random) -> list[int]:
    """Ids of the same text in smaller pieces, where the vocabulary has them."""
    made: list[int] = []
    known = words.get_vocab()
    for token in words.convert_ids_to_tokens(ids):
        cut = draw.randint(1, max(1, len(token) - 1))
        parts = [token[:cut], token[cut:]]
        is_byte = token.startswith("<0x")
        made += [known[part] for part in parts] if not is_byte and all(p in known for p in parts) else [known[token]]
    return made


@pytest.mark.parametrize("family", ["gpt2", "llama", "bpe", "metaspace-first", "llama-family"])
def test_ids_in_other_pieces_have_the_same_numbers(family: str) -> None:
    """Every byte of a character of a number belongs to it, and long texts are decoded piece by piece."""
    words: Any = TOKENIZERS[family]() if family in TOKENIZERS else make_tokenizer(family.removesuffix("-family"))
    ours = NumberProcessor(words, "standard", notations["keep"].build(slot=True))
    for times in (1, 7):
        ids = words(TEXT * times, add_special_tokens=False)["input_ids"]
        other = pieces_of(words, ids, random.Random(times))
        assert other != ids and words.decode(other) == words.decode(ids)
        usual, fields = read_ids(ours, ids), read_ids(ours, other)
        assert fields["number_bits"].tolist() == usual["number_bits"].tolist(), "the same numbers"

        def written(of: list[int], slots: list[int], number: int) -> str:
            return words.decode([token for token, slot in zip(of, slots, strict=True) if slot == number]).strip()

        for number in range(1, len(usual["number_bits"]) + 1):
            assert written(other, fields["number_slots"], number) == written(ids, usual["number_slots"], number)


def test_every_byte_of_a_number_belongs_to_it() -> None:
    words: Any = TOKENIZERS["gpt2"]()
    ours = NumberProcessor(words, "standard", notations["keep"].build(slot=True))
    whole = ours(TEXT)
    pieces = [piece for token in words.convert_ids_to_tokens(whole["input_ids"]) for piece in token]
    fields = read_ids(ours, words.convert_tokens_to_ids(pieces))
    for names, slots in (
        (words.convert_ids_to_tokens(whole["input_ids"]), whole["number_slots"]), (pieces, fields["number_slots"]),
    ):  # fmt: skip
        for number, numeral in enumerate(whole.numerals[0], start=1):
            own = "".join(token for token, slot in zip(names, slots, strict=True) if slot == number)
            assert len(own.removeprefix("Ġ")) == len(numeral.text.encode()), numeral
