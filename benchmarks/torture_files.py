"""The folder of the hostile calls: good files, damaged ones, and tiny trained models with damaged copies."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import shutil
from typing import TYPE_CHECKING

from torture_run import main_of

if TYPE_CHECKING:
    from pathlib import Path

CPU = "training.use_cpu=true"
DEEP = 900


def make(folder: Path, models: bool = True) -> None:
    """Writes all files into a new folder; without `models`, only those that take no training."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o755)
    (folder / "[").mkdir(exist_ok=True)  # `[/ok].txt` is a file of this folder, and markup for a careless printer
    _texts(folder)
    _records(folder)
    _settings(folder)
    _hostile_folders(folder)
    if models:
        _models(folder)
        _damaged(folder)


def _sentences(count: int, seed: int = 0) -> list[str]:
    draws = random.Random(seed)
    return [
        f"The {draws.choice(['tower', 'bridge', 'house'])} is {draws.randint(3, 300)} metres tall and cost "
        f"${draws.uniform(1, 90):.1f} million in {draws.randint(1800, 2020)}."
        for _ in range(count)
    ]


def _texts(folder: Path) -> None:
    sentences = _sentences(60)
    plain: dict[str, bytes | str] = {
        "texts.txt": "\n".join(sentences) + "\n",
        "empty.txt": "",
        "blank.txt": "\n \n\t\n",
        "nul.txt": "5\0 6\n\0\n",
        "bom.txt": b"\xef\xbb\xbf5 apples\n",
        "crlf.txt": "5\r\n6\r\n",
        "utf16.txt": "5 apples\n".encode("utf-16"),
        "bad-utf8.txt": b"5\n\xff 6\n",
        "no-newline.txt": "5",
        "escape.txt": "\x1b[31m5\x1b[0m \x07\n",
        "brackets.txt": "rate [/s] 5 [bold]6[/bold] [/ok]\n",
        "digits.txt": "7" * 2_000_000 + "\n",
        "commas.txt": "1," * 500_000 + "\n",
        "points.txt": "1." * 500_000 + "\n",
        "signs.txt": "-" * 500_000 + "5\n",
        "parens.txt": "(" * 300_000 + "5" + ")" * 300_000 + "\n",
        "exponents.txt": "1e" * 300_000 + "\n",
        "unicode.txt": "٣٤ ½ Ⅳ ⁵ ௧ 〇 ５ \u202e5\u200b6 \U0001d7d8\n",
        "[/ok].txt": "5 apples\n",
        "-dash.txt": "5\n",
        "not-gzip.gz": "5\n",
        "cut.txt.gz": gzip.compress(b"5 apples\n" * 9_000)[:-20],
        "twice.gz": gzip.compress(gzip.compress(b"5\n")),
        "zip-bomb.txt.gz": gzip.compress(b"\0" * 30_000_000),
        "texts.unknown": "5\n",
    }
    for name, content in plain.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    lines = {name: [json.dumps({"text": text}) for text in texts] for name, texts in {
        "texts.jsonl": sentences, "dev.jsonl": _sentences(10, 1), "[/ok].jsonl": sentences, "one.jsonl": sentences[:1],
    }.items()}  # fmt: skip
    lines |= {
        "surrogate.jsonl": [*lines["texts.jsonl"], r'{"text": "lone \ud800 5"}'],
        "surrogate-key.jsonl": [r'{"\ud800": 5}'] * 20,
        "deep.jsonl": [*lines["texts.jsonl"], '{"text": ' + "[" * DEEP + "]" * DEEP + "}"],
        "deeper.jsonl": ['{"text": ' + "[" * 100_000],
        "not-json.jsonl": ["text of no JSON 5"],
        "cut.jsonl": [lines["texts.jsonl"][0][:-4]],
        "other-field.jsonl": ['{"body": "5"}'],
        "number-field.jsonl": ['{"text": 5}'],
        "null-field.jsonl": ['{"text": null}'],
        "list-rows.jsonl": ["[1, 2]"],
        "no-numbers.jsonl": ['{"text": "no number here"}'] * 60,
        "empty.jsonl": [],
        "brackets.jsonl": ['{"text": "rate [/s] 5 [bold]6"}'] * 60,
        "nul.jsonl": [r'{"text": "5 \u0000 6 apples"}'] * 60,
        "huge.jsonl": ['{"text": "it is ' + "9" * 400 + ' and 1e400"}'] * 60,
        "words.jsonl": [json.dumps({"text": "word " * 3_000 + "5"})] * 20,
        "split.jsonl": ['{"text": "5 apples", "split": "nowhere"}'] * 4,
    }
    for name, rows in lines.items():
        (folder / name).write_text("".join(row + "\n" for row in rows))
    (folder / "object.json").write_text('{"text": "5"}')
    (folder / "scalar.json").write_text("5")
    (folder / "list.json").write_text("[1, 2, 3]")
    (folder / "damaged.parquet").write_bytes(b"PAR1" + b"\0" * 50)
    (folder / "cut.xml").write_text("<mediawiki><page><title>a</title><revision><text>{{convert|5|km}}")
    (folder / "bomb.xml").write_text(
        '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY {chr(98 + i)} "{f"&{chr(97 + i)};" * 10}">' for i in range(9))
        + "]><mediawiki><page><title>&j;</title></page></mediawiki>"
    )


def _records(folder: Path) -> None:
    draws = random.Random(0)
    rows = [f"{'ab'[i % 2]},{draws.uniform(1, 9):.4f},{draws.uniform(1, 9):.3f}" for i in range(60)]
    head = "plot,height,mass\n"
    files = {
        "records.csv": head + "\n".join(rows) + "\n",
        "brackets.csv": "plot,rate [/s],mass [kg]\n" + "\n".join(rows) + "\n",
        "ragged.csv": head + "a,1\n",
        "open-quote.csv": head + 'a,"1,2\n',
        "header.csv": head,
        "empty.csv": "",
        "twice.csv": "mass,mass\n" + "1,2\n" * 30,
        "one-row.csv": head + rows[0] + "\n",
        "infinite.csv": head + "a,inf,1e400\n" * 30,
        "not-a-number.csv": head + "a,nan,NaN\n" * 30,
        "huge.csv": head + f"a,{'9' * 400},1\n" * 30,
        "constant.csv": head + "a,1,1\n" * 30,
        "texts-only.csv": "a,b\n" + "x,y\n" * 30,
        "many.csv": ",".join(f"c{i}" for i in range(200)) + "\n" + (",".join("1.5" for _ in range(200)) + "\n") * 20,
        "nul.csv": head + "a\0,1,2\n" * 30,
        "latin1.csv": (head + "ä,1,2\n").encode("latin-1"),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    nested = '{"m": ' + '{"a": ' * DEEP + "1" + "}" * DEEP + "}\n"
    (folder / "deep-records.jsonl").write_text(nested * 20)
    (folder / "mixed.jsonl").write_text('{"m": 1}\n[2]\n"three"\nnull\n{"m": {"x": [1, {"y": 2}]}}\n' * 6)
    (folder / "escape-key.jsonl").write_text('{"\\UFFFFFFFF": 1}\n' * 20)


def _settings(folder: Path) -> None:
    aliases = "a: &a [1,1,1,1,1,1,1,1,1]\n"
    for last, name in zip("abcdefgh", "bcdefghi", strict=True):
        aliases += f"{name}: &{name} [{','.join([f'*{last}'] * 9)}]\n"
    files = {
        "bomb.yaml": aliases,
        "loop.yaml": "model: &m {scratch: *m}\n",
        "tag.yaml": "!!python/object/apply:os.system ['echo hacked > hacked.txt']\n",
        "tab.yaml": "model:\n\tcheckpoint: x\n",
        "list.yaml": "[1, 2]\n",
        "empty.yaml": "",
        "deep.yaml": "[" * 5_000,
        "unknown.yaml": "model: {checkpoint: x}\ntraning: {}\n",
        "binary.yaml": b"\xff\xfe\0",
        "plugin.py": "raise SystemError('broken plugin')\n",
    }
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def _hostile_folders(folder: Path) -> None:
    (folder / "folder").mkdir(exist_ok=True)
    (folder / "folder" / "other.txt").write_text("5")
    (folder / "a-file").write_text("5")
    (folder / "read-only").mkdir(exist_ok=True)
    (folder / "read-only").chmod(0o555)
    for name, target in {"loop": "loop", "nowhere": "no/such/file", "link.txt": "texts.txt"}.items():
        with contextlib.suppress(FileExistsError):
            (folder / name).symlink_to(target)
    with contextlib.suppress(FileExistsError):
        os.mkfifo(folder / "pipe.txt")
    broken = folder / "broken-tokenizer"
    broken.mkdir(exist_ok=True)
    (broken / "tokenizer.json").write_text('{"version": "1.0"')


def _models(folder: Path) -> None:
    data = ["--data", str(folder / "texts.jsonl"), "--dev", str(folder / "dev.jsonl"), "--scale", "tiny"]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main_of(["train", "luna-scratch", *data, CPU, "--output-dir", str(folder / "model")])
        main_of(["train", "masked-lm", *data, CPU, "--output-dir", str(folder / "plain-model")])
        scratch = [f"model.scratch={_causal()}", "model.objective=causal", CPU]
        scratch += ["model.recipe=fone", "model.dropout=0.0"]
        main_of(["train", "masked-lm", *scratch, *data, "--output-dir", str(folder / "causal-model")])
        main_of(["train", "records", CPU, "--scale", "tiny", "--data", str(folder / "records.csv"), "--output-dir",
                 str(folder / "record-model")])  # fmt: skip
        main_of(["train", "records", CPU, "--scale", "tiny", "--data", str(folder / "brackets.csv"), "--output-dir",
                 str(folder / "bracket-model")])  # fmt: skip
        main_of(["prepare", "masked-lm", *data, "-o", str(folder / "prepared")])
        main_of([
            "compare", "--task", "add-6", "--encodings", "digits", "--rates", "1e-3", "--seeds", "1", "--scale", "tiny",
            "--budget", "samples", "--amount", "32", "-o", str(folder / "compared"),
        ])  # fmt: skip
        main_of(["pack", str(folder / "compared"), str(folder / "packed.json"), "--command", "numerate compare"])


def _causal() -> str:
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "n_positions": 64}
    tokenizer = {"method": "bytes", "vocabulary": 400}
    return json.dumps(
        {"kind": "scratch", "architecture": "gpt2", "task": "causal-lm", "sizes": sizes, "tokenizer": tokenizer}
    )


def damaged_models(folder: Path, model: str = "model") -> dict[str, str]:
    """Writes copies of a model's folder with one damaged file each; returns descriptions by the copy's name."""
    names = {}
    files = [path for path in sorted((folder / model).rglob("*")) if path.is_file()]
    own = [path.relative_to(folder / model) for path in files]
    own = [
        path for path in own if not path.parts[0].startswith(("checkpoint-", "prepared", ".")) and path.suffix != ".md"
    ]
    for file in own:
        for damage in ("cut", "emptied", "missing", "garbage", "a folder"):
            name = f"{model}-{damage.split()[-1]}-{'-'.join(file.parts).replace('.', '-')}"
            path = _copy(folder, name, model) / file
            content = path.read_bytes()
            if damage in ("missing", "a folder"):
                path.unlink()
                if damage == "a folder":
                    path.mkdir()
            else:
                half = content[: len(content) // 2]
                path.write_bytes({"cut": half, "emptied": b"", "garbage": b"\xff\0{[" * 99}[damage])
            names[name] = f"{file}: {damage}"
    return names


def _copy(folder: Path, name: str, model: str = "model") -> Path:
    target = folder / name
    ignored = shutil.ignore_patterns("checkpoint-*", "prepared")
    shutil.copytree(folder / model, target, dirs_exist_ok=True, ignore=ignored)
    return target


def _damaged(folder: Path) -> None:
    """Folders that somebody else may have written."""
    run = json.loads((folder / "model" / "run.json").read_text())
    pushing = _copy(folder, "pushing")
    run["config"]["resolved"]["training"] |= {"push_to_hub": True, "hub_model_id": "nobody/stolen"}
    (pushing / "run.json").write_text(json.dumps(run))
    (_copy(folder, "list-run") / "run.json").write_text("[]")
    (_copy(folder, "deep-run") / "run.json").write_text("[" * 100_000)
    outside = _copy(folder, "outside")
    weights = next(outside.glob("*.safetensors"))
    weights.unlink()
    weights.symlink_to(folder / "model" / weights.name)
    large = _copy(folder, "hundred-thousand-layers")
    for path in large.rglob("config.json"):
        config = json.loads(path.read_text())
        for key in ("num_hidden_layers", "n_layer"):
            if key in config:
                config[key] = 100_000
        path.write_text(json.dumps(config))
    import torch
    from safetensors.torch import load_file, save_file

    spoiled = _copy(folder, "nan-weights")
    for path in spoiled.rglob("*.safetensors"):
        found = load_file(path)
        name = next(key for key, value in found.items() if value.is_floating_point())
        found[name] = torch.full_like(found[name], float("nan"))
        save_file(found, path, {"format": "pt"})
    shards = folder / "flipped-shard"
    shutil.copytree(folder / "prepared", shards, dirs_exist_ok=True)
    target = max(
        (path for path in (shards / "train").rglob("*") if path.is_file()), key=lambda path: path.stat().st_size
    )
    content = bytearray(target.read_bytes())
    content[len(content) // 2] ^= 1
    target.write_bytes(content)
    for name, content in {"damaged-results": "{", "other-results": '{"figures": 5}'}.items():
        shutil.copytree(folder / "compared", folder / name, dirs_exist_ok=True)
        for path in (folder / name).rglob("*.json"):
            path.write_text(content)
    (folder / "not-packed.json").write_text("[]")
    packed = json.loads((folder / "packed.json").read_text())
    for name, change in {
        "no-trials": {"trials": []},
        "no-others": {"others": 5},
        "odd-trial": {"trials": {"x": 5}},
    }.items():
        (folder / f"packed-{name}.json").write_text(json.dumps(packed | change))
