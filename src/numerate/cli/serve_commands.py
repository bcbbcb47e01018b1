"""The command `serve`."""

from __future__ import annotations

from typing import Annotated

import typer

from numerate.errors import BadInput

__all__ = ["COMMANDS", "serve"]


def serve(
    model: Annotated[str | None, typer.Option(help="A saved model for /fill and /check: folder or Hub id.")] = None,
    no_model: Annotated[bool, typer.Option("--no-model", help="Serve /find and the rules of /check only.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8000,
    workers: Annotated[int, typer.Option(help="Worker processes; each loads the model.")] = 1,
    device: Annotated[str, typer.Option(help="Device of the model: cpu, cuda or auto.")] = "cpu",
    threads: Annotated[int, typer.Option(help="Threads of the model in each worker.")] = 1,
    token_file: Annotated[
        str | None, typer.Option(help="File with the token that clients must send; or set NUMERATE_TOKEN.")
    ] = None,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Allow an address that other machines reach without a token.")
    ] = False,
    max_bytes: Annotated[int, typer.Option(help="Largest body of a request.")] = 1 << 20,
    max_texts: Annotated[int, typer.Option(help="Most texts of a request.")] = 64,
    max_numbers: Annotated[int, typer.Option(help="Most numbers of a request that the model judges.")] = 200,
    max_requests: Annotated[int, typer.Option(help="Most requests at once, for each path and worker; else 429.")] = 64,
    max_waiting: Annotated[int, typer.Option(help="Most numbers that wait for a worker's model; else 429.")] = 256,
    batch_size: Annotated[int, typer.Option(help="Most numbers of one pass of the model.")] = 32,
    batch_ms: Annotated[float, typer.Option(help="Milliseconds that the first of a batch waits for others.")] = 5.0,
    timeout: Annotated[float, typer.Option(help="Seconds after which a request gets status 504.")] = 30.0,
    false_alarms: Annotated[float, typer.Option(help="Share of right numbers that the model may report.")] = 0.01,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log method, path, status and duration, never the body.")
    ] = False,
) -> None:
    """Serve /find, /fill and /check over HTTP (extra `serve`); /docs describes them.

    On this machine only, unless --host is given. Without --model, the model of NUMERATE_MODEL or the one that comes
    with numerate is used if there is one; /fill needs a model, /find and the rules of /check do not. Nothing of a
    request is logged. Ctrl-C ends the service after the requests that are being handled.
    """
    from numerate.apps.serving.server import check_packages
    from numerate.apps.serving.server import serve as work
    from numerate.apps.serving.settings import ServeSettings, read_token

    if model is not None and no_model:
        raise BadInput("--model and --no-model exclude each other: give one of them")
    check_packages()
    chosen = None if no_model else model or _default_model()
    settings = ServeSettings(
        host=host, port=port, workers=workers, model=chosen, device=device, threads=threads,
        false_alarms=false_alarms, token=read_token(token_file), without_token=no_token, max_bytes=max_bytes,
        max_texts=max_texts, max_numbers=max_numbers, max_requests=max_requests, max_waiting=max_waiting,
        batch_size=batch_size, batch_ms=batch_ms, timeout=timeout, log_requests=log_requests,
    )  # fmt: skip
    work(settings)


def _default_model() -> str | None:
    """The model that comes with numerate; None if it is not here."""
    from numerate.apps.default_model import default_model

    try:
        return default_model()
    except BadInput:
        return None


COMMANDS = (serve,)
