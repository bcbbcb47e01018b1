"""Sources of texts by name: a preset, several as one, or a file of texts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from numerate.config import ConfigError
from numerate.registry import near_names
from numerate_lab.tasks.asked_number.asked_number import AskedInTexts, QuestionSource, Truth

__all__ = ["MixedSource", "source_of"]


class MixedSource:
    """Several sources as one: their texts in turn, measured together and by source."""

    answer_slot = -1

    def __init__(self, tasks: dict[str, QuestionSource]) -> None:
        self.tasks = tasks
        if any(task.answer_slot != -1 for task in tasks.values()):
            raise ConfigError(f"tasks that are mixed must ask for their last number: {', '.join(tasks)}")

    def texts(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[str]:
        """The sources' texts in turn."""
        parts, rows = self._parts("texts", split, count, seed, start)
        return _in_turn(parts)[rows]

    def truth(self, split: str, count: int, seed: int = 0, start: int = 0) -> Truth:
        """What those texts ask for; the group `task` says of which task each is."""
        parts, rows = self._parts("truth", split, count, seed, start)
        spans = [part.spans for part in parts if part.spans is not None]
        return Truth(
            np.stack([part.values for part in parts], axis=1).reshape(-1)[rows],
            _in_turn([part.strings for part in parts])[rows],
            np.stack([part.precision for part in parts], axis=1).reshape(-1)[rows],
            np.stack(spans, axis=1).reshape(-1, 2)[rows] if len(spans) == len(parts) else None,
            {"task": np.tile(np.array(list(self.tasks)), len(parts[0]))[rows]},
        )

    def _parts(self, method: str, split: str, count: int, seed: int, start: int) -> tuple[list[Any], slice]:
        """What a method of each source gives, and which rows are asked for once these are taken in turn."""
        width = len(self.tasks)
        first, last = start // width, -(-(start + count) // width)
        parts = [getattr(task, method)(split, last - first, seed, first) for task in self.tasks.values()]
        return parts, slice(start - first * width, start - first * width + count)


def _in_turn(parts: list[list[str]]) -> list[str]:
    return [text for row in zip(*parts, strict=True) for text in row]


def source_of(name: str, options: dict[str, Any] | None = None) -> QuestionSource:
    """The source of a name: a preset, several presets by commas, or a file of texts whose last number is asked for.

    Options are those of `ArithmeticConfig`, or of a file `answer_slot`, `reader` and `seed`: see `AskedInTexts`.

    Example:
        >>> source_of("add-6,subtract-6").texts("train", 2)  # doctest: +ELLIPSIS
        ['... + ... = ...', '... - ... = ...']
    """
    from numerate_lab.tasks.arithmetic.problems import PRESETS, ArithmeticConfig, ArithmeticProblems

    names = name.split(",")
    if len(names) > 1:
        return MixedSource({part: source_of(part, options) for part in names})
    if name not in PRESETS and Path(name).exists():
        known = ("answer_slot", "reader", "seed")
        if odd := [key for key in options or () if key not in known]:
            raise ConfigError(f"task_options of a file: {odd[0]!r}: {near_names(odd[0], list(known))}")
        return AskedInTexts(name, **options or {})
    task = ArithmeticProblems(name)
    return ArithmeticProblems(ArithmeticConfig.from_dict(task.config.to_dict() | options)) if options else task
