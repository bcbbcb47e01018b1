"""The README's examples and commands work."""

from __future__ import annotations

import bz2
import gzip
from typing import TYPE_CHECKING

from doc_pages import ROOT, blocks, commands, run_python
from tiny_models import new_backbone, tokenizer_of
from typer.testing import CliRunner

import numerate
from numerate.apps.plausible import PlausibilityChecker
from numerate.cli.app import app

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

README = ROOT / "README.md"
MAX_LINES = 110


def test_it_fits_a_few_screens_and_has_examples() -> None:
    assert len(README.read_text("utf-8").splitlines()) <= MAX_LINES
    assert len([block for block in blocks(README) if block.language == "python"]) >= 3
    assert "make demo" in README.read_text("utf-8") and len(commands(README)) >= 8


def test_python_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_python(README, {"backbone": new_backbone("bert"), "tokenizer": tokenizer_of("bert")})


def test_what_check_finds_with_the_model_of_a_clone() -> None:
    """A reader of a clone has that model: what it says of a number must not contradict what a rule says."""
    model = PlausibilityChecker(numerate.from_pretrained(str(README.parent / "models/numerate-mini")))
    found = numerate.check("The lake is 28 km (27 mi) long, 45 m (148 ft) deep.", model=model)
    assert [(each.written, each.meant) for each in found] == [("27 mi", "17 mi")]
    (first, *_) = numerate.check([{"way": "28 km (27 mi)"}, {"way": "none"}], model=model)
    assert (first.rule, first.written, first.meant, first.passage) == ("conversion", "27 mi", "17 mi", "28 km (27 mi)")


def write_inputs(folder: Path) -> None:
    """The files that the README's commands read."""
    for name in ("report.txt", "train.txt", "dev.txt"):
        (folder / name).write_text("Revenue rose 3.2% to $1.5 billion in 2023.\n")
    (folder / "notes.jsonl.gz").write_bytes(gzip.compress(b'{"body": "aged 63, BP 120/80"}\n'))
    for name in ("my.jsonl", "test.jsonl"):
        (folder / name).write_text('{"text": "It weighs 45 kg, or 99 pounds."}\n' * 20)
    rows = "".join(f"{size},{2 * size + 1}\n" for size in range(60))
    for name in ("my.csv", "new.csv", "orders.csv"):
        (folder / name).write_text("length,mass\n" + rows)
    text = "<text>The tower is {{convert|30|m|ft}} tall.</text>"
    page = f"<page><title>A</title><ns>0</ns><revision>{text}</revision></page>"
    (folder / "dump.xml.bz2").write_bytes(bz2.compress(f'<mediawiki xml:lang="en">{page}</mediawiki>'.encode()))
    for name in ("path/to/tokenizer", "bert-base-uncased"):
        tokenizer_of("bert").save_pretrained(str(folder / name))
    new_backbone("bert").save_pretrained(str(folder / "bert-base-uncased"))


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them, one after the other in one folder, as a reader types them; `bert-base-uncased` is a tiny BERT."""
    monkeypatch.chdir(tmp_path)
    write_inputs(tmp_path)
    for arguments in commands(README):
        # Gaps are filled by the model that comes with the repository; what `check` finds must not depend on it.
        monkeypatch.setenv(
            "NUMERATE_MODEL", str(README.parent / "models/numerate-mini" if "fill" in arguments else "none")
        )
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, f"numerate {' '.join(arguments)}: {done.output}"
