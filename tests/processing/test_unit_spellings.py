"""The usual spelling of short unit and scale words, alone and as what a tokenizer reads of a text."""

from __future__ import annotations

import pytest
import tokenizer_families as families

from numerate.processing.processor import NumberProcessor
from numerate.processing.unit_spellings import USUAL_SPELLINGS, spelled_out
from numerate.reading import make_reader
from numerate.registry import notations


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("rose 55 pct to 3.2 mln dlrs", "rose 55 percent to 3.2 million dollars"),
        ("a 2.1-mln-dlr loan", "a 2.1-million-dollar loan"),
        ("[NUM] mln dlrs, [NUM] hrs", "[NUM] million dollars, [NUM] hours"),
        ("34 cts vs 1.19 dlrs", "34 cents vs 1.19 dollars"),
        ("5mn tonnes in 25mins", "5 million tonnes in 25 minutes"),
        ("three dlrs", "three dollars"),
        ("200,000 bpd", "200,000 barrels per day"),
        ("180 mln stg", "180 million sterling"),
    ],
)
def test_short_words_are_spelled_as_usual(text: str, wanted: str) -> None:
    assert spelled_out(text) == wanted


@pytest.mark.parametrize(
    "text",
    ["PCT/EP2003 and 5 PCT", "mail pct@example.org", "a.pct", "x_mln", "TN mn bn", "70 lbs", "$5bnx"],
)
def test_other_words_are_left_alone(text: str) -> None:
    assert spelled_out(text) == text


@pytest.mark.parametrize("short", sorted(USUAL_SPELLINGS))
def test_both_spellings_are_read_as_one_number(short: str) -> None:
    reader = make_reader("standard")
    ((one,), (other,)) = (reader.find(f"It was 3.2 {word} then.") for word in (short, USUAL_SPELLINGS[short]))
    assert one.written == other.written == pytest.approx(3.2)
    if one.power or one.unit:  # what the reader knows at all
        assert (one.value, one.kind, one.unit) == (other.value, other.kind, other.unit)


@pytest.mark.parametrize("name", ["keep", "marker", "addback", "prefix"])
def test_a_processor_spells_them_out_for_the_tokenizer(name: str) -> None:
    text, usual = "It rose 55 pct to 3.2 mln dlrs.", "It rose 55 percent to 3.2 million dollars."
    options = {"slot": True} if name == "keep" else {}
    made = [
        NumberProcessor(families.make_tokenizer("wordpiece"), notation=notations[name].build(**options),
                        spelled_units=spelled)
        for spelled in (True, False)
    ]  # fmt: skip
    one, other = made[0]([text]), made[1]([usual])
    for field in ("input_ids", "number_slots", "number_bits", "number_scale"):
        assert (field in one) == (field in other)
        assert field not in one or [list(row) for row in one[field]] == [list(row) for row in other[field]]
    # The numbers are those of the text, and stand where they do in it.
    assert [numeral.text for numeral in one.numerals[0]] == ["55 pct", "3.2 mln"]
    assert all(text[numeral.start : numeral.end] == numeral.text for numeral in one.numerals[0])
    spans = made[0]([text], return_offsets_mapping=True)["offset_mapping"][0]
    assert "dlrs" in [text[begin:end] for begin, end in spans]


def test_the_option_is_saved_with_the_processor() -> None:
    processor = NumberProcessor(families.make_tokenizer("wordpiece"), spelled_units=True)
    again = NumberProcessor.from_config(processor.tokenizer, processor.config())
    assert again.spelled_units
    old = {key: value for key, value in processor.config().items() if key != "spelled_units"}
    assert not NumberProcessor.from_config(processor.tokenizer, old).spelled_units
