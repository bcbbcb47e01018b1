"""`numerate fill`: the words that a masked language model puts into a gap, and how a changed number changes them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

__all__ = ["MASK", "fill", "fill_tables", "loaded_model"]

MASK = "[MASK]"
"""The gap in a text; it stands for the mask token of any model."""


def fill(text: str, models: Sequence[str], *, swap: Sequence[str] = (), top: int = 5) -> list[dict[str, Any]]:
    """Returns the `top` most probable words of a gap, for each model and number.

    The text has one `[MASK]`; the numbers of `swap` replace its first number, one at a time. Models are folders or Hub
    names of what `save_pretrained` wrote, or of any masked language models.

    Returns:
        For each model and number: `model`, `number` (None if the text has none), `text`, `words` with their
        probabilities, and `moved`: the total variation distance from the distribution of the original text.

    Raises:
        BadInput: The text does not have exactly one gap, has no number to swap, or is too long; a swapped value is not
            a number; or a model cannot be loaded.
    """
    if text.count(MASK) != 1:
        raise BadInput(f"the text must have one {MASK}, got {text.count(MASK)} in {text[:80]!r}")
    if top < 1:
        raise BadInput(f"--top must be positive, got {top}")
    texts = _swapped(text, swap)
    quiet_unless_terminal()
    found = []
    for name in models:
        model = loaded_model(name)
        shares = _shares(model, name, [each for _, each in texts])
        for (number, each), row in zip(texts, shares, strict=True):
            best = row.topk(min(top, len(row)))
            words = [
                {"word": _word(model, int(token)), "probability": float(share)}
                for token, share in zip(best.indices, best.values, strict=True)
            ]
            moved = float((row - shares[0]).abs().sum() / 2)
            found.append({"model": name, "number": number, "text": each, "words": words, "moved": moved})
    return found


def fill_tables(results: Sequence[dict[str, Any]]) -> list[Table]:
    """Results of `fill` as tables: one for each number, with one column for each model."""
    from rich.table import Table

    tables = []
    for text in dict.fromkeys(result["text"] for result in results):
        columns = [result for result in results if result["text"] == text]
        table = Table(title=text, title_justify="left")
        for column in columns:
            table.add_column(f"{column['model']}\nmoved {column['moved']:.3f}")
        for rank in range(max(len(column["words"]) for column in columns)):
            cells = [column["words"][rank] if rank < len(column["words"]) else None for column in columns]
            table.add_row(*("" if cell is None else f"{cell['probability']:6.1%}  {cell['word']}" for cell in cells))
        tables.append(table)
    return tables


def _swapped(text: str, swap: Sequence[str]) -> list[tuple[str | None, str]]:
    """Pairs of (first number, text): the original text, then the text with each of the other numbers."""
    from numerate.reading import make_reader

    reader = make_reader("standard")
    numerals = reader.find(text)
    for number in swap:
        if [found.text for found in reader.find(number)] != [number]:
            raise BadInput(f"--swap must be one number, got {number[:40]!r}")
    if not numerals:
        if swap:
            raise BadInput(f"--swap needs a number in the text, got none in {text[:80]!r}")
        return [(None, text)]
    first = numerals[0]
    others = [(number, text[: first.start] + number + text[first.end :]) for number in swap]
    return [(first.text, text), *others]


def loaded_model(name: str, recipe: str = "subwords") -> Any:
    """A saved model, or a plain masked language model with a recipe attached, in float32 and evaluation mode.

    Raises:
        BadInput: It cannot be loaded.
    """
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    from numerate.modeling.artefact import CONFIG_FILE, ArtefactError
    from numerate.modeling.attaching import attach, from_pretrained
    from numerate.modeling.folder_checks import check_base_folder, check_finite

    try:
        if (Path(name) / CONFIG_FILE).is_file():
            return from_pretrained(name, dtype=torch.float32).eval()
        if Path(name).is_dir():
            check_base_folder(name, "AutoModelForMaskedLM")
        # Told, and not asked: transformers would ask on the terminal whether to run the model's own code.
        backbone = AutoModelForMaskedLM.from_pretrained(name, dtype=torch.float32, trust_remote_code=False)
        check_finite(backbone.named_parameters(), name)
        return attach(backbone, AutoTokenizer.from_pretrained(name, trust_remote_code=False), recipe).eval()
    except (ArtefactError, ValueError, OSError) as error:
        raise BadInput(f"cannot load {name}: {' '.join(str(error).split())[:300]}") from None


def _shares(model: Any, name: str, texts: list[str]) -> Any:
    """Distributions at the gaps: (texts, V) float64, without the tokens that numerate added."""
    import torch

    mask = model.processor.tokenizer.mask_token
    if mask is None:
        raise BadInput(f"{name} has no mask token: choose a masked language model")
    batch = model.processor([text.replace(MASK, mask) for text in texts], padding=True, return_tensors="pt")
    batch = batch.to(model.device)
    rows, places = (batch["input_ids"] == model.processor.tokenizer.mask_token_id).nonzero(as_tuple=True)
    try:
        with torch.no_grad():
            logits = model(**batch, return_loss=False).logits[rows, places]
    except (IndexError, RuntimeError, ValueError) as error:  # backbones differ in the error for too long texts
        said = " ".join(str(error).split())[:200]
        raise BadInput(f"{name} cannot read {batch['input_ids'].shape[1]} tokens: {said}") from None
    return logits[:, : model.processor.first_id].double().softmax(-1)


def _word(model: Any, token: int) -> str:
    return model.processor.tokenizer.decode([token]).strip()
