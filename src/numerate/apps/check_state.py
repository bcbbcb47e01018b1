"""State of a long check: the outcome of each finished file, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import json
import stat
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.check_outcome import Outcome
from numerate.errors import BadInput, NumerateError
from numerate.files import json_hash

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import BinaryIO

    from numerate.apps.check import CheckOptions

__all__ = ["CheckState"]

_KIND = "numerate check"


class CheckState:
    """A file of JSON lines: which options hold, then one line for each finished file.

    A line is appended when its file is done. If the run is killed while it writes, the last line is torn: it is cut
    off, and its file is checked again. A file whose size or time has changed since is checked again, too; so are files
    that could not be read, because a package may be installed by then.

    Args:
        path: The state; it is made if it does not exist.
        options: What is checked.
        more: What else the findings depend on, such as the model.

    Raises:
        BadInput: The file is no state, or one of other options or of another version.
    """

    def __init__(self, path: str | os.PathLike[str], options: CheckOptions, more: Mapping[str, Any]) -> None:
        from numerate import __version__

        self.path = Path(path)
        head = {"kind": _KIND, "version": __version__, "options": json_hash(asdict(options) | dict(more))}
        self._known: dict[str, dict[str, Any]] = {}
        self._begun: dict[str, list[int]] = {}
        end = self._read(head) if self.path.exists() else 0
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self.path.open("ab")
            self._file.truncate(end)
        except OSError as error:
            raise BadInput(f"--resume {str(path)!r}: {(error.strerror or str(error)).lower()}") from None
        if not end:
            self._write(head)

    def known(self, path: str) -> Outcome | None:
        """The outcome of a file in an earlier run; None if it has to be checked."""
        state = _state(path)
        if state is not None:
            self._begun[path] = state  # before it is read: what is written to it later must not be taken as checked
        row = self._known.get(path)
        if row is None or state is None or row["state"] != state:
            return None
        return Outcome.of_json(row["outcome"])

    def add(self, path: str, outcome: Outcome) -> None:
        """Keeps the outcome of a file that is done."""
        state = self._begun.pop(path, None)
        has_failed = any(problem.fatal and not problem.is_harmless for problem in outcome.problems)
        if state is None or has_failed or (path in self._known and self._known[path]["state"] == state):
            return
        self._write({"path": path, "state": state, "outcome": outcome.to_json()})

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> CheckState:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, row: dict[str, Any]) -> None:
        self._file.write(json.dumps(row).encode() + b"\n")
        self._file.flush()

    def _read(self, head: dict[str, Any]) -> int:
        """Reads the state; returns where its last whole line ends."""
        place = 0
        try:
            with self.path.open("rb") as file:
                for index, line in enumerate(file):
                    if not line.endswith(b"\n"):
                        break
                    row = json.loads(line)
                    if index == 0:
                        self._check_head(row, head)
                    else:
                        Outcome.of_json(row["outcome"])
                        self._known[row["path"]] = {"state": list(row["state"]), "outcome": row["outcome"]}
                    place += len(line)
        except OSError as error:
            raise BadInput(f"--resume {str(self.path)!r}: {(error.strerror or str(error)).lower()}") from None
        except NumerateError:
            raise
        except (ValueError, KeyError, TypeError):
            raise BadInput(
                f"--resume {str(self.path)!r} is not a state of numerate check: name another file, or delete it"
            ) from None
        return place

    def _check_head(self, row: Any, head: dict[str, Any]) -> None:
        if not isinstance(row, dict) or row.get("kind") != _KIND:
            raise ValueError
        for name, said in (("version", "another version of numerate"), ("options", "other options or another model")):
            if row.get(name) != head[name]:
                raise BadInput(
                    f"--resume {str(self.path)!r} is of {said}: name another file, or delete it to check everything"
                )


def _state(path: str) -> list[int] | None:
    """Size and time of a file; None for what is no file, such as a pipe."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_mtime_ns] if stat.S_ISREG(found.st_mode) and path != "-" else None
