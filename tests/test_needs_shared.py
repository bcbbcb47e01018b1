"""The list of tests that need the shared folder is true, and the guard over skipped tests works."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from conftest import ROOT, listed

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("entry", listed())
def test_no_entry_is_stale(entry: str) -> None:
    path, *names = entry.partition("[")[0].split("::")
    node: ast.AST = ast.parse((ROOT / path).read_text("utf-8"))
    for name in names:
        inside = [child for child in ast.iter_child_nodes(node) if getattr(child, "name", None) == name]
        assert inside, f"{entry}: there is no {name} any more"
        node = inside[0]


def run_suite(folder: Path, source: str, entries: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs a little suite of its own that stands under our conftest."""
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "conftest.py", folder)
    (folder / "tests" / "needs_shared.txt").write_text(entries)
    (folder / "tests" / "test_it.py").write_text(source)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = shared(what): x\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "NUMERATE"))}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


SKIPS = "import pytest\ndef test_a():\n    pytest.skip('for no good reason')\n"
SKIPS_AS_A_MODULE = "import pytest\npytest.importorskip('no_such_module')\ndef test_a(): pass\n"
NEEDS_SHARED = "import pytest\n@pytest.mark.shared('data')\ndef test_a(shared): pass\n"


@pytest.mark.parametrize(("source", "processes"), [(SKIPS, "-n0"), (SKIPS_AS_A_MODULE, "-n0"), (SKIPS, "-n1")])
def test_an_unlisted_skip_fails_the_session(tmp_path: Path, source: str, processes: str) -> None:
    done = run_suite(tmp_path, source, "", processes)
    assert done.returncode != 0
    assert "skipped, but not listed" in done.stdout and "tests/test_it.py" in done.stdout


def test_a_listed_skip_is_allowed(tmp_path: Path) -> None:
    done = run_suite(tmp_path, NEEDS_SHARED, "tests/test_it.py::test_a\n", "-n1")
    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout


def test_a_test_that_needs_the_folder_must_be_listed(tmp_path: Path) -> None:
    done = run_suite(tmp_path, NEEDS_SHARED, "", "-n0")
    assert done.returncode == 1 and "add it to tests/needs_shared.txt" in done.stdout
