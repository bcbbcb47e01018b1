"""`numerate play`: a page on this machine to type sentences, move numbers, see densities and check texts."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from numerate.apps.default_model import default_model
from numerate.apps.play_models import ModelProcesses
from numerate.apps.play_parts import (
    MAX_FILE_BYTES,
    MAX_SENTENCE,
    MAX_TEXT,
    marked_html,
    number_names,
    result_files,
    result_text,
    safely,
)
from numerate.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["build_page", "play"]

_CSS = """
.numerate-text { font-size: 1.2em; line-height: 1.8; }
.numerate-columns { display: flex; gap: 2em; flex-wrap: wrap; }
.numerate-columns > div { flex: 1 1 20em; }
.numerate-error { color: #b00020; }
"""
_WITH_MODEL, _OTHERS = 30, 4
"""Requests that are handed to the models at once, in their order, and those of other functions; gradio has 40 threads.
"""
_SENTENCE = "The [MASK] weighs 45 kg."
_GAP = "The tower is [NUM] metres tall and was built in 1889."
_REPORT = "Revenue rose 10% from $50 million to $65 million. The lake is 28 km (27 mi) long."


def build_page(answer: Callable[..., str], results: str | Path = "results") -> Any:
    """The page as `gradio.Blocks`; gradio is imported here.

    Args:
        answer: What asks the models: `ModelsHere` or `ModelProcesses`.
        results: Folder of tables to show.

    Raises:
        BadInput: gradio is not installed.
    """
    # Before the import, which reads them: nothing is sent anywhere.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"
    # gradio would make statistics of up to 10,000 past requests after each one, half of the server's time.
    os.environ.setdefault("GRADIO_ANALYTICS_CACHE_FREQUENCY", str(1 << 40))
    os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")
    try:
        import gradio  # type: ignore[import-not-found]  (an extra)
    except ImportError:
        raise BadInput("numerate play needs gradio: pip install 'numerate[play]'") from None
    words = safely(lambda *given: answer("words", *given))
    drawn = safely(lambda text: answer("densities", text))
    checked = safely(lambda text, path: answer("checked", text, path))

    modelled: dict[str, Any] = {
        "api_visibility": "private", "concurrency_id": "models", "concurrency_limit": _WITH_MODEL,
    }  # fmt: skip
    # Triggers of the same output are one event, so that answers cannot overtake each other, and a trigger during a
    # request asks again after it: by default, gradio drops it and the page would keep the answer to an old state.
    latest: dict[str, Any] = {**modelled, "trigger_mode": "always_last"}

    def choices(text: str) -> Any:
        found = number_names(text or "")
        return gradio.Dropdown(choices=found, value=found[0] if found else None)

    with gradio.Blocks(title="numerate", analytics_enabled=False) as page:
        gradio.Markdown("# numerate: numbers in text")
        with gradio.Tab("Sentence"):
            text = gradio.Textbox(_SENTENCE, label="Sentence", max_length=MAX_SENTENCE, elem_id="sentence")
            shown = gradio.HTML(marked_html(_SENTENCE), elem_id="marked")
            found = number_names(_SENTENCE)
            chosen = gradio.Dropdown(
                found, value=found[0], label="Number that moves", elem_id="chosen", allow_custom_value=True
            )
            power = gradio.Slider(-4, 4, 0, step=0.05, label="Times ten to the power of", elem_id="power")
            out = gradio.HTML(elem_id="words")
            marked = safely(lambda given: marked_html(_short(given)))
            text.change(marked, text, shown, api_visibility="private")
            text.change(choices, text, chosen, api_visibility="private")
            gradio.on([text.submit, power.release, chosen.change], words, [text, chosen, power], out, **latest)
        with gradio.Tab("Gap"):
            gap = gradio.Textbox(_GAP, label="A sentence with [NUM]", max_length=MAX_SENTENCE, elem_id="gap")
            ask = gradio.Button("What number?", elem_id="ask")
            density = gradio.HTML(elem_id="density")
            gradio.on([gap.submit, ask.click], drawn, gap, density, **latest)
        with gradio.Tab("Check"):
            report = gradio.Textbox(_REPORT, lines=8, label="Text", max_length=MAX_TEXT, elem_id="report")
            file = gradio.File(label="or a file", type="filepath", elem_id="file")
            start = gradio.Button("Check", elem_id="check")
            findings = gradio.HTML(elem_id="findings")
            start.click(checked, [report, file], findings, **modelled)
        with gradio.Tab("Results"):
            tables = result_files(results)
            choice = gradio.Dropdown(tables, value=tables[0] if tables else None, label="Table")
            table = gradio.Markdown(result_text(tables[0] if tables else None, results), sanitize_html=True)
            choice.change(lambda name: result_text(name, results), choice, table, api_visibility="private")
    return page


def play(
    models: Sequence[str] | None = None, *, port: int = 7860, share: bool = False, block: bool = True,
    results: str | Path = "results",
) -> Any:  # fmt: skip
    """Loads up to two models and serves the page on 127.0.0.1.

    Args:
        models: Folders or Hub ids; by default the model that comes with numerate.
        port: Port of the page.
        share: Make a public link through gradio's server; only if it is asked for.
        block: Wait until the page is closed.
        results: Folder of tables to show.

    Returns:
        The page, while it is served.

    Raises:
        BadInput: gradio is missing, a model cannot be loaded, or there are more than two.
    """
    names = list(models or [default_model()])
    if len(names) > 2:
        raise BadInput(f"at most two models are shown side by side, got {len(names)}")
    _check_port(port)
    page = build_page(ModelProcesses(names), results)
    # Each waiting user would be told of each finished request; once a second is enough.
    page.queue(status_update_rate=1, default_concurrency_limit=_OTHERS, max_size=200)
    try:
        page.launch(
            server_name="127.0.0.1", server_port=port, share=share, css=_CSS, max_file_size=MAX_FILE_BYTES, quiet=True,
            inbrowser=False, show_error=False, prevent_thread_lock=not block, footer_links=[], ssr_mode=False,
            enable_monitoring=False,
        )  # fmt: skip
    except OSError as error:
        raise BadInput(
            f"port {port} cannot be used: {' '.join(str(error).split())[:120]}; give another --port"
        ) from None
    return page


def _check_port(port: int) -> None:
    """Refuses a port that is not free, before the models are loaded."""
    if not 0 < port < 65536:
        raise BadInput(f"--port must lie between 1 and 65535, got {port}")
    with socket.socket() as tried:
        tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as of a server that ended a moment ago
        try:
            tried.bind(("127.0.0.1", port))
        except OSError as error:
            raise BadInput(
                f"--port {port} cannot be used: {(error.strerror or str(error)).lower()}; give another one"
            ) from None


def _short(text: str | None) -> str:
    from numerate.apps.play_parts import check_size

    return check_size(text, MAX_SENTENCE)
