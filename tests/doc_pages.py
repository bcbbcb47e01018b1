"""The code blocks and commands of Markdown pages, for the tests that run them."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>[^\n]+) -->\n)?```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```", re.M | re.S
)
_COMMAND = re.compile(r"^(?:\$ )?(?:\w+=\S+ )*(?:numerate|.*-m numerate(?:_lab)?) +(?P<rest>.*?)(?:\s+#.*)?$", re.M)


class Block(NamedTuple):
    """A fenced block; `why` is the reason not to run it, from the comment `<!-- not run: reason -->` above it."""

    language: str
    text: str
    why: str | None


def blocks(page: Path) -> list[Block]:
    """All fenced blocks of a page."""
    return [Block(m["language"], m["text"], m["why"]) for m in _BLOCK.finditer(page.read_text("utf-8"))]


def python_blocks(page: Path) -> list[str]:
    """The Python blocks that are to be run."""
    return [block.text for block in blocks(page) if block.language == "python" and block.why is None]


def commands(page: Path) -> list[list[str]]:
    """The arguments of all `numerate` commands in a page's shell blocks."""
    shell = "\n".join(block.text for block in blocks(page) if block.language in ("sh", "bash", "console"))
    return [shlex.split(match["rest"].partition(" > ")[0]) for match in _COMMAND.finditer(shell)]


def run_python(page: Path, names: dict[str, Any]) -> None:
    """Runs the blocks of a page from top to bottom in one namespace; `>>>` blocks are checked as doctests."""
    for number, text in enumerate(python_blocks(page), 1):
        where = f"{page.relative_to(ROOT)}, block {number}"
        if text.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(text, names, where, str(page), 0)
            test.globs = names  # the parser copies them
            failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, clear_globs=False).failed
            assert failed == 0, f"{where}: {failed} examples are wrong; see the captured output"
        else:
            exec(compile(text, where, "exec"), names)
