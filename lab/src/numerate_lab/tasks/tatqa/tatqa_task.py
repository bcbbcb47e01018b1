"""TAT-QA as a task of the engine: TagOp on any encoder, cross-validated over contexts."""

from __future__ import annotations

import dataclasses
import functools
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch
from torch import nn

from numerate.files import content_hash, json_hash
from numerate.metrics.significance import bootstrap
from numerate.modeling.fitting import fit_parts
from numerate.processing.number_table import GIVEN, NumberTable
from numerate.training.shards import fingerprint
from numerate_lab.engine.made_once import made_once
from numerate_lab.engine.paper_tables import load_scales
from numerate_lab.engine.task import Column, Task
from numerate_lab.registry import tasks
from numerate_lab.tasks.finetuning.number_prompts import add_prompts
from numerate_lab.tasks.finetuning.row_names import row_fields
from numerate_lab.tasks.finetuning.starting_points import needs_scaling, start_encoder
from numerate_lab.tasks.tatqa.kept_folds import Answer, fold_answers, keep_fold
from numerate_lab.tasks.tatqa.operators import OPERATORS, decoded
from numerate_lab.tasks.tatqa.question_rows import NUMBER_FIELDS, Rows, encode
from numerate_lab.tasks.tatqa.question_scores import MEASURES, gold_answer, mean_scores, question_scores, share_of
from numerate_lab.tasks.tatqa.report_file import ANSWER_TYPES, SCALES, SOURCES
from numerate_lab.tasks.tatqa.tagop import TagOp, fit, predict
from numerate_lab.tasks.tatqa.tatqa_trial import TatqaTrial, check_answers, check_start, learnt_questions, parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numerate_lab.engine.task import Columns, Figures, Log
    from numerate_lab.tasks.tatqa.question_rows import Example
    from numerate_lab.tasks.tatqa.tagop import Predicted

__all__ = ["Fold", "TatqaTask"]

_ASKED_AT_ONCE = 64


class Fold(nn.ModuleList):
    """The models of a trial: one for each fold of a cross-validation."""

    def trainable_parameters(self) -> tuple[int, int]:
        """The number of parameters of one model that are trained, and of all."""
        return self[0].trainable_parameters()  # type: ignore[operator]

    def save_pretrained(self, folder: str | Path, backbone: bool | None = True) -> None:
        """Saves each model into a folder of its own, `fold0` and so on."""
        for number, model in enumerate(self):
            model.save_pretrained(Path(folder) / f"fold{number}", backbone=backbone)  # type: ignore[operator]


@tasks.register("tatqa")
class TatqaTask(Task):
    """One trial: all folds of one encoding, with one seed."""

    version = 1
    Trial = TatqaTrial
    shares_compiled = True
    scales: ClassVar[dict[str, dict[str, Any]]] = load_scales("tatqa")

    @classmethod
    def encoding(cls, name: str) -> dict[str, Any]:
        """Recipe, parts, spelling, prompts and start of a row; see `row_names`."""
        return row_fields(name, {each.name for each in dataclasses.fields(TatqaTrial)})

    def splits(self, final: bool) -> tuple[str, ...]:
        """`dev` for tries of a rate, `test` for final trainings."""
        del final
        return ("dev",) if self.config.trying else ("test",)

    def examples(self, split: str) -> list[Example]:
        """The questions of a split, in the order of their file."""
        parts = parts_of(self.config)
        rows = parts.by_split[split] if split in parts.by_split else np.concatenate(parts.train)
        return [parts.examples[index] for index in rows]

    def _texts(self, rows: np.ndarray) -> list[str]:
        """Cells and paragraphs of the contexts of some questions."""
        examples = parts_of(self.config).examples
        contexts = {examples[index].context: examples[index].segments for index in rows}
        return [segment.text for segments in contexts.values() for segment in segments]

    def build(self) -> Any:
        """A model for each fold, its new weights drawn from the trial's seed."""
        config = self.config
        check_start(config.folder)
        models = []
        for rows in parts_of(config).train:
            torch.manual_seed(config.seed)
            texts = self._texts(rows) if needs_scaling(config.recipe, config.parts) else ()
            numbers = start_encoder(config.folder, config.recipe, config.parts, texts, base=config.model)
            if config.prompts is not None:
                add_prompts(numbers, config.prompts)
            models.append(TagOp(numbers, config.dropout))
        return Fold(models)

    def rows(self, model: TagOp, fold: int) -> Rows:
        """All questions as the model reads them; encoded once for all folds and trials of an encoding."""
        config = self.config
        own = fold if needs_scaling(config.recipe, config.parts) else -1
        files = (config.source, config.dev, config.test, config.most)
        key = (
            "tatqa",
            *files,
            config.folder,
            config.recipe,
            repr(config.parts),
            config.spelled,
            config.max_tokens,
            own,
        )
        examples = parts_of(config).examples
        most = min(config.max_tokens, _most_positions(model))

        def make() -> Rows:
            processor = model.numbers.processor
            if self.workspace.data is None:
                return encode(processor, examples, most, config.spelled).to(_device())
            # Encoding takes as long as the training of a fold: one process does it for all.
            sources = [content_hash(file) for file in files[:3] if file is not None]
            asked = json_hash([fingerprint(processor), most, config.spelled, sources, config.most])
            place = self.workspace.data / f"rows-{asked[:16]}.npz"
            made_once(place, lambda file: encode(processor, examples, most, config.spelled).save(file))
            return Rows.load(place).to(_device())

        return self.workspace.once(key, make)

    def train(self, model: Any, log: Log | None = None) -> Figures:
        """Trains the model of each fold on the other folds' questions."""
        parts, config = parts_of(self.config), self.config
        check_answers(config, parts)
        if config.bf16 and torch.cuda.is_available():
            torch.set_float32_matmul_precision("high")
        # Questions of one context have one length, in characters, whatever the encoding.
        lengths = np.array([sum(len(part.text) for part in one.segments) for one in parts.examples])
        begin, trained, rows = time.perf_counter(), [], None
        for number, learnt in enumerate(parts.train):
            kept = fold_answers(self._fold_file(number), config)
            if kept is not None:
                self.answered[number] = kept[0]
                trained.append(kept[1])
                continue
            one: Any = model[number].to(_device())
            rows = self.rows(one, number)
            _fit_embedder(one, rows, learnt, parts.contexts)
            torch.manual_seed(config.seed)
            trained.append(fit(one, rows, learnt, config, lengths))
            if (file := self._fold_file(number)) is not None:
                self.answered[number] = {split: self._answers_of(model, split, number) for split in parts.asked}
                keep_fold(file, config, self.answered[number], trained[-1])
            if log is not None:
                log(f"{config.name}, fold {number + 1} of {len(parts.train)}: loss {trained[-1]['losses'][-1]:.3f}")
        figures: Figures = {
            "steps": sum(one["steps"] for one in trained), "seconds": round(time.perf_counter() - begin, 2),
            "losses": [one["losses"] for one in trained], "questions": [one["questions"] for one in trained],
        }  # fmt: skip
        if rows is not None:
            figures |= {"tokens_a_text": round(float(rows.tokens.mean()), 1), "cut": round(float(rows.cut.mean()), 4)}
        return figures

    @functools.cached_property
    def answered(self) -> dict[int, dict[str, list[Answer]]]:
        """Answers of folds that are trained, by fold and split."""
        return {}

    def _fold_file(self, number: int) -> Path | None:
        """Where the answers of a fold are kept until the whole trial is done, so that it can be interrupted."""
        if self.workspace.data is None or self.config.trying or len(parts_of(self.config).train) < 2:
            return None
        return self.workspace.results / "folds" / f"{self.config.name}-fold{number}.npz"

    def _answers_of(self, model: Any, split: str, number: int) -> list[Answer]:
        """Answers of one fold's model."""
        parts, one = parts_of(self.config), model[number]
        asked = parts.asked[split][number]
        made = predict(one, self.rows(one, number), asked, _ASKED_AT_ONCE)
        return _answers([parts.examples[i] for i in asked], made)

    def ask(self, model: Any, split: str) -> Columns:
        """`answer` (a JSON list of items), `scale` and `operator` of each question, in order."""
        parts, found = parts_of(self.config), {}
        for number, asked in enumerate(parts.asked[split]):
            kept = self.answered.get(number)
            made = self._answers_of(model, split, number) if kept is None else kept[split]
            found |= dict(zip(asked.tolist(), made, strict=True))
        answers, scales, operators = zip(*(found[index] for index in parts.by_split[split].tolist()), strict=True)
        return {
            "answer": np.array(answers, dtype=np.str_), "scale": np.array(scales, dtype=np.int8),
            "operator": np.array(operators, dtype=np.int8),
        }  # fmt: skip

    def score(self, split: str, columns: Columns) -> Figures:
        """EM and F1, over all questions, by answer type and by source; `em_num` is EM of all arithmetic questions."""
        examples = self.examples(split)
        scores = question_scores(examples, columns)
        if scores is None:
            return {split: {"count": len(examples)}}
        types = np.array([one.question.answer_type for one in examples])
        sources = np.array([one.question.source for one in examples])
        figures: Figures = {name: share_of(scores[name]) for name in scores}
        figures["em_num"] = share_of(scores["em"][types == "arithmetic"])
        known = np.array([one.labels is not None for one in examples])
        right = [one.labels.operator if one.labels else "" for one in examples]
        same = np.array([OPERATORS[code] == name for code, name in zip(columns["operator"], right, strict=True)])
        figures["operator"] = share_of(same[known].astype(float))
        groups = {
            f"{split} by {title}": {
                name: {key: share_of(scores[key][labels == name]) for key in MEASURES}
                for name in names
                if (labels == name).any()
            }
            for title, labels, names in (("answer type", types, ANSWER_TYPES), ("source", sources, SOURCES))
        }
        return {split: figures} | groups

    def example_scores(self, split: str, columns: Columns) -> dict[str, np.ndarray]:
        """EM and F1 of each question."""
        scores = question_scores(self.examples(split), columns)
        return {} if scores is None else {"EM": scores["em"], "F1": scores["f1"]}

    def clusters(self, split: str, columns: Columns) -> np.ndarray | None:
        """The context of each question: questions of one context are not independent."""
        del columns
        return np.array([one.context for one in self.examples(split)])

    def error(self, figures: Mapping[str, Any]) -> float:
        """1 - F1 on dev."""
        value = figures["dev"].get("f1", {}).get("value")
        return float("inf") if value is None else 1 - value

    def baselines(self) -> Figures:
        """`oracle`: what the method gives with the derived operators and tags and the right scale, nothing cut."""
        examples = self.examples("test")
        if any(one.question.answers is None for one in examples):
            return {}
        made = [gold_answer(one) for one in examples]
        columns = {
            "answer": np.array([json.dumps(answer) for answer in made], dtype=np.str_),
            "scale": np.array([SCALES.index(one.question.scale) for one in examples]),
            "operator": np.array([OPERATORS.index(one.labels.operator) if one.labels else -1 for one in examples]),
        }
        return {"oracle": self.score("test", columns)}

    def shown(self) -> list[Column]:
        """EM, F1 and EM of arithmetic questions, in percent; scale and operator."""
        names = {"em": "EM", "f1": "F1", "em_num": "EM_num", "scale": "scale", "operator": "operator"}
        return [
            Column("test", key, label, ".1f", "max", 100.0, by_group=key in MEASURES) for key, label in names.items()
        ]

    def notes(self) -> Sequence[str]:
        """What is measured on what."""
        config = self.config
        if config.test is not None:
            said = [f"Trained on {Path(config.source).name}, tested on {Path(config.test).name}."]
            if seen := learnt_questions(parts_of(config), "test"):
                said.append(f"**{seen} of the test questions are in the training file, too: figures are too good.**")
            return said
        return [
            f"Cross-validation over the contexts of {Path(config.source).name}, {config.folds} folds: each question is "
            "answered by a model that saw neither its context nor one that shares a paragraph with it. EM_num counts "
            "all arithmetic questions, also those without an answer."
        ]

    def paired(self, ours: Sequence[Columns], base: Sequence[Columns], resamples: int) -> Figures:
        """Differences of EM, F1 and EM_num from the base, in points / 100, with 95 % intervals over contexts."""
        examples, clusters = self.examples("test"), np.asarray(self.clusters("test", {}))
        if any(one.question.answers is None for one in examples):
            return {}  # the official test file: there is nothing to compare
        types = np.array([one.question.answer_type for one in examples])
        sides = [mean_scores(examples, columns) for columns in (ours, base)]
        chosen = {"EM": ("em", types != ""), "F1": ("f1", types != ""), "EM_num": ("em", types == "arithmetic")}
        chosen |= {f"EM, {name}": ("em", types == name) for name in ANSWER_TYPES if name != "arithmetic"}
        found: Figures = {}
        for label, (key, where) in chosen.items():
            if where.any():
                one, other = (torch.from_numpy(side[key][where]) for side in sides)
                groups = torch.from_numpy(clusters[where])
                found[label] = dataclasses.asdict(bootstrap(one, other, groups, resamples))
        return found


def _answers(examples: Sequence[Example], made: Sequence[Predicted]) -> list[Answer]:
    """Answer as JSON, scale and operator of each question."""
    columns = [[column[row] for part in made for column in [part[k]] for row in range(len(column))] for k in range(5)]
    found = []
    for one, scores, operator, scale, pair, turned in zip(examples, *columns, strict=True):
        units = one.units[: int((scores > 0).nonzero().max()) + 1] if bool((scores > 0).any()) else ()
        chosen = [index - 1 for index in pair.tolist() if index > 0]
        name = OPERATORS[int(operator)]
        items = decoded(
            name, one.segments, units, scores.tolist()[: len(units)], chosen, bool(turned), SCALES[int(scale)]
        )
        found.append((json.dumps(items, ensure_ascii=False), int(scale), int(operator)))
    return found


def _fit_embedder(model: TagOp, rows: Rows, learnt: np.ndarray, contexts: np.ndarray) -> None:
    """Fits an embedder with bins or scales to the numbers of the training contexts, each context once."""
    numbers = model.numbers
    if numbers.embedder is None or numbers.fitted:
        return
    _, first = np.unique(contexts[learnt], return_index=True)
    chosen = torch.from_numpy(learnt[first]).to(rows.unit.device)
    table = NumberTable(*(rows.fields[name][chosen] for name in NUMBER_FIELDS))
    fit_parts(numbers, table[table.given == GIVEN])


def _most_positions(model: TagOp) -> int:
    """The most tokens that the encoder takes."""
    numbers = model.numbers
    config = numbers.backbone.config
    most = getattr(config, "max_position_embeddings", None) or 1 << 20
    # RoBERTa-like models count positions from behind the padding id.
    after = numbers.info.positions_after
    return int(most) - (0 if after is None else after + 1)


def _device() -> torch.device:
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
