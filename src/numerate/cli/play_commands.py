"""The command `play`."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["COMMANDS", "play"]


def play(
    model: Annotated[list[str] | None, typer.Option(help="A saved model; repeat to compare two.")] = None,
    port: Annotated[int, typer.Option(help="Port on 127.0.0.1.")] = 7860,
    share: Annotated[bool, typer.Option("--share", help="Make a public link through gradio's server.")] = False,
) -> None:
    """Open a page to type sentences, move numbers, see densities and check texts (extra `play`).

    The page is on this machine only, and sends nothing anywhere, unless --share is given. Without --model, the model
    that comes with numerate is used.
    """
    from numerate.apps.play import play as work
    from numerate.cli.source import one_line_errors

    with one_line_errors():
        page = work(model or None, port=port, share=share, block=False)
    typer.echo(f"http://127.0.0.1:{port} (Ctrl-C ends it)", err=True)
    page.block_thread()


COMMANDS = (play,)
