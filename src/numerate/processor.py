"""`NumberProcessor`: reader + notation + any Hugging Face fast tokenizer, called like a tokenizer."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import BatchEncoding

from numerate.batch import ASKED, GIVEN, PADDING, bit_patterns, character_rows, precisions
from numerate.notation.base import NUM, Notation
from numerate.numeral import KINDS, Numeral
from numerate.reading import make_reader
from numerate.registry import notations
from numerate.rewriting import FIRST_MARK, OWN_MARKS, Rewritten, rewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from transformers import PreTrainedTokenizerFast

    from numerate.reading.base import Reader
    from numerate.scaling import Scaling

__all__ = ["NumberBatch", "NumberProcessor"]

TABLE_FIELDS = ("number_bits", "number_chars", "number_precision", "number_given")


class NumberBatch(BatchEncoding):
    """A tokenizer's batch with the number table beside it.

    Attributes:
        numerals: For each row the numerals in its table, in order; None stands for a number asked for.
    """

    numerals: list[list[Numeral | None]]


class NumberProcessor:
    """Tokenizes texts and says where their numbers are and what they are.

    Args:
        tokenizer: Any fast tokenizer; it is copied, never changed.
        reader: A reader or its name.
        notation: A notation or its name.
        kinds: Which kinds of numeral get the notation and a slot; None for all, as in the papers.
        written: Put the bare number into the table (1.5 of `1.5 billion`) instead of what it means.
        scaling: Per-field scalers applied to the values in the table.
        first_id: Id of the first token of our own; at least `len(tokenizer)`.
        implied_commas: Leave out the comma between two numbers of a record, as xVal does.

    Example:
        >>> processor = NumberProcessor(tokenizer, notation="marker")          # doctest: +SKIP
        >>> processor(["It weighs 100 lbs."], return_tensors="pt")["number_slots"]  # doctest: +SKIP
        tensor([[0, 0, 0, 1, 0, 0, 0, 0]])
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerFast,
        reader: str | Reader = "standard",
        notation: str | Notation = "marker",
        *,
        kinds: Iterable[str] | None = None,
        written: bool = False,
        scaling: Scaling | None = None,
        first_id: int | None = None,
        implied_commas: bool = False,
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise TypeError(f"a fast tokenizer is needed, got {type(tokenizer).__name__}; load it with use_fast=True")
        self.tokenizer = tokenizer
        self.reader = make_reader(reader)
        self.notation: Notation = notations[notation].build() if isinstance(notation, str) else notation
        self.kinds = None if kinds is None else frozenset(kinds)
        if self.kinds is not None and (unknown := sorted(self.kinds - set(KINDS))):
            raise ValueError(f"unknown kinds {unknown}; known: {', '.join(KINDS)}")
        self.written = written
        self.scaling = scaling
        self.implied_commas = implied_commas
        self.first_id = len(tokenizer) if first_id is None else first_id
        if self.first_id < len(tokenizer):
            raise ValueError(f"first_id must be at least len(tokenizer) = {len(tokenizer)}, however: {first_id=}")
        self.own_tokens: tuple[str, ...] = (NUM, *(token for token in self.notation.vocabulary if token != NUM))
        self._index = {token: index for index, token in enumerate(self.own_tokens)}
        if len(self._index) > OWN_MARKS:
            raise ValueError(f"a notation may have {OWN_MARKS} tokens of its own, this one has {len(self._index)}")
        self._copy = copy.deepcopy(tokenizer)
        # Our tokens are characters of a private plane in the copy, so that no text can hold one by chance.
        self._copy.add_tokens([chr(FIRST_MARK + index) for index in range(len(self.own_tokens))], special_tokens=True)
        self._first_added = self._copy.convert_tokens_to_ids(chr(FIRST_MARK))
        self._slotted = self.notation.write(Numeral("1", 0, 1, 1.0))
        self._writes_nothing = not self._slotted
        self._keeps_text = [(piece.own, piece.slot) for piece in self._slotted] in ([(False, True)], [(False, False)])

    @property
    def own_ids(self) -> range:
        """The ids of the tokens of our own."""
        return range(self.first_id, self.first_id + len(self.own_tokens))

    @property
    def num_id(self) -> int:
        """The id of [NUM]."""
        return self.first_id

    def __call__(
        self,
        text: str | Sequence[str] | Sequence[Sequence[str]],
        text_pair: str | Sequence[str] | None = None,
        *,
        is_split_into_words: bool = False,
        return_tensors: str | None = None,
        return_offsets_mapping: bool = False,
        **options: Any,
    ) -> NumberBatch:
        """Tokenizes one text or many; takes a tokenizer's own options.

        Returns:
            The tokenizer's batch with `number_slots` and the number table (see `numerate.batch`). Offsets refer to the
            text as it was given; a token that stands for a rewritten number has that number's span.
        """
        if options.get("return_overflowing_tokens"):
            raise ValueError("return_overflowing_tokens is not supported: split long texts before the processor")
        single = isinstance(text, str) or (is_split_into_words and bool(text) and isinstance(text[0], str))
        sequences = [[text] if single else list(text)]
        if text_pair is not None:
            sequences.append([text_pair] if isinstance(text_pair, str) else list(text_pair))
        if is_split_into_words:
            rewritten = [[[self._rewrite(word) for word in words] for words in texts] for texts in sequences]
            inputs: list[Any] = [[[word.text for word in words] for words in texts] for texts in rewritten]
        else:
            rewritten = [[[self._rewrite(one)] for one in texts] for texts in sequences]
            inputs = [[words[0].text for words in texts] for texts in rewritten]
        batch = self._copy(
            *inputs,
            is_split_into_words=is_split_into_words,
            return_offsets_mapping=return_offsets_mapping,
            **options,
        )
        return self._finish(batch, rewritten, is_split_into_words, single, return_tensors)

    def decode(self, ids: Any, numerals: Sequence[Numeral | None] | None = None, **options: Any) -> str:
        """The text behind token ids.

        Args:
            ids: One row of ids, of a batch or generated.
            numerals: What the [NUM] tokens stand for, in order (a batch's `numerals` row); a number asked for, or one
                that is not given, is written `[NUM]`.
            **options: The tokenizer's own, as `skip_special_tokens`.
        """
        from numerate.rewriting import restore

        row = [int(i) for i in (ids.tolist() if hasattr(ids, "tolist") else ids)]
        added = [i - self.first_id + self._first_added if i >= self.first_id else i for i in row]
        marks = {self._first_added + index for index in range(len(self.own_tokens))}
        if options.pop("skip_special_tokens", False):
            special = set(self.tokenizer.all_special_ids)
            added = [i for i in added if i in marks or i not in special]
        text = self._copy.decode(added, **options)
        return restore(text, self.own_tokens, self.notation, list(numerals or []), self.implied_commas)

    def batch_decode(self, rows: Iterable[Any], numerals: Sequence[Any] | None = None, **options: Any) -> list[str]:
        """`decode` for many rows."""
        rows = list(rows)
        given = numerals if numerals is not None else [None] * len(rows)
        return [self.decode(row, one, **options) for row, one in zip(rows, given, strict=True)]

    def pad(self, *arguments: Any, **options: Any) -> Any:
        """The tokenizer's own `pad`, for collators; number fields must be of one length already."""
        return self.tokenizer.pad(*arguments, **options)

    def _rewrite(self, text: str) -> Rewritten:
        numerals = self.reader.find(text)
        if self.kinds is not None:
            numerals = [numeral for numeral in numerals if numeral.kind in self.kinds]
        return rewrite(text, numerals, self.notation, self._index, self.implied_commas)

    def _finish(
        self, batch: BatchEncoding, rewritten: list[Any], split: bool, single: bool, return_tensors: str | None
    ) -> NumberBatch:
        """Adds slots and table, renumbers our tokens, makes tensors."""
        ids = batch["input_ids"]
        slots: list[list[int]] = []
        table: list[list[Numeral | None]] = []
        for row in range(len(ids)):
            line = [0] * len(ids[row])
            present: list[Numeral | None] = []
            encoding = batch.encodings[row]  # type: ignore[index]
            for sequence, texts in enumerate(rewritten):
                for word_index, word in enumerate(texts[row]):
                    for begin, end, numeral in word.slots:
                        tokens = _tokens_of(encoding, sequence, word_index if split else None, begin, end)
                        if tokens is None:  # cut off by truncation, and its number with it
                            continue
                        present.append(numeral)
                        line[tokens[0] : tokens[1]] = [len(present)] * (tokens[1] - tokens[0])
            slots.append(line)
            table.append(present)
        if "offset_mapping" in batch:
            batch["offset_mapping"] = [
                [_original(pair, encoding, rewritten, row, token, split) for token, pair in enumerate(offsets)]
                for row, (offsets, encoding) in enumerate(zip(batch["offset_mapping"], batch.encodings, strict=True))  # type: ignore[arg-type]
            ]
        shift = self.first_id - self._first_added
        if shift:
            first = self._first_added
            batch["input_ids"] = [[i + shift if i >= first else i for i in row] for row in ids]
        data = dict(batch.data) | {"number_slots": slots} | self._table(table)
        if single and return_tensors is None:
            data = {key: value[0] for key, value in data.items()}
        elif return_tensors is None:
            data = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in data.items()}
        result = NumberBatch(data, tensor_type=None)
        if return_tensors is not None:
            result = NumberBatch(_tensors(data, return_tensors))
        result.numerals = table
        return result

    def _table(self, rows: list[list[Numeral | None]]) -> dict[str, np.ndarray]:
        """The number table of a batch: (B, M) and (B, M, L) arrays."""
        flat = [numeral for row in rows for numeral in row if numeral is not None]
        values = [n.written if self.written else n.value for n in flat]
        if self.scaling is not None:
            values = self.scaling.apply(flat, values)
        bits = bit_patterns(np.array(values, dtype=np.float64))
        characters, exponents = character_rows([n.text for n in flat]), precisions(flat)
        most = max(map(len, rows), default=0)
        width = characters.shape[1]
        given = np.full((len(rows), most), PADDING, dtype=np.uint8)
        for index, row in enumerate(rows):
            given[index, : len(row)] = [ASKED if numeral is None else GIVEN for numeral in row]
        table = {
            "number_bits": np.zeros((len(rows), most), dtype=np.int64),
            "number_chars": np.zeros((len(rows), most, width), dtype=np.uint8),
            "number_precision": np.zeros((len(rows), most), dtype=np.int16),
            "number_given": given,
        }
        place = given == GIVEN
        table["number_bits"][place] = bits
        table["number_chars"][place] = characters
        table["number_precision"][place] = exponents
        return table


def _tokens_of(encoding: Any, sequence: int, word: int | None, begin: int, end: int) -> tuple[int, int] | None:
    """First and last-plus-one token of the characters [begin, end) of one sequence; None if none is left."""
    if word is not None:
        span = encoding.word_to_tokens(word, sequence)
        if span is None:
            return None
        inside = [t for t in range(*span) if encoding.offsets[t][0] < end and encoding.offsets[t][1] > begin]
        return (inside[0], inside[-1] + 1) if inside else None
    first = encoding.char_to_token(begin, sequence)
    last = encoding.char_to_token(end - 1, sequence)
    if first is None or last is None:  # cut in two by truncation, or its first character has no token of its own
        tokens = [t for char in range(begin, end) if (t := encoding.char_to_token(char, sequence)) is not None]
        if not tokens:
            return None
        first, last = tokens[0], tokens[-1]
    return first, last + 1


def _original(pair: Any, encoding: Any, rewritten: list[Any], row: int, token: int, split: bool) -> tuple[int, int]:
    """A token's offsets in the text as it was given."""
    sequence = encoding.sequence_ids[token]
    if sequence is None:
        return (0, 0)
    words = rewritten[sequence][row]
    word = words[encoding.word_ids[token]] if split else words[0]
    return word.original(pair[0]), word.original(pair[1], end=True)


def _tensors(data: dict[str, Any], kind: str) -> dict[str, Any]:
    if kind not in ("pt", "np"):
        raise ValueError(f"return_tensors must be 'pt' or 'np', however: {kind!r}")
    arrays = {}
    for key, value in data.items():
        try:
            arrays[key] = value if isinstance(value, np.ndarray) else np.asarray(value, dtype=np.int64)
        except ValueError:
            raise ValueError(
                f"rows of {key!r} differ in length: pass padding=True, and truncation=True if need be"
            ) from None
    return {key: torch.from_numpy(value) if kind == "pt" else value for key, value in arrays.items()}
