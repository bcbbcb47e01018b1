"""Which model a command uses if none is named: that of the environment, or the one that comes with the repository."""

from __future__ import annotations

import os
from pathlib import Path

from numerate.errors import BadInput

__all__ = ["DEFAULT_NAME", "default_model"]

DEFAULT_NAME = "numerate-mini"
_VARIABLE = "NUMERATE_MODEL"


def default_model() -> str:
    """The folder or Hub id in the environment variable NUMERATE_MODEL, or the folder `models/numerate-mini`.

    That folder is looked for below the working directory and in the repository; a wheel does not have it.

    Raises:
        BadInput: There is none.
    """
    if named := os.environ.get(_VARIABLE):
        return named
    for root in (Path.cwd(), Path(__file__).resolve().parents[3]):
        folder = root / "models" / DEFAULT_NAME
        if (folder / "number_config.json").is_file():
            return str(folder)
    raise BadInput(
        f"no model is given, and models/{DEFAULT_NAME} is not here: give --model with a folder or a Hub id, or set "
        f"{_VARIABLE}"
    )
