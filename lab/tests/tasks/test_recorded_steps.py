"""Steps that are recorded on an accelerator: sizes, optimizer and schedule."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from numerate.processing.static_shapes import is_recorded
from numerate_lab.tasks.finetuning.recorded_steps import RecordedSteps, learn, rated_optimizer


def test_each_size_has_a_graph_of_its_own_and_counts_are_fixed() -> None:
    seen: list[tuple[int, bool]] = []

    def step(size: int, numbers: torch.Tensor) -> torch.Tensor:
        seen.append((size, is_recorded()))
        return numbers.sum() * size

    steps = RecordedSteps(step)
    assert [float(steps(size, torch.ones(3))) for size in (1, 2, 1)] == [3, 6, 3]
    assert seen == [(1, True), (2, True), (1, True)] and set(steps.graphs) == {1, 2}
    assert not is_recorded()
    RecordedSteps(step, enabled=False)(5, torch.ones(1))
    assert seen[-1] == (5, False)


def test_rates_decay_and_the_schedule() -> None:
    model = nn.ModuleDict({"backbone": nn.Linear(3, 3), "head": nn.Linear(3, 1)})
    optimizer, schedule = rated_optimizer(
        model.named_parameters(), backbone="backbone.", rate=0.1, new_rate=0.5, weight_decay=0.01, warmup=0.5, steps=4
    )
    groups = {
        (group["initial_lr"], group["weight_decay"]): [tuple(w.shape) for w in group["params"]]
        for group in optimizer.param_groups
    }
    assert groups == {(0.1, 0.01): [(3, 3)], (0.1, 0.0): [(3,)], (0.5, 0.01): [(1, 3)], (0.5, 0.0): [(1,)]}
    rates = []
    for _ in range(4):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx([0.05, 0.1, 0.1, 0.05])


def test_a_step_is_that_of_the_optimizer_with_clipped_gradients() -> None:
    torch.manual_seed(0)
    model, inputs = nn.Linear(2, 1), torch.tensor([[100.0, -50.0]])
    other = nn.Linear(2, 1)
    other.load_state_dict(model.state_dict())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loss = learn(lambda: model(inputs).square().sum(), optimizer, 1.0, False, torch.device("cpu"))
    wanted = other(inputs).square().sum()
    wanted.backward()
    norm = torch.cat([weight.grad.flatten() for weight in other.parameters() if weight.grad is not None]).norm()
    assert float(norm) > 1 and torch.equal(loss, wanted.detach())
    for weight, plain in zip(model.parameters(), other.parameters(), strict=True):
        assert plain.grad is not None
        torch.testing.assert_close(weight, plain - 0.1 * plain.grad / norm, rtol=1e-4, atol=1e-5)
