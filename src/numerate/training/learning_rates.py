"""Learning rates of the parts of a model: weights that are new may learn faster than a trained backbone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numerate.config import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import torch
    from torch import Tensor, nn

__all__ = ["number_rate", "parameter_groups", "set_number_rates", "set_rate"]

FACTOR, LARGEST = 10.0, 1e-3
"""Learning rate of new weights relative to the backbone's, and its maximum. The default recipe gives its head dropout:
without it, intervals became too narrow in six epochs at 6e-4 and 1e-3 (`benchmarks/asked_numbers.py`)."""


def number_rate(rate: float, wanted: float | str | None = None) -> float:
    """The learning rate of the weights outside of the backbone.

    Args:
        rate: The backbone's learning rate.
        wanted: A rate; "same" for `rate`; None for ten times `rate`, but at most 1e-3 and at least `rate`.

    Example:
        >>> number_rate(5e-5), number_rate(3e-4), number_rate(2e-3), number_rate(5e-5, "same"), number_rate(5e-5, 0.01)
        (0.0005, 0.001, 0.002, 5e-05, 0.01)
    """
    if wanted is None:
        return max(rate, min(FACTOR * rate, LARGEST))
    if wanted == "same":
        return rate
    if isinstance(wanted, str) or wanted < 0:
        raise ConfigError(f"number_learning_rate must be a rate, 'same' or None, got {wanted!r}")
    return float(wanted)


def parameter_groups(model: nn.Module, rate: float, wanted: float | str | None = None) -> list[dict[str, Any]]:
    """Parameter groups of an optimizer for a `NumberModel`: the backbone's weights, and all others with their own rate.

    They are for the stock Trainer (`optimizers=`) and for loops of your own; `NumberTrainer` makes its own.

    Args:
        model: The model, also inside of `get_peft_model`, of DDP or of another module; frozen weights are left out.
        rate: The backbone's learning rate.
        wanted: As in `number_rate`.

    Example:
        >>> import torch
        >>> model = torch.nn.ModuleDict({"backbone": torch.nn.Linear(2, 2), "head": torch.nn.Linear(2, 1)})
        >>> [(group["lr"], len(group["params"])) for group in parameter_groups(model, 5e-5)]
        [(5e-05, 2), (0.0005, 2)]
    """
    if not isinstance(rate, int | float) or not rate >= 0:
        raise ConfigError(f"the learning rate must be a number from 0, got {rate!r}")
    groups: list[dict[str, Any]] = [{"params": [], "lr": rate}, {"params": [], "lr": number_rate(rate, wanted)}]
    places = (name for name, _ in model.named_modules() if name.rpartition(".")[2] == "backbone")
    backbone = min(places, key=len, default="backbone") + "."
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            groups[not name.startswith(backbone)]["params"].append(weight)
    return [group for group in groups if group["params"]]


def set_number_rates(
    optimizer: torch.optim.Optimizer, model: nn.Module, rate: float, wanted: float | str | None = None
) -> None:
    """Gives the weights of a `NumberModel` outside of its backbone their own learning rate.

    Args:
        optimizer: A new optimizer of the model's weights.
        model: The model.
        rate: The backbone's learning rate.
        wanted: As in `number_rate`.
    """
    own = (weight for name, weight in model.named_parameters() if not name.startswith("backbone."))
    set_rate(optimizer, own, number_rate(rate, wanted))


def set_rate(optimizer: torch.optim.Optimizer, weights: Iterable[Tensor], rate: float) -> None:
    """Gives some weights of a new optimizer another learning rate: their groups are split, with all other options.

    Example:
        >>> import torch
        >>> old, new = torch.nn.Parameter(torch.zeros(2)), torch.nn.Parameter(torch.zeros(3))
        >>> optimizer = torch.optim.AdamW([old, new], lr=1e-5)
        >>> set_rate(optimizer, [new], 1e-3)
        >>> [(group["lr"], len(group["params"])) for group in optimizer.param_groups]
        [(1e-05, 1), (0.001, 1)]
    """
    chosen = {id(weight) for weight in weights}
    for group in list(optimizer.param_groups):
        own = [weight for weight in group["params"] if id(weight) in chosen]
        if not own or group["lr"] == rate:
            continue
        if len(own) == len(group["params"]):
            group["lr"] = rate
        else:
            group["params"] = [weight for weight in group["params"] if id(weight) not in chosen]
            optimizer.add_param_group({**group, "params": own, "lr": rate})
