"""The settings of `numerate serve`: address, limits, model and token."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass, field
from pathlib import Path

from numerate.errors import BadInput

__all__ = ["TOKEN_VARIABLE", "ServeSettings", "is_loopback", "read_token"]

TOKEN_VARIABLE = "NUMERATE_TOKEN"  # noqa: S105 (its name)
SHORTEST_TOKEN = 16
LONGEST_TOKEN = 4096


@dataclass(frozen=True, kw_only=True)
class ServeSettings:
    """What a service does; small and picklable, for worker processes.

    Attributes:
        host: Address to listen on.
        port: Port; 0 takes a free one.
        workers: Worker processes. Each loads the model.
        model: Folder or Hub id of a model; None serves without one.
        device: Where the model computes: `cpu`, `cuda`, or `auto`.
        threads: Threads of the model in each worker.
        false_alarms: Share of right numbers that the model may report, if a request does not say.
        token: What clients must send as `Authorization: Bearer TOKEN`; None asks for nothing.
        without_token: Whether an address that other machines reach may be served without a token.
        max_bytes: Largest body of a request.
        max_texts: Most texts of one request.
        max_numbers: Most numbers of one request that a model judges.
        max_requests: Most requests that one worker handles at the same time, for each path; more get status 429.
        max_waiting: Most numbers that wait for the model of one worker; more get status 429.
        batch_size: Most numbers of one pass of the model.
        batch_ms: How long the first of a batch waits for others, in milliseconds.
        timeout: Seconds after which a request gets status 504.
        log_requests: Whether method, path, status and duration of each request are logged.
        metrics_folder: Where workers keep their counters, so that each can report the sum; None for one process.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    workers: int = 1
    model: str | None = None
    device: str = "cpu"
    threads: int = 1
    false_alarms: float = 0.01
    token: str | None = field(default=None, repr=False)
    without_token: bool = False
    max_bytes: int = 1 << 20
    max_texts: int = 64
    max_numbers: int = 200
    max_requests: int = 64
    max_waiting: int = 256
    batch_size: int = 32
    batch_ms: float = 5.0
    timeout: float = 30.0
    log_requests: bool = False
    metrics_folder: str | None = None

    def __post_init__(self) -> None:
        for name, most in (
            ("workers", 256), ("threads", 1024), ("max_bytes", 1 << 30), ("max_texts", 100_000),
            ("max_numbers", 100_000), ("max_requests", 100_000), ("max_waiting", 1_000_000), ("batch_size", 10_000),
        ):  # fmt: skip
            if not 1 <= getattr(self, name) <= most:
                raise BadInput(f"{_option(name)} must lie between 1 and {most:,}, got {getattr(self, name)}")
        if not 0 <= self.port < 65536:
            raise BadInput(f"--port must lie between 0 and 65535, got {self.port}")
        if not 0 <= self.batch_ms <= 1000:
            raise BadInput(f"--batch-ms must lie between 0 and 1000, got {self.batch_ms}")
        if not 0 < self.timeout <= 3600:
            raise BadInput(f"--timeout must lie between 0 and 3600 seconds, got {self.timeout}")
        if not 0 < self.false_alarms < 1:
            raise BadInput(f"--false-alarms must lie between 0 and 1, got {self.false_alarms}")
        if self.max_waiting < max(self.max_texts, self.max_numbers):
            least = max(self.max_texts, self.max_numbers)
            raise BadInput(
                f"--max-waiting {self.max_waiting} is less than one request may ask for: give at least {least}"
            )
        if self.device not in ("cpu", "cuda", "auto"):
            raise BadInput(f"--device must be cpu, cuda or auto, got {self.device!r}")
        if self.token is None and not self.without_token and not is_loopback(self.host):
            raise BadInput(
                f"--host {self.host!r} can be reached from other machines: set a token ({TOKEN_VARIABLE} or "
                "--token-file), or give --no-token"
            )


def is_loopback(host: str) -> bool:
    """Whether only this machine can connect to an address.

    Example:
        >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0")
        (True, True, True, False)
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: str | None = None) -> str | None:
    """The token in a file, or else in the environment variable NUMERATE_TOKEN; None if there is neither.

    It is never an argument of the command, which other users of the machine can see.

    Raises:
        BadInput: The file cannot be read, or the token is short or has characters that a header cannot hold.
    """
    if file is not None:
        where = f"--token-file {file}"
        try:
            with Path(file).open(encoding="ascii") as source:
                token = source.read(LONGEST_TOKEN + 2).strip()
        except (OSError, UnicodeError) as error:
            said = getattr(error, "strerror", None) or "it is not ASCII"
            raise BadInput(f"{where} cannot be read: {said[:1].lower()}{said[1:]}") from None
    elif (named := os.environ.get(TOKEN_VARIABLE)) is not None:
        where, token = TOKEN_VARIABLE, named.strip()
    else:
        return None
    if not SHORTEST_TOKEN <= len(token) <= LONGEST_TOKEN or not all("!" <= char <= "~" for char in token):
        # Its value is not quoted: it would end up in a log.
        raise BadInput(
            f"{where} must hold {SHORTEST_TOKEN} to {LONGEST_TOKEN:,} printable ASCII characters without spaces, "
            f"got {len(token)} characters; make one with: openssl rand -hex 32"
        )
    return token


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
