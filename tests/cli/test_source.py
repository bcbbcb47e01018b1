from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from numerate.cli import source
from numerate.cli.source import batches, read_texts
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def write(folder: Path, data: bytes, name: str = "texts.txt") -> str:
    (folder / name).write_bytes(data)
    return str(folder / name)


def test_a_line_is_a_text_and_keeps_all_but_its_end(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbfone\r\n\n two \x0c\xe2\x80\xa8x\r \nlast")
    assert list(read_texts(path)) == ["one", "", " two \x0c\u2028x\r ", "last"]


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    assert list(read_texts(write(tmp_path, gzip.compress(b"a\nb\n"), "t.gz"))) == ["a", "b"]


def test_batches_are_bounded_and_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BATCH_LINES", 3)
    positions: list[int] = []
    path = write(tmp_path, b"".join(b"%d\n" % i for i in range(10)))
    found = list(batches(path, positions.append))
    assert [batch.first for batch in found] == [0, 3, 6, 9]
    assert [len(batch.lines) for batch in found] == [3, 3, 3, 1]
    assert positions[-1] == 20


def test_a_line_longer_than_a_batch_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "BATCH_BYTES", 10)
    assert list(read_texts(write(tmp_path, b"1" * 1000 + b"\n2\n"))) == ["1" * 1000, "2"]


def collect(path: str, field: str | None = None) -> tuple[list[str], str]:
    """The texts that came out before the fault, and its message."""
    texts: list[str] = []
    with pytest.raises(BadInput) as error:
        for text in read_texts(path, field):
            texts.append(text)
    return texts, str(error.value)


def test_bad_bytes_name_file_and_line_and_lose_nothing_before(tmp_path: Path) -> None:
    path = write(tmp_path, b"a\nb\nc\xff\nd\n")
    texts, message = collect(path)
    assert texts == ["a", "b"]
    assert path in message and "line 3" in message and "0xff" in message and "\n" not in message


def test_a_torn_packed_file_gives_what_it_has(tmp_path: Path) -> None:
    packed = gzip.compress(b"".join(b"line %d\n" % i for i in range(50_000)))
    texts, message = collect(write(tmp_path, packed[: len(packed) // 2], "t.gz"))
    assert len(texts) > 1_000 and texts[:2] == ["line 0", "line 1"]
    assert "damaged" in message


def test_what_only_claims_to_be_packed(tmp_path: Path) -> None:
    assert "damaged" in collect(write(tmp_path, b"plain text\n", "t.gz"))[1]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{broken", "not JSON"),
        (b"[1]", "no object"),
        (b'{"a": "x", "b": 1}', "no field 'text'; its fields are 'a', 'b'"),
        (b'{"text": 5}', "holds int"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_bad_json_names_line_and_field(tmp_path: Path, line: bytes, complaint: str) -> None:
    texts, message = collect(write(tmp_path, b'{"text": "fine"}\n\n' + line + b"\n"), "text")
    assert texts == ["fine", ""]
    assert "line 3" in message and complaint in message


@pytest.mark.parametrize("path", ["no/such/file", ".", "nul\0"])
def test_files_that_cannot_be_opened(path: str) -> None:
    with pytest.raises(BadInput, match=r"^'"):
        list(read_texts(path))
