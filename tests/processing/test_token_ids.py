"""Texts that are given as token ids, also as ids that the tokenizer itself would not make of the text."""

from __future__ import annotations

from typing import Any

from tiny_models import tokenizer_of

from numerate.processing.processor import NumberProcessor
from numerate.processing.token_ids import read_ids
from numerate.registry import notations


def test_every_byte_of_a_number_belongs_to_it() -> None:
    words: Any = tokenizer_of("gpt2")
    ours = NumberProcessor(words, "standard", notations["keep"].build(slot=True))
    for text in ("about 45 kg of ٣٤ x", "−5 or 10⁶ and ½"):
        whole = ours(text)
        pieces = [piece for token in words.convert_ids_to_tokens(whole["input_ids"]) for piece in token]
        fields = read_ids(ours, words.convert_tokens_to_ids(pieces))
        assert words.decode(fields["input_ids"]) == text
        numerals = whole.numerals[0]
        assert fields["number_bits"].tolist() == [int(bits) for bits in whole["number_bits"]]
        for slots in (whole["number_slots"], fields["number_slots"]):
            bytes_of = words.convert_ids_to_tokens(whole["input_ids"]) if slots is whole["number_slots"] else pieces
            for number, numeral in enumerate(numerals, start=1):
                own = "".join(token for token, slot in zip(bytes_of, slots, strict=True) if slot == number)
                assert len(own.removeprefix("Ġ")) == len(numeral.text.encode()), (text, numeral)
