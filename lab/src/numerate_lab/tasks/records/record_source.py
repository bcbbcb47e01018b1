"""What sources of records share: checks of their settings and arguments, texts, and how answers are measured."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import torch

from numerate import metrics
from numerate.registry import near_names
from numerate_lab.tasks.asked_number.asked_number import Truth, compared, measure

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.config import Config
    from numerate.metrics import Score

__all__ = ["RecordSource", "check_settings", "mean_squared_error"]


class RecordSource:
    """Records and the numbers asked for in them; a subclass has `samples`, `written` and `truth`."""

    splits: ClassVar[tuple[str, ...]] = ()

    def samples(self, split: str, count: int, seed: int = 0, start: int = 0) -> Any:
        """Samples `start` to `start + count` of a split."""
        raise NotImplementedError

    def written(self, samples: Any) -> list[str]:
        """The records of some samples as text."""
        raise NotImplementedError

    def texts(self, split: str, count: int, seed: int = 0, start: int = 0) -> list[str]:
        """Records `start` to `start + count` of a split with their answers; see `QuestionSource`."""
        return self.written(self.samples(split, count, seed, start))

    def measure(self, predicted: Any, truth: Truth) -> dict[str, Score]:
        """The mean squared error `mse` in the units of the records, `invalid`, and the other figures of `measure`."""
        values, _ = compared(predicted, truth)
        error = mean_squared_error(torch.from_numpy(values), torch.from_numpy(truth.values))
        return {"mse": error, **measure(predicted, truth)}

    def check_range(self, split: str, count: int, start: int) -> None:
        """Raises a `ValueError` for an unknown split, a negative count or a negative start."""
        if split not in self.splits:
            raise ValueError(f"split {split!r}: {near_names(split, list(self.splits))}")
        if count < 0 or start < 0:
            raise ValueError(f"count and start must not be negative, got {count=}, {start=}")


def mean_squared_error(values: torch.Tensor, gold: torch.Tensor) -> Score:
    """The mean squared error of the answers that are finite.

    Example:
        >>> mean_squared_error(torch.tensor([1.0, float("nan")]), torch.tensor([1.5, 2.0]))
        Score(value=0.25, count=1, skipped=0, non_finite=1)
    """
    root = metrics.rmse(values, gold)
    return dataclasses.replace(root, value=root.value**2)


def check_settings(config: Config, least: Mapping[str, float], wrong: Mapping[str, bool]) -> None:
    """Raises a `ValueError` for the first setting that is wrong, also for a wrong `quote`.

    `least` names fields that are pairs of a least and a most value, and how small the least value may be; `wrong` has
    error messages, and whether each is due.
    """
    values: Any = config
    for name, bound in least.items():
        low, high = getattr(config, name)
        if not bound <= low <= high:
            raise ValueError(f"{config.kind}: {name} must be from {bound} up, least and most: {(low, high)}")
    quote = {f"quote must be ' or \", got {values.quote!r}": values.quote not in ("'", '"')}
    for message, is_due in {**wrong, **quote}.items():
        if is_due:
            raise ValueError(f"{config.kind}: {message}")
