"""Writes the API reference as Markdown, from the docstrings of the public names: `make docs`.

One page for each public package, with a section for each module. Public names are those in a module's `__all__`.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import pkgutil
from pathlib import Path
from types import ModuleType
from typing import Any

LIBRARY = (
    "numerate", "numerate.numerals", "numerate.reading", "numerate.notation", "numerate.processing",
    "numerate.embedders", "numerate.heads", "numerate.objectives", "numerate.metrics", "numerate.backbones",
    "numerate.modeling", "numerate.training", "numerate.records", "numerate.report", "numerate.apps",
)  # fmt: skip
LABORATORY = ("numerate_lab.engine", "numerate_lab.tasks", "numerate_lab.papers")


def main(arguments: list[str] | None = None) -> None:
    """Builds the pages of all packages, or of those that are named."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("-o", "--output", type=Path, default=Path("build/docs/api"), help="Folder for the pages.")
    parser.add_argument("packages", nargs="*", help="Packages; all public ones by default.")
    chosen = parser.parse_args(arguments)
    packages = chosen.packages or [*LIBRARY, *LABORATORY]
    chosen.output.mkdir(parents=True, exist_ok=True)
    lines = ["# API reference", ""]
    for name in packages:
        package = importlib.import_module(name)
        modules = [package, *(modules_of(package) if name != "numerate" else top_level(package))]
        sections = [section for module in modules for section in module_section(module, name)]
        page = "\n".join([f"# {name}", "", inspect.getdoc(package) or "", "", *sections]).rstrip() + "\n"
        (chosen.output / f"{name}.md").write_text(page, encoding="utf-8")
        lines.append(f"- [{name}]({name}.md): {summary(package)}")
    (chosen.output / "index.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(packages)} pages in {chosen.output}")


def modules_of(package: ModuleType) -> list[ModuleType]:
    """All public modules below a package."""
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [module for each in found if "._" not in each.name for module in imported(each.name)]


def imported(name: str) -> list[ModuleType]:
    """A module; none, with a line that says so, if it needs a package of an extra that is not installed."""
    try:
        return [importlib.import_module(name)]
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("numerate"):
            raise
        return print(f"{name} is left out: it needs {error.name}") or []


def top_level(package: ModuleType) -> list[ModuleType]:
    """The modules of a package, without its packages, which have pages of their own."""
    found = pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    names = [module.name for module in found if not module.ispkg and not module.name.rpartition(".")[2].startswith("_")]
    return [importlib.import_module(name) for name in names]


def module_section(module: ModuleType, page: str) -> list[str]:
    """The public names that a module defines, as Markdown lines; those it only passes on are listed."""
    own, passed_on = [], []
    for name in getattr(module, "__all__", ()):
        value = getattr(module, name)
        defined_in = getattr(value, "__module__", module.__name__)
        if isinstance(value, ModuleType):
            passed_on.append(f"- `{name}`: {summary(value)} (package `{value.__name__}`)")
        elif defined_in != module.__name__ and callable(value):
            passed_on.append(f"- `{name}`: {summary(value)} (defined in `{defined_in}`)")
        else:
            own += entry(name, value)
    if not own and not passed_on:
        return []
    title = [] if module.__name__ == page else [f"## {module.__name__}", "", inspect.getdoc(module) or "", ""]
    return [*title, *(line for line in (*passed_on, "") if passed_on), *own]


def entry(name: str, value: Any) -> list[str]:
    """One public name: its signature and docstring, and for a class those of its public methods."""
    if not inspect.isclass(value) and not inspect.isroutine(value):
        return [f"### `{name}`", "", f"A `{type(value).__name__}`.", ""]
    lines = [f"### `{name}{signature(value)}`", "", *docstring(value)]
    if inspect.isclass(value):
        for key, member in vars(value).items():
            member = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
            is_property = isinstance(member, property)
            if not key.startswith("_") and (is_property or inspect.isfunction(member)) and inspect.getdoc(member):
                lines += [f"#### `{name}.{key}{'' if is_property else signature(member)}`", "", *docstring(member)]
    return lines


def signature(value: Any) -> str:
    """The arguments of a function or class, as written; empty where there are none to show."""
    try:
        return str(inspect.signature(value)).replace("'", "")
    except (TypeError, ValueError):
        return ""


def docstring(value: Any) -> list[str]:
    """A docstring as Markdown: the summary as text, the rest as it is laid out."""
    text = inspect.getdoc(value) or ""
    first, _, rest = text.partition("\n\n")
    return [first, "", *(["```text", rest, "```", ""] if rest else [])]


def summary(value: Any) -> str:
    """The first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


if __name__ == "__main__":
    main()
