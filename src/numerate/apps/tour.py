"""`numerate demo`: a tour of what numerate does for a person with a report: check it, fill its gaps, open the page."""

from __future__ import annotations

import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from numerate.apps.default_model import DEFAULT_NAME, default_model
from numerate.errors import BadInput
from numerate.files import write_atomically

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import Console

    from numerate.apps.check import Outcome

__all__ = ["FOR_A_MODEL", "GAPS", "SLIPS", "report_with_slips", "run_tour"]

REPORT = "harbour.md"
"""Name of the sample report in the output folder."""
SLIPS = {
    "percent": "10 %", "date": "31 June 1952", "sum": "240", "unit": "2,900 km", "conversion": "27 mi",
    "difference": "55 years", "shares": "25 %", "total": "1,940",
}  # fmt: skip
"""Slips of the report that contradict another number or the calendar: rule -> what is written."""
FOR_A_MODEL = ("8191", "460")
"""Slips of the report that contradict nothing, but are implausible: only a model can find them."""
GAPS = (
    "The lighthouse is [NUM] metres tall and was built in 1891.",
    "The ferry carries [NUM] passengers.",
    "The crossing of 28 km ([NUM] mi) takes an hour.",
)
"""Sentences whose number the tour asks a model for."""
FALSE_ALARMS = 0.01
"""Share of right numbers that the model may report."""


def report_with_slips() -> str:
    """The sample report, `data/slips_report.md`: right numbers, and the slips of `SLIPS` and `FOR_A_MODEL`."""
    return resources.files("numerate").joinpath("data", "slips_report.md").read_text("utf-8")


def run_tour(console: Console, output: str = "numerate-demo", model: str | None = None) -> Outcome:
    """Checks a sample report, fills three gaps with a model, and says how to go on.

    Without a model, the report is checked by the rules alone, and the tour says how to get or train a model.

    Args:
        console: Where the tour is printed.
        output: Folder for the sample report and for the page of its check.
        model: A folder or Hub id; by default the model that comes with numerate, if it is there.

    Returns:
        What the check found.

    Raises:
        BadInput: The model that is named cannot be loaded, or has no sense of numbers.
    """
    start = time.perf_counter()
    name = model or _default()
    loaded = _loaded(name) if name else None
    outcome = _check(console, Path(output), loaded)
    console.print(_title("2. What number belongs here?"))
    if name and loaded is not None:
        _fill(console, loaded, name)
    else:
        _print(console, _without_model())
    console.print(_title("3. Go on"))
    _print(console, _next_steps(Path(output), name))
    console.print(f"({time.perf_counter() - start:.0f} s)", style="dim")
    return outcome


def _default() -> str | None:
    try:
        return default_model()
    except BadInput:  # a wheel has none, and neither has a repository before one was trained
        return None


def _loaded(name: str) -> Any:
    from numerate.apps.fill import load_model

    return load_model(name)


def _check(console: Console, folder: Path, model: Any) -> Outcome:
    """The first part: the report is written to the folder and checked as `numerate check` does it."""
    from numerate.apps.check import CheckOptions, check_file
    from numerate.apps.check_page import check_page
    from numerate.apps.check_reports import terminal_report

    folder.mkdir(parents=True, exist_ok=True)
    report, page = folder / REPORT, folder / "report.html"
    write_atomically(report, report_with_slips().encode())
    judge = None
    if model is not None:
        from numerate.apps.plausible import PlausibilityChecker

        judge = PlausibilityChecker(model, false_alarms=FALSE_ALARMS)
    console.print(_title("1. Which numbers of this report are wrong?"), Text(f"$ numerate check {report}\n"), sep="\n")
    outcome = check_file(str(report), CheckOptions(), model=judge, excerpts=True)
    for line in terminal_report(outcome):
        console.print(line, soft_wrap=True)
    write_atomically(page, check_page(outcome))
    how = "by rules and by a model" if judge else "by rules alone, which need no model"
    console.print(f"Found {how}. The same as a page: {page}", soft_wrap=True)
    return outcome


def _fill(console: Console, model: Any, name: str) -> None:
    """The second part: a density for each gap."""
    from numerate.apps.density_lines import density_lines
    from numerate.apps.fill import fill, told_values

    console.print(Text(f"$ numerate fill TEXT    (model: {name})"), soft_wrap=True)
    for text in GAPS:
        gap = fill(text, model, top=3)[0]["gaps"][0]
        console.print(Text(f"\n{text}", style="bold"), soft_wrap=True)
        for line in density_lines(gap, columns=1):
            console.print(Text(f"  {line}", style="cyan"), soft_wrap=True)
        best = ", ".join(each["text"] for each in gap["numbers"])
        median, interval = told_values(gap, [gap["median"]]), told_values(gap, gap["interval_90"])
        console.print(f"  best: {best}; median {median}; 90 % interval {interval}", soft_wrap=True)


def _without_model() -> Iterable[str | Text]:
    slips = " and ".join(FOR_A_MODEL)
    return (
        f"Filling gaps needs a model, and so does finding the report's other slips ({slips}), which contradict no",
        f"other number but are implausible. models/{DEFAULT_NAME} is not here. To get a model:",
        Text("  numerate demo --train                    # trains a small one in about 90 s, on made-up sentences"),
        Text("  numerate demo --model FOLDER-OR-HUB-ID   # or NUMERATE_MODEL=...: any model saved by numerate"),
        f"docs/plausible-numbers.md tells how {DEFAULT_NAME} is trained (minutes on one GPU).",
    )


def _next_steps(folder: Path, name: str | None) -> Iterable[str | Text]:
    page = "numerate play" if name else "numerate play --model FOLDER-OR-HUB-ID"
    return (
        Text(f"  {page:40} # the page: http://127.0.0.1:7860"),
        Text(f"  {'numerate check YOUR-FILE --html out.html':40} # text, Markdown, HTML, CSV, JSON, XLSX, DOCX"),
        Text(f"  {'numerate demo --train':40} # what number values add: two small models, trained and compared"),
        f"The report is {folder / REPORT}: correct a number and check it again.",
    )


def _title(text: str) -> Text:
    return Text(f"\n{text}", style="bold underline")


def _print(console: Console, lines: Iterable[str | Text]) -> None:
    for line in lines:
        console.print(line, soft_wrap=True)
