r"""A compact tokenizer for records: keys and runs of brackets are tokens, and no text is lost.

xVal's data are dicts such as `{'description':{'planet0':{'m':1.31}},'data':[[[1.7,0.2],[-0.4,1.1]]]}`. With the reader
`records`, the notation `marker` and implied commas, each number, key and run of brackets is one token. All other text
(strings, spaces, letters of any script) is encoded as bytes, so that decoding gives the same text. xVal's own tokenizer
silently drops such text.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["BRACKETS", "SPECIALS", "record_keys", "record_tokenizer"]

SPECIALS = ("[END]", "[MASK]", "[PAD]", "[CLS]", "[SEP]")
"""xVal's special tokens (except [NUM], which the processor adds), and two for text pairs and classifiers."""
BRACKETS = (
    *("{", "}", "[", "]", ",", "]]]", "[[[", "]]", "[[", "]]],[[[", "]],[[", "],["),
    # With the space that `repr` and `json.dumps` write.
    *(", ", "]]], [[[", "]], [[", "], ["),
)
MAX_KEY = 100
# Bounded, so that matching from an unclosed quote takes at most the time of the longest key.
_KEY = rf"'(?:[^'\\\n]|\\.){{1,{MAX_KEY}}}': ?|" rf'"(?:[^"\\\n]|\\.){{1,{MAX_KEY}}}": ?'
_KEYS = re.compile(_KEY)


def record_keys(texts: Iterable[str]) -> list[str]:
    """The keys of records as they are written, with quotes and colon, most frequent first.

    Example:
        >>> record_keys(["{'m':1.5,'a':2}", "{'m':3}"])
        ["'m':", "'a':"]
    """
    counts = Counter(key for text in texts for key in _KEYS.findall(text))
    return [key for key, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def record_tokenizer(
    texts: Iterable[str] = (),
    *,
    keys: Iterable[str] | None = None,
    words: Iterable[str] = (),
    add_end: bool = False,
    max_keys: int = 10_000,
    model_max_length: int | None = None,
) -> PreTrainedTokenizerFast:
    """Builds the tokenizer from records, or from their keys.

    Args:
        texts: Records whose keys become tokens.
        keys: The keys themselves, in the form of `record_keys`, or bare names (`m` means `'m':`).
        words: Other strings that become tokens, such as frequent values.
        add_end: Add [END] after every record.
        max_keys: The largest number of keys; the most frequent ones are kept.
        model_max_length: The length for truncation.

    Example:
        >>> tokenizer = record_tokenizer(["{'m':1.5,'data':[[1,2],[3,4]]}"])
        >>> tokenizer.tokenize("{'m':[[],[[")
        ['{', "'m':", '[[', '],[', '[']
        >>> tokenizer.decode(tokenizer("{'über': [7, ½]}")["input_ids"])
        "{'über': [7, ½]}"
    """
    chosen = record_keys(texts) if keys is None else [k if k.rstrip().endswith(":") else f"'{k}':" for k in keys]
    extra = [word for word in dict.fromkeys(words) if word]
    # Each with and without the space after the colon, because records are written both ways.
    both = [form for key in dict.fromkeys(key.rstrip() for key in chosen[:max_keys]) for form in (key, f"{key} ")]
    pieces = [*BRACKETS, *both, *extra]
    too_long = [key for key in pieces if len(key) > MAX_KEY + 4]
    if too_long:
        raise ValueError(f"a token has at most {MAX_KEY} characters, got {too_long[0][:60]!r}...")
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    vocabulary = {token: index for index, token in enumerate(SPECIALS)}
    for token in (*(as_bytes.pre_tokenize_str(piece)[0][0] for piece in pieces), *sorted(alphabet)):
        vocabulary.setdefault(token, len(vocabulary))
    # No merges: a match of the pattern is one token if it is known, and single bytes if not.
    inner = Tokenizer(models.BPE(vocab=vocabulary, merges=[], ignore_merges=True))
    runs = sorted((*BRACKETS, *extra), key=len, reverse=True)
    pattern = "|".join([_KEY, *(re.escape(run) for run in runs)])
    inner.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), as_bytes])  # type: ignore[assignment]
    inner.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    inner.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    if add_end:
        end = [("[END]", vocabulary["[END]"])]
        inner.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]
            single="$A [END]", pair="$A [END] $B:1 [END]:1", special_tokens=end
        )
    roles = {"pad": "[PAD]", "mask": "[MASK]", "eos": "[END]", "bos": "[END]", "cls": "[CLS]", "sep": "[SEP]"}
    options: dict[str, Any] = {} if model_max_length is None else {"model_max_length": model_max_length}
    options |= {f"{role}_token": token for role, token in roles.items()}
    return PreTrainedTokenizerFast(tokenizer_object=inner, clean_up_tokenization_spaces=False, **options)
