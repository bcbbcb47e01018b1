"""Orbital elements of planets and their places and speeds; and what motion keeps: energy and angular momentum.

Letters in shapes: B systems, N bodies of which the star is the first, D dimensions. G is 1.
"""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["angular_momentum", "energy", "from_elements", "to_elements"]


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


def to_elements(masses: Tensor, positions: Tensor, velocities: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The orbital elements that planets have now; see `from_elements`.

    Returns:
        Semi-major axes, eccentricities, true longitudes and longitudes of the perihelia, (B, N - 1) each; angles from
        -pi to pi. A circle's perihelion is at angle 0.

    Example:
        >>> masses, elements = torch.tensor([[1.0, 1e-5]]), torch.tensor([2.0, 0.5, 0.75])[:, None, None]
        >>> axis, eccentricity, angle, perihelion = to_elements(masses, *from_elements(masses, *elements))
        >>> f"{float(axis):.9f} {float(eccentricity):.9f} {float(angle):.9f}"
        '2.000000000 0.500000000 0.750000000'
    """
    masses, positions, velocities = (x.to(torch.float64) for x in (masses, positions, velocities))
    within = masses.cumsum(1)
    place, motion = (
        x[:, 1:] - (masses[..., None] * x).cumsum(1)[:, :-1] / within[:, :-1, None] for x in (positions, velocities)
    )
    pull = within[:, 1:]
    distance, speed2 = place.norm(dim=-1), motion.square().sum(-1)
    axis = 1 / (2 / distance - speed2 / pull)
    towards = (place * motion).sum(-1, keepdim=True)
    # Points to the perihelion, and is as long as the eccentricity.
    vector = ((speed2 - pull / distance)[..., None] * place - towards * motion) / pull[..., None]
    perihelion = torch.atan2(vector[..., 1], vector[..., 0])
    eccentricity = vector.norm(dim=-1)
    perihelion = torch.where(eccentricity < 1e-14, 0.0, perihelion)
    return axis, eccentricity, torch.atan2(place[..., 1], place[..., 0]), perihelion


def energy(masses: Tensor, positions: Tensor, velocities: Tensor) -> Tensor:
    """Kinetic and potential energy together, (...), of masses (..., N) at positions and velocities (..., N, D)."""
    moving = (masses * velocities.square().sum(-1)).sum(-1) / 2
    one, two = torch.triu_indices(masses.shape[-1], masses.shape[-1], 1)
    apart = (positions[..., one, :] - positions[..., two, :]).norm(dim=-1)
    return moving - (masses[..., one] * masses[..., two] / apart).sum(-1)


def angular_momentum(masses: Tensor, positions: Tensor, velocities: Tensor) -> Tensor:
    """About the origin, (...), of motion in a plane: see `energy`."""
    turn = positions[..., 0] * velocities[..., 1] - positions[..., 1] * velocities[..., 0]
    return (masses * turn).sum(-1)
