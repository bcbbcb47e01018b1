"""PEFT on a `NumberModel`: our weights stay trainable, and are saved and loaded with the adapter's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.modeling.saving import own_state

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

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

    for name, module in model.named_modules():
        if isinstance(module, BaseTunerLayer) and not name.startswith("backbone."):
            raise ValueError(
                f"target_modules match {name!r}, which is trained anyway: name layers of the backbone, "
                "or use get_peft_model(model.backbone, config)"
            )
    if "number_weights" not in dict(model.named_children()):
        model.add_module("number_weights", _wrapper_class()(model))
    weights: Any = model.number_weights
    weights._adapters |= set(configs)
    weights.set_adapter(list(configs), inference_mode=all(config.inference_mode for config in configs.values()))


def _wrapper_class() -> Any:
    """The class of `number_weights`; made here, because PEFT is imported only where it is used."""
    from peft.utils import AuxiliaryTrainingWrapper
    from torch import nn

    class NumberWeights(AuxiliaryTrainingWrapper):
        """A module without weights of its own, by which PEFT saves, loads and trains those of a `NumberModel`."""

        weight = None

        def __init__(self, model: NumberModel) -> None:
            nn.Module.__init__(self)
            self._of = [model]  # in a list, because a module would become a child
            self._adapters: set[str] = set()
            self._active_adapter: list[str] = []
            self._disable_adapters = False

        def __getattr__(self, name: str) -> Any:
            return nn.Module.__getattr__(self, name)

        def adapter_state_dict(self, adapter_name: str, state_dict: Any = None) -> dict[str, Tensor]:
            return own_state(self._of[0].state_dict())

        def adapter_state_dict_load_map(self, adapter_name: str) -> dict[str, str]:
            # PEFT deletes the saved key after it has set the other one, so they must differ.
            return {key: f"loaded.{key}" for key in self.adapter_state_dict(adapter_name)}

        def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:  # type: ignore[override]
            prefix += "loaded."
            found = {key.removeprefix(prefix): value for key, value in state_dict.items() if key.startswith(prefix)}
            if found:
                self._of[0].load_state_dict(found, strict=False)
                self._of[0].fitted = True

        def set_adapter(self, adapter_names: Any, inference_mode: bool = False) -> None:
            super().set_adapter(adapter_names)
            self.set_requires_grad(adapter_names, not inference_mode)

        def set_requires_grad(self, adapter_names: Any, requires_grad: bool = True) -> None:
            for name, weight in self._of[0].named_parameters():
                if not name.startswith("backbone."):
                    weight.requires_grad_(requires_grad)

        def check_set_adapter(self, adapter_name: Any) -> Any:
            return adapter_name

        def delete_adapter(self, adapter_name: str, new_active_adapters: Any) -> None:
            self._adapters.discard(adapter_name)
            self._active_adapter = [name for name in self.active_adapters if name != adapter_name]

        def unload_and_optionally_merge_module(self, *arguments: Any, **options: Any) -> nn.Module:
            self.set_requires_grad(self.active_adapters)
            return nn.Module()

    return NumberWeights
