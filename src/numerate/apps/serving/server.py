"""Runs the service: a socket, worker processes that share it, and the supervisor that replaces those that die."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import importlib.util
import logging.config
import math
import socket
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.serving.metrics import seconds_since_beat
from numerate.apps.serving.supervisor import CANNOT_START, Supervisor
from numerate.errors import BadInput, NumerateError
from numerate.training.worker_processes import end_with_parent

if TYPE_CHECKING:
    from numerate.apps.serving.settings import ServeSettings

__all__ = ["check_packages", "serve", "worker_app"]

STARTED, FAILED = "started", "failed"
"""Files in the folder of the workers: one of them could start, and why one could not."""
HUNG_AFTER = 60.0
"""Seconds after which a worker whose event loop gives no sign of life is killed."""
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
    """The application of a worker process, with its model; the first worker that has it prints the address.

    A worker that cannot start ends the service if it is among the first ones; later, others may still be at work.
    """
    from numerate.apps.serving.api import make_app

    folder = None if settings.metrics_folder is None else Path(settings.metrics_folder)
    try:
        desk = None
        if settings.model is not None:
            from numerate.apps.serving.model_desk import ModelDesk

            desk = ModelDesk.load(settings.model, settings.device, settings.threads)
        app = make_app(settings, desk)
    except NumerateError as error:
        if folder is not None and not (folder / STARTED).exists():
            (folder / FAILED).write_text(str(error), "utf-8")  # the service ends, and says it once
            sys.exit(CANNOT_START)
        _say(f"numerate: {error}")
        sys.exit(1 if folder is not None else CANNOT_START)
    if folder is not None:
        with contextlib.suppress(FileExistsError):
            (folder / STARTED).touch(exist_ok=False)
            _say(_address(settings))
    return app


def _address(settings: ServeSettings) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    what = "no model: /fill answers 503" if settings.model is None else f"model {settings.model}"
    return f"http://{host}:{settings.port} ({what}; Ctrl-C ends it)"


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def serve(settings: ServeSettings) -> None:
    """Serves until it is told to end (Ctrl-C, SIGTERM); requests that are being handled are answered first.

    The first line on standard error is the address. It comes when a worker has its model: one that cannot be loaded
    is an error before it.

    Args:
        settings: What to serve, and where.

    Raises:
        BadInput: A package is missing, the port cannot be used, or the workers cannot start.
    """
    check_packages()
    with _bound(settings.host, settings.port) as listening, tempfile.TemporaryDirectory(prefix="numerate-") as folder:
        settings = dataclasses.replace(settings, metrics_folder=folder, port=listening.getsockname()[1])
        logging.config.dictConfig(copy.deepcopy(_LOGGING))
        supervisor = Supervisor(
            functools.partial(_work, settings, listening), settings.workers, patience=settings.timeout + 10,
            is_hung=lambda pid: seconds_since_beat(folder, pid) > HUNG_AFTER,
        )  # fmt: skip
        if not supervisor.run():
            failed = Path(folder) / FAILED
            raise BadInput(failed.read_text("utf-8") if failed.exists() else "the workers could not start")


def _work(settings: ServeSettings, listening: socket.socket) -> None:
    """A worker process: serves on a socket that all workers share."""
    import uvicorn

    end_with_parent()
    with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C of a terminal reaches all processes
        config = uvicorn.Config(
            worker_app(settings), log_config=copy.deepcopy(_LOGGING), access_log=False, proxy_headers=False,
            server_header=False, ws="none", lifespan="on",
            limit_concurrency=max(_CONNECTIONS, 4 * settings.max_requests),
            timeout_graceful_shutdown=math.ceil(settings.timeout) + 5,
        )  # fmt: skip
        uvicorn.Server(config).run(sockets=[listening])


def _bound(host: str, port: int) -> socket.socket:
    """A socket at an address."""
    try:
        kind, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(kind, socket.SOCK_STREAM)
        try:
            if sys.platform != "win32":  # where it would take a port that is in use
                listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_CONNECTIONS)  # from now on clients wait for a worker, also while one is replaced
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
