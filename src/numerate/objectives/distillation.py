"""Objective `distillation`: LUNA's number pre-training, masked prediction with distillation from a teacher."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.embedders.option_checks import check_option, check_within
from numerate.objectives.cross_entropy import mean_over
from numerate.objectives.masked import Masked, MaskedConfig
from numerate.processing.number_table import PADDING
from numerate.processing.slot_positions import number_positions
from numerate.registry import objectives

if TYPE_CHECKING:
    from numerate.objectives.base import Pass, Task

__all__ = ["Distillation", "DistillationConfig", "soft_cross_entropy"]


@dataclass(frozen=True, kw_only=True)
class DistillationConfig(MaskedConfig):
    """Options of `distillation`, beside those of `masked`.

    Attributes:
        teacher: "average" for the moving average of the student, as in LUNA; "frozen" for the initial backbone, which
            is used only for texts without numbers, so that words are not unlearnt.
        decay: Decay of the moving average per optimizer step.
        alpha: Final weight of the distillation loss.
        warmup: Number of steps in which this weight grows from a tenth to the whole; 0 for no warm-up.
        scale_by_warmup: Multiply the whole loss by the warm-up factor, as LUNA's code does (which in effect is a
            learning-rate warm-up).
    """

    kind: ClassVar[str] = "distillation"
    teacher: Literal["average", "frozen"] = "average"
    decay: float = 0.995
    alpha: float = 0.4
    warmup: int = 333
    scale_by_warmup: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_within(self, "decay", 0, 1)
        check_within(self, "alpha", 0, 1)
        check_option(self.warmup >= 0, self, "warmup must not be negative", "warmup")


@objectives.register("distillation")
class Distillation(Masked):
    """`masked` with a teacher; the loss is (1 - α) · L_MLM + α · L_distill.

    L_MLM = (L_REG + L_CLA) / count is the sum of the head's losses of the masked numbers (LUNA's L_REG is that of
    `log-sign`) and of the cross-entropies of the masked words, divided by the count of both. L_distill is the mean over
    all masked positions, including those of numbers, of the student's cross-entropy to the teacher's soft labels, from
    the backbone's logits. The averaged teacher reads the student's embeddings, the frozen teacher its own, both in
    evaluation mode. A batch without positions for the teacher, and every batch in evaluation, has the loss L_MLM.

    The teacher is a copy of the backbone. It is made in the first training step (or by `teach`), follows the backbone's
    device, and is not part of the model: it is not trained, saved or listed. The average is updated in `step`, which
    `NumberTrainer` calls after each optimizer step (with the stock Trainer, the callback `ObjectiveCallback`). `state`
    returns what a resumed run needs.
    """

    Config = DistillationConfig
    config: DistillationConfig
    reads_logits = True
    learns_slots: ClassVar[bool] = False  # LUNA's cross-entropy leaves [NUM] out

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.teacher: nn.Module | None = None

    @property
    def warmth(self) -> float:
        """Current warm-up factor, from 0.1 to 1."""
        return min(1.0, 0.1 + 0.9 * self.steps / self.config.warmup) if self.config.warmup else 1.0

    @property
    def alpha(self) -> float:
        """Current weight of the distillation loss."""
        return self.config.alpha * self.warmth

    def teach(self, backbone: nn.Module) -> nn.Module:
        """Sets the teacher to a copy of a backbone."""
        self.teacher = copy.deepcopy(backbone).eval().requires_grad_(False)
        for weight in self.teacher.parameters():
            weight.grad = None
        return self.teacher

    @torch.no_grad()
    def step(self, model: Any) -> None:
        """Updates the moving average from the student's weights and copies its buffers."""
        super().step(model)
        if self.teacher is None or self.config.teacher == "frozen":
            return
        for mine, own in zip(self.teacher.parameters(), model.backbone.parameters(), strict=True):
            mine.lerp_(own.to(mine), 1 - self.config.decay)
        for mine, own in zip(self.teacher.buffers(), model.backbone.buffers(), strict=True):
            mine.copy_(own)

    def state(self) -> dict[str, Tensor]:
        """The teacher's weights and the number of steps."""
        weights = {} if self.teacher is None else self.teacher.state_dict(prefix="teacher.")
        # safetensors cannot save tensors that share memory.
        return {"steps": torch.tensor(self.steps)} | {key: value.clone() for key, value in weights.items()}

    def load_state(self, state: dict[str, Tensor], model: Any) -> None:
        """Restores the teacher from what `state` returned."""
        super().load_state(state, model)
        weights = {key.removeprefix("teacher."): value for key, value in state.items() if key.startswith("teacher.")}
        if weights:
            self.teach(model.backbone).load_state_dict(weights)

    def total(self, tokens: Tensor | None, numbers: Tensor | None, seen: Pass) -> Tensor | None:
        """The loss of the class docstring, from the mean losses of tokens and numbers."""
        task, slots = seen.task, seen.task.inputs.get("number_slots")
        if task.labels is None or seen.logits is None or tokens is None:
            return self.combine(tokens, numbers, seen.model.training)
        shares = seen.shares or {}
        words = shares.get("tokens", (task.labels != -100).sum())
        said = shares.get("numbers")  # of the whole step: a batch without numbers has a share of them, too
        if said is None and numbers is not None and slots is not None and task.scored is not None:
            said = len(number_positions(slots, task.scored)[0])
        whole = tokens * words
        if numbers is not None and said is not None:
            whole = whole + self.weight_of_numbers(seen.model.training) * numbers * said
        count = words if said is None else words + said
        loss = whole / (count + 1e-7)
        if not seen.model.training or self.alpha == 0:
            return loss
        taught = self._taught(task)
        if bool(shares.get("taught", taught).any()):
            loss = (1 - self.alpha) * loss + self.alpha * self._distilled(seen, taught)
        return self.warmth * loss if self.config.scale_by_warmup else loss

    def counts(self, task: Task, shift: bool) -> dict[str, Tensor]:
        """Adds the number of positions that the teacher labels."""
        return super().counts(task, shift) | {"taught": self._taught(task).sum()}

    def _taught(self, task: Task) -> Tensor:
        """Positions that the teacher labels: (B, T) bool."""
        masked = task.labels != -100  # type: ignore[operator]
        slots = task.inputs.get("number_slots")
        if slots is None or task.targets is None or not task.targets.bits.shape[1]:
            return masked
        if self.config.teacher == "frozen":
            return masked & ~(task.targets.given != PADDING).any(dim=1, keepdim=True)
        if task.scored is None:
            return masked
        return masked | (task.scored.gather(1, (slots - 1).clamp_min(0)) & (slots > 0))

    def _distilled(self, seen: Pass, taught: Tensor) -> Tensor:
        backbone = seen.model.backbone
        teacher = self.teach(backbone) if self.teacher is None else self.teacher
        place = next(backbone.parameters()).device
        if next(teacher.parameters()).device != place:
            teacher.to(place)
        with torch.no_grad():
            labels = seen.again(teacher, own_words=self.config.teacher == "frozen").logits[taught]
        student = seen.logits[taught]  # type: ignore[index]
        return mean_over(soft_cross_entropy(student, labels).sum(), len(student), seen.shares, "taught")


def soft_cross_entropy(student: Tensor, teacher: Tensor) -> Tensor:
    """Cross-entropies from the teacher's to the student's distributions, at temperature 1: (N, V) logits -> (N,).

    Example:
        >>> logits = torch.zeros(3, 4)
        >>> soft_cross_entropy(logits, logits).exp()
        tensor([4., 4., 4.])
    """
    wide = torch.promote_types(student.dtype, torch.float32)
    return -(teacher.to(wide).softmax(-1) * student.to(wide).log_softmax(-1)).sum(-1)
