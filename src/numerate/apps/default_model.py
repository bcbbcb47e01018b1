"""Which model a command uses if none is named: that of the environment, or the one that comes with the repository."""

from __future__ import annotations

import os
from pathlib import Path

from numerate.errors import BadInput

__all__ = ["DEFAULT_NAME", "VARIABLE", "default_model", "found_model"]

DEFAULT_NAME = "numerate-mini"
VARIABLE = "NUMERATE_MODEL"
"""Environment variable that names a model; `none` switches the default model off."""
_CONFIG = "number_config.json"


def found_model() -> str | None:
    """The folder or Hub id in the environment variable NUMERATE_MODEL, or the folder `models/numerate-mini`, if any.

    That folder is looked for below the working directory and in the repository; a wheel does not have it.

    Raises:
        BadInput: The variable names a folder that is not there.
    """
    if named := os.environ.get(VARIABLE):
        if named.lower() == "none":
            return None
        is_path = named.startswith((os.sep, ".", "~")) or named.count("/") > 1
        if is_path and not Path(named).is_dir():
            raise BadInput(f"{VARIABLE} names {named!r}, which is no folder: name a folder, a Hub id, or none")
        return named
    for root in (Path.cwd(), Path(__file__).resolve().parents[3]):
        folder = root / "models" / DEFAULT_NAME
        if (folder / _CONFIG).is_file():
            return str(folder)
    return None


def default_model() -> str:
    """`found_model`, for what does not work without a model.

    Raises:
        BadInput: There is none.
    """
    found = found_model()
    if found is None:
        raise BadInput(
            f"no model is given, and models/{DEFAULT_NAME} is not here: give --model with a folder or a Hub id, or set "
            f"{VARIABLE}"
        )
    return found
