"""Draws the stretches of text of `annotations/registers.jsonl`: about 400 numerals of each register, with a fixed seed.

    python tests/reading/sample_numerals.py OUTPUT_FOLDER

Writes `stretches.jsonl` (where each stretch lies, and its part: `tune` or `held`) and `sample_00.txt` ... for the
annotators: each stretch with its id, its text and its clusters of digits. Clusters are found by a plain pattern and not
by the reader, so that what the reader misses is in the sample. Documents that are annotated in the older files are left
out, and no document gives two stretches; of a table, up to two rows are taken.
"""

import gzip
import json
import os
import random
import re
import sys
from pathlib import Path

SEED = 25
CLUSTER = re.compile(r"(?:\d+|[¼-¾⅐-⅞])(?:[.,]\d+)*")
SENTENCE_START = re.compile(r"(?:\A\s*|(?<=[.!?])\s+|\n\s{2,})(?=\S)")  # newswire indents its paragraphs
LENGTHS = (100, 400)  # characters in a stretch
CLUSTERS = (2, 20)  # clusters in a stretch
ANNOTATIONS = Path(__file__).parent / "annotations"
DATA = Path(os.environ.get("NUMERATE_SHARED", Path(__file__).resolve().parents[3] / "shared")) / "data"
REGISTERS = {  # register: file, field of the text, field that names the document, clusters to draw
    "market": ("market/articles.jsonl.gz", "body", "id", 420),
    "scientific": ("scientific/train.jsonl.gz", "text", "paper", 420),
    "wiki": ("wiki/passages.jsonl.gz", "text", "url", 420),
    "units": ("units/train.jsonl.gz", "comment", "id", 420),
}
TABLES, TABLE_CLUSTERS = "tatqa/dev.json.gz", 440
ANNOTATOR_FILES = 4  # for each register


def read_lines(file):
    with gzip.open(DATA / file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def annotated_rows():
    """The (file, row) of each text that the older files annotate."""
    paths = [path for path in ANNOTATIONS.glob("*.jsonl") if path.stem in ("market_wiki", "scientific")]
    return {(s["file"], s["row"]) for path in paths for s in map(json.loads, path.read_text("utf-8").splitlines())}


def draw_window(text, generator):
    """A random run of whole sentences with a fitting length and number of clusters; None if there is none."""
    starts = [match.end() for match in SENTENCE_START.finditer(text)]
    ends = [*starts[1:], len(text)]
    windows = []
    for i, begin in enumerate(starts):
        for end in ends[i:]:
            stretch = text[begin:end].rstrip()
            if len(stretch) >= LENGTHS[0]:  # the shortest run from this sentence that is long enough
                if len(stretch) <= LENGTHS[1] and CLUSTERS[0] <= len(CLUSTER.findall(stretch)) <= CLUSTERS[1]:
                    windows.append((begin, begin + len(stretch)))
                break
    return generator.choice(windows) if windows else None


def draw_texts(register, generator, taken, known):
    file, field, document, wanted = REGISTERS[register]
    records = read_lines(file)
    texts = [record[field] for record in records]
    rows = list(range(len(records)))
    generator.shuffle(rows)
    seen, count = set(), 0
    for row in rows:
        name = (
            records[row][document] // 20 if register == "units" else records[row][document]
        )  # neighbours share a passage
        if (file, row) in taken or name in seen or any(texts[row] in text for text in known):
            continue
        window = draw_window(texts[row], generator)
        if window is None:
            continue
        seen.add(name)
        part = generator.choice(("tune", "held"))
        begin, end = window
        yield (
            {"file": file, "row": row, "field": field, "begin": begin, "end": end, "part": part},
            texts[row][begin:end],
        )
        count += len(CLUSTER.findall(texts[row][begin:end]))
        if count >= wanted:
            return


def draw_table_rows(generator):
    """Yields, for random rows of random tables, the cells with digits, the row and the table's head."""
    with gzip.open(DATA / TABLES, "rt", encoding="utf-8") as file:
        tables = [context["table"]["table"] for context in json.load(file)]
    order = list(range(len(tables)))
    generator.shuffle(order)
    count = 0
    for index in order:
        part = generator.choice(("tune", "held"))
        lines = [i for i, line in enumerate(tables[index]) if any(CLUSTER.search(cell) for cell in line)]
        for line in sorted(generator.sample(lines, min(2, len(lines)))):
            cells = tables[index][line]
            for column, cell in enumerate(cells):
                found = CLUSTER.findall(cell)
                if found:
                    count += len(found)
                    place = {
                        "file": TABLES,
                        "row": index,
                        "field": f"table/table/{line}/{column}",
                        "begin": 0,
                        "end": len(cell),
                    }
                    yield {**place, "part": part, "cell": True}, cell, " | ".join(cells)
        if count >= TABLE_CLUSTERS:
            return


def show(stretch, text):
    clusters = [f"  {match.start()}-{match.end()} {match.group()}" for match in CLUSTER.finditer(text)]
    return "\n".join([f"### {stretch['id']}", text, "--- clusters", *clusters, ""])


def main(folder):
    generator, taken = random.Random(SEED), annotated_rows()
    passages = read_lines("wiki/passages.jsonl.gz")
    known = [
        passages[row]["text"] for file, row in sorted(taken) if file.startswith("wiki")
    ]  # sentences of `units` may be theirs
    everything, written = [], 0
    for register in (*REGISTERS, "tatqa"):
        if register == "tatqa":
            drawn = [(place, text, f"(row: {row})\n") for place, text, row in draw_table_rows(generator)]
        else:
            drawn = [(place, text, "") for place, text in draw_texts(register, generator, taken, known)]
        total, count, previous = sum(len(CLUSTER.findall(text)) for _, text, _ in drawn), 0, None
        files = [[] for _ in range(ANNOTATOR_FILES)]
        for i, (place, text, note) in enumerate(drawn):
            stretch = {"id": f"{register[0].upper()}{i:03d}", **place}
            everything.append(stretch)
            files[min(ANNOTATOR_FILES - 1, count * ANNOTATOR_FILES // total)].append(
                (note if note != previous else "") + show(stretch, text)
            )
            count, previous = count + len(CLUSTER.findall(text)), note
        for blocks in files:
            (folder / f"sample_{written:02d}.txt").write_text("\n".join(blocks), "utf-8")
            written += 1
        print(f"{register}: {len(drawn)} stretches, {total} clusters of digits")
    (folder / "stretches.jsonl").write_text("".join(json.dumps(stretch) + "\n" for stretch in everything), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
