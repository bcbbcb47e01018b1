"""The paths of the service as a FastAPI application."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Response

import numerate
from numerate.apps.check import CheckOptions, check_document, check_ignored, count_numbers, make_checkers
from numerate.apps.documents import Document
from numerate.apps.findings import ranked
from numerate.apps.formats.json_records import record_document
from numerate.apps.formats.opening import text_documents
from numerate.apps.serving.answers import add_error_answers, encoded, json_answer
from numerate.apps.serving.api_page import api_page
from numerate.apps.serving.guard import Guard
from numerate.apps.serving.metrics import Metrics
from numerate.apps.serving.refusals import Refusal
from numerate.apps.serving.schemas import (
    CheckAnswer,
    CheckRequest,
    ErrorAnswer,
    FillAnswer,
    FillRequest,
    FindAnswer,
    FindRequest,
    Health,
)
from numerate.apps.serving.service import NO_MODEL, Service
from numerate.reading import make_reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numerate.apps.findings import Finding
    from numerate.apps.serving.model_desk import ModelDesk
    from numerate.apps.serving.settings import ServeSettings

__all__ = ["make_app"]

MAX_FILL_CHARACTERS = 4096
_ERRORS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorAnswer, "description": said}
    for status, said in (
        (400, "The body is not JSON."), (401, "A token is needed."), (408, "The body did not arrive in time."),
        (413, "Too large."), (415, "The type is not JSON."),
        (422, "JSON that does not fit, or a text that cannot be used."),
        (429, "Overload: try again after the seconds in Retry-After."), (503, "No model, or the service is ending."),
        (504, "No answer in time."),
    )
}  # fmt: skip


def make_app(settings: ServeSettings, desk: ModelDesk | None = None) -> Any:
    """The service as an ASGI application, for one worker process.

    Args:
        settings: Limits and token; `model` is not loaded here.
        desk: The loaded model.
    """
    _warm_up()
    metrics = Metrics(settings.metrics_folder)
    service = Service(settings, desk, metrics)
    return Guard(_api(service), settings, metrics)


def _warm_up() -> None:
    """Builds readers and rules, which takes a few tenths of a second, before the first request."""
    request = CheckRequest(text="It rose 5% to 21 km (13 mi).")
    _found([request.text or ""], FindRequest(text=""))
    _checked(_documents(request)[0], request, [[]])


def _api(service: Service) -> FastAPI:
    off: Any = dict.fromkeys(("auto_configure", "tracing", "metrics", "logs"), False)
    app = FastAPI(
        title="numerate", version=numerate.__version__, description="Finds, fills and checks numbers of texts.",
        docs_url=None, redoc_url=None, lifespan=service.lifespan, telemetry=off,
    )  # fmt: skip
    add_error_answers(app)
    _add_work(app, service)

    @app.get("/health", response_model=Health)
    async def health() -> Response:
        """Whether the service answers, and whether it has a model."""
        return json_answer({"status": "ok", "version": numerate.__version__, "model": service.desk is not None})

    @app.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
    async def metrics() -> Response:
        """Figures of all workers in Prometheus' text format."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return Response(api_page(app.openapi()), media_type="text/html; charset=utf-8")

    return app


def _add_work(app: FastAPI, service: Service) -> None:
    @app.post("/find", response_model=FindAnswer, responses=_ERRORS)
    async def find(request: FindRequest) -> Response:
        """Find the numbers of texts: spans, values, kinds and units."""
        body, count = await service.read(_found, service.texts(request.text), request)
        service.count("/find", count)
        return Response(body, media_type="application/json")

    @app.post("/fill", response_model=FillAnswer, response_model_exclude_none=True, responses=_ERRORS)
    async def fill(request: FillRequest) -> Response:
        """Fill gaps: `[MASK]` with words, `[NUM]` with distributions of numbers. Needs a model."""
        queue, texts = service.model_queue(), service.texts(request.text)
        # After the queue, without which they need not be imported: torch comes with them.
        from numerate.apps.fill import check_gaps
        from numerate.apps.serving.model_desk import FillJob

        if (longest := max(map(len, texts))) > MAX_FILL_CHARACTERS:
            raise Refusal(
                413, f"text: {longest:,} characters, at most {MAX_FILL_CHARACTERS:,} are filled: send a passage"
            )
        weights = [sum(check_gaps(text)) for text in texts]
        if (total := sum(weights)) > (most := service.settings.max_numbers):
            raise Refusal(413, f"{total:,} gaps, at most {most} of a request are filled: send several requests")
        gaps = await queue.ask([FillJob(text, request.top) for text in texts], weights)
        service.count("/fill", sum(weights))
        return json_answer({"results": [{"text": text, "gaps": each} for text, each in zip(texts, gaps, strict=True)]})

    @app.post("/check", response_model=CheckAnswer, responses=_ERRORS)
    async def check(request: CheckRequest) -> Response:
        """Find numbers that contradict each other or look wrong; with a model, also improbable ones."""
        documents, counts = await service.read(_documents, request)
        numbers = sum(counts)
        judged: list[list[Finding]] = [[] for _ in documents]
        with_model = _wants_model(request, service, numbers)
        if with_model and numbers:
            from numerate.apps.serving.model_desk import CheckJob

            rate = service.settings.false_alarms if request.false_alarms is None else request.false_alarms
            asked = [at for at, count in enumerate(counts) if count]
            jobs = [CheckJob(documents[at], rate) for at in asked]
            for at, found in zip(
                asked, await service.model_queue().ask(jobs, [counts[at] for at in asked]), strict=True
            ):
                judged[at] = found
        findings = await service.read(_checked, documents, request, judged)
        service.count("/check", numbers)
        return json_answer({"findings": findings, "numbers": numbers, "model": with_model})


def _found(texts: list[str], request: FindRequest) -> tuple[bytes, int]:
    """The answer to `/find`, and how many numbers it has."""
    options = {"words": request.words or None, "roman": request.roman or None, "cell": request.cell or None}
    given = {key: value for key, value in (options | {"locale": request.locale}).items() if value is not None}
    try:
        reader = make_reader(request.reader, **given)
    except TypeError:
        raise Refusal(422, f"reader {request.reader!r} has no option {', '.join(given)}: use 'standard'") from None
    results = [[dict(numeral.to_dict()) for numeral in reader.find(text)] for text in texts]
    return encoded({"results": [{"numbers": found} for found in results]}), sum(map(len, results))


def _documents(request: CheckRequest) -> tuple[list[Document], list[int]]:
    """What is checked, with the tables of a text as `numerate.check` reads them, and how many numbers each part has."""
    check_ignored(request.ignore)
    if request.text is not None and request.records is None:
        documents = [each for each in text_documents(request.text) if isinstance(each, Document)]
    elif request.records is not None and request.text is None:
        documents = [record_document([*request.records])]
    else:
        raise Refusal(422, "give either text or records")
    return documents, [count_numbers(each) for each in documents]


def _wants_model(request: CheckRequest, service: Service, numbers: int) -> bool:
    """Whether the model judges the numbers of a request.

    Raises:
        Refusal: It is asked for, but there is none, it cannot judge, or there are too many numbers.
    """
    if request.model is False or (service.desk is None and request.model is None):
        return False
    if service.desk is None:
        raise Refusal(503, NO_MODEL)
    if service.desk.why_not_judging is not None:
        if request.model is None:
            return False
        raise Refusal(422, f"model: {service.desk.why_not_judging}")
    most = service.settings.max_numbers
    if numbers > most:
        said = f"{numbers:,} numbers, the model judges at most {most} of a request: split it, or send model=false"
        raise Refusal(413, said)
    return True


class _Already:
    """A checker whose findings are known.

    Attributes:
        found: The findings of the document that is checked.
    """

    def __init__(self) -> None:
        self.found: list[Finding] = []

    def check(self, document: Any) -> list[Finding]:
        """The findings, whatever the document."""
        return self.found


def _checked(documents: list[Document], request: CheckRequest, judged: Sequence[list[Finding]]) -> list[dict[str, Any]]:
    options = CheckOptions(ignore=tuple(request.ignore), false_alarms=request.false_alarms)
    already = _Already()
    checkers = make_checkers(options, already)
    found = []
    for piece, (document, already.found) in enumerate(zip(documents, judged, strict=True)):
        found += check_document(document, checkers, options, piece)
    return [finding.to_dict() for finding in ranked(found)]
