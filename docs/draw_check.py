"""Draws docs/images/check.svg, the picture of the README: what `numerate check` prints for the report of the demo.

    python docs/draw_check.py

The SVG refers to no other file or address, so that it is shown everywhere as it is.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from numerate.apps.check import CheckOptions, check_file
from numerate.apps.check_reports import terminal_report
from numerate.apps.tour import report_with_slips

REPORT, SHOWN, WIDTH = "harbour.md", 5, 108
COLOURS = [(40, 44, 52), (224, 108, 117), (120, 200, 120), (229, 192, 123), (97, 175, 239), (198, 120, 221),
           (86, 182, 194), (215, 220, 228)]  # fmt: skip
THEME = TerminalTheme((30, 33, 39), (215, 220, 228), COLOURS, COLOURS)


def picture() -> str:
    """The report of a real run as SVG, in colour."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            Path(REPORT).write_text(report_with_slips(), encoding="utf-8")
            outcome = check_file(REPORT, CheckOptions())
        finally:
            os.chdir(before)
    console.print(Text(f"$ numerate check {REPORT} --top {SHOWN}\n", style="dim"))
    for line in terminal_report(outcome, SHOWN):
        console.print(line)
    drawn = console.export_svg(title="numerate check", theme=THEME, unique_id="check")
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.S).replace("Fira Code, ", "")


def main(arguments: list[str] | None = None) -> None:
    """Writes the picture."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    place = Path(__file__).parent / "images" / "check.svg"
    parser.add_argument("-o", "--output", type=Path, default=place, help="File for the picture.")
    chosen = parser.parse_args(arguments)
    chosen.output.parent.mkdir(parents=True, exist_ok=True)
    chosen.output.write_text(picture(), encoding="utf-8")
    print(chosen.output)


if __name__ == "__main__":
    main()
