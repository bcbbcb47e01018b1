"""What the README says can be typed, works."""

from __future__ import annotations

import bz2
import doctest
import gzip
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app

README = (Path(__file__).parent.parent / "README.md").read_text("utf-8")
PYTHON = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
COMMANDS = re.findall(
    r"^(?:\$ )?numerate (.*?)(?:\s+#.*)?$", "".join(re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)), re.M
)


def test_there_is_something_to_run() -> None:
    assert PYTHON and COMMANDS


def test_python_blocks() -> None:
    # All in one namespace, because a reader goes from top to bottom.
    test = doctest.DocTestParser().get_doctest("\n".join(PYTHON), {}, "README", "README.md", 0)
    assert len(test.examples) >= len(PYTHON)
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed == 0


@pytest.mark.parametrize("command", COMMANDS)
def test_command(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("report.txt", "train.txt", "dev.txt"):
        Path(name).write_text("Revenue rose 3.2% to $1.5 billion in 2023.\n")
    Path("notes.jsonl.gz").write_bytes(gzip.compress(b'{"body": "aged 63, BP 120/80"}\n'))
    Path("my.jsonl").write_text('{"text": "It weighs 45 kg, or 99 pounds."}\n' * 20)
    text = "<text>The tower is {{convert|30|m|ft}} tall.</text>"
    page = f"<page><title>A</title><ns>0</ns><revision>{text}</revision></page>"
    Path("dump.xml.bz2").write_bytes(bz2.compress(f'<mediawiki xml:lang="en">{page}</mediawiki>'.encode()))
    arguments = shlex.split(command.partition(" > ")[0])
    if arguments[0] in ("audit", "eval", "compare", "fill"):
        # Tokenizer and model are not at hand here, or it takes minutes; the tests of the commands run them.
        arguments.append("--help")
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
