"""Tables in plain text, whose cells stand below each other."""

from __future__ import annotations

import pytest

from numerate.apps.check import check
from numerate.apps.consistency.tables.aligned_tables import aligned_tables

LETTER = """Dear Mrs Novak,

We accept your claim as follows:

    Kitchen floor (new boards)                     £800.00
    Drying, 9 days                                 £346.50
    Plaster and decoration                       £1,210.00
    Washing machine (new for old)                  £429.00
                                                 ---------
    Total                                        £2,785.50

Yours sincerely
"""
OFFER = """Anbei die Posten:

> Dachziegel ................ 12.480,00 €
> Lattung ...................  3.155,50 €
> Rinne und Fallrohr ........  1.240,25 €
> Summe ..................... 16.875,75 €
"""
VOTES = "Ballots\tcount\nNorth\t412\nSouth\t388\nPost \t297\nTotal\t1097\n"


def found(text: str) -> list[tuple[str, str | None, str]]:
    findings = check(text, model=False, kind="text")
    return [(each.written, each.meant, text[slice(*(each.span or (0, 0)))]) for each in findings]


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (LETTER, "£2,785.50", "£2,875.50"), (LETTER, "£346.50", "£364.50"), (LETTER, "£1,210.00", "£2,110.00"),
        (OFFER, "16.875,75 €", "16.785,75 €"), (OFFER, " 3.155,50 €", " 3.515,50 €"), (VOTES, "1097", "1907"),
    ],
)  # fmt: skip
def test_the_lines_above_a_total_must_add_up(text: str, right: str, wrong: str) -> None:
    assert found(text) == []
    ((written, meant, place),) = found(text.replace(right, wrong))
    assert written == place
    if written == wrong.strip():
        assert meant == right.strip()


@pytest.mark.parametrize(
    "text",
    [
        "Height            312\nPrice              25\nTotal score      8.7\n",
        "Steps: 10,432\nCalories: 2,100\nTotal: 15\n",
        "Item              12.00\nother words\nTotal             15.00\n",
        "a        1\nb                 2\nc    3\nTotal                   90\n",  # no column
        "Total             15.00\n",
        f"{'x' * 5000}   12.00\n{' ' * 5000}\nTotal   12.00\n",
    ],
)
def test_lines_that_are_no_list_are_left_alone(text: str) -> None:
    assert found(text) == []


LEAGUE = """Sunday Division, final table (3 for a win)

                 P    W    D    L   Pts
Tram Depot      10    7    2    1    23
Cold Bay        10    6    2    2    20
Post Office     10    4    2    4    14
St Jude's       10    3    4    3    13
Brickfields     10    2    3    5     9
"""
STATEMENT = """Account 0071   Sheet 14
Date     Details                     Out         In       Balance
01 Feb   Brought forward                                1,204.56
02 Feb   CARD Delicatessen          38.20               1,166.36
05 Feb   BGC  Ferrier Ltd salary             2,140.00   3,306.36
07 Feb   SO   Rent flat 3          895.00               2,411.36
11 Feb   DD   Energy               112.47               2,298.89
14 Feb   CARD Florist               64.90               2,233.99
"""
PAY_SLIP = """Gross pay                        3,240.00
  Income tax          421.60
  National Insurance  219.36
  Pension 5%          162.00
Total deductions                   802.96
NET PAY                          2,437.04
"""
INVOICE = """2 Stk. Innentür Buche, je 395,00 €            790,00 €
Montage, 9 Std. à 50,00 €                     450,00 €
Nettobetrag                                 1.240,00 €
zzgl. 19 % MwSt.                              235,60 €
Rechnungsbetrag                             1.475,60 €
"""
MATCH = """              Q1   Q2   Q3   Q4   Final
Kestrels      22   18   25   21      86
Harbour       19   24   17   20      80
"""
LABORATORY = """Analyte          Result    Unit       Reference
Sodium           139       mmol/L     135–145
Potassium        4.2       mmol/L     3.5–5.1
Urea             5.6       mmol/L     2.5–7.8
CRP              3         mg/L       <5
"""
STOCK = """- Opening stock: 420 boxes
- Received: 180 boxes
- Issued: 235 boxes
- Closing stock: 365 boxes
"""
RECEIPT = """3 x Cast bell, small @ 40.00           120.00
Member discount 10%                    -12.00
Coupon                                  -8.00
Taxable                                100.00
Sales tax 8.25%                          8.25
TOTAL USD                              108.25
Visa **4410                            108.25
"""


@pytest.mark.parametrize(
    ("text", "right", "wrong"),
    [
        (LEAGUE, "4    14", "4    16"),
        (STATEMENT, "2,298.89", "2,289.89"),
        (PAY_SLIP, "2,437.04", "2,347.04"),
        (INVOICE, "1.475,60", "1.457,60"),
        (MATCH, "21      86", "21      96"),
        (LABORATORY, "3.5–5.1", "5.1–3.5"),
        (STOCK, "365 boxes", "356 boxes"),
        (RECEIPT, "USD                              108.25", "USD                              180.25"),
    ],
)
def test_tables_in_plain_text_are_checked_as_tables(text: str, right: str, wrong: str) -> None:
    assert found(f"Please see below.\n\n{text}\nBest wishes\n") == []
    ((written, meant, place),) = found(f"Please see below.\n\n{text.replace(right, wrong)}\nBest wishes\n")
    assert written == place and written.removesuffix(" €") in wrong
    assert meant is not None and meant.removesuffix(" €") in right


def test_cells_stand_where_their_column_is() -> None:
    (table,) = aligned_tables(STATEMENT)
    assert list(table.document.header) == ["Date", "Details", "Out", "In", "Balance"]
    assert table.document.rows[2] == ["05 Feb", "BGC Ferrier Ltd salary", "", "2,140.00", "3,306.36"]
    assert table.document.caption.strip() == "Account 0071 Sheet 14"
    for row, spans in zip(table.document.rows, table.spans, strict=True):
        for cell, span in zip(row, spans, strict=True):
            assert (span is None) == (not cell)
            if span is not None:
                assert " ".join(STATEMENT[slice(*span)].split()) == cell


@pytest.mark.parametrize("mark", ["\t", " | ", " │ "])
def test_cells_may_be_divided_by_tabs_and_bars(mark: str) -> None:
    rows = [["item", "n", "price"], ["a b", "2", "3.50"], ["c", "12", "4.00"], ["d", "7", "9.10"]]
    text = "\n".join(mark.join(row) for row in rows)
    (table,) = aligned_tables(f"Hello,\n{text}\n")
    assert [list(table.document.header), *table.document.rows] == rows


@pytest.mark.parametrize(
    "text",
    [
        "",
        "It weighs 5 kg.  That is  11 lb.\nIt is 3 m long.  That is 10 ft.\nIt costs 7 dollars.  That is  6 euros.\n",
        "one  two\nthree  four\nfive  six\n",
        "a  1  2  3\n\n\nb    4\n",
        "x   5   6\n",
    ],
)
def test_prose_is_no_table(text: str) -> None:
    assert list(aligned_tables(text)) == []


def test_the_passage_of_a_row_is_its_line() -> None:
    (finding,) = check(STATEMENT.replace("2,298.89", "2,289.89"), model=False, kind="text")
    assert finding.passage == "11 Feb   DD   Energy               112.47               2,289.89"
    assert finding.line == 7 and finding.marked is not None
    assert finding.passage[slice(*finding.marked)] == "2,289.89"


def test_a_word_for_the_sign_keeps_its_number() -> None:
    text = "      VOL    CHANGE\nMAY  2515  off  885\nJNE  2742  up   139\nSUM  5257  off  746\n"
    (table,) = aligned_tables(text)
    assert all(row[2].startswith(("off", "up")) for row in table.document.rows)
    assert found(text) == []
