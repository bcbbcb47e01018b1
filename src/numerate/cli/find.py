"""`numerate find`: the numbers of a file as JSON lines, columns or coloured text."""

from __future__ import annotations

import io
import json
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from numerate.cli.source import checked_reader, texts_of
from numerate.cli.terminal import progress
from numerate.errors import BadInput, NumerateError
from numerate.reading import make_reader
from numerate.reading.base import ReaderError
from numerate.reading.windows import find_in_windows, moved
from numerate.training.engines.local import Here, LocalEngine
from numerate.training.text_files import Batch, LongLine, batches, batches_and_long_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numerate.numerals.numeral import Numeral
    from numerate.training.engines.local import Engine
    from numerate.training.engines.parts import FilePart

__all__ = ["FindJob", "find_in_file", "read_for"]

Form = Literal["json", "columns", "view"]


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


def read_for(job: FindJob, part: str | FilePart, on_position: Callable[[int], None] | None = None) -> Any:
    """The batches of a file, or of a part of it; very long lines are separate if the reader can take windows."""
    is_local = checked_reader(job.reader, dict(job.options)).is_local
    return (batches_and_long_lines if is_local and job.field is None else batches)(part, on_position)


def find_in_file(
    path: str, out: BinaryIO, *, reader: str = "standard", options: dict[str, Any] | None = None,
    field: str | None = None, form: Form = "json", processes: int = 1, width: int = 100,
    engine: Engine | None = None,
) -> None:  # fmt: skip
    """Writes the numbers of a file to `out`, in order, while reading it; arguments as those of `numerate find`.

    Raises:
        NumerateError: The input cannot be read; the output of all lines before the error has been written.
    """
    job = FindJob(reader, tuple(sorted((options or {}).items())), field, form, width)
    engine = engine or LocalEngine(processes)
    with progress([path], quiet=form == "view") as on_position, closing(read_for(job, path, on_position)) as source:
        for output, fault in engine.results(job, _with_long_lines(job, source)):
            out.write(output)
            if fault is not None:
                out.flush()
                raise BadInput(fault)
    out.flush()


def _with_long_lines(job: FindJob, source: Iterable[Batch | LongLine]) -> Iterator[Any]:
    """The batches; a long line is read in this process, because its windows must be read one after the other."""
    for batch in source:
        yield Here(partial(job.of_long_line, batch)) if isinstance(batch, LongLine) else batch


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
