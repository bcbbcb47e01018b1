"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["AsJson", "EngineName", "Processes", "RayAddress"]

AsJson = Annotated[bool, typer.Option("--json", help="Write JSON.")]
Processes = Annotated[str, typer.Option(metavar="N", help="Number of processes.")]
EngineName = Annotated[str, typer.Option("--engine", help="local, or ray for more than one machine.")]
RayAddress = Annotated[str | None, typer.Option(help="Ray cluster, HOST:PORT or auto; else a local one is started.")]
