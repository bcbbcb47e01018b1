"""Texts from files of every format, and one-line error messages."""

from __future__ import annotations

import gzip
import json
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from numerate.training.sources import SourceError, Texts, format_of, rows_of

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["It cost $5.", 'A "quoted, one", 7 of 12', "größer als 3\u2028 Zeilen"]


def written(folder: Path, name: str) -> str:
    """Writes the texts into a file in the format of its ending."""
    rows = [{"id": i, "body": {"text": text}, "text": text} for i, text in enumerate(TEXTS)]
    quoted = [text.replace('"', '""') for text in TEXTS]
    contents = {
        "jsonl": "\n".join(json.dumps(row) for row in rows) + "\n\n",
        "json": json.dumps(rows, indent=1),
        "txt": "\n\n".join(TEXTS),
        "csv": "id,text\r\n" + "\r\n".join(f'{i},"{text}"' for i, text in enumerate(quoted)) + "\r\n",
        "tsv": "id\ttext\n" + "\n".join(f'{i}\t"{text}"' for i, text in enumerate(quoted)),
    }
    data = contents[name.removesuffix(".gz").rpartition(".")[2]].encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return str(path)


@pytest.mark.parametrize("ending", ["jsonl", "json", "txt", "csv", "tsv"])
@pytest.mark.parametrize("packed", ["", ".gz"])
def test_every_format_gives_the_same_texts(tmp_path: Path, ending: str, packed: str) -> None:
    path = written(tmp_path, f"my.{ending}{packed}")
    texts = Texts((path,))
    texts.check()
    assert list(texts) == TEXTS == list(texts), "every iteration starts at the first text"
    assert list(Texts((path, path), limit=4)) == [*TEXTS, TEXTS[0]]


def test_a_quoted_field_goes_on_over_lines(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('text,n\n"one\ntwo",3\n')
    assert list(Texts((str(tmp_path / "a.csv"),))) == ["one\ntwo"]


def test_nested_fields_and_whole_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "my.jsonl")
    assert list(Texts((path,), "body.text")) == TEXTS
    whole = list(Texts((path,), None))
    assert [json.loads(line)["id"] for line in whole] == [0, 1, 2]
    lines = tmp_path / "lines.json"
    lines.write_text('{"text": "a 1"}\n{"text": "b 2"}\n')
    assert list(Texts((str(lines),))) == ["a 1", "b 2"], "a .json file may have one object per line"


def test_a_field_says_the_split(tmp_path: Path) -> None:
    rows = [("train", "a"), ("validation", "b"), ("test", "c"), ("train", "d")]
    path = tmp_path / "all.jsonl"
    path.write_text("\n".join(json.dumps({"text": text, "part": part}) for part, text in rows))
    found = {split: list(Texts((str(path),), split=("part", split))) for split in ("train", "dev", "test")}
    assert found == {"train": ["a", "d"], "dev": ["b"], "test": ["c"]}
    path.write_text('{"text": "a", "part": "trian"}')
    with pytest.raises(SourceError, match=r"all\.jsonl:1: field 'part' is 'trian', expected one of train, dev, test"):
        list(Texts((str(path),), split=("part", "dev")))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", b'{"text": "x"}\n{"body": 1, "id": 2}', r"a\.jsonl:2: field 'text' is missing; it has 'body', '"),
        ("a.jsonl", b'{"text": "x"}\n\n{"text": 5}\n', r"a\.jsonl:3: field 'text' holds int, not a text"),
        ("a.jsonl", b'{"text": "x"}\n{"text": \n', r"a\.jsonl:2: not JSON"),
        ("a.jsonl", b"[1]\n", r"a\.jsonl:1: field 'text' is missing; it has no fields"),
        ("a.json", b'[{"text": "x"},\n {"text": }]', r"a\.json:2: not JSON"),
        ("a.json", b'[{"text": "x"}, {"t": 1}]', r"a\.json, entry 2: field 'text' is missing; it has 't'"),
        ("a.txt", b"fine\n\xff\n", r"a\.txt:2: byte 0xff at offset 0 is not UTF-8"),
        ("a.csv", b"id,text\n1,a\n2\n", r"a\.csv:3: 1 fields, but the first line names 2"),
        ("a.csv", b"id,text\n1,a,b\n", r"a\.csv:2: 3 fields, but the first line names 2"),
        ("a.csv", b'id,text\n1,"a"b\n', r"a\.csv:2: not CSV"),
        ("a.csv", b"text,id,text\n1,a,2\n", r"a\.csv:1: 2 columns are named 'text'; rename them"),
        ("a.tsv", b"text\t\t\n1\ta\t2\n", r"a\.tsv:1: 2 columns are named ''; rename them"),
        ("a.txt.gz", gzip.compress(b"some text\n" * 9, mtime=0)[:-10], r"a\.txt\.gz:\d+: cannot be read"),
        ("a.txt", b"\n \n", r"a\.txt: no text found"),
        ("a.docx", b"x", r"a\.docx: unknown format for the ending 'docx'; set data\.format="),
    ],
)  # fmt: skip
def test_messages_name_file_line_and_field(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        texts = Texts((str(tmp_path / name),))
        texts.check()
        list(texts)


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 3}', '{"text": {"x": [{"a": 1, "a": 1}]}}'])
@pytest.mark.parametrize("name", ["my.jsonl", "my.json"])
def test_a_key_that_occurs_twice_is_told(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(f'{{"a": 1}}\n{text}\n')
    with pytest.raises(SourceError, match=rf"{name}:2: the key 'a' occurs twice in one object; rename or remove one"):
        list(rows_of(str(path)))


def test_missing_files_and_fields(tmp_path: Path) -> None:
    for path in (str(tmp_path / "no.jsonl"), str(tmp_path / "no such thing")):
        with pytest.raises(SourceError, match="no such file"):
            Texts((path,)).check()
    with pytest.raises(SourceError, match="a folder that `numerate prepare` did not write"):
        format_of(str(tmp_path))
    with pytest.raises(SourceError, match="a text file has no field 'split'"):
        list(Texts((written(tmp_path, "a.txt"),), split=("split", "train")))


def test_missing_extras_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "datasets", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"Parquet needs pyarrow: pip install 'numerate\[train\]'"):
        list(Texts((str(tmp_path / "a.parquet"),)))
    with pytest.raises(SourceError, match=r"owner/name: no such file; Hub data sets need `datasets`"):
        list(Texts(("owner/name",)))


def test_hub_data_sets_by_name_and_split(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def load_dataset(name: str, config: str | None, streaming: bool) -> dict[str, list[dict[str, str]]]:
        asked.append((name, config, streaming))
        if name != "owner/name":
            raise FileNotFoundError("no\nsuch set")
        return {"train": [{"comment": "a 1"}], "validation": [{"comment": "b 2"}]}

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    assert list(Texts(("owner/name:small",), "comment", split=(None, "dev"))) == ["b 2"]
    assert asked == [("owner/name", "small", True)], "streamed, not loaded"
    with pytest.raises(SourceError, match="has no split 'test': known: train, validation"):
        list(Texts(("owner/name",), "comment", split=(None, "test")))
    with pytest.raises(SourceError, match="owner/name, train row 1: field 'text' is missing; it has 'comment'"):
        list(Texts(("owner/name",)))
    with pytest.raises(SourceError, match="no such file or Hub data set: no such set"):
        list(Texts(("owner/other",)))


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet  # type: ignore[import-not-found]

    path = str(tmp_path / "a.parquet")
    parquet.write_table(arrow.table({"text": TEXTS, "id": [1, 2, 3]}), path)
    assert list(Texts((path,))) == TEXTS
    with pytest.raises(SourceError, match="row 1: field 'body' is missing; it has 'text', 'id'"):
        list(Texts((path,), "body"))
    (tmp_path / "a.parquet").write_bytes(b"PAR1 torn")
    with pytest.raises(SourceError, match="not Parquet"):
        list(Texts((path,)))
