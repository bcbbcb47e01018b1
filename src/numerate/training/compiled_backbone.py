"""Compilation of a backbone during a training with `torch_compile`, and why it is not the whole model.

With the default recipe and two layers, a graph of the whole model has some 640 operations before the backward pass,
many of them in float64 or random draws in integers, and one of the encoder 72. It took twice as long to compile on a
CPU, and minutes on an accelerator. The number parts are small and run as usual.
"""

from __future__ import annotations

import types
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from accelerate.utils import DynamoBackend

from numerate.modeling.last_state import state_modules
from numerate.modeling.tasks import base_of, has_decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch import nn

    from numerate.modeling.number_model import NumberModel

__all__ = ["compiled_backbone", "compiled_modules"]


class _CompiledForward:
    """A module's forward: compiled in training, as it was in evaluation, whose batches have shapes of their own."""

    def __init__(self, module: nn.Module, **options: Any) -> None:
        self.module, self.plain = module, module.forward
        self.compiled: Callable[..., Any] = torch.compile(self.plain, **options)
        self.__wrapped__ = self.plain  # for `inspect.signature`

    def __call__(self, *positional: Any, **named: Any) -> Any:
        return (self.compiled if self.module.training else self.plain)(*positional, **named)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """The plain forward of the module's copy: a copied teacher must not run its student."""
        return types.MethodType(type(self.module).forward, memo[id(self.module)])


def compiled_modules(model: NumberModel) -> list[nn.Module]:
    """The modules of a backbone that are compiled: encoder and decoder below its head; none if it has no such module.

    Our hooks on them are not part of what is compiled, since they run outside of `forward`.
    """
    found = state_modules(model.backbone)[-1:]
    inner: Any = base_of(model.backbone)
    if found and has_decoder(inner) and inner.get_encoder() is not found[0]:
        found.insert(0, inner.get_encoder())
    return found


@contextmanager
def compiled_backbone(model: NumberModel, plugin: Any) -> Iterator[None]:
    """A context in which a backbone is compiled, and accelerate does not compile the model around it.

    Args:
        model: The model.
        plugin: The `TorchDynamoPlugin` of accelerate, with backend and mode.
    """
    options, backend, modules = plugin.to_kwargs(), plugin.backend, compiled_modules(model)
    before = [vars(module).get("forward") for module in modules]
    plugin.backend = DynamoBackend.NO
    try:
        for module in modules:
            module.forward = _CompiledForward(module, **options)
        yield
    finally:
        plugin.backend = backend
        for module, forward in zip(modules, before, strict=True):
            vars(module).pop("forward", None)
            if forward is not None:  # of accelerate, for offloaded weights
                module.forward = forward
