"""What accelerate sees of a model's embeddings while it shards it; a real FSDP2 training is in `test_processes`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tiny_models import backbone_of, tokenizer_of

import numerate
from numerate.training.sharding import keep_shared_weights_together


def attached(backbone: Any) -> Any:
    return numerate.attach(backbone, tokenizer_of("bert"))


def looked_at(model: Any, error: Exception | None = None) -> list[bool]:
    """Whether an accelerator sees input and output embeddings while it prepares a model."""
    seen: list[bool] = []

    def prepare(each: Any) -> Any:
        seen.extend([each.get_input_embeddings() is not None, each.get_output_embeddings() is not None])
        if error is not None:
            raise error
        return each

    accelerator = SimpleNamespace(prepare=prepare)
    keep_shared_weights_together(accelerator, model)
    if error is None:
        assert accelerator.prepare(model) is model
    else:
        with pytest.raises(type(error)):
            accelerator.prepare(model)
    return seen


@pytest.mark.parametrize("error", [None, MemoryError()])
def test_shared_weights_get_no_group_of_their_own(error: Exception | None) -> None:
    model = attached(backbone_of("bert"))
    assert looked_at(model, error) == [False, False]
    assert model.get_input_embeddings() is model.backbone.get_input_embeddings()
    assert model.get_output_embeddings() is model.backbone.get_output_embeddings()


def test_models_without_shared_weights_are_sharded_as_accelerate_does() -> None:
    assert looked_at(attached(backbone_of("bert").base_model)) == [True, False]
