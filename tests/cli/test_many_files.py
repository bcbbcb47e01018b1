"""`find`, `stats`, `prepare` and `check` over folders and buckets: parts, several processes, what is not made again."""

from __future__ import annotations

import gzip
import io
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from numerate.cli import find_parts
from numerate.cli.app import app
from numerate.cli.boundary import exit_code
from numerate.cli.find import FindJob, find_in_file
from numerate.cli.find_parts import find_in_files
from numerate.cli.run_commands import prepare
from numerate.cli.stats import StatsPart, stats_of_file, stats_of_files
from numerate.cli.tally import Quantiles, TypeCounts
from numerate.errors import BadInput
from numerate.training import shard_parts
from numerate.training.data import RemoteShards
from numerate.training.engines import parts, places
from numerate.training.engines.local import LocalEngine
from numerate.training.engines.places import read_place, write_place
from numerate.training.shards import Shards

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

fsspec = pytest.importorskip("fsspec", reason="fsspec is an extra: pip install 'numerate[ray]'")
LINES = [f"Box {number} has {number * 1.75:.2f} kg and cost ${number * 37:,}.\n" for number in range(120)]


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    (folder / "more").mkdir(parents=True)
    (folder / "a.txt").write_text("".join(LINES), "utf-8")
    (folder / "more" / "b.txt").write_text("7 km é\nnone", "utf-8")
    (folder / "more" / "c.txt.gz").write_bytes(gzip.compress(b"5 km\n6 km\n"))
    return folder


@pytest.fixture
def bucket(texts: Path) -> Iterator[str]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    for path in sorted(path for path in texts.rglob("*") if path.is_file()):
        write_place(f"memory://texts/{path.relative_to(texts).as_posix()}", path.read_bytes())
    yield "memory://texts"
    files.store.clear()


def alone(path: Path) -> bytes:
    out = io.BytesIO()
    find_in_file(str(path), out)
    return out.getvalue()


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_find_writes_a_file_for_each_part(texts: Path, tmp_path: Path, bucket: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    found = find_in_files([str(texts)], str(one), FindJob(), LocalEngine(), part_bytes=1000)
    find_in_files([str(texts)], str(two), FindJob(), LocalEngine(2), part_bytes=1000)
    names = [part["output"] for part in found["parts"]]
    assert names[0] == "a.txt.00000-of-00005.jsonl" and names[-2:] == ["more/b.txt.jsonl", "more/c.txt.gz.jsonl"]
    assert b"".join((one / name).read_bytes() for name in names[:-2]) == alone(texts / "a.txt")
    assert (one / names[-1]).read_bytes() == alone(texts / "more" / "c.txt.gz")
    assert tree(one) == tree(two)
    find_in_files([bucket], "memory://out", FindJob(), LocalEngine(), part_bytes=1000)
    assert all(read_place(f"memory://out/{name}") == (one / name).read_bytes() for name in names)


def test_finished_parts_are_not_made_again(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    made: list[tuple[str, int]] = []
    call = find_parts._ToFile.__call__
    monkeypatch.setattr(
        find_parts._ToFile,
        "__call__",
        lambda self, part: (made.append((part.path[-5:], part.number)), call(self, part))[1],
    )

    def again() -> list[tuple[str, int]]:
        made.clear()
        find_in_files([str(texts)], str(out), FindJob(), LocalEngine(), part_bytes=1000)
        return list(made)

    assert len(again()) == 7 and again() == []
    (texts / "a.txt").touch()
    assert again() == [], "the content is the same"
    (texts / "a.txt").write_text("".join([*LINES[:-1], LINES[-1].replace("Box", "Bag")]), "utf-8")
    assert again() == [("a.txt", 4)], "only the last part has changed"
    (out / "more" / "b.txt.jsonl").unlink()
    assert again() == [("b.txt", 0)]
    (out / ".parts").joinpath(
        next(path.name for path in (out / ".parts").iterdir() if "c.txt" in path.name)
    ).write_text("{")
    assert again() == [("xt.gz", 0)], "a damaged record"
    (texts / "a.txt").write_text("".join(LINES[:30]), "utf-8")
    assert len(again()) == 2
    assert sorted(path.name for path in out.glob("a.txt*")) == [
        "a.txt.00000-of-00002.jsonl",
        "a.txt.00001-of-00002.jsonl",
    ]


def test_a_bad_file_does_not_stop_the_others(texts: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    whole = (texts / "more" / "c.txt.gz").read_bytes()
    (texts / "more" / "c.txt.gz").write_bytes(gzip.compress(b"5 km\n" * 3000)[:60])
    code = exit_code(lambda: app(["find", str(texts), "-o", str(tmp_path / "out"), "--json"], standalone_mode=False))
    said = capfd.readouterr().err.splitlines()
    assert code == 2 and len(said) == 2
    assert said[0].startswith(f"numerate: {texts}/more/c.txt.gz:") and "cannot be read after this line" in said[0]
    assert said[1].startswith("numerate: 1 of 3 parts failed; the others are in ")
    assert not (tmp_path / "out" / "more" / "c.txt.gz.jsonl").exists()
    assert (tmp_path / "out" / "a.txt.jsonl").read_bytes() == alone(texts / "a.txt")
    (texts / "more" / "c.txt.gz").write_bytes(whole)
    find_in_files([str(texts)], str(tmp_path / "out"), FindJob(), LocalEngine())
    assert (tmp_path / "out" / "more" / "c.txt.gz.jsonl").read_bytes() == alone(texts / "more" / "c.txt.gz")


def test_folders_and_files_without_permission(
    texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    scandir, opened, closed = os.scandir, places.open_place, str(texts / "a.txt")

    def refuse(path: str) -> Any:
        if path == closed:
            raise PermissionError(13, "Permission denied", path)
        return opened(path)

    monkeypatch.setattr(parts, "open_place", refuse)
    said: list[str] = []
    with pytest.raises(BadInput, match="1 of 3 parts failed"):
        find_in_files([str(texts)], str(tmp_path / "out"), FindJob(), LocalEngine(), on_fault=said.append)
    assert said == [f"{closed!r} cannot be read: Permission denied"]
    assert (tmp_path / "out" / "more" / "b.txt.jsonl").is_file(), "the others are made"
    closed = str(texts / "more")
    monkeypatch.setattr(os, "scandir", lambda path: refuse(str(path)) if str(path) == closed else scandir(path))
    with pytest.raises(places.PlaceError, match=r"more': Permission denied"):
        stats_of_files([str(texts)], StatsPart(), LocalEngine())
    assert exit_code(lambda: app(["check", str(texts), "--no-model"], standalone_mode=False)) == 2
    assert f"{closed!r}" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["find", "TEXTS"], "several files need --output FOLDER"),
        (["find", "memory://none/a.txt"], "memory://none/a.txt: no such file, folder or bucket"),
        (["find", "-", "-o", "out"], "standard input has no name for --output"),
        (["find", "TEXTS", "-o", ""], "'': an empty path"),
        (["find", "TEXTS", "-o", "TEXTS/out"], "would be read at the next start"),
        (["stats", "TEXTS", "--parts", "TEXTS/parts"], "would be read at the next start"),
        (["prepare", "masked-lm", "--scale", "tiny", "--data", "TEXTS/", "-o", "TEXTS/out"], "read at the next start"),
        (["stats", "memory://none/"], "memory://none/: no such folder or bucket"),
        (["stats", "TEXTS", "--tables", "--processes", "2"], "--tables counts in one process"),
        (["check", "memory://none/a.txt", "--no-model"], "'memory://none/a.txt': no such file, folder or bucket"),
        (["prepare", "masked-lm", "--scale", "tiny", "--data", "memory://none/a.txt"], "memory://none/a.txt: no such"),
    ],
)  # fmt: skip
def test_one_line_for_bad_places(words: list[str], said: str, texts: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = [word.replace("TEXTS", str(texts)) for word in words]
    assert exit_code(lambda: app(words, standalone_mode=False)) == 2
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 1 and said in lines[0], lines


def test_stats_are_the_same_in_parts(texts: Path, tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [str(texts / "a.txt"), str(texts / "more" / "b.txt"), str(texts / "more" / "c.txt.gz")]
    whole = [stats_of_file(file) for file in files]
    kept = str(tmp_path / "parts")
    for engine, folder in ((LocalEngine(), None), (LocalEngine(2), kept), (LocalEngine(), kept)):
        parts = stats_of_files([str(texts)], StatsPart(), engine, folder=folder, part_bytes=700)
        assert json.dumps(parts) == json.dumps(whole)
    remote = stats_of_files([bucket], StatsPart(), LocalEngine(), part_bytes=700)
    assert [row | {"file": ""} for row in remote] == [row | {"file": ""} for row in whole]
    monkeypatch.setenv("NUMERATE_PART_BYTES", "700")
    capped = [stats_of_file(file, cap=20) for file in files]
    assert stats_of_files([str(texts)], StatsPart(cap=20), LocalEngine(), part_bytes=700) == capped
    assert "median" in capped[0]["approximate"]


def test_stats_of_standard_input_with_several_processes(monkeypatch: pytest.MonkeyPatch, texts: Path) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"5 km and 6 km\n")))
    found = stats_of_files(["-", str(texts / "a.txt")], StatsPart(), LocalEngine(2))
    assert [row["numerals"] for row in found] == [2, 360]


def test_quantiles_do_not_depend_on_the_parts() -> None:
    values = [float(x) for x in np.random.default_rng(0).lognormal(3, 4, 3000)] + [-5.0, 0.0, 1e308, 1e308, 5e-324]
    for cap in (50, 5000):
        whole = Quantiles(cap)
        for value in values:
            whole.add(value)
        merged = Quantiles(cap)
        for start in range(0, len(values), 701):
            part = Quantiles(cap)
            for value in values[start : start + 701]:
                part.add(value)
            again = Quantiles(cap)
            again.take(json.loads(json.dumps(part.to_json())))
            merged.merge(again)
        for name in ("minimum", "maximum", "mean", "median", "exact", "count"):
            assert getattr(merged, name) == getattr(whole, name), name
        assert whole.median == pytest.approx(float(np.median(values)), rel=1e-12 if cap == 5000 else 0.5)
        assert whole.exact is (cap == 5000)
        assert whole.mean == pytest.approx(1e308 / len(values) * 2)


def test_merged_counts_are_low_by_at_most_the_floor() -> None:
    whole = TypeCounts(cap=10)
    for start in range(0, 500, 100):
        part = TypeCounts(cap=10)
        for number in range(start, start + 100):
            part.update(["often", str(number)])
        whole.merge(part)
    [(word, count)] = whole.top(1)
    assert word == "often" and 500 - whole.floor <= count <= 500 and len(whole) <= 10


def test_prepare_is_the_same_in_parts(texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run: dict[str, Any] = {"data": str(texts), "scale": "tiny"}
    prepare("exponent", output=str(tmp_path / "whole"), **run)
    monkeypatch.setenv("NUMERATE_PART_BYTES", "1500")
    prepare("exponent", output=str(tmp_path / "one"), **run)
    prepare("exponent", output=str(tmp_path / "two"), **run, processes="2")
    assert tree(tmp_path / "one" / "train") == tree(tmp_path / "two" / "train")
    whole, parts = Shards(tmp_path / "whole" / "train"), Shards(tmp_path / "two" / "train", verify=True)
    assert len(parts.meta["shards"]) == 4 and len(whole.meta["shards"]) == 1 and whole.meta["version"] == 1
    assert len(whole) == len(parts) == 124
    for row, other in zip(whole, parts, strict=True):
        assert all(np.array_equal(row[key], other[key]) for key in row)
    made = _encoded_parts(monkeypatch)
    (tmp_path / "two" / "train").rename(tmp_path / "two" / ".parts-train")
    (tmp_path / "two" / ".parts-train" / ".parts" / "00002.json").unlink()
    prepare("exponent", output=str(tmp_path / "two"), **run)
    assert made == [2], "as after a kill, only the missing part is encoded"
    assert tree(tmp_path / "one" / "train") == tree(tmp_path / "two" / "train")
    (texts / "a.txt").write_text("".join([*LINES[:-1], "The end of 2023.\n"]), "utf-8")
    made.clear()
    prepare("exponent", output=str(tmp_path / "two"), **run)
    changed = Shards(tmp_path / "two" / "train", verify=True)
    assert made == [2] and len(changed) == 124, "only the part with the changed line"
    assert not np.array_equal(changed[119]["input_ids"], parts[119]["input_ids"])


def _encoded_parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    made: list[int] = []
    call = shard_parts._Encode._made
    monkeypatch.setattr(
        shard_parts._Encode, "_made", lambda self, part: (made.append(part.number), call(self, part))[1]
    )
    return made


def test_prepare_from_and_into_a_bucket(bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMERATE_PART_BYTES", "3000")
    made = _encoded_parts(monkeypatch)
    prepare("exponent", output="memory://made", data=f"{bucket}/", scale="tiny")
    assert made == [0, 1, 2]
    prepare("exponent", output="memory://made", data=f"{bucket}/", scale="tiny")
    assert made == [0, 1, 2], "it is there"
    fsspec.filesystem("memory").get("/made/", str(tmp_path / "made"), recursive=True)
    rows = Shards(tmp_path / "made" / "train", verify=True)
    assert len(rows) == 124 and (tmp_path / "made" / "start" / "start.json").is_file()
    assert isinstance(RemoteShards("memory://made/train", rows.meta).meta["rows"], int)


def test_check_takes_folders_and_buckets(texts: Path, bucket: str, capfd: pytest.CaptureFixture[str]) -> None:
    (texts / "more" / "b.txt").write_text("The lake is 28 km (27 mi) long.", "utf-8")
    write_place(f"{bucket}/more/b.txt", b"The lake is 28 km (27 mi) long.")
    for place in (str(texts), bucket):
        assert exit_code(lambda place=place: app(["check", place, "--json"], standalone_mode=False)) == 1
        [finding] = json.loads(capfd.readouterr().out)["findings"]
        assert finding["rule"] == "conversion" and finding["source"] == f"{place}/more/b.txt"
