"""The folder listing is the data flow: a file imports only what stands above it, and the library no laboratory."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
PACKAGES = {"numerate": ROOT / "src" / "numerate", "numerate_lab": ROOT / "lab" / "src" / "numerate_lab"}
FILES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("*.py"))

FLOW = {
    "numerate": [
        "errors", "registry", "config", "files", "numerals", "reading", "notation", "processing", "embedders", "heads",
        "objectives", "metrics", "backbones", "modeling", "training", "records", "report", "apps", "cli", "__main__",
    ],
    "numerate_lab": ["registry", "engine", "tasks", "papers", "commands", "__main__"],
}  # fmt: skip
LIGHT = ("errors", "registry", "config", "files", "numerals", "reading")
"""These need nothing but the standard library to be imported."""
MAX_LINES = 500
MAX_TOP_LEVEL = 6


def package_of(path: Path) -> str:
    return next(name for name, folder in PACKAGES.items() if path.is_relative_to(folder))


def stage_of(path: Path) -> str:
    """The file's place in the flow: its module or package right below its distribution's package."""
    return path.relative_to(PACKAGES[package_of(path)]).parts[0].removesuffix(".py")


def imports(path: Path, tree: ast.AST) -> Iterator[tuple[ast.stmt, str]]:
    """Every import of a file, on any level, as absolute module names; names out of a package count as its modules."""
    package = (package_of(path), *path.relative_to(PACKAGES[package_of(path)]).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = (
                ".".join([*package[: len(package) - node.level + 1], node.module or ""]) if node.level else node.module
            )
            base = (base or "").rstrip(".")
            yield from ((node, f"{base}.{alias.name}" if base in PACKAGES else base) for alias in node.names)


def for_types_only(tree: ast.AST) -> set[ast.AST]:
    """Nodes under `if TYPE_CHECKING`, which never run."""
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test).endswith("TYPE_CHECKING")]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def in_functions(tree: ast.AST) -> set[ast.AST]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {inner for node in ast.walk(tree) if isinstance(node, kinds) for inner in ast.walk(node)}


@pytest.mark.parametrize("package", PACKAGES)
def test_files_keep_to_their_place(package: str) -> None:
    flow = FLOW[package]
    for path in (path for path in FILES if package_of(path) == package):
        source = path.read_text("utf-8")
        assert source.count("\n") <= MAX_LINES, f"{path} has more than {MAX_LINES} lines; split it"
        stage = stage_of(path)
        if stage == "__init__":
            continue  # the public face shows parts of every stage
        assert stage in flow, f"{stage} has no place in the data flow; add it to FLOW"
        tree = ast.parse(source)
        unused, late = for_types_only(tree), in_functions(tree)
        for node, name in imports(path, tree):
            where = f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
            top, _, rest = name.partition(".")
            assert top != "numerate_lab" or package == "numerate_lab", f"{where}: the library has no laboratory"
            if top == package and rest:
                target = rest.split(".")[0]
                if target == "__version__":
                    continue
                assert target in flow, f"{where}, which is no stage; import it from where it is defined"
                assert flow.index(target) <= flow.index(stage), f"{where}, which stands below {stage}"
            elif package == "numerate" and stage in LIGHT and node not in unused and node not in late:
                assert top in sys.stdlib_module_names, f"{where}; {stage} needs only the standard library"


def test_few_modules_at_the_top_level() -> None:
    assert len(list(PACKAGES["numerate"].glob("*.py"))) <= MAX_TOP_LEVEL
    assert len(FLOW["numerate"]) <= 20


def modules_after(code: str) -> set[str]:
    """The top-level names of all modules that are loaded after some code has run in a process of its own."""
    code = f"import sys; {code}; print(*sorted({{name.split('.')[0] for name in sys.modules}}))"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_importing_the_package_stays_light() -> None:
    assert not {"torch", "numpy", "transformers", "typer", "rich"} & modules_after("import numerate")


def test_the_command_line_loads_nothing_heavy() -> None:
    assert not {"torch", "numpy", "transformers"} & modules_after("import numerate.cli.app")
