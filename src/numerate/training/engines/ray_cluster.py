"""The engine `ray`: Ray Data gives the parts to the machines of a cluster, or to a local cluster of its own."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

from numerate.errors import BadInput
from numerate.training.engines.local import Guarded, Here, is_standard_input
from numerate.training.engines.places import answer_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = ["RayEngine", "ray_engine"]

BLOCKS_PER_PROCESS = 8
"""Blocks of parts per core at least, if there are so many parts: the last ones should not wait for one worker."""
MAX_BLOCKS = 20_000
_FRAME_HEAD, _SETTINGS = 9, 4
"""Bytes of the head of an HTTP/2 frame, and the type of the frame that a server sends first."""
P = TypeVar("P")
R = TypeVar("R")


class RayEngine:
    """Runs a function on parts with Ray Data, inside of `ray_engine`.

    A part whose worker or machine dies is given to another one. The results come in the order of the parts.
    """

    def __init__(self, processes: int) -> None:
        self.processes = processes

    def results(self, work: Callable[[P], R], parts: Iterable[P | Here[R]]) -> Iterator[R]:
        """The result of each part, in the order of the parts; see `numerate.training.engines.local.Engine`."""
        carried = list(parts)
        if any(isinstance(part, Here) or is_standard_input(part) for part in carried):
            raise BadInput("standard input cannot be read by other machines; use --engine local")
        import ray  # type: ignore[import-not-found]  (an extra)
        from ray.data import DataContext  # type: ignore[import-not-found]  (an extra)
        from ray.exceptions import RayError  # type: ignore[import-not-found]  (an extra)

        if not carried:
            return
        context = DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        context.print_on_execution_start = False
        # Reservations hold tasks back for minutes on a small cluster; parts take one core and no memory to speak of.
        context.op_resource_reservation_enabled = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        blocks = min(len(carried), max(MAX_BLOCKS, BLOCKS_PER_PROCESS * self.processes))
        # Rows hold only the number of a part: parts and results are Python objects and no tables.
        rows = ray.data.from_items([{"place": place} for place in range(len(carried))], override_num_blocks=blocks)
        done = rows.map(_Row(Guarded(work), carried), num_cpus=1)
        try:
            for row in done.iter_rows():
                result, fault = row["result"].content
                if fault is not None:
                    raise BadInput(fault)
                yield result
        except RayError as error:
            raise BadInput(f"--engine ray: {' '.join(str(error).split())[:400]}") from None


class _Carried:
    """A Python object as the result of a row: Ray Data would look for tables inside of a tuple."""

    def __init__(self, content: Any) -> None:
        self.content = content


class _Row:
    """A function of a part as a function of rows."""

    def __init__(self, work: Guarded[Any, Any], parts: list[Any]) -> None:
        self.work, self.parts = work, parts

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        return {"result": _Carried(self.work(self.parts[row["place"]]))}


@contextlib.contextmanager
def ray_engine(address: str | None = None, processes: int = 1) -> Iterator[RayEngine]:
    """Connects to a Ray cluster, or starts a local one with `processes` cores, which is shut down at the end.

    Raises:
        BadInput: Ray is not installed, or the address does not answer.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent to anybody
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    logging.getLogger("ray._private.authentication").setLevel(logging.ERROR)
    os.environ.setdefault("RAY_ENABLE_UV_RUN_RUNTIME_ENV", "0")
    try:
        import ray  # type: ignore[import-not-found]  (an extra)
        import ray.data  # type: ignore[import-not-found]  (an extra)
    except ImportError as error:
        raise BadInput(f"--engine ray needs Ray Data: pip install 'numerate[ray]' ({error})") from None
    if ray.is_initialized():
        yield RayEngine(_cores(ray))
        return
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": False}
    if address is None:
        options |= {"address": "local", "num_cpus": processes, "include_dashboard": False}
    else:
        _check_answers(address)
        options["address"] = address
    try:
        with warnings.catch_warnings():  # what it warns of before an error, the error says
            warnings.simplefilter("ignore")
            ray.init(**options)
    except (ConnectionError, OSError, RuntimeError, TimeoutError, ValueError) as error:
        where = "a local cluster" if address is None else address
        said = " ".join(str(error).split())[:300]
        if address is not None and "RAY_AUTH_MODE" not in os.environ:
            said += "; if it asks for a token, set RAY_AUTH_MODE=token"
        raise BadInput(f"--engine ray: {where} cannot be used: {said}") from None
    try:
        yield RayEngine(_cores(ray))
    finally:
        ray.shutdown()


def _cores(ray: Any) -> int:
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _check_answers(address: str) -> None:
    """Refuses an address that nobody listens at; Ray itself would try for minutes."""
    if address.startswith("ray://"):
        raise BadInput(
            f"--ray-address {address}: Ray Data does not work through Ray's client; run the command on a machine of "
            "the cluster, with HOST:PORT of `ray start` or auto"
        )
    host, _, port = address.rpartition(":")
    if address == "auto":
        return
    if not host or not port.isdecimal():
        raise BadInput(f"--ray-address {address!r}: give HOST:PORT or auto")
    limit = min(10.0, answer_seconds())
    where = f"--ray-address {address}"
    if int(port[:6]) > 65535:
        raise BadInput(f"{where}: the port must lie between 1 and 65535")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=limit) as connection:
            speaks = os.environ.get("RAY_USE_TLS", "0") != "0" or _speaks_grpc(connection)
    except OSError as error:
        said = getattr(error, "strerror", None) or error
        raise BadInput(f"{where}: no answer within {limit:g} s: {said}") from None
    if not speaks:
        raise BadInput(f"{where}: something answers there, but no Ray cluster; give the port of `ray start`")


def _speaks_grpc(connection: socket.socket) -> bool:
    """Whether the other side sends the settings of HTTP/2, as a server of gRPC does at once.

    Raises:
        OSError: It says nothing within the connection's time limit.
    """
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, _SETTINGS, 0, 0, 0, 0, 0)))
    head = b""
    while len(head) < _FRAME_HEAD and (more := connection.recv(_FRAME_HEAD - len(head))):
        head += more
    return len(head) == _FRAME_HEAD and head[3] == _SETTINGS
