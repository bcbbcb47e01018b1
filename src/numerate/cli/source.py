"""Input of the commands: texts of files, readers and numbers of processes, with one-line errors."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput, NumerateError
from numerate.training.text_files import Batch, batches, parsed_json, text_field

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numerate.reading.base import Reader
    from numerate.training.engines.parts import FilePart

__all__ = ["check_seed", "check_text", "checked_reader", "one_line_errors", "process_count", "read_texts", "texts_of"]

MAX_PROCESSES = 256


@contextlib.contextmanager
def one_line_errors() -> Iterator[None]:
    """Turns a `ValueError` of another library into `BadInput`, which the command line prints as one line."""
    try:
        yield
    except NumerateError:
        raise
    except ValueError as error:
        raise BadInput(" ".join(str(error).split())[:1000]) from None


def checked_reader(name: str, options: dict[str, Any]) -> Reader:
    """The registered reader called `name` with `options`.

    Raises:
        BadInput: The name or an option is unknown.
    """
    from numerate.reading import make_reader
    from numerate.registry import UnknownNameError

    try:
        return make_reader(name, **options)
    except UnknownNameError as error:
        raise BadInput(f"--reader: {error}") from None
    except TypeError:
        given = ", ".join(f"--{key}" for key in options)
        raise BadInput(f"reader {name!r} has no option {given}; remove it, or use --reader standard") from None
    except ValueError as error:
        raise BadInput(f"reader {name!r}: {error}") from None


def check_seed(seed: int) -> None:
    """Checks the option `--seed`.

    Raises:
        BadInput: The random generators do not take it.
    """
    if not 0 <= seed < 2**32:
        raise BadInput(f"--seed must lie between 0 and {2**32 - 1:,}, got {seed}")


def check_text(text: str, what: str) -> None:
    """Checks a text of the command line; `what` is its name in the message.

    Raises:
        BadInput: It has bytes that are not UTF-8, which Python gives as lone surrogates.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"the {what} is not UTF-8 at offset {error.start}: {text[:60]!r}") from None


def process_count(text: str) -> int:
    """A number of processes; parsed here because typer's message does not quote the value."""
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MAX_PROCESSES):
        raise BadInput(f"--processes {text!r}: give a whole number from 1 to {MAX_PROCESSES}")
    return int(text)


def texts_of(batch: Batch, field: str | None = None) -> Iterator[str]:
    """The texts of a batch of lines; with a `field`, that field of each line's JSON object. A blank line is empty.

    Raises:
        SourceError: A line is not UTF-8, not JSON, or lacks the field; the texts before it have been yielded.
    """
    for number, line in batch.decoded():
        if field is not None and line.strip():
            where = f"{batch.title}:{number}"
            line = text_field(parsed_json(line, where, any_text=True), field, where)
        yield line


def read_texts(
    path: str | FilePart, field: str | None = None, on_position: Callable[[int], None] | None = None
) -> Iterator[str]:
    """All texts of a file, one per line; see `numerate.training.text_files.batches` and `texts_of`."""
    for batch in batches(path, on_position):
        yield from texts_of(batch, field)
