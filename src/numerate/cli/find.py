"""`numerate find`: the numbers of a file as JSON lines, columns or coloured text."""

from __future__ import annotations

import io
import json
import multiprocessing
from collections import deque
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from numerate.cli.run_commands import load_plugins
from numerate.cli.source import checked_reader, texts_of
from numerate.cli.terminal import progress
from numerate.errors import BadInput, NumerateError
from numerate.reading import make_reader
from numerate.reading.base import ReaderError
from numerate.reading.windows import find_in_windows, moved
from numerate.registry import loaded_plugins
from numerate.training.text_files import Batch, LongLine, batches, batches_and_long_lines
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numerate.numerals.numeral import Numeral

__all__ = ["FindJob", "find_in_file"]

Form = Literal["json", "columns", "view"]

WAITING_PER_PROCESS = 3
"""Batches in flight per process: enough to keep it busy, few enough to bound the memory."""


@dataclass(frozen=True, slots=True)
class FindJob:
    """Turns a batch of lines into output bytes; small and picklable, for worker processes."""

    reader: str = "standard"
    options: tuple[tuple[str, Any], ...] = ()
    field: str | None = None
    form: Form = "json"
    width: int = 100

    def __call__(self, batch: Batch) -> tuple[bytes, str | None]:
        """The output of the batch, and the error message of the line that it stopped at, if any."""
        find = make_reader(self.reader, **dict(self.options)).find
        write = _view(self.width) if self.form == "view" else _json_lines if self.form == "json" else _columns
        parts: list[str] = []
        fault: str | None = None
        try:
            for index, text in enumerate(texts_of(batch, self.field), batch.first):
                parts.extend(write(index, text, find(text)))
        except NumerateError as error:
            fault = str(error)
        # Lone surrogates come from JSON escapes; written as an escape they are valid JSON again.
        return "".join(parts).encode("utf-8", "backslashreplace"), fault

    def of_long_line(self, line: LongLine) -> Iterator[tuple[bytes, str | None]]:
        """The output of a very long line, window by window."""
        reader = make_reader(self.reader, **dict(self.options))
        write = _view(self.width) if self.form == "view" else _json_lines if self.form == "json" else _columns
        try:
            for offset, text, numerals in find_in_windows(line.decoded(), reader):
                placed = numerals if self.form == "view" else [moved(numeral, offset) for numeral in numerals]
                yield "".join(write(line.index, text, placed)).encode("utf-8", "backslashreplace"), None
        except ReaderError as error:
            yield b"", f"{line.title}:{line.index + 1}: {error}"
        except NumerateError as error:
            yield b"", str(error)


def find_in_file(
    path: str, out: BinaryIO, *, reader: str = "standard", options: dict[str, Any] | None = None,
    field: str | None = None, form: Form = "json", processes: int = 1, width: int = 100,
) -> None:  # fmt: skip
    """Writes the numbers of a file to `out`, in order, while reading it; arguments as those of `numerate find`.

    Raises:
        NumerateError: The input cannot be read; the output of all lines before the error has been written.
    """
    chosen = checked_reader(reader, options or {})
    job = FindJob(reader, tuple(sorted((options or {}).items())), field, form, width)
    read = batches_and_long_lines if chosen.is_local and field is None else batches
    with progress([path], quiet=form == "view") as on_position, closing(read(path, on_position)) as source:
        done = _in_this_process(job, source) if processes == 1 else _in_processes(job, source, processes)
        for output, fault in done:
            out.write(output)
            if fault is not None:
                out.flush()
                raise BadInput(fault)
    out.flush()


def _in_this_process(job: FindJob, source: Iterable[Batch | LongLine]) -> Iterator[tuple[bytes, str | None]]:
    for batch in source:
        if isinstance(batch, LongLine):
            yield from job.of_long_line(batch)
        else:
            yield job(batch)


def _in_processes(
    job: FindJob, source: Iterable[Batch | LongLine], processes: int
) -> Iterator[tuple[bytes, str | None]]:
    """Results in the order of the batches, with a bounded number of batches in memory."""
    waiting: deque[Future[tuple[bytes, str | None]]] = deque()
    # Spawned, not forked: a fork copies threads and locks of the caller's libraries.
    pool = ProcessPoolExecutor(
        processes, multiprocessing.get_context("spawn"), initializer=_begin, initargs=(loaded_plugins(),)
    )
    fault: NumerateError | None = None
    try:
        iterator = iter(source)
        while True:
            try:
                batch = next(iterator, None)
            except NumerateError as error:  # the output of lines before the error still has to be written
                batch, fault = None, error
            if batch is None:
                break
            if isinstance(batch, LongLine):  # read here: its windows must be read one after the other
                while waiting:
                    yield waiting.popleft().result()
                yield from job.of_long_line(batch)
                continue
            waiting.append(pool.submit(job, batch))
            if len(waiting) >= WAITING_PER_PROCESS * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if fault is not None:
            raise fault
    except BrokenProcessPool:
        raise BadInput(f"a worker process died, perhaps out of memory; try less than --processes {processes}") from None
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(plugins: list[str]) -> None:
    """Starts a worker process."""
    end_with_parent()
    load_plugins(plugins)


# One encoder for all rows: `json.dumps` with options makes a new one every time.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _json_lines(index: int, text: str, numerals: list[Numeral]) -> Iterator[str]:
    for numeral in numerals:
        row = {"index": index, **numeral.to_dict()}
        yield _encode(row) + "\n"


def _columns(index: int, text: str, numerals: list[Numeral]) -> Iterator[str]:
    for n in numerals:
        written = n.text.translate(_ESCAPES)
        yield f"{index}\t{n.start}\t{n.end}\t{n.value!r}\t{n.kind}\t{n.unit or ''}\t{written}\n"


_ESCAPES = {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r", ord("\\"): "\\\\"}


def _view(width: int) -> Callable[[int, str, list[Numeral]], Iterator[str]]:
    """A writer of coloured text with the meanings underneath."""
    from rich.console import Console

    from numerate.apps.numeral_view import highlighted, meanings

    console = Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False, markup=False)

    def write(index: int, text: str, numerals: list[Numeral]) -> Iterator[str]:
        with console.capture() as shown:
            console.print(highlighted(text, numerals))
            if numerals:
                console.print(meanings(numerals))
        yield shown.get()

    return write
