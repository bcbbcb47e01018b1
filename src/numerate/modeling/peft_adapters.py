"""PEFT on a `NumberModel`: our weights stay trainable, and are saved and loaded with the adapter's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numerate.modeling.number_model import NumberModel

__all__ = ["check_prompts", "train_with_adapter"]


def check_prompts(backbone: Any) -> None:
    """Refuses a backbone with PEFT's prompt tuning, whose virtual tokens move all others and the numbers with them."""
    config = getattr(backbone, "active_peft_config", None)
    if config is not None and config.is_prompt_learning and "PREFIX" not in str(config.peft_type):
        kind = getattr(config.peft_type, "value", config.peft_type)
        raise ValueError(f"{kind} puts virtual tokens before the text, so that numbers move: use LoRA or PREFIX_TUNING")


def train_with_adapter(model: NumberModel, configs: Mapping[str, Any]) -> None:
    """Makes our weights part of the adapters that PEFT has just put into the whole model.

    `peft.get_peft_model(model, config)` freezes everything that is no adapter, ours included, and saves only adapters.
    A module of PEFT's kind for additional weights (as `modules_to_save` makes them) changes both. Only `inference_mode`
    leaves our weights frozen.

    Args:
        model: The model.
        configs: PEFT's configs by the names of their adapters.
    """
    from peft.tuners.tuners_utils import BaseTunerLayer

    from numerate.modeling.peft_weights import NumberWeights

    for name, module in model.named_modules():
        if isinstance(module, BaseTunerLayer) and not name.startswith("backbone."):
            raise ValueError(
                f"target_modules match {name!r}, which is trained anyway: name layers of the backbone, "
                "or use get_peft_model(model.backbone, config)"
            )
    if "number_weights" not in dict(model.named_children()):
        model.add_module("number_weights", NumberWeights(model))
    weights: Any = model.number_weights
    weights.set_adapter(list(configs), inference_mode=all(config.inference_mode for config in configs.values()))
