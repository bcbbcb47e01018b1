"""A control for trained weights: a layer that sees no number, with as many weights as an encoding adds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch import Tensor, nn

from numerate.modeling.last_state import state_modules

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel

__all__ = ["ResidualLayer", "widen"]


class ResidualLayer(nn.Module):
    """x + W₂ gelu(W₁ x), with W₂ = 0 at first, so that training starts from the model as it is.

    Shape: `(..., dim)` to `(..., dim)`.

    Args:
        dim: Width of the states.
        weights: Number of weights to come close to, at least one hidden unit.

    Example:
        >>> import torch
        >>> layer = ResidualLayer(4, weights=100)
        >>> sum(weight.numel() for weight in layer.parameters()), bool((layer(torch.ones(1, 4)) == 1).all())
        (103, True)
    """

    def __init__(self, dim: int, weights: int) -> None:
        super().__init__()
        hidden = max(1, round((weights - dim) / (2 * dim + 1)))
        self.layers = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))
        nn.init.zeros_(self.layers[2].weight)  # type: ignore[arg-type]
        nn.init.zeros_(self.layers[2].bias)  # type: ignore[arg-type]

    def forward(self, states: Tensor) -> Tensor:
        """Changed states."""
        return states + self.layers(states)


def widen(model: NumberModel, weights: int) -> None:
    """Puts a trained `ResidualLayer` between a frozen encoder and its masked-LM head."""
    modules = state_modules(model.backbone)
    if not modules:
        raise ValueError(f"more_weights={weights} needs an encoder below a head, got {type(model.backbone).__name__}")
    layer = ResidualLayer(model.backbone.config.hidden_size, weights)
    model.add_module("wider", layer.to(model.device))

    def change(module: nn.Module, inputs: Any, output: Any) -> Any:
        output.last_hidden_state = layer(output.last_hidden_state)
        return output

    modules[0].register_forward_hook(change)  # behind the hook that picks states: only those are changed
