"""Tables as people make them every day: one wrong cell is found, and nothing in the right table."""

from __future__ import annotations

import pytest

from numerate.apps.check import check

TABLES = [
    (
        "share col",
        [
            "Region,Sales,Share",
            "North,120,24%",
            "South,200,40%",
            "East,95,19%",
            "West,85,{}",
            "Total,500,100%",
        ],
        "17%",
        "71%",
    ),
    (
        'diff col',
        [
            "Team,For,Against,Diff",
            "A,34,20,14",
            "B,28,25,3",
            "C,22,30,-8",
            "D,19,28,{}",
        ],
        "-9",
        "9",
    ),
    (
        'growth',
        [
            "Year,Visitors,Growth",
            "2019,12400,",
            "2020,8060,-35.0%",
            "2021,9672,20.0%",
            "2022,11123,{}",
        ],
        "15.0%",
        "51.0%",
    ),
    (
        'per capita',
        [
            "Country,Population,GDP (m),GDP per capita",
            "A,2000000,50000,25000",
            "B,500000,21000,42000",
            "C,10000000,90000,9000",
            "D,4000000,60000,{}",
        ],
        "15000",
        "51000",
    ),
    (
        'conv',
        [
            "Trail,Length (km),Length (mi)",
            "A,10.0,6.2",
            "B,24.5,15.2",
            "C,8.3,5.2",
            "D,31.0,{}",
        ],
        "19.3",
        "13.9",
    ),
    (
        'dur',
        [
            "Shift,Start,End,Hours",
            "A,06:00,14:00,8",
            "B,14:00,22:00,8",
            "C,22:00,06:00,8",
            "D,08:30,17:00,{}",
        ],
        "8.5",
        "5.8",
    ),
    (
        'age',
        [
            "Name,Born,Died,Age",
            "A,1801,1867,66",
            "B,1822,1899,77",
            "C,1840,1903,63",
            "D,1855,1931,{}",
        ],
        "76",
        "67",
    ),
    (
        'avg col',
        [
            "Pupil,Test 1,Test 2,Test 3,Average",
            "Ann,72,80,88,80",
            "Bob,60,66,75,67",
            "Cyd,91,85,94,90",
            "Dan,55,70,64,{}",
        ],
        "63",
        "36",
    ),
    (
        'avg row',
        [
            "Day,Rain",
            "Mon,4.2",
            "Tue,0.0",
            "Wed,7.6",
            "Thu,3.0",
            "Average,{}",
        ],
        "3.7",
        "7.3",
    ),
    (
        'cum',
        [
            "Week,New,Cumulative",
            "1,14,14",
            "2,22,36",
            "3,31,67",
            "4,18,85",
            "5,9,{}",
        ],
        "94",
        "49",
    ),
    (
        'unit price',
        [
            "Item,Qty,Unit price,Amount",
            "Bolt,120,0.35,42.00",
            "Nut,250,0.12,30.00",
            "Plate,8,14.50,116.00",
            "Rod,15,6.20,{}",
        ],
        "93.00",
        "39.00",
    ),
    (
        'vat',
        [
            "Item,Net,VAT 20%,Gross",
            "A,100.00,20.00,120.00",
            "B,45.00,9.00,54.00",
            "C,250.00,50.00,300.00",
            "D,80.00,16.00,{}",
        ],
        "96.00",
        "69.00",
    ),
    (
        'density',
        [
            "Place,Area (km²),Population,Density (per km²)",
            "A,50,10000,200",
            "B,120,6000,50",
            "C,8,12000,1500",
            "D,200,9000,{}",
        ],
        "45",
        "54",
    ),
    (
        'speed',
        [
            "Leg,Distance (km),Time (h),Speed (km/h)",
            "1,120,2,60",
            "2,90,1.5,60",
            "3,200,2.5,80",
            "4,150,2,{}",
        ],
        "75",
        "57",
    ),
    (
        'bmi',
        [
            "Patient,Height (cm),Weight (kg),BMI",
            "1,170,65,22.5",
            "2,182,90,27.2",
            "3,160,52,20.3",
            "4,175,80,{}",
        ],
        "26.1",
        "21.6",
    ),
    (
        'percent change',
        [
            "Product,2023,2024,Change",
            "A,400,460,+15%",
            "B,250,225,-10%",
            "C,80,100,+25%",
            "D,600,630,{}",
        ],
        "+5%",
        "-5%",
    ),
    (
        'min max',
        [
            "Station,Min,Mean,Max",
            "A,2.1,8.4,15.0",
            "B,-3.0,4.4,12.1",
            "C,0.5,7.7,16.2",
            "D,1.0,{},13.3",
        ],
        "6.9",
        "96.0",
    ),
    (
        'total row',
        [
            "Item,Jan,Feb,Mar",
            "Rent,900,900,900",
            "Food,412,388,455",
            "Bus,60,60,75",
            "Total,1372,1348,{}",
        ],
        "1430",
        "1340",
    ),
    (
        'total col',
        [
            "Name,Q1,Q2,Q3,Q4,Year",
            "A,10,12,9,14,45",
            "B,22,18,25,20,85",
            "C,7,9,11,8,{}",
        ],
        "35",
        "53",
    ),
    (
        'balance',
        [
            "Date,Description,Debit,Credit,Balance",
            "1 May,Opening,,,500.00",
            "3 May,Shop,42.10,,457.90",
            "9 May,Salary,,1800.00,2257.90",
            "12 May,Rent,850.00,,1407.90",
            "20 May,Bus,25.00,,{}",
        ],
        "1382.90",
        "1328.90",
    ),
    (
        'fx',
        [
            "Item,EUR,USD",
            "A,100,108",
            "B,250,270",
            "C,40,43.2",
            "D,500,{}",
        ],
        "540",
        "504",
    ),
    (
        'points',
        [
            "Team,Pld,W,D,L,GF,GA,GD,Pts",
            "A,10,7,2,1,22,9,13,23",
            "B,10,6,1,3,18,12,6,19",
            "C,10,4,4,2,15,13,2,16",
            "D,10,2,3,5,9,{},-8,9",
        ],
        "17",
        "71",
    ),
    (
        'pct of',
        [
            "Group,n,N,%",
            "A,12,48,25.0",
            "B,30,40,75.0",
            "C,9,36,25.0",
            "D,22,55,{}",
        ],
        "40.0",
        "60.0",
    ),
    (
        'temps',
        [
            "City,°C,°F",
            "Oslo,5,41",
            "Rome,25,77",
            "Cairo,35,95",
            "Lima,20,{}",
        ],
        "68",
        "86",
    ),
    (
        'ounces',
        [
            "Pack,g,oz",
            "S,100,3.5",
            "M,250,8.8",
            "L,500,17.6",
            "XL,1000,{}",
        ],
        "35.3",
        "53.3",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "right", "wrong"), [each[1:] for each in TABLES], ids=[each[0] for each in TABLES])
def test_one_wrong_cell_is_found(lines: list[str], right: str, wrong: str) -> None:
    text = "\n".join(lines)
    assert check(text.format(right), model=False, kind="csv") == []
    found = check(text.format(wrong), model=False, kind="csv")
    # The cell is named, or another one of its row with which the row would fit.
    assert any(wrong.strip("+") in each.written or right in (each.meant or "") for each in found)
