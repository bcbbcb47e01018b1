"""Tables as firms and offices print them: two header rows, sections, deductions, shares below amounts.

The right ones are laid out like tables of annual reports that had false alarms; every sum was added up by hand.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from numerate.apps.findings import Finding


def found(header: list[str], rows: list[list[str]]) -> list[Finding]:
    return ConsistencyChecker().check(Document(kind="table", header=header, rows=rows))


TWO_HEADERS = (
    ["", "Years ended 31 December", "", "Change", ""],
    [
        ["", "2019", "2018", "Amount", "Percent"],
        ["Products", "$29,816", "$34,066", "$(4,250)", "(12)%"],
        ["Services", "19,065", "17,830", "1,235", "7%"],
        ["Total cost", "$48,881", "$51,896", "$(3,015)", "(6)%"],
    ],
)
SECTIONS = (
    ["", "2019", "2018"],
    [
        ["Assets:", "", ""],
        ["Credits", "$1,475", "$494"],
        ["Reserves", "932", "476"],
        ["Total assets", "2,407", "970"],
        ["Assets, net of allowance", "290", "77"],
        ["Liabilities:", "", ""],
        ["Reserves", "(525)", "(61)"],
        ["Other", "(914)", "(560)"],
        ["Total liabilities", "(1,439)", "(621)"],
    ],
)
DEDUCTIONS = (
    ["", "2019", "2018"],
    [
        ["Trade", "$875.8", "$557.8"],
        ["Other", "6.8", "8.1"],
        ["Total, gross", "882.6", "565.9"],
        ["Less allowance", "2.0", "2.2"],
        ["Total, net", "$880.6", "$563.7"],
    ],
)
SHARES = (
    ["", "2019", "2018", "Variance in percent"],
    [
        ["Product", "$39,005", "$36,709", "6%"],
        ["Percentage of revenue", "75.1%", "74.4%", ""],
        ["Service", "12,899", "12,621", "2%"],
        ["Percentage of revenue", "24.9%", "25.6%", ""],
        ["Total", "$51,904", "$49,330", "5%"],
    ],
)
UNNAMED = (
    ["", "2019", "2018"],
    [
        ["Charges:", "", ""],
        ["Integration", "$ 27", "$ 14"],
        ["Amortization", "3", "8"],
        ["", "30", "22"],
        ["Restructuring", "255", "126"],
        ["Other items", "17", "9"],
        ["Total", "$ 302", "$ 157"],
    ],
)
REST = (
    ["Segment", "2019", "2018"],
    [["Data", "5,424", "7,155"], ["Chips", "1,579", "1,600"], ["All other", "238", "240"], ["Total", "7,241", "8,995"]],
)
TURNOUT = (
    ["Party", "Votes", "%"],
    [
        ["Red", "1,914,426", "36.4"], ["Blue", "1,204,926", "22.9"], ["Left", "631,011", "12.0"],
        ["Rural", "619,046", "11.8"], ["Centre", "269,762", "5.1"], ["Old", "248,076", "4.7"],
        ["Green", "236,699", "4.5"], ["Others", "137,176", "2.6"], ["Invalid", "113,466", "-"],
        ["Total", "5,374,588", "100"], ["Registered/turnout", "6,603,129", "81.4"],
    ],
)  # fmt: skip
GROWTH = (
    ["Revenues", "Q4 2018", "Q4 2019", "% change"],
    [
        ["Wireless", "2,407", "2,493", "3.6%"], ["Wireline", "3,000", "3,150", "5.0%"],
        ["Media", "850", "879", "3.4%"], ["Radio", "400", "412", "3.0%"], ["Eliminations", "(179)", "(194)", "(8.4%)"],
    ],
)  # fmt: skip
RIGHT = [TWO_HEADERS, SECTIONS, DEDUCTIONS, SHARES, UNNAMED, REST, TURNOUT, GROWTH]


@pytest.mark.parametrize("table", RIGHT)
def test_right_statements_are_silent(table: tuple[list[str], list[list[str]]]) -> None:
    assert found(*table) == []


@pytest.mark.parametrize(
    ("table", "row", "column", "wrong"),
    [
        (TWO_HEADERS, 2, 1, "19,605"),  # digits exchanged in a part
        (TWO_HEADERS, 1, 2, "$340,660"),  # ten times a part
        (SECTIONS, 6, 1, "(255)"),
        (UNNAMED, 5, 1, "71"),
        (REST, 0, 2, "7,515"),
        (REST, 3, 1, "7,421"),  # digits exchanged in the total
    ],
)
def test_the_slip_is_undone_where_it_is(
    table: tuple[list[str], list[list[str]]], row: int, column: int, wrong: str
) -> None:
    header, rows = table[0], [list(each) for each in table[1]]
    right, rows[row][column] = rows[row][column], wrong
    assert [(each.cell, each.meant) for each in found(header, rows)] == [((row, column), right)]


QUARTERS = ["", "Q1", "Q2", "Q3", "Q4", "Year"]
PROFITS = [
    ["Revenue", "$1,200,500", "$1,310,250", "$1,280,000", "$1,455,750", "$5,246,500"],
    ["Cost of sales", "($700,250)", "($755,100)", "($741,900)", "($820,300)", "($3,017,550)"],
    ["Gross profit", "$500,250", "$555,150", "$538,100", "$635,450", "$2,228,950"],
    ["Operating expenses", "($410,000)", "($402,500)", "($415,300)", "($430,200)", "($1,658,000)"],
    ["Operating profit", "$90,250", "$152,650", "$122,800", "$205,250", "$570,950"],
]


@pytest.mark.parametrize(("column", "wrong"), [(2, "$125,650"), (4, "$2,052,500"), (5, "$579,050")])
def test_a_slip_of_a_source_is_not_blamed_on_the_sum(column: int, wrong: str) -> None:
    rows = [list(each) for each in PROFITS]
    right, rows[4][column] = rows[4][column], wrong
    assert [(each.cell, each.meant) for each in found(QUARTERS, rows)] == [((4, column), right)]


def test_a_line_of_an_invoice_with_a_discount() -> None:
    header = ["Item", "Qty", "Unit price", "Discount", "Net"]
    rows = [
        ["Pump", "3", "412.50", "10%", "1113.75"], ["Valve", "24", "18.75", "5%", "472.50"],
        ["Pipe", "60", "9.40", "0%", "564.00"], ["Gasket", "150", "0.85", "20%", "102.00"],
        ["Filter", "8", "62.00", "10%", "446.40"],
    ]  # fmt: skip
    assert [(each.cell, each.meant) for each in found(header, rows)] == [((1, 4), "427.50")]
    rows[1][4] = "427.50"
    assert found(header, rows) == []


def test_a_tax_has_its_round_rate() -> None:
    nets = ("100.00", "120.50", "99.90", "25000.00", "310.00", "42.00")
    taxes = ["19.00", "22.90", "18.98", "47500.00", "58.90", "7.98"]
    (finding,) = found(["Net", "Tax"], [list(each) for each in zip(nets, taxes, strict=True)])
    assert (finding.cell, finding.meant) == ((3, 1), "4750.00") and "Tax = 0.19 x Net" in finding.message


def test_pieces_of_one_price() -> None:
    rows = [[f"{n}", f"{12 * n}"] for n in (3, 5, 7, 4, 9, 11)]
    assert found(["pieces", "amount"], rows) == []
    rows[4][1] = "180"  # 108
    assert [(each.cell, each.meant) for each in found(["pieces", "amount"], rows)] == [((4, 1), "108")]
    rows[4][1] = "100"  # a discount
    assert found(["pieces", "amount"], rows) == []
    rows = [[f"{1024 * n}", f"{n}"] for n in (7, 8, 9, 10, 11, 12, 13)]
    rows[5][1] = "21"
    assert [(each.cell, each.meant) for each in found(["bytes", "kib"], rows)] == [((5, 1), "12")]
