"""Tables of bills and accounts: what stands below the items, profits, meters, wide tables, clocks and signs."""

from __future__ import annotations

import pytest

from numerate.apps.check import check
from numerate.apps.documents import Document

ITEMS = [["Chair", "4", "45.00", "180.00"], ["Table", "1", "320.00", "320.00"], ["Lamp", "6", "22.50", "135.00"],
         ["Rug", "2", "89.00", "178.00"]]  # fmt: skip
HEADER = ["Item", "Qty", "Price", "Amount"]
PROFIT = [
    ["Account", "2022", "2023"],
    ["Sales", "1,200", "1,350"],
    ["Material", "(420)", "(455)"],
    ["Wages", "(510)", "(530)"],
    ["Depreciation", "(60)", "(62)"],
    ["Operating profit", "210", "303"],
]


def found(rows: list[list[str]], row: int = 0, column: int = 0, cell: str = "") -> list[tuple[str, str | None]]:
    rows = [list(each) for each in rows]
    rows[row][column] = cell or rows[row][column]
    table = Document(kind="table", header=rows[0], rows=rows[1:])
    return [(each.written, each.meant) for each in check(table, model=False)]


def bill(names: tuple[str, ...], amounts: tuple[str, ...]) -> list[list[str]]:
    return [HEADER, *ITEMS, *([name, "", "", amount] for name, amount in zip(names, amounts, strict=True))]


BILLS = [
    bill(("Net amount", "VAT (20%)", "Amount due"), ("813.00", "162.60", "975.60")),
    bill(("Nettosumme", "zzgl. 19 % USt.", "Gesamtbetrag"), ("813.00", "154.47", "967.47")),
    bill(("Goods", "Shipping", "Payable"), ("813.00", "12.50", "825.50")),
    bill(("Goods", "Discount 10 %", "Net", "VAT 20 %", "Payable"), ("813.00", "81.30", "731.70", "146.34", "878.04")),
    bill(("Goods", "Payable", "including 7 % VAT"), ("813.00", "813.00", "53.19")),
]


@pytest.mark.parametrize("rows", BILLS)
def test_the_rows_below_the_items_add_up(rows: list[list[str]]) -> None:
    assert found(rows) == []
    for row in range(5, len(rows)):
        right = rows[row][3]
        wrong = (
            right[1] + right[0] + right[2:] if right[0] != right[1] and right[1] not in "0." else f"{right[:-3]}0.00"
        )
        assert found(rows, row, 3, wrong) == [(wrong, right)], (row, wrong)


def test_what_is_to_pay_needs_no_slip_where_net_and_tax_fit() -> None:
    assert found(BILLS[0], 7, 3, "1065.60") == [("1065.60", "975.60")]
    assert found(BILLS[2], 7, 3, "915.50") == []  # there may be a row that is not shown


def test_tables_that_are_no_bills_are_left_alone() -> None:
    drivers = [["Pos", "No", "Driver", "Grid"], ["1", "5", "A", "1"], ["2", "6", "B", "3"], ["3", "12", "C", "2"],
               ["DNPQ", "34", "D", ""], ["DNPQ", "31", "E", ""]]  # fmt: skip
    assert found(drivers) == []


@pytest.mark.parametrize(
    ("row", "column", "cell", "meant"),
    [(2, 2, "455", "(455)"), (5, 2, "330", "303"), (3, 1, "(150)", "(510)"), (1, 1, "12,000", "1,200")],
)
def test_a_profit_is_what_the_rows_above_leave(row: int, column: int, cell: str, meant: str) -> None:
    assert found(PROFIT) == []
    assert found(PROFIT, row, column, cell) == [(cell, meant)]


def test_an_excess_is_the_difference_of_two_totals() -> None:
    rows = [["Account", "2021", "2022", "2023"], ["Revenues", "", "", ""], ["Taxes", "510", "528", "540"],
            ["Fees", "92", "88", "95"], ["Total revenues", "602", "616", "635"], ["Expenditures", "", "", ""],
            ["Schools", "400", "409", "431"], ["Roads", "211", "199", "221"],
            ["Total expenditures", "611", "608", "652"],
            ["Excess (deficiency) of revenues over expenditures", "(9)", "8", "(17)"]]  # fmt: skip
    assert found(rows) == []
    assert found(rows, 9, 3, "17") == [("17", "-17")]
    assert found(rows, 4, 1, "620") == [("620", "602")]  # and not the excess as well


def test_the_readings_of_a_meter() -> None:
    used = [435, 427, 417, 364, 343, 341, 310, 369, 359, 380]
    rows = [["Month", "Reading", "Used"]]
    for month, each in enumerate(used):
        rows.append([f"m{month}", str(41_220 + sum(used[: month + 1])), str(each)])
    assert found(rows) == []
    assert found(rows, 4, 1, "48263") == [("48263", rows[4][1])]


def test_columns_behind_the_fourteenth_are_compared() -> None:
    header = ["Region", *(f"c{index}" for index in range(20)), "Net", "VAT", "Gross"]
    rows = [[f"r{row}", *(str((7 + 5 * row + 3 * index) ** 2 % 977 + 100) for index in range(20))] for row in range(9)]
    for row, each in enumerate(rows):
        each += [f"{120 + 37 * row}.50", f"{11 + 13 * row * row}.20", f"{120 + 37 * row + 11 + 13 * row * row}.70"]
    assert found([header, *rows]) == []
    real = rows[4][23]
    assert found([header, *rows], 5, 23, "985.70") == [("985.70", real)]
    sums = [[each[0], *each[1:19], str(sum(map(int, each[1:19])))] for each in rows]
    assert found([[*header[:19], "Sum"], *sums], 3, 19, "9999") == [("9999", sums[2][19])]


def test_durations_are_no_years_and_are_written_as_such() -> None:
    rows = [["Runner", "Split 1", "Split 2", "Total"], ["Ann", "24:31", "24:27", "48:58"],
            ["Bob", "22:10", "23:45", "45:55"], ["Cem", "25:00", "24:59", "49:59"],
            ["Dee", "27:12", "28:01", "55:13"]]  # fmt: skip
    assert found(rows) == []
    assert found(rows, 2, 3, "54:55") == [("54:55", "45:55")]


def test_a_correction_has_the_decimals_of_its_column() -> None:
    rows = [["Canton", "2010", "2020", "Change", "in %"], ["A", "1373", "1553", "180", "13.1"],
            ["B", "980", "1044", "64", "6.5"], ["C", "377", "416", "39", "10.3"], ["D", "354", "368", "14", "4.0"],
            ["E", "1467", "1621", "154", "10.5"]]  # fmt: skip
    assert found(rows) == []
    assert found(rows, 2, 4, "65") == [("65", "6.5")]


def test_a_better_relation_of_a_column_is_the_one_that_counts() -> None:
    rows = [["Team", "Games", "Total", "Average"]]
    for index, total in enumerate([463_873, 518_115, 497_302, 601_207, 455_013, 520_406, 488_881, 530_109]):
        games = 7 if index == 0 else 8
        rows.append([f"t{index}", str(games), str(total), f"{total / games:.0f}"])
    assert found(rows) == []
    assert found(rows, 3, 3, "61263") == [("61263", "62163")]


def test_medals_have_no_tenths() -> None:
    golds = [str(3 + 7 * index % 11) for index in range(30)]
    rows = [["Nation", "Gold"], *([f"n{index}", each] for index, each in enumerate(golds))]
    rows[4][1] = "73"
    assert [meant for _, meant in found(rows)] in ([], [None])


def test_a_product_with_a_rounded_factor_is_a_quotient() -> None:
    rows = [["From", "km", "hours", "km/h"]]
    for index in range(40):
        km = 61 + 97 * index * index % 811
        hours = round(km / (55 + 7 * index % 29), 1)
        rows.append([f"p{index}", str(km), f"{hours}", f"{km / hours:.1f}"])
    products = [float(row[2]) * float(row[3]) - float(row[1]) for row in rows[1:]]
    assert 0 < sum(abs(each) > 0.5 for each in products) <= 4  # the product does not hold in all rows
    assert found(rows) == []
    real, rows[9][3] = rows[9][3], "12.5"
    assert found(rows) == [("12.5", real)]


def test_a_profit_goes_on_from_the_one_above() -> None:
    rows = [["", "2021", "2022", "2023"], ["Revenue", "1840", "2015", "2210"],
            ["Cost of sales", "-1104", "-1189", "-1326"], ["Gross profit", "736", "826", "884"],
            ["Salaries", "-310", "-342", "-365"], ["Rent", "-96", "-96", "-102"],
            ["Operating profit", "330", "388", "417"], ["Interest", "-18", "-22", "-31"],
            ["Profit before tax", "312", "366", "386"]]  # fmt: skip
    assert found(rows) == []
    for row, column, wrong in ((4, 3, "-356"), (6, 2, "838"), (3, 1, "763"), (8, 1, "321")):
        assert found(rows, row, column, wrong) == [(wrong, rows[row][column])]


def test_a_total_keeps_the_sign_of_its_parts() -> None:
    rows = [["Item", "Qty", "Amount"], ["Milk", "2", "2.38"], ["Bread", "1", "3.40"], ["Wine", "1", "8.24"],
            ["Subtotal", "", "14.02"], ["Coupon", "", "-1.50"], ["Rounding", "", "0.03"],
            ["Total", "", "12.55"]]  # fmt: skip
    assert found(rows) == []
    assert found(rows, 5, 2, "-15.00") == [("-15.00", "-1.50")]  # and not a total of -14.97


def test_the_counts_of_groups_add_up() -> None:
    rows = [["Group", "n", "M", "SD"], ["Young", "104", "398", "51"], ["Old", "103", "461", "62"],
            ["All", "207", "429", "65"]]  # fmt: skip
    assert found(rows) == []
    assert found(rows, 2, 1, "130") == [("130", "103")]
