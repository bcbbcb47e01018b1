"""How well are numbers predicted when they are asked as people ask: `predict("... [NUM] ...")` after a short training.

    python benchmarks/asked_numbers.py texts --folder /tmp/asked                  # sentences of ../shared/data
    python benchmarks/asked_numbers.py encode --folder /tmp/asked --system in-place
    python benchmarks/asked_numbers.py train --folder /tmp/asked --system in-place --seed 0 --json /tmp/asked/one.json
    python benchmarks/asked_numbers.py table /tmp/asked/*.json --json results/asked-numbers.json

`train` trains a masked language model (MiniLM of ../shared/models) on 190,000 sentences with a digit of Wikipedia and
all of `units`, with `NumberTrainer`, and asks one number of each of 9,005 test sentences in two ways: by `predict` on
the text with [NUM] (whole, and with a percent sign or scale word in sight), and as an evaluation does, by hiding the
number in the batch. It also measures masked words of number-free sentences and of `units`. The system `gpt` is a causal
model of the same size from scratch, which predicts the same numbers from the text before them.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import numpy as np
import texts as shared_texts
import torch

import numerate
from numerate import metrics
from numerate.modeling.fitting import first_numbers, fit_parts
from numerate.objectives.hiding import hide_numbers
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import given_value
from numerate.reading import make_reader
from numerate.training import NumberTrainer
from numerate.training.device_batches import BatchesByLength, the_batch
from numerate.training.learning_rates import number_rate
from numerate.training.shards import Shards, write_shards

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from numerate.numerals.numeral import Numeral

KINDS = ("quantity", "percent", "money", "ratio", "range", "year", "ordinal")
TRAINED, ASKED, PLAIN = 190_000, 9_005, 4_000
"""Sentences of Wikipedia for training, sentences with an asked number, number-free test sentences."""
HEAD = {"kind": "mixture", "ratios": True, "components": 32, "dropout": 0.2}
BOTH = {"kinds": KINDS, "relations": 1, "late_reach": 2, "head": HEAD, "embedder": "log-fourier", "placement": "add"}
KEEP = BOTH | {"notation": {"kind": "keep", "slot": True}}
SYSTEMS: dict[str, dict[str, Any]] = {
    "default": {},
    "in-place": KEEP | {"gated": True},
    "gate-open": KEEP | {"gated": False},
    "marker": BOTH | {"notation": "marker", "gated": False},
    "words": {"recipe": "subwords"},
    "gpt": KEEP | {"gated": False},
}
_SENTENCE = re.compile(r"(?<= [.!?]) (?=[A-Z\"(])")


def make_texts(options: Namespace) -> None:
    """Writes train.txt, plain.txt and asked.jsonl with the span of one number of each sentence."""
    rng, folder, data = random.Random(0), Path(options.folder), shared_texts.SHARED / "data"
    folder.mkdir(parents=True, exist_ok=True)
    wiki: dict[str, list[str]] = {"train": [], "test": []}
    with gzip.open(data / "wiki/passages.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["split"] in wiki:
                wiki[row["split"]] += _SENTENCE.split(row["text"].replace("\n", " "))
    units = {split: _units(data / f"units/{split}.jsonl.gz") for split in ("train", "test")}
    with_digit = {split: [s for s in rows if re.search(r"\d", s)] for split, rows in wiki.items()}
    train = rng.sample(with_digit["train"], TRAINED) + [row["comment"] for row in units["train"]]
    rng.shuffle(train)
    (folder / "train.txt").write_text("\n".join(train) + "\n", encoding="utf-8")
    plain = sorted({s for s in wiki["test"] if not re.search(r"\d", s) and 40 < len(s) < 400})
    (folder / "plain.txt").write_text("\n".join(rng.sample(plain, PLAIN)) + "\n", encoding="utf-8")
    reader = make_reader("standard")
    asked = []
    for row in units["test"]:
        found = [n for n in _numerals(reader, row["comment"]) if n.start <= row["offset"] < n.end]
        asked += [_asked("units", row["comment"], found[0], reader)] if found else []
    pool = rng.sample(sorted(set(with_digit["test"])), 3 * ASKED)
    for sentence in pool:
        if len(asked) == ASKED:
            break
        if found := _numerals(reader, sentence):
            asked.append(_asked("wiki", sentence, rng.choice(found), reader))
    (folder / "asked.jsonl").write_text("\n".join(map(json.dumps, asked)) + "\n", encoding="utf-8")
    print(f"{len(train)} training sentences, {len(asked)} asked numbers, {PLAIN} number-free sentences")


def _units(file: Path) -> list[dict[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _numerals(reader: Any, text: str) -> list[Numeral]:
    return [n for n in reader.find(text) if n.kind in KINDS and np.isfinite(n.value)]


def _asked(source: str, text: str, numeral: Numeral, reader: Any) -> dict[str, Any]:
    suffix = numeral.style.suffix if numeral.power and numeral.text.endswith(numeral.style.suffix) else ""
    return {
        "source": source, "text": text, "start": numeral.start, "end": numeral.end, "value": given_value(numeral),
        "written": numeral.written, "suffix": suffix, "numbers": len(_numerals(reader, text)),
    }  # fmt: skip


def new_model(options: Namespace) -> numerate.NumberModel:
    """The system before training, with unfitted parts."""
    import transformers as hf

    plan, checkpoint = dict(SYSTEMS[options.system]), str(options.model)
    if options.head:
        plan["head"] = HEAD | json.loads(options.head)
    tokenizer = hf.AutoTokenizer.from_pretrained(checkpoint)
    torch.manual_seed(options.seed)
    if options.system == "gpt":
        sizes = {"n_embd": 384, "n_layer": 6, "n_head": 12, "n_positions": 256, "vocab_size": len(tokenizer)}
        return numerate.attach(hf.GPT2LMHeadModel(hf.GPT2Config(**sizes)), tokenizer, **plan)
    ratios = {"ratio": 0.15, "number_ratio": 0.3}
    if options.system == "words":
        ratios = {"ratio": 0.15, "what": "words"}
    backbone = hf.AutoModelForMaskedLM.from_pretrained(checkpoint, dtype=torch.float32)
    return numerate.attach(backbone, tokenizer, **plan, objective={"kind": "masked", **ratios})


def rows_of(options: Namespace, model: numerate.NumberModel) -> Shards:
    """The encoded training sentences, which systems of one notation share."""
    name = "marker" if options.system == "marker" else "words" if options.system == "words" else "keep"
    folder = Path(options.folder) / name
    if not folder.exists():
        lines = (Path(options.folder) / "train.txt").read_text(encoding="utf-8").splitlines()
        write_shards(folder, lines[: options.limit], model.processor, max_tokens=128)
    return Shards(folder, model.processor)


def train(options: Namespace) -> None:
    """Trains one system, asks its numbers and writes the figures."""
    import transformers as hf

    model, begin = new_model(options), time.perf_counter()
    rows = rows_of(options, model)
    fit_parts(model, first_numbers(rows))
    batches = BatchesByLength(rows, NumberCollator(model.processor.tokenizer), options.batch)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    words_before = words_of(model.to(device).eval(), options) if not model.info.is_causal else {}
    prepared = time.perf_counter() - begin
    if device.type == "cuda":
        torch.set_float32_matmul_precision("high")
    arguments = hf.TrainingArguments(
        output_dir=str(Path(options.folder) / "run"), per_device_train_batch_size=1, num_train_epochs=options.epochs,
        learning_rate=options.rate, lr_scheduler_type="linear", warmup_steps=150, save_strategy="no", report_to="none",
        logging_steps=200, disable_tqdm=True, seed=options.seed, remove_unused_columns=False, weight_decay=0.01,
        dataloader_pin_memory=False, bf16=device.type == "cuda",
    )  # fmt: skip
    trainer = NumberTrainer(
        model,
        arguments,
        data_collator=the_batch,
        train_dataset=batches.to(device),
        number_learning_rate=options.fresh,
    )
    model.labelled_logits = not options.all_logits
    begin = time.perf_counter()
    done = trainer.train()
    figures = {"prepared": round(prepared), "seconds": round(time.perf_counter() - begin), "loss": done.training_loss}
    model.eval()
    if options.system != "words":
        figures |= {"asked": numbers_of(model, options) if options.system == "gpt" else asked_of(model, options)}
        print(json.dumps(figures), flush=True)
    if words_before:
        figures["words"] = {"before": words_before, "after": words_of(model, options)}
    print(json.dumps({"system": options.system, "seed": options.seed} | _brief(figures)), flush=True)
    harness.write(options, figures)
    if options.save:
        model.half().save_pretrained(options.save, backbone=True)


@torch.no_grad()
def asked_of(model: numerate.NumberModel, options: Namespace) -> dict[str, Any]:
    """Figures of the asked numbers: by `predict`, by an evaluation, and with sign or scale word in sight."""
    asked = [json.loads(line) for line in (Path(options.folder) / "asked.jsonl").open(encoding="utf-8")]
    by_predict, in_sight, by_hiding = [], [], []
    for some in _chunks(asked):
        whole = [row["text"][: row["start"]] + "[NUM]" + row["text"][row["end"] :] for row in some]
        by_predict.append(_guesses(model.predict(whole), [row["value"] for row in some]))
        seen = [r["text"][: r["start"]] + "[NUM]" + r["suffix"] + r["text"][r["end"] :] for r in some]
        in_sight.append(_guesses(model.predict(seen), [row["written"] for row in some]))
        batch = model.processor([row["text"] for row in some], padding=True, return_tensors="pt")
        hidden = torch.zeros_like(batch["number_given"], dtype=torch.bool)
        for index, (numerals, row) in enumerate(zip(batch.numerals, some, strict=True)):
            hidden[index, [n.start for n in numerals].index(row["start"])] = True  # type: ignore[union-attr]
        fields = {key: value.to(model.device) for key, value in batch.items()}
        inputs = hide_numbers(fields, hidden.to(model.device), model.vocabulary).inputs
        by_hiding.append(_guesses(model(**inputs, return_loss=False).numbers, [row["value"] for row in some]))
    ways = {"predict": by_predict, "evaluation": by_hiding, "in sight": in_sight}
    figures = {}
    for name, parts in ways.items():
        found = torch.cat(parts)
        only = {"all": torch.ones(len(asked), dtype=torch.bool)}
        only |= {source: torch.tensor([row["source"] == source for row in asked]) for source in ("wiki", "units")}
        only["one number"] = torch.tensor([row["numbers"] == 1 for row in asked])
        figures[name] = {part: _measured(found[chosen]) for part, chosen in only.items()}
    return figures


def _guesses(numbers: Any, gold: Sequence[float]) -> torch.Tensor:
    low, high = numbers.interval(0.9)
    columns = (numbers.median(), low, high, torch.tensor(gold))
    return torch.stack([column.double().cpu() for column in columns], dim=1)


def _measured(found: torch.Tensor) -> dict[str, float]:
    median, low, high, gold = found.unbind(1)
    known = (gold > 0) & (median > 0)
    within = (median / gold).log().abs()[known] <= np.log(2)
    return {
        "numbers": len(found), "log_mae": float(metrics.log_mae(median, gold)),
        "coverage_90": float(metrics.coverage(low, high, gold)), "within_2": within.sum().item() / max(len(found), 1),
    }  # fmt: skip


@torch.no_grad()
def numbers_of(model: numerate.NumberModel, options: Namespace) -> dict[str, Any]:
    """Figures of the same numbers, predicted by a causal model from the text before them."""
    asked = [json.loads(line) for line in (Path(options.folder) / "asked.jsonl").open(encoding="utf-8")]
    parts = []
    for some in _chunks(asked):
        texts = [row["text"][: row["start"]] + "[NUM]" for row in some]
        parts.append(_guesses(model.predict(texts), [row["value"] for row in some]))
    return {"predict": {"all": _measured(torch.cat(parts))}}


@torch.no_grad()
def words_of(model: numerate.NumberModel, options: Namespace) -> dict[str, list[float]]:
    """Mean nats of masked words for each text: number-free sentences, and `units` with all numbers given."""
    folder = Path(options.folder)
    plain = (folder / "plain.txt").read_text(encoding="utf-8").splitlines()[: options.limit]
    rows = [json.loads(line) for line in (folder / "asked.jsonl").open(encoding="utf-8")]
    units = [row["text"] for row in rows if row["source"] == "units"][: options.limit]
    result: dict[str, list[float]] = {}
    for name, lines in (("number-free", plain), ("units", units)):
        nats: list[float] = []
        for start, some in zip(range(0, len(lines), 256), _chunks(lines, 256), strict=True):
            batch = model.processor(some, padding=True, truncation=True, max_length=128, return_tensors="pt")
            nats += _nats(model, batch, torch.arange(start, start + len(some)))
        result[name] = nats
    return result


def _nats(model: numerate.NumberModel, batch: Any, samples: torch.Tensor) -> list[float]:
    """Mean cross-entropy of each text's masked words, whose tokens all systems write alike."""
    from numerate.objectives.draws import hashed_uniform

    ids = batch["input_ids"]
    letters = torch.tensor([token.isalpha() for token in model.processor.tokenizer.convert_ids_to_tokens(range(30522))])
    maskable = (ids < 30522) & letters[ids.clamp_max(30521)]
    # By the index among maskable words: systems that write numbers differently mask the same words.
    masked = maskable & (hashed_uniform(samples, maskable.cumsum(1) - 1, seed=7) < 0.15)
    inputs = {key: value.to(model.device) for key, value in batch.items()}
    inputs["input_ids"] = torch.where(masked, model.vocabulary.mask_id, ids).to(model.device)
    logits = model(**inputs, return_loss=False).logits
    rows, columns = masked.nonzero(as_tuple=True)
    terms = torch.nn.functional.cross_entropy(
        logits[rows, columns].float(), ids[rows, columns].to(logits.device), reduction="none"
    )
    total = torch.zeros(len(ids)).index_add(0, rows, terms.cpu())
    return (total / masked.sum(1)).tolist()


def _chunks(rows: list[Any], size: int = 128) -> Iterator[list[Any]]:
    return (rows[start : start + size] for start in range(0, len(rows), size))


def _brief(figures: dict[str, Any]) -> dict[str, Any]:
    words = figures.get("words")
    means = words and {when: {k: round(float(np.nanmean(v)), 4) for k, v in w.items()} for when, w in words.items()}
    return figures | {"words": means}


def make_table(options: Namespace) -> None:
    """Joins the results of several runs to one file, and prints the table.

    Where a run of the system `words` has the same seed, `words_against_words_only` compares the masked words of both,
    text by text.
    """
    runs = [json.loads(Path(name).read_text(encoding="utf-8")) for name in options.runs]
    rows = [["system", "rate, of new parts", "seed", "way", "log-MAE", "inside 90 %", "within a factor of 2",
             "one number only", "words: number-free", "words: units"]]  # fmt: skip
    alone = {run["config"]["seed"]: run["figures"]["words"] for run in runs if run["config"]["system"] == "words"}
    for run in runs:
        config, figures = run["config"], run["figures"]
        after = figures.get("words", {}).get("after")
        if config["system"] != "words" and after and (others := alone.get(config["seed"])):
            figures["words_against_words_only"] = _changes({"before": others["after"], "after": after})
    for run in runs:
        config, figures = run["config"], run["figures"]
        figures["words"] = changes = _changes(figures.pop("words", {}))
        for way, parts in figures.get("asked", {}).items():
            every, single = parts["all"], parts.get("one number")
            cells = [
                f"{every[name]:.{digits}f}" for name, digits in (("log_mae", 4), ("coverage_90", 3), ("within_2", 3))
            ]
            words = [f"{change['mean']:+.4f} ± {change['error']:.4f}" for change in changes.values()] or ["–", "–"]
            rates = f"{config['rate']:g}, {number_rate(config['rate'], config['fresh']):g}"
            first = [config["system"], rates, str(config["seed"]), way]
            rows.append([*first, *cells, f"{single['log_mae']:.4f}" if single else "–", *words])
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * 4 + "---:|" * 6)
    print("\n".join(lines))
    if options.json:
        from numerate.training.results import Result

        Result({"command": "table"}, runs).write(options.json)
        Path(options.json).with_suffix(".md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _changes(words: dict[str, Any]) -> dict[str, dict[str, float]]:
    """Mean change of the nats of masked words, after minus before, paired by text, and its standard error."""
    changes = {}
    for name, before in words.get("before", {}).items():
        paired = np.array(words["after"][name]) - np.array(before)
        paired = paired[~np.isnan(paired)]
        error = float(paired.std(ddof=1) / np.sqrt(len(paired)))
        changes[name] = {"mean": float(paired.mean()), "error": error, "before": float(np.nanmean(before))}
    return changes


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("command", choices=("texts", "encode", "train", "table"), help="what to do")
    parser.add_argument("runs", nargs="*", help="results of `train`, for `table`")
    parser.add_argument("--folder", default="asked-numbers", help="folder of texts and encoded sentences")
    parser.add_argument("--model", default=str(shared_texts.SHARED / "models/minilm-mlm"), help="masked language model")
    parser.add_argument("--system", default="in-place", choices=SYSTEMS, help="which system")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--rate", type=float, default=3e-4, help="learning rate")
    parser.add_argument(
        "--fresh", type=float, default=None, help="learning rate of the new parts; by default that of `NumberTrainer`"
    )
    parser.add_argument("--head", default=None, help="further options of the number head, as JSON")
    parser.add_argument("--epochs", type=float, default=6, help="epochs")
    parser.add_argument("--batch", type=int, default=512, help="sentences per step")
    parser.add_argument("--limit", type=int, default=None, help="use only so many sentences")
    parser.add_argument("--all-logits", action="store_true", help="compute logits of tokens without a label, too")
    parser.add_argument("--save", default=None, help="folder to save the model to")
    options = parser.parse_args(given)
    if options.command == "texts":
        make_texts(options)
    elif options.command == "table":
        make_table(options)
    elif options.command == "encode":
        rows_of(options, new_model(options))
    else:
        train(options)


if __name__ == "__main__":
    main()
