"""Engines: parts of files, results in order, workers that die, places that do not answer."""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

import pytest
from engine_work import always_dies, dies_once, doubled, process_of

from numerate.errors import BadInput
from numerate.training.engines import places
from numerate.training.engines.local import Here, LocalEngine, engine_of
from numerate.training.engines.outputs import check_output
from numerate.training.engines.parts import FilePart, content_of, cut_files, input_files, part_size
from numerate.training.engines.places import (
    PlaceError,
    files_below,
    inside,
    is_folder,
    open_place,
    read_place,
    state_of,
    write_place,
)
from numerate.training.engines.ray_cluster import RayEngine, _check_answers
from numerate.training.text_files import LongLine, SourceError, batches, batches_and_long_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

fsspec = pytest.importorskip("fsspec", reason="fsspec is an extra: pip install 'numerate[ray]'")

CONTENTS = {
    "lines": b"one 1\ntwo 22\n\nthree 333\nfour\n",
    "no end": b"5 km\n66 km\n777",
    "windows": "\ufeffé 5\r\n6 km\r\n\r\n".encode(),
    "one line": b"x" * 300,
    "empty": b"",
    "only ends": b"\n\n\n\n",
}


@pytest.fixture
def bucket() -> Iterator[str]:
    files = fsspec.filesystem("memory")
    files.store.clear()
    files.pseudo_dirs[:] = [""]
    yield "memory://bucket"
    files.store.clear()


def lines_of(part: str | FilePart) -> list[tuple[int, str]]:
    found = []
    for batch in batches_and_long_lines(part, longest=100):
        if isinstance(batch, LongLine):
            found.append((batch.index + 1, "".join(batch.decoded())))
        else:
            found += batch.decoded()
    return found


@pytest.mark.parametrize("name", CONTENTS)
def test_parts_have_every_line_once(name: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(CONTENTS[name])
    whole = lines_of(str(file))
    for size in (1, 2, 3, 5, 7, 13, 29, 1000):
        parts = cut_files([str(file)], LocalEngine(), part_bytes=size)
        assert [line for part in parts for line in lines_of(part)] == whole, size
        assert [part.first for part in parts] == sorted(part.first for part in parts)


def test_a_part_that_changed_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"1\n2\n3\n4\n5\n")
    first, second, *_ = cut_files([str(file)], LocalEngine(), part_bytes=4)
    before = content_of(first), content_of(second)
    file.write_bytes(b"1\n2\n3\n4 \n5\n")
    assert content_of(first) == before[0] and content_of(second) != before[1]
    with pytest.raises(PlaceError, match=r"a\.txt: changed while the command ran \(10 bytes, now 11\)"):
        list(LocalEngine().results(_counted, [first]))


def _counted(part: FilePart) -> int:
    from numerate.training.engines.parts import lines_starting_in

    return lines_starting_in(part)


def test_results_come_in_order_and_errors_after_them() -> None:
    here: Any = Here(lambda: iter(["a", "b"]))
    for engine in (LocalEngine(), LocalEngine(2)):
        assert list(engine.results(doubled, [*range(7), here, 7])) == [0, 2, 4, 6, 8, 10, 12, "a", "b", 14]
        results = engine.results(doubled, [1, 2, -3, 4])
        assert list(itertools.islice(results, 2)) == [2, 4]
        with pytest.raises(BadInput, match="-3 is negative"):
            next(results)


def test_a_killed_worker_loses_nothing(tmp_path: Path) -> None:
    jobs = [(str(tmp_path), number) for number in range(12)]
    assert list(LocalEngine(2).results(dies_once, jobs)) == list(range(0, 24, 2))
    assert int((tmp_path / "killed").read_text()) != os.getpid()


def test_a_part_that_kills_every_worker_is_an_error() -> None:
    with pytest.raises(BadInput, match=r"died 4 times, perhaps out of memory; try less than --processes 2"):
        list(LocalEngine(2).results(always_dies, [1]))


def test_only_this_process_reads_standard_input() -> None:
    whose = list(LocalEngine(2).results(process_of, ["a", "-", FilePart("-"), "b"]))
    assert [pid == os.getpid() for pid in whose] == [False, True, True, False]
    with pytest.raises(BadInput, match="standard input cannot be read by other machines"):
        next(RayEngine(1).results(process_of, ["-"]))


@pytest.mark.parametrize(
    ("said", "answer"),
    [("no answer within 0.2 s", None), ("something answers there, but no Ray cluster", b"HTTP/1.1 400 Bad\r\n\r\n"),
     ("something answers there", b"x"), ("", bytes((0, 0, 6, 4, 0, 0, 0, 0, 0)) + b"123456")],
)  # fmt: skip
def test_what_answers_at_an_address_of_ray(said: str, answer: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMERATE_ANSWER_SECONDS", "0.2")

    def serve() -> None:
        with listening.accept()[0] as client:
            client.recv(100)
            if answer is None:
                time.sleep(0.5)
            else:
                client.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=serve)
        server.start()
        refused = pytest.raises(BadInput, match=said) if said else contextlib.nullcontext()
        with refused:
            _check_answers(f"127.0.0.1:{listening.getsockname()[1]}")
        server.join()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("h:99999", "port must lie between"),
        ("ray://h:1", "not work through Ray's client"),
        ("", "give HOST:PORT or auto"),
    ],
)
def test_addresses_that_are_none_of_ray(address: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        _check_answers(address)


def test_an_output_is_checked_before_the_work(tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one, texts = LocalEngine(), tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("5 km")
    for folder in ("out", "texts/.out", "texts-out"):
        check_output(str(tmp_path / folder), [str(texts), str(texts / "a.txt"), "-", f"{bucket}/texts/"], one)
    check_output(f"{bucket}/out", [f"{bucket}/texts/"], one)
    assert [path.name for path in tmp_path.iterdir()] == ["texts"] and not fsspec.filesystem("memory").store
    wrong = {
        "''": ("", [], one), "would be read at the next start": (str(texts / "out"), [str(texts)], one),
        "a.txt/out: cannot be written: not a directory": (str(texts / "a.txt" / "out"), [], one),
        "bucket/texts lies in": (f"{bucket}/texts", [f"{bucket}/texts/"], one),
        "workers do not see the memory": (f"{bucket}/out", [], LocalEngine(2)),
        "memory://bucket/texts/: workers": ("out", [f"{bucket}/texts/"], RayEngine(1)),
    }  # fmt: skip
    for said, arguments in wrong.items():
        with pytest.raises(PlaceError, match=said):
            check_output(*arguments)

    def no_bucket(*_: Any, **__: Any) -> None:
        raise FileNotFoundError("no bucket")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "makedirs", no_bucket)
    with pytest.raises(PlaceError, match=f"^{bucket}/out: cannot be written: no such file, folder or bucket$"):
        check_output(f"{bucket}/out", [], one)


def test_options_of_engines() -> None:
    for name, address, said in (("spark", None, "--engine 'spark'"), ("local", "h:1", "needs --engine ray")):
        with pytest.raises(BadInput, match=said), engine_of(name, 1, address):
            pass


def test_size_of_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMERATE_PART_BYTES", "100")
    assert (part_size(), part_size(7)) == (100, 7)
    monkeypatch.setenv("NUMERATE_PART_BYTES", "many")
    with pytest.raises(BadInput, match="NUMERATE_PART_BYTES='many'"):
        part_size()


def test_a_bucket_is_read_and_written(bucket: str) -> None:
    for name in ("b/two.txt", "a.txt", "b/.hidden", "b/three.txt.gz"):
        write_place(inside(bucket, name), [gzip.compress(b"3 km\n")] if name.endswith("gz") else [b"1 km\n", b"2 km\n"])
    assert [name for _, name in input_files([bucket])] == ["a.txt", "b/three.txt.gz", "b/two.txt"]
    assert files_below(f"{bucket}/b") == [f"{bucket}/b/three.txt.gz", f"{bucket}/b/two.txt"]
    assert state_of(f"{bucket}/a.txt").size == 10 and is_folder(bucket) and not is_folder(f"{bucket}/a.txt")
    parts = cut_files(files_below(bucket), LocalEngine(), part_bytes=4)
    texts = [(part.path[len(bucket) :], line) for part in parts for line in lines_of(part)]
    assert texts == [
        ("/a.txt", (1, "1 km")), ("/a.txt", (2, "2 km")), ("/b/three.txt.gz", (1, "3 km")),
        ("/b/two.txt", (1, "1 km")), ("/b/two.txt", (2, "2 km")),
    ]  # fmt: skip
    assert read_place(f"{bucket}/none") is None


def test_addresses_of_a_folder_keep_its_form(bucket: str, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("a.txt", "b/two.txt"):
        (tmp_path / name).write_bytes(b"1 km\n")
        write_place(inside(bucket, name), b"1 km\n")
    root = f"file://{tmp_path}"
    for folder in (root, f"{root}/"):
        assert input_files([folder]) == [(f"{root}/a.txt", "a.txt"), (f"{root}/b/two.txt", "b/two.txt")]
    assert all(read_place(file) == b"1 km\n" for file in files_below(root))
    assert input_files(["memory://"]) == [
        ("memory://bucket/a.txt", "bucket/a.txt"), ("memory://bucket/b/two.txt", "bucket/b/two.txt")
    ]  # fmt: skip


def test_an_empty_path_is_not_the_current_folder() -> None:
    with pytest.raises(PlaceError, match="'': an empty path"):
        is_folder("")


def test_nothing_is_left_of_a_file_whose_content_fails(bucket: str) -> None:
    def content() -> Iterator[bytes]:
        yield b"a"
        raise BadInput("line 2")

    with pytest.raises(BadInput, match="line 2"):
        write_place(f"{bucket}/a.txt", content())
    assert read_place(f"{bucket}/a.txt") is None


def test_what_a_place_says(bucket: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    write_place(f"{bucket}/cut.txt.gz", gzip.compress(b"1 km\n" * 5000)[:40])
    with pytest.raises(SourceError, match=r"memory://bucket/cut\.txt\.gz:\d+: cannot be read after this line"):
        list(batches(f"{bucket}/cut.txt.gz"))
    with pytest.raises(PlaceError, match=r"memory://none/a\.txt: no such file, folder or bucket"):
        state_of("memory://none/a.txt")
    with pytest.raises(PlaceError, match=r"memory://none: no such folder or bucket"):
        files_below("memory://none")
    with pytest.raises(PlaceError, match=r"nowhere://a: Protocol not known: nowhere"):
        state_of("nowhere://a")
    with pytest.raises(PlaceError, match="the folder has no files"):
        files_below(str(tmp_path))
    (tmp_path / "x").mkdir()
    for name in ("a.txt", "x/a.txt"):
        (tmp_path / name).touch()
    with pytest.raises(PlaceError, match="have the same name"):
        input_files([str(tmp_path / "a.txt"), str(tmp_path / "x/a.txt")])
    memory = fsspec.get_filesystem_class("memory")
    faults: dict[str, Any] = {
        "no access; check the credentials": PermissionError("Forbidden"),
        "no access; check": RuntimeError("Unable to locate credentials"),
        "no answer; check address and network": ConnectionRefusedError("Connect call failed"),
        "ValueError: odd": ValueError("odd"),
    }
    for said, error in faults.items():
        monkeypatch.setattr(memory, "info", lambda self, path, error=error, **options: _raise(error))
        with pytest.raises(PlaceError, match=f"memory://bucket/a: {said}"):
            state_of("memory://bucket/a")


def _raise(error: Exception) -> None:
    raise error


def test_an_address_that_does_not_answer_is_no_hang(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write_place(f"{bucket}/a.txt", b"5 km\n")
    memory = fsspec.get_filesystem_class("memory")
    monkeypatch.setattr(memory, "info", lambda self, path, **options: time.sleep(30))
    monkeypatch.setenv("NUMERATE_ANSWER_SECONDS", "0.2")
    begin = time.monotonic()
    with pytest.raises(PlaceError, match=r"memory://bucket/a\.txt: no answer within 0\.2 s; check address and network"):
        state_of(f"{bucket}/a.txt")
    assert time.monotonic() - begin < 10
    monkeypatch.setattr(places, "_asked", lambda path, request: request())
    stream = open_place(f"{bucket}/a.txt")
    assert isinstance(stream, io.BufferedReader) and stream.read() == b"5 km\n"
    monkeypatch.setenv("NUMERATE_ANSWER_SECONDS", "soon")
    with pytest.raises(PlaceError, match="NUMERATE_ANSWER_SECONDS='soon': give seconds"):
        places.answer_seconds()


def test_a_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str, **options: Any) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    with pytest.raises(PlaceError, match=r"s3://b/a: s3:// needs the package s3fs: pip install s3fs"):
        state_of("s3://b/a")


def test_fsdp_may_be_true() -> None:
    from transformers import TrainingArguments

    from numerate.training.argument_checks import check_arguments
    from numerate.training.run import RunError

    check_arguments({"fsdp": True}, TrainingArguments)
    check_arguments({"fsdp": "full_shard"}, TrainingArguments)
    with pytest.raises(RunError, match=r"training\.fsdp must be"):
        check_arguments({"fsdp": 3}, TrainingArguments)
