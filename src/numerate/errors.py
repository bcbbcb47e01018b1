"""The base class of all errors that numerate raises on purpose."""

from __future__ import annotations

__all__ = ["BadInput", "NumerateError"]


class NumerateError(Exception):
    """Bad input, a bad config or a bad file; the message is one line that quotes the value and says what to do.

    Every error class of numerate derives from it, beside the standard class that it stands for (`ValueError`, ...).
    """


class BadInput(NumerateError):  # noqa: N818 (it names the input)
    """A command's input is at fault: the command prints the message as one line and exits with code 2."""
