"""Checkpoints are complete or absent, whatever happens during or after the writing."""

from __future__ import annotations

import errno
import hashlib
import itertools
import json
import logging
import os
from typing import TYPE_CHECKING

import pytest
from training_runs import kill_in_a_child

from numerate.training import checkpoints
from numerate.training.checkpoints import MANIFEST, atomic, damage, newest_whole, recover, rotate, staging

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def write(folder: Path, step: int, size: int = 1000) -> Path:
    target = folder / f"checkpoint-{step}"
    with atomic(target) as inside:
        (inside / "weights").write_bytes(bytes([step % 256]) * size)
        (inside / "below").mkdir()
        (inside / "below" / "state").write_bytes(b"abc" * step)
    return target


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_the_manifest_has_every_file(tmp_path: Path) -> None:
    target = write(tmp_path, 3)
    files = json.loads((target / MANIFEST).read_text())["files"]
    assert files == {
        "weights": {"size": 1000, "sha256": hashlib.sha256(b"\3" * 1000).hexdigest()},
        "below/state": {"size": 9, "sha256": hashlib.sha256(b"abc" * 3).hexdigest()},
    }
    assert names(tmp_path) == {"checkpoint-3"} and damage(target) is None


def flip(path: Path) -> None:
    content = bytearray((path / "weights").read_bytes())
    content[500] ^= 1
    (path / "weights").write_bytes(content)


def truncate(path: Path) -> None:
    os.truncate(path / "below" / "state", 4)


def remove(path: Path) -> None:
    (path / "weights").unlink()


def scribble(path: Path) -> None:
    (path / MANIFEST).write_text('{"files": {"weights": ')


def tear(path: Path) -> None:
    (path / MANIFEST).unlink()


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (flip, "weights was changed"), (truncate, "below/state has 4 bytes instead of 30"),
        (remove, "weights is missing"), (scribble, "cannot be read"), (tear, "has no manifest.json"),
    ],
)  # fmt: skip
def test_damage_is_found_and_the_older_one_is_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: object, why: str
) -> None:
    older, newer = write(tmp_path, 9), write(tmp_path, 10)
    assert newest_whole(tmp_path) == newer, "by number, not by letter"
    harm(newer)  # type: ignore[operator]
    with caplog.at_level(logging.WARNING):
        assert newest_whole(tmp_path) == older
    assert why in caplog.text and "checkpoint-10 is skipped" in caplog.text
    assert (damage(newer, quick=True) is None) == (harm is flip), "sizes show all damage except a flipped bit"


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_a_full_disk_keeps_the_old_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    older = write(tmp_path, 1)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(*((os, "fsync") if call == "fsync" else (type(tmp_path), "rename")), full)
        write(tmp_path, 2)
    assert newest_whole(tmp_path) == older and names(tmp_path) == {"checkpoint-1"}


def test_the_same_step_is_replaced(tmp_path: Path) -> None:
    write(tmp_path, 4)
    again = write(tmp_path, 4, size=7)
    assert (again / "weights").stat().st_size == 7 and damage(again) is None and names(tmp_path) == {"checkpoint-4"}


def test_temporary_folders_of_a_killed_run_are_deleted_or_renamed(tmp_path: Path) -> None:
    write(tmp_path, 1)
    write(tmp_path, 2).rename(staging(tmp_path / "checkpoint-2"))  # all was done but the last step
    staging(tmp_path / "checkpoint-3").mkdir()  # just begun
    whole = write(tmp_path, 4)
    staging(whole).mkdir()
    whole.rename(staging(whole) / "checkpoint-4")  # as a Trainer does it
    write(tmp_path, 5).rename(tmp_path / ".old-checkpoint-5")  # was being deleted
    recover(tmp_path)
    assert names(tmp_path) == {"checkpoint-1", "checkpoint-2", "checkpoint-4"}
    assert newest_whole(tmp_path) == tmp_path / "checkpoint-4"


def test_a_checkpoint_without_its_replacement_is_restored(tmp_path: Path) -> None:
    write(tmp_path, 5).rename(tmp_path / ".old-checkpoint-5")
    recover(tmp_path)
    assert newest_whole(tmp_path) == tmp_path / "checkpoint-5"


def test_rotation_keeps_the_last_the_best_and_a_complete_one(tmp_path: Path) -> None:
    kept = [write(tmp_path, step) for step in range(1, 6)]
    assert rotate(tmp_path, None) == [] and rotate(tmp_path, 0) == []
    assert rotate(tmp_path, 2, [kept[0]]) == kept[1:4]
    assert names(tmp_path) == {"checkpoint-1", "checkpoint-5"}
    remove(kept[4])
    write(tmp_path, 6)
    remove(tmp_path / "checkpoint-6")
    assert rotate(tmp_path, 1) == [kept[4]], "the first is the only complete one"
    assert names(tmp_path) == {"checkpoint-1", "checkpoint-6"}


def test_rotation_goes_by_time_if_steps_started_again(tmp_path: Path) -> None:
    old = write(tmp_path, 500)
    os.utime(old, (1, 1))
    new = write(tmp_path, 10)
    assert rotate(tmp_path, 1) == [old] and newest_whole(tmp_path) == new


def kills(folder: Path, changes: Iterable[int], sizes: Iterable[int]) -> None:
    """Kills a process that writes checkpoints at given moments; the newest must be complete each time."""

    def work() -> None:
        start = max([int(path.name.rpartition("-")[2]) for path in folder.glob("checkpoint-*")], default=0)
        recover(folder)
        for step in itertools.count(start + 1):
            write(folder, step, size=300_000)
            rotate(folder, 2)

    for moment in (*({"size": size} for size in sizes), *({"change": change} for change in changes)):
        kill_in_a_child(work, **moment)
        there = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        assert newest_whole(folder) == (there[-1] if there else None), moment
        assert all(damage(path) is None for path in there), moment
        assert "size" not in moment or not there, "no checkpoint has only small files"
    assert newest_whole(folder) is not None


def test_killed_while_saving(tmp_path: Path) -> None:
    kills(tmp_path, changes=range(1, 100, 10), sizes=(100_000,))


@pytest.mark.slow
def test_killed_at_a_hundred_moments_while_saving(tmp_path: Path) -> None:
    kills(tmp_path, changes=range(1, 101), sizes=(1_000, 100_000, 299_999))


def test_other_folders_are_no_checkpoints(tmp_path: Path) -> None:
    for name in ("checkpoint-x", "checkpoint-", "checkpoint-1.tmp", "my-checkpoint-3"):
        (tmp_path / name).mkdir()
    assert newest_whole(tmp_path) is None and newest_whole(tmp_path / "no such") is None
    assert checkpoints._checkpoints(tmp_path) == []
