"""Text corpora as streams of records with splits, and the statistics of Table 1 of the 2018 paper.

A record is a dict with at least `id` and `text`; other fields of its line are kept (`paper`, `attributes`).
"""

from __future__ import annotations

import bisect
import hashlib
import itertools
import math
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numerate.backbones.word_tokenizer import WordVocabulary, is_numeral, normalised_counts
from numerate.reading.plain import raw_tokens
from numerate.registry import near_names
from numerate.training.text_files import SourceError, numbered_lines, parsed_json
from numerate_lab.tasks.synthetic.clinical import clinical_reports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

__all__ = ["SPLITS", "CorpusError", "corpus_statistics", "drawn_split", "read_corpus", "text_field"]

SPLITS = ("train", "dev", "test")
SHARES = (0.7, 0.1, 0.2)
"""Shares of the splits for texts without a split, as in the paper."""
_TEXT_FIELDS = ("text", "body", "comment")
_PEEKED_LINES = 1000


class CorpusError(SourceError):
    """There is no such corpus, or a record is invalid; the message names file, line and field."""


def read_corpus(source: str | Path, split: str = "train", *, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Streams the records of one split of a corpus.

    Args:
        source: One of

            - a folder with `train`, `dev` and `test` as `.jsonl` or `.jsonl.gz`, one object with `id` and `text` per
              line;
            - a `.jsonl` or `.jsonl.gz` file of objects with a `split` (of market articles, `title` and `body` are the
              text); without this field, records are divided by `seed`;
            - any other file, compressed or not: plain text in paragraphs between blank lines, or one text per line if
              its first 1,000 lines have no blank line; divided by `seed`;
            - `"clinical"`: synthetic reports (`numerate_lab.tasks.synthetic.clinical`).
        split: `train`, `dev` or `test`.
        seed: Seed of divided or generated records. Equal texts are always in the same split.

    Raises:
        CorpusError: There is no such corpus (immediately), or a record is invalid (while reading).
        SourceError: A file cannot be read or is not JSON (while reading).

    Example:
        >>> report = next(read_corpus("clinical", "dev"))
        >>> report["id"], sorted(report)
        ('dev-0', ['attributes', 'id', 'mentions', 'text'])
    """
    if split not in SPLITS:
        raise CorpusError(f"split must be one of {', '.join(SPLITS)}, got {split=}")
    if str(source) == "clinical":
        return clinical_reports(split, seed=seed)
    path = Path(source)
    if path.is_dir():
        files = [path / f"{split}{ending}" for ending in (".jsonl.gz", ".jsonl")]
        found = next((file for file in files if file.is_file()), None)
        if found is None:
            raise CorpusError(f"{path}: a folder without {files[1].name} or {files[0].name}")
        return _json_records(found)
    if not path.is_file():
        near = near_names(str(source), ["clinical"])
        raise CorpusError(f"{source}: no such file or folder, and no corpus of that name: {near}")
    read = _json_records if path.name.endswith((".jsonl", ".jsonl.gz")) else _paragraphs
    return _chosen(read(path), path, split, seed)


def corpus_statistics(texts: Iterable[str], vocabulary: WordVocabulary | None = None) -> dict[str, Any]:
    """Statistics of texts as in Table 1 of the paper, in tokens of the 2018 models.

    Returns:
        Number of `records` and of their `tokens` (without start and end tokens), tokens of the `longest` text, number
        of `numerals`; `smallest`, `median`, `mean` and `largest` number (None without numbers; one huge number can make
        the mean meaningless); shares of `known_words` and `known_numerals` (None without a vocabulary).

    Example:
        >>> found = corpus_statistics(["EF 60 %", "EF 35 or 40 %"], WordVocabulary.of(["EF 60 %"], size=3))
        >>> found["tokens"], found["numerals"], found["median"], found["known_words"]
        (8, 3, 40.0, 0.8)
    """
    records = longest = 0
    written: Counter[str] = Counter()
    for text in texts:
        tokens = raw_tokens(text)
        records, longest = records + 1, max(longest, len(tokens))
        written.update(tokens)
    types = normalised_counts(written)
    words = {token: count for token, count in types.items() if not is_numeral(token)}
    numerals = {token: count for token, count in types.items() if is_numeral(token)}
    # Values with their counts; 400 digits in a row are no float64 and are left out.
    numbers = sorted((value, count) for token, count in numerals.items() if math.isfinite(value := float(token)))
    total = sum(count for _, count in numbers)
    upto = list(itertools.accumulate(count for _, count in numbers))
    middle = [numbers[bisect.bisect_right(upto, place)][0] for place in ((total - 1) // 2, total // 2) if total]
    known = frozenset() if vocabulary is None else frozenset((*vocabulary.words, *vocabulary.numerals))

    def covered(counts: dict[str, int]) -> float | None:
        if vocabulary is None or not counts:
            return None
        return sum(count for token, count in counts.items() if token in known) / sum(counts.values())

    return {
        "records": records,
        "tokens": sum(types.values()),
        "longest": longest,
        "numerals": sum(numerals.values()),
        "smallest": numbers[0][0] if total else None,
        "median": sum(middle) / 2 if total else None,
        "mean": math.fsum(value * count for value, count in numbers) / total if total else None,
        "largest": numbers[-1][0] if total else None,
        "known_words": covered(words),
        "known_numerals": covered(numerals),
    }


def text_field(record: Any, fields: Sequence[str], where: str) -> str:
    """The first of some fields that a record has; a `CorpusError` if there is none or it is not text."""
    if not isinstance(record, dict):
        raise CorpusError(f"{where}: expected a JSON object, got {str(record)[:40]!r}")
    field = next((name for name in fields if name in record), None)
    if field is None:
        raise CorpusError(f"{where}: none of the fields {', '.join(fields)}, only {', '.join(record)[:80]}")
    if not isinstance(record[field], str):
        raise CorpusError(f"{where}: field {field!r} must be text, got {str(record[field])[:40]!r}")
    return field


def _json_records(path: Path) -> Iterator[dict[str, Any]]:
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        where = f"{path}:{number}"
        record = parsed_json(line, where)
        field = text_field(record, _TEXT_FIELDS, where)
        text = record[field]
        if field == "body" and isinstance(record.get("title"), str):
            text = f"{record['title']}\n{text}"
        yield record | {"id": str(record.get("id", number)), "text": text}


def _paragraphs(path: Path) -> Iterator[dict[str, Any]]:
    """Plain text: paragraphs between blank lines, or lines."""
    peeked = "\n".join(line.strip() for _, line in itertools.islice(numbered_lines(path), _PEEKED_LINES))
    by_line = "\n\n" not in peeked.strip()
    number, part = 0, []
    for number, line in numbered_lines(path):
        if line.strip():
            part.append(line)
        if part and (by_line or not line.strip()):
            yield {"id": str(number - (0 if by_line else 1)), "text": "\n".join(part)}
            part = []
    if part:
        yield {"id": str(number), "text": "\n".join(part)}


def _chosen(records: Iterator[dict[str, Any]], path: Path, split: str, seed: int) -> Iterator[dict[str, Any]]:
    """Records of one split, by their field `split` or by a hash of their text and the seed."""
    has_field: bool | None = None
    for record in records:
        own = record.get("split")
        has_field = own is not None if has_field is None else has_field
        if has_field != (own is not None) or (has_field and own not in SPLITS):
            where = f"{path}, record {record['id']!r}"
            raise CorpusError(f"{where}: field 'split' is {own!r}, expected one of {', '.join(SPLITS)}")
        if (own if has_field else drawn_split(record["text"], seed)) == split:
            yield record


def drawn_split(text: str, seed: int = 0) -> str:
    """Split of a text by a hash of its characters, with probabilities `SHARES`; equal texts are in the same split.

    Example:
        >>> [drawn_split(text) for text in ("It rains.", "It snows.", "It rains.")]
        ['dev', 'train', 'dev']
    """
    digest = hashlib.blake2b(f"{seed}\n{text}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
    share = int.from_bytes(digest) / 2**64
    return SPLITS[0] if share < SHARES[0] else SPLITS[1] if share < SHARES[0] + SHARES[1] else SPLITS[2]
