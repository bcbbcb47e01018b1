"""`NumberProcessor`: a reader, a notation and any Hugging Face fast tokenizer, called like a tokenizer."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from numerate.config import Config, ConfigError
from numerate.errors import BadInput
from numerate.notation.base import NUM, Notation
from numerate.numerals.numeral import KINDS, Numeral
from numerate.processing.encoding import BareSpans, Found, NumberBatch, NumberCollator, number_table, reads_bare_spans
from numerate.processing.padding import Plan, assemble, cut, plan_for, shaped
from numerate.processing.pretrained_processor import PretrainedProcessor
from numerate.processing.rewriter import Rewriter
from numerate.processing.scaling import Scaling
from numerate.processing.segment_cache import MarkedTokenizer, SectionEncoder
from numerate.processing.slot_alignment import align
from numerate.processing.token_alignment import align_tokens
from numerate.reading import make_reader
from numerate.registry import UnknownNameError, notations, readers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from transformers import PreTrainedTokenizerFast

    from numerate.processing.rewriter import Rewritten
    from numerate.reading.base import Reader

__all__ = ["NumberBatch", "NumberCollator", "NumberProcessor", "ProcessorConfig"]


@dataclass(frozen=True, kw_only=True)
class ProcessorConfig(Config):
    """The saved config of a processor, without its tokenizer; attributes as `NumberProcessor`'s arguments."""

    kind: ClassVar[str] = "processor"
    reader: dict[str, Any]
    notation: dict[str, Any]
    kinds: tuple[str, ...] | None = None
    written: bool = False
    scaling: Scaling | None = None
    implied_commas: bool = False
    spelled_units: bool = False


class NumberProcessor(PretrainedProcessor):
    """Tokenizes texts, and adds the positions and values of their numbers.

    A text without numbers gets the same ids as from the tokenizer itself. (Private characters U+10FFFD and below, one
    for each token of our own, are read as U+FFFD.) A token with parts of two numbers is the first one's slot; a number
    without a token of its own is not in the table.

    Args:
        tokenizer: Any fast tokenizer; it is copied, never changed.
        reader: A reader or its name.
        notation: A notation or its name.
        kinds: Which kinds of numeral get the notation and a slot; None for all, as in the papers.
        written: Put the number as it is written into the table (1.5 of `1.5 billion`) instead of its value.
        scaling: Fitted scalers for the values in the table, one for each field of the data.
        first_id: Id of the first token of our own; above all ids of the tokenizer.
        implied_commas: Leave out the comma between two numbers of a record, as xVal does.
        spelled_units: Give the tokenizer the usual spelling of short unit words, as in newswires: `percent` for `pct`.

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
        spelled_units: bool = False,
    ) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise TypeError(f"a fast tokenizer is needed, got {type(tokenizer).__name__}; load it with use_fast=True")
        self.tokenizer = tokenizer
        self.reader = make_reader(reader)
        self.notation: Notation = notations[notation].build() if isinstance(notation, str) else notation
        if isinstance(kinds, str):
            raise TypeError(f"kinds must be a list of kinds, got {kinds!r}: as in kinds=[{kinds!r}]")
        self.kinds = None if kinds is None else frozenset(kinds)
        if self.kinds is not None and (unknown := sorted(self.kinds - set(KINDS))):
            raise ValueError(f"unknown kinds {unknown}; known: {', '.join(KINDS)}")
        if not isinstance(scaling, Scaling | None):
            raise TypeError(f"scaling must be a fitted numerate.Scaling, got {scaling!r:.60}")
        self.written, self.scaling = written, scaling
        self.implied_commas, self.spelled_units = implied_commas, spelled_units
        self.own_tokens: tuple[str, ...] = (NUM, *(token for token in self.notation.vocabulary if token != NUM))
        # In a copy of the tokenizer, our tokens are private characters, which no text contains by accident.
        self._marked = MarkedTokenizer(tokenizer, len(self.own_tokens))
        self._rewriter = Rewriter(
            self.notation, self.own_tokens, implied_commas, self._marked.leading, self._marked.joined_space(),
            self._marked.joins_punctuation, spelled_units,
        )  # fmt: skip
        rewriter = self._rewriter
        self._needs_offsets = rewriter.slots_on_text or rewriter.slots_on_own or rewriter.text_beside_slot
        lowest = self._marked.first_added
        self.first_id = lowest if first_id is None else first_id
        if self.first_id < lowest:
            raise ValueError(f"first_id must be at least {lowest}, above the tokenizer's own ids: {first_id=}")
        self._sections = SectionEncoder(self._marked.copy.backend_tokenizer, self.first_id, implied_commas)
        bare = reads_bare_spans(self.reader) and not written and (scaling is None or scaling.by == "none")
        self._bare = bare and self._rewriter.only_marker

    @property
    def num_id(self) -> int:
        """The id of [NUM]."""
        return self.first_id

    @property
    def several_tokens(self) -> bool:
        """Whether a number may have other tokens than [NUM]."""
        return not self._rewriter.only_marker

    @property
    def has_slots(self) -> bool:
        """Whether the notation marks where the vectors of numbers go, so that numbers are in the table."""
        return self._rewriter.has_slots

    @property
    def spells_numbers(self) -> bool:
        """Whether numbers are spelled in tokens of our own that are their slots, as `p10` and `digits` do."""
        return self._rewriter.slots_on_own

    @property
    def shows_scale(self) -> bool:
        """Whether the percent sign or scale word of a number stays in the text, so that it may stand behind [NUM]."""
        return self._rewriter.shows_scale

    def config(self) -> dict[str, Any]:
        """The config without the tokenizer, as JSON types; `from_config` builds the processor from it."""
        name = next((name for name in readers if readers[name] is type(self.reader)), None)
        if name is None:
            raise ConfigError(f"reader {type(self.reader).__name__} is not registered, so it cannot be saved")
        options = [option for option in inspect.signature(type(self.reader)).parameters if hasattr(self.reader, option)]
        return ProcessorConfig(
            reader={"kind": name, **{option: getattr(self.reader, option) for option in options}},
            notation=self.notation.config.to_dict(),
            kinds=None if self.kinds is None else tuple(sorted(self.kinds)),
            written=self.written,
            scaling=self.scaling,
            implied_commas=self.implied_commas,
            spelled_units=self.spelled_units,
        ).to_dict()

    @classmethod
    def from_config(cls, tokenizer: PreTrainedTokenizerFast, config: Any, first_id: int | None = None) -> Self:
        """Builds a processor from the output of `config`; raises a `ConfigError` that quotes what is wrong."""
        plan = ProcessorConfig.from_dict(config)
        reader = dict(plan.reader)
        try:
            reading = make_reader(str(reader.pop("kind", None)), **reader)
            notation = notations[str(plan.notation.get("kind"))]
            return cls(
                tokenizer, reading, notation(notation.Config.from_dict(plan.notation)), first_id=first_id,
                kinds=plan.kinds, written=plan.written, scaling=plan.scaling, implied_commas=plan.implied_commas,
                spelled_units=plan.spelled_units,
            )  # fmt: skip
        except ConfigError:
            raise
        except (UnknownNameError, TypeError, ValueError) as error:
            raise ConfigError(f"processor config: {error}") from None

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
        """Tokenizes one text or many, with all options of a tokenizer, including `text_target`.

        Returns:
            The tokenizer's batch with `number_slots` and the number table (see `number_table`). Offsets, `word_ids` and
            the other methods of a `BatchEncoding` refer to the original text; a token of a rewritten number has that
            number's span. Targets become `labels`, and their numbers a table with the prefix `decoder_`. With
            `return_overflowing_tokens`, each row of a long text has the numbers that it shows.
        """
        if not hasattr(text, "__iter__"):
            raise TypeError(f"a processor takes a text or a list of texts, got {text!r}")
        if return_tensors not in (None, "pt", "np"):
            raise ValueError(f"return_tensors must be 'pt' or 'np', got {return_tensors!r}")
        overflows = bool(options.get("return_overflowing_tokens"))
        if overflows and options.get("text_target") is not None:
            raise ValueError("return_overflowing_tokens with text_target: rows and targets would not match")
        self._marked.follow()
        target, longest = options.pop("text_target", None), options.pop("max_target_length", None)
        single = isinstance(text, str) or (is_split_into_words and bool(text) and isinstance(text[0], str))
        texts: list[Any] = [text] if single else list(text)
        special = options.get("add_special_tokens", True)
        done, plan = None, plan_for(self._marked.copy, options)
        pairs = [] if not text_pair else [[text_pair] if single else list(text_pair)]
        for each in (texts, *pairs):
            _check_texts(each, is_split_into_words)
        more = options | {"return_offsets_mapping": return_offsets_mapping}

        def by_texts() -> tuple[dict[str, Any], list[Found], Callable[[], list[Any]]]:
            return self._by_texts([texts, *pairs], is_split_into_words, more)

        def align() -> list[Any]:  # the fast path has no encodings
            return by_texts()[2]() if texts else []

        if not texts:
            done = self._by_sections([], plan or plan_for(self._marked.copy, {}), special)  # type: ignore[arg-type]
        elif not (text_pair or is_split_into_words or return_offsets_mapping or self._needs_offsets) and plan:
            done = self._by_sections(texts, plan, special)
        if done is None:
            data, found, align = by_texts()
        else:
            data, found = done
        padded = options.get("padding", False) not in (None, False, "do_not_pad")
        table = number_table(found, self.written, self.scaling)
        fields = shaped(data, table, [len(row) for row in found], single and not overflows, padded, return_tensors)
        if target is not None:
            options |= {"max_length": longest} if longest is not None else {}
            answer = self(target, is_split_into_words=is_split_into_words, return_tensors=return_tensors, **options)
            table = (key for key in answer if key.startswith("number_") and key != "number_scale")
            fields |= {f"decoder_{key}": answer[key] for key in table}
            fields["labels"] = answer["input_ids"]
        return NumberBatch.of(fields, found, align)

    def decode(self, ids: Any, numerals: Sequence[Numeral | None] | None = None, **options: Any) -> str:
        """The text of one row of token ids, with the options of the tokenizer's `decode`.

        `numerals` are those of the [NUM] tokens, in order (a row of a batch's `numerals`); a missing one is written
        `[NUM]`.
        """
        row = (int(i) for i in (ids.tolist() if hasattr(ids, "tolist") else ids))
        text = self._marked.decode(row, self.first_id, **options)
        return self._rewriter.restore(text, list(numerals or []), self._marked.joint)

    def batch_decode(self, rows: Iterable[Any], numerals: Sequence[Any] | None = None, **options: Any) -> list[str]:
        """Decodes many rows."""
        rows = list(rows)
        given = numerals if numerals is not None else [None] * len(rows)
        return [self.decode(row, one, **options) for row, one in zip(rows, given, strict=True)]

    def _numerals(self, text: str) -> list[Numeral]:
        numerals = self.reader.find(text)
        return numerals if self.kinds is None else [numeral for numeral in numerals if numeral.kind in self.kinds]

    def _by_sections(self, texts: list[str], plan: Plan, special: bool) -> tuple[dict[str, Any], list[Found]] | None:
        """The fast path, for texts whose numbers are tokens of our own; None if the tokenizer must be called."""
        found: list[Found] = []
        sections: list[list[str]] = []
        marks: dict[int, list[int]] = {}
        for index, text in enumerate(map(self._rewriter.clean, texts)):
            numbers: Found
            if self._bare:
                spans = self.reader.spans(text)
                if self.kinds is not None:
                    spans = [span for span in spans if span[3] in self.kinds]
                numbers = BareSpans.of(text, spans, self._numerals)
                starts, ends = numbers.columns[:2]
            else:
                numerals = self._numerals(text)
                numbers = list(numerals)
                starts, ends = [n.start for n in numerals], [n.end for n in numerals]
            parts = self._rewriter.plain_sections(text, starts, ends)
            if parts is None:
                rewritten = self._rewriter.rewrite(text, self._numerals(text))
                numbers = [numeral for _, _, numeral in rewritten.slots]
                parts, own = self._rewriter.sections(rewritten.text)
                if any(own):
                    marks[index] = own
            found.append(numbers)
            sections.append(parts)
        rows = self._sections.rows(sections)
        for index, own in marks.items():  # up to here every mark is [NUM]
            row = np.array(rows[index])
            row[row == self.first_id] = np.array(own) + self.first_id
            rows[index] = row.tolist()
        frame = self._marked.frame(special)
        shorter = cut(rows, plan, frame)
        if shorter is None:
            return None
        for index, (row, kept) in enumerate(zip(rows, shorter, strict=True)):
            if len(kept) < len(row):
                left, numbers = kept.count(self.first_id), found[index]
                begin, end = (len(numbers) - left, len(numbers)) if plan.cut_left else (0, left)
                found[index] = numbers.part(begin, end) if isinstance(numbers, BareSpans) else numbers[begin:end]
        pad: Any = (self._marked.copy.pad_token_id or 0, self.tokenizer.pad_token_type_id)
        return assemble(shorter, plan, frame, pad, self.first_id), found

    def _by_texts(
        self, sequences: list[list[Any]], split: bool, options: dict[str, Any]
    ) -> tuple[dict[str, Any], list[Found], Callable[[], list[Any]]]:
        """The general path, for everything that a tokenizer takes; pre-split words are read one by one.

        Its third result aligns the tokens with the texts, see `align_tokens`.
        """

        def rewritten_of(text: str) -> Rewritten:
            text = self._rewriter.clean(text)
            return self._rewriter.rewrite(text, self._numerals(text))

        changed = [[[rewritten_of(word) for word in (one if split else (one,))] for one in some] for some in sequences]
        if split:
            inputs: list[Any] = [[[word.text for word in words] for words in some] for some in changed]
        else:
            inputs = [[words[0].text for words in some] for some in changed]
        batch = self._marked.copy(*inputs, is_split_into_words=split, **options)
        data, found = align(batch, changed, split, self._rewriter.space)
        if not self._rewriter.shows_scale or self.written or self.scaling is not None:
            del data["number_scale"]  # the value in the table does not depend on the sign or word
        first = self._marked.first_added
        shift = self.first_id - first
        if shift:
            rows = data["input_ids"]
            data["input_ids"] = [
                [i + shift if i >= first else i for i in r] if max(r, default=0) >= first else r for r in rows
            ]

        def aligned() -> list[Any]:
            encodings: Any = batch.encodings
            samples = batch.get("overflow_to_sample_mapping") or range(len(encodings))
            return align_tokens(
                encodings, samples, changed, sequences, split, self.own_tokens, first, shift, self._marked.unmarked
            )

        return data, found, aligned


def _check_texts(texts: Sequence[Any], words: bool) -> None:
    """Refuses what is no text, such as the missing ones of a table's column; `words`: texts are lists of words."""
    for index, text in enumerate(texts):
        if isinstance(text, str):
            _check_halves([text], index)
            continue
        if not (words and isinstance(text, Sequence) and all(isinstance(word, str) for word in text)):
            said = "lists of words" if words else "strings"
            raise TypeError(f"a processor takes texts that are {said}, got {repr(text)[:60]} as text {index}")
        _check_halves(text, index)


def _check_halves(words: Sequence[str], index: int) -> None:
    """Refuses lone surrogates, for which tokenizers only say that the input is no text."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise BadInput(
                f"text {index} has half of a character (a lone surrogate), {word[error.start]!r}: remove or replace it"
            ) from None
