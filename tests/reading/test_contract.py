"""The contract of `Reader`, checked for every registered reader."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from numerate import KINDS, Numeral, readers, render
from numerate.reading import find_columns, make_reader
from numerate.reading.base import Reader

NAMES = readers.names()

ANY = st.text(st.characters(), max_size=60)  # all code points, including lone surrogates
ALPHABETS = [
    "0123456789" * 3 + "+-,.%$()[]{}:/'\"\\ \n\teExX_^*",
    "0159.,-+%eE ",
    "01 -−–+±()$€£%‰½¾⅐²³⁻⁰⅞⁄/×x·*^{}10eE",
    "٠١٢٣٩०१९１２９٫٬．， .,-%\u00a0\u2009\u202f'’",
    "12 stndrhbillionmkMKTpctpsin.,-/: ",
    "1,.\u0301\u200f\u202e\u2067\u05d0\u0627\x00\ud800\udfff\ufeff\u200d -%",
    "{}[]():,\"'\\ 01.-+eENaInfity\n",
    "IVXLCDMivxm onetwhrfusv-",
]
HEAVY = st.sampled_from(ALPHABETS).flatmap(lambda alphabet: st.text(st.sampled_from(alphabet), max_size=40))
PIECES = ["12", "1,234.50", "-5", "(3.2)", "$", "%", " ", "1.5 billion", "½", "3/4", "2019-12-31", "1e-5", "0x1F",
          "10^6", "NaN", "-Infinity", "1st", "٣", "kg", "[", "]", '"', ",", ".", "0" * 30, "9" * 320, "1e400", "v2.1",
          "10:30", "1e-0", "0e7", "00.10", ".5", "5.", "\x00", "\ud800", "é", "twenty-one", "\n"]  # fmt: skip
JOINED = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
EXTREMES = ["", "9" * 5000, "-" + "9" * 5000 + "%", "0." + "0" * 5000 + "1", "1e" + "9" * 5000, "1e-" + "9" * 5000,
            "1" + ",000" * 1500, "0" * 5000, "0x" + "f" * 5000, "1/" + "9" * 5000, "9" * 5000 + "/4", "9" * 5000 + "th",
            "10^" + "9" * 5000, "9" * 5000 + " billion", "(" + "9" * 5000 + ")", "١" * 5000]  # fmt: skip


def check(reader, text):
    numerals = reader.find(text)
    last = 0
    for n in numerals:
        assert isinstance(n, Numeral)
        assert last <= n.start < n.end <= len(text), "sorted and disjoint"
        last = n.end
        assert text[n.start : n.end] == n.text
        assert isinstance(n.value, float)
        assert n.kind in KINDS
        assert n.special in (None, "nan", "inf", "-inf")
        assert render(n.style, n.value) == n.text
        assert n.written is not None
        assert n.decimals >= 0
        assert isinstance(n.precision, int)
        n.exact  # noqa: B018 - it must not raise
        n.to_dict()
    # compare repr, because NaN != NaN and -0.0 == 0.0; a row may have more than four fields
    rows = [tuple(row)[:4] for row in reader.spans(text)]
    assert repr(rows) == repr([(n.start, n.end, n.value, n.kind) for n in numerals])


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=ANY | HEAVY | JOINED)
def test_random_texts(name, text):
    check(make_reader(name), text)


@pytest.mark.parametrize("name", NAMES)
def test_extreme_texts(name):
    for text in EXTREMES:
        check(make_reader(name), text)


@pytest.mark.parametrize("name", NAMES)
def test_columns_equal_find(name):
    texts = ["7 of 12 km", "", "none", "[3.5%, 1e5]", "-0.0", "$5 and 3 km"]
    *arrays, units = find_columns(texts, reader=name)
    reader = make_reader(name)
    rows = [
        (i, n.start, n.end, n.value, KINDS.index(n.kind), n.unit)
        for i, text in enumerate(texts)
        for n in reader.find(text)
    ]
    found = zip(*(column.tolist() for column in arrays), strict=True)
    assert [(*row, None if unit < 0 else units[unit]) for *row, unit in found] == rows
    assert arrays[-1].dtype == np.int32 and len(set(units)) == len(units)


class FourFields(Reader):
    """A reader of another package, whose rows end with the kind."""

    def find(self, text):
        return []

    def spans(self, text):
        return [(0, 1, 7.0, "quantity")] * (text == "7")


def test_columns_of_rows_without_units():
    columns = find_columns(["7", "", "7"], reader=FourFields())
    assert columns.text_index.tolist() == [0, 2] and columns.value.tolist() == [7.0, 7.0]
    assert columns.unit.tolist() == [-1, -1] and columns.units == ()


def test_columns_of_many_texts_share_one_table_of_units():
    columns = find_columns(["5 km", "2 h", "no unit: 7", "$3"] * 1_500)  # more rows than are converted at once
    assert columns.units == ("km", "h", "USD")
    assert columns.unit.tolist() == [0, 1, -1, 2] * 1_500
