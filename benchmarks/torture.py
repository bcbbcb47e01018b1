"""Hostile calls, fuzzed numerals, kills and damaged files; writes the table of docs/reliability.md.

    python benchmarks/torture.py                                   # or `make torture`: 5 to 30 minutes on one core
    python benchmarks/torture.py --only find --numerals 1000 --kills 1 --page ""     # a part, without the page

Each call of `numerate` runs in a process of its own that is forked from this one, in a folder of hostile files, models
and results. It must end with the expected exit code, with one line on standard error where it fails, and without a
traceback. A killed training must be resumed to the weights of an undisturbed one.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import harness
import torture_calls
import torture_files
import torture_fuzz
import torture_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torture_run import Call, Outcome

PAGE = Path(__file__).parents[1] / "docs" / "reliability.md"
MARK = "<!-- The rest of this page is written by `make torture`. -->"
Row = tuple["Call", "Outcome"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--only", default="", help="regular expression: only calls that it matches")
    parser.add_argument("--numerals", type=int, default=200_000, help="number of fuzzed texts")
    parser.add_argument("--kills", type=int, default=10, help="number of killed trainings")
    parser.add_argument("--page", default=str(PAGE), help="page to write the table into; empty for none")
    parser.add_argument("--seed", type=int, default=0, help="seed of fuzzed texts and of the moments of kills")
    options = parser.parse_args(arguments)
    os.environ.update({"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"})
    with tempfile.TemporaryDirectory(prefix="numerate-torture-") as place:
        Path(place).chmod(0o755)  # also for the calls without rights
        folder = Path(place) / "files"
        start = time.monotonic()
        torture_run.preload()
        torture_files.make(folder)
        print(f"files and models: {time.monotonic() - start:.0f} s", flush=True)
        rows = run_calls(folder, options.only)
        damaged = run_damaged(folder, options.only)
        fuzz = torture_fuzz.fuzz(options.numerals, options.seed)
        kills = torture_fuzz.kills(folder, options.kills, options.seed)
        seconds = time.monotonic() - start
    failed = [f"{call.shown}: {'; '.join(outcome.faults)}" for call, outcome in rows + damaged if outcome.faults]
    failed += [*fuzz.faults, *kills.faults]
    counts = f"{len(rows)} calls, {len(damaged)} damaged files, {fuzz.texts:,} texts, {kills.kills} kills"
    print(f"{counts}: {len(failed)} failed")
    for line in failed:
        print(f"FAILED {line}")
    figures = {
        "calls": len(rows), "damaged": len(damaged), "texts": fuzz.texts, "numerals": fuzz.numerals,
        "kills": kills.kills, "equal": kills.equal, "failed": failed, "seconds": round(seconds),
    }  # fmt: skip
    harness.write(options, figures)
    if options.page:
        write_page(Path(options.page), rows, damaged, fuzz, kills, failed, place)
    return 1 if failed else 0


def run_calls(folder: Path, only: str = "") -> list[Row]:
    """Runs all hostile calls that `only` matches."""
    rows = []
    for call in torture_calls.calls():
        if re.search(only, f"{call.group} {call.shown}"):
            rows.append((call, torture_run.run(call, folder)))
            _tell(rows[-1])
    return rows


def run_damaged(folder: Path, only: str = "") -> list[Row]:
    """Measures every damaged copy of a model; files that are not needed may be missing."""
    rows = []
    for name, damage in torture_files.damaged_models(folder).items():
        call = torture_run.Call(f"eval {name} --data dev.jsonl", (0, 2), group=damage)
        if re.search(only, f"damaged {call.shown}"):
            rows.append((call, torture_run.run(call, folder)))
            _tell(rows[-1])
    return rows


def _tell(row: Row) -> None:
    call, outcome = row
    if outcome.faults:
        print(f"FAILED {call.shown}: {'; '.join(outcome.faults)} [{outcome.shown}]", flush=True)


def write_page(
    path: Path, rows: list[Row], damaged: list[Row], fuzz: torture_fuzz.Fuzz, kills: torture_fuzz.Kills,
    failed: list[str], place: str,
) -> None:  # fmt: skip
    """Replaces the generated part of the page."""
    text = path.read_text("utf-8") if path.exists() else f"# Reliability\n\n{MARK}\n"
    codes = Counter(outcome.code for _, outcome in rows)
    by_code = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
    refused, unneeded = (sum(outcome.code == code for _, outcome in damaged) for code in (2, 0))
    lines = [
        MARK, "", "## Figures", "",
        "| what | count | outcome |", "|---|---:|---|",
        f"| hostile calls | {len(rows)} | exit codes {by_code}; "
        f"{sum('a traceback' in outcome.faults for _, outcome in rows)} tracebacks |",
        f"| damaged files of a model | {len(damaged)} | {refused} refused in one line, {unneeded} not needed |",
        f"| fuzzed texts | {fuzz.texts:,} | {fuzz.numerals:,} numerals, {len(fuzz.faults)} faults |",
        f"| killed trainings | {kills.kills} | {kills.equal} resumed to the weights of an undisturbed training |",
        f"| damaged checkpoints | {kills.damaged} | {kills.passed_over} passed over, with equal weights |",
        f"| rows that failed | {len(failed)} | {'; '.join(failed)[:300] or '-'} |", "",
    ]  # fmt: skip
    for group in dict.fromkeys(call.group for call, _ in rows):
        chosen = [row for row in rows if row[0].group == group]
        lines += [f"## {group} ({len(chosen)})", "", "| call | outcome |", "|---|---|"]
        lines += [f"| {_code(call.shown, place)} | {_code(outcome.shown, place)} |" for call, outcome in chosen] + [""]
    lines += [f"## Damaged files of a model ({len(damaged)})", "", "| file | outcome of `eval` |", "|---|---|"]
    lines += [f"| {_code(call.group, place)} | {_code(outcome.shown, place)} |" for call, outcome in damaged]
    path.write_text(text.partition(MARK)[0] + "\n".join(lines) + "\n", "utf-8")


def _code(text: str, place: str) -> str:
    """A text as code in a cell of a Markdown table, without paths of this machine."""
    text = text.replace(f"{place}/", "").replace(sys.prefix, "PYTHON")
    text = re.sub(r"/tmp/[\w./-]*", "/tmp/...", text)
    text = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in " ".join(text.split()))
    text = text if len(text) <= 200 else text[:120] + " ... " + text[-60:]
    return f"`{text.replace('`', chr(39)).replace('|', chr(92) + '|')}`"


if __name__ == "__main__":
    sys.exit(main())
