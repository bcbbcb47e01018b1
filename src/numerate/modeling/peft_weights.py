"""`NumberWeights`: the module by which PEFT saves, loads and trains the weights of a `NumberModel`.

Only `numerate.modeling.peft_adapters` imports this module, where PEFT is used: it is not needed otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peft.utils import AuxiliaryTrainingWrapper
from torch import Tensor, nn

from numerate.modeling.saving import own_state

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel

__all__ = ["NumberWeights"]


class NumberWeights(AuxiliaryTrainingWrapper):
    """A module without weights of its own, by which PEFT saves, loads and trains those of a `NumberModel`."""

    weight = None

    def __init__(self, model: NumberModel) -> None:
        nn.Module.__init__(self)
        self._of = [model]  # in a list, because a module would become a child
        self._active_adapter: list[str] = []
        self._disable_adapters = False

    def __getattr__(self, name: str) -> Any:
        return nn.Module.__getattr__(self, name)

    @property
    def _adapters(self) -> set[str]:  # type: ignore[override]
        """All of the model's adapters, also those that PEFT has added later."""
        return set(self._of[0].peft_config)

    def _get_available_adapters(self) -> set[str]:
        return self._adapters

    def adapter_state_dict(self, adapter_name: str, state_dict: Any = None) -> dict[str, Tensor]:
        """Our weights, which belong to every adapter."""
        return own_state(self._of[0].state_dict())

    def adapter_state_dict_load_map(self, adapter_name: str) -> dict[str, str]:
        """The keys under which `_load_from_state_dict` finds the saved weights."""
        # PEFT deletes the saved key after it has set the other one, so they must differ.
        return {key: f"loaded.{key}" for key in self.adapter_state_dict(adapter_name)}

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *arguments: Any) -> None:  # type: ignore[override]
        prefix += "loaded."
        found = {key.removeprefix(prefix): value for key, value in state_dict.items() if key.startswith(prefix)}
        if found:
            self._of[0].load_state_dict(found, strict=False)
            self._of[0].fitted = True

    def set_adapter(self, adapter_names: Any, inference_mode: bool = False) -> None:
        """Makes adapters active; our weights are trained unless `inference_mode`."""
        super().set_adapter(adapter_names)
        self.set_requires_grad(adapter_names, not inference_mode)

    def set_requires_grad(self, adapter_names: Any, requires_grad: bool = True) -> None:
        """Freezes our weights or makes them trainable, for any adapter."""
        for name, weight in self._of[0].named_parameters():
            if not name.startswith("backbone."):
                weight.requires_grad_(requires_grad)

    def check_set_adapter(self, adapter_name: str | list[str]) -> str | None:
        """The first of the adapters that we know, as PEFT asks for one name; None for none."""
        names = [adapter_name] if isinstance(adapter_name, str) else adapter_name
        return next((name for name in names if name in self._adapters), None)

    def delete_adapter(self, adapter_name: str, new_active_adapters: Any) -> None:
        """Others may become active in the place of a deleted adapter; our weights stay."""
        if adapter_name in self.active_adapters:
            self._active_adapter = list(new_active_adapters or ())

    def unload_and_optionally_merge_module(self, *arguments: Any, **options: Any) -> nn.Module:
        """The module that takes the place of this one when PEFT's layers are removed: an empty one."""
        self.set_requires_grad(self.active_adapters)
        return nn.Module()
