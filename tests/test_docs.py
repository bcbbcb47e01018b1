"""The Markdown pages: their code runs, their commands parse, their links lead somewhere, and they name every part."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doc_pages import PAGES, ROOT, blocks, commands, python_blocks, run_python
from tiny_models import new_backbone, tokenizer_of
from typer.main import get_command

from numerate import metrics, notations, readers, report
from numerate.cli.app import app
from numerate.records.field_table import Counts
from numerate.registry import embedders, heads, objectives
from numerate.training.run import run_names

DOCS = ROOT / "docs"
README = ROOT / "README.md"
FINDINGS = sorted((DOCS / "findings").glob("*.md"))
MAX_FINDING_LINES = 120


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def penguins() -> None:
    """The CSV file of docs/records.md, with every tenth mass missing."""
    draws = np.random.default_rng(0)
    lines = ["species,sampled,flipper (mm),body mass (g)"]
    for i in range(60):
        flipper = draws.normal(200, 14)
        mass = "" if i % 10 == 0 else f"{50 * flipper - 5800 + draws.normal(0, 300):.0f}"
        lines.append(f"{('Adelie', 'Gentoo')[i % 2]},2008-11-{1 + i % 30:02d},{flipper:.0f},{mass}")
    Path("penguins.csv").write_text("\n".join(lines) + "\n")


ELSEWHERE = ("README.md", "CONTRIBUTING.md")
WITH_PYTHON = [page for page in PAGES if python_blocks(page) and page.name not in ELSEWHERE]


@pytest.mark.parametrize("page", WITH_PYTHON, ids=name_of)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a tiny BERT as `backbone` and `tokenizer`, and with the shortest training in place of `RecordModel.fit`."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"backbone": new_backbone("bert"), "tokenizer": tokenizer_of("bert"), "__name__": "page"}
    if page.name == "records.md":
        from numerate.records import RecordModel

        penguins()
        fit, short = RecordModel.fit, {"scale": "tiny", "changes": ["training.use_cpu=true"]}
        monkeypatch.setattr(RecordModel, "fit", lambda rows: fit(rows, **short))
    run_python(page, names)
    if page.name == "records.md":
        assert names["mass"].shape == (6, 3) and names["draws"].shape == (6, 100)
        assert names["mass"].to_numpy().mean() == pytest.approx(4200, abs=1000), "in grams"


def test_examples_of_contributing_run(tmp_path: Path) -> None:
    """Each block is a file of its own, in a process of its own: it registers parts under new names."""
    texts = python_blocks(ROOT / "CONTRIBUTING.md")
    for number, text in enumerate(texts):
        (tmp_path / f"example_{number}.py").write_text(text, "utf-8")
    code = f"import sys; sys.path[:0] = {[str(tmp_path), *sys.path]!r}\n"
    code += "\n".join(f"import example_{number}" for number in range(len(texts)))
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(texts) >= 4


def parse(arguments: list[str]) -> None:
    """Parses the arguments of a command, without running it; a wrong one raises."""
    command: Any = get_command(app)
    context = command.make_context("numerate", list(arguments))
    while hasattr(command, "resolve_command"):
        rest = [*context._protected_args, *context.args]
        _, command, rest = command.resolve_command(context, rest)
        context = command.make_context(command.name, rest, parent=context)


def test_commands_parse() -> None:
    found = {name_of(page): commands(page) for page in PAGES}
    for page, lines in found.items():
        for arguments in lines:
            try:
                parse(arguments)
            except Exception as error:
                pytest.fail(f"{page}: numerate {' '.join(arguments)}: {error}")
    assert sum(map(len, found.values())) > 40


def test_every_block_that_is_not_run_says_why() -> None:
    reasons = [block.why for page in PAGES for block in blocks(page) if block.why is not None]
    assert all(len(reason) > 10 for reason in reasons)


def anchors(page: Path) -> set[str]:
    """The headings of a page as link targets, as repository hosts make them."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
            target, _, anchor = link.partition("#")
            if target.startswith(("http:", "https:", "mailto:")):
                continue
            file = (page.parent / target).resolve() if target else page
            assert file.exists(), f"{name_of(page)} links to {link}, which does not exist"
            assert not anchor or anchor in anchors(file), f"{name_of(page)} links to {link}: no such heading"


def test_findings_begin_with_question_answer_and_table() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    for page in FINDINGS:
        lines = page.read_text("utf-8").splitlines()
        text = "\n".join(lines)
        assert len(lines) <= MAX_FINDING_LINES, f"{page.name} has {len(lines)} lines, at most {MAX_FINDING_LINES}"
        places = [text.find(start) for start in ("# ", "\n**Question.**", "\n**Answer.**", "\n| ")]
        assert -1 not in places and places == sorted(places), f"{page.name}: title, question, answer, table"
        assert f"findings/{page.name}" in index, f"docs/index.md does not link to {page.name}"


PARTS = {
    "reading.md": [f"`{name}`" for name in readers.names()],
    "processing.md": [f"`{name}`" for name in notations.names()],
    "embedders.md": [f"`{name}`" for name in embedders.names()],
    "heads.md": [f"`{name}`" for name in heads.names()],
    "training.md": [f"`{name}`" for name in objectives.names()],
    "runs.md": [f"`{name}`" for name in run_names()],
    "records.md": [f"`{kind}`" for kind in Counts.KINDS if kind != "missing"],
    "metrics.md": [f"`{name}`" for name in metrics.__all__ if name[0].islower()],
    "report.md": [f"`{name}`" for name in report.__all__ if name[0].islower() and name != "binomial_band"],
    "command-line.md": [f"`{command}`" for command in get_command(app).commands],  # type: ignore[attr-defined]
}
"""What each page must name."""


def test_every_part_is_named() -> None:
    from numerate_lab.registry import tasks

    named = PARTS | {"tasks.md": [f"`{name}`" for name in tasks.names()]}
    for page, parts in named.items():
        text = (DOCS / page).read_text("utf-8")
        for part in parts:
            assert part in text, f"docs/{page} lacks:\n{part}"


def test_picture_is_of_the_report_that_check_prints_today() -> None:
    """`python docs/draw_check.py` makes it again; positions and colours may differ between versions of rich."""
    drawn = runpy.run_path(str(DOCS / "draw_check.py"))["picture"]()
    kept = (DOCS / "images" / "check.svg").read_text("utf-8")
    now, then = (re.findall(r">([^<>]+)</text>", svg) for svg in (drawn, kept))
    assert now == then and len(then) > 30, "run docs/draw_check.py"
    assert "@font-face" not in kept and "<script" not in kept and "docs/images/check.svg" in README.read_text("utf-8")


def test_site_has_every_page_in_its_navigation() -> None:
    config = (ROOT / "mkdocs.yml").read_text("utf-8").partition("\nnav:\n")[2]
    named = re.findall(r": (\S+\.md)$", config, re.M)
    assert sorted(named) == sorted([*map(name_of, PAGES), "api/index.md"])
    order = [named.index(f"docs/{page}.md") for page in ("check", "attach", "training", "records", "compare", "heads")]
    assert order == sorted(order) and named.index("docs/findings/claims.md") > order[-1], "users first, findings last"


@pytest.mark.slow
def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason='the site needs the extra docs: pip install -e ".[docs]"')
    command = [sys.executable, DOCS / "build_site.py", "--no-api", "-o", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    home = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "check.svg" in home and "docs/check.html" in home
    loaded = re.findall(r"""(?:src|href)="(https?:[^"]+)""", home)
    assert not [address for address in loaded if address.endswith((".js", ".css", ".woff2"))], "nothing from elsewhere"


def test_api_reference_is_built(tmp_path: Path) -> None:
    names = runpy.run_path(str(DOCS / "build_api.py"))
    names["main"](["-o", str(tmp_path), "numerate.numerals", "numerate.metrics"])
    pages = {path.stem: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert set(pages) == {"index", "numerate.numerals", "numerate.metrics"}
    assert "### `render(" in pages["numerate.numerals"] and "### `mdape(" in pages["numerate.metrics"]
    assert (DOCS / "build_api.py").read_text("utf-8").count("\n") <= 120
