"""The language model of a worker: it fills and judges the jobs of a batch together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput, NumerateError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numerate.apps.documents import Document

__all__ = ["CheckJob", "FillJob", "ModelDesk"]

PASS_CHARACTERS = 8192
"""Most characters of one pass, padding included: the logits of words of 2,000 tokens are some 250 MB."""
SIMILAR_CHARACTERS = 100
"""Difference of lengths that is always padded: a pass has a cost of its own."""


@dataclass(frozen=True)
class FillJob:
    """A text with gaps."""

    text: str
    top: int


@dataclass(frozen=True)
class CheckJob:
    """A document whose numbers are judged."""

    document: Document
    false_alarms: float


class ModelDesk:
    """A loaded model that answers batches of jobs.

    Args:
        model: A `NumberModel`.
        name: Its name in error messages: never a path, which is nobody's business.
    """

    def __init__(self, model: Any, name: str) -> None:
        from numerate.modeling.plausibility import check_can_judge

        self.model, self.name = model, name
        try:
            check_can_judge(model)
            self.why_not_judging = None
        except BadInput as error:
            self.why_not_judging = str(error)

    @classmethod
    def load(cls, name: str, device: str = "cpu", threads: int = 1) -> ModelDesk:
        """Loads a model by its folder or Hub id.

        Raises:
            BadInput: It cannot be loaded, or there is no such device.
        """
        import torch

        from numerate.apps.fill import load_model

        torch.set_num_threads(threads)
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        if device == "cuda" and not torch.cuda.is_available():
            raise BadInput("--device cuda: torch finds no GPU; give --device cpu")
        desk = cls(load_model(name).to(device), Path(name).name)
        desk.answer([FillJob("It is [NUM] km." if desk.model.head is not None else "It is [MASK].", 1)])  # warm up
        return desk

    def answer(self, jobs: Sequence[FillJob | CheckJob]) -> list[Any]:
        """The gaps of each text to fill, the findings of each document to check, or the error of a job."""
        answers: list[Any] = [None] * len(jobs)
        filling = [at for at, job in enumerate(jobs) if isinstance(job, FillJob)]
        for places in _passes(filling, [len(job.text) if isinstance(job, FillJob) else 0 for job in jobs]):
            for at, found in zip(places, _or_alone([jobs[at] for at in places], self._fill), strict=True):
                answers[at] = found
        rates = {job.false_alarms for job in jobs if isinstance(job, CheckJob)}
        for rate in sorted(rates):
            places = [at for at, job in enumerate(jobs) if isinstance(job, CheckJob) and job.false_alarms == rate]
            for at, found in zip(places, _or_alone([jobs[at] for at in places], self._check), strict=True):
                answers[at] = found
        return answers

    def _fill(self, jobs: Sequence[FillJob]) -> list[Any]:
        from numerate.apps.fill import fill_gaps

        most = max(job.top for job in jobs)
        found = fill_gaps([job.text for job in jobs], self.model, self.name, most)
        return [[_finite(_cut(gap, job.top)) for gap in gaps] for job, gaps in zip(jobs, found, strict=True)]

    def _check(self, jobs: Sequence[CheckJob]) -> list[Any]:
        from numerate.apps.plausible import PlausibilityChecker

        judge = PlausibilityChecker(self.model, false_alarms=jobs[0].false_alarms)
        return judge.check_all([job.document for job in jobs])


def _or_alone(jobs: Sequence[Any], work: Callable[[Sequence[Any]], list[Any]]) -> list[Any]:
    """The answers to jobs; if one of them is refused, each is asked alone, so that only that one gets the error."""
    try:
        return work(jobs)
    except NumerateError as error:
        if len(jobs) == 1:
            return [error]
        return [_or_alone([job], work)[0] for job in jobs]


def _passes(places: Sequence[int], sizes: Sequence[int]) -> list[list[int]]:
    """Places in groups of similar size, so that little is padded, and with at most `PASS_CHARACTERS`.

    Example:
        >>> _passes([0, 1, 2, 3], [50, 900, 70, 4000])
        [[0, 2], [1], [3]]
    """
    groups: list[list[int]] = []
    for place in sorted(places, key=lambda at: sizes[at]):
        is_similar = groups and sizes[place] <= 2 * sizes[groups[-1][0]] + SIMILAR_CHARACTERS
        if is_similar and sizes[place] * (len(groups[-1]) + 1) <= PASS_CHARACTERS:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _cut(gap: dict[str, Any], top: int) -> dict[str, Any]:
    """A gap with fewer words or numbers; they are sorted."""
    key = "words" if "words" in gap else "numbers"
    return gap | {key: gap[key][:top]}


def _finite(value: Any) -> Any:
    """JSON has no infinity: it becomes null."""
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
