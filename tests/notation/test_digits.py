"""Manual cases of the notations that keep all digits: digits, numerologic, marker, addback, prefix, keep, words."""

from __future__ import annotations

import pytest

from numerate import find, notations
from numerate.notation.base import END, NUM, TEXT, Piece
from numerate.notation.decimal_form import decimal_form
from numerate.numerals.numeral import Numeral


def write(name: str, text: str, **options: object) -> str:
    (numeral,) = find(text)
    return " ".join(piece.text for piece in notations[name].build(**options).write(numeral))


def test_groups_are_aligned_at_the_point() -> None:
    cases = {
        "1234567": "1 234 567",
        "234567": "234 567",
        "34567": "34 567",
        "7": "7",
        "1,234,567.8901": "1 234 567 . 890 1",
        "-0.5": "- 0 . 5",
        "0.50": "0 . 50",
        "007": "007",
        "6.02e23": "6 . 02 e 23",
        "1.5e-07": "1 . 5 e - 7",
        "1e1000": "1 e 1 000",
        "3.2%": "0 . 032",
        "1.5 billion": "1 500 000 000",
        "½": "0 . 5",
    }
    assert {text: write("digits", text, group=3) for text in cases} == cases


def test_groups_equal_those_of_python() -> None:
    for length in range(1, 33):
        text = ("1234567890" * 4)[:length]
        assert write("digits", text, group=3) == f"{int(text):,}".replace(",", " ")


def test_one_token_per_digit() -> None:
    assert write("digits", "-12.50") == "- 1 2 . 5 0"
    assert write("digits", "12.50", explicit_plus=True) == "+ 1 2 . 5 0"
    assert write("digits", "123456789012345678901234567890") == " ".join("123456789012345678901234567890")


def test_reverse_writes_the_least_significant_digits_first() -> None:
    assert write("digits", "-12.53", reverse=True) == "- 3 5 . 2 1"
    assert write("digits", "1234567.8901", reverse=True, group=3) == "1 890 . 567 234 1"
    assert write("digits", "1.5e-30", reverse=True) == "5 . 1 e - 3 0"
    notation = notations["digits"].build(reverse=True)
    assert notation.read(["-", "3", "5", ".", "2", "1"]).text == "-12.53"


def test_vocabulary_of_digits() -> None:
    specials = ("[NAN]", "[INF]", "[-INF]")
    assert notations["digits"]().vocabulary == (*"0123456789", "+", "-", ".", "e", *specials)
    grouped = notations["digits"].build(group=3).vocabulary
    assert len(grouped) == 10 + 100 + 1000 + 4 + 3
    assert (grouped[7], grouped[10], grouped[10 + 42], grouped[110 + 7]) == ("7", "00", "42", "007")


def test_numbers_have_at_most_max_digits() -> None:
    notation = notations["digits"].build(max_digits=17)
    assert notation.legal_next(["1"] * 16) == {*"0123456789", ".", "e", END}
    assert notation.legal_next(["1"] * 17) == {"e", END}
    assert notation.legal_next([*["1"] * 17, "e", "1", "2", "3", "4"]) == {END}
    grouped = notations["digits"].build(group=3, reverse=True, max_digits=17)
    short_first = grouped.legal_next(["45"])
    assert "123" in short_first and "12" not in short_first and {".", "e", END} <= short_first
    assert grouped.legal_next(["45", "123"]) >= {"."} and END not in grouped.legal_next(["45", "123"])
    assert grouped.legal_next(["45", *["123"] * 4]) == {"."}  # no room for another group


def test_long_numerals_get_the_digits_of_their_float() -> None:
    text = "0." + "1234567890" * 10
    assert write("digits", text) == " ".join(repr(float(text)))
    beyond = "1" + "0" * 400
    assert write("digits", beyond) == "1 e 4 0 0"
    edge = "17976931348623158" + "1" * 292
    assert float(edge) == float("inf") == float(decimal_form(Numeral(edge, 0, 309, float(edge)), 17).text)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("42", "{2:42}"),
        ("3.14", "{1.2:3.14}"),
        ("-3.14", "-{1.2:3.14}"),
        ("1,234", "{4:1234}"),
        ("0.50", "{1.2:0.50}"),
        ("6.02e23", "{1.2e2:6.02e23}"),
        ("1e-05", "{1e1:1e-5}"),
    ],
)
def test_numerologic(text: str, pieces: str) -> None:
    assert write("numerologic", text).replace(" ", "") == pieces
    assert notations["numerologic"]().read(list(pieces)).value == find(text)[0].value


def test_numerologic_checks_its_counts() -> None:
    notation = notations["numerologic"]()
    assert notation.legal_next(list("{3")) == {"0", "1", "2", ".", "e", ":"}
    assert notation.legal_next(list("{32")) == {"e", ":"}
    assert notation.legal_next(list("{2:4")) == {*"0123456789"}
    assert notation.legal_next(list("{2:42")) == {"}"}
    assert notation.legal_next(list("{2:42}")) == {END}
    for wrong in ("{2:421}", "{2:4}", "{0:}", "{02:42}", "{1.0:4.}", "{2:42", "2:42}", "{33:" + "1" * 33 + "}"):
        with pytest.raises(ValueError, match="is not a number"):
            notation.read(list(wrong))


def test_pieces_and_slots_of_text_and_marker_notations() -> None:
    (numeral,) = find("2,082")
    text, num = Piece("2,082", own=False), Piece(NUM, slot=True)
    assert notations["keep"]().write(numeral) == [text]
    assert notations["keep"].build(slot=True).write(numeral) == [text._replace(slot=True)]
    assert notations["drop"]().write(numeral) == []
    assert notations["marker"]().write(numeral) == [num]
    assert notations["addback"]().write(numeral) == [text, num]
    assert notations["prefix"]().write(numeral) == [num, text]


def test_legal_pieces_of_addback_and_prefix() -> None:
    addback, prefix = notations["addback"](), notations["prefix"]()
    assert addback.legal_next([]) == {TEXT}
    assert addback.legal_next(["2,", "082"]) == {TEXT, NUM}
    assert addback.legal_next(["2,", "082", NUM]) == {END}
    assert addback.legal_next([NUM]) == prefix.legal_next(["2"]) == frozenset()
    assert prefix.legal_next([NUM, "2,", "082"]) == {TEXT, END}
    assert addback.read(["2,", "082", NUM]).value == prefix.read([NUM, "2,", "082"]).value == 2082
    for wrong in ([], [NUM], ["2,082"], [NUM, "2,082", NUM], ["two thousand apples", NUM]):
        with pytest.raises(ValueError, match="addback"):
            addback.read(wrong)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("42", {}, "forty-two"),
        ("1,205.5", {}, "one thousand two hundred and five point five"),
        ("1,205.5", {"ands": False, "fractions": True}, "one thousand two hundred five and a half"),
        ("-21", {"hyphens": False}, "minus twenty one"),
        ("3.2%", {}, "zero point zero three two"),
        ("1e100", {}, "1e+100"),
        ("1e400", {}, "1e400"),
    ],
)
def test_words(text: str, options: dict, words: str) -> None:
    assert write("words", text, **options) == words
    assert notations["words"]().read([words]).value == find(text)[0].value
