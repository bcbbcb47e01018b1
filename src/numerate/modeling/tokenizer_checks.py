"""Whether a tokenizer belongs to a backbone, and how many tokens both take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.modeling.introspection import base_of
from numerate.modeling.last_state import known_positions

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

__all__ = ["check_kind", "check_tokenizer", "longest_text"]

_SPECIAL = ("pad", "mask", "cls", "sep", "bos", "eos", "unk")


def check_kind(tokenizer: Any) -> None:
    """Refuses what is no fast tokenizer: a name, a slow tokenizer, a processor.

    Raises:
        TypeError: It is none; the message says how to load one.
    """
    if getattr(tokenizer, "is_fast", False) and hasattr(tokenizer, "backend_tokenizer"):
        return
    named = tokenizer is None or isinstance(tokenizer, str | Path)
    help_ = f"load it with AutoTokenizer.from_pretrained({str(tokenizer)[:60]!r})" if tokenizer and named else ""
    help_ = help_ or ("pass processor.tokenizer" if hasattr(tokenizer, "tokenizer") else "load it with AutoTokenizer")
    kind = repr(tokenizer)[:60] if named else type(tokenizer).__name__
    raise TypeError(f"tokenizer must be a fast tokenizer, got {kind}: {help_}")


def check_tokenizer(backbone: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
    """Refuses a tokenizer that cannot belong to a backbone.

    Embeddings may have more rows than the tokenizer has ids, and added tokens that no text contains may have ids
    behind them: both are usual.
    """
    inner: Any = base_of(backbone)
    words: Any = tokenizer
    rows, size = int(inner.get_input_embeddings().weight.shape[0]), int(getattr(words, "vocab_size", 0) or 0)
    help_ = "load both from the same place"
    if size > rows:
        raise ValueError(f"the tokenizer has {size} ids, the backbone {rows} token embeddings: {help_}")
    ids = {name: getattr(words, f"{name}_token_id", None) for name in _SPECIAL}
    for name, token in ids.items():
        if isinstance(token, int) and token >= rows:
            raise ValueError(
                f"the {name}_token {getattr(words, f'{name}_token')!r} has the id {token}, the backbone {rows} token "
                "embeddings: call backbone.resize_token_embeddings(len(tokenizer))"
            )
    known = {name: getattr(inner.config, f"{name}_token_id", None) for name in _SPECIAL}
    pairs = [(known[name], ids[name]) for name in _SPECIAL if isinstance(known[name], int) and ids[name] is not None]
    # Embeddings are padded to multiples of up to a few hundred; defaults of a config say nothing of its tokenizer.
    if len(words) < 0.9 * rows and pairs and all(one != other for one, other in pairs):
        raise ValueError(
            f"the tokenizer does not belong to the backbone: it has {len(words)} ids, the backbone {rows} token "
            f"embeddings, and no special token has the same id in both: {help_}"
        )


def longest_text(config: Any, tokenizer: Any) -> int | None:
    """Maximum number of tokens of a model's input; None for no limit."""
    known = known_positions(config)
    if tokenizer.model_max_length < 10**9:
        known.append(tokenizer.model_max_length)
    return min(known, default=None)
