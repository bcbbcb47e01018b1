"""Bodies under each other's gravity: thousands of systems at once, in float64, by Taylor series.

In one step the coordinates of all bodies are power series in time, whose terms follow from each other by Newton's law:
with the differences D of a pair, S = D * D and U = S^(-3/2), the next term of the accelerations is one of U * D. A
series is right all along its step, so that positions at any times come from the same steps; its last terms say how
long the step may be. Each system has steps of its own, since planets may meet: what costs others forty steps may cost
such a pair hundreds. There are no tables, and nothing in it knows which device it runs on.

Letters in shapes: B systems, N bodies (the star first), P = N (N - 1) / 2 pairs, D dimensions (2 or 3), T times; G = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["ORDER", "TOLERANCE", "Motion", "from_elements", "move"]

ORDER = 18
"""Of the series; measured, 16 and 20 are as fast."""
TOLERANCE = 1e-12
"""Largest size of the last terms of velocities at the end of a step; positions are then good to about 1e-10."""
MAX_STEPS = 20_000
AT_ONCE = 1024
"""Systems in one go on a CPU: with fewer, the calls of so many small operations cost more than what they do."""
AT_ONCE_ON_DEVICE = 65_536


@dataclass(frozen=True)
class Motion:
    """Where bodies went.

    Attributes:
        positions: (B, T, N, D) float64, NaN at times that are NaN, and where the steps ran out.
        velocities: (B, T, N, D).
        steps: (B,) int64, how many steps it took.
        whole: (B,) bool, whether all times were reached.
    """

    positions: Tensor
    velocities: Tensor
    steps: Tensor
    whole: Tensor


def move(
    masses: Tensor, positions: Tensor, velocities: Tensor, times: Tensor, *, order: int = ORDER,
    tolerance: float = TOLERANCE, max_steps: int = MAX_STEPS, at_once: int | None = None,
) -> Motion:  # fmt: skip
    """Lets bodies go at time 0, and says where they are at some times.

    A system that needs more than `max_steps` ends with NaN: two bodies have hit each other. `at_once` systems are
    computed together, by default 1,024 on a CPU and 65,536 elsewhere. `order` and `tolerance` are as the constants.

    Shape:
        masses (B, N); positions and velocities (B, N, D); times (B, T), not negative and rising, NaN behind the last.

    Example:
        >>> masses, here, there = torch.tensor([[1.0, 0.0]]), torch.zeros(1, 2, 2), torch.zeros(1, 2, 2)
        >>> here[0, 1, 0] = there[0, 1, 1] = 1.0                                           # a circle
        >>> times = torch.tensor([[0.0, math.pi / 2]], dtype=torch.float64)
        >>> move(masses, here, there, times).positions[0, :, 1].abs().round(decimals=9)
        tensor([[1., 0.],
                [0., 1.]], dtype=torch.float64)
    """
    masses, positions, velocities, times = (x.to(torch.float64) for x in (masses, positions, velocities, times))
    if positions.shape != velocities.shape or positions.shape[:2] != masses.shape or len(times) != len(masses):
        shapes = [tuple(x.shape) for x in (masses, positions, velocities, times)]
        raise ValueError(f"(B, N), (B, N, D), (B, N, D) and (B, T) are needed, got {shapes}")
    if order < 4 or not tolerance > 0:
        raise ValueError(f"order must be at least 4 and the tolerance positive, got {order=}, {tolerance=}")
    if bool((times < 0).any()) or bool((times[:, 1:] < times[:, :-1]).any()):
        raise ValueError("times must not be negative, and must rise")
    if at_once is None:
        at_once = AT_ONCE if masses.device.type == "cpu" else AT_ONCE_ON_DEVICE
    goes = range(0, len(masses), at_once) or [0]  # one for none at all, which has shapes too
    columns, settings = (masses, positions, velocities, times), (order, tolerance, max_steps)
    parts = [_move(*(column[at : at + at_once] for column in columns), *settings) for at in goes]  # type: ignore[call-arg]
    return Motion(*(torch.cat([getattr(part, name) for part in parts]) for name in Motion.__dataclass_fields__))


def _move(
    masses: Tensor, positions: Tensor, velocities: Tensor, times: Tensor, order: int, tolerance: float, max_steps: int
) -> Motion:
    """The systems of one go; those that have arrived are left out of the next steps."""
    systems, bodies, dimensions = positions.shape
    found = positions.new_full((2, times.shape[1], systems, dimensions, bodies), math.nan)
    wanted = (~times.isnan()).sum(1)
    arrived, steps, rows = torch.zeros_like(wanted), torch.zeros_like(wanted), torch.arange(systems).to(wanted)
    if times.shape[1] == 0 or systems == 0:
        return _motion(found, steps, arrived == wanted)
    last = times.gather(1, (wanted - 1).clamp(min=0)[:, None])[:, 0]
    moving = wanted > 0
    # Systems come last while they move: everything is done to all of them alike.
    state = torch.stack([positions, velocities]).permute(0, 3, 2, 1).contiguous()
    one, two = torch.triu_indices(bodies, bodies, 1)
    drawn_by, now = torch.stack([masses.T[two], masses.T[one]]), times.new_zeros(systems)
    plan = _plan(bodies, dimensions, order, masses)
    for _ in range(max_steps):
        if not bool(moving.all()):
            left = moving.nonzero()[:, 0]
            if len(left) == 0:
                break
            rows, now, last, times = rows[left], now[left], last[left], times[left]
            state, drawn_by = state[..., left], drawn_by[..., left]
        series = _series(plan, drawn_by, state, order)
        step = _length(series, tolerance)
        sound = step > 0  # NaN where two bodies have hit each other
        end = torch.where(now + step < last, now + step, last)
        step = torch.where(now + step < last, step, last - now)
        while True:
            due = times.gather(1, arrived[rows].clamp(max=times.shape[1] - 1)[:, None])[:, 0]
            hit = ((arrived[rows] < wanted[rows]) & (due <= end) & sound).nonzero()[:, 0]
            if len(hit) == 0:
                break
            place = rows[hit]
            found[:, arrived[place], place] = _value(series[..., hit], (due - now)[hit]).permute(0, 3, 1, 2)
            arrived[place] += 1
        state, now = _value(series, step), end
        steps[rows] += 1
        moving = sound & (arrived[rows] < wanted[rows])
    return _motion(found, steps, arrived == wanted)


def _motion(found: Tensor, steps: Tensor, whole: Tensor) -> Motion:
    """From places and speeds as they were written, (2, T, B, D, N)."""
    return Motion(found[0].permute(1, 0, 3, 2), found[1].permute(1, 0, 3, 2), steps, whole)


@dataclass(frozen=True)
class _Plan:
    """What all steps of one go share: which bodies pair up, and the numbers that terms are weighted by."""

    apart: Tensor  # (P, N): a pair's second body less its first
    pull: list[Tensor]  # (N, 2P) for each term: what the forces do to the bodies
    square: list[Tensor]  # each term of a square, of half the products
    power: list[Tensor]  # each term of S^(-3/2), but for the division by S


def _plan(bodies: int, dimensions: int, order: int, like: Tensor) -> _Plan:
    one, two = torch.triu_indices(bodies, bodies, 1)
    pairs = torch.arange(len(one))
    apart, pull = torch.zeros(len(one), bodies), torch.zeros(bodies, 2 * len(one))
    apart[pairs, two], apart[pairs, one] = 1.0, -1.0
    # A force draws the first to the second, as heavy as that one is, and the second to the first.
    pull[one, pairs], pull[two, pairs + len(one)] = 1.0, -1.0
    square, power = [], []
    for k in range(order - 1):
        counts = torch.arange(k, dtype=torch.float64)
        power.append((-1.5 * (k - counts) - counts) / max(k, 1))
        # A product and its mirror image are equal; the one in the middle is its own.
        products = torch.full((k // 2 + 1,), 2.0)
        products[-1] = 1.0 if k % 2 == 0 else 2.0
        square.append(products.repeat_interleave(dimensions))
    pulls = [pull.double() / ((k + 1) * (k + 2)) for k in range(order - 1)]
    pulls, square, power = ([x.to(like) for x in many] for many in (pulls, square, power))
    return _Plan(apart.to(like), pulls, square, power)


def _series(plan: _Plan, masses: Tensor, state: Tensor, order: int) -> Tensor:
    """The coordinates' terms up to `order`, (order + 1, D, N, B), from masses (2, P, B) and state (2, D, N, B)."""
    _, dimensions, bodies, systems = state.shape
    pairs, top = len(plan.apart), order - 1
    series = state.new_empty(order + 1, dimensions, bodies, systems)
    series[:2] = state
    # A product of series sums over terms that run in opposite directions; so some are kept backwards as well.
    gaps, gaps_back = state.new_empty(2, top, dimensions, pairs, systems)
    squares_back, powers = state.new_empty(2, top, pairs, systems)
    terms, gap, back, square, power = (x.unbind(0) for x in (series, gaps, gaps_back, squares_back, powers))
    inverse = state[0, 0]
    for k in range(top):
        first = top - 1 - k  # where what is kept backwards begins
        back[first].copy_(torch.matmul(plan.apart, terms[k], out=gap[k]))
        products = gaps[: k // 2 + 1] * gaps_back[first : first + k // 2 + 1]
        torch.mv(products.flatten(2).flatten(0, 1).T, plan.square[k], out=square[first].view(-1))
        if k == 0:
            inverse = square[first].reciprocal()
            torch.mul(inverse, inverse.sqrt(), out=power[0])
        else:
            products = squares_back[first : top - 1] * powers[:k]
            torch.mul(torch.mv(products.flatten(1).T, plan.power[k]).view(pairs, systems), inverse, out=power[k])
        force = (powers[: k + 1, None] * gaps_back[first:]).sum(0)
        pulls = (force[:, None] * masses).view(dimensions, 2 * pairs, systems)
        torch.matmul(plan.pull[k], pulls, out=terms[k + 2])
    return series


def _length(series: Tensor, tolerance: float) -> Tensor:
    """The length of a step, (B,): at its end the last two terms of the velocities are within the tolerance.

    Velocities, because their errors grow with time into errors of positions; in the short steps of bodies that meet,
    errors of positions would look harmless.
    """
    order = len(series) - 1
    last, before = order * series[order].abs().amax((0, 1)), (order - 1) * series[order - 1].abs().amax((0, 1))
    return torch.minimum((tolerance / last) ** (1 / (order - 1)), (tolerance / before) ** (1 / (order - 2)))


def _value(series: Tensor, time: Tensor) -> Tensor:
    """Positions and velocities, (2, D, N, B), at a time (B,) after the step's beginning."""
    counts = torch.arange(len(series), dtype=time.dtype, device=time.device)
    powers = torch.cat([torch.ones_like(time)[None], time.expand(len(series) - 1, -1)]).cumprod(0)[:, None, None]
    speed = series[1:] * (powers[:-1] * counts[1:, None, None, None])
    return torch.stack([(series * powers).sum(0), speed.sum(0)])


def from_elements(masses: Tensor, axes: Tensor, eccentricities: Tensor, angles: Tensor) -> tuple[Tensor, Tensor]:
    """Places and speeds of a star, at rest in the middle, and its planets, from orbital elements.

    As REBOUND does where planets are added one by one: a planet's orbit is about the centre of mass of all that come
    before it, whether these are further in or not. The angle is the true longitude; perihelia lie at angle 0. The
    centre of mass of the whole is not brought to rest, and neither do the paper's data.

    Shape:
        masses (B, N), the star first; semi-major axes, eccentricities below 1 and angles in radians (B, N - 1);
        positions and velocities (B, N, 2).

    Example:
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
