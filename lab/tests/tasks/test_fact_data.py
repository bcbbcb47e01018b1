"""TabFact's files: both layouts, errors that name file and record, and rows that equal those of a pair of texts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import fact_files
import numpy as np
import pytest
from tiny_models import new_backbone, tokenizer_of

from numerate.config import ConfigError
from numerate.modeling.attaching import attach
from numerate.training.sources import SourceError
from numerate_lab.tasks.tabfact.fact_data import half_of, read_statements
from numerate_lab.tasks.tabfact.fact_encoding import LAYOUTS, PairFrame, encode_statements, segments

if TYPE_CHECKING:
    from pathlib import Path


def test_both_layouts_hold_the_same(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("lines", "tokenised", "collected")]
    for folder in folders:
        folder.mkdir()
    fact_files.write_lines(folders[0])
    fact_files.write_official(folders[1])
    fact_files.write_official(folders[2], tokenised=False)
    for split in ("train", "val", "test"):
        found = [read_statements(folder, split) for folder in folders]
        assert found[0] == found[1] == found[2]
        statements, tables = found[0]
        assert len(statements) == 2 * fact_files.SIZES[split] == 2 * len(tables)
        assert {one.channel for one in statements} == {"simple", "complex"} and {s.label for s in statements} == {0, 1}
        assert next(iter(tables.values())).rows[0][2:] == ("(3)", "")


def test_statements_of_a_table_in_both_rounds_have_their_own_channel(tmp_path: Path) -> None:
    """Its statements were the simple ones, counted as complex."""
    fact_files.write_official(tmp_path, tokenised=False)
    files = [tmp_path / "collected_data" / f"r{number}_training_all.json" for number in (1, 2)]
    simple, complex_ = (json.loads(file.read_text("utf-8")) for file in files)
    table = next(name for name in simple if name.startswith("val"))
    complex_[table] = [["the fox has the most points of all"], [1], "caption"]
    files[1].write_text(json.dumps(complex_), "utf-8")
    found = [one for one in read_statements(tmp_path, "val")[0] if one.table == table]
    assert [(one.text, one.channel) for one in found] == [("the fox has the most points of all", "complex")]


def test_halves_share_no_table() -> None:
    names = [f"{number}.csv" for number in range(2000)]
    assert 900 < sum(half_of(name) == "dev" for name in names) < 1100
    assert {half_of(name) for name in names} == {"dev", "test"}


VAL = "val-2.html.csv"


def _edited(path: Path, change: Any) -> None:
    content = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(change(content) or content), "utf-8")


def _edit_line(path: Path, number: int, **fields: Any) -> None:
    lines = path.read_text("utf-8").splitlines()
    lines[number] = json.dumps(json.loads(lines[number]) | fields)
    path.write_text("\n".join(lines) + "\n", "utf-8")


def _first_table(folder: Path) -> str:
    return json.loads((folder / "tables.jsonl").read_text("utf-8").splitlines()[0])["table_id"]


def _csv(folder: Path) -> Path:
    return folder / "data" / "all_csv" / "val-2.html.csv"


OFFICIAL: dict[str, tuple[Any, str]] = {
    "broken JSON": (
        lambda f: (f / "tokenized_data" / "val_examples.json").write_text('{"a": [', "utf-8"),
        r"val_examples.json: not JSON",
    ),
    "missing table": (lambda f: _csv(f).unlink(), r"table 'val-2.html.csv', statement 1: table .* is not in .*all_csv"),
    "no rows": (lambda f: _csv(f).write_text("name#points\n", "utf-8"), r"val-2.html.csv: table .* has no rows"),
    "short row": (
        lambda f: _csv(f).write_text("name#points\nfox\n", "utf-8"), r"row 1 must have 2 texts, got 1 cells",
    ),
    "unknown label": (
        lambda f: _edited(f / "tokenized_data" / "val_examples.json", lambda c: c[VAL].__setitem__(1, [1, 2])),
        r"table 'val-2.html.csv', statement 2: label must be 0 \(refuted\) or 1 \(entailed\), got '2'",
    ),
    "labels missing": (
        lambda f: _edited(f / "tokenized_data" / "val_examples.json", lambda c: c[VAL][1].pop()),
        r"2 statements, but 1 labels",
    ),
}  # fmt: skip
LINES: dict[str, tuple[Any, str]] = {
    "broken JSON": (lambda f: (f / "val.jsonl").write_text('{"a": \n', "utf-8"), r"val.jsonl:1: not JSON"),
    "missing table": (
        lambda f: _edit_line(f / "val.jsonl", 3, table_id="x.csv"),
        r"val.jsonl:4: table 'x.csv' is not in .*tables.jsonl",
    ),
    "no rows": (lambda f: _edit_line(f / "tables.jsonl", 12, rows=[]), r"tables.jsonl:13: .*field 'rows' is empty"),
    "a cell that is no text": (
        lambda f: _edit_line(f / "tables.jsonl", 12, header=["a", "b"], rows=[["a", 1]]),
        r"tables.jsonl:13: .*row 1 must have 2 texts, got 1 among them",
    ),
    "two tables with one id": (
        lambda f: _edit_line(f / "tables.jsonl", 12, table_id=_first_table(f)),
        r"tables.jsonl:13: table '.*' is also in .*tables.jsonl:\d+; give each its own table_id",
    ),
    "unknown label": (
        lambda f: _edit_line(f / "val.jsonl", 1, label="maybe"), r"val.jsonl:2: label must be .* got 'maybe'",
    ),
    "no label": (
        lambda f: (f / "val.jsonl").write_text('{"statement": "a fox", "table_id": "val-0.html.csv"}\n', "utf-8"),
        r"val.jsonl:1: field 'label' is missing",
    ),
    "no statement": (lambda f: (f / "val.jsonl").write_text("", "utf-8"), r"val.jsonl: there is no statement in it"),
    "unknown channel": (lambda f: _edit_line(f / "val.jsonl", 1, channel="hard"), r"val.jsonl:2: field 'channel'"),
    "empty statement": (lambda f: _edit_line(f / "val.jsonl", 1, statement=" "), r"val.jsonl:2: field 'statement'"),
}  # fmt: skip


def test_broken_files_name_file_and_record(tmp_path: Path) -> None:
    for write, cases in ((fact_files.write_official, OFFICIAL), (fact_files.write_lines, LINES)):
        for number, (name, (spoil, message)) in enumerate(cases.items()):
            folder = tmp_path / f"{write.__name__}-{number}"
            folder.mkdir()
            write(folder)
            spoil(folder)
            with pytest.raises(SourceError, match=message) as raised:
                read_statements(folder, "val")
            assert "\n" not in str(raised.value), name
    for folder, split, message in (
        (tmp_path / "none", "val", "no such folder"), (tmp_path, "val", "neither tables.jsonl.gz nor data/all_csv"),
        (tmp_path, "dev", "split must be one of train, val, test, got 'dev'"),
    ):  # fmt: skip
        with pytest.raises(SourceError, match=message):
            read_statements(folder, split)


@pytest.mark.parametrize("recipe", ["subwords", "in-place", "luna", "value-prefix"])
def test_rows_equal_those_of_a_pair_of_texts(recipe: str, tmp_path: Path) -> None:
    statements, tables = read_statements(fact_files.write_lines(tmp_path), "val")
    for name in ("bert", "roberta"):
        tokenizer = tokenizer_of(name)
        processor = attach(new_backbone(name), tokenizer, recipe).processor
        for layout, longest in ((LAYOUTS[0], 200), (LAYOUTS[1], 45), (LAYOUTS[2], 61)):
            rows, cut = encode_statements(processor, statements, tables, layout=layout, max_tokens=longest)
            pairs = processor(
                [[one.text] for one in statements], [segments(tables[one.table], layout) for one in statements],
                is_split_into_words=True, truncation=True, max_length=longest,
            )  # fmt: skip
            assert any(cut) == (longest < 100)
            for at, row in enumerate(rows):
                assert len(row["input_ids"]) <= longest and row.keys() == pairs.keys()
                count = len(row["number_given"])
                for key, values in row.items():
                    other = np.asarray(pairs[key][at])
                    if key.startswith("number_") and key not in ("number_slots", "number_scale"):
                        assert (np.asarray(pairs["number_given"][at])[count:] == 2).all()  # padding
                        other = other[:count]
                    if key == "number_chars":
                        width = min(values.shape[1], other.shape[1])
                        assert not values[:, width:].any() and not other[:, width:].any()
                        values, other = values[:, :width], other[:, :width]
                    assert np.array_equal(values, other), (name, layout, key)


def test_cells_are_read_as_cells(tmp_path: Path) -> None:
    statements, tables = read_statements(fact_files.write_lines(tmp_path), "val")
    options: Any = {"reader": "standard", "reader_options": {"cell": True}}
    processor = attach(new_backbone("bert"), tokenizer_of("bert"), "in-place", **options).processor
    rows, _ = encode_statements(processor, statements[:1], tables)
    values = rows[0]["number_bits"].view(np.float64)
    assert {-3.0, -4.0, -5.0, -6.0} <= set(values.tolist()) and 3.0 not in values
    assert segments(tables[statements[0].table], caption=True)[0].startswith("cup of")
    with pytest.raises(ConfigError, match="layout must be one of rows, columns, template, got 'row'"):
        segments(tables[statements[0].table], "row")
    with pytest.raises(ConfigError, match="max_tokens must be at least 5 for this model, got 4"):
        PairFrame(tokenizer_of("bert"), 4)


@pytest.mark.shared("data/tabfact")
def test_shared_set(shared: Path) -> None:
    statements, tables = read_statements(shared / "data" / "tabfact", "val")
    assert (len(statements), len(tables)) == (12_792, 1_696)
    assert sum(one.channel == "complex" for one in statements) == 8_478
    assert sum(half_of(one.table) == "dev" for one in statements) == 6_465
