"""Decimal commas decided by the document; the cases are in cases/locales.txt."""

from __future__ import annotations

from numerate import find, find_columns
from numerate.reading.locales import has_decimal_commas
from numerate.reading.standard import StandardReader


def test_a_late_number_decides_for_the_first() -> None:
    filler = "Das ist ein Satz ohne Zahl. " * 200
    assert [n.value for n in find(f"2.500 Stück. {filler}64,7 % davon")] == [2500.0, 0.647]
    assert [n.value for n in find(f"2.500 kg. {filler}")] == [2.5]


def test_most_numbers_decide() -> None:
    english = "It rose 3.5% to 4.2 and 5.7 of 1,234.5 in all. "
    assert not has_decimal_commas(f"{english}Preis 12,50 €")
    assert has_decimal_commas("Preis 12,50 €, 13,20 €, 14,10 €, Version 3.5")


def test_lists_are_no_evidence() -> None:
    for text in ("see [1,5]", "(0,1)", "1,2,3", "in 1,234 and 1,5", "Tables 3,4", "12,34,567"):
        assert not has_decimal_commas(text), text


def test_columns_and_spans_agree_with_find() -> None:
    texts = ["12,50 € statt 1.234 €", "1,5", "64,7 % von 2.500"]
    rows = [(n.start, n.end, n.value) for text in texts for n in find(text)]
    columns = find_columns(texts)
    assert list(zip(columns.start.tolist(), columns.end.tolist(), columns.value.tolist(), strict=True)) == rows
    for text in texts:
        assert [row[:3] for row in StandardReader().spans(text)] == [(n.start, n.end, n.value) for n in find(text)]


def test_the_reader_stays_as_it_was() -> None:
    reader = StandardReader()
    reader.find("64,7 % von 2.500")
    assert reader.locale == "auto"
    assert [n.value for n in reader.find("1.234")] == [1.234]
