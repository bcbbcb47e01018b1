"""Training and evaluation of models with labels of their own: classifiers and question answerers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import new_backbone, tokenizer_of
from training_runs import arguments

import numerate
from numerate.processing.encoding import NumberCollator
from numerate.training import NumberTrainer, evaluation

if TYPE_CHECKING:
    from pathlib import Path

    from transformers import EvalPrediction

TEXTS = [f"Is {first} more than {second}?" for first, second in ((4_512, 3_900), (7, 80), (12, 3), (1, 2), (90, 9))]


def trainer_of(folder: Path, name: str, labels: list[dict[str, Any]], **options: Any) -> NumberTrainer:
    model = numerate.attach(new_backbone(name), tokenizer_of(name))
    rows = [dict(model.processor(text)) | label for text, label in zip(TEXTS, labels, strict=True)]
    args = arguments(folder, per_device_eval_batch_size=2, max_steps=2)
    return NumberTrainer(model, args, train_dataset=rows, eval_dataset=rows, **options)


@pytest.mark.parametrize("column", ["label", "labels"])
def test_labels_are_called_as_in_data_sets(column: str, tmp_path: Path) -> None:
    found: list[Any] = []

    def score(prediction: EvalPrediction) -> dict[str, float]:
        found.append(prediction.label_ids)
        return {"share": 0.5}

    classes = [1, 0, 1, 0, 2]
    trainer = trainer_of(tmp_path, "classifier", [{column: label} for label in classes], compute_metrics=score)
    trainer.train()
    assert trainer.evaluate()["eval_share"] == 0.5 and found[-1].tolist() == classes


def test_answers_are_evaluated(tmp_path: Path) -> None:
    """Metrics of answers are computed without `label_names`, as with the bare model."""
    places = [{"start_positions": 1, "end_positions": 2 + index % 2} for index in range(len(TEXTS))]
    starts: list[Any] = []

    def score(prediction: EvalPrediction) -> dict[str, float]:
        starts.extend(prediction.label_ids)
        assert len(prediction.predictions) == 2
        return {"exact": 0.25}

    trainer = trainer_of(tmp_path, "answerer", places, compute_metrics=score)
    found = trainer.evaluate()
    assert found["eval_exact"] == 0.25
    assert starts[0].tolist() == [1] * 5 and starts[1].tolist() == [2, 3, 2, 3, 2]
    model: Any = trainer.model
    losses = []
    for part in (slice(0, 2), slice(2, 4), slice(4, 5)):
        with torch.no_grad():
            batch = NumberCollator(model.processor.tokenizer)(trainer.eval_dataset[part])
            losses += [float(model.eval()(**batch).loss)] * len(batch["input_ids"])
    assert found["eval_loss"] == pytest.approx(sum(losses) / len(losses), rel=1e-6)


def test_duplicates_have_no_part_in_the_loss_of_answers() -> None:
    model = numerate.attach(new_backbone("answerer"), tokenizer_of("answerer"))
    batch = dict(model.processor(TEXTS[:3], padding=True, return_tensors="pt"))
    batch |= {"start_positions": torch.tensor([1, 2, 3]), "end_positions": torch.tensor([2, 2, 4])}
    names = ["start_positions", "end_positions"]
    with torch.no_grad():
        loss = model(**evaluation.without_fill_ups(batch, 2, names)).loss
        expected = model(**{key: value[:2] for key, value in batch.items()}).loss
    torch.testing.assert_close(loss, expected)


def test_label_smoothing_of_a_language_model_is_refused(tmp_path: Path) -> None:
    """The stock Trainer's smoothed loss has no numbers, and does not shift the labels of a causal model."""
    classifier = new_backbone("classifier")
    args = arguments(tmp_path, label_smoothing_factor=0.1)
    NumberTrainer(numerate.attach(classifier, tokenizer_of("classifier")), args)
    for name in ("bert", "gpt2", "t5"):
        with pytest.raises(ValueError, match=r"label_smoothing_factor=0\.1: the stock Trainer would replace"):
            NumberTrainer(numerate.attach(new_backbone(name), tokenizer_of(name)), args)
