"""Motion under gravity against what is known of it otherwise: Kepler, conservation, reversal, other integrators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from torch import Tensor

from numerate_lab.tasks.planets.integrator import from_elements, move


def to_elements(masses: Tensor, positions: Tensor, velocities: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The orbital elements that planets have now; see `from_elements`.

    Returns:
        Semi-major axes, eccentricities, true longitudes and longitudes of the perihelia, (B, N - 1) each; angles from
        -pi to pi. A circle's perihelion is at angle 0.
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


def drawn(planets: int, count: int, seed: int = 0, angle: float = math.pi / 6) -> tuple[Tensor, ...]:
    """Masses with the star's, axes, eccentricities, angles in the paper's ranges, the planets in any order."""
    rng = np.random.default_rng([seed, planets])
    masses, eccentricities, angles = (
        rng.uniform(low, high, (count, planets)) for low, high in ((1e-5, 5e-5), (0, 0.1), (-angle, angle))
    )
    axes = np.linspace(1.0, rng.uniform(1.5, 3.0, count), planets, axis=1)
    columns = np.concatenate([np.ones((count, 1)), masses], 1), rng.permuted(axes, axis=1), eccentricities, angles
    return tuple(map(torch.from_numpy, columns))


def kepler(axis: float, eccentricity: float, start: float, mass: float, times: np.ndarray) -> np.ndarray:
    """Where a body on an ellipse about the origin is, (T, 2), by Kepler's equation and bisection."""
    eccentric = 2 * math.atan(math.sqrt((1 - eccentricity) / (1 + eccentricity)) * math.tan(start / 2))
    mean = eccentric - eccentricity * math.sin(eccentric) + math.sqrt(mass / axis**3) * times
    low, high = mean - 1.1, mean + 1.1
    for _ in range(70):
        middle = (low + high) / 2
        above = middle - eccentricity * np.sin(middle) > mean
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    flat = math.sqrt(1 - eccentricity**2)
    return axis * np.stack([np.cos(low) - eccentricity, flat * np.sin(low)], -1)


def test_two_bodies_keep_to_keplers_ellipse() -> None:
    for eccentricity in [0.0, 0.05, 0.3, 0.9]:
        mass, axis, angle = 0.3, 1.7, 0.8
        masses = torch.tensor([[1.0, mass]], dtype=torch.float64)
        places, speeds = from_elements(
            masses, *(torch.tensor([[x]], dtype=torch.float64) for x in (axis, eccentricity, angle))
        )
        times = np.linspace(0, 40, 60)
        found = move(masses, places, speeds, torch.from_numpy(times)[None], tolerance=1e-15).positions[0].numpy()
        truth = kepler(axis, eccentricity, angle, 1 + mass, times)
        # What an error does to the phase is the larger, the closer the bodies come.
        assert np.abs(found[:, 1] - found[:, 0] - truth).max() < 1e-11 / (1 - eccentricity) ** 2
        middle = (found[:, 0] + mass * found[:, 1]) / (1 + mass)  # goes straight on
        along = middle[0] + times[:, None] / times[-1] * (middle[-1] - middle[0])
        assert np.abs(middle - along).max() < 1e-12 and np.abs(middle[-1] - middle[0]).max() > 1


def test_agrees_with_another_integrator() -> None:
    masses, *elements = drawn(4, 6, seed=3)
    places, speeds = from_elements(masses, *elements)
    times = np.linspace(0, 24, 9)
    found = move(masses, places, speeds, torch.from_numpy(np.tile(times, (6, 1))))

    def newton(_: float, state: np.ndarray, weights: np.ndarray) -> np.ndarray:
        x, v = state.reshape(2, 5, 2)
        apart = x[None] - x[:, None]
        cubes = (apart**2).sum(-1) ** 1.5 + np.eye(5)
        return np.concatenate([v.ravel(), ((weights[:, None] / cubes[..., None]) * apart).sum(1).ravel()])

    for row in range(6):
        start = np.concatenate([places[row].numpy().ravel(), speeds[row].numpy().ravel()])
        options: dict[str, Any] = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13, "t_eval": times}
        truth = solve_ivp(newton, (0, 24), start, args=(masses[row].numpy(),), **options).y.T.reshape(9, 2, 5, 2)
        assert np.abs(found.positions[row].numpy() - truth[:, 0]).max() < 1e-8
        assert np.abs(found.velocities[row].numpy() - truth[:, 1]).max() < 1e-8
    assert bool(found.whole.all()) and int(found.steps.min()) > 10


def test_three_equal_bodies_chase_each_other_along_an_eight() -> None:
    # The orbit of Chenciner and Montgomery, to the digits of their paper: after a third of its period each body is
    # where the next one was.
    one, speed = torch.tensor([0.97000436, -0.24308753]), torch.tensor([0.93240737, 0.86473146])
    places = torch.stack([one, -one, torch.zeros(2)])[None].double()
    speeds = torch.stack([speed / 2, speed / 2, -speed])[None].double()
    third = 6.32591398 / 3
    found = move(torch.ones(1, 3), places, speeds, torch.tensor([[0.0, third, 2 * third, 3 * third]])).positions[0]
    assert (found[3] - found[0]).abs().max() < 1e-5
    order = [int((found[1] - body).norm(dim=-1).argmin()) for body in found[0]]
    assert sorted(order) == [0, 1, 2] and order != [0, 1, 2]
    assert (found[1][order] - found[0]).abs().max() < 1e-5


def test_energy_and_angular_momentum_are_kept() -> None:
    for planets in [2, 4]:
        masses, *elements = drawn(planets, 40)
        places, speeds = from_elements(masses, *elements)
        found = move(masses, places, speeds, torch.linspace(0, 60, 5).expand(40, -1), tolerance=1e-15)
        many = masses[:, None].expand(-1, 5, -1)
        for kept in (energy, angular_momentum):
            figures = kept(many, found.positions, found.velocities)
            assert ((figures - figures[:, :1]) / figures[:, :1]).abs().max() < 1e-11
        # The figures are what they are said to be, for one system and by hand.
        x, v, m = (column[0].numpy() for column in (places, speeds, masses))
        pairs = [(i, j) for i in range(planets + 1) for j in range(i)]
        by_hand = sum(m * (v**2).sum(1)) / 2 - sum(m[i] * m[j] / math.dist(x[i], x[j]) for i, j in pairs)
        assert float(energy(masses[0], places[0], speeds[0])) == pytest.approx(by_hand, rel=1e-12)
        assert float(angular_momentum(masses[0], places[0], speeds[0])) == pytest.approx(
            sum(m * np.array([a[0] * b[1] - a[1] * b[0] for a, b in zip(x, v, strict=True)])), rel=1e-12
        )


def test_time_can_be_turned_back() -> None:
    masses, *elements = drawn(4, 20, seed=5)
    places, speeds = from_elements(masses, *elements)
    end = torch.full((20, 1), 24.0)
    there = move(masses, places, speeds, end, tolerance=1e-15)
    back = move(masses, there.positions[:, 0], -there.velocities[:, 0], end, tolerance=1e-15)
    assert (there.positions[:, 0] - places).abs().max() > 0.1
    assert (back.positions[:, 0] - places).abs().max() < 1e-10
    assert (back.velocities[:, 0] + speeds).abs().max() < 1e-10


def test_a_system_does_not_depend_on_those_beside_it() -> None:
    masses, *elements = drawn(3, 30)
    places, speeds = from_elements(masses, *elements)
    times = torch.linspace(0, 20, 7, dtype=torch.float64) * torch.linspace(0.5, 1, 30, dtype=torch.float64)[:, None]
    times[4, 3:], times[5] = math.nan, math.nan
    found = move(masses, places, speeds, times)
    some = move(masses, places, speeds, times, at_once=7)
    assert torch.equal(found.positions.isnan(), some.positions.isnan())
    assert torch.equal(found.positions.isnan().all(-1).all(-1), times.isnan())
    assert (found.positions - some.positions).nan_to_num().abs().max() < 1e-12
    assert bool(found.whole.all()) and found.steps[5] == 0
    # Times of another grid are on the same way.
    dense = move(masses, places, speeds, torch.linspace(0, 20, 61, dtype=torch.float64).expand(30, -1)).positions
    assert (dense[-1, ::10] - found.positions[-1]).abs().max() < 1e-9


def test_space_has_no_preferred_direction() -> None:
    masses, *elements = drawn(3, 5)
    places, speeds = from_elements(masses, *elements)
    turn = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))[0][:2]
    times = torch.linspace(0, 15, 4).expand(5, -1)
    flat = move(masses, places, speeds, times).positions
    assert (move(masses, places @ turn, speeds @ turn, times).positions - flat @ turn).abs().max() < 1e-9


def test_what_hits_each_other_ends() -> None:
    masses = torch.ones(2, 2)
    places = torch.tensor([[[-1.0, 0.0], [1.0, 0.0]], [[-1.0, 0.0], [1.0, 0.0]]])
    speeds = torch.tensor([[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.5], [0.0, -0.5]]])
    # Two masses of 1 at a distance of 2 fall together in pi / 2 of time: half a period of an ellipse of axis 1.
    times = torch.tensor([[0.0, 1.0, 3.0], [0.0, 1.0, 3.0]])
    found = move(masses, places, speeds, times, max_steps=150)
    assert found.whole.tolist() == [False, True]
    assert found.positions.isnan().all(-1).all(-1).tolist() == [[False, False, True], [False, False, False]]


def test_nothing_moves_what_has_no_neighbour() -> None:
    alone = move(torch.ones(1, 1), torch.zeros(1, 1, 2), torch.ones(1, 1, 2), torch.tensor([[0.0, 5.0]]))
    assert alone.positions[0, :, 0].tolist() == [[0.0, 0.0], [5.0, 5.0]]
    none = move(torch.ones(0, 3), torch.zeros(0, 3, 2), torch.zeros(0, 3, 2), torch.zeros(0, 4))
    assert none.positions.shape == (0, 4, 3, 2)


def test_bad_input() -> None:
    for change, message in [
        ({"times": torch.tensor([[1.0, 0.5]])}, "rise"),
        ({"times": torch.tensor([[-1.0, 0.5]])}, "negative"),
        ({"masses": torch.ones(1, 3)}, r"\(1, 3\)"),
        ({"order": 2}, "order=2"),
        ({"tolerance": 0.0}, "tolerance=0.0"),
    ]:
        good = {"masses": torch.ones(1, 2), "times": torch.ones(1, 1)}
        good |= {"positions": torch.zeros(1, 2, 2), "velocities": torch.zeros(1, 2, 2)}
        with pytest.raises(ValueError, match=message):
            move(**(good | change))


def test_elements_come_back() -> None:
    masses, axes, eccentricities, angles = drawn(4, 50, angle=3.0)
    found = to_elements(masses, *from_elements(masses, axes, eccentricities, angles))
    for one, other in zip(found, (axes, eccentricities), strict=False):
        assert (one - other).abs().max() < 1e-12
    assert (found[2] - angles).abs().max() < 1e-12
    assert (found[3].sin() * eccentricities).abs().max() < 1e-12  # perihelia at angle 0, where there are any
    circle = to_elements(masses[:, :2], *from_elements(masses[:, :2], axes[:, :1], 0 * axes[:, :1], angles[:, :1]))
    assert circle[1].max() < 1e-14 and circle[3].abs().max() == 0


def test_an_orbit_is_about_all_that_came_before() -> None:
    masses = torch.tensor([[1.0, 0.5, 0.1]], dtype=torch.float64)
    axes, none = torch.tensor([[3.0, 1.0]]).double(), torch.zeros(1, 2)
    places, speeds = (x[0].numpy() for x in from_elements(masses, axes, none, none))
    assert places[0].tolist() == [0, 0] and speeds[0].tolist() == [0, 0]
    assert places[1] == pytest.approx([3, 0]) and speeds[1] == pytest.approx([0, math.sqrt(1.5 / 3)])
    # The second planet goes around the common centre of star and first planet, at 1, which itself moves.
    assert places[2] == pytest.approx([1 + 1, 0])
    assert speeds[2] == pytest.approx([0, math.sqrt(1.5 / 3) / 3 + math.sqrt(1.6)])
    with pytest.raises(ValueError, match="ellipses"):
        from_elements(masses, axes, none + 1, none)
