"""The command line. `numerate.cli.app` wires the commands; the work of each is in a file of its own."""

from __future__ import annotations

__all__ = ["main"]


def main() -> None:
    """Runs the `numerate` command."""
    import sys

    try:
        from numerate.cli.app import app
        from numerate.cli.boundary import end_quietly

        try:
            app(prog_name="numerate")
        finally:
            end_quietly()
    except KeyboardInterrupt:  # while the modules were imported, or after the command
        sys.exit(130)
