"""Every error class of the library derives from `NumerateError`."""

from __future__ import annotations

import importlib
import pkgutil

import numerate
from numerate.errors import NumerateError


def test_every_error_class_derives_from_numerate_error() -> None:
    found = set()
    for info in pkgutil.walk_packages(numerate.__path__, "numerate."):
        if info.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(info.name)
        except ModuleNotFoundError as error:  # a module for a package of an extra
            assert error.name in ("lm_eval", "trl"), info.name
            continue
        for value in vars(module).values():
            is_error = isinstance(value, type) and issubclass(value, Exception) and not issubclass(value, Warning)
            if is_error and value.__module__ == info.name:
                found.add(value)
    assert len(found) >= 12
    assert not [error for error in found if not issubclass(error, NumerateError)]
    lacking = [error for error in found - {NumerateError} if error.__mro__[1:3] == (NumerateError, Exception)]
    assert not lacking, f"{lacking} have no standard class beside NumerateError"
