r"""The word-level tokenizer of the 2018 language models, as a Hugging Face fast tokenizer.

It splits texts as `numerate.reading.plain.tokenize` does: numbers without thousands commas and leading zeros, runs of
lower-case letters, single characters. (Two letters differ, because the Rust library lower-cases letter by letter: a
Greek final sigma becomes an ordinary one, and a Turkish capital `İ` two tokens. And a text that contains a special
token, such as `<UNK>`, gets that token, as with every Hugging Face tokenizer.)

The vocabulary is that of the paper: the most frequent types of the training texts, words and numerals counted together.
The order is `<PAD> <UNK> <SOS> <EOS>`, the words, the numerals by value, and `<UNK_NUM>`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numerate.config import Config
from numerate.reading.plain import normalise_token, raw_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

__all__ = [
    "SPECIALS", "UNKNOWN_NUMERAL", "WordVocabulary", "build_word_tokenizer", "count_types", "is_numeral",
    "normalised_counts", "vocabulary_of",
]  # fmt: skip

SPECIALS = ("<PAD>", "<UNK>", "<SOS>", "<EOS>")
UNKNOWN_NUMERAL = "<UNK_NUM>"
"""No text contains this token: texts are lower-cased before it is inserted."""

_FRACTION = r"(?:\.[0-9]++)?+"
_GROUP = r",[0-9]{3}(?![0-9])"
# Whether a comma or zero is removed depends on where the number starts, and this on all numbers before it in a chain
# such as `1.2.123,456`. So each match starts where the last one ended (\G), skips what is kept, and leaves it out (\K).
_GROUPING_COMMA = (
    rf"\G(?:(?<=,)[0-9]{{3}}|(?:(?<=,)[0-9]{{3}}{_FRACTION})?+"
    rf"(?:[^0-9]|(?![0-9]{{1,3}}{_GROUP})[0-9]++{_FRACTION})*+[0-9]{{1,3}})\K,(?=[0-9]{{3}}(?![0-9]))"
)
_LEADING_ZEROS = rf"\G(?:(?<=0)[0-9]++{_FRACTION})?+(?:[^0-9]|(?!0[0-9])[0-9]++{_FRACTION})*+\K0+(?=[0-9])"
# Letters as in Python's `\w` without `\d`, and spaces as in its `\s`.
_TOKEN = rf"{UNKNOWN_NUMERAL}|[0-9]++{_FRACTION}|[\p{{L}}\p{{Nl}}\p{{No}}_]++|[^\s\x1c-\x1f]"
_RECORD = "word_vocabulary"


def count_types(texts: Iterable[str]) -> Counter[str]:
    """Counts token types; a type is a numeral if it starts with a digit.

    Example:
        >>> count_types(["EF 60 %", "ef 060 ml"]).most_common(2)
        [('ef', 2), ('60', 2)]
    """
    written: Counter[str] = Counter()
    for text in texts:
        written.update(raw_tokens(text))
    return normalised_counts(written)


def normalised_counts(written: Mapping[str, int]) -> Counter[str]:
    """Counts of normalised token types, from counts of tokens as written."""
    counts: Counter[str] = Counter()
    for token, count in written.items():
        counts[normalise_token(token)] += count
    return counts


@dataclass(frozen=True, kw_only=True)
class WordVocabulary(Config):
    """The most frequent types of the training texts, and the number of types that are left out.

    Attributes:
        words: Words (and single characters), the most frequent first.
        numerals: Numerals as written, sorted by value.
        numeral_counts: Frequency of each numeral in training.
        unknown_words: Number of word types that are left out: |OOV| of adjusted perplexity.
        unknown_numerals: Number of numeral types that are left out.

    Example:
        >>> vocabulary = WordVocabulary.of(["a b 7 7 0.5", "a 12 7"], size=3)
        >>> vocabulary.words, vocabulary.numerals, vocabulary.numeral_counts
        (('a',), ('0.5', '7'), (1, 3))
        >>> vocabulary.unknown_words, vocabulary.unknown_numerals
        (1, 1)
    """

    kind: ClassVar[str] = "word-vocabulary"
    words: tuple[str, ...]
    numerals: tuple[str, ...]
    numeral_counts: tuple[int, ...]
    unknown_words: int
    unknown_numerals: int

    @classmethod
    def of(cls, texts: Iterable[str] | Mapping[str, int], size: int) -> WordVocabulary:
        """Builds the vocabulary from texts or from counts of types; ties are broken by code point order."""
        if size < 1:
            raise ValueError(f"size must be positive, got {size=}")
        counts: Mapping[str, int] = texts if hasattr(texts, "items") else count_types(texts)  # type: ignore[assignment]
        ranked = sorted(counts, key=lambda token: (-counts[token], token))
        numerals = sorted(filter(is_numeral, ranked[:size]), key=lambda token: (float(token), token))
        others = sum(map(is_numeral, ranked[size:]))
        return cls(
            words=tuple(token for token in ranked[:size] if not is_numeral(token)),
            numerals=tuple(numerals),
            numeral_counts=tuple(counts[token] for token in numerals),
            unknown_words=max(len(ranked) - size, 0) - others,
            unknown_numerals=others,
        )

    def tokens(self, numerals: bool = True) -> list[str]:
        """All tokens in the order of their ids."""
        return [*SPECIALS, *self.words, *((*self.numerals, UNKNOWN_NUMERAL) if numerals else ())]

    def tokenizer(self, numerals: bool = True) -> PreTrainedTokenizerFast:
        """The fast tokenizer with this vocabulary; see `build_word_tokenizer`."""
        from transformers import PreTrainedTokenizerFast

        names = dict(zip(("pad_token", "unk_token", "bos_token", "eos_token"), SPECIALS, strict=True))
        return PreTrainedTokenizerFast(
            tokenizer_object=_backend(self, numerals),
            model_input_names=["input_ids", "attention_mask"],
            **names,
            # The words are in the vocabulary already; the rest is saved with the tokenizer's settings.
            **{_RECORD: {key: value for key, value in self.to_dict().items() if key != "words"}},
        )


def is_numeral(token: str) -> bool:
    """Whether a token is a numeral, that is, starts with an ASCII digit."""
    return "0" <= token[:1] <= "9"


def build_word_tokenizer(texts: Iterable[str], size: int, numerals: bool = True) -> PreTrainedTokenizerFast:
    """Builds a tokenizer whose vocabulary is the `size` most frequent types of `texts`, words and numerals together.

    Every text starts with `<SOS>` and ends with `<EOS>`. The numbers of types that are left out are saved with the
    tokenizer; `vocabulary_of` returns them.

    Args:
        texts: Training texts.
        size: Number of types, without the special tokens and `<UNK_NUM>`.
        numerals: Whether numerals are tokens, and unknown ones `<UNK_NUM>`. If not, the same types are chosen but only
            words get ids: numbers are left to a number head, and those that no processor takes out become `<UNK>`.

    Example:
        >>> tokenizer = build_word_tokenizer(["EF was 60 %", "EF was 35 %", "EF 60"], size=4)
        >>> tokenizer.convert_ids_to_tokens(tokenizer("EF is 060 or 7.5 %")["input_ids"])
        ['<SOS>', 'ef', '<UNK>', '60', '<UNK>', '<UNK_NUM>', '%', '<EOS>']
    """
    return WordVocabulary.of(texts, size).tokenizer(numerals)


def vocabulary_of(tokenizer: PreTrainedTokenizerFast) -> WordVocabulary:
    """The vocabulary that a tokenizer was built with, including counts of left-out types; also after loading.

    Raises:
        ValueError: The tokenizer was not built by `build_word_tokenizer`.
    """
    record: Any = tokenizer.init_kwargs.get(_RECORD)
    if not isinstance(record, dict):
        raise ValueError(f"{type(tokenizer).__name__} has no {_RECORD!r}: it was not built by build_word_tokenizer")
    known = set(record.get("numerals", ())) | {*SPECIALS, UNKNOWN_NUMERAL}
    ids = sorted((index, token) for token, index in tokenizer.get_vocab().items() if token not in known)
    return WordVocabulary.from_dict(record | {"words": [token for _, token in ids]})


def _backend(vocabulary: WordVocabulary, numerals: bool) -> Tokenizer:
    from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    ids = {token: index for index, token in enumerate(vocabulary.tokens(numerals))}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token=SPECIALS[1]))  # type: ignore[arg-type]
    steps: list[Any] = [normalizers.Replace(Regex(pattern), "") for pattern in (_GROUPING_COMMA, _LEADING_ZEROS)]
    steps.append(normalizers.Lowercase())
    if numerals:
        steps.append(normalizers.Replace(Regex(_unknown_numeral(vocabulary.numerals)), UNKNOWN_NUMERAL))
    tokenizer.normalizer = normalizers.Sequence(steps)  # type: ignore[assignment]
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(_TOKEN), "removed", invert=True)  # type: ignore[assignment]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in SPECIALS])
    start, end = SPECIALS[2:]
    tokenizer.post_processor = processors.TemplateProcessing(  # type: ignore[assignment]
        single=f"{start} $A {end}", pair=f"{start} $A {end} {start}:1 $B:1 {end}:1",
        special_tokens=[(token, ids[token]) for token in (start, end)],
    )  # fmt: skip
    return tokenizer


def _unknown_numeral(known: Iterable[str]) -> str:
    """Pattern of unknown numerals; it skips the known ones in the way of the patterns above."""
    by_digit: dict[str, list[str]] = {}
    for numeral in known:  # grouped by first digit, so that few alternatives are tried
        # A known `5` does not match in `5.2`, but a known `5.2` does in `5.2.3`, which is three tokens.
        end = "" if "." in numeral else r"(?!\.[0-9])"
        by_digit.setdefault(numeral[0], []).append(numeral[1:].replace(".", r"\.") + end)
    digits = [f"{digit}(?:{'|'.join(rests)})" for digit, rests in sorted(by_digit.items())]
    walk = f"[^0-9]|(?:{'|'.join(digits)})(?![0-9])" if digits else "[^0-9]"
    return rf"\G(?:{walk})*+\K[0-9]++{_FRACTION}"
