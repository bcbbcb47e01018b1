"""The tokenizer for records: as compact as xVal's, and no text is lost."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numerate.processing.processor import NumberProcessor
from numerate.processing.record_tokenizer import BRACKETS, SPECIALS, record_keys, record_tokenizer


def planets(planets: int, steps: int, seed: int = 0) -> dict[str, Any]:
    """A record in the form of xVal's planets, with random numbers."""
    rng = random.Random(seed)
    about: dict[str, Any] = {f"planet{i}": {key: rng.uniform(-3, 3) for key in "mae"} for i in range(planets)}
    about["stepsize"] = rng.uniform(0.2, 0.8)
    return {
        "description": about,
        "data": [[[rng.gauss(0, 1), rng.gauss(0, 1)] for _ in range(planets)] for _ in range(steps)],
    }


@pytest.mark.parametrize(("end", "expected"), [(False, 766), (True, 767)])
def test_as_compact_as_xval(end: bool, expected: int) -> None:
    text = str(planets(4, 59)).replace(" ", "")
    processor = NumberProcessor(record_tokenizer([text], add_end=end), "records", "marker", implied_commas=True)
    batch = processor(text)
    assert len(batch["input_ids"]) == expected
    assert len(batch["number_bits"]) == 4 * 3 + 1 + 4 * 59 * 2
    assert processor.decode(batch["input_ids"], batch.numerals[0], skip_special_tokens=True) == text
    # With the spaces of `repr` it takes the same number of tokens.
    loose = processor(str(planets(4, 59)))
    assert len(loose["input_ids"]) == expected
    assert processor.decode(loose["input_ids"], loose.numerals[0], skip_special_tokens=True) == str(planets(4, 59))


TOKENIZER = record_tokenizer(["{'m': 1, 'my key': [[1,2],[3]]}", '{"x":{}}'], words=["Earth", "the sea"])


@given(
    st.one_of(
        st.text(), st.lists(st.sampled_from([*BRACKETS, *"'\":{}", "'m':", "'m': ", "Earth", "é", "7"])).map("".join)
    )
)
def test_every_text_is_restored(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError:
        return  # no tokenizer takes half a surrogate pair
    assert TOKENIZER.decode(TOKENIZER(text)["input_ids"]) == text


@given(
    st.lists(st.sampled_from([*BRACKETS, "'m':", '"x": ', "7", "-1.5", ", ", ",", " ", "é", "nan", "[NUM]"])).map(
        "".join
    )
)
def test_records_with_numbers_are_restored(text: str) -> None:
    for commas in (False, True):
        processor = NumberProcessor(TOKENIZER, "records", "marker", implied_commas=commas)
        batch = processor(text)
        if commas and "[NUM]" in text:
            continue  # the space beside [NUM] is not restored
        assert processor.decode(batch["input_ids"], batch.numerals[0]) == text


def test_keys_and_brackets_are_tokens() -> None:
    assert TOKENIZER.tokenize("{'my key':[[") == ["{", "'myĠkey':", "[["]
    assert TOKENIZER.tokenize('{"x": {}}') == ["{", '"x":Ġ', "{", "}", "}"]
    assert TOKENIZER.tokenize("]]],[[[ ], [") == ["]]],[[[", "Ġ", "],Ġ["]
    assert len(TOKENIZER.tokenize("Earth")) == 1 == len(TOKENIZER.tokenize("the sea"))
    assert len(TOKENIZER.tokenize("'unknown':")) == len("'unknown':")


def test_keys_are_counted_or_given() -> None:
    assert record_keys(["{'b':1,'a':2}", "{'a':3, \"c\": 4}"]) == ["'a':", '"c": ', "'b':"]
    assert record_keys([r"{'it\'s':1}"]) == [r"'it\'s':"]
    given_keys = record_tokenizer(keys=["m", '"x":'])
    assert given_keys.tokenize("'m':\"x\":") == ["'m':", '"x":']
    assert record_tokenizer(["{'a':1,'b':2,'a':3}"], max_keys=1).tokenize("'a':'b':")[:2] == ["'a':", "'"]
    with pytest.raises(ValueError, match="100 characters"):
        record_tokenizer(keys=["x" * 200])


def test_special_tokens() -> None:
    tokenizer = record_tokenizer(add_end=True, model_max_length=7)
    assert tokenizer.convert_tokens_to_ids(list(SPECIALS)) == list(range(len(SPECIALS)))
    assert tokenizer("[1", "{")["input_ids"].count(tokenizer.eos_token_id) == 2
    assert (tokenizer.pad_token, tokenizer.mask_token, tokenizer.model_max_length) == ("[PAD]", "[MASK]", 7)
    assert len(tokenizer("x" * 50, truncation=True)["input_ids"]) == 7


def test_the_tokenizer_is_saved_and_loaded(tmp_path: Any) -> None:
    from transformers import AutoTokenizer

    TOKENIZER.save_pretrained(tmp_path)
    again = AutoTokenizer.from_pretrained(tmp_path)
    text = "{'m': [[1, 2], [é]]}"
    assert again(text)["input_ids"] == TOKENIZER(text)["input_ids"]


def test_long_texts_take_linear_time() -> None:
    for piece in ("'", '"', "\\", "[", "'\\", "],", "':"):  # in quadratic time each would take minutes
        assert len(TOKENIZER(piece * 100_000)["input_ids"]) > 10_000
