"""Reader `luna` against the table of corner cases of the released NumTok."""

from __future__ import annotations

from fractions import Fraction

import pytest

from numerate import find, render
from numerate.reading.luna import LunaReader

ROWS = [
    ("1.76%-2.50%", [("1.76%", 0.0176), ("2.50%", 0.025)]),
    ("$2,082", [("2,082", 2082.0)]),
    ("(3.2)", [("3.2", 3.2)]),
    ("(1,746)", [("1,746", 1746.0)]),
    ("$(24.8)", [("24.8", 24.8)]),
    ("(24.4)%", [("24.4", 24.4)]),
    ("21.0 %", [("21.0", 21.0)]),
    ("-5", [("-5", -5.0)]),
    ("USD -100", [("-100", -100.0)]),
    ("$-1000", [("1000", 1000.0)]),
    ("-$100", [("100", 100.0)]),
    ("(-5)", [("5", 5.0)]),
    ("x=-5", [("5", 5.0)]),
    ("a-5", [("5", 5.0)]),
    (".5", [(".5", 0.5)]),
    ("-.5", [("-.5", -0.5)]),
    ("+.7%", [("+.7%", 0.007)]),
    ("50%", [("50%", 0.5)]),
    ("50-60%", [("50", 50.0), ("60%", 0.6)]),
    ("1,234,56", [("1", 1.0), ("234", 234.0), ("56", 56.0)]),
    ("1234,567", [("1234", 1234.0), ("567", 567.0)]),
    ("12,34", [("12", 12.0), ("34", 34.0)]),
    ("1,00", [("1", 1.0), ("00", 0.0)]),
    ("12,345.678,9", [("12", 12.0), ("345.678", 345.678), ("9", 9.0)]),
    ("1.", [("1.", 1.0)]),
    ("1.,", [("1.", 1.0)]),
    ("COVID-19", [("19", 19.0)]),
    ("F-1", [("1", 1.0)]),
    ("H2O", [("2", 2.0)]),
    ("1st", [("1", 1.0)]),
    ("v2.1", [("2.1", 2.1)]),
    ("--5", [("5", 5.0)]),
    ("-+5", [("+5", 5.0)]),
    ("+-10", [("-10", -10.0)]),
    ("..5", [("5", 5.0)]),
    (".5.", [("5", 5.0)]),
    (",5", [("5", 5.0)]),
    ("5,", [("5", 5.0)]),
    ("2018-2019", [("2018", 2018.0), ("2019", 2019.0)]),
    ("2018 - 2019", [("2018", 2018.0), ("2019", 2019.0)]),
    ("2019-12-31", [("2019", 2019.0), ("12", 12.0), ("31", 31.0)]),
    ("12/31/2019", [("12", 12.0), ("31", 31.0), ("2019", 2019.0)]),
    ("30 June 2018", [("30", 30.0), ("2018", 2018.0)]),
    ("September 30, 2019,", [("30", 30.0), ("2019", 2019.0)]),
    ("10:30", [("10", 10.0), ("30", 30.0)]),
    ("192.168.25.3", [("192", 192.0), ("168", 168.0), ("25", 25.0), ("3", 3.0)]),
    ("1.2.3", [("1", 1.0), ("2", 2.0), ("3", 3.0)]),
    ("1-800-555-1234", [("1", 1.0), ("800", 800.0), ("555", 555.0), ("1234", 1234.0)]),
    ("1,234,5678", [("1", 1.0), ("234", 234.0), ("5678", 5678.0)]),
    ("1.234,56", [("1.234", 1.234), ("56", 56.0)]),
    ("100,000,000", [("100,000,000", 1e8)]),
    ("1e5", [("1", 1.0), ("5", 5.0)]),
    ("1.5e-9", [("1.5", 1.5), ("9", 9.0)]),
    ("0x12BF", [("0", 0.0), ("12", 12.0)]),
    ("192+180=372", [("192", 192.0), ("180", 180.0), ("372", 372.0)]),
    ("5-", [("5", 5.0)]),
    ("-5-", [("5", 5.0)]),
    ("5%-", [("5%", 0.05)]),
    ("00012", [("00012", 12.0)]),
    ("−5", [("5", 5.0)]),
    ("１２", []),
    ("٣", []),
    ("½", []),
    ("²", []),
    ("1\u00a0234", [("1", 1.0), ("234", 234.0)]),
    ("1\u2009234", [("1", 1.0), ("234", 234.0)]),
    # Legal by the patterns of NumTok, but not in its table.
    ("5.", [("5.", 5.0)]),
    ("+10.%", [("+10.%", 0.1)]),
    ("0,123", [("0,123", 123.0)]),
    ("1+2-3", [("1", 1.0), ("2", 2.0), ("3", 3.0)]),
    ("a -5 b", [("-5", -5.0)]),
    ("5,-3", [("5", 5.0), ("-3", -3.0)]),
    ("x-5,-3", [("5", 5.0), ("-3", -3.0)]),
    ("-0", [("-0", -0.0)]),
]
DROPPED = ["3--2", "1..2", "1,,2", "5%%", "%50", "5%5", "1-2,3", "1,2-3", "1,234-5.6.7"]


@pytest.mark.parametrize(("text", "expected"), ROWS, ids=[row[0] for row in ROWS])
def test_finds_the_numbers_of_numtok(text, expected):
    numerals = find(text, reader="luna")
    assert [(n.text, repr(n.value)) for n in numerals] == [(written, repr(value)) for written, value in expected]
    assert LunaReader().dropped(text) == []
    for n in numerals:
        assert text[n.start : n.end] == n.text == render(n.style, n.value)
        assert (n.kind, n.power) == (("percent", -2) if "%" in n.text else ("quantity", 0))


def test_dropped_lists_the_runs_that_numtok_drops():
    for run in DROPPED:
        text = f"from {run} to 7"
        assert [n.text for n in find(text, reader="numtok")] == ["7"]
        assert LunaReader().dropped(text) == [(5, 5 + len(run))]
        assert LunaReader().dropped(run) == [(0, len(run))]


def test_every_part_must_be_a_number_before_its_leading_mark_is_skipped():
    for run in (",5-0", ",5.1.2", ",1-2+3", ",10-9%"):
        text = f"uk{run} is"
        assert find(text, reader="luna") == []
        assert LunaReader().dropped(text) == [(2, 2 + len(run))]
    for run, numbers in ((".5-0", ["5", "0"]), ("-5,-3", ["5", "-3"]), ("+5,1.5.", []), (",5,0", ["5", "0"])):
        assert [n.text for n in find(f"uk{run} is", reader="luna")] == numbers


def test_marks_without_digits_are_not_runs():
    assert find("... -- , % +", reader="luna") == []
    assert LunaReader().dropped("... -- , % +") == []


@pytest.mark.parametrize(
    ("keep", "rewritten"),
    [(True, "Interest $2,082[NUM] vs 3%[NUM]"), (False, "Interest $[NUM] vs [NUM]")],
    ids=["addback", "replace"],
)
def test_spans_give_addback_and_replace(keep, rewritten):
    text = "Interest $2,082 vs 3%"
    pieces, last = [], 0
    for n in find(text, reader="luna"):
        pieces += [text[last : n.start], n.text if keep else "", "[NUM]"]
        last = n.end
    assert "".join(pieces) + text[last:] == rewritten


def test_percent_is_the_nearest_float():
    for written in ("1.76", "2.50", "0.07", "110", "29", "57.3", "0.1", "123456789.123456789"):
        (n,) = find(f"{written}%", reader="luna")
        assert n.value == float(Fraction(written) / 100)
        assert n.written == float(written)
        assert n.exact == Fraction(written) / 100


def test_very_long_numbers():
    for text in ("9" * 5000, "9" * 5000 + "%", "0." + "0" * 5000 + "1", "1" + ",000" * 2000):
        (n,) = find(text, reader="luna")
        assert render(n.style, n.value) == text
    assert find("9" * 5000, reader="luna")[0].overflow
