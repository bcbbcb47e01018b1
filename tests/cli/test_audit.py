from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from numerate.cli.app import app
from numerate.cli.audit import Audit, load_tokenizer, made_up_numbers
from numerate.errors import BadInput

if TYPE_CHECKING:
    from pathlib import Path


def save(tokenizer: object, folder: Path, **options: object) -> str:
    from transformers import PreTrainedTokenizerFast

    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **options).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Digits one by one, the threes 123 and ##456, and no percent sign."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    words = ["[UNK]", "about", "ab", "123", "##456", "$", ".", ",", "-"]
    words += [mark + digit for digit in "0123456789" for mark in ("", "##")]
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    return save(tokenizer, tmp_path_factory.mktemp("wordpiece"), unk_token="[UNK]")


@pytest.fixture(scope="module")
def byte_pairs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Byte-level, every number cut into threes from the left; all three-digit strings are tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [(a, b) for a in "0123456789" for b in "0123456789"]
    # Both ways to three digits, because which pair is merged first depends on its rank.
    merges += [pair for a, b in merges for c in "0123456789" for pair in ((a + b, c), (a, b + c))]
    tokens = dict.fromkeys([*alphabet, *(a + b for a, b in merges)])
    vocabulary = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d{1,3}"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return save(tokenizer, tmp_path_factory.mktemp("byte_pairs"))


def test_wordpiece_splits(wordpiece: str) -> None:
    audit = Audit(load_tokenizer(wordpiece))
    assert audit.split("about 123456", 6, 12).pieces == ("123", "456")
    assert audit.split("about ab123456", 8, 14).pieces == ("1", "2", "3", "456")
    assert audit.split("12%", 0, 3).unknown
    assert not audit.split("12", 0, 2).unknown


def test_inconsistent_splits_are_found(wordpiece: str) -> None:
    audit = Audit(load_tokenizer(wordpiece))
    for text in ("123", "ab123", "7", "ab7"):
        start = text.index(text.lstrip("ab"))
        audit.add(text, [(start, len(text))])
    found = audit.result()
    assert found["share_inconsistent"] == 0.5
    assert sorted(found["inconsistent"]["123"]) == ["1 2 3", "123"]
    assert found["digit_tokens"] == {1: 10, 3: 2}


def test_byte_level_threes_from_the_left(byte_pairs: str) -> None:
    audit = Audit(load_tokenizer(byte_pairs))
    for text, spans in made_up_numbers(per_length=5):
        audit.add(text, spans)
    found = audit.result()
    assert found["splitting"] == "threes from the left"
    assert found["digit_tokens"] == {1: 10, 2: 100, 3: 1000}
    assert found["tokens_by_digits"][1] == 1 and found["tokens_by_digits"][12] == 4
    assert found["share_inconsistent"] == found["share_unknown"] == found["share_glued"] == 0
    assert found["share_round_trip"] == 1
    assert found["examples"]["1234567"] == "123 456 7"


def test_the_bytes_of_one_character_are_tokens_but_one_piece(byte_pairs: str) -> None:
    split = Audit(load_tokenizer(byte_pairs)).split("a ½ b", 2, 3)
    assert (split.pieces, split.tokens) == (("½",), 2)


def test_texts_with_lone_surrogates(byte_pairs: str) -> None:
    audit = Audit(load_tokenizer(byte_pairs))
    audit.add("\ud800 1234 \udfff", [(2, 6)])
    assert audit.result()["tokens_per_number"] == 2


def test_long_texts_are_not_truncated(byte_pairs: str) -> None:
    tokenizer = load_tokenizer(byte_pairs)
    tokenizer.backend_tokenizer.enable_truncation(4)
    audit = Audit(tokenizer)
    assert audit.split("a " * 50 + "1234", 100, 104).pieces == ("123", "4")


def test_command_with_text(wordpiece: str, tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("about 123456 ab123456, 50%\n123456\n")
    done = CliRunner().invoke(
        app, ["audit", wordpiece, "--text", str(tmp_path / "t.txt"), "--reader", "plain", "--json"]
    )
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["numbers"] >= 3 and found["tokens_per_number"] > 1


def test_command_shows_tables(wordpiece: str) -> None:
    done = CliRunner().invoke(app, ["audit", wordpiece])
    assert done.exit_code == 0, done.output
    assert "tokens per number" in done.stdout and "Split differently by context" in done.stdout


@pytest.mark.parametrize("content", [None, "{}", "not json"])
def test_folders_without_a_tokenizer(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "tokenizer.json").write_text(content)
    done = CliRunner().invoke(app, ["audit", str(tmp_path)])
    assert done.exit_code == 2
    assert done.stderr.count("\n") == 1 and str(tmp_path) in done.stderr


def test_a_file_is_no_folder() -> None:
    with pytest.raises(BadInput, match="no folder"):
        load_tokenizer(__file__)


def test_a_real_wordpiece_tokenizer(shared: Path) -> None:
    audit = Audit(load_tokenizer(str(shared / "models" / "minilm-mlm")))
    for text, spans in made_up_numbers(per_length=10):
        audit.add(text, spans)
    found = audit.result()
    assert found["splitting"] == "irregular" and found["share_inconsistent"] > 0.3
    assert found["digit_tokens"][1] == 10 and found["share_unknown"] == 0
