"""Files of one's own parts and tasks: `--plugin FILE` loads them before anything is looked up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numerate import registry

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["load_plugins", "loaded_plugins"]

_loaded: list[str] = []


def load_plugins(paths: Sequence[str]) -> None:
    """Imports Python files, so that their `register` decorators run; each file once."""
    for path in paths:
        _load(path)
        if path not in _loaded:
            _loaded.append(path)


def loaded_plugins() -> list[str]:
    """The files that were loaded; worker processes have to load them again."""
    return list(_loaded)


def _load(path: str) -> None:
    if (load := getattr(registry, "load_plugin", None)) is not None:
        load(path)
        return
    import hashlib
    import importlib.util
    import sys
    from pathlib import Path

    from numerate.errors import BadInput

    file = Path(path).resolve()
    name = f"numerate_plugin_{file.stem}_{hashlib.sha256(str(file).encode()).hexdigest()[:8]}"
    if name in sys.modules:
        return
    if not file.is_file():
        raise BadInput(f"plugin {path!r}: no such Python file")
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None  # noqa: S101 (for the type checker)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
