"""Batches whose masks are drawn in the data loader: by its processes, or by this one before the batch is sent.

Drawing masks and hiding numbers is some 200 small operations. On an accelerator each is a kernel launch, which a step
of a small model waits for; loader processes do it beside the training. What is drawn is the same: see
`numerate.objectives.draws`. The counts are known there, so nothing is left out and nobody waits.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from numerate.objectives.base import Task
from numerate.objectives.masked import Masked
from numerate.processing.number_table import NumberTable
from numerate.processing.slot_positions import NumberPlaces, predicting_tokens

if TYPE_CHECKING:
    from numerate.modeling.number_model import NumberModel
    from numerate.objectives.base import Objective, Vocabulary

__all__ = ["Packed", "Preparation"]

_TARGETS = ("bits", "characters", "precision", "given")
_PLACES = ("slot", "first", "last", "known")


@dataclass(frozen=True, eq=False)
class Packed:
    """Tensors of several types and shapes as one buffer for each type, so that few copies go to an accelerator.

    Example:
        >>> packed = Packed.of({"a": torch.arange(4).reshape(2, 2), "b": torch.tensor([True]), "c": torch.arange(3)})
        >>> len(packed.buffers), {name: value.tolist() for name, value in packed.tensors().items()}
        (2, {'a': [[0, 1], [2, 3]], 'b': [True], 'c': [0, 1, 2]})
    """

    buffers: dict[torch.dtype, Tensor]
    shapes: dict[str, tuple[torch.dtype, torch.Size]]
    shares: tuple[float, float] = (1.0, 1.0)
    tokens: int = 0

    @classmethod
    def of(cls, tensors: dict[str, Tensor], **more: Any) -> Packed:
        """Packs tensors; `more` are the other attributes."""
        shapes = {name: (value.dtype, value.shape) for name, value in tensors.items()}
        kinds = dict.fromkeys(kind for kind, _ in shapes.values())
        flat = {kind: [value.reshape(-1) for value in tensors.values() if value.dtype == kind] for kind in kinds}
        return cls({kind: torch.cat(values) for kind, values in flat.items()}, shapes, **more)

    def to(self, device: Any, non_blocking: bool = False) -> Packed:
        """The tensors on another device."""
        moved = {kind: value.to(device, non_blocking=non_blocking) for kind, value in self.buffers.items()}
        return dataclasses.replace(self, buffers=moved)

    def pin_memory(self) -> Packed:
        """The tensors in page-locked memory."""
        return dataclasses.replace(self, buffers={kind: value.pin_memory() for kind, value in self.buffers.items()})

    def tensors(self) -> dict[str, Tensor]:
        """Views of the tensors by name."""
        found: dict[str, Tensor] = {}
        for kind, buffer in self.buffers.items():
            shapes = {name: shape for name, (own, shape) in self.shapes.items() if own == kind}
            parts = buffer.split([shape.numel() for shape in shapes.values()])
            found |= {name: part.view(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}
        return {name: found[name] for name in self.shapes}

    def task(self) -> Task:
        """The task of `Preparation`."""
        tensors = self.tensors()
        inputs = {name.removeprefix("in "): value for name, value in tensors.items() if name.startswith("in ")}
        places = None
        if (placed := NumberPlaces.of(inputs)) is not None:
            places = placed.filled(**{name: tensors[f"at {name}"] for name in _PLACES})
        targets, found = NumberTable(*(tensors[f"of {name}"] for name in _TARGETS)), tensors["numbers"]
        return Task(
            inputs, tensors["labels"], targets, tensors["scored"], share=self.shares[0], token_share=self.shares[1],
            token_places=tensors["tokens"], number_places=(found[0], found[1], found[2]), places=places,
        )  # fmt: skip


@dataclass(frozen=True)
class Preparation:
    """Replaces a batch on the host by the `Packed` task that an objective makes of it.

    `epoch` () is in shared memory: workers that live on hear of the next epoch by it.
    """

    objective: Objective
    vocabulary: Vocabulary
    epoch: Tensor

    @classmethod
    def of(cls, model: NumberModel | None, args: Any) -> Preparation | None:
        """The preparation for a training; None if masks must be drawn in the forward pass."""
        objective: Any = None if model is None else model.objective
        if model is None or type(objective) is not Masked or objective.number_tokens is not None:
            return None
        several = args.gradient_accumulation_steps > 1 or args.world_size > 1 or args.n_gpu > 1
        if several or model.head is None or model.info.task != "masked-lm":
            return None
        return cls(objective, model.own_vocabulary(), torch.tensor(objective.epoch).share_memory_())

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """A batch `{"packed": Packed}`; as it is, if its texts have no `sample_id` or numbers, or it has labels."""
        bits, odd = batch.get("number_bits"), batch.keys() & {"labels", "number_wanted", "position_ids"}
        if batch.get("sample_id") is None or bits is None or not bits.shape[1] or odd:
            return batch
        self.objective.epoch = int(self.epoch)
        task = self.objective.prepare(dict(batch), self.vocabulary)
        if task.labels is None or task.scored is None or task.targets is None:
            return batch
        places: Any = NumberPlaces.of(task.inputs)
        scored, tokens = predicting_tokens(places.slot, task.scored, task.labels.shape[1])
        rows, numbers = scored.nonzero(as_tuple=True)
        targets = task.targets[rows, numbers]
        tensors = {f"in {name}": value for name, value in task.inputs.items() if isinstance(value, Tensor)}
        tensors |= {f"at {name}": getattr(places, name) for name in _PLACES}
        tensors |= {f"of {name}": getattr(targets, name) for name in _TARGETS}
        tensors |= {
            "labels": task.labels, "scored": task.scored,
            "numbers": torch.stack([rows, tokens[rows, numbers], numbers]),
            "tokens": (task.labels != -100).flatten().nonzero()[:, 0],
        }  # fmt: skip
        mask = batch.get("attention_mask")
        count = batch["input_ids"].numel() if mask is None else int(mask.sum())
        return {"packed": Packed.of(tensors, shares=(task.share, task.token_share), tokens=count)}
