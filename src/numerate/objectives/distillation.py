"""LUNA's number pre-training: masked tokens and numbers, beside a slow teacher's opinion of the masked words."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from numerate.config import ConfigError
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
        teacher: "average" for LUNA's, the moving average of the student; "frozen" for the backbone as it was at first,
            which is asked about texts without numbers alone: so that words are not unlearnt.
        decay: How much of itself the average keeps in a step of the optimiser.
        alpha: The teacher's share of the loss, once it has grown.
        warmup: In how many steps it grows, from a tenth. 0 for at once.
        scale_by_warmup: Multiply the whole loss by what has grown, as LUNA's code does (a learning-rate warm-up in
            disguise).
    """

    kind: ClassVar[str] = "distillation"
    teacher: Literal["average", "frozen"] = "average"
    decay: float = 0.995
    alpha: float = 0.4
    warmup: int = 333
    scale_by_warmup: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("decay", "alpha"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"{name} must lie between 0 and 1, got {getattr(self, name)}")
        if self.warmup < 0:
            raise ConfigError(f"warmup must not be negative, got {self.warmup}")
        if self.teacher not in ("average", "frozen"):
            raise ConfigError(f"teacher must be 'average' or 'frozen', got {self.teacher!r}")


@objectives.register("distillation")
class Distillation(Masked):
    """`masked`, with a teacher: (1 - α) · L_MLM + α · L_distill.

    L_MLM = (L_REG + L_CLA) / count: the sum of the masked numbers' losses by the model's head (LUNA's L_REG is that of
    `log-sign`) and of the cross-entropies of the masked words, over how many there are of both. L_distill is the mean,
    over all masked positions, those of numbers included, of the student's cross-entropy to the teacher's soft labels,
    by the backbone's own logits. The average reads the student's embeddings, the frozen teacher its own, in evaluation
    mode. A batch in which it is asked nothing has the loss L_MLM, and so has every batch in evaluation.

    The teacher is a copy of the backbone that is made in the first training step (or by `teach`), follows the
    backbone's device, and is neither trained, saved nor listed with the model. It learns in `step`, which is called
    after each step of the optimiser: by `NumberTrainer`, or in the stock Trainer by its callback `ObjectiveCallback`. A
    run that is resumed needs it again, see `state`.
    """

    Config = DistillationConfig
    config: DistillationConfig

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        self.teacher: nn.Module | None = None

    @property
    def warmth(self) -> float:
        """How far the teacher's share has grown: from 0.1 to 1."""
        return min(1.0, 0.1 + 0.9 * self.steps / self.config.warmup) if self.config.warmup else 1.0

    @property
    def alpha(self) -> float:
        """The teacher's share now."""
        return self.config.alpha * self.warmth

    def teach(self, backbone: nn.Module) -> nn.Module:
        """Makes a copy of a backbone the teacher."""
        self.teacher = copy.deepcopy(backbone).eval().requires_grad_(False)
        for weight in self.teacher.parameters():
            weight.grad = None
        return self.teacher

    @torch.no_grad()
    def step(self, model: Any) -> None:
        """Moves the average towards the student; its buffers become the student's."""
        super().step(model)
        if self.teacher is None or self.config.teacher == "frozen":
            return
        for mine, own in zip(self.teacher.parameters(), model.backbone.parameters(), strict=True):
            mine.lerp_(own.to(mine), 1 - self.config.decay)
        for mine, own in zip(self.teacher.buffers(), model.backbone.buffers(), strict=True):
            mine.copy_(own)

    def state(self) -> dict[str, Tensor]:
        """The teacher and how many steps it has seen."""
        weights = {} if self.teacher is None else self.teacher.state_dict(prefix="teacher.")
        # Weights that share memory cannot be saved side by side as safetensors: each gets its own.
        return {"steps": torch.tensor(self.steps)} | {key: value.clone() for key, value in weights.items()}

    def load_state(self, state: dict[str, Tensor], model: Any) -> None:
        """Makes the teacher that `state` described."""
        super().load_state(state, model)
        weights = {key.removeprefix("teacher."): value for key, value in state.items() if key.startswith("teacher.")}
        if weights:
            self.teach(model.backbone).load_state_dict(weights)

    def total(self, tokens: Tensor | None, numbers: Tensor | None, seen: Pass) -> Tensor | None:
        """The loss as above, from the mean losses of tokens and numbers."""
        task, slots = seen.task, seen.task.inputs.get("number_slots")
        if task.labels is None or seen.logits is None or tokens is None:
            return self.combine(tokens, numbers, seen.model.training)
        shares = seen.shares or {}
        words = shares.get("tokens", (task.labels != -100).sum())
        said = shares.get("numbers")  # of the whole step: a batch without a number has its share of them, too
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
            loss = (1 - self.alpha) * loss + self.alpha * self._opinion(seen, taught)
        return self.warmth * loss if self.config.scale_by_warmup else loss

    def counts(self, task: Task, shift: bool) -> dict[str, Tensor]:
        """The positions at which the teacher is asked, too."""
        return super().counts(task, shift) | {"taught": self._taught(task).sum()}

    def _taught(self, task: Task) -> Tensor:
        """At which positions the teacher is asked: (B, T)."""
        masked = task.labels != -100  # type: ignore[operator]
        slots = task.inputs.get("number_slots")
        if slots is None or task.targets is None or not task.targets.bits.shape[1]:
            return masked
        if self.config.teacher == "frozen":
            return masked & ~(task.targets.given != PADDING).any(dim=1, keepdim=True)
        if task.scored is None:
            return masked
        return masked | (task.scored.gather(1, (slots - 1).clamp_min(0)) & (slots > 0))

    def _opinion(self, seen: Pass, taught: Tensor) -> Tensor:
        backbone = seen.model.backbone
        teacher = self.teach(backbone) if self.teacher is None else self.teacher
        place = next(backbone.parameters()).device
        if next(teacher.parameters()).device != place:
            teacher.to(place)
        with torch.no_grad():
            labels = seen.again(teacher, own_words=self.config.teacher == "frozen").logits[taught]
        student = seen.logits[taught]  # type: ignore[index]
        if seen.shares is None:
            return soft_cross_entropy(student, labels)
        return mean_over(_cross_entropies(student, labels).sum(), len(student), seen.shares, "taught")


def soft_cross_entropy(student: Tensor, teacher: Tensor) -> Tensor:
    """Mean cross-entropy of the student's distributions to the teacher's, at temperature 1.

    Args:
        student: (N, V) logits.
        teacher: (N, V) logits.

    Example:
        >>> logits = torch.zeros(3, 4)
        >>> soft_cross_entropy(logits, logits).exp()
        tensor(4.)
    """
    return _cross_entropies(student, teacher).mean()


def _cross_entropies(student: Tensor, teacher: Tensor) -> Tensor:
    wide = torch.promote_types(student.dtype, torch.float32)
    return -(teacher.to(wide).softmax(-1) * student.to(wide).log_softmax(-1)).sum(-1)
