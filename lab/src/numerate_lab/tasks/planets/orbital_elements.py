"""Positions and velocities of planets from their orbital elements.

Letters in shapes: B systems, N bodies of which the star is the first. G is 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["from_elements"]


def from_elements(masses: Tensor, axes: Tensor, eccentricities: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    """Places and speeds of a star, at rest in the middle, and its planets, from orbital elements.

    As REBOUND does where planets are added one by one: a planet's orbit is about the centre of mass of all that come
    before it, whether these are further in or not. The angle is the true longitude; perihelia lie at angle 0. The
    centre of mass of the whole is not brought to rest, and neither do the paper's data.

    Args:
        masses: (B, N), the star first.
        axes: (B, N - 1) semi-major axes.
        eccentricities: (B, N - 1), below 1.
        angles: (B, N - 1) in radians.

    Returns:
        Positions and velocities, (B, N, 2) each.

    Example:
        >>> import math
        >>> masses = torch.tensor([[1.0, 0.0]])
        >>> axis, eccentricity, angle = torch.tensor([2.0, 0.5, math.pi], dtype=torch.float64)[:, None, None]
        >>> places, speeds = from_elements(masses, axis, eccentricity, angle)                # at aphelion
        >>> places[0, 1].round(decimals=9).tolist(), round(float(speeds[0, 1, 1]), 6)
        ([-3.0, 0.0], -0.408248)
    """
    masses, axes, eccentricities, angles = (x.to(torch.float64) for x in (masses, axes, eccentricities, angles))
    if bool((eccentricities < 0).any()) or bool((eccentricities >= 1).any()) or not bool((axes > 0).all()):
        raise ValueError("orbits must be ellipses: eccentricities from 0 to below 1, and positive axes")
    within = masses.cumsum(1)
    parameter = axes * (1 - eccentricities.square())
    distance = parameter / (1 + eccentricities * angles.cos())
    speed = (within[:, 1:] / parameter).sqrt()
    place = torch.stack([distance * angles.cos(), distance * angles.sin()], -1)
    motion = torch.stack([-speed * angles.sin(), speed * (eccentricities + angles.cos())], -1)
    both = torch.stack([place, motion], -2)  # (B, N - 1, 2, 2)
    middle, bodies = torch.zeros_like(both[:, 0]), [torch.zeros_like(both[:, 0])]
    for planet in range(axes.shape[1]):
        bodies.append(both[:, planet] + middle)
        share = masses[:, planet + 1] / within[:, planet + 1]
        middle = middle + both[:, planet] * share[:, None, None]
    found = torch.stack(bodies, 1)
    return found[:, :, 0], found[:, :, 1]
