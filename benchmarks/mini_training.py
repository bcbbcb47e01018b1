"""The training loop of `numerate-mini`: all texts lie on the device, and batches are cut out of flat arrays there.

On an accelerator, steps are recorded as CUDA graphs: a step of so small a model takes longer to launch than to run. So
widths of batches are multiples of 16 tokens, and all batches have the same number of texts.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from mini_corpus import MOST_TOKENS, Arrays
from safetensors.torch import load_file, save_file

from numerate.processing.number_table import GIVEN, PADDING
from numerate.training.learning_rates import parameter_groups
from numerate.training.step_graphs import TOKENS, StepGraphs, padded_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from torch import Tensor

SHARD_BYTES = 14 << 20
"""Largest size of a file of weights that is sent back."""
LONGEST_GRADIENT = 1.0
_POOL = 64
"""Batches whose texts are sorted by length together."""


class Texts:
    """Encoded texts on a device, as batches of a model.

    Args:
        arrays: The texts.
        device: Where they lie.
        ids: Of [CLS], [SEP] and the padding.
    """

    def __init__(self, arrays: Arrays, device: str, ids: tuple[int, int, int]) -> None:
        self.cls, self.sep, self.pad = ids
        place = {"device": device}
        self.ids = torch.from_numpy(arrays.ids).to(**place)
        self.slots, self.scales = (torch.from_numpy(each).to(**place) for each in (arrays.slots, arrays.scales))
        self.bits = torch.from_numpy(arrays.bits).to(**place)
        self.precision = torch.from_numpy(arrays.precision).to(**place)
        self.lengths, self.counts = arrays.lengths.astype(np.int64), arrays.counts.astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self.number_starts = np.concatenate([[0], np.cumsum(self.counts)[:-1]])
        self.first, self.device = arrays.first, torch.device(device)

    def __len__(self) -> int:
        return len(self.lengths)

    def chunks(self) -> tuple[np.ndarray, np.ndarray]:
        """Starts and lengths of runs of neighbouring texts of one group, as long as a text may be."""
        starts, lengths = [], []
        for start, length, is_first in zip(self.starts.tolist(), self.lengths.tolist(), self.first, strict=True):
            if starts and not is_first and lengths[-1] + length <= MOST_TOKENS:
                lengths[-1] += length
            else:
                starts.append(start)
                lengths.append(length)
        return np.array(starts), np.array(lengths)

    def words(self, starts: np.ndarray, lengths: np.ndarray, sample: np.ndarray) -> dict[str, Tensor]:
        """A batch of words alone: the numbers are words, too."""
        ids, mask, _ = self._tokens(starts, lengths)
        return {"input_ids": ids, "attention_mask": mask, "sample_id": torch.from_numpy(sample).to(self.device)}

    def numbers(self, rows: np.ndarray) -> dict[str, Tensor]:
        """A batch of texts with their number table."""
        ids, mask, at = self._tokens(self.starts[rows], self.lengths[rows])
        inside = at >= 0
        slots, scales = (field[at.clamp_min(0)].long() * inside for field in (self.slots, self.scales))
        counts = torch.from_numpy(self.counts[rows]).to(self.device)
        places = torch.arange(max(1, int(self.counts[rows].max())), device=self.device)
        known = places < counts[:, None]
        flat = (torch.from_numpy(self.number_starts[rows]).to(self.device)[:, None] + places) * known
        none = len(self.bits) == 0
        bits = flat * 0 if none else self.bits[flat] * known
        precision = flat.to(torch.int16) * 0 if none else self.precision[flat] * known
        return {
            "input_ids": ids, "attention_mask": mask, "number_slots": slots, "number_scale": scales,
            "number_bits": bits, "number_precision": precision.to(torch.int16),
            "number_chars": torch.zeros(*bits.shape, 1, dtype=torch.uint8, device=self.device),
            "number_given": torch.where(known, GIVEN, PADDING).to(torch.uint8),
            "sample_id": torch.from_numpy(rows).to(self.device),
        }  # fmt: skip

    def _tokens(self, starts: np.ndarray, lengths: np.ndarray) -> tuple[Tensor, Tensor, Tensor]:
        """Ids and mask (B, T) with [CLS] and [SEP], and the place in the arrays of each token, -1 for others."""
        first, length = (torch.from_numpy(each).to(self.device)[:, None] for each in (starts, lengths))
        width = -(-(int(lengths.max()) + 2) // TOKENS) * TOKENS
        place = torch.arange(-1, width - 1, device=self.device)
        inside = (place >= 0) & (place < length)
        at = torch.where(inside, first + place, -1)
        ids = self.ids[at.clamp_min(0)].long()
        ids = torch.where(
            inside, ids, torch.where(place < 0, self.cls, torch.where(place == length, self.sep, self.pad))
        )
        return ids, (place <= length).long(), at


def batches(lengths: np.ndarray, size: int, seed: int) -> Iterator[tuple[int, np.ndarray]]:
    """Endless epochs of batches of texts of similar length, in random order, each with the number of its epoch.

    All batches have `size` texts; what is left of an epoch is left out, unless there is no whole batch.
    """
    random = np.random.default_rng(seed)
    for epoch in itertools.count():
        order = random.permutation(len(lengths))
        for start in range(0, len(order), size * _POOL):
            pool = order[start : start + size * _POOL]
            pool = pool[np.argsort(lengths[pool], kind="stable")]
            cuts = [pool[at : at + size] for at in range(0, len(pool), size)]
            for index in random.permutation(len(cuts)):
                if len(cuts[index]) == min(size, len(lengths)):
                    yield epoch, cuts[index]


def run(
    model: Any, steps_of: Iterator[tuple[int, dict[str, Tensor]]], *, rate: float, steps: int, minutes: float,
    number_rate: float | str = "same", warmup: float = 0.03, decay: float = 0.01,
    number_weight: tuple[float, float] | None = None, pace: Pace | None = None,
) -> dict[str, float]:  # fmt: skip
    """Trains all weights, with a rate that falls to 0 at the last step or at the end of the time, whatever is first.

    Weights outside of the backbone, which begin untrained, have the rate `number_rate`. Batches come with their epoch,
    of which masks are drawn anew. The weight of the number loss goes from the first `number_weight` to the second one,
    by equal factors. A training with a `pace` tells others how far it is, or keeps in step with another one.

    Steps with a loss or gradient that is not finite are left out, and counted.
    """
    device = model.device
    weight = None if number_weight is None else _weigh(model.objective, number_weight[0], device)
    groups = [
        {
            "params": [weight for weight in part["params"] if (weight.dim() > 1) is wide], "highest": part["lr"],
            "weight_decay": decay * wide,
        }
        for part in parameter_groups(model, rate, number_rate)
        for wide in (True, False)
    ]  # fmt: skip
    fused = {"fused": True} if device.type == "cuda" else {}
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), **fused)
    model.train()
    model.labelled_logits = True
    graphs = StepGraphs(model, LONGEST_GRADIENT) if device.type == "cuda" else None
    begin, losses, bad, texts, done = time.perf_counter(), [], 0, 0, 0
    for step, (epoch, batch) in enumerate(itertools.islice(steps_of, steps)):
        spent = (time.perf_counter() - begin) / (60 * minutes)
        progress = max(step / steps, spent)
        progress = progress if pace is None else pace.at(step, progress)
        if progress >= 1:
            break
        scale = min(1.0, progress / warmup if progress < warmup else (1 - progress) / (1 - warmup))
        for group in optimizer.param_groups:
            group["lr"] = group["highest"] * max(scale, 1e-3)
        if weight is not None and number_weight is not None:
            weight.fill_(number_weight[0] ** (1 - progress) * number_weight[1] ** progress)
        model.objective.epoch = epoch
        loss, size = _gradients(model, batch, graphs)
        if bool(torch.isfinite(size)) and bool(torch.isfinite(loss)):
            optimizer.step()
            losses.append(loss)
        else:
            bad += 1
        optimizer.zero_grad(set_to_none=True)
        texts, done = texts + len(batch["input_ids"]), step + 1
        if done % max(1, min(500, steps // 10)) == 0:
            recent = torch.stack(losses[-50:]).mean().item() if losses else math.nan
            seconds = time.perf_counter() - begin
            print(
                f"step {done}: epoch {epoch}, loss {recent:.4f}, {texts / seconds:.0f} texts/s, {seconds:.0f} s",
                flush=True,
            )
    last = torch.stack(losses[-50:]).mean().item() if losses else math.nan
    found = {"steps": done, "texts": texts, "seconds": time.perf_counter() - begin, "loss": last, "left_out_steps": bad}
    return found | ({} if graphs is None else {"recorded_graphs": graphs.count})


class Pace:
    """How far a training is, told to others in a file; or kept to that of another one, which tells it.

    Two trainings on one device, side by side, see as many texts when one of them keeps to the pace of the other.

    Args:
        own: File to tell in; None if nobody asks.
        other: File of the training to keep in step with; None to go on by itself.
        most_seconds: A training that tells nothing for so long has stopped: the other one goes on without it.
    """

    EVERY = 100
    """Steps after which it is told."""

    def __init__(self, own: Path | None = None, other: Path | None = None, most_seconds: float = 120.0) -> None:
        self.own, self.other, self.most_seconds = own, other, most_seconds
        self._heard: tuple[int, float] = (0, 0.0)

    def at(self, step: int, progress: float) -> float:
        """The share of the training that is done at a step; waits while the other training is behind."""
        if self.other is not None:
            begin = time.perf_counter()
            while step >= self._heard[0] and self._heard[1] < 1:
                if time.perf_counter() - begin > self.most_seconds:
                    self.other = None
                    break
                self._listen()
            else:
                progress = self._heard[1]
        if self.own is not None and (step % self.EVERY == 0 or progress >= 1):
            fresh = self.own.with_suffix(".new")
            fresh.write_text(f"{step + self.EVERY} {progress}", encoding="utf-8")
            fresh.replace(self.own)  # so that nobody reads half of it
        return progress

    def _listen(self) -> None:
        heard = self._heard
        if self.other is not None and self.other.is_file():
            step, progress = self.other.read_text("utf-8").split()
            self._heard = int(step), float(progress)
        if heard == self._heard:
            time.sleep(0.02)


def _weigh(objective: Any, weight: float, device: torch.device) -> Tensor:
    """Makes the weight of an objective's number loss a tensor, which a recorded step reads anew each time."""
    found = torch.tensor(weight, device=device)

    def combine(tokens: Tensor | None, numbers: Tensor | None, training: bool = True) -> Tensor | None:
        weighted = numbers if numbers is None or not training else found * numbers
        parts = [part for part in (tokens, weighted) if part is not None]
        return sum(parts[1:], parts[0]) if parts else None

    objective.combine = combine
    return found


def _gradients(model: Any, batch: dict[str, Tensor], graphs: StepGraphs | None) -> tuple[Tensor, Tensor]:
    """Sets the clipped gradients of a batch; returns its loss and their norm before clipping."""
    device = model.device

    def forward_and_back(inputs: dict[str, Tensor]) -> Tensor:
        narrow = torch.autocast(device.type, torch.bfloat16) if device.type == "cuda" else contextlib.nullcontext()
        with narrow:
            loss = model(**inputs).loss
        loss.backward()
        return loss.detach()

    if graphs is None:
        return forward_and_back(batch), torch.nn.utils.clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)
    loss = graphs.step(padded_to(batch), forward_and_back)
    if graphs.norm is not None:
        return loss, graphs.norm
    return loss, torch.nn.utils.clip_grad_norm_(model.parameters(), LONGEST_GRADIENT)


def save_weights(
    state: Mapping[str, Tensor], folder: Path, name: str, dtype: torch.dtype = torch.bfloat16
) -> list[Path]:
    """Writes weights into files of at most `SHARD_BYTES`, floating ones as `dtype`; large tensors are cut by rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{name}-*.safetensors"):
        old.unlink()
    parts: list[dict[str, Tensor]] = [{}]
    size = 0
    for key, value in state.items():
        value = value.detach().cpu()
        value = value.to(dtype) if value.is_floating_point() else value
        rows = (
            max(1, SHARD_BYTES // 2 // max(1, value[:1].nbytes))
            if value.dim() and value.nbytes > SHARD_BYTES // 2
            else 0
        )
        pieces = value.split(rows) if rows else (value,)
        for at, piece in enumerate(pieces):
            if size + piece.nbytes > SHARD_BYTES and parts[-1]:
                parts.append({})
                size = 0
            parts[-1][f"{key}@{at}" if rows else key] = piece.contiguous().clone()
            size += piece.nbytes
    paths = []
    for index, part in enumerate(parts):
        paths.append(folder / f"{name}-{index}.safetensors")
        save_file(part, paths[-1])
    return paths


def load_weights(folder: Path, name: str) -> dict[str, Tensor]:
    """Reads what `save_weights` wrote, floating weights as float32."""
    found: dict[str, Tensor] = {}
    for path in folder.glob(f"{name}-*.safetensors"):
        found |= load_file(path)
    if not found:
        raise FileNotFoundError(f"{folder} has no {name}-0.safetensors: run the stage `train` first")
    pieces: dict[str, dict[int, Tensor]] = {}
    for key, value in found.items():
        name_, _, at = key.partition("@")
        pieces.setdefault(name_, {})[int(at or 0)] = value.float() if value.is_floating_point() else value
    return {
        key: torch.cat([each[at] for at in sorted(each)]) if len(each) > 1 else each[0] for key, each in pieces.items()
    }


def put_weights(model: Any, state: Mapping[str, Tensor]) -> None:
    """Loads the weights of a stage into a model of the same stage.

    Raises:
        ValueError: A weight is missing or unknown: the folder belongs to another recipe or number of layers.
    """
    wanted = {key for key in model.state_dict() if key != "number_config"}
    for key in sorted(wanted ^ state.keys()):
        raise ValueError(f"weight {key!r} is {'missing' if key in wanted else 'unknown'}: was it another recipe?")
    model.load_state_dict(dict(state), strict=False)
