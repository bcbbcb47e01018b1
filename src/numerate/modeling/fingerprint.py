"""Fingerprints of a backbone's weights: whether training changed them, and whether a given backbone is the same.

A fingerprint is a hash of a bounded sample of each weight, so that it takes milliseconds for billions of weights. The
sample is hashed in three precisions. A backbone that is loaded in bfloat16 or float16, on another device or with
another attention implementation has the same fingerprint in one of them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import Tensor

__all__ = ["Fingerprint", "fingerprint", "is_comparable", "is_same", "sample"]

Fingerprint = dict[str, str]
"""`dtype`, the types of the weights, and one hash of the sample for each precision: `float32` and those it has more."""

_SAMPLE, _LONG_SAMPLE = 256, 1 << 14
"""Number of values that are read of a weight, and of one with more rows than that: an embedding may change in the rows
of a few tokens only."""
_LONG = 1 << 14
_PRECISIONS = (torch.float32, torch.bfloat16, torch.float16)


@torch.no_grad()
def fingerprint(weights: Mapping[str, Tensor]) -> Fingerprint | None:
    """The fingerprint of weights; None if they cannot be read here: offloaded (`meta`), or spread over processes.

    Names and order do not count: they differ between versions of transformers, and PEFT changes them.

    Example:
        >>> one = fingerprint({"a": torch.arange(6.0)})
        >>> one["dtype"], one == fingerprint({"b": torch.arange(6.0)}), one == fingerprint({"a": torch.arange(7.0)})
        ('float32', True, False)
    """
    samples: list[tuple[tuple[int, ...], Tensor]] = []
    types = set()
    for weight in weights.values():
        if weight.device.type == "meta" or hasattr(weight, "full_tensor"):
            return None
        types.add(str(weight.dtype).removeprefix("torch."))
        samples.append((tuple(weight.shape), sample(weight)))
    if not samples:
        return None
    on_cpu = _moved([values for _, values in samples])
    found: Fingerprint = {"dtype": "+".join(sorted(types))}
    for precision in _PRECISIONS:
        digests = []
        for (shape, _), values in zip(samples, on_cpu, strict=True):
            rounded = values.to(precision).to(torch.float32).numpy().tobytes()
            digests.append(hashlib.sha256(repr(shape).encode() + rounded).digest())
        name = str(precision).removeprefix("torch.")
        found[name] = hashlib.sha256(b"".join(sorted(digests))).hexdigest()[:16]
    return found


def is_same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints can be those of the same weights, one of them perhaps in a lower precision.

    Weights of equal types must be equal: a training in small steps from weights that were rounded to bfloat16 ends at
    others that are rounded to the same ones.

    Example:
        >>> weights = {"a": torch.tensor([0.1, 0.2])}
        >>> one, half = fingerprint(weights), fingerprint({"a": weights["a"].bfloat16()})
        >>> is_same(one, half), is_same(one, fingerprint({"a": torch.tensor([0.1, 0.3])}))
        (True, False)
    """
    if one.get("dtype") == other.get("dtype"):
        return one.get("float32") == other.get("float32")
    # In any of the precisions: models of several types keep some weights, such as norms, in float32.
    hashes = [{value for key, value in each.items() if key != "dtype"} for each in (one, other)]
    return not hashes[0].isdisjoint(hashes[1])


def is_comparable(one: Fingerprint, other: Fingerprint) -> bool:
    """Whether two fingerprints say anything about each other.

    Not those of quantised weights, whose values are codes, and not float16 against bfloat16: the same weight, rounded
    twice, is another one.
    """
    types = [set(each.get("dtype", "").split("+")) for each in (one, other)]
    if any(not name.startswith(("float", "bfloat")) or name.startswith("float8") for name in types[0] | types[1]):
        return False
    halves = [{"float16", "bfloat16"} & each for each in types]
    return not (halves[0] and halves[1] and halves[0] != halves[1])


def sample(weight: Tensor) -> Tensor:
    """Evenly spaced values of a weight, as float32; integer arithmetic gives the same places on every device."""
    count, weight = weight.numel(), weight.detach()
    wanted = _LONG_SAMPLE if weight.dim() == 2 and len(weight) > _LONG else _SAMPLE
    if count <= wanted:
        return weight.reshape(-1).to(torch.float32)
    places = torch.arange(wanted, device=weight.device) * (count - 1) // (wanted - 1)
    return torch.take(weight, places).to(torch.float32)


def _moved(samples: list[Tensor]) -> list[Tensor]:
    """The samples on the CPU, with one transfer for each device."""
    result: list[Tensor] = [torch.empty(0)] * len(samples)
    for device in {sample.device for sample in samples}:
        chosen = [index for index, sample in enumerate(samples) if sample.device == device]
        parts = torch.cat([samples[index] for index in chosen]).cpu().split([len(samples[index]) for index in chosen])
        for index, part in zip(chosen, parts, strict=True):
            result[index] = part
    return result
