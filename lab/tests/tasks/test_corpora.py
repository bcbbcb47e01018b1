"""Corpora of every layout, each with what a reader of its file would count by hand."""

from __future__ import annotations

import gzip
import itertools
import json
import re
import statistics
from typing import TYPE_CHECKING

import pytest

from numerate.backbones.word_tokenizer import WordVocabulary
from numerate.reading.plain import tokenize
from numerate.training.text_files import SourceError
from numerate_lab.tasks.next_numeral.corpora import SPLITS, CorpusError, corpus_statistics, read_corpus
from numerate_lab.tasks.synthetic.clinical import clinical_reports

if TYPE_CHECKING:
    from pathlib import Path


def write_lines(path: Path, records: list) -> None:
    text = "".join(json.dumps(record) + "\n" for record in records)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def test_scientific_layout(tmp_path: Path) -> None:
    records = [{"id": f"p-{i}", "paper": "p", "text": f"Table {i} shows 1,000 é."} for i in range(3)]
    write_lines(tmp_path / "train.jsonl.gz", records)
    write_lines(tmp_path / "dev.jsonl", records[:1])
    assert list(read_corpus(tmp_path)) == records
    assert list(read_corpus(str(tmp_path), "dev")) == records[:1]
    with pytest.raises(CorpusError, match=r"without test\.jsonl or test\.jsonl\.gz"):
        read_corpus(tmp_path, "test")


def test_articles(tmp_path: Path) -> None:
    path = tmp_path / "articles.jsonl.gz"
    write_lines(
        path, [{"id": i, "split": SPLITS[i % 3], "title": f"NEWS {i}", "body": "Prices rose 3 %."} for i in range(6)]
    )
    got = list(read_corpus(path, "dev"))
    assert [record["id"] for record in got] == ["1", "4"]
    assert got[0]["text"] == "NEWS 1\nPrices rose 3 %."


def test_clinical_by_name_and_from_files(tmp_path: Path) -> None:
    made = list(clinical_reports("train", 2))
    write_lines(tmp_path / "train.jsonl", made)
    assert list(read_corpus(tmp_path)) == made
    stream = read_corpus("clinical", seed=0)
    assert [next(stream), next(stream)] == made


def test_plain_lines_and_paragraphs(tmp_path: Path) -> None:
    lines = [f"Line {i} of the file." for i in range(400)]
    for name, joint, count in (("a.txt", "\n", 400), ("b.txt.gz", "\n\n", 400), ("README", "\r\n \r\n", 400)):
        path = tmp_path / name
        text = joint.join(lines).encode()
        path.write_bytes(gzip.compress(text) if name.endswith("gz") else text)
        parts = {split: [record["text"] for record in read_corpus(path, split)] for split in SPLITS}
        assert sorted(itertools.chain(*parts.values())) == sorted(lines), "each in one split"
        assert len(parts["train"]) / count == pytest.approx(0.7, abs=0.08)
        assert len(parts["dev"]) / count == pytest.approx(0.1, abs=0.05)
    assert parts["dev"] != [record["text"] for record in read_corpus(path, "dev", seed=1)]


def test_paragraphs_of_several_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n\none\ntwo\n\n\nthree\n", encoding="utf-8")
    found = [record for split in SPLITS for record in read_corpus(tmp_path / "a.txt", split)]
    assert sorted((record["id"], record["text"]) for record in found) == [("4", "one\ntwo"), ("7", "three")]


def test_equal_texts_share_a_split(tmp_path: Path) -> None:
    write_lines(tmp_path / "a.jsonl", [{"text": f"text {i % 20}"} for i in range(60)])
    for split in SPLITS:
        texts = [record["text"] for record in read_corpus(tmp_path / "a.jsonl", split)]
        assert all(texts.count(text) == 3 for text in texts)


def test_errors_name_file_line_and_field(tmp_path: Path) -> None:
    for content, message in (
        (b'{"text": "a"}\n{"text": 5}\n', r"a\.jsonl:2: field 'text' must be text, got '5'"),
        (b'{"text": "a"}\n{"txt": "b"}\n', r":2: none of the fields text, body, comment, only txt"),
        (b'{"text": "a"\n', r":1: not JSON"),
        (b"[1]\n", r":1: expected a JSON object, got '\[1\]'"),
        (b'{"text": "a"}\n{"text": "\xff"}\n', r"a\.jsonl:2: byte 0xff at offset 10 is not UTF-8"),
        (b'{"text": "a", "split": "valid"}\n', r"field 'split' is 'valid', expected one of train, dev, test"),
        (b'{"text": "a", "split": "dev"}\n{"text": "b"}\n', r"record '2': field 'split' is None"),
    ):
        (tmp_path / "a.jsonl").write_bytes(content)
        with pytest.raises(SourceError, match=message) as caught:
            list(read_corpus(tmp_path / "a.jsonl"))
        assert "\n" not in str(caught.value)


def test_errors_of_missing_corpora(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="did you mean 'clinical'"):
        read_corpus("clinicl")
    with pytest.raises(CorpusError, match="split='valid'"):
        read_corpus("clinical", "valid")
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"text": "a"}\n' * 2000)[:-20])
    with pytest.raises(SourceError, match="cannot be read"):
        list(read_corpus(tmp_path / "a.jsonl.gz"))


def test_statistics_by_hand() -> None:
    vocabulary = WordVocabulary.of(["EF 60 %"], size=3)
    found = corpus_statistics(["EF 60 %", "The EF 35 or 1,250.50 %", "9" * 400], vocabulary)
    assert (found["records"], found["tokens"], found["longest"], found["numerals"]) == (3, 10, 6, 4)
    assert (found["smallest"], found["median"], found["largest"]) == (35.0, 60.0, 1250.5)
    assert found["mean"] == pytest.approx((35 + 60 + 1250.5) / 3)
    assert (found["known_words"], found["known_numerals"]) == (pytest.approx(4 / 6), pytest.approx(1 / 4))
    empty = corpus_statistics([])
    assert (empty["records"], empty["median"], empty["known_words"]) == (0, None, None)


def test_statistics_of_clinical_reports() -> None:
    train, test = ([report["text"] for report in clinical_reports(split, 60)] for split in ("train", "test"))
    vocabulary = WordVocabulary.of(train, 300)
    found = corpus_statistics(test, vocabulary)
    tokens = [token for text in test for token in tokenize(text)]
    known = {*vocabulary.words, *vocabulary.numerals}
    words = [token for token in tokens if not token[0].isdigit()]
    assert found["known_words"] == pytest.approx(sum(word in known for word in words) / len(words))
    assert found["median"] == statistics.median(float(token) for token in tokens if token[0].isdigit())
    of_train = corpus_statistics(train, vocabulary)
    assert of_train["known_numerals"] > found["known_numerals"]


@pytest.mark.shared("data/scientific", "data/market/articles.jsonl.gz")
def test_shared_sets(shared: Path) -> None:
    texts = [record["text"] for record in read_corpus(shared / "data/scientific", "dev")]
    assert len(texts) == 1965
    # The data set counts `word2vec` as one word; the paper's tokenizer makes three tokens of it, one a numeral.
    number = r"[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?"
    whole = [token for text in texts for token in re.findall(rf"{number}|\w+|[^\w\s]", text)]
    shares = [bool(re.fullmatch(number, token)) for token in whole]
    assert (round(len(whole) / len(texts), 1), round(100 * statistics.mean(shares), 2)) == (158.6, 4.21)
    found = corpus_statistics(texts)
    cut = [token for text in texts for token in re.findall(rf"{number}|[^\W\d]+|\S", text)]
    assert found["tokens"] == pytest.approx(len(cut), rel=1e-3)
    assert found["numerals"] == pytest.approx(sum(bool(re.fullmatch(number, token)) for token in cut), rel=5e-3)
    assert found["median"] == pytest.approx(5, abs=1)
    market = sum(1 for _ in read_corpus(shared / "data/market/articles.jsonl.gz", "dev"))
    assert market == 1311
