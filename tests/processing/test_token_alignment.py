"""`tokens`, `word_ids`, `sequence_ids`, spans, stride and overflow of a batch, aligned with the original texts."""

from __future__ import annotations

import pickle
from functools import cache
from typing import Any

import pytest
import tokenizer_families as families
import torch
from tiny_models import new_backbone, tokenizer_of

import numerate
from numerate.processing.processor import NumberProcessor
from numerate.registry import notations

PLAIN = ["The tower is tall.", "A cat sat on the mat, and nobody asked why it was built of stone."]
TEXT = "In the 1960s it cost $1,000.50, or -7 (about 2.3% more) than in 1999."
NOTATIONS = {"keep": {"slot": True}, "marker": {}, "addback": {}, "prefix": {}, "p10": {}, "scientific": {}}
METHODS = ("tokens", "word_ids", "sequence_ids")
LEADING = ("bpe-prefix", "unigram", "llama")
"""Families whose tokenizer adds a space at the beginning: the offsets of that space differ."""


@cache
def processor(family: str, notation: str = "marker") -> NumberProcessor:
    return NumberProcessor(families.make_tokenizer(family), notation=notations[notation].build(**NOTATIONS[notation]))


def aligned(batch: Any) -> list[Any]:
    """All that a batch says of its rows."""
    rows = []
    for row, ids in enumerate(batch["input_ids"]):
        said: list[Any] = [getattr(batch, name)(row) for name in METHODS]
        said += [[batch.token_to_word(row, token) for token in range(len(ids))]]
        words = {word for word in batch.word_ids(row) if word is not None}
        rows.append([*said, [batch.word_to_tokens(row, word) for word in sorted(words)]])
    return rows


OPTIONS = [
    {},
    {"padding": True, "truncation": True, "max_length": 12},
    {"truncation": True, "max_length": 9, "stride": 2, "return_overflowing_tokens": True},
]


@pytest.mark.parametrize("family", families.FAMILIES)
@pytest.mark.parametrize("options", OPTIONS)
def test_texts_without_numbers_are_aligned_as_by_the_tokenizer(family: str, options: dict[str, Any]) -> None:
    bare, pairs = families.make_tokenizer(family), (PLAIN, PLAIN[::-1])
    for texts in ((PLAIN,), pairs):
        more = options | ({"max_length": 24} if len(texts) == 2 and "max_length" in options else {})
        for notation in ("keep", "marker", "p10"):
            batch, expected = processor(family, notation)(*texts, **more), bare(*texts, **more)
            assert {key: batch[key] for key in expected} == dict(expected)
            assert batch.is_fast and batch.n_sequences == len(texts)
            assert aligned(batch) == aligned(expected)
            for char in range(0, 60, 7) if family not in LEADING else ():
                for method in (batch.char_to_token, batch.char_to_word):
                    assert method(1, char) == getattr(expected, method.__name__)(1, char)
    words = [text.split() for text in PLAIN]
    batch, expected = (each(words, is_split_into_words=True, **options) for each in (processor(family), bare))
    assert aligned(batch) == aligned(expected)


@pytest.mark.parametrize("family", families.FAMILIES)
@pytest.mark.parametrize("notation", NOTATIONS)
def test_tokens_are_aligned_with_words_and_characters_of_the_text(family: str, notation: str) -> None:
    ours, bare = processor(family, notation), families.make_tokenizer(family)(TEXT)
    batch = ours(TEXT)
    assert len(batch.tokens()) == len(batch["input_ids"]) == len(batch.word_ids())
    names = dict(zip(range(ours.first_id, ours.first_id + len(ours.own_tokens)), ours.own_tokens, strict=True))
    for token, (index, name) in enumerate(zip(batch["input_ids"], batch.tokens(), strict=True)):
        assert index not in names or name == names[index]
        assert batch.encodings[0].ids[token] == index
        assert (batch.token_to_chars(token) is None) == (batch.sequence_ids()[token] is None)
    order = [word for word in batch.word_ids() if word is not None]
    assert order == sorted(order) and set(order) <= set(bare.word_ids())
    for slot, numeral in enumerate(batch.numerals[0], 1):
        assert numeral is not None
        first = batch.char_to_token(numeral.start)
        assert first is not None and abs(batch["number_slots"][first]) == slot
        if notation == "marker":
            assert TEXT[slice(*batch.token_to_chars(first))] == numeral.text
            assert batch.token_to_word(first) == bare.char_to_word(numeral.start) == batch.char_to_word(numeral.start)
            for word in {bare.char_to_word(char) for char in range(numeral.start, numeral.end)} - {None}:
                begin, end = batch.word_to_tokens(word)
                assert begin <= first < end, "also a further word of the number"
                assert batch.word_to_chars(word) == bare.word_to_chars(word)
    for char in range(len(TEXT)):  # every character that had a token still has one
        assert (batch.char_to_token(char) is None) <= (bare.char_to_token(char) is None)


@pytest.mark.parametrize("notation", NOTATIONS)
def test_words_given_by_the_user_keep_their_numbers(notation: str) -> None:
    """For token classification: the label of a word goes to the tokens with its index."""
    words = ["It", "cost", "$1,000.50", "in", "the", "1960s", "."]
    ours = processor("wordpiece", notation)
    batch = ours([words, words[:3]], is_split_into_words=True, padding=True)
    found = [word for word in batch.word_ids(0) if word is not None]
    assert sorted(set(found)) == list(range(7)) and found == sorted(found)
    begin, end = batch.word_to_tokens(0, 2)
    slots = batch["number_slots"][0][begin:end]
    assert {abs(slot) for slot in slots} <= {0, 1} and any(slots) == ours.has_slots
    assert batch.word_ids(1)[-1] is None, "padding belongs to no word"


@pytest.mark.parametrize("notation", NOTATIONS)
def test_long_texts_overflow_into_rows_with_their_own_numbers(notation: str) -> None:
    ours, question = processor("wordpiece", notation), "How much did it cost?"
    texts = [TEXT, "No.", TEXT + " " + TEXT]
    batch = ours(
        [question] * 3, texts, truncation="only_second", max_length=44, stride=8, padding="max_length",
        return_overflowing_tokens=True, return_offsets_mapping=True, return_tensors="pt",
    )  # fmt: skip
    samples = batch["overflow_to_sample_mapping"].tolist()
    assert samples == sorted(samples) and set(samples) == {0, 1, 2} and len(samples) > 4
    assert len(batch["input_ids"]) == len(samples) == len(batch["number_bits"]) == len(batch.numerals)
    seen: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    for row, sample in enumerate(samples):
        assert batch.sequence_ids(row).count(0) == len(ours(question, add_special_tokens=False)["input_ids"])
        for slot, numeral in enumerate(batch.numerals[row], 1):
            assert texts[sample][numeral.start : numeral.end] == numeral.text
            seen[sample].add(numeral.start)
            place = (batch["number_slots"][row] == slot).nonzero()[0, 0]
            begin, end = batch["offset_mapping"][row][place].tolist()
            assert numeral.start <= begin < end <= numeral.end or notation == "keep"
            assert (begin, end) == tuple(batch.token_to_chars(row, int(place)))
    expected = [5, 0, 10] if ours.has_slots else [0, 0, 0]
    assert [len(starts) for starts in seen.values()] == expected, "each number is in some row"


def test_one_long_text_gives_rows() -> None:
    batch = processor("bpe")(TEXT, truncation=True, max_length=12, return_overflowing_tokens=True)
    assert len(batch["input_ids"]) > 1 and set(batch["overflow_to_sample_mapping"]) == {0}


def test_batches_are_pickled_with_and_without_their_alignment() -> None:
    batch = processor("wordpiece")([TEXT])
    assert pickle.loads(pickle.dumps(batch))["input_ids"] == batch["input_ids"]
    tokens = batch.tokens()
    again = pickle.loads(pickle.dumps(batch))
    assert again.tokens() == tokens and again.numerals == batch.numerals
    assert batch[:1].keys() == batch.data.keys() and batch[0].tokens == tokens


def test_question_answering_learns_from_overflowing_rows() -> None:
    """Positions of an answer by `char_to_token`, as in any question answering script."""
    model = numerate.attach(new_backbone("answerer"), tokenizer_of("answerer"))
    answer = TEXT.index("1,000.50"), TEXT.index("1,000.50") + len("1,000.50")
    options: Any = {"truncation": "only_second", "max_length": 40, "stride": 8, "padding": True, "return_tensors": "pt"}
    batch = model.processor("How much?", TEXT, return_overflowing_tokens=True, **options)
    starts, ends = ([batch.char_to_token(row, at, 1) or 0 for row in range(len(batch["input_ids"]))]
                    for at in (answer[0], answer[1] - 1))  # fmt: skip
    assert any(starts) and all(start <= end for start, end in zip(starts, ends, strict=True))
    fields = {key: value for key, value in batch.items() if key != "overflow_to_sample_mapping"}
    output = model(**fields, start_positions=torch.tensor(starts), end_positions=torch.tensor(ends))
    assert output.loss.isfinite()
