"""Texts of files for the commands."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from numerate.cli.source import read_texts
from numerate.training import text_files
from numerate.training.text_files import SourceError, batches

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, data: bytes, name: str = "texts.txt") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def test_a_line_is_a_text_and_keeps_all_but_its_end(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbfone\r\n\n two \x0c\xe2\x80\xa8x\r \nlast")
    assert list(read_texts(path)) == ["one", "", " two \x0c\u2028x\r ", "last"]


def test_gzip_files_are_decompressed(tmp_path: Path) -> None:
    assert list(read_texts(write(tmp_path, gzip.compress(b"a\nb\n"), "t.gz"))) == ["a", "b"]


def test_batches_are_bounded_and_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BATCH_LINES", 3)
    positions: list[int] = []
    path = write(tmp_path, b"".join(b"%d\n" % i for i in range(10)))
    found = list(batches(path, positions.append))
    assert [batch.first for batch in found] == [0, 3, 6, 9]
    assert [len(batch.lines) for batch in found] == [3, 3, 3, 1]
    assert positions[-1] == 20


def test_a_line_longer_than_a_batch_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "BATCH_BYTES", 10)
    assert list(read_texts(write(tmp_path, b"1" * 1000 + b"\n2\n"))) == ["1" * 1000, "2"]


def collect(path: str, field: str | None = None) -> tuple[list[str], str]:
    """The texts before the error, and its message."""
    texts: list[str] = []
    with pytest.raises(SourceError) as error:
        for text in read_texts(path, field):
            texts.append(text)
    return texts, str(error.value)


def test_bad_bytes_name_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, b"a\nb\nc\xff\nd\n")
    texts, message = collect(path)
    assert texts == ["a", "b"]
    assert message.startswith(f"{path}:3: byte 0xff at offset 1 ") and "\n" not in message


def test_a_truncated_gzip_file_gives_the_lines_before(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b"line %d\n" % i for i in range(50_000)))
    texts, message = collect(write(tmp_path, packed[: len(packed) // 2], "t.gz"))
    assert len(texts) > 1_000 and texts[:2] == ["line 0", "line 1"]
    assert "cannot be read after this line" in message


def test_a_gz_file_that_is_not_gzip(tmp_path: Path) -> None:
    file = write(tmp_path, b"plain text\n", "t.gz")
    assert collect(file)[1].startswith(f"{file}: cannot be read: Not a gzipped file")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{broken", "not JSON"),
        (b"[1]", "it has no fields"),
        (b'{"a": "x", "b": 1}', "field 'text' is missing; it has 'a', 'b'"),
        (b'{"text": 5}', "holds int"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_bad_json_names_line_and_field(tmp_path: Path, line: bytes, complaint: str) -> None:
    texts, message = collect(write(tmp_path, b'{"text": "fine"}\n\n' + line + b"\n"), "text")
    assert texts == ["fine", ""]
    assert "texts.txt:3: " in message and complaint in message


@pytest.mark.parametrize("path", ["no/such/file", ".", "nul\0"])
def test_files_that_cannot_be_opened(path: str) -> None:
    with pytest.raises(SourceError, match=r"^'"):
        list(read_texts(path))
