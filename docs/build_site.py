"""Builds the documentation site: `make docs`.

mkdocs wants all pages in one folder, and the pages link to files of the whole repository. So the pages, the API
reference and every file that a page links to are copied to `build/docs/source`, at the same relative places, and mkdocs
makes `build/docs/site` of them. A warning of mkdocs (a link that leads nowhere) is an error.
"""

from __future__ import annotations

import argparse
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_LINK = re.compile(r"\]\(([^)\s#]+)[^)\s]*\)")


def main(arguments: list[str] | None = None) -> None:
    """Copies the pages, writes the API reference, and runs mkdocs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "build" / "docs", help="Folder of source and site.")
    parser.add_argument("--no-api", action="store_true", help="Only the first package of the API reference, as a test.")
    chosen = parser.parse_args(arguments)
    source, site = chosen.output.resolve() / "source", chosen.output.resolve() / "site"
    shutil.rmtree(source, ignore_errors=True)
    for path in sorted(linked_files(ROOT)):
        place = source / path.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    write_reference = runpy.run_path(str(ROOT / "docs" / "build_api.py"))["main"]
    write_reference(["-o", str(source / "api"), *(["numerate.numerals"] if chosen.no_api else [])])
    config = source.parent / "mkdocs.yml"
    config.write_text((ROOT / "mkdocs.yml").read_text("utf-8"), "utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "-f", str(config), "-d", str(site)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}  # an advertisement of the theme
    done = subprocess.run(command, check=False, env=quiet)  # noqa: S603 (our own arguments)
    if done.returncode:
        sys.exit(done.returncode)
    print(f"{len(list(site.rglob('*.html')))} pages: {site / 'index.html'}")


def linked_files(root: Path) -> set[Path]:
    """All pages of the documentation, and the files of the repository that they and the linked pages refer to."""
    waiting = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    found: set[Path] = set()
    while waiting:
        path = waiting.pop().resolve()
        if path in found or root not in path.parents or not path.is_file():
            continue
        found.add(path)
        if path.suffix == ".md":
            targets = (target for target in _LINK.findall(path.read_text("utf-8")) if ":" not in target)
            waiting += [path.parent / target for target in targets]
    return found


if __name__ == "__main__":
    main()
