"""`TokenAlignment`: the tokens of one row of a batch, aligned with the words and characters of the original text.

A processor rewrites numbers before it calls the tokenizer, so the tokenizer's own alignment refers to another text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numerate.processing.rewriter import mark_index
from numerate.processing.slot_alignment import original_offsets

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numerate.processing.rewriter import Rewritten

__all__ = ["TokenAlignment", "align_tokens"]

Span = tuple[int, int]
Words = list[Span]
"""The character span of each word of a text."""


@dataclass
class TokenAlignment:
    """What `transformers.BatchEncoding` needs of a `tokenizers.Encoding`, with respect to the original text.

    A token of a rewritten number has that number's span, and belongs to the word of its first character.

    Attributes:
        ids: Token ids, as in the batch.
        tokens: The tokens; ours by their names, such as `[NUM]`.
        type_ids: Token type ids.
        attention_mask: 0 for padding.
        special_tokens_mask: 1 for special tokens and padding.
        sequence_ids: 0 for a text, 1 for its pair, None for special tokens.
        offsets: Character span of each token in its text (in its word, if the text was split into words).
        word_ids: Index of each token's word; None for special tokens.
        words: The spans of the words of each text; empty if the text was split into words.

    Example:
        >>> row = TokenAlignment([5, 9], ["is", "[NUM]"], [0, 0], [1, 1], [0, 0], [0, 0], [(0, 2), (3, 8)], [0, 1])
        >>> row.char_to_token(5), row.token_to_chars(1), row.word_to_tokens(1)
        (1, (3, 8), (1, 2))
    """

    ids: list[int]
    tokens: list[str]
    type_ids: list[int]
    attention_mask: list[int]
    special_tokens_mask: list[int]
    sequence_ids: list[int | None]
    offsets: list[Span]
    word_ids: list[int | None]
    words: list[Words] = field(default_factory=list)

    @property
    def n_sequences(self) -> int:
        """1 for single texts, 2 for pairs."""
        return 1 + max((sequence for sequence in self.sequence_ids if sequence is not None), default=0)

    def __len__(self) -> int:
        return len(self.ids)

    def token_to_sequence(self, token: int) -> int | None:
        """The text of a token: 0 or 1."""
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        """The index of a token's word."""
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> Span | None:
        """The span of a token in its text; None for special tokens."""
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def char_to_token(self, char: int, sequence: int = 0) -> int | None:
        """The first token that covers a character."""
        return next((token for token, (begin, end) in self._of(sequence) if begin <= char < end), None)

    def char_to_word(self, char: int, sequence: int = 0) -> int | None:
        """The word that a character belongs to; None for a space or a truncated word."""
        token = self.char_to_token(char, sequence)
        if token is None or not self.words:
            return None if token is None else self.word_ids[token]
        return next((word for word, (a, b) in enumerate(self.words[sequence]) if a <= char < b), self.word_ids[token])

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """First and last-plus-one token of a word."""
        tokens = [token for token, _ in self._of(sequence) if self.word_ids[token] == word]
        if not tokens and self.words and 0 <= word < len(self.words[sequence]):
            # A further word of a number, as the decimals of `1.5`: the number's tokens belong to its first word.
            first, last = self.words[sequence][word]
            tokens = [token for token, (begin, end) in self._of(sequence) if begin < last and end > first]
        return (tokens[0], tokens[-1] + 1) if tokens else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        """The span of a word in its text; None for a truncated word."""
        tokens = self.word_to_tokens(word, sequence)
        if tokens is None:
            return None
        if self.words:
            return self.words[sequence][word]
        return self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1]

    def _of(self, sequence: int) -> list[tuple[int, Span]]:
        """The tokens of a text and their spans."""
        return [(t, span) for t, span in enumerate(self.offsets) if self.sequence_ids[t] == sequence]


def align_tokens(
    encodings: Sequence[Any], samples: Sequence[int], changed: list[list[list[Rewritten]]],
    texts: list[list[Any]], split: bool, own: Sequence[str], first: int, shift: int,
    words_of: Callable[[str], Any],
) -> list[Any]:  # fmt: skip
    """Aligns each of a tokenizer's encodings with its original text.

    Args:
        encodings: Encodings of the rewritten texts.
        samples: The index of the text of each encoding; several are of the same text if it overflows.
        changed: The rewritten words of each text of each sequence, as `align` takes them.
        texts: The original texts of each sequence.
        split: Whether texts are lists of words.
        own: Our tokens, in the order of their ids.
        first: The id of the first of them in the encodings.
        shift: What their ids in the batch are above those in the encodings.
        words_of: Gives the tokenizer's own encoding of an original text, without special tokens.

    Returns:
        The tokenizer's own encoding for each row in which nothing was rewritten, else a `TokenAlignment`.
    """
    known: dict[tuple[int, int], tuple[Words, list[int | None]]] = {}

    def words(sequence: int, sample: int) -> tuple[Words, list[int | None]]:
        if (sequence, sample) not in known:
            known[sequence, sample] = _words(words_of(texts[sequence][sample]), len(texts[sequence][sample]))
        return known[sequence, sample]

    rows: list[Any] = []
    for encoding, sample in zip(encodings, samples, strict=True):
        if not any(word.cuts for some in changed for word in some[sample]):
            rows.append(encoding)
            continue
        offsets = original_offsets(encoding, changed, sample, split)
        ids, tokens = list(encoding.ids), list(encoding.tokens)
        for token, index in enumerate(ids):
            if index >= first:
                ids[token] = index + shift
                tokens[token] = own[mark_index(tokens[token])]
        sequences, word_ids = list(encoding.sequence_ids), list(encoding.word_ids)
        if not split:
            for token, sequence in enumerate(sequences):
                if sequence is not None:
                    word_ids[token] = _word_at(words(sequence, sample)[1], *offsets[token])
        spans = [] if split else [words(sequence, sample)[0] for sequence in range(len(changed))]
        types, attention, special = map(
            list, (encoding.type_ids, encoding.attention_mask, encoding.special_tokens_mask)
        )
        rows.append(TokenAlignment(ids, tokens, types, attention, special, sequences, offsets, word_ids, spans))
    return rows


def _words(encoding: Any, length: int) -> tuple[Words, list[int | None]]:
    """The span of each word, and the word of each character."""
    spans: dict[int, Span] = {}
    at: list[int | None] = [None] * length
    for word, (begin, end) in zip(encoding.word_ids, encoding.offsets, strict=True):
        if word is not None:
            first, last = spans.get(word, (begin, end))
            spans[word] = min(first, begin), max(last, end)
            at[begin:end] = [word] * (end - begin)
    return [spans.get(word, (0, 0)) for word in range(max(spans, default=-1) + 1)], at


def _word_at(at: list[int | None], begin: int, end: int) -> int | None:
    """The word of the first character of a span that has one; else that of the next character after it."""
    inside = next((word for word in at[begin:end] if word is not None), None)
    return inside if inside is not None else next((word for word in at[end:] if word is not None), None)
