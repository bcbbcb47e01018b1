"""Random numbers for masks: from torch's generator, or from a hash of (seed, epoch, sample, position).

The hash gives a sample the same mask in every batch, with any padding and with any number of processes.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["Draws", "hashed_uniform"]

_GOLDEN = -7046029254386353131
"""2^64 / golden ratio as int64: the increment of SplitMix64, whose two multipliers follow."""
_FIRST, _SECOND = -4658895280553007687, -7723592293110705685


def _mixed(state: Tensor) -> Tensor:
    """SplitMix64's output function on int64, whose products wrap around like those of uint64."""
    state = _multiplied(state)
    return state ^ _shifted(state, 31)


def _multiplied(state: Tensor) -> Tensor:
    """`_mixed` without its last step, which changes only the lower 33 bits."""
    state = (state ^ _shifted(state, 30)) * _FIRST
    return (state ^ _shifted(state, 27)) * _SECOND


def _shifted(state: Tensor, by: int) -> Tensor:
    """Logical shift to the right; torch's `>>` copies the sign bit."""
    return (state >> by) & ((1 << (64 - by)) - 1)


def _wrapped(number: int) -> int:
    """An integer modulo 2^64, as int64."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def _advanced(state: Tensor, count: Tensor) -> Tensor:
    """The state after `count` increments, in one operation.

    A compiler that knows a tensor to be a range computes its product without wrapping around, and fails. It does not
    look through the operation `^`, which changes nothing here.
    """
    return torch.add(state, count ^ 0 if torch.compiler.is_compiling() else count, alpha=_GOLDEN)


def hashed_uniform(sample: Tensor, place: Tensor, seed: int = 0, epoch: int | Tensor = 0, stream: int = 0) -> Tensor:
    """Uniform numbers in [0, 1) that depend only on the arguments: (B, T) float32, equal on every device.

    Args:
        sample: (B,) int64, ids of the samples.
        place: (B, T) int64, positions within the sample.
        seed: Seed of the run.
        epoch: Current epoch, so that a sample gets a new mask in each.
        stream: Index of the draw, if there are several for one position.

    Example:
        >>> place = torch.arange(3).expand(2, 3)
        >>> two, one = hashed_uniform(torch.tensor([7, 9]), place), hashed_uniform(torch.tensor([9]), place[:1])
        >>> torch.equal(two[1:], one), torch.equal(two[:1], one)
        (True, False)
    """
    return _uniform(_mixed_in(sample.to(torch.int64)[:, None], seed, epoch), place + 1, stream)


def _mixed_in(key: Tensor, *parts: int | Tensor) -> Tensor:
    """The key (B, 1) with further numbers mixed in; tensors () for CUDA graphs, which record numbers as constants."""
    for part in parts:
        count = 2 * part + 1
        key = _mixed(_advanced(key, count) if isinstance(count, Tensor) else key + _wrapped(_GOLDEN * count))
    return key


def _uniform(key: Tensor, place: Tensor, stream: int) -> Tensor:
    """`hashed_uniform` for a key (B, 1) that has seed and epoch mixed in, and places counted from 1."""
    return _as_uniform(_advanced(_mixed_in(key, stream), place))


def _as_uniform(state: Tensor) -> Tensor:
    bits = _shifted(_multiplied(state), 40)  # 24 bits: the precision of float32
    return bits.to(torch.float32) / (1 << 24)


class Draws:
    """Uniform draws for the tokens and numbers of one batch.

    Args:
        samples: (B,) ids of the samples; None to draw from torch's generator.
        present: (B, T) bool, which tokens are no padding, so that padding does not matter.
        seed: Seed for samples with ids.
        epoch: Epoch for samples with ids.
    """

    def __init__(self, samples: Tensor | None, present: Tensor, seed: int = 0, epoch: int | Tensor = 0) -> None:
        self.places, self.device, self._stream = present, present.device, 0  # the generator needs only a shape
        self._key: Tensor | None = None
        if samples is not None:
            self.places = present.cumsum(1)
            self._key = _mixed_in(samples.reshape(-1, 1).to(self.device, torch.int64), seed, epoch)

    def tokens(self) -> Tensor:
        """One draw for each token: (B, T)."""
        return self._draw(self.places)

    def numbers(self, count: int) -> Tensor:
        """One draw for each number of the table: (B, count)."""
        return self._draw(self._numbers(count).expand(len(self.places), -1))

    def several(self, *counts: int | None) -> tuple[Tensor, ...]:
        """Several draws: for each `None` that of `tokens`, for each count that of `numbers`.

        Their values are those of single calls in this order, with a third of the operations.
        """
        if self._key is None:
            return tuple(self.tokens() if count is None else self.numbers(count) for count in counts)
        first, self._stream = self._stream + 1, self._stream + len(counts)
        keys = _mixed(_advanced(self._key, torch.arange(2 * first + 1, 2 * self._stream + 2, 2, device=self.device)))
        places = {count: self.places if count is None else self._numbers(count) for count in dict.fromkeys(counts)}
        states = [_advanced(key, places[count]) for key, count in zip(keys.split(1, dim=1), counts, strict=True)]
        return _as_uniform(torch.cat(states, dim=1)).split([state.shape[1] for state in states], dim=1)

    def _numbers(self, count: int) -> Tensor:
        """Places of numbers, counted from 1: (count,)."""
        return torch.arange(1, count + 1, device=self.device)

    def _draw(self, places: Tensor) -> Tensor:
        if self._key is None:
            return torch.rand(places.shape, device=self.device)
        self._stream += 1
        return _uniform(self._key, places, self._stream)
