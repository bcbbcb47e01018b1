"""The word-level tokenizer splits texts as the reader of 2018 does; its vocabulary has the most frequent types."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from numerate.backbones.word_tokenizer import (
    SPECIALS,
    UNKNOWN_NUMERAL,
    WordVocabulary,
    build_word_tokenizer,
    is_numeral,
    vocabulary_of,
)
from numerate.reading.plain import tokenize

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = [
    "The EF was 60 % and the EDV 1,250.50 ml (age 007).",
    "The EF was 35 %; the volume was 160 ml, or 1.50 l.",
    "The patient, 60, has an EF of 1.5 times 0.5.",
]
HARD = [
    "1,234,567.8 0001,234 1.2.123,456 000 00.50 0.05,100 1234,567 12,345,6789 007,250",
    "1e5 a_b ½x² Ⅷ ９ \x1c q\u2028r \u00a0-1 3/4 n'est <UNK_NUM> <unk_num>",
    "",
    " \n\t ",
    "0,000 0,000.0 00 0.0.0 0..0 ,000 1,000,000,",
]


def expected(text: str, vocabulary: WordVocabulary) -> list[str]:
    """Tokens from the reader and a lookup in sets."""
    known = {*vocabulary.words, *vocabulary.numerals}
    unknown = {True: UNKNOWN_NUMERAL, False: SPECIALS[1]}
    return ["<SOS>", *(token if token in known else unknown[is_numeral(token)] for token in tokenize(text)), "<EOS>"]


def tokens_of(tokenizer, text: str) -> list[str]:
    return tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])


def test_tokens_equal_those_of_the_reader() -> None:
    for size in [1, 8, 1000]:
        vocabulary = WordVocabulary.of([*TEXTS, *HARD], size)
        tokenizer = vocabulary.tokenizer()
        for text in [*TEXTS, *HARD]:
            assert tokens_of(tokenizer, text) == expected(text, vocabulary), (size, text)


def test_chains_of_digits_commas_and_points() -> None:
    rng = random.Random(0)
    texts = ["".join(rng.choices("0012345,,...  a%", k=rng.randint(1, 30))) for _ in range(1500)]
    vocabulary = WordVocabulary.of(texts, 120)
    assert 20 < len(vocabulary.numerals) < 118
    tokenizer = vocabulary.tokenizer()
    for text in texts:
        assert tokens_of(tokenizer, text) == expected(text, vocabulary), text


def test_vocabulary_has_the_most_frequent_types() -> None:
    counts = Counter(token for text in TEXTS for token in tokenize(text))
    vocabulary = WordVocabulary.of(iter(TEXTS), 12)
    kept = {*vocabulary.words, *vocabulary.numerals}
    assert len(kept) == 12
    assert min(counts[token] for token in kept) >= max(count for token, count in counts.items() if token not in kept)
    left = counts.keys() - kept
    assert vocabulary.unknown_numerals == sum(token[0].isdigit() for token in left)
    assert vocabulary.unknown_words == sum(not token[0].isdigit() for token in left)
    assert dict(zip(vocabulary.numerals, vocabulary.numeral_counts, strict=True)) == {
        token: counts[token] for token in kept if token[0].isdigit()
    }
    assert WordVocabulary.of(counts, 12) == vocabulary


def test_layout_of_the_ids() -> None:
    tokenizer = build_word_tokenizer(TEXTS, 1000)
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    assert tokens[:5] == ["<PAD>", "<UNK>", "<SOS>", "<EOS>", "the"]
    assert tokens[-9:] == ["0.5", "1.5", "1.50", "7", "35", "60", "160", "1250.50", "<UNK_NUM>"]
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.bos_token_id, tokenizer.eos_token_id) == (
        0, 1, 2, 3,
    )  # fmt: skip


def test_words_only() -> None:
    tokenizer = build_word_tokenizer(TEXTS, 12, numerals=False)
    vocabulary = WordVocabulary.of(TEXTS, 12)
    assert len(tokenizer) == len(SPECIALS) + len(vocabulary.words)
    assert vocabulary_of(tokenizer) == vocabulary
    assert tokens_of(tokenizer, "the EF 60") == ["<SOS>", "the", "ef", "<UNK>", "<EOS>"]


def test_saved_and_loaded(tmp_path: Path) -> None:
    for numerals in [True, False]:
        from transformers import AutoTokenizer

        tokenizer = build_word_tokenizer(TEXTS, 14, numerals)
        tokenizer.save_pretrained(tmp_path)
        assert (tmp_path / "tokenizer.json").is_file(), numerals
        again = AutoTokenizer.from_pretrained(tmp_path)
        for text in [*TEXTS, *HARD]:
            assert again(text)["input_ids"] == tokenizer(text)["input_ids"], numerals
        assert vocabulary_of(again) == vocabulary_of(tokenizer) == WordVocabulary.of(TEXTS, 14), numerals


def test_long_repetitive_texts() -> None:
    tokenizer = build_word_tokenizer(TEXTS, 14)
    for part in ("1,234", "0", "1.", "a ", ",", "000,"):
        text = part * 20_000
        assert tokens_of(tokenizer, text) == expected(text, WordVocabulary.of(TEXTS, 14))


def test_errors_quote_the_value() -> None:
    from transformers import PreTrainedTokenizerFast

    with pytest.raises(ValueError, match="size=0"):
        build_word_tokenizer(TEXTS, 0)
    other = PreTrainedTokenizerFast(tokenizer_object=build_word_tokenizer(TEXTS, 5).backend_tokenizer)
    with pytest.raises(ValueError, match="was not built by build_word_tokenizer"):
        vocabulary_of(other)
