"""What the paths of the service share: limits, metrics, threads for reading, and the queue of the model."""

from __future__ import annotations

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from numerate.apps.serving.batching import BatchQueue
from numerate.apps.serving.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from numerate.apps.serving.metrics import Metrics
    from numerate.apps.serving.model_desk import CheckJob, FillJob, ModelDesk
    from numerate.apps.serving.settings import ServeSettings

__all__ = ["NO_MODEL", "Service"]

NO_MODEL = "no model is loaded: start numerate serve with --model FOLDER (or a Hub id), or set NUMERATE_MODEL"
READING_THREADS = 2
"""Threads that read and check texts; more would only take the processor from each other."""
BEAT = 1.0
"""Seconds between two signs of life in the metrics."""


class Service:
    """What the paths share: limits, the model's queue, and threads for reading."""

    def __init__(self, settings: ServeSettings, desk: ModelDesk | None, metrics: Metrics) -> None:
        self.settings, self.desk, self.metrics = settings, desk, metrics
        self.queue: BatchQueue[FillJob | CheckJob, Any] | None = None
        self._threads = ThreadPoolExecutor(READING_THREADS, thread_name_prefix="reading")

    @contextlib.asynccontextmanager
    async def lifespan(self, app: Any) -> AsyncIterator[None]:
        """Starts the model's thread, and ends it when all requests are answered."""
        beating = asyncio.create_task(self._beat())
        if self.desk is not None:
            self.queue = BatchQueue(
                self.desk.answer, size=self.settings.batch_size, wait=self.settings.batch_ms / 1000,
                limit=self.settings.max_waiting, on_batch=self.metrics.batch,
                on_waiting=lambda change: self.metrics.add("model_waiting", "", change),
            )  # fmt: skip
        try:
            yield
        finally:
            beating.cancel()
            if self.queue is not None:
                await asyncio.to_thread(self.queue.close, self.settings.timeout)
            self._threads.shutdown(wait=False, cancel_futures=True)

    async def _beat(self) -> None:
        while True:
            self.metrics.beat()
            await asyncio.sleep(BEAT)

    async def read(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Runs work of the processor in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work, *arguments)

    def model_queue(self) -> BatchQueue[FillJob | CheckJob, Any]:
        """The model's queue.

        Raises:
            Refusal: There is no model.
        """
        if self.queue is None:
            raise Refusal(503, NO_MODEL)
        return self.queue

    def count(self, endpoint: str, numbers: int) -> None:
        """Counts numbers for the metrics."""
        self.metrics.add("numbers_total", f'endpoint="{endpoint}"', numbers)

    def texts(self, given: str | list[str]) -> list[str]:
        """The texts of a request.

        Raises:
            Refusal: There are none, or too many.
        """
        texts = [given] if isinstance(given, str) else given
        if not texts:
            raise Refusal(422, "text: give at least one text")
        if len(texts) > self.settings.max_texts:
            raise Refusal(
                413, f"text: {len(texts)} texts, at most {self.settings.max_texts} are taken: send several requests"
            )
        return texts
