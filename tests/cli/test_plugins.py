"""Commands and parts of other packages, and commands that need no torch."""

from __future__ import annotations

import subprocess
import sys
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from numerate import registry
from numerate.cli import app as app_module
from numerate.cli.app import app
from numerate.registry import PluginError, Registry, load_plugin, loaded_plugins

if TYPE_CHECKING:
    from pathlib import Path

READER = """
from numerate.registry import readers
from numerate.reading.plain import PlainReader
readers.register("shouting")(PlainReader)
"""


def entries(monkeypatch: pytest.MonkeyPatch, group: str, **values: str) -> None:
    """Replaces the entry points of a group."""
    found = [metadata.EntryPoint(name, value, group) for name, value in values.items()]
    monkeypatch.setattr(metadata, "entry_points", lambda group: found if group == found[0].group else [])


def test_a_broken_package_of_commands_gives_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = typer.Typer()
    monkeypatch.setattr(app_module, "app", other)
    entries(monkeypatch, "numerate.commands", broken="no_such_package:add", fine="typer.testing:CliRunner")
    app_module.add_plugins()
    said = capsys.readouterr().err
    assert said.startswith("numerate: the commands of no_such_package:add are missing: ModuleNotFoundError: ")
    assert said.count("\n") == 1, "the other package is loaded"


def test_registries_import_the_modules_of_entry_points(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "plugin_of_a_test.py").write_text("loaded = True")
    monkeypatch.syspath_prepend(tmp_path)
    entries(monkeypatch, "numerate.plugins", one="plugin_of_a_test", two="no_such_plugin")
    registry._import_entry_points.cache_clear()
    with pytest.warns(UserWarning, match="plugin no_such_plugin is missing: ModuleNotFoundError"):
        assert Registry("reader", "numerate.reading").names() == []
    assert sys.modules["plugin_of_a_test"].loaded


def test_a_plugin_file_adds_a_reader(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(READER)
    (tmp_path / "texts.txt").write_text("7 of 12\n" * 3)
    command = [sys.executable, "-m", "numerate", "--plugin", file, "find", tmp_path / "texts.txt"]
    done = subprocess.run([*command, "--reader", "shouting", "--processes", "2"], capture_output=True, text=True)
    assert done.returncode == 0 and len(done.stdout.splitlines()) == 6, done.stderr


def test_plugin_files_that_cannot_be_imported(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import numerate\n1 / 0")
    before = loaded_plugins()
    for name, message in (("none.py", "no such Python file"), ("bad.py", "cannot be imported: ZeroDivisionError: ")):
        with pytest.raises(PluginError, match=message):
            load_plugin(tmp_path / name)
    assert loaded_plugins() == before
    for arguments in (["--plugin", str(tmp_path / "bad.py"), "doctor"], ["train", "luna", "--plugin", "none.py"]):
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 2 and done.stderr.startswith("numerate: plugin '") and done.stderr.count("\n") == 1


def test_commands_without_a_model_import_no_torch(tmp_path: Path) -> None:
    """One process runs them all: each costs a second of imports."""
    (tmp_path / "texts.txt").write_text("Revenue rose 3.2% to $1.5 billion in 2023.\n")
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from numerate.cli.app import app\n"
        "for line in ('--help', 'find FILE', 'find FILE --json', 'stats FILE', 'stats FILE --json', 'audit --help',\n"
        "             'demo --sample', 'train --help', 'compare --help'):\n"
        "    done = CliRunner().invoke(app, line.replace('FILE', sys.argv[1]).split())\n"
        "    heavy = {'torch', 'numpy', 'transformers'} & set(sys.modules)\n"
        "    print(line, done.exit_code, *heavy)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "texts.txt"], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert len(lines) == 9 and all(line.endswith(" 0") for line in lines), done.stdout + done.stderr


def test_colours_only_on_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("3.2% of 7\n")
    for arguments in (["stats", str(tmp_path / "texts.txt")], ["doctor"], ["--help"]):
        assert "\x1b[" not in CliRunner().invoke(app, arguments, env={"FORCE_COLOR": "1"}).output
