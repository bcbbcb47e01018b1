"""Requests of the page of `numerate play`, answered together: one pass of a model reads the texts of many users.

A request is a generator: it yields what the models are asked (jobs of `ModelDesk`), is sent their answers, and returns
HTML. A weight matrix that is read once for eight sentences serves each of them in a fourth of the time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.apps.fill import MASK, NUM
from numerate.apps.play_parts import MAX_SENTENCE, check_size, checked_html, densities_html, moved_text, words_html
from numerate.apps.serving.model_desk import CheckJob, FillJob, ModelDesk
from numerate.errors import NumerateError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from numerate.apps.documents import Document
    from numerate.apps.findings import Finding

    Request = Generator[list[FillJob | CheckJob], list[list[Any]], str]

__all__ = ["PageDesk", "is_short"]

FALSE_ALARMS = 0.01
_WORDS, _NUMBERS = 8, 5


def is_short(what: str, *arguments: Any) -> bool:
    """Whether a request may share a pass with others: a long text or a file would keep them waiting.

    Example:
        >>> is_short("checked", "It weighs 5 kg.", None), is_short("checked", "", "report.pdf")
        (True, False)
    """
    return what != "checked" or (not arguments[1] and len(arguments[0] or "") <= MAX_SENTENCE)


class PageDesk:
    """The models of a page, which answer requests: `words`, `densities` and `checked`.

    Args:
        models: One or two models; the first one judges what is checked.
        names: Their names on the page.
    """

    def __init__(self, models: Sequence[Any], names: Sequence[str]) -> None:
        self._names = list(names)
        self._desks = [ModelDesk(model, name) for model, name in zip(models, names, strict=True)]
        self._requests: dict[str, Callable[..., Request]] = {
            "words": self._words, "densities": self._densities, "checked": self._checked,
        }  # fmt: skip

    def answer(self, asked: Sequence[tuple[str, Sequence[Any]]]) -> list[str | NumerateError]:
        """The HTML of each request (its name and arguments), or the error that it is refused with."""
        answers: list[Any] = [None] * len(asked)
        waiting: list[tuple[int, Request, slice]] = []
        jobs: list[FillJob | CheckJob] = []
        for at, (what, arguments) in enumerate(asked):
            request = self._requests[what](*arguments)
            try:
                more = next(request)
            except StopIteration as done:
                answers[at] = done.value
            except NumerateError as error:
                answers[at] = error
            else:
                waiting.append((at, request, slice(len(jobs), len(jobs) + len(more))))
                jobs += more
        found = [self._found(place, jobs) for place in range(len(self._desks))] if waiting else []
        for at, request, own in waiting:
            mine = [each[own] for each in found]
            refused = next((each for row in mine for each in row if isinstance(each, NumerateError)), None)
            try:
                if refused is not None:
                    raise refused
                request.send(mine)
            except StopIteration as done:
                answers[at] = done.value
            except NumerateError as error:
                answers[at] = error
        return answers

    def _found(self, place: int, jobs: Sequence[FillJob | CheckJob]) -> list[Any]:
        """A model's answers; only the first one judges."""
        if not place:
            return self._desks[0].answer(jobs)
        kept = [each for each in jobs if isinstance(each, FillJob)]
        answers = iter(self._desks[place].answer(kept))
        return [next(answers) if isinstance(each, FillJob) else None for each in jobs]

    def _words(self, text: str, chosen: str | None, power: float) -> Request:
        moved = moved_text(text, chosen, power)
        found = (yield [FillJob(moved.replace(NUM, "0"), _WORDS)]) if MASK in moved else []
        return words_html(moved, [each[0] for each in found], self._names)

    def _densities(self, text: str) -> Request:
        text = check_size(text, MAX_SENTENCE)
        found = (yield [FillJob(text, _NUMBERS)]) if NUM in text else []
        return densities_html(text, [each[0] for each in found], self._names)

    def _checked(self, text: str, path: str | None) -> Request:
        from numerate.apps.documents import Document
        from numerate.apps.formats.opening import text_documents
        from numerate.apps.plausible import PlausibilityChecker

        desk = self._desks[0]
        if desk.why_not_judging is not None:
            return checked_html(text, path, None)
        if not is_short("checked", text, path):
            return checked_html(text, path, PlausibilityChecker(desk.model, false_alarms=FALSE_ALARMS))
        documents = [each for each in text_documents(text or "") if isinstance(each, Document)]
        found = yield [CheckJob(each, FALSE_ALARMS) for each in documents]
        return checked_html(text, None, _Judged(found[0]))


class _Judged:
    """A checker whose documents were judged before, in the same order."""

    def __init__(self, findings: Sequence[list[Finding]]) -> None:
        self._findings = iter(findings)

    def check(self, document: Document) -> list[Finding]:
        return next(self._findings)
