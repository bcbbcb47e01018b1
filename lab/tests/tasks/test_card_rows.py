"""IBM's format: real and made-up rows there and back, bad files, and the generator."""

from __future__ import annotations

import gzip
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

from numerate.config import ConfigError
from numerate.training.text_files import SourceError
from numerate_lab.tasks.transactions.card_histories import CardHistoriesConfig, card_histories
from numerate_lab.tasks.transactions.card_rows import (
    _ARRAYS,
    COLUMNS,
    CardRows,
    load_arrays,
    read_rows,
    save_arrays,
    write_rows,
)

if TYPE_CHECKING:
    from pathlib import Path

HEADER = ",".join(COLUMNS)
GOOD = '3,1,2019,2,28,23:59,$-1234.50,Online Transaction,-72,ONLINE,,,5732,"Bad PIN,Bad CVV",No'
OTHER = "1,0,2020,2,29,00:00,$0.07,Chip Transaction,9,La Verne,CA,91750.0,5411,,Yes"


def same(one: CardRows, other: CardRows) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in _ARRAYS)


def test_cells_are_read(tmp_path: Path) -> None:
    file = tmp_path / "cards.csv.gz"
    file.write_bytes(gzip.compress(f"{HEADER}\r\n{GOOD}\r\n{OTHER}\r\n\r\n".encode()))
    rows = read_rows(file)
    assert rows.user.tolist() == [1, 3] and rows.cents.tolist() == [7, -123450], "sorted by user"
    assert rows.zip.tolist() == [91750, -1] and rows.fraud.tolist() == [True, False]
    assert rows.names["errors"][rows.errors[1]] == "Bad PIN,Bad CVV"
    minutes = [np.datetime64(f"{day}T{clock}", "m").astype(int) for day, clock in (("2020-02-29", "00:00"), ("2019-02-28", "23:59"))]  # noqa: E501  # fmt: skip
    assert rows.minute.tolist() == minutes
    assert len(read_rows(file, most=1)) == 1
    for cell, cents in (("$1,234.50", 123450), ("-$12,345", -1234500), ("$-1,234,567.8", -123456780)):
        (tmp_path / "grouped.csv").write_text(f"{HEADER}\n{OTHER}\n".replace("$0.07", f'"{cell}"'))
        assert read_rows(tmp_path / "grouped.csv").cents.tolist() == [cents], cell
    shuffled = ",".join(reversed(COLUMNS))
    (tmp_path / "other.csv").write_text(f"extra,{shuffled}\nx,{','.join(reversed(OTHER.split(',')))}\n")
    assert read_rows(tmp_path / "other.csv").cents.tolist() == [7], "columns in any order"


def test_bad_files_are_one_line_that_names_file_and_line(tmp_path: Path) -> None:
    def changed(column: str, cell: str) -> str:
        cells = OTHER.split(",")
        cells[COLUMNS.index(column)] = cell
        return f"{HEADER}\n{OTHER}\n{','.join(cells)}\n"

    cases = {
        "": "bad.csv: the file is empty; give a CSV file with the columns User",
        "\n\n": "bad.csv: the file is empty",
        f"{HEADER}\n": "bad.csv: there is a header and no row",
        f"{HEADER.replace(',', ';')}\n{OTHER}\n": "bad.csv:1: the cells are separated by ';'; write",
        f"{HEADER.replace('Amount', 'Sum')}\n{OTHER}\n": "bad.csv:1: the column 'Amount' is missing; the header",
        f"{HEADER},Amount\n{OTHER},$5\n": "bad.csv:1: there are 2 columns 'Amount'; leave one",
        changed("Is Fraud?", "maybe"): "bad.csv:3: 'Is Fraud?' is 'maybe', expected 'Yes' or 'No'",
        changed("Is Fraud?", "1"): "bad.csv:3: 'Is Fraud?' is '1'",
        changed("Amount", "$x"): "bad.csv:3: 'Amount' is '$x', expected an amount such as $12.34",
        changed("Amount", "$1_000"): "bad.csv:3: 'Amount' is '$1_000'",
        changed("Amount", '"$1.234,50"'): "bad.csv:3: 'Amount' is '$1.234,50', expected an amount such as $12.34",
        changed("Amount", '"$12,5"'): "bad.csv:3: 'Amount' is '$12,5'",
        changed("Amount", "nan"): "bad.csv:3: 'Amount' is 'nan'",
        changed("Amount", ""): "bad.csv:3: 'Amount' is ''",
        changed("Day", "30"): "bad.csv:3: there is no day 2020-2-30",
        changed("Month", "13"): "bad.csv:3: 'Month' is '13', expected 1 to 12",
        changed("Time", "24:00"): "bad.csv:3: 'Time' is '24:00', expected HH:MM",
        changed("User", "-1"): "bad.csv:3: 'User' is '-1', expected a whole number",
        changed("Zip", "inf"): "bad.csv:3: 'Zip' is 'inf', expected a zip code, or nothing",
        f"{HEADER}\n{OTHER}\n1,2\n": "bad.csv:3: 2 cells, the header has 15",
        f'{HEADER}\n{OTHER}\n"{OTHER}\n{OTHER}\n': "bad.csv:3: a quoted cell goes on in the next line",
        changed("Merchant City", "x" * 200_000): "bad.csv:3: 200,0",
    }  # fmt: skip
    file = tmp_path / "bad.csv"
    for text, message in cases.items():
        file.write_text(text, "utf-8")
        with pytest.raises(SourceError) as caught:
            read_rows(file)
        assert message in str(caught.value) and "\n" not in str(caught.value), (message, str(caught.value))
    file.write_bytes(f"{HEADER}\n".encode() + b"\xff\n")
    with pytest.raises(SourceError, match=r"bad\.csv:2: byte 0xff .* is not UTF-8"):
        read_rows(file)
    (tmp_path / "torn.csv.gz").write_bytes(gzip.compress(f"{HEADER}\n{OTHER}\n".encode())[:40])
    for name, message in (("torn.csv.gz", "cannot be read"), ("none.csv", "no such file")):
        with pytest.raises(SourceError, match=message):
            read_rows(tmp_path / name)


@pytest.mark.shared("data/transactions")
def test_the_real_sample_comes_out_again_byte_for_byte(shared: Path, tmp_path: Path) -> None:
    source = shared / "data" / "transactions" / "user0.csv.gz"
    rows = read_rows(source)
    assert len(rows) == 19_963 and int(rows.fraud.sum()) == 27 and len(rows.names["merchant"]) == 552
    assert write_rows(rows, tmp_path / "again.csv").read_bytes() == gzip.decompress(source.read_bytes())


def test_histories_are_seeded_and_go_through_the_format(tmp_path: Path) -> None:
    config = CardHistoriesConfig(rows=3000, users=30, fraud_rate=0.05, seed=4)
    rows = card_histories(config)
    assert same(rows, card_histories(config)) and not same(
        rows, card_histories(CardHistoriesConfig(rows=3000, users=30))
    )
    again = read_rows(write_rows(rows, tmp_path / "made.csv"))
    # Codes of texts are by first appearance in a file, so their texts are compared.
    for name in ("user", "card", "minute", "cents", "zip", "mcc", "fraud"):
        assert np.array_equal(getattr(rows, name), getattr(again, name)), name
    for name, texts in rows.names.items():
        one, other = ([rows_.names[name][code] for code in getattr(rows_, name)] for rows_ in (rows, again))
        assert one == other, (name, texts[:3])
    save_arrays(again, tmp_path / "rows.npz")
    kept = load_arrays(tmp_path / "rows.npz")
    assert same(again, kept) and kept.names == again.names


def test_histories_have_the_size_the_rate_and_the_patterns_that_they_claim() -> None:
    begin = time.perf_counter()
    rows = card_histories(CardHistoriesConfig(seed=1))
    assert time.perf_counter() - begin < 30, "a generous limit: it takes about a second"
    assert len(rows) == 200_000 and len(np.unique(rows.user)) == 400
    assert rows.fraud.mean() == pytest.approx(0.01, abs=0.0002)
    assert (np.diff(rows.user) >= 0).all() and (np.abs(rows.cents) >= 50).all()
    order = np.lexsort((rows.minute, rows.card, rows.user))
    assert np.array_equal(order, np.arange(len(rows))), "as IBM's file: by user, card and time"
    online, amount = rows.zip == -1, rows.cents / 100
    fraud = rows.fraud
    assert 0.3 < online[fraud].mean() < 0.6 and 0.15 < online[~fraud].mean() < 0.35
    tests = (amount > 0) & (amount <= 3)
    assert tests[fraud].mean() > 10 * tests[~fraud].mean(), "test charges"
    near = np.abs(np.diff(rows.cents)) <= 6
    pairs, apart = fraud[1:] & fraud[:-1], rows.merchant[1:] != rows.merchant[:-1]
    assert near[pairs & apart].mean() > 0.15 > 20 * near[~fraud[1:] & apart].mean(), "equal amounts at other merchants"


def test_sizes_of_histories_are_checked() -> None:
    for options, message in (
        ({"users": 0}, "users must be at least 1, got 0"),
        ({"rows": 100, "users": 10}, "rows must be at least 20 for each of 10 users, got 100"),
        ({"seed": -1}, "seed must not be negative, got -1"),
        ({"fraud_rate": 0.5}, "fraud_rate must lie in 0 to 0.2, got 0.5"),
    ):
        with pytest.raises(ConfigError, match=message):
            CardHistoriesConfig(**options)
    assert not card_histories(CardHistoriesConfig(rows=400, users=5, fraud_rate=0.0)).fraud.any()
