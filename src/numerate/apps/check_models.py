"""The language model of a check: one that is given, or the default model where there is one."""

from __future__ import annotations

import logging
import threading
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.default_model import VARIABLE, found_model
from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.findings import Checker

__all__ = ["FALSE_ALARMS", "WITHOUT_MODEL", "checker_of", "is_uncalibrated", "model_checker", "said_of_silence"]

FALSE_ALARMS = 0.01
"""Share of right numbers that a model reports unless another one is asked for."""
WITHOUT_MODEL = (
    "no model found: only consistency and the distributions of the file's own columns are checked; name a model by"
)
_LOADING = threading.Lock()
_log = logging.getLogger("numerate")


def checker_of(model: Any, false_alarms: float | None = None) -> Checker | None:
    """The checker of plausibility of `numerate.check`.

    Args:
        model: A checker, a `NumberModel`, a folder or a Hub id; None is the default model, if there is one; False is
            none.
        false_alarms: Share of right numbers that may be reported.

    Raises:
        BadInput: The model cannot be loaded, or cannot judge numbers.
    """
    if model is False:
        return None
    if model is None:
        model = found_model()
        if model is None:
            _say_once(f"{WITHOUT_MODEL} check(..., model=FOLDER) or {VARIABLE}; model=False says that none is wanted")
            return None
    rate = FALSE_ALARMS if false_alarms is None else false_alarms
    if isinstance(model, str | Path):
        with _LOADING:  # one of several threads loads it
            return _loaded(str(model), rate)
    if hasattr(model, "check"):
        return model
    if hasattr(model, "processor"):
        from numerate.apps.plausible import PlausibilityChecker

        return PlausibilityChecker(model, false_alarms=rate)
    said = "a checker, a NumberModel, a folder, a Hub id, None or False"
    raise BadInput(f"check(model=...) takes {said}, got {type(model).__name__}")


def model_checker(
    name: str, *, false_alarms: float | None = None, fast: bool = False, calibrate: Sequence[str] = ()
) -> Checker:
    """The checker of plausibility with the model in a folder or of a Hub id.

    Args:
        name: Folder or Hub id.
        false_alarms: Share of right numbers that may be reported; by default 1 %.
        fast: Skip numbers that are certain.
        calibrate: Files whose numbers are right: the share holds for documents like these.

    Raises:
        BadInput: The model cannot be loaded, or cannot judge numbers.
    """
    from numerate.apps.fill import load_model
    from numerate.apps.plausible import PlausibilityChecker

    model = load_model(name)
    if calibrate:
        from numerate.apps.calibrating import calibrate_files

        calibrate_files(model, calibrate)
    return PlausibilityChecker(model, fast=fast, false_alarms=FALSE_ALARMS if false_alarms is None else false_alarms)


def is_uncalibrated(checker: Any) -> bool:
    """Whether a checker has a model whose share of false alarms is unknown."""
    model = getattr(checker, "model", None)
    return model is not None and getattr(model, "calibration", None) is None


def said_of_silence(checker: Any) -> str:
    """One line on the kinds of numbers that can have no alarm, as too few were held out; empty if there are none."""
    from numerate.modeling.number_calibration import alarm_measure

    calibration, share = checker.model.calibration, checker.false_alarms
    silent = calibration.silent(alarm_measure(calibration), share)
    if not silent:
        return ""
    named = ", ".join(f"{name} ({count:,})" for name, count in sorted(silent.items(), key=lambda each: -each[1]))
    few = f"too few numbers to report {100 * share:g} % of them, so that none is doubted: {named}"
    return f"{few}; calibrate with more texts, or raise --false-alarms"


@lru_cache(maxsize=2)
def _loaded(name: str, false_alarms: float) -> Checker:
    checker = model_checker(name, false_alarms=false_alarms)
    if is_uncalibrated(checker):
        _say_once(f"{name} is not calibrated, so that the share of false alarms is unknown: see numerate.calibrate")
    return checker


_said: set[str] = set()


def _say_once(line: str) -> None:
    if line not in _said:
        _said.add(line)
        _log.warning("%s", line)
