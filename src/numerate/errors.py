"""The base class of all errors that numerate raises on purpose."""

from __future__ import annotations

__all__ = ["BadInput", "NumerateError"]


class NumerateError(Exception):
    """Bad input, a bad config or a bad file; the message is one line that quotes the value and says what to do.

    Every error class of numerate derives from it and from a standard class (`ValueError`, ...). The command line prints
    the message as one line and exits with code 2.
    """


class BadInput(NumerateError, ValueError):  # noqa: N818 (it names the input)
    """Bad arguments or files of a command."""
