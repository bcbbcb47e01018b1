"""The boundary of the command line: whatever a command raises becomes one line on standard error and an exit code."""

from __future__ import annotations

import contextlib
import io
import os
import re
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Any

import typer

from numerate.errors import BadInput, NumerateError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "BAD_INPUT", "INTERRUPTED", "end_quietly", "exit_code", "message_of", "outlive_the_reader",
    "parser_safe", "without_debug",
]  # fmt: skip

BAD_INPUT = 2
INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells use it: 128 and the signal's number."""
LONGEST = 600
"""Maximum number of characters of an error that numerate did not raise on purpose."""
EXTRAS = {
    "datasets": "train", "peft": "train", "tensorboard": "train", "pyarrow": "train", "sklearn": "eval",
    "scipy": "eval", "matplotlib": "plots", "gradio": "play", "pint": "units", "ray": "ray", "fsspec": "ray",
    "fastapi": "serve", "uvicorn": "serve",
}  # fmt: skip
"""Packages that are not dependencies of the library, and the extra that has them."""
_UsageError: type[Exception] = next(base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException")
"""The command-line parser's own error; typer exports only its subclasses under public names."""
_OS_ERROR = re.compile(r"\(os error ([0-9]+)\)")
_NO_MEMORY = ("can't allocate memory", "not enough memory", "out of memory", "Cannot allocate memory")


def without_debug(words: list[str]) -> tuple[list[str], bool]:
    """The arguments without `--debug`, which may stand anywhere before `--`, and whether it was there.

    Example:
        >>> without_debug(["find", "--debug", "a.txt", "--", "--debug"])
        (['find', 'a.txt', '--', '--debug'], True)
    """
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != "--debug"]
    return kept + words[end:], len(kept) < end


def exit_code(work: Callable[[], Any], debug: bool = False) -> int:
    """Runs a command and returns its exit code; an error is written as one line, with `debug` after its traceback."""
    _repair_streams()
    try:
        code = work()
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe; `--help` gets here
        _drop_output()
        return 0
    except (typer.Abort, KeyboardInterrupt):
        if debug:
            traceback.print_exc()
        return INTERRUPTED
    except Exception as error:
        try:
            sys.stdout.flush()  # what was printed before the error
        except (OSError, ValueError):
            _drop_output()
        with contextlib.suppress(OSError, ValueError):
            if debug:
                traceback.print_exc()
            sys.stderr.write(f"numerate: {message_of(error)}\n")
            sys.stderr.flush()
        return BAD_INPUT


@contextlib.contextmanager
def parser_safe() -> Iterator[None]:
    """Replaces the errors that the command-line parser would take for something else."""
    try:
        yield
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(0) from None
    except EOFError as error:
        raise BadInput(f"a file ends too early: {error}") from error


def message_of(error: BaseException) -> str:
    """An error as one line.

    Example:
        >>> message_of(OSError(28, "No space left on device", "out/model.safetensors"))
        'out/model.safetensors: no space left on device'
        >>> message_of(ModuleNotFoundError("No module named 'pint'", name="pint"))
        'this needs the package pint: pip install "numerate[units]"'
    """
    if isinstance(error, NumerateError):
        return _line(str(error), 10 * LONGEST)
    if isinstance(error, _UsageError):
        context = getattr(error, "ctx", None)
        message = _line(error.format_message(), LONGEST).rstrip(".") + _got(error)  # type: ignore[attr-defined]
        return f"{message}; see {context.command_path if context else 'numerate'} --help"
    said = _line(str(error), LONGEST)
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        extra = f'"numerate[{EXTRAS[package]}]"' if package in EXTRAS else package
        return f"this needs the package {package}: pip install {extra}"
    if isinstance(error, ImportError):
        return said or "a package cannot be imported; see numerate doctor"
    if isinstance(error, MemoryError) or any(part in said for part in _NO_MEMORY):
        return f"not enough memory{f' ({said})' if said else ''}; use smaller batches, sizes or files"
    if isinstance(error, OSError) and error.strerror:
        where = f"{_line(os.fsdecode(error.filename), LONGEST)}: " if isinstance(error.filename, str | bytes) else ""
        return f"{where}{error.strerror[:1].lower()}{error.strerror[1:]}"
    if (found := _OS_ERROR.search(said)) is not None:  # of libraries in Rust, which have exception classes of their own
        return said[: found.start()].strip().rstrip(":") or os.strerror(int(found[1]))
    if isinstance(error, RecursionError):
        return f"the input is nested too deeply ({said})"
    return f"{type(error).__name__}: {said or 'no message'}; --debug shows where"


def _got(error: BaseException) -> str:
    """The value of an option that is no number, where the parser's message (of pydantic) does not have it."""
    cause: Any = error.__cause__
    if not hasattr(cause, "errors"):
        return ""
    return f", got {_line(str(cause.errors()[0]['input']), 80)!r}"


def outlive_the_reader() -> None:
    """Makes a closed pipe at standard output harmless, for commands whose result are files and not their output.

    Without this, `numerate train ... | head -1` would end the training at its second line.
    """
    raw = getattr(sys.stdout, "buffer", None)
    raw = getattr(raw, "raw", raw)  # an unbuffered stream has no buffer between text and file
    if isinstance(sys.stdout, io.TextIOWrapper) and isinstance(raw, io.FileIO):
        sys.stdout.flush()
        lasting = io.BufferedWriter(_Lasting(raw.fileno(), "wb", closefd=False))
        sys.stdout = io.TextIOWrapper(lasting, sys.stdout.encoding, "backslashreplace", line_buffering=True)


class _Lasting(io.FileIO):
    """A stream that drops what it gets after its reader has gone."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            return len(data)


def _line(text: str, longest: int) -> str:
    """A text without line breaks and control characters, at most `longest` characters of it."""
    plain = " ".join(text[: 4 * longest].split())
    plain = "".join(char if char.isprintable() or char == " " else ascii(char)[1:-1] for char in plain)
    return plain if len(plain) <= longest else plain[: longest - 1] + "…"


def _repair_streams() -> None:
    """Opens streams that the caller closed (`>&-`), and makes every text printable, also a lone surrogate."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 (open until the end)
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: PTH123, SIM115


def _drop_output() -> None:
    """Sends what is still in the buffer of standard output to nowhere; at its exit, Python would fail to flush it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        target = os.open(os.devnull, os.O_WRONLY)
        os.dup2(target, sys.stdout.fileno())
        os.close(target)


def end_quietly() -> None:
    """Ignores Ctrl-C from now on: the command has ended, and only the interpreter's own exit is left."""
    with contextlib.suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGINT, signal.SIG_IGN)
