"""Exported models give the same logits and distributions as the model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch
from tiny_models import ASKING, NUMBERS, new_backbone, open_features, tokenizer_of

import numerate
from numerate.modeling.exporting import ExportableModel
from numerate.processing.number_table import _computed_values

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = ["The tower is [NUM] metres tall, cost $1.5 million.", "It rose 3.2% to [NUM] and then to [NUM]; 0 cats."]


def model_of(name: str, recipe: str = "in-place") -> Any:
    return open_features(numerate.attach(new_backbone(name), tokenizer_of(name), recipe, fit=NUMBERS))


def batch_of(model: Any, texts: list[str]) -> dict[str, torch.Tensor]:
    return dict(model.processor(texts, padding=True, return_tensors="pt"))


def check(part: ExportableModel, batch: dict[str, torch.Tensor], outputs: Any, tolerance: float) -> None:
    with torch.no_grad():
        expected: Any = part.model(**batch, return_loss=False)
    main = part.output_names[0]
    torch.testing.assert_close(torch.as_tensor(outputs[0]), expected[main], atol=tolerance, rtol=tolerance)
    if expected.numbers is not None:
        numbers = part.distribution(outputs, batch)
        for level in (0.05, 0.5, 0.95):
            torch.testing.assert_close(numbers.quantile(level), expected.numbers.quantile(level), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "recipe"),
    [("bert", "in-place"), ("bert", "xval"), ("roberta", "luna"), ("gpt2", "in-place"), ("classifier", "in-place"),
     ("tagger", "digits"), ("answerer", "in-place"), ("encoder", "fone")],
)  # fmt: skip
def test_the_module_gives_what_the_model_gives(name: str, recipe: str) -> None:
    part = ExportableModel(model_of(name, recipe))
    batch = batch_of(part.model, TEXTS)
    with torch.no_grad():
        outputs = part(*(batch[key] for key in part.input_names))
    assert len(outputs) == len(part.output_names)
    check(part, batch, outputs, 1e-6)


def test_bit_patterns_by_arithmetic() -> None:
    values = torch.tensor([0.0, 1.5, -0.1, 324.0, 5e-324, -2.2e-308, 1.7e308, 1e16 + 2], dtype=torch.float64)
    assert torch.equal(_computed_values(values.view(torch.int64)), values)
    special = _computed_values(torch.tensor([torch.inf, -torch.inf, torch.nan], dtype=torch.float64).view(torch.int64))
    assert special[:2].tolist() == [torch.inf, -torch.inf] and bool(special[2].isnan())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_torch_export(name: str) -> None:
    """Batch size, length and count of numbers may change after the export."""
    part = ExportableModel(model_of(name))
    program = part.export(batch_of(part.model, TEXTS))
    other = batch_of(part.model, [*NUMBERS, *ASKING])
    with torch.no_grad():
        check(part, other, program.module()(*(other[key] for key in part.input_names)), 1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the exporter
@pytest.mark.parametrize(
    ("name", "recipe"),
    [("bert", "in-place"), ("classifier", "in-place"), ("gpt2", "in-place"), ("bert", "xval"), ("bert", "luna")],
)
def test_onnx(name: str, recipe: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    part = ExportableModel(model_of(name, recipe))
    batch = batch_of(part.model, TEXTS)
    part.to_onnx(tmp_path / "model.onnx", batch, dynamic=False)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    check(part, batch, session.run(None, part.arrays(batch)), 1e-4)


def test_what_cannot_be_exported_is_refused() -> None:
    with pytest.raises(ValueError, match="T5ForConditionalGeneration cannot be exported"):
        ExportableModel(numerate.attach(new_backbone("t5"), tokenizer_of("t5")))
    part = ExportableModel(model_of("bert"))
    with pytest.raises(ValueError, match="the batch has no number_slots"):
        part.export(dict(tokenizer_of("bert")(TEXTS, padding=True, return_tensors="pt")))
