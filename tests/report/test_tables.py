"""Tables show the same cells in Markdown, rich text and HTML."""

from __future__ import annotations

import math
from html.parser import HTMLParser
from io import StringIO

import pytest
from rich.console import Console

from numerate.metrics import Score
from numerate.report import Cell, table

ROWS = {
    "softmax": {"APP": Cell(571.2, "*"), "MdAPE": 80.62, "n": 10_000_000_000_000_001},
    "mog": {"APP": 683.16, "MdAPE": None},
    "d-RNN": [519.8, Score(52.449, 100), math.nan],
}
PAPER = {"mog": {"APP": 683.16}, "combination": {"APP": 520.95}}
COLUMNS = {"APP": ".1f", "MdAPE": ".2f", "n": ",d"}
SHOWN = [
    ["softmax", "571.2*", "–", "80.62", "10,000,000,000,000,001"],
    ["mog", "683.2", "683.2", "–", "–"],
    ["d-RNN", "519.8", "–", "52.45", "nan"],
    ["combination", "–", "521.0", "–", "–"],
]


class Parsed(HTMLParser):
    """Collects the rows of an HTML table, and bold cells."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.bold: list[str] = []
        self.inside: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        if tag in ("th", "td"):
            self.rows[-1].append("")
        self.inside = tag

    def handle_data(self, data: str) -> None:
        if self.inside in ("th", "td", "b"):
            self.rows[-1][-1] += data.strip()
        if self.inside == "b":
            self.bold.append(data)

    def handle_endtag(self, tag: str) -> None:
        self.inside = None


@pytest.fixture
def shown() -> object:
    return table(
        ROWS, COLUMNS, best={"APP": "min", "MdAPE": "min", "n": "max"}, paper=PAPER, corner="model",
        title="Table 2", notes=["* corrected"],
    )  # fmt: skip


def test_html(shown) -> None:
    parsed = Parsed(shown.html())
    assert parsed.rows == [["model", "APP", "APP (paper)", "MdAPE", "n"], *SHOWN]
    assert parsed.bold == ["10,000,000,000,000,001", "519.8", "52.45"]
    assert '<p class="note">* corrected</p>' in shown.html()


def test_markdown(shown) -> None:
    lines = shown.markdown().splitlines()
    assert lines[0] == "**Table 2**"
    assert lines[3] == "|---|---:|---:|---:|---:|"
    assert lines[4] == r"| softmax | 571.2\* | – | 80.62 | **10,000,000,000,000,001** |"
    assert lines[6] == "| d-RNN | **519.8** | – | **52.45** | nan |"
    assert lines[-1] == r"\* corrected"


def test_rich(shown) -> None:
    console = Console(file=StringIO(), width=120, record=True)
    console.print(shown.rich())
    text = console.export_text()
    for row in SHOWN:
        line = next(line for line in text.splitlines() if row[0] in line)
        assert [cell.strip() for cell in line.strip("│").split("│")] == row
    bold = [cell.plain for column in shown.rich().columns for cell in column.cells if cell.style == "bold"]
    assert bold == ["519.8", "52.45", "10,000,000,000,000,001"]
    assert "* corrected" in text and "Table 2" in text


def test_transposed_table(shown) -> None:
    parsed = Parsed(shown.transposed().html())
    assert parsed.rows == [
        list(row) for row in zip(*[["model", "APP", "APP (paper)", "MdAPE", "n"], *SHOWN], strict=True)
    ]
    assert parsed.bold == ["519.8", "52.45", "10,000,000,000,000,001"]


def test_all_cells_equal_to_the_best_are_bold() -> None:
    lines = table({"a": [0.501], "b": [0.499], "c": [0.51]}, ["x"], best="min").markdown().splitlines()
    assert lines[2:] == ["| a | **0.50** |", "| b | **0.50** |", "| c | 0.51 |"]
    assert "**" not in table({"a": [1.0]}, ["x"]).markdown()
    assert "**" not in table({"a": [math.nan], "b": [None], "c": ["text"]}, ["x"], best="max").markdown()
    assert "**inf**" in table({"a": [math.inf], "b": [1.0]}, ["x"], best="max").markdown()


def test_markup_in_cells_is_escaped() -> None:
    evil = table({"<b>|x|</b>": ["[red]*a*_b_`c`\n<i>"]}, ["<script>"], title="[bold]t", notes=["<n>"])
    assert "<b>|x" not in evil.html() and "<script>" not in evil.html() and "<n>" not in evil.html()
    assert evil.markdown().splitlines()[4] == r"| \<b\>\|x\|\</b\> | \[red\]\*a\*\_b\_\`c\` \<i\> |"
    console = Console(file=StringIO(), width=100)
    console.print(evil.rich())
    assert "[red]*a*_b_`c`" in console.file.getvalue()  # type: ignore[attr-defined]
    assert "[bold]t" in console.file.getvalue()  # type: ignore[attr-defined]


def test_bad_input() -> None:
    for arguments, options, message in [
        (({"a": [1.0, 2.0]}, ["x"]), {}, r"row 'a' must have 1 cells, got \[1.0, 2.0\]"),
        (({"a": {"y": 1.0}}, ["x"]), {}, "row 'a' has a cell for an unknown column, got 'y'"),
        (({"a": [1.0]}, []), {}, r"columns must have at least one name, got \[\]"),
        (({"a": [1.0]}, ["x"]), {"best": "low"}, "got 'x': 'low'"),
        (({"a": [1.5]}, {"x": "d"}), {}, "format 'd' does not fit the number 1.5"),
        (({"a": [1.0]}, ["x"]), {"best": {"y": "min"}}, "got 'y': 'min'"),
    ]:
        with pytest.raises(ValueError, match=message):
            table(*arguments, **options)
