"""Compiled transformer layers: fewer and larger kernels where a step is dominated by launch overhead."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

__all__ = ["compile_layers"]


def compile_layers(backbone: nn.Module) -> int:
    """Compiles each layer of a backbone's longest stack of equal layers, in place; how many there are.

    One layer is compiled and its code is used for all of them, for any batch size and length. What is done to the
    states between two layers, such as by hooks, stays outside. Names of weights do not change.

    Example:
        >>> compile_layers(nn.Linear(2, 2))
        0
    """
    stacks = [module for module in backbone.modules() if isinstance(module, nn.ModuleList) and len(module) > 1]
    stacks = [stack for stack in stacks if len({type(layer) for layer in stack}) == 1]
    longest: Any = max(stacks, key=len, default=())
    for layer in longest:
        layer.forward = torch.compile(layer.forward, dynamic=True)
    return len(longest)
