"""Loading a tokenizer that we have saved, with exactly the steps that it was saved with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["load_saved_tokenizer"]

_CONFIG, _STEPS = "tokenizer_config.json", "tokenizer.json"
_PLAIN = ("TokenizersBackend", "PreTrainedTokenizerFast", "PreTrainedTokenizer")
"""Classes that take all their steps from `tokenizer.json`."""


def load_saved_tokenizer(folder: str | Path, **options: Any) -> PreTrainedTokenizerFast:
    """The tokenizer of a local folder, which gives the tokens that it gave when it was saved.

    `AutoTokenizer` does not promise that (transformers 5): for some architectures (Qwen2, ModernBERT, Phi-3) it takes
    their own class whatever class the folder names, and the classes of BERT, GPT-2, LLaMA and others build their
    normaliser and pre-tokenizer anew, so that steps of one's own, such as splitting numbers into digits, are lost
    without a word. A model that was trained with other tokens would then give other answers.

    Args:
        folder: What `save_pretrained` of a tokenizer wrote, perhaps beside a model.
        **options: Passed to `from_pretrained`.

    Example:
        >>> load_saved_tokenizer("out/backbone").tokenize("It cost 45.")                       # doctest: +SKIP
        ['it', 'cost', '4', '5', '.']
    """
    import transformers
    from tokenizers import Tokenizer

    steps = Path(folder) / _STEPS
    options = options | {"trust_remote_code": False}
    if not steps.is_file():
        return transformers.AutoTokenizer.from_pretrained(str(folder), **options)
    config = Path(folder) / _CONFIG
    named = json.loads(config.read_text("utf-8")).get("tokenizer_class") if config.is_file() else None
    factory: Any = transformers.PreTrainedTokenizerFast if named in _PLAIN else transformers.AutoTokenizer
    tokenizer = factory.from_pretrained(str(folder), **options)
    saved = Tokenizer.from_file(str(steps))
    saved.no_padding()  # those of the last call before saving; the tokenizer sets its own at each call
    saved.no_truncation()
    if hasattr(tokenizer, "_tokenizer") and _parts(tokenizer.backend_tokenizer) != _parts(saved):
        tokenizer._tokenizer = saved
    return tokenizer


def _parts(tokenizer: Any) -> dict[str, Any]:
    """All that decides the tokens of a text."""
    parts: dict[str, Any] = json.loads(tokenizer.to_str())
    return {key: part for key, part in parts.items() if key not in ("padding", "truncation", "version")}
