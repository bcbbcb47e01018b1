"""A file that several processes need is made by one of them."""

from __future__ import annotations

import multiprocessing
import os
import time
from typing import TYPE_CHECKING

from numerate.files import write_atomically
from numerate_lab.engine.made_once import made_once

if TYPE_CHECKING:
    from pathlib import Path


def make(place: Path) -> None:
    with (place.parent / "makers.txt").open("a") as file:
        file.write(f"{os.getpid()}\n")
    time.sleep(0.2)  # long enough for the others to ask meanwhile
    write_atomically(place, b"made")


def ask(place: Path) -> None:
    assert made_once(place, make).read_bytes() == b"made"


def test_one_process_makes_it_and_the_others_wait(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=ask, args=(tmp_path / "folder" / "file",)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert len((tmp_path / "folder" / "makers.txt").read_text().splitlines()) == 1


def test_a_failed_attempt_is_repeated(tmp_path: Path) -> None:
    def fail(place: Path) -> None:
        raise OSError("no space")

    place = tmp_path / "file"
    try:
        made_once(place, fail)
    except OSError as error:
        assert "no space" in str(error)
    assert not place.exists()
    assert made_once(place, make).read_bytes() == b"made"
