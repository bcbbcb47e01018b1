"""Which transformers classes work with `attach`: a tiny model of each goes through every check, and a page is written.

    python benchmarks/architectures.py                                   # all classes; writes docs/architectures.md
    python benchmarks/architectures.py --only BertForMaskedLM,OPTForCausalLM --page /tmp/page.md

A class passes, or `attach` refuses it in one line that says what to do; anything else is a failure, and the command
ends with status 1.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import tempfile
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import harness
import tiny_architectures
import torch
import transformers
from tiny_models import ASKING, NUMBERS, PLAIN, open_features

import numerate
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PAGE = Path(__file__).parents[1] / "docs" / "architectures.md"
PROMPTS = ["The tower is", "A cat sat on the mat, and nobody asked why it weighs 12"]
ALONE = "alone"
"""The outcome of `predict` where the bare backbone itself reads the padding."""
TOLERANCE = 1e-4
"""Largest difference of two outputs that should be equal: padding changes the order of sums."""


@dataclass
class Row:
    """What was found for one class.

    Attributes:
        name: The class.
        task: The task that the library sees in it; empty if it is refused.
        refusal: The line with which `attach` refuses it; empty if it does not.
        checks: The outcome of each check: "yes", "-" where it does not apply, `ALONE`, or the error.
        seconds: How long it took.
    """

    name: str
    task: str = ""
    refusal: str = ""
    checks: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def failures(self) -> dict[str, str]:
        """The checks that failed."""
        return {name: found for name, found in self.checks.items() if found not in ("yes", "-", ALONE)}


class Subject:
    """A tiny model of a class with number sense, and its batches."""

    def __init__(self, name: str) -> None:
        self.backbone, self.tokenizer = tiny_architectures.tiny_backbone(name), tiny_architectures.tokenizer()
        self.before = copy.deepcopy(self.backbone.state_dict())
        self.kept = copy.deepcopy(self.backbone)
        torch.manual_seed(0)
        self.model = numerate.attach(self.backbone, self.tokenizer)
        self.info = self.model.info
        if not self.info.is_language_model:  # their recipes need no head, but one can be asked for
            numerate.detach(self.model)
            self.model = numerate.attach(self.backbone, self.tokenizer, head="mixture")
        open_features(self.model)

    def batch(self, texts: list[str], side: str = "right") -> dict[str, Any]:
        """A processor's batch, with labels for an encoder-decoder."""
        texts = self.asked(texts)
        batch = dict(self.model.processor(texts, padding=True, padding_side=side, return_tensors="pt"))
        if self.info.is_encoder_decoder:
            batch |= {f"decoder_{key}": value for key, value in batch.items() if key.startswith("number_")}
            batch["labels"] = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
        return batch

    def asked(self, texts: list[str]) -> list[str]:
        """The texts, for a question answerer behind a question: Longformer's counts the separators."""
        return [f"Why?</s></s>{text}" for text in texts] if self.info.task == "question-answering" else texts

    def labels(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Labels for the backbones that are no language models."""
        rows, length = batch["input_ids"].shape
        if self.info.task == "sequence-classification":
            return {"labels": torch.arange(rows) % 2}
        if self.info.task == "token-classification":
            return {"labels": torch.arange(rows * length).reshape(rows, length) % 2}
        if self.info.task == "question-answering":
            return {"start_positions": torch.ones(rows).long(), "end_positions": torch.full((rows,), 2)}
        return {}


def same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and torch.allclose(one, other, atol=TOLERANCE, rtol=TOLERANCE)


def tensors(output: Any) -> dict[str, torch.Tensor]:
    """The outputs that both the bare and the attached model have."""
    names = ("logits", "start_logits", "end_logits", "last_hidden_state", "pooler_output")
    return {name: output[name] for name in names if isinstance(output.get(name), torch.Tensor)}


@torch.no_grad()
def check_plain(subject: Subject) -> str:
    """Texts without numbers give the bare backbone's outputs; padded left, with positions that count real tokens."""
    for side in ("right",) if subject.info.is_encoder_decoder else ("right", "left"):  # encoders are padded right
        ours = subject.batch(PLAIN, side)
        bare = {key: ours[key] for key in ("input_ids", "attention_mask", "labels") if key in ours}
        places = subject.info.position_ids(bare["input_ids"], bare["attention_mask"])
        if side == "left" and places is not None and subject.info.takes_positions:
            bare["position_ids"] = places  # which count real tokens only
        if "attention_mask" not in takes(subject.kept):
            del bare["attention_mask"]
        if subject.info.is_encoder_decoder and not subject.info.is_language_model:
            bare["decoder_input_ids"] = ours["decoder_input_ids"] = bare["input_ids"]
            bare.pop("labels"), ours.pop("labels")
        expected, found = tensors(subject.kept(**bare)), subject.model(**ours)
        assert expected, "the backbone returns no logits or states"
        for name, value in expected.items():
            own = getattr(found, name)
            own = own[..., : value.shape[-1]] if name == "logits" else own
            if value.shape[:2] == ours["input_ids"].shape:
                real = ours["attention_mask"] > 0
                own, value = own[real], value[real]
            assert same(own, value), f"{name} differ, {side}"
    return "yes"


def takes(model: Any) -> Any:
    """The arguments of a model's forward."""
    return inspect.signature(model.forward).parameters


def check_forward(subject: Subject) -> str:
    """Texts with numbers give finite outputs."""
    with torch.no_grad():
        output = subject.model(**with_decoder(subject, subject.batch(NUMBERS)), return_loss=False)
    assert all(value.isfinite().all() for value in tensors(output).values()), "not finite"
    return "yes"


def with_decoder(subject: Subject, batch: dict[str, Any]) -> dict[str, Any]:
    """A bare encoder-decoder has no labels."""
    if subject.info.is_encoder_decoder and not subject.info.is_language_model:
        batch["decoder_input_ids"] = batch.pop("labels").clamp_min(0)
    return batch


def check_backward(subject: Subject) -> str:
    """Head and embedder get finite gradients, not all zero; a classifier's head from numbers that are asked for."""
    model = subject.model.train()
    try:
        torch.manual_seed(0)
        batch = with_decoder(subject, subject.batch(NUMBERS * 3))
        loss = model(**batch, **subject.labels(batch)).loss
        if loss is None:
            loss = sum(value.square().mean() for value in tensors(model(**batch)).values())
        if not subject.info.is_language_model:  # no number is asked for in their losses
            asked = with_decoder(subject, subject.batch(ASKING))
            numbers = model(**asked, return_loss=False).numbers
            loss = loss - score_of(numbers).mean()
        assert loss.isfinite(), f"loss {loss.item()}"
        loss.backward()
        for part in ("head", "embedder", "own_rows"):
            grads = [weight.grad for name, weight in model.named_parameters() if name.split(".")[0] == part]
            grads = [grad for grad in grads if grad is not None]
            if part == "embedder" and not list(model.embedder.parameters()):
                grads = [weight.grad for weight in model.gate.parameters() if weight.grad is not None]
            if part == "own_rows" and not grads:
                continue
            assert grads, f"no gradient in {part}"
            assert all(grad.isfinite().all() for grad in grads), f"gradient of {part} not finite"
            assert part == "own_rows" or any(bool(grad.any()) for grad in grads), f"gradient of {part} is 0"
    finally:
        model.zero_grad()
        model.eval()
    return "yes"


def check_state(subject: Subject) -> str:
    """The number head reads the state that a language model's head reads; of other models, the last state."""
    model, seen = subject.model, []
    run = model.last_state.run

    def recorded(*arguments: Any, **options: Any) -> Any:
        output, state = run(*arguments, **options)
        seen.append(state)
        return output, state

    model.last_state.run = recorded
    try:
        batch = with_decoder(subject, subject.batch(PLAIN))
        output = model(**batch, return_loss=False)
    finally:
        del model.last_state.run
    state = seen[-1]
    assert state is not None and state.shape[-1] == subject.info.hidden_dim, "no state"
    read = tensors(output)
    if not subject.info.is_language_model:  # a head may read a pooled vector, which is made of the same state
        bare = {key: value for key, value in batch.items() if key in takes(subject.kept)}
        found = subject.kept(**bare, output_hidden_states=True)
        states = found.get("hidden_states", found.get("decoder_hidden_states"))
        last = found.get("last_hidden_state", None if states is None else states[-1])
        real = batch["attention_mask"] > 0  # where OPT counts other positions than ours, which no token reads
        close = last is not None and last.shape == state.shape and same(state[real], last[real])
        assert close, "another state than the backbone's last one"
        return "yes"
    read["logits"] = read["logits"][..., : model.processor.first_id]  # without those of our own tokens
    score = sum(value.float().square().sum() for value in read.values())
    (gradient,) = torch.autograd.grad(score, [state], allow_unused=True)
    assert gradient is not None and bool(gradient.any()), "the backbone's head reads another state"
    if subject.info.is_causal:
        changed = dict(batch)
        changed["input_ids"] = batch["input_ids"].clone()
        changed["input_ids"][:, -1] = 20
        other = model(**changed, return_loss=False)
        assert same(other.logits[:, :-1], output.logits[:, :-1]), "a token changes the logits before it"
    return "yes"


def check_predict(subject: Subject) -> str:
    """`predict` gives the same distributions for each text alone as in a padded batch, whichever side is padded."""
    model, tokenizer = subject.model, subject.tokenizer
    for side in ("left", "right"):
        tokenizer.padding_side = side
        outcome = _predicted(subject, model)
    return outcome


def _predicted(subject: Subject, model: Any) -> str:
    if subject.info.is_encoder_decoder:
        if not subject.info.is_language_model:
            return "-"
        together = model.predict(PROMPTS, "It is [NUM].")
        alone = [model.predict(text, "It is [NUM].") for text in PROMPTS]
    else:
        asking = subject.asked(ASKING)
        together, alone = model.predict(asking), [model.predict(text) for text in asking]
    assert together.median().isfinite().all(), "not finite"
    # Not the medians: those of an untrained head are all near 0.
    if same(score_of(together), torch.cat([score_of(one) for one in alone])):
        return "yes"
    assert reads_padding(subject), "other numbers alone than in a batch"
    return ALONE


@torch.no_grad()
def reads_padding(subject: Subject) -> bool:
    """Whether the bare backbone itself gives other outputs for a text in a padded batch than for the text alone."""
    batch = dict(subject.tokenizer(PLAIN, padding=True, padding_side="right", return_tensors="pt"))
    bare = {key: value for key, value in batch.items() if key in takes(subject.kept)}
    length = int(batch["attention_mask"][0].sum())
    padded = tensors(subject.kept(**bare))
    alone = tensors(subject.kept(**{key: value[:1, :length] for key, value in bare.items()}))
    name = next(iter(padded))
    return not same(padded[name][:1, :length], alone[name])


def score_of(numbers: Any) -> torch.Tensor:
    """The log-probability of one number in each distribution."""
    return numbers.log_prob(NumberTable.of_numerals([Numeral("3", 0, 1, 3.0)] * len(numbers)))


def check_generate(subject: Subject) -> str:
    """`generate` writes the same alone as in a batch, and with as without a cache."""
    info, model = subject.info, subject.model
    if not (info.is_language_model and (info.is_causal or info.is_encoder_decoder)):
        return "-"
    together = model.generate(PROMPTS, max_new_tokens=5)
    alone = [model.generate(text, max_new_tokens=5).ids[0] for text in PROMPTS]
    assert together.ids == alone, f"{together.ids} in a batch, alone {alone}"
    slow = model.generate(PROMPTS, max_new_tokens=5, use_cache=False).ids
    assert together.ids == slow, f"{together.ids} with a cache, without {slow}"
    model.generate(PROMPTS, max_new_tokens=3, num_beams=2)
    return "yes"


@torch.no_grad()
def check_saving(subject: Subject, whole: bool) -> str:
    """The model is saved and loaded, with its backbone or onto the same one, and gives the same outputs."""
    model = subject.model
    batch = with_decoder(subject, subject.batch(NUMBERS))
    expected = tensors(model(**batch, return_loss=False))
    with tempfile.TemporaryDirectory() as folder:
        # Of tied weights, the state dict has one, as the HF Trainer saves it.
        model.save_pretrained(folder, backbone=whole, state_dict=model.state_dict() if whole else None)
        given = {} if whole else {"backbone": copy.deepcopy(subject.kept), "tokenizer": subject.tokenizer}
        loaded = numerate.from_pretrained(folder, **given).eval()
    assert type(loaded.backbone) is type(model.backbone), f"loaded as {type(loaded.backbone).__name__}"
    found = tensors(loaded(**batch, return_loss=False))
    assert all(same(found[name], value) for name, value in expected.items()), "other outputs"
    return "yes"


def check_detach(subject: Subject) -> str:
    """`detach` returns the same backbone with the same weights and no hooks."""
    assert numerate.detach(subject.model) is subject.backbone
    after = subject.backbone.state_dict()
    assert after.keys() == subject.before.keys(), "other weights"
    assert all(torch.equal(after[key], value) for key, value in subject.before.items()), "weights changed"
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in subject.backbone.modules()), "hooks stay"
    return "yes"


CHECKS: dict[str, Callable[[Subject], str]] = {
    "without numbers": check_plain,
    "forward": check_forward,
    "backward": check_backward,
    "state": check_state,
    "predict": check_predict,
    "generate": check_generate,
    "save own": lambda subject: check_saving(subject, whole=False),
    "save all": lambda subject: check_saving(subject, whole=True),
    "detach": check_detach,
}


def row_of(name: str) -> Row:
    """Takes one class through all checks."""
    row, began = Row(name), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            subject = Subject(name)
        except (TypeError, ValueError) as error:
            line = str(error)
            good = name in line and "\n" not in line and ": " in line
            row.checks["attach"] = "-" if good else f"{type(error).__name__}: {line[:300]}"
            row.refusal, row.seconds = line if good else "", time.perf_counter() - began
            return row
        except Exception as error:  # any other error is a failure of the library
            row.checks["attach"] = f"{type(error).__name__}: {error}"[:300]
            return row
        row.task, row.checks["attach"] = subject.info.task, "yes"
        for check, run in CHECKS.items():
            try:
                row.checks[check] = run(subject)
            except Exception as error:
                row.checks[check] = f"{type(error).__name__}: {error}"[:300].replace("\n", " ")
    row.seconds = time.perf_counter() - began
    return row


def page_of(rows: Sequence[Row]) -> str:
    """The page of all rows."""
    passed, refused = [row for row in rows if not row.refusal], [row for row in rows if row.refusal]
    good = sum(not row.failures and ALONE not in row.checks.values() for row in passed)
    alone = sum(ALONE in row.checks.values() for row in passed)
    lines = [
        "# Architectures", "",
        "Which transformers classes `numerate.attach` takes. Each was checked on a tiny model with random weights by",
        f"`python benchmarks/architectures.py`, with transformers {transformers.__version__}: of {len(rows)} classes, "
        f"{good} pass every check, {alone} pass",
        f"all but the comparison of padded batches, and {len(refused)} are refused by `attach` in one line that says",
        "what to do.", "",
    ]  # fmt: skip
    about = {"attach": "`attach` takes the model."} | {name: check.__doc__ or "" for name, check in CHECKS.items()}
    about["save own"] = "Our weights are saved and loaded onto the same backbone, with the same outputs."
    about["save all"] = "All weights are saved (`backbone=True`) and loaded from the folder, with the same outputs."
    lines += ["| check | what it says |", "|---|---|", *(f"| {name} | {text} |" for name, text in about.items())]
    lines += [
        "",
        "A `-` marks a check that does not apply, such as `generate` for a classifier. `alone` marks a backbone that",
        "reads its padding, with or without numerate: ask `predict` for one text at a time.",
        "",
        "## Classes",
        "",
    ]
    lines += [f"| class | task | {' | '.join(about)} |", f"|---|---|{'---|' * len(about)}"]
    for row in passed:
        found = ["**no**" if name in row.failures else row.checks.get(name, "") for name in about]
        lines.append(f"| {row.name} | {row.task} | {' | '.join(found)} |")
    lines += ["", "## Refused", "", "| class | the error of `attach` |", "|---|---|"]
    lines += [f"| {row.name} | {row.refusal} |" for row in refused]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = harness.parser_of(__doc__)
    parser.add_argument("--only", default="", help="names of classes, separated by commas; all by default")
    parser.add_argument("--page", default=str(PAGE), help="the Markdown page that is written")
    options = parser.parse_args(arguments)
    transformers.logging.set_verbosity_error()
    names = [name for name in options.only.split(",") if name] or list(tiny_architectures.CLASSES)
    if unknown := [name for name in names if name not in tiny_architectures.CLASSES]:
        parser.error(f"--only: unknown class {unknown[0]!r}")
    rows = []
    for name in names:
        rows.append(row := row_of(name))
        said = row.refusal or ("; ".join(f"{check}: {why}" for check, why in row.failures.items()) or "yes")
        print(f"{name:45} {row.task:24} {row.seconds:5.1f} s  {said}", flush=True)
    Path(options.page).write_text(page_of(rows), encoding="utf-8")
    harness.write(options, [dataclasses.asdict(row) for row in rows])
    failed = [row.name for row in rows if row.failures]
    print(f"{len(rows)} classes, {len(failed)} with failures; {sum(row.seconds for row in rows):.0f} s; {options.page}")
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
