"""Checks an installed wheel: `python wheel_examples.py README.md WHEEL`, in an environment without the laboratory.

The wheel holds the library alone, `numerate_lab` cannot be imported, the README's Python examples run, and so do the
commands that need no model.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path


def main(readme: Path, wheel: Path) -> None:
    """Runs all checks; the first that fails ends the program with a message."""
    names = zipfile.ZipFile(wheel).namelist()
    strange = [name for name in names if not name.startswith("numerate/") and ".dist-info/" not in name]
    if strange or not any(name.endswith("py.typed") for name in names):
        sys.exit(f"{wheel.name} must hold the package numerate with py.typed and nothing else, got {strange[:5]}")
    if importlib.util.find_spec("numerate_lab") is not None:
        sys.exit("numerate_lab is installed: run this in an environment without the laboratory")
    sys.path.insert(0, str(readme.parent / "tests"))  # a tiny BERT, and what runs the blocks of a page
    from doc_pages import run_python
    from tiny_models import new_backbone, tokenizer_of

    run_python(readme, {"backbone": new_backbone("bert"), "tokenizer": tokenizer_of("bert")})
    command = Path(sys.executable).with_name("numerate")
    text = "Revenue rose 3.2% to $1.5 billion in 2023.\n"
    for arguments in (["--help"], ["find", "-"], ["stats", "report.txt"], ["demo", "--sample"], ["doctor"]):
        Path("report.txt").write_text(text, "utf-8")
        done = subprocess.run([command, *arguments], input=text, capture_output=True, text=True, check=False)  # noqa: S603
        if done.returncode != 0:
            sys.exit(f"numerate {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    print(f"{wheel.name}: the examples of {readme.name} and 5 commands passed")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
