"""`numerate fill`: what belongs into the gaps of a text, words or numbers, and how a changed number changes it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.apps.default_model import default_model
from numerate.errors import BadInput
from numerate.training.progress import quiet_unless_terminal

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["MASK", "check_gaps", "fill", "fill_gaps", "fill_tables", "load_model", "told_values"]

MASK = "[MASK]"
"""The gap of a word in a text; it stands for the mask token of any model."""
NUM = "[NUM]"
MOST_GAPS = 64
_LOADING = threading.Lock()


def fill(
    text: str, model: Any = None, *, swap: str | Sequence[str | float] = (), top: int = 5
) -> list[dict[str, Any]]:  # fmt: skip
    """Fills the gaps of a text: `[MASK]` with words, `[NUM]` with distributions of numbers.

    The numbers of `swap` replace the text's first number, one at a time.

    Args:
        text: A text with at least one `[MASK]` or `[NUM]`.
        model: A `NumberModel`, a folder or Hub id of one or of any masked language model (for words), or several; by
            default the model that comes with numerate, which is loaded once.
        swap: Numbers that replace the first one, as they are written; or one.
        top: Words or numerals of each gap.

    Returns:
        For each model and number: `model`, `number` (the first one; None if there is none), `text`, `words` of the
        first `[MASK]` with their probabilities, and `moved`: the total variation distance of these words from those of
        the original text. With a `[NUM]` or several gaps also `gaps`, in reading order: `words`; or for a `[NUM]`
        `numbers` (text, value, probability; in the style of the text), `median`, `interval_50`, `interval_90`,
        `kind`, `calibrated` and `density` (edges of bins, and their probabilities).

    Raises:
        BadInput: The text has no gap, has no number to swap, or is too long; a swapped value is not a number; or a
            model cannot be loaded, or has no number head.
    """
    masks, numbers = check_gaps(text)
    if not isinstance(top, int) or isinstance(top, bool):
        raise BadInput(f"--top must be a whole number, got {top!r}")
    if top < 1:
        raise BadInput(f"--top must be positive, got {top}")
    texts = _swapped(text, [str(each) for each in ([swap] if isinstance(swap, str | int | float) else swap)])
    found = []
    several = isinstance(model, Sequence) and not isinstance(model, str)
    if several and not model:
        raise BadInput("model must have at least one model, got an empty list")
    for name in model if several else [default_model() if model is None else model]:
        loaded = _kept(str(name)) if model is None else load_model(name)
        label = str(name) if isinstance(name, str | Path) else type(loaded).__name__
        shares = _shares(loaded, label, [each for _, each in texts]) if masks else []
        for at, (number, each) in enumerate(texts):
            rows = shares[at * masks : (at + 1) * masks]
            words = [_words(loaded, row, top) for row in rows]
            moved = float((rows[0] - shares[0]).abs().sum() / 2) if masks else 0.0
            result = {"model": label, "number": number, "text": each, "words": (words or [[]])[0], "moved": moved}
            if numbers or masks > 1:
                result["gaps"] = _in_order(each, words, _numbers(loaded, label, each, top))
            found.append(result)
    return found


def check_gaps(text: str) -> tuple[int, int]:
    """The number of `[MASK]` and of `[NUM]` in a text.

    Raises:
        BadInput: It has none, or too many, or is no text.

    Example:
        >>> check_gaps("The [MASK] weighs [NUM] kg, or [NUM] lb.")
        (1, 2)
    """
    if not isinstance(text, str):
        raise BadInput(f"fill takes a text, got {type(text).__name__}")
    masks, numbers = text.count(MASK), text.count(NUM)
    if not 0 < masks + numbers <= MOST_GAPS:
        said = f"the text must have a {MASK} or {NUM}, at most {MOST_GAPS} of them"
        raise BadInput(f"{said}, got {masks + numbers} in {text[:80]!r}")
    return masks, numbers


def fill_gaps(texts: Sequence[str], model: Any, name: str, top: int = 5) -> list[list[dict[str, Any]]]:
    """The gaps of several texts in reading order, as `gaps` of `fill`: one pass for all words, one for all numbers.

    Args:
        texts: Texts with at least one `[MASK]` or `[NUM]` each.
        model: A loaded `NumberModel`.
        name: Its name in error messages.
        top: Words or numerals of each gap.

    Raises:
        BadInput: A text has no gap or is too long, or the model cannot fill it.
    """
    masks, numbers = zip(*map(check_gaps, texts), strict=True)
    rows = iter(_shares(model, name, [text for text in texts if MASK in text]) if any(masks) else ())
    words = [[_words(model, next(rows), top) for _ in range(count)] for count in masks]
    asked: list[list[Any]] = [[] for _ in texts]
    if any(numbers):
        from numerate.apps.number_gaps import number_gaps_of_texts

        places = [place for place, count in enumerate(numbers) if count]
        shown = [texts[place].replace(MASK, _mask_of(model, name, masks[place])) for place in places]
        for place, found in zip(places, number_gaps_of_texts(model, name, shown, top), strict=True):
            asked[place] = found
    return [_in_order(text, *each) for text, *each in zip(texts, words, asked, strict=True)]


def fill_tables(results: Sequence[dict[str, Any]]) -> list[Table]:
    """Results of `fill` as tables: one for each number and gap, with one column for each model."""
    from rich.table import Table

    tables = []
    for text in dict.fromkeys(result["text"] for result in results):
        columns = [result for result in results if result["text"] == text]
        gaps = [column.get("gaps") or [{"words": column["words"]}] for column in columns]
        for place in range(len(gaps[0])):
            title = text if len(gaps[0]) == 1 else f"{text}  (gap {place + 1})"
            table = Table(title=title, title_justify="left")
            is_words = "words" in gaps[0][place]
            for column in columns:
                table.add_column(
                    f"{column['model']}\nmoved {column['moved']:.3f}" if is_words else str(column["model"])
                )
            cells = [_lines(gap[place]) for gap in gaps]
            for rank in range(max(map(len, cells))):
                table.add_row(*(lines[rank] if rank < len(lines) else "" for lines in cells))
            tables.append(table)
    return tables


def _lines(gap: dict[str, Any]) -> list[str]:
    """What fills a gap, line by line."""
    if "words" in gap:
        return [f"{each['probability']:6.1%}  {each['word']}" for each in gap["words"]]
    from numerate.apps.number_gaps import spark_line

    best = [f"{each['probability']:6.1%}  {each['text']}" for each in gap["numbers"]]
    ends = gap["density"]["edges"]
    told = [f"{share} % {told_values(gap, gap[f'interval_{share}'])}" for share in (50, 90)]
    return [
        *best, f"median {told_values(gap, [gap['median']])}", *told,
        spark_line(gap["density"]["shares"]), told_values(gap, [ends[0], ends[-1]], " … "),
    ]  # fmt: skip


def told_values(gap: dict[str, Any], values: Sequence[float], between: str = " to ") -> str:
    """Values of a gap for a reader, of four digits; years are not grouped.

    Example:
        >>> told_values({"kind": "quantity"}, [26742.1, 90770.0])
        '26,740 to 90,770'
    """
    from numerate.apps.numeral_view import format_value

    return between.join(format_value(each, digits=4, grouped=gap.get("kind") != "year") for each in values)


def _in_order(text: str, words: list[Any], numbers: list[Any]) -> list[dict[str, Any]]:
    """Words and numbers of the gaps in reading order."""
    found, left, place = [], {MASK: list(words), NUM: list(numbers)}, 0
    while place < len(text):
        for gap, waiting in left.items():
            if text.startswith(gap, place):
                each = waiting.pop(0)
                found.append({"gap": gap, "words": each} if gap == MASK else {"gap": gap, **each})
        place += 1
    return found


def _numbers(model: Any, name: str, text: str, top: int) -> list[dict[str, Any]]:
    """What belongs into each [NUM] of a text; nothing without one."""
    if NUM not in text:
        return []
    from numerate.apps.number_gaps import number_gaps

    return number_gaps(model, name, text.replace(MASK, _mask_of(model, name, text.count(MASK))), top)


def _words(model: Any, row: Any, top: int) -> list[dict[str, Any]]:
    best = row.topk(min(top, len(row)))
    pairs = zip(best.indices, best.values, strict=True)
    return [{"word": _word(model, int(token)), "probability": float(share)} for token, share in pairs]


def _mask_of(model: Any, name: str, masks: int) -> str:
    mask = model.processor.tokenizer.mask_token
    if mask is None and masks:
        raise BadInput(f"{name} has no mask token: choose a masked language model")
    return mask or MASK


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


def load_model(name: Any, recipe: str = "subwords") -> Any:
    """A model by its folder or Hub id: one of ours, or any masked language model with a recipe attached.

    It is in float32 and in evaluation mode; a `NumberModel` is returned as it is.

    Raises:
        BadInput: It cannot be loaded.
    """
    if not isinstance(name, str | Path):
        if not (hasattr(name, "processor") and hasattr(name, "backbone")):
            kind = type(name).__name__
            raise BadInput(f"a model is a NumberModel (see numerate.attach), a folder or a Hub id, got a {kind}")
        return name
    name = str(name)
    import torch
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    from numerate.modeling.artefact import CONFIG_FILE, ArtefactError
    from numerate.modeling.attaching import attach, from_pretrained
    from numerate.modeling.folder_checks import check_base_folder, check_finite

    if not name.strip() or Path(name).is_file():
        said = "it is a file; a model is a folder" if name.strip() else "its name is empty"
        raise BadInput(f"cannot load {name!r}: {said}")
    if not Path(name).exists():
        try:
            validate_repo_id(name)
        except HFValidationError:
            raise BadInput(f"cannot load {name}: there is no such folder, and it is no Hub id") from None
    quiet_unless_terminal()
    try:
        if (Path(name) / CONFIG_FILE).is_file() or _is_ours_on_hub(name):
            return from_pretrained(name, dtype=torch.float32).eval()
        if Path(name).is_dir():
            check_base_folder(name, "AutoModelForMaskedLM")
        # Told, and not asked: transformers would ask on the terminal whether to run the model's own code.
        backbone = AutoModelForMaskedLM.from_pretrained(name, dtype=torch.float32, trust_remote_code=False)
        check_finite(backbone.named_parameters(), name)
        return attach(backbone, AutoTokenizer.from_pretrained(name, trust_remote_code=False), recipe).eval()
    except (ArtefactError, ValueError, OSError) as error:
        raise BadInput(f"cannot load {name}: {' '.join(str(error).split())[:300]}") from None


def _kept(name: str) -> Any:
    with _LOADING:  # one of several threads loads it
        return _default(name)


@lru_cache(maxsize=1)
def _default(name: str) -> Any:
    return load_model(name)


def _shares(model: Any, name: str, texts: list[str]) -> Any:
    """Distributions at the masks of all texts: (masks, V) float64, without the tokens that numerate added."""
    from numerate.modeling.asking import in_turn

    return in_turn(_shares_alone)(model, name, texts)


def _shares_alone(model: Any, name: str, texts: list[str]) -> Any:
    import torch

    from numerate.apps.gap_passages import passages_of
    from numerate.modeling.asking import asked_ids, most_tokens
    from numerate.modeling.picked_states import logits_at, picks_states

    mask, asks = _mask_of(model, name, 1), any(NUM in text for text in texts)
    most = most_tokens(model)
    cut: dict[str, Any] = {} if most is None else {"truncation": True, "max_length": most}  # as `predict` cuts
    whole = [text.replace(MASK, mask) for text in texts]
    shown = [each for text in whole for each in passages_of(model, text, (mask,)) if mask in each]
    batch = model.processor(shown, padding=True, return_tensors="pt", **cut).to(model.device)
    batch["input_ids"] = asked_ids(model, batch)
    is_mask = batch["input_ids"] == model.processor.tokenizer.mask_token_id
    if len(lost := (is_mask.sum(1).cpu() < torch.tensor([text.count(mask) for text in shown])).nonzero()):
        where = shown[int(lost[0])][:40]
        raise BadInput(f"a {MASK} is not among the first {most} tokens that {name} reads: shorten {where!r}...")
    rows, places = is_mask.nonzero(as_tuple=True)
    try:
        with torch.no_grad():
            if picks_states(model) and not asks and (model.head is None or not model.head.gates):
                logits = logits_at(model, batch, rows, places)
            else:
                logits = model(**batch, return_loss=False).logits[rows, places]
    except (IndexError, RuntimeError, ValueError) as error:  # backbones differ in the error for too long texts
        said = " ".join(str(error).split())[:200]
        raise BadInput(f"{name} cannot read {batch['input_ids'].shape[1]} tokens: {said}") from None
    return logits[:, : model.processor.first_id].double().softmax(-1)


def _is_ours_on_hub(name: str) -> bool:
    """Whether a Hub id is a model of ours, as far as the local cache or the Hub knows.

    Raises:
        BadInput: It is not in the cache, and the Hub cannot be asked.
    """
    from huggingface_hub import try_to_load_from_cache

    from numerate.modeling.artefact import CONFIG_FILE

    if Path(name).exists():
        return False
    try:
        if isinstance(try_to_load_from_cache(name, CONFIG_FILE), str):
            return True
        from huggingface_hub import file_exists

        return bool(file_exists(name, CONFIG_FILE))
    except Exception as error:  # of the network: the classes differ between versions of huggingface_hub
        if isinstance(try_to_load_from_cache(name, "config.json"), str):
            return False  # a language model without our parts
        said = " ".join(str(error).split())[:200]
        raise BadInput(f"there is no such folder, the cache does not have {name!r}, and the Hub says: {said}") from None


def _word(model: Any, token: int) -> str:
    return model.processor.tokenizer.decode([token]).strip()
