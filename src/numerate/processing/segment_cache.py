"""Tokenizes the sections of text between our marks, with a cache.

A fast tokenizer first splits a text at added tokens and then tokenizes each section separately. So the ids of a text
are those of its sections with our tokens between them. Sections repeat often, above all in records (`],[`, `,'e':`), so
that a cache saves most of the work.
"""

from __future__ import annotations

import copy
import re
from itertools import chain, count, islice
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers

from numerate.processing.padding import Frame
from numerate.processing.rewriter import BOUNDARY, COMMAS, Leading, mark

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from transformers import PreTrainedTokenizerFast

__all__ = ["MarkedTokenizer", "SectionEncoder", "add_marks", "lead_only_once"]

_REMEMBERED_LENGTH = 64
_REMEMBERED_SECTIONS = 1 << 16

Known = dict[str, tuple[int, ...]]


class MarkedTokenizer:
    """A copy of a fast tokenizer with `number` marks as added tokens; the tokenizer itself is not changed.

    Attributes:
        copy: The copy.
        leading: The space to insert into texts, see `lead_only_once`.
        first_added: The id of the first mark.
        joins_punctuation: Whether it may make one token of digits and ASCII punctuation.
        joint: The text that it writes between two tokens when decoding.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast, number: int) -> None:
        self._tokenizer, self._length = tokenizer, len(tokenizer)
        self.copy = copy.deepcopy(tokenizer)
        backend = self.copy.backend_tokenizer
        self.leading = lead_only_once(backend, (t.content for t in backend.get_added_tokens_decoder().values()))
        self.first_added = add_marks(backend, number)
        self.joins_punctuation = split_at_boundaries(backend)
        self.joint = backend.decode([self.first_added] * 2, skip_special_tokens=False)[1:-1]
        self._frames: dict[bool, Frame] = {}
        self._unmarked: Tokenizer | None = None

    def unmarked(self, text: str) -> Any:
        """The tokenizer's own encoding of a text, whole and without special tokens; for the spans of its words."""
        if self._unmarked is None:
            self._unmarked = copy.deepcopy(self._tokenizer.backend_tokenizer)
            self._unmarked.no_truncation()
            self._unmarked.no_padding()
        return self._unmarked.encode(text, add_special_tokens=False)

    def joined_space(self) -> int | None:
        """The token of a space before a mark, if a space and digits after it may be one token; else None."""

        def tokens(text: str) -> list[int]:
            return self.copy.backend_tokenizer.encode(text, add_special_tokens=False).ids

        word = tokens("a")
        space = tokens("a " + mark(0))[len(word) : -1]
        if len(space) != 1:
            return None
        begin: Any = self.copy.convert_ids_to_tokens(space[0])
        digits = (token[len(begin) :] for token in self.copy.get_vocab() if token.startswith(begin))
        numbers = islice((text for text in digits if text.isdecimal() and text.isascii()), 8)
        return space[0] if any(len(tokens(f"a {number}")) == len(word) + 1 for number in numbers) else None

    def follow(self) -> None:
        """Copies settings that users may have changed on their tokenizer.

        Without a padding token, as GPT-2's has none, the copy pads with the end of a text: the attention mask hides it.
        """
        if len(self._tokenizer) != self._length:
            raise ValueError("tokens were added to the tokenizer: make a new processor")
        for name in ("padding_side", "truncation_side", "model_max_length", "pad_token"):
            value = getattr(self._tokenizer, name)
            if name == "pad_token" and value is None:
                value = self._tokenizer.eos_token
            if getattr(self.copy, name) != value:
                setattr(self.copy, name, value)

    def frame(self, special: bool) -> Frame:
        """The special tokens around a text; empty without special tokens."""
        if special not in self._frames:
            one = self.copy(mark(0), add_special_tokens=special, return_token_type_ids=True)
            self._frames[special] = Frame.around(one["input_ids"], one["token_type_ids"], self.first_added)
        return self._frames[special]

    def decode(self, ids: Iterable[int], first_id: int, **options: Any) -> str:
        """The text of ids, with marks for our tokens, whose ids begin at `first_id`."""
        shift = self.first_added - first_id
        # Ids between the tokenizer's and ours are unused rows of an embedding matrix.
        known = [i + shift if i >= first_id else i for i in ids if i < self.first_added or i >= first_id]
        return str(self.copy.decode(known, **options))


class SectionEncoder:
    """Tokenizes texts that are given as sections, with a cache of sections.

    Args:
        backend: A tokenizer with our marks as tokens; its padding and truncation are switched off.
        num_id: The id before every section but the first of a text.
        implied_commas: Whether a comma between two numbers has no ids.
    """

    def __init__(self, backend: Tokenizer, num_id: int, implied_commas: bool = False) -> None:
        self._backend, self._num_id = backend, num_id
        self._firsts: Known = {}
        self._lasts: Known = {}
        # A comma after the last number is not between two numbers.
        self._inner: Known = dict.fromkeys(COMMAS, (num_id,)) if implied_commas else self._lasts
        self._always_known = frozenset(COMMAS if implied_commas else ())

    def rows(self, texts: Sequence[list[str]]) -> list[list[int]]:
        """The ids of each text."""
        if len(self._firsts) + len(self._lasts) + len(self._inner) > _REMEMBERED_SECTIONS:
            for known in (self._firsts, self._lasts, self._inner):
                for section in known.keys() - self._always_known:
                    del known[section]
        long = self._learn({sections[0] for sections in texts}, self._firsts, "")
        long += self._learn({sections[-1] for sections in texts if len(sections) > 1}, self._lasts, mark(0))
        long += self._learn(set(chain.from_iterable(sections[1:-1] for sections in texts)), self._inner, mark(0))
        first, inner, last = self._firsts.__getitem__, self._inner.__getitem__, self._lasts.__getitem__
        rows = []
        for sections in texts:
            row = list(first(sections[0]))
            if len(sections) > 1:
                row += chain.from_iterable(map(inner, sections[1:-1]))
                row += last(sections[-1])
            rows.append(row)
        for known, section in long:
            known.pop(section, None)
        return rows

    def _learn(self, sections: set[str], known: Known, before: str) -> list[tuple[Known, str]]:
        """Tokenizes new sections; returns those that are too long for the cache."""
        new = list(sections - known.keys())
        if not new:
            return []
        if self._backend.truncation is not None:
            self._backend.no_truncation()
        if self._backend.padding is not None:
            self._backend.no_padding()
        # After a mark, as in the text: some tokenizers add a space at the beginning of a text.
        encoded = self._backend.encode_batch_fast([before + section for section in new], add_special_tokens=False)
        if before:
            number = (self._num_id,)
            known.update((s, number + tuple(e.ids[1:])) for s, e in zip(new, encoded, strict=True))
        else:
            known.update((s, tuple(e.ids)) for s, e in zip(new, encoded, strict=True))
        return [(known, section) for section in new if len(section) > _REMEMBERED_LENGTH]


def add_marks(backend: Tokenizer, number: int) -> int:
    """Adds `number` marks to a tokenizer, with consecutive ids above all others; returns the first id."""
    highest = max(backend.get_vocab(with_added_tokens=True).values(), default=-1)
    probe = AddedToken(mark(0), normalized=False, special=False)
    # A vocabulary with gaps has ids above its size: the gaps are filled with tokens that no text contains.
    for hole in range(max(0, highest + 1 - _next_id(backend))):
        backend.add_tokens([AddedToken(f"\U0010ffff{hole}\U0010fffe", normalized=False, special=False)])
    backend.add_tokens([probe, *(AddedToken(mark(i), normalized=False, special=False) for i in range(1, number))])
    first = backend.token_to_id(mark(0))
    last = backend.token_to_id(mark(number - 1))
    if first is None or last != first + number - 1 or first <= highest:
        raise ValueError(f"the tokenizer gave our {number} tokens the ids {first} to {last}, above {highest=}")
    return first


def split_at_boundaries(backend: Tokenizer) -> bool:
    """Makes a tokenizer split texts at `BOUNDARY` and remove it; returns whether it may join digits and punctuation."""
    old, split = backend.pre_tokenizer, pre_tokenizers.Split(BOUNDARY, "removed")
    backend.pre_tokenizer = split if old is None else pre_tokenizers.Sequence([split, old])  # type: ignore[assignment]
    return len(backend.pre_tokenizer.pre_tokenize_str("$7,")) < 3  # type: ignore[union-attr]


def _next_id(backend: Tokenizer) -> int:
    """The next id for an added token."""
    added = max(backend.get_added_tokens_decoder(), default=-1)
    return max(backend.get_vocab_size(with_added_tokens=False), added + 1)


def lead_only_once(backend: Tokenizer, added: Iterable[str]) -> Leading | None:
    """Stops a tokenizer from adding a space before every section, and so after each of our marks.

    Otherwise `(5)` and `( 5 )` would have the same ids, and the text could not be restored. `added` are the contents of
    the added tokens. Returns the space to insert into texts, so that those without numbers keep their ids.
    """
    contents = sorted((content for content in added if content), key=len, reverse=True)
    tokens = re.compile("|".join(map(re.escape, contents))) if contents else None
    for part in _parts(backend.pre_tokenizer):
        if isinstance(part, pre_tokenizers.ByteLevel) and part.add_prefix_space:
            part.add_prefix_space = False
            return Leading(" ", at_start=True, unless=" ", tokens=tokens, normalizer=backend.normalizer)
        if isinstance(part, pre_tokenizers.Metaspace) and part.prepend_scheme == "always":
            part.prepend_scheme = "first"
            if tokens is None:
                return None
            spaces = f" {part.replacement}"
            return Leading(" ", at_start=False, unless=spaces, tokens=tokens, normalizer=backend.normalizer)
    steps = _parts(backend.normalizer)
    if steps and isinstance(steps[0], normalizers.Prepend) and len(steps[0].prepend) == 1:
        char: str = steps[0].prepend
        backend.normalizer = normalizers.Sequence(steps[1:])  # type: ignore[assignment]
        return Leading(char, at_start=True, unless="", tokens=tokens)
    return None


def _parts(step: object) -> list[object]:
    """The steps of a normalizer or pre-tokenizer, which may be a sequence of steps."""
    if step is None:
        return []
    if not isinstance(step, (pre_tokenizers.Sequence, normalizers.Sequence)):
        return [step]
    parts: list[object] = []
    for index in count():
        try:
            parts += _parts(step[index])  # type: ignore[index]
        except IndexError:
            break
    return parts
