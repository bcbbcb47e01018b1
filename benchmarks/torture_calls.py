"""The hostile calls: arguments, files, settings, folders, disks, memory, pipes and signals, for every command."""

# ruff: noqa: E501 (a table of calls)

from __future__ import annotations

from dataclasses import replace

from torture_run import Call

CPU = "training.use_cpu=true"
TRAIN = f"train masked-lm --scale tiny {CPU} --data texts.jsonl"
RECORDS = f"train records --scale tiny {CPU}"
COMPARE = "compare --encodings digits --rates 1e-3 --seeds 1 --scale tiny --budget samples --amount 32"
OK = 0
EITHER = (0, 2)
OFFLINE = (("HF_HUB_OFFLINE", "1"),)


def _group(name: str, calls: list[Call | str]) -> list[Call]:
    return [replace(Call(call) if isinstance(call, str) else call, group=name) for call in calls]


def _arguments() -> list[Call]:
    return _group("Arguments", [
        Call("", OK, "Usage"), Call("nosuchcommand"), "--no-such-option", "find", "find a b c",
        "find texts.txt --reader x", "find texts.txt --processes 0", "find texts.txt --processes 99999999999999999999",
        "find texts.txt --processes -1", "find texts.txt --locale klingon", "find texts.txt --reader luna --words",
        Call("find ''"), "find /", Call("find 'a\\0b'", says="no such file"), "find loop", "find nowhere",
        Call("find '\udcff.txt'", says="no such file"), Call("find texts.txt --field '\udcff'"), "stats",
        "stats texts.txt nosuch.txt", "stats texts.txt --reader ''", "audit", "audit texts.txt", "audit folder",
        "audit broken-tokenizer", "demo --reader x", Call("demo --seed -1", says="seed"),
        "demo --seed 99999999999999999999999", "demo --output a-file --quick", "train", "train nosuchrun",
        "train luna --scale giant", "train luna model.recip=luna", "train luna =", "train luna a.b.c",
        "train luna 'training=[1,2]' --data texts.jsonl", "prepare luna", "eval", "eval nosuchmodel --data texts.jsonl",
        "eval folder --data texts.jsonl", "predict", "predict nosuch records.csv --field mass", "generate nosuch hello",
        "generate folder hello", "fill", "fill 'no gap' --model nosuch", "fill 'a [MASK] b [MASK]' --model nosuch",
        "fill 'a [MASK] 5' --model nosuch --swap five", "fill 'a [MASK] 5' --model nosuch --top 0",
        "fill 'a [MASK] 5' --model nosuch", "compare", "compare --task nosuch --encodings digits",
        "compare --task add-6 --encodings nosuch", "compare --task add-6 --encodings ''",
        "compare --task add-6 --encodings digits --rates x", "compare --task add-6 --encodings digits --rates nan",
        "compare --task add-6 --encodings digits --rates inf", "compare --task add-6 --encodings digits --seeds 0",
        "compare --task add-6 --encodings digits --option width", "compare --task add-6 --encodings digits --option width=x",
        "compare --task add-6 --encodings digits --option 'a=['", "compare --task add-6 --encodings digits --rate-share nan",
        Call("compare --task add-6 --encodings digits --budget samples --amount inf", says="amount"),
        Call("compare --task add-6 --encodings digits --budget samples --amount nan", says="amount"),
        Call("compare --task add-6 --encodings digits --budget samples --amount -1", says="amount"),
        "compare --task add-6 --encodings digits --budget nosuch --amount 1", "reproduce nosuch",
        "reproduce xval-table2 --scale nosuch", "reproduce xval-table2 --seeds 0 -o out/reproduced",
        "reproduce numerals-2018 --seconds nan -o out/reproduced", "pack folder out/packed.json --command x",
        "pack nosuch out/packed.json --command x", "recompute nosuch.json", "recompute texts.txt", "recompute folder",
        "extract", "extract nosuch", "extract wiki-convert nosuch.xml", "extract wiki-convert folder",
        "extract wiki-convert cut.xml --name '{{'", "extract wiki-convert cut.xml --most-units -1",
        "--plugin nosuch.py find texts.txt", Call("--plugin plugin.py find texts.txt", says="broken plugin"),
        "--plugin folder find texts.txt", Call("--debug find nosuch", says="no such file", code=2),
    ])  # fmt: skip


def _files() -> list[Call]:
    good = ["empty", "blank", "nul", "bom", "crlf", "no-newline", "escape", "brackets", "digits", "commas", "points",
            "signs", "parens", "exponents", "unicode"]  # fmt: skip
    calls = [Call(f"find {name}.txt", OK) for name in good]
    calls += [Call(f"stats {name}.txt", OK) for name in good if name not in ("digits", "points", "signs")]
    calls += [Call(f"find {name}.txt --json", OK) for name in ("nul", "brackets", "digits")]
    calls += [
        Call("stats '[/ok].txt'", OK, "ok]"), Call("find -- -dash.txt", OK),
        Call("find link.txt", OK), Call("find -", OK, stdin=b"5\n"), Call("find - --processes 2", OK, stdin=b"5\n" * 9),
        Call("find utf16.txt", says="utf16.txt:1: "), Call("find bad-utf8.txt", says="bad-utf8.txt:2: "),
        Call("find bad-utf8.txt --processes 2", says="bad-utf8.txt:2: "), Call("stats bad-utf8.txt", says=":2: "),
        Call("find not-gzip.gz"), Call("find cut.txt.gz"), Call("find twice.gz"),
        Call("find zip-bomb.txt.gz", OK), Call("find not-json.jsonl --field text", says=":1: not JSON"),
        Call("find deeper.jsonl --field text", says=":1: "), Call("find list-rows.jsonl --field text", says=":1: "),
        Call("find number-field.jsonl --field text", says=":1: "), Call("find cut.jsonl --field text", says=":1: "),
        Call("find surrogate.jsonl --field text", OK), Call("find surrogate.jsonl --field text --json", OK),
        Call("find escape-key.jsonl --reader records", OK), Call("find deeper.jsonl --reader records", OK),
        Call("audit model/backbone --text bad-utf8.txt", says=":2: "), Call("audit model/backbone --text empty.txt", OK),
        Call("audit model/backbone --text brackets.txt", OK), Call("audit model/backbone --text nul.txt", OK),
        Call("audit model/backbone --text surrogate.jsonl --field text", OK), Call("audit model/backbone --text digits.txt", OK),
    ]  # fmt: skip
    bad = {
        "nosuch.jsonl": "no such file", "folder": "folder", "texts.unknown": "format", "empty.jsonl": "no text",
        "not-json.jsonl": ":1: not JSON", "cut.jsonl": ":1: ", "other-field.jsonl": ":1: field 'text' is missing",
        "number-field.jsonl": ":1: ", "null-field.jsonl": ":1: ", "list-rows.jsonl": ":1: ",
        "surrogate.jsonl": "surrogate.jsonl:61: ", "deeper.jsonl": ":1: ", "object.json": "", "scalar.json": "",
        "list.json": "", "damaged.parquet": "not Parquet", "utf16.txt": ":1: ", "cut.txt.gz": "cannot be read",
        "blank.txt": "no text",
    }  # fmt: skip
    for name, says in bad.items():
        code: int | tuple[int, ...] = EITHER if name == "object.json" else 2
        calls.append(Call(TRAIN.replace("texts.jsonl", name) + f" --output-dir out/bad-{name}", code, says))
    for name in (
        "no-numbers.jsonl",
        "brackets.jsonl",
        "nul.jsonl",
        "huge.jsonl",
        "words.jsonl",
        "'[/ok].jsonl'",
        "one.jsonl",
    ):
        calls.append(Call(TRAIN.replace("texts.jsonl", name) + f" --output-dir out/{name.strip(chr(39))}", EITHER))
    calls += [
        Call(TRAIN + " --dev nosuch.jsonl --output-dir out/dev", says="no such file"),
        Call(TRAIN.replace("texts.jsonl", "split.jsonl") + " data.split=split --output-dir out/split", says="nowhere"),
        Call("prepare masked-lm --scale tiny --data surrogate.jsonl -o out/prepared-1", says="surrogate.jsonl:61: "),
        Call("prepare masked-lm --scale tiny --data deep.jsonl -o out/prepared-2", says="deep.jsonl:61: "),
        Call("prepare masked-lm --scale tiny --data prepared -o out/prepared-3", says="already prepared"),
        Call("prepare records --scale tiny --data records.csv -o out/prepared-4", says="records"),
    ]
    return _group("Texts and files", calls)  # type: ignore[arg-type]


def _records() -> list[Call]:
    bad = {
        "ragged.csv": ":2: ", "open-quote.csv": "not CSV", "header.csv": "", "empty.csv": "", "one-row.csv": "",
        "latin1.csv": ":2: ", "texts-only.csv": "", "deep-records.jsonl": "deep-records.jsonl:1: ",
        "surrogate-key.jsonl": "surrogate-key.jsonl:1: ", "mixed.jsonl": "", "nosuch.csv": "no such file",
        "infinite.csv": "", "not-a-number.csv": "",
    }  # fmt: skip
    calls = [
        Call(f"{RECORDS} --data {name} --output-dir out/{name}", EITHER if not says else 2, says)
        for name, says in bad.items()
    ]
    calls += [Call(f"{RECORDS} --data {name} --output-dir out/{name}", EITHER) for name in
              ("huge.csv", "constant.csv", "many.csv", "nul.csv", "brackets.csv", "escape-key.jsonl", "twice.csv")]  # fmt: skip
    predict = "predict record-model records.csv --field mass"
    calls += [
        Call("predict record-model records.csv --field nosuch", says="nosuch"), Call(predict + " --level 0"),
        Call(predict + " --level nan"), Call(predict + " --samples -1", says="--samples"),
        Call(predict + " --samples 1000000000", says="--samples"), Call(predict + " --seed -1", says="--seed"),
        Call(predict + " --seed 99999999999999999999999", says="--seed"), Call(predict, OK),
        Call(predict + " --json", OK), Call("predict record-model infinite.csv --field mass --json", EITHER),
        Call("predict record-model not-a-number.csv --field mass --json", EITHER),
        Call("predict record-model ragged.csv --field mass", says=":2: "),
        Call("predict record-model empty.csv --field mass", EITHER),
        Call("predict record-model folder --field mass"), Call("predict record-model texts.txt --field mass"),
        Call("predict record-model mixed.jsonl --field mass", EITHER),
        Call("predict record-model deep-records.jsonl --field mass", says="deep-records.jsonl:1: "),
        Call("predict record-model surrogate-key.jsonl --field mass", says="surrogate-key.jsonl:1: "),
        Call("predict bracket-model brackets.csv --field 'rate [/s]' --json", OK, "rate [/s]"),
        Call("predict bracket-model brackets.csv --field 'mass [kg]' --json", OK, "mass [kg]"),
        Call("predict model records.csv --field mass"), Call("predict folder records.csv --field mass"),
        Call("eval record-model --data records.csv", says="predict"),
    ]  # fmt: skip
    return _group("Records", calls)  # type: ignore[arg-type]


def _settings() -> list[Call]:
    wrong = [
        "training.max_steps=abc", "training.max_steps=1.5", "training.max_steps=null", "training.learning_rate=.nan",
        "training.learning_rate=.inf", "training.learning_rate=-1", "training.learning_rate=abc",
        "training.gradient_accumulation_steps=0", "training.per_device_train_batch_size=0",
        "training.per_device_train_batch_size=-3", "training.per_device_train_batch_size=x", "training.seed=-1",
        "training.seed=abc", "training.num_train_epochs=.nan", "training.warmup_steps=abc", "training.logging_steps=x",
        "training.save_steps=0", "training.save_strategy=nosuch", "training.lr_scheduler_type=nosuch",
        "training.optim=nosuch", "training.weight_decay=abc", "training.adam_beta2=7", "training.nosuch=1",
        "training.number_learning_rate=.nan", "training.nonfinite_limit=abc", "training.eval_seed=abc",
        "training.report_to=nosuch", "training.dataloader_num_workers=-1", "training.max_grad_norm=abc",
        "model.scratch.tokenizer.vocabulary=-5", "model.scratch.tokenizer.vocabulary=0",
        "model.scratch.tokenizer.vocabulary=x", "model.scratch.tokenizer.method=nosuch",
        "model.scratch.sizes.hidden_size=0", "model.scratch.sizes.hidden_size=-8", "model.scratch.sizes.hidden_size=33",
        "model.scratch.sizes.hidden_size=abc", "model.scratch.sizes.num_attention_heads=0",
        "model.scratch.sizes.num_hidden_layers=-1", "model.scratch.sizes.num_hidden_layers=100000000",
        "model.scratch.sizes.max_position_embeddings=0", "model.scratch.sizes.nosuch=1",
        "model.scratch.architecture=nosuch", "model.scratch.architecture=../evil", "model.dropout=7", "model.dropout=.nan",
        "model.recipe=nosuch", "model.embedder=nosuch", "model.head=nosuch", "model.objective=nosuch",
        "model.objective.ratio=7", "model.objective.ratio=.nan", "model.reader=nosuch", "model.freeze=nosuch",
        "model.checkpoint=nosuch", "data.max_tokens=0", "data.max_tokens=1", "data.limit=-1", "data.sample=0",
        "data.format=nosuch", "data.text=nosuch", "data.records=maybe", "data.train=5",
    ]  # fmt: skip
    loose = {
        "data.max_tokens=1",
        "training.dataloader_num_workers=-1",
        "training.max_steps=null",
        "training.adam_beta2=7",
    }
    calls = [
        Call(f"{TRAIN} {change} --output-dir out/s{i}", 2) for i, change in enumerate(wrong) if change not in loose
    ]
    calls += [Call(f"{TRAIN} {change} --output-dir out/l{i}", EITHER) for i, change in enumerate(sorted(loose))]
    names = {"bomb": "", "loop": "", "tag": "not YAML", "tab": ":2: ", "list": "", "empty": "", "deep": "not YAML",
             "unknown": "training", "binary": "cannot be read"}  # fmt: skip
    calls += [Call(f"train {name}.yaml --data texts.jsonl", 2, says, seconds=10) for name, says in names.items()]
    calls += [
        Call("train nosuch.yaml"),
        Call("train folder.yaml"),
        Call("eval bomb.yaml --data texts.jsonl", seconds=10),
    ]
    return _group("Settings", calls)  # type: ignore[arg-type]


def _models() -> list[Call]:
    limit = "generate causal-model 'The tower is'"
    calls = [
        Call(f"generate causal-model '{'word ' * 100}'", says="positions"), Call(f"{limit} --max-new-tokens 0", EITHER),
        Call(f"{limit} --max-new-tokens -1"), Call(f"{limit} --beams 0"), Call(f"{limit} --temperature 0 --sample"),
        Call(f"{limit} --temperature nan --sample"), Call(f"{limit} --max-new-tokens 4", OK),
        Call(f"{limit} --max-new-tokens 4 --json", OK), Call("generate causal-model ''", EITHER),
        Call("generate causal-model '\udcff' --max-new-tokens 2", says="prompt"), Call("generate causal-model"),
        Call("generate causal-model x --file texts.txt"), Call("generate causal-model --file bad-utf8.txt", says=":2: "),
        Call("generate causal-model --file nosuch"), Call("generate causal-model --file empty.txt", OK),
        Call("generate causal-model '[/ok] [bold]5' --max-new-tokens 2", OK, "[/ok]"), Call("generate model x", EITHER),
        Call("fill 'The [MASK] is 5 m [/s].' --model plain-model", OK, "[/s]"),
        Call("fill 'The [MASK] is 5 m.' --model plain-model --json", OK),
        Call("fill 'The [MASK] is 5 \udcff.' --model plain-model", says="text"),
        Call(f"fill 'The [MASK] is {'5 ' * 400}' --model plain-model", says="tokens"),
        Call("fill 'The [MASK] is 5 m.' --model causal-model", EITHER), Call("fill 'The [MASK] is 5 m.' --model folder"),
        Call("eval model --data texts.jsonl", OK), Call("eval model --data texts.jsonl --json", OK),
        Call("eval model --data no-numbers.jsonl --json", OK), Call("eval model --data '[/ok].jsonl'", OK, "ok].jsonl"),
        Call("eval model --data surrogate.jsonl", says="surrogate.jsonl:61: "), Call("eval model --data empty.jsonl"),
        Call("eval model --data huge.jsonl --json", EITHER), Call("eval model --scale tiny --data texts.jsonl"),
        Call("eval model training.max_steps=abc --data texts.jsonl"), Call("eval model nosuch=1 --data texts.jsonl"),
        Call("train nosuch/model.yaml"), Call(f"{TRAIN} --output-dir model", says="already contains a run"),
        Call(f"{TRAIN} --output-dir out/none --resume"), Call(f"{TRAIN} --output-dir a-file", says="is a file"),
        Call(f"{TRAIN} --output-dir a-file/below"), Call("train luna --data texts.jsonl --output-dir out/hub", says="cannot be loaded"),
        Call("train masked-lm --scale tiny --data nobody/nosuch --output-dir out/hub2", says="nobody/nosuch"),
        Call("eval nobody/nosuch --data texts.jsonl"), Call("generate nobody/nosuch x"),
        Call("fill 'a [MASK]' --model nobody/nosuch"),
        Call("pack compared a-file/x.json --command x"), Call("pack compared folder --command x"),
        Call("recompute packed.json", OK), Call("recompute not-packed.json"), Call("recompute packed-no-trials.json"),
        Call("recompute packed-no-others.json"), Call("recompute packed-odd-trial.json"),
        Call("pack damaged-results out/p.json --command x"), Call("pack other-results out/p.json --command x"),
        Call(f"{COMPARE} --task add-6 -o damaged-results"), Call(f"{COMPARE} --task add-6 -o other-results"),
        Call(f"{COMPARE} --task add-6 -o a-file"), Call(f"{COMPARE} --task not-json.jsonl -o out/c1", says="not-json.jsonl"),
        Call(f"{COMPARE} --task empty.jsonl -o out/c2", says="empty.jsonl"), Call(f"{COMPARE} --task one.jsonl -o out/c3", says="one.jsonl"),
        Call(f"{COMPARE} --task folder -o out/c4", says="folder"), Call(f"{COMPARE} --task bad-utf8.txt -o out/c5", says="bad-utf8.txt"),
        Call(f"{COMPARE} --task deep.jsonl -o out/c6", says="deep.jsonl"), Call(f"{COMPARE} --task no-numbers.jsonl -o out/c7", says="no-numbers.jsonl"),
        Call(f"{COMPARE} --task surrogate.jsonl -o out/c8", says="surrogate.jsonl"),
        Call(f"{COMPARE} --task '[/ok].jsonl' -o out/c9", EITHER),
        Call(f"{COMPARE} --task add-6 --option width=0 -o out/c10"), Call(f"{COMPARE} --task add-6 --option width=abc -o out/c11"),
        Call(f"{COMPARE} --task add-6 --option nosuch=1 -o out/c12"), Call(f"{COMPARE} --task add-6 --option batch=0 -o out/c13"),
        Call("extract wiki-convert cut.xml -o out/x1"), Call("extract wiki-convert bomb.xml -o out/x2"),
        Call("extract wiki-convert texts.txt -o out/x3"), Call("extract wiki-convert not-gzip.gz -o out/x4"),
        Call("extract wiki-convert cut.xml -o a-file"), Call("extract wiki-convert cut.xml -o folder"),
    ]  # fmt: skip
    return _group("Models and results", calls)  # type: ignore[arg-type]


def _trust() -> list[Call]:
    return _group("Hostile folders", [
        Call("eval pushing --data texts.jsonl", EITHER), Call("eval list-run --data texts.jsonl", EITHER),
        Call("eval deep-run --data texts.jsonl", EITHER), Call("eval outside --data texts.jsonl", 2),
        Call("eval hundred-thousand-layers --data texts.jsonl", 2, seconds=30),
        Call("eval nan-weights --data texts.jsonl", 2),
        Call(TRAIN.replace("texts.jsonl", "flipped-shard") + " --output-dir out/flipped", 2),
        Call("prepare masked-lm --scale tiny --data texts.jsonl -o folder", says="folder"),
        Call("prepare masked-lm --scale tiny --data texts.jsonl -o a-file", says="a-file"),
        Call("prepare masked-lm --scale tiny --data texts.jsonl -o nowhere"),
        Call("prepare masked-lm --scale tiny --data texts.jsonl -o loop/x"),
    ])  # fmt: skip


def _machine() -> list[Call]:
    """Disks, memory, pipes and signals."""
    writing = [
        f"{TRAIN} --output-dir {{}}", f"{RECORDS} --data records.csv --output-dir {{}}", f"{COMPARE} --task add-6 -o {{}}",
        "prepare masked-lm --scale tiny --data texts.jsonl -o {}", "demo --quick -o {}",
        "pack compared {}/packed.json --command x", "extract wiki-convert cut.xml -o {}",
        "reproduce xval-table1 -o {}",
    ]  # fmt: skip
    calls = [Call(words.format("read-only/x"), user=True, seconds=60) for words in writing]
    calls += [Call(words.format("/proc/numerate"), seconds=60) for words in writing]
    calls += [Call(words.format("a-file/x"), seconds=60) for words in writing]
    calls += [
        Call(words.format(f"out/full{i}"), largest=512) for i, words in enumerate(writing) if "extract" not in words
    ]
    calls += [
        Call(f"{TRAIN} --output-dir out/full-late", largest=60_000), Call("find texts.txt", stdout="full", says="no space"),
        Call("stats texts.txt", stdout="full", says="no space"), Call("doctor", stdout="full", says="no space"),
        Call("predict record-model records.csv --field mass --json", stdout="full", says="no space"),
        Call("eval model --data texts.jsonl", stdout="full", says="no space"), Call("--help", stdout="full", says="no space"),
        Call("find texts.txt", OK, stdout="closed"), Call("stats texts.txt", OK, stdout="closed"),
        Call("find digits.txt", memory=30, code=EITHER), Call("stats commas.txt", memory=60, code=EITHER),
        Call(f"{TRAIN} --output-dir out/memory", memory=2, code=EITHER),
        Call(f"{TRAIN} model.scratch.sizes.hidden_size=200000 --output-dir out/wide", memory=400, seconds=60),
        Call("predict record-model records.csv --field mass", memory=2, code=EITHER),
        Call("eval model --data texts.jsonl", memory=2, code=EITHER),
    ]  # fmt: skip
    streams = [
        "find commas.txt", "find commas.txt --json", "stats texts.txt", "doctor", "--help", "train --help", "audit model/backbone",
        "eval model --data texts.jsonl", "predict record-model records.csv --field mass --json --samples 2000",
        "generate causal-model --file texts.txt --max-new-tokens 2", "fill 'The [MASK] is 5 m.' --model plain-model",
        f"{TRAIN} --output-dir out/head1", "prepare masked-lm --scale tiny --data texts.jsonl -o out/head2",
        f"{COMPARE} --task add-6 -o out/head3", "demo --sample", "recompute packed.json",
        "pack compared out/head4.json --command x",
    ]  # fmt: skip
    calls += [Call(words, (0, 1) if words == "doctor" else OK, stdout="head") for words in streams]
    moments = (0.02, 0.1, 0.3, 0.6, 1.0, 2.0)
    calls += [
        Call("find -  --processes 2", (130, 0), stdin=b"5 apples\n" * 400_000, signal_after=at) for at in moments[:3]
    ]
    calls += [
        Call(f"{TRAIN} training.max_steps=200 --output-dir out/c{at}", (130, 0), signal_after=at) for at in moments
    ]
    calls += [Call(f"{COMPARE} --task add-6 -o out/cc{at}", (130, 0), signal_after=at) for at in moments[1:4]]
    return _group("Disks, memory, pipes, signals", calls)  # type: ignore[arg-type]


HEAVY = ("digits", "commas", "points", "signs", "parens", "exponents", "zip-bomb", "--processes 2", "deeper")


def sample() -> list[Call]:
    """Calls that need neither torch nor a model, for the tests: more than a tenth of all."""
    light = ("find", "stats", "--", "nosuch", "extract", "pack folder", "pack nosuch", "train nosuch", "train luna a")
    chosen = [call for call in calls() if call.words.startswith(light) or not call.words]
    plain = [call for call in chosen if not call.memory and not call.signal_after]
    return [call for call in plain if not any(part in call.words for part in HEAVY) and "-o" not in call.words.split()]


def calls() -> list[Call]:
    """All calls, by group."""
    return [*_arguments(), *_files(), *_records(), *_settings(), *_models(), *_trust(), *_machine()]
