"""What letters, reports and exports of people nobody had in view showed: each right text or table has a wrong twin."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TYPE_CHECKING

import pytest

from numerate.apps.check import check
from numerate.apps.consistency.checker import ConsistencyChecker
from numerate.apps.documents import Document

if TYPE_CHECKING:
    from numerate.apps.findings import Finding


def found(text: str) -> list[tuple[str, str, str | None]]:
    findings = ConsistencyChecker().check(Document(kind="text", text=text))
    return [(each.rule, each.written, each.meant) for each in findings]


def found_in(rows: list[list[str]]) -> list[Finding]:
    return check(Document(kind="table", header=rows[0], rows=rows[1:]), model=False)


PRICE = "Guide price {} for the house. Last sold for £242,500 in 2013. With a deposit of 15% (£57,750) you can buy it."


@pytest.mark.parametrize(
    ("text", "right", "wrong", "rule"),
    [
        ("The office {} on 30 February.", "no longer crashes when it reads a mail", "will be closed", "date"),
        ("An order dated 31.04.2024 {}.", "no longer fails", "came in", "date"),
        ("With 700 {} of storage we were full.", "t", "MHz", "unit"),
        ("Bicycles {} 757 (53.7%), cars fell {} 442.", "rose by|by", "went from|to", "percent"),
        ("With a deposit of 15% ({}), a mortgage of £327,250 costs more.", "£57,750", "£75,750", "percent"),
        (PRICE, "£385,000", "£535,000", "percent"),
        ("Oven {}, gas 4), 60 minutes.", "180 °C (350 °F", "180 °C (530 °F", "conversion"),
        ("It falls for 4 s and lands with 40 m/s ({} km/h).", "144", "414", "conversion"),
        ("Phosphorus fell from 9.0 to {} mg/L, tenfold.", "0.9", "1.9", "percent"),
        ("Drag rose from 0.12 mN to 1.20 mN, {}.", "tenfold", "fivefold", "percent"),
        ("The cave is 6,830 m long and 284 m {}; 4,100 m of it were mapped by 1998, the rest (2,370 m) by 2016.",
         "deep", "of it closed", "sum"),
        ("They shot 28-71 ({}).", "39.4%", "43.9%", "percent"),
        ("They shot 32 of 68 ({}%) from the field, 9 of 25 (36%) from three and 15 of 18 (83%) at the line, 9 steals,"
         " 41 rebounds, 17 assists, 12 turnovers and 88 points.", "47.1", "41.7", "percent"),
        ("Fare: 2 x $812.00 + 1 x $609.00 = {}; taxes 3 x $231.47 = $694.41; total $2,927.41.", "$2,233.00",
         "$2,323.00", "product"),
        ("7 − 10 = {} in every school.", "−3", "−4", "sum"),
        ("A queue takes 49,152 bytes ({} KiB).", "48", "84", "conversion"),
        ("It took 8 days, 18 hours and 30 minutes ({} hours).", "210.5", "201.5", "conversion"),
        ("He ran it in 3 hours, 20 minutes and 15 seconds ({} seconds).", "12,015", "12,105", "conversion"),
        ("Of 96 pupils who sat the examinations, 84 (87.5%) passed and {} failed.", "12", "21", "sum"),
        ("We tested 120 samples: 84 (70%) were clean, 24 (20%) doubtful and {} positive.", "12", "21", "sum"),
        ("The school had 642 pupils, {} girls and 311 boys, in 24 classes, an average of 26.75.", "331", "313", "sum"),
    ],
)  # fmt: skip
def test_texts(text: str, right: str, wrong: str, rule: str) -> None:
    assert found(text.format(*right.split("|"))) == []
    assert [each[0] for each in found(text.format(*wrong.split("|")))] == [rule]


def test_a_share_in_brackets_is_that_of_the_number_before_it() -> None:
    text = "In all, 66 boxes ({}%) were used, 54 were empty."
    assert found(text.format(55)) == []
    assert found(text.format(65)) == [("percent", "65%", "55%")]  # of both, and not 54 of 66


def test_each_room_has_its_own_area() -> None:
    rooms = """Living room 4.85 m x 3.90 m (15'11" x 12'10"), 18.9 m2\nKitchen 4.20 m x 3.10 m (13'9" x 10'2"), 13.0 m2
Bedroom 1: 4.10 m x 3.60 m, 14.8 m2\nBedroom 2: 3.60 m x 2.90 m, 10.4 m2"""
    assert found(rooms) == []
    assert found(rooms.replace("18.9", "19.8")) == [("product", "19.8 m2", "18.9 m2")]
    assert found(rooms.replace("13.0", "31.0")) == []  # too far off, and no slip by its digits
    assert found("Bedroom 1: 4.10 m x 3.60 m, 18.4 m2") == [("product", "18.4 m2", "14.8 m2")]


def test_what_tells_something_else_is_no_part() -> None:
    (wrong,) = found("The school had 642 pupils, 313 girls and 311 boys, in 24 classes.")
    assert wrong == ("sum", "642", "624")  # and not 648 with the classes


def bookings(*, with_balance: bool = True) -> list[list[str]]:
    """An account with a rent that is large among its bookings, again and again."""
    amounts = [-39.10, 12.40, -62.50, -19.99, 50.00, -29.90, -43.21, -100.00, 25.00, -820.00] * 3
    rows, balance = [["Date", "What", "Amount", "Balance"]], 3000.0
    for day, amount in enumerate(amounts):
        balance += amount
        rows.append([(date(2024, 3, 1) + timedelta(day)).isoformat(), "", f"{amount:.2f}", f"{balance:.2f}"])
    return rows if with_balance else [each[:3] for each in rows]


def test_a_value_that_is_there_again_and_again_is_no_slip() -> None:
    assert found_in(bookings()) == found_in(bookings(with_balance=False)) == []
    rows = bookings(with_balance=False)
    rows[5][2] = "-6250.00"
    assert [(each.rule, each.written) for each in found_in(rows)] == [("column-slip", "-6250.00")]


def test_a_value_that_a_relation_confirms_is_no_slip() -> None:
    rows = bookings()
    for row in rows[5:]:
        row[3] = f"{float(row[3]) - 6200:.2f}"
    rows[5][2] = "-6150.00"
    assert found_in(rows) == []
    rows[5][2] = "-6510.00"
    assert [each.cell for each in found_in(rows)] == [(4, 2)]


def invoices() -> list[list[str]]:
    rows = [["No.", "Count", "Price", "Net", "VAT", "Gross"]]
    for number, (count, price) in enumerate(
        [(9, 249.33), (28, 721.42), (5, 131.09), (14, 38.25), (3, 77.70), (21, 12.05)]
    ):
        net = round(count * price, 2)
        vat = round(0.19 * net, 2)
        rows.append([f"R{number}", str(count), f"{price:.2f}", f"{net:.2f}", f"{vat:.2f}", f"{net + vat:.2f}"])
    return rows


def test_a_computed_cell_that_another_relation_needs_is_right() -> None:
    rows = invoices()
    assert found_in(rows) == []
    rows[1][1] = "19"
    assert [(each.cell, each.meant) for each in found_in(rows)] == [((0, 1), "9")]


def test_a_relation_by_the_likeness_of_two_columns_is_none() -> None:
    rows = [["qty a", "price a", "total a", "qty b", "price b", "total b"]]
    for a, x, b, y in [
        (2, 31.75, 2, 8.8),
        (5, 12.2, 5, 17.3),
        (3, 9.99, 3, 21.1),
        (4, 45.1, 4, 3.25),
        (5, 31.75, 1, 6.4),
    ]:
        rows.append([str(a), str(x), f"{a * x:.2f}", str(b), str(y), f"{b * y:.2f}"])
    assert found_in(rows) == []
    rows[5][2] = "185.75"
    assert [(each.cell, each.meant) for each in found_in(rows)] == [((4, 2), "158.75")]


def readings(new: int) -> list[list[str]]:
    rows, reading = [["Date", "Reading", "Used", "Note"]], 812.4
    for month, used in enumerate([8.1, 7.7, 12.4, 9.9, 10.2, 6.6, 13.1, 8.8, 6.3, 9.4, 7.2, 11.9]):
        reading = round(reading + used, 1) if month != new else 0.0
        rows.append([f"m{month}", f"{reading:.1f}", str(used), "new meter" if month == new else ""])
    return rows


def test_a_new_meter_begins_again() -> None:
    assert found_in(readings(7)) == []
    rows = readings(-1)
    real, rows[5][1] = rows[5][1], "680.7"  # falls, but nothing goes on from there
    assert [(each.cell, each.meant) for each in found_in(rows)] == [((4, 1), real)]


def test_a_sum_of_durations_is_no_conversion() -> None:
    assert found("1 h 45 min + 50 min = 2 h 35 min, and 50 min = 0 h 50 min.") == []
