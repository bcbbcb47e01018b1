"""The command line. `numerate.cli.app` wires the commands; the work of each is in a file of its own."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Runs the `numerate` command."""
    from numerate.cli.app import app

    app(prog_name="numerate")
