"""Training of the task `transactions`: pre-training on masked cells, then a fraud head on frozen features.

Rows, numbers and window starts lie on the device; a step gathers its windows there. Features of all windows are
computed once where they fit into memory.
"""

from __future__ import annotations

import contextlib
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from numerate.config import ConfigError
from numerate.objectives.cell_masking import mask_cells
from numerate.training.guard import NonFiniteError
from numerate_lab.tasks.finetuning.recorded_steps import RecordedSteps
from numerate_lab.tasks.transactions.fraud_scores import best_threshold

if TYPE_CHECKING:
    from collections.abc import Callable

    from numerate.processing.number_table import NumberTable
    from numerate_lab.engine.task import Figures, Log
    from numerate_lab.tasks.transactions.cell_windows import CellWindows
    from numerate_lab.tasks.transactions.number_cells import NumberCells

__all__ = ["DeviceWindows", "check_fraud", "fraud_scores", "pretrain", "train_fraud_head"]

_FEATURE_BYTES = 8 << 30
"""Features of more bytes are not kept, but computed anew for each batch."""
_FEATURE_BATCH = 512
"""Windows whose features are computed at a time: attention kernels take at most 65,535 sequences times heads."""


class DeviceWindows:
    """The rows and numbers of a data set on a device, and the windows of its splits."""

    def __init__(self, windows: CellWindows, device: torch.device) -> None:
        self.windows, self.device = windows, device
        self.ids, self.numbers = windows.ids.to(device), windows.numbers.to(device)
        self.table: NumberTable = windows.table.to(device)
        self.starts = {name: torch.from_numpy(starts).to(device) for name, starts in windows.starts.items()}
        self.places = torch.arange(windows.length, device=device)

    def batch(self, split: str, chosen: Tensor) -> tuple[Tensor, Tensor]:
        """Ids (B, R, F) and indices of numbers (B, R, K) of some windows of a split, both int64."""
        rows = self.starts[split][chosen][:, None] + self.places
        return self.ids[rows].long(), self.numbers[rows].long()


def _precision(device: torch.device, bf16: bool) -> Any:
    """Mixed precision on an accelerator; casts of weights are not kept, as recorded steps need it."""
    if device.type == "cpu":
        return contextlib.nullcontext()
    torch.set_float32_matmul_precision("high")
    return torch.autocast(device.type, torch.bfloat16, enabled=bf16, cache_enabled=False)


def pretrain(model: NumberCells, data: DeviceWindows, config: Any, log: Log | None = None) -> Figures:
    """Pre-trains on masked cells (and numbers): `steps`, `seconds`, and losses of 20 stretches of the training."""
    weights = [weight for name, weight in model.named_parameters() if not name.startswith("fraud.")]
    cuda = data.device.type == "cuda"
    rate = torch.tensor(config.rate, device=data.device) if cuda else config.rate
    optimizer = torch.optim.AdamW(weights, lr=rate, weight_decay=config.weight_decay, fused=cuda, capturable=cuda)
    count = len(data.starts["pretrain"])
    each = math.ceil(count / config.batch)
    steps = config.epochs * each
    rising = max(1, round(config.warmup * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / rising, (steps - step) / max(1, steps - rising))
    )

    def step(size: int, chosen: Tensor, epoch: Tensor) -> Tensor:
        ids, numbers = data.batch("pretrain", chosen)
        shape = size, ids.shape[1], ids.shape[2]
        masks = mask_cells(chosen, shape, ratio=config.ratio, seed=config.seed, epoch=epoch)
        with _precision(data.device, config.bf16):
            cells, values = model.pretraining_losses(ids, numbers, data.table, masks, config.scored)
        optimizer.zero_grad(set_to_none=True)
        (cells.float() + config.number_weight * values.float()).backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        return torch.stack([cells.detach().float(), values.detach().float()])

    run, generator, begin = (
        RecordedSteps(step, enabled=cuda),
        torch.Generator().manual_seed(config.seed),
        time.perf_counter(),
    )
    losses: list[Tensor] = []
    model.train()
    for epoch in range(config.epochs):
        order, now = torch.randperm(count, generator=generator).to(data.device), torch.tensor(epoch, device=data.device)
        for chosen in order.split(config.batch):
            losses.append(run(len(chosen), chosen, now).clone())
            schedule.step()
        latest = torch.stack(losses[-each:]).mean(0).tolist()
        if not np.isfinite(latest).all():
            raise NonFiniteError(f"the loss of epoch {epoch + 1} is {sum(latest)}: choose a rate below {config.rate}")
        if log is not None:
            log(f"{config.name}, epoch {epoch + 1}: loss of cells {latest[0]:.4f}, of numbers {latest[1]:.4f}")
    whole = torch.stack(losses).double().cpu()
    parts = [part.mean(0).tolist() for part in whole.tensor_split(min(20, len(whole)))]
    ends = np.linspace(0, len(whole), len(parts) + 1)[1:].round().astype(int).tolist()
    kept = [{"step": end, "cells": part[0], "numbers": part[1]} for end, part in zip(ends, parts, strict=True)]
    return {"steps": len(whole), "pretrain_seconds": round(time.perf_counter() - begin, 2), "losses": kept}


@torch.no_grad()
def _features(model: NumberCells, data: DeviceWindows, split: str, bf16: bool) -> Callable[[Tensor], Tensor]:
    """A function from indices of windows to their features (B, R, D), kept on the device where they fit."""
    model.eval()
    count, width = len(data.starts[split]), model.backbone.config.row_size

    @torch.no_grad()
    def compute(chosen: Tensor) -> Tensor:
        with _precision(data.device, bf16):
            parts = [model.rows(*data.batch(split, some), data.table) for some in chosen.split(_FEATURE_BATCH)]
        return torch.cat(parts).to(torch.bfloat16 if bf16 and data.device.type != "cpu" else torch.float32)

    if count * data.windows.length * width * 4 > _FEATURE_BYTES:
        return compute
    kept = compute(torch.arange(count, device=data.device))
    return lambda chosen: kept[chosen]


def check_fraud(windows: CellWindows) -> None:
    """Checks that there is fraud to learn from, before anything is trained.

    Raises:
        ConfigError: There is none.
    """
    labels = windows.labels("train")
    if not labels.any():
        raise ConfigError(f"no fraudulent window among {len(labels)} of training: give more rows")


def train_fraud_head(model: NumberCells, data: DeviceWindows, config: Any, log: Log | None = None) -> Figures:
    """Trains the fraud head on frozen features; the epoch with the best F1 on dev is kept, and its threshold.

    Fraudulent windows are drawn with replacement until there are as many as others, as published.
    """
    begin = time.perf_counter()
    torch.manual_seed(config.seed)  # the same head for all encodings, whatever was drawn before
    model.fraud = head = type(model.fraud)(model.backbone.config.row_size).to(data.device)
    fraud = {split: data.windows.labels(split) for split in ("train", "dev")}
    train, dev = (_features(model, data, split, config.bf16) for split in ("train", "dev"))
    draws = np.random.default_rng(config.seed)
    honest, stolen = np.flatnonzero(~fraud["train"]), np.flatnonzero(fraud["train"])
    order = np.concatenate([honest, stolen, draws.choice(stolen, max(0, len(honest) - len(stolen)))])
    targets = torch.from_numpy(fraud["train"]).to(data.device, torch.float32)
    optimizer = torch.optim.Adam(head.parameters(), lr=config.head_rate, fused=data.device.type == "cuda")
    looks: list[Figures] = []
    best: tuple[float, dict[str, Tensor], float] = (-1.0, {}, 0.5)
    for epoch in range(config.head_epochs):
        head.train()
        for chosen in torch.from_numpy(draws.permutation(order)).to(data.device).split(config.head_batch):
            loss = functional.binary_cross_entropy_with_logits(head(train(chosen).float()), targets[chosen])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
        threshold, f1 = best_threshold(fraud["dev"], _scores(head, dev, len(fraud["dev"]), data.device))
        looks.append({"step": epoch + 1, "f1": f1})
        if f1 > best[0]:
            best = f1, {name: weight.detach().clone() for name, weight in head.state_dict().items()}, threshold
    head.load_state_dict(best[1])
    model.threshold.fill_(best[2])
    if log is not None:
        log(f"{config.name}, fraud head: F1 on dev {best[0]:.4f} at the threshold {best[2]:.3f}")
    return {"looks": looks, "head_seconds": round(time.perf_counter() - begin, 2)}


@torch.no_grad()
def _scores(head: Any, features: Callable[[Tensor], Tensor], count: int, device: torch.device) -> np.ndarray:
    head.eval()
    some = torch.arange(count, device=device).split(4 * _FEATURE_BATCH)
    return torch.cat([head(features(chosen).float()).double().sigmoid() for chosen in some]).cpu().numpy()


def fraud_scores(model: NumberCells, data: DeviceWindows, split: str, bf16: bool) -> np.ndarray:
    """Probability of fraud of each window of a split: (W,) float64."""
    return _scores(model.fraud, _features(model, data, split, bf16), len(data.starts[split]), data.device)
