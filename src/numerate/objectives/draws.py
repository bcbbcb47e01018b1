"""Random numbers for masks: by torch's generator, or by a hash of (seed, epoch, sample, position).

A hash draws the same mask for a sample whatever batch it is in, however that is padded, and however many processes
share the data.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["Draws", "hashed_uniform"]

_GOLDEN = -7046029254386353131
"""2^64 / golden ratio, as int64: the step of SplitMix64's counter; the factors below are its own, too."""
_FIRST, _SECOND = -4658895280553007687, -7723592293110705685


def _mixed(state: Tensor) -> Tensor:
    """SplitMix64's output function on int64, whose products wrap around as those of uint64 do."""
    state = (state ^ _shifted(state, 30)) * _FIRST
    state = (state ^ _shifted(state, 27)) * _SECOND
    return state ^ _shifted(state, 31)


def _shifted(state: Tensor, by: int) -> Tensor:
    """A shift to the right that fills with zeros; torch's own copies the sign."""
    return (state >> by) & ((1 << (64 - by)) - 1)


def _wrapped(number: int) -> int:
    """What an int64 keeps of a whole number."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)


def hashed_uniform(sample: Tensor, place: Tensor, seed: int = 0, epoch: int = 0, stream: int = 0) -> Tensor:
    """Uniform numbers in [0, 1) that depend on the arguments alone: (B, T) float32, the same on every device.

    Args:
        sample: (B,) int64, which samples they are for.
        place: (B, T) int64, which position within the sample.
        seed: The run's.
        epoch: So that a sample is masked anew each time that it is seen.
        stream: Tells several draws for one position apart.

    Example:
        >>> place = torch.arange(3).expand(2, 3)
        >>> two, one = hashed_uniform(torch.tensor([7, 9]), place), hashed_uniform(torch.tensor([9]), place[:1])
        >>> torch.equal(two[1:], one), torch.equal(two[:1], one)
        (True, False)
    """
    key = sample.to(torch.int64)[:, None]
    for part in (seed, epoch, stream):
        key = _mixed(key + _wrapped(_GOLDEN * (2 * part + 1)))
    bits = _shifted(_mixed(key + _GOLDEN * (place + 1)), 40)  # 24 of them: as many as a float32 holds
    return bits.to(torch.float32) / (1 << 24)


class Draws:
    """Draws for the tokens and the numbers of one batch.

    Args:
        samples: (B,) ids of the samples; None draws by torch's generator, on `device`.
        places: (B, T) each token's place among the real ones of its row, so that padding does not count.
        device: Where the draws are wanted.
        seed: For samples with ids.
        epoch: For samples with ids.
    """

    def __init__(
        self, samples: Tensor | None, places: Tensor, device: torch.device, seed: int = 0, epoch: int = 0
    ) -> None:
        self.samples = None if samples is None else samples.reshape(-1).to(device)
        self.places, self.device, self.seed, self.epoch = places, device, seed, epoch
        self._stream = 0

    def tokens(self) -> Tensor:
        """One number in [0, 1) a token: (B, T)."""
        return self._draw(self.places)

    def numbers(self, count: int) -> Tensor:
        """One a number of the table: (B, count)."""
        return self._draw(torch.arange(count, device=self.device).expand(len(self.places), -1))

    def _draw(self, places: Tensor) -> Tensor:
        if self.samples is None:
            return torch.rand(places.shape, device=self.device)
        self._stream += 1
        return hashed_uniform(self.samples, places, self.seed, self.epoch, self._stream)
