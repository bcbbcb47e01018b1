"""Runs the service: worker processes under uvicorn's supervisor, which starts a new one for each that dies."""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib.util
import math
import socket
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput, NumerateError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.apps.serving.settings import ServeSettings

__all__ = ["check_packages", "serve", "worker_app"]

STARTUP_FAILURE = 3
"""Exit code of a worker that makes uvicorn's supervisor give up: it would fail again."""
STARTED = "started"
_PAUSE = 2.0
"""Seconds before a worker that cannot start again gives up, so that its successors do not keep the machine busy."""
_CONNECTIONS = 2048
_LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line", "stream": "ext://sys.stderr"}},
    "loggers": {
        "uvicorn": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
        "uvicorn.access": {"handlers": [], "level": "CRITICAL", "propagate": False},
        "numerate.serve": {"handlers": ["stderr"], "level": "INFO", "propagate": False},
    },
}


def check_packages() -> None:
    """Checks that FastAPI and uvicorn are installed.

    Raises:
        BadInput: They are not.
    """
    missing = [name for name in ("fastapi", "uvicorn") if importlib.util.find_spec(name) is None]
    if missing:
        raise BadInput(f"numerate serve needs {' and '.join(missing)}: pip install 'numerate[serve]'")


def worker_app(settings: ServeSettings) -> Any:
    """The application of a worker process, with its model; uvicorn calls this in the new process.

    A worker that cannot start ends the service if it is the first one; later, others may still be at work.
    """
    from numerate.apps.serving.api import make_app
    from numerate.training.worker_processes import end_with_parent

    end_with_parent()
    started = None if settings.metrics_folder is None else Path(settings.metrics_folder) / STARTED
    try:
        desk = None
        if settings.model is not None:
            from numerate.apps.serving.model_desk import ModelDesk

            desk = ModelDesk.load(settings.model, settings.device, settings.threads)
        app = make_app(settings, desk)
    except NumerateError as error:
        sys.stderr.write(f"numerate: {error}\n")
        sys.stderr.flush()
        if started is not None and started.exists():
            time.sleep(_PAUSE)
            sys.exit(1)
        sys.exit(STARTUP_FAILURE)
    if started is not None:
        started.touch()
    return app


def serve(settings: ServeSettings, on_start: Callable[[str, int], None] = lambda host, port: None) -> None:
    """Serves until it is told to end (Ctrl-C, SIGTERM); requests that are being handled are answered first.

    Args:
        settings: What to serve, and where.
        on_start: Called with address and port once the port is taken.

    Raises:
        BadInput: A package is missing, the port cannot be used, or the workers cannot start.
    """
    check_packages()
    import uvicorn
    from uvicorn.supervisors import Multiprocess

    with _bound(settings.host, settings.port) as listening, tempfile.TemporaryDirectory(prefix="numerate-") as folder:
        settings = dataclasses.replace(settings, metrics_folder=folder)
        config = uvicorn.Config(
            functools.partial(worker_app, settings), factory=True, host=settings.host, port=settings.port,
            workers=settings.workers, log_config=copy.deepcopy(_LOGGING), access_log=False, proxy_headers=False,
            server_header=False, ws="none", lifespan="on",
            limit_concurrency=max(_CONNECTIONS, 4 * settings.max_requests),
            timeout_graceful_shutdown=math.ceil(settings.timeout) + 5, timeout_worker_healthcheck=60,
        )  # fmt: skip
        on_start(settings.host, listening.getsockname()[1])
        supervisor = Multiprocess(config, sockets=[listening])
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise BadInput("the workers could not start; the line above says why")


def _bound(host: str, port: int) -> socket.socket:
    """A socket at an address."""
    try:
        kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(kind, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":  # where it would take a port that is in use
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.set_inheritable(True)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        said = " ".join(str(error.strerror or error).split())
        raise BadInput(
            f"cannot serve on {host}:{port}: {said[:1].lower()}{said[1:]}; give another --port or --host"
        ) from None
    return listening
