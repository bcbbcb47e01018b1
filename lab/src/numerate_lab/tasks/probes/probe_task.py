"""The task `probes`: how much of a number its vector tells, as in LUNA's Table 2 and in Wallace et al. (2019)."""

from __future__ import annotations

import contextlib
import functools
import json
import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from numerate.config import ConfigError
from numerate.processing.number_table import NumberTable
from numerate.registry import UnknownNameError, embedders, near_names
from numerate.training.text_files import SourceError
from numerate_lab.engine.graphed_step import GraphedStep
from numerate_lab.engine.task import Column, Task
from numerate_lab.registry import tasks
from numerate_lab.tasks.probes.number_pools import NumberPool
from numerate_lab.tasks.probes.pretrained_vectors import pooled_vectors, saved_embedder
from numerate_lab.tasks.probes.probe_examples import EXPONENTS, draw_questions, scientific
from numerate_lab.tasks.probes.probe_models import KINDS, Probes
from numerate_lab.tasks.probes.probe_trial import ENCODINGS, SCALES, SETTINGS, ProbeTrial

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from numerate_lab.engine.task import Columns, Figures, Log

__all__ = ["ProbeTask"]

POOLED, FROZEN = "pooled", "-frozen"
"""The encoding of a pretrained model's vectors, and the ending of encodings that are not trained."""
_CHUNK = 8192


@contextlib.contextmanager
def _whole_floats() -> Iterator[None]:
    """Recurrent networks compute in float32 on an accelerator, too, not with 10 bits of the significand (TF32).

    Numbers of a list are often years, which differ by 1 in 2,000: less than such a rounding of their vectors.
    """
    was = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cudnn.allow_tf32 = was


@dataclass(frozen=True, eq=False)
class _Asked:
    """Questions of one split as tensors on a device.

    Attributes:
        numbers: (N,), (P, 2) and (L, K) places in the pool.
        answers: By kind: (N,) float64 significands or numbers, and (N,) int64 places of exponents (0 for numbers).
        largest: (L,) int64.
    """

    numbers: tuple[Tensor, Tensor, Tensor]
    answers: dict[str, tuple[Tensor, Tensor]]
    largest: Tensor


@tasks.register("probes")
class ProbeTask(Task):
    """One embedder or pretrained model: decoding, addition, subtraction and the maximum of a list, trained together."""

    Trial = ProbeTrial
    config: ProbeTrial
    tolerance = 1e-6
    """Stored predictions are float32."""
    scales: ClassVar[dict[str, dict[str, Any]]] = SCALES
    shares_files = True

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """A registered embedder, one of `settings.yaml`, or `pooled`; with the ending `-frozen` it is not trained."""
        bare = name.removesuffix(FROZEN)
        frozen = {"frozen": True} if bare != name else {}
        if bare == POOLED:
            return {}
        if bare in ENCODINGS:
            return ENCODINGS[bare] | frozen
        if bare not in embedders:
            known = [*embedders.names(), *ENCODINGS, POOLED]
            raise UnknownNameError(f"unknown encoding {bare!r} of probes: {near_names(bare, known)}")
        return {"embedder": {"kind": embedders.name_of(bare)}} | frozen

    # Data.

    @property
    def _pool_file(self) -> Path | None:
        return None if self.workspace.data is None else self.workspace.data / "numbers.json"

    @functools.cached_property
    def pool(self) -> NumberPool:
        """The numbers; read once for all processes of a grid."""
        key = ("pool", self.config.setting, self.config.source, self.config.most_tables, self.config.data_seed)
        return self.workspace.once(key, self._read_pool)

    def _read_pool(self) -> NumberPool:
        file = self._pool_file
        if file is not None and file.is_file() and self.config.scientific:
            return NumberPool.of(json.loads(file.read_text(encoding="utf-8")))
        return self.config.pool()

    def prepare(self, log: Log) -> None:
        """Reads the tables once and keeps their numbers for all processes."""
        file = self._pool_file
        if file is not None and self.config.scientific and not file.is_file():
            file.parent.mkdir(parents=True, exist_ok=True)
            self.pool.write(file)
            log(f"{len(self.pool.texts):,} different numbers in {len(self.pool.starts) - 1:,} groups")

    @functools.cached_property
    def device(self) -> torch.device:
        """An accelerator, if there is one."""
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    @functools.cached_property
    def table(self) -> NumberTable:
        """The number table of the pool, on the device."""
        return NumberTable.of_numerals(self.pool.numerals()).to(self.device)

    def examples(self, split: str) -> _Asked:
        """The questions of a split, drawn with the data's seed."""
        config = self.config
        count = {"train": config.examples, "dev": config.dev, "test": config.test}[split]
        key = ("questions", split, count, config.setting, config.source, config.most_tables, config.data_seed)
        return self.workspace.once(key, lambda: self._drawn(split, count))

    def _drawn(self, split: str, count: int) -> _Asked:
        config = self.config
        near = not config.scientific
        try:
            asked = draw_questions(self.pool, split, count, config.length, config.data_seed, near=near)
        except SourceError as error:
            raise SourceError(f"{config.source if config.scientific else config.setting}: {error}") from None

        def on_device(array: np.ndarray) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

        answers = {}
        for kind, values in asked.values.items():
            if config.scientific:
                significands, exponents = scientific(values)
                answers[kind] = on_device(significands), on_device(exponents - EXPONENTS[0])
            else:
                numbers = np.array([float(value) for value in values])
                answers[kind] = on_device(numbers), on_device(np.zeros(len(numbers), dtype=np.int64))
        singles, pairs, lists = map(on_device, (asked.singles, asked.pairs, asked.lists))
        return _Asked((singles, pairs, lists), answers, on_device(asked.largest))

    @functools.cached_property
    def units(self) -> dict[str, tuple[float, float]]:
        """Centre and scale of the answers of each kind that the probes learn: those of the training answers."""
        if self.config.scientific:
            return dict.fromkeys(KINDS, (0.0, 1.0))
        known = {kind: answers for kind, (answers, _) in self.examples("train").answers.items()}
        return {kind: (float(each.mean()), max(float(each.std()), 1e-9)) for kind, each in known.items()}

    # Model.

    def build(self) -> Probes:  # type: ignore[override]
        """Fresh probes on an embedder, fitted to the training numbers, or on a pretrained model's vectors."""
        config = self.config
        torch.manual_seed(config.seed)
        if config.embedder is None and config.model is None:
            raise ConfigError(f"encoding {config.encoding!r} of probes needs a model: give --option model=DIR")
        embedder, dim = None, config.width
        if config.embedder is not None:
            options: dict[str, Any] = config.embedder
            embedder = embedders[options["kind"]].build(dim=dim, **options)
            if config.embedding_scale:
                options = {"members": [options], "size": config.embedding_scale}
                torch.manual_seed(config.seed)
                embedder = embedders["rescaled"].build(dim=embedder.width, **options)
            embedder.fit(torch.from_numpy(self.pool.train_values()))
        elif (found := saved_embedder(str(config.model))) is not None:
            embedder = found
        if embedder is None:
            dim = self.fixed_vectors.shape[1]
        else:
            dim = embedder.width
            embedder.requires_grad_(not config.frozen)
        return Probes(embedder, dim, config.hidden, config.length, config.scientific).to(self.device)

    @functools.cached_property
    def fixed_vectors(self) -> Tensor:
        """The pooled vectors of all numbers of a pretrained model: (N, dim), the same for all seeds."""
        model = str(self.config.model)
        return self.workspace.once(("pooled", model), lambda: pooled_vectors(model, self.pool.texts, self.device))

    def _lookup(self, model: Probes) -> Any:
        """A function from places in the pool to vectors; vectors that are not trained are computed once."""
        if model.embedder is not None and not self.config.frozen:
            return lambda ids: model.vectors(self.table[ids])
        fixed = self.fixed_vectors if model.embedder is None else self._all_vectors(model)
        return lambda ids: fixed[ids]

    @torch.no_grad()
    def _all_vectors(self, model: Probes) -> Tensor:
        was = model.training
        model.eval()
        parts = [model.vectors(self.table[at : at + _CHUNK]) for at in range(0, len(self.table), _CHUNK)]
        model.train(was)
        return torch.cat(parts)

    @staticmethod
    def _answered(model: Probes, lookup: Any, numbers: Sequence[Tensor]) -> dict[str, list[Tensor]]:
        """The model's answers; all numbers are embedded in one call."""
        vectors = lookup(torch.cat([each.flatten() for each in numbers])).split([each.numel() for each in numbers])
        return model(*(part.view(*ids.shape, -1) for part, ids in zip(vectors, numbers, strict=True)))

    @_whole_floats()
    def train(self, model: Probes, log: Log | None = None) -> Figures:  # type: ignore[override]
        """Trains all probes together: the sum of squared errors and cross-entropies, unweighted as in LUNA."""
        config, asked = self.config, self.examples("train")
        units, lookup, start = self.units, self._lookup(model.train()), time.perf_counter()
        weights = [weight for weight in model.parameters() if weight.requires_grad]
        cuda = self.device.type == "cuda"
        # Character networks wait for the lengths of numbers, which a recorded step cannot.
        graphed = cuda and not (model.embedder is not None and model.embedder.costly)
        rate: Any = torch.tensor(config.rate, device=self.device) if graphed else config.rate
        optimizer = torch.optim.AdamW(
            weights, lr=rate, weight_decay=config.weight_decay, fused=cuda, capturable=graphed
        )
        rise, steps = max(1.0, config.warmup * config.steps), config.steps
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / rise, 0.5 * (1 + math.cos(math.pi * step / steps)))
        )
        draws = torch.Generator(self.device).manual_seed(config.seed)
        goals = {
            kind: (((values - units[kind][0]) / units[kind][1]).float(), exponents)
            for kind, (values, exponents) in asked.answers.items()
        }

        def learn(*rows: Tensor) -> Tensor:
            taken = [ids[row] for ids, row in zip(asked.numbers, rows, strict=True)]
            answers = self._answered(model, lookup, taken)
            loss = nn.functional.cross_entropy(answers["maximum"][0], asked.largest[rows[2]])
            for kind in KINDS:
                row = rows[0] if kind == "decoding" else rows[1]
                value, *logits = answers[kind]
                loss = loss + nn.functional.mse_loss(value, goals[kind][0][row])
                for each in logits:
                    loss = loss + nn.functional.cross_entropy(each, goals[kind][1][row])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(weights, 1.0)
            optimizer.step()
            return loss.detach()

        losses: list[tuple[int, Tensor]] = []
        learn_step, options = GraphedStep(learn, enabled=graphed), {"generator": draws, "device": self.device}
        for step in range(steps):
            loss = learn_step(*(torch.randint(len(ids), (config.batch,), **options) for ids in asked.numbers))
            schedule.step()
            if (step + 1) % max(1, steps // 20) == 0:
                losses.append((step + 1, loss.clone()))  # read at the end: reading waits for the device
        told = [{"step": step, "loss": float(loss)} for step, loss in losses]
        if told and not math.isfinite(told[-1]["loss"]) and log is not None:
            log(f"{config.name}: the loss is {told[-1]['loss']}; try a lower rate")
        return {"steps": steps, "seconds": round(time.perf_counter() - start, 2), "losses": told}

    @torch.no_grad()
    @_whole_floats()
    def ask(self, model: Probes, split: str) -> Columns:  # type: ignore[override]
        """Predicted and right answers of each kind; kinds may have different numbers of questions."""
        asked, columns = self.examples(split), {}
        lookup = self._lookup(model.eval())
        parts = [self._answered(model, lookup, chunk) for chunk in _chunks(asked.numbers)]
        for kind in KINDS:
            centre, scale = self.units[kind]
            right, exponents = asked.answers[kind]
            given = torch.cat([part[kind][0] for part in parts]).double() * scale + centre
            columns |= {f"{kind}_given": given.float(), f"{kind}_right": right.float()}
            if self.config.scientific:
                logits = torch.cat([part[kind][1] for part in parts])
                columns |= {f"{kind}_given_exponent": logits.argmax(1).to(torch.int8)}
                columns |= {f"{kind}_right_exponent": exponents.to(torch.int8)}
        places = torch.cat([part["maximum"][0] for part in parts]).argmax(1)
        columns |= {"maximum_given": places.to(torch.int8), "maximum_right": asked.largest.to(torch.int8)}
        return {name: column.cpu().numpy() for name, column in columns.items()}

    # Figures.

    def score(self, split: str, columns: Columns) -> Figures:
        """By kind `rmse` of significands (or numbers) and `exponent`, the share of right ones; `maximum` likewise."""
        found: Figures = {}
        for kind in KINDS:
            given, right = (columns[f"{kind}_{which}"].astype(np.float64) for which in ("given", "right"))
            found[kind] = {"rmse": float(np.sqrt(np.mean((given - right) ** 2)))}
            if f"{kind}_right_exponent" in columns:
                same = columns[f"{kind}_given_exponent"] == columns[f"{kind}_right_exponent"]
                found[kind]["exponent"] = float(np.mean(same))
        found["maximum"] = float(np.mean(columns["maximum_given"] == columns["maximum_right"]))
        return {split: found}

    def error(self, figures: Mapping[str, Any]) -> float:
        """Errors relative to a spread of 5 (or that of the numbers), plus shares of wrong answers, on dev."""
        found = figures["dev"]
        total = 1 - found["maximum"]
        for kind in KINDS:
            spread = 5.0 if self.config.scientific else self.units[kind][1]
            total += found[kind]["rmse"] / spread + 1 - found[kind].get("exponent", 1.0)
        return total

    def baselines(self) -> Figures:
        """`always the mean`: the mean training significand (or number), its most frequent exponent, the first place."""
        known, asked = self.examples("train"), self.examples("test")
        columns: dict[str, Any] = {}
        for kind in KINDS:
            (values, exponents), (right, places) = known.answers[kind], asked.answers[kind]
            columns |= {f"{kind}_given": torch.full_like(right, float(values.mean())), f"{kind}_right": right}
            if self.config.scientific:
                most = torch.full_like(places, int(exponents.bincount().argmax()))
                columns |= {f"{kind}_given_exponent": most, f"{kind}_right_exponent": places}
        columns |= {"maximum_given": torch.zeros_like(asked.largest), "maximum_right": asked.largest}
        return {"always the mean": self.score("test", {name: each.cpu().numpy() for name, each in columns.items()})}

    def shown(self) -> Sequence[Column]:
        """The columns of LUNA's Table 2; without exponents for plain numbers."""
        what = "sig" if self.config.scientific else "RMSE"
        found = []
        for kind in KINDS:
            found.append(Column("test", f"{kind} rmse", f"{kind} {what}", ".4g"))
            if self.config.scientific:
                found.append(Column("test", f"{kind} exponent", f"{kind} exp %", ".2f", "max", 100))
        return (*found, Column("test", "maximum", "list max %", ".2f", "max", 100))

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """Right exponents and right places, by question; of plain numbers the places alone."""
        del split
        named = [f"{kind}_{{}}_exponent" for kind in KINDS if self.config.scientific] + ["maximum_{}"]
        labels = [f"{kind} exponent" for kind in KINDS if self.config.scientific] + ["list maximum"]
        pairs = [(columns[name.format("given")], columns[name.format("right")]) for name in named]
        return {label: (a == b).astype(np.float64) for label, (a, b) in zip(labels, pairs, strict=True)}

    def notes(self) -> Sequence[str]:
        """What the numbers are."""
        source = "generated columns" if self.config.source == "generated" else "tables"
        if self.config.scientific:
            return (f"Numbers of {source}; no test number, whatever its sign or spelling, is in training.",)
        said = f"Numbers of the range {self.config.setting}, as in Wallace et al. (2019)."
        chosen = SETTINGS[self.config.setting]
        if chosen is None or not chosen.words:
            return (said,)
        return (
            said,
            f"`{POOLED}` alone reads the words: embedders get the value, or characters of which they know digits.",
        )


def _chunks(numbers: Sequence[Tensor]) -> list[tuple[Tensor, ...]]:
    """The questions in chunks that fit into memory, each with questions of every kind."""
    count = min(-(-max(map(len, numbers)) // _CHUNK), min(map(len, numbers)))
    return list(zip(*(ids.tensor_split(count) for ids in numbers), strict=True))
