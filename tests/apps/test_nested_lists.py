"""Uneven lists of objects inside of JSON records are tables of their own."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from numerate.apps.check import CheckOptions, check, check_file
from numerate.apps.documents import Document
from numerate.apps.formats import json_records
from numerate.apps.formats.opening import read_documents

if TYPE_CHECKING:
    from pathlib import Path


def orders(count: int = 25) -> list[dict[str, Any]]:
    """Orders with one to four items each, whose numbers fit; the numbers of some are texts."""
    rng, found = random.Random(4), []
    for index in range(count):
        items = [{"sku": f"S-{rng.randrange(10**4)}", "qty": rng.randrange(1, 6), "price": rng.randrange(199, 8999)}
                 for _ in range(rng.randrange(1, 5))]  # fmt: skip
        whole, post = sum(each["qty"] * each["price"] for each in items), rng.choice([0, 495, 995])
        found.append({
            "id": 900_000 + 37 * index, "customer": {"id": rng.randrange(10**4), "lat": rng.uniform(40, 48)},
            "items": [{"sku": each["sku"], "qty": each["qty"], "price": f"{each['price'] / 100:.2f}",
                       "total": f"{each['qty'] * each['price'] / 100:.2f}"} for each in items],
            "goods": f"{whole / 100:.2f}", "shipping": f"{post / 100:.2f}", "total": f"{(whole + post) / 100:.2f}",
        })  # fmt: skip
    return found


def written(path: Path, records: list[dict[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    else:
        path.write_text(json.dumps({"data": records} if path.stem == "inside" else records, indent=2))
    return path


NAMES = ("orders.json", "inside.json", "orders.jsonl")


@pytest.mark.parametrize("name", NAMES)
def test_right_orders_have_no_findings(tmp_path: Path, name: str) -> None:
    for records in (orders(), orders(7)):
        assert check(written(tmp_path / name, records), model=False) == []


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_item_is_found_in_its_line(tmp_path: Path, name: str) -> None:
    records = orders()
    item = records[3]["items"][-1]
    real, item["total"] = item["total"], "1234.50"
    path = written(tmp_path / name, records)
    (found,) = check(path, model=False)
    assert (found.rule, found.key, found.meant) == ("relation", "total", real)
    assert found.table == ("data.items" if name == "inside.json" else "items")
    lines = path.read_text().splitlines()
    begin = found.line - 1 if found.line else 0
    assert any("1234.50" in line for line in lines[begin : begin + 6])


@pytest.mark.parametrize("name", NAMES)
def test_the_sums_of_records_are_compared(tmp_path: Path, name: str) -> None:
    records = orders()
    real, records[4]["total"] = records[4]["total"], "9999.99"
    (found,) = check(written(tmp_path / name, records), model=False)
    assert (found.rule, found.key, found.meant) == ("relation", "total", real)


def test_pieces_of_two_tables_take_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "ROWS", 20)
    records = orders(90)
    item = records[70]["items"][0]
    real, item["total"] = item["total"], "1234.50"
    records[80]["total"] = "9999.99"
    path = written(tmp_path / "orders.jsonl", records)
    pieces = [each for each in read_documents(str(path)) if isinstance(each, Document)]
    ends = {each.caption: each.is_last for each in pieces}
    assert len(pieces) > 8 and ends == {"": True, "items": True}
    outcome = check_file(str(path), CheckOptions(distributions=False))
    assert sorted((each.table, each.line, each.meant) for each in outcome.findings) == [
        ("", 81, f"{float(records[80]['goods']) + float(records[80]['shipping']):.2f}"),
        ("items", 71, real),
    ]  # fmt: skip
    assert outcome.numbers == sum(6 + 4 * len(each["items"]) for each in records)


def test_even_lists_are_columns_of_their_record(tmp_path: Path) -> None:
    records = [{"name": "ab"[index % 2], "scores": [{"v": index}, {"v": 2 * index + 1}], "sum": 3 * index + 1}
               for index in range(2, 12)]  # fmt: skip
    path = written(tmp_path / "scores.json", records)
    (document,) = [each for each in read_documents(str(path)) if isinstance(each, Document)]
    assert document.header == ["name", "scores[0].v", "scores[1].v", "sum"]
    records[5]["sum"] += 90
    (found,) = check(written(path, records), model=False)
    assert found.key == "sum"
