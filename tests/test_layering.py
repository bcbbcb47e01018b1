"""The folder listing is the data flow: a file imports only what stands above it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import numerate

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(numerate.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))

FLOW = [
    "spelling", "style", "style_of", "unit_tables", "units", "numeral", "registry", "config", "reading", "notation",
    "scaling", "batch", "found", "rewriting", "assembly", "sections", "record_vocabulary", "processor", "fixed_shapes",
    "digit_grid", "residues", "embedders", "heads", "slots", "reach", "relations", "objectives", "metrics", "hub",
    "generation", "backbones", "doors", "speaking", "answering", "keeping", "model", "attach", "training", "records",
    "tasks", "bench", "report", "apps", "commands", "cli_literacy", "cli_tables", "cli_training", "cli", "__main__",
]  # fmt: skip
LIGHT = FLOW[: FLOW.index("reading") + 1]
"""These need nothing but the standard library to be imported."""
MAX_LINES = 500


def stage_of(path: Path) -> str:
    """The file's place in the flow: its module or package right below `numerate`."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path, tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every import of a file, on any level, as absolute module names; names out of a package count as its modules."""
    package = ("numerate", *path.relative_to(PACKAGE).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join([*package[: len(package) - node.level + 1], node.module or ""]) if node.level else node.module
            )
            base = (base or "").rstrip(".")
            yield from ((node, f"{base}.{alias.name}" if base == "numerate" else base) for alias in node.names)


def for_types_only(tree: ast.AST) -> set[ast.AST]:
    """Nodes under `if TYPE_CHECKING`, which never run."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test).endswith("TYPE_CHECKING")]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def in_functions(tree: ast.AST) -> set[ast.AST]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {inner for node in ast.walk(tree) if isinstance(node, kinds) for inner in ast.walk(node)}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_keeps_to_its_place(path: Path) -> None:
    source = path.read_text("utf-8")
    assert source.count("\n") <= MAX_LINES, f"{path.name} has more than {MAX_LINES} lines; split it"
    stage = stage_of(path)
    if stage == "__init__":
        return  # the public face shows parts of every stage
    assert stage in FLOW, f"{stage} stands nowhere in the data flow; add it to FLOW at its place"
    tree = ast.parse(source)
    unused, late = for_types_only(tree), in_functions(tree)
    for node, name in imports(path, tree):
        where = f"{path.relative_to(PACKAGE)}:{node.lineno} imports {name}"
        if name.startswith("numerate."):
            target = name.split(".")[1]
            if target == "__version__":
                continue
            assert target in FLOW, f"{where}, which is no stage; import it from where it is defined"
            assert FLOW.index(target) <= FLOW.index(stage), f"{where}, which stands below {stage}"
        elif stage in LIGHT and node not in unused and node not in late:
            assert name.split(".")[0] in sys.stdlib_module_names, f"{where}; {stage} needs only the standard library"


def test_importing_the_package_stays_light() -> None:
    code = "import sys, numerate; print(*({'torch', 'numpy', 'transformers', 'typer', 'rich'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []


def test_the_command_line_loads_nothing_heavy() -> None:
    code = "import sys, numerate.cli; print(*({'torch', 'numpy', 'transformers'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split() == []
