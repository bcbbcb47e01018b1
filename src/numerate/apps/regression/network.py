"""The network of `NumberRegressor`: a backbone that is asked for one number behind each text."""

from __future__ import annotations

import copy
import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import torch

from numerate.config import Config
from numerate.errors import BadInput
from numerate.modeling.attaching import attach
from numerate.modeling.fitting import fit_parts
from numerate.modeling.introspection import base_of, evaluating
from numerate.modeling.tokenizer_checks import longest_text
from numerate.notation.base import NUM
from numerate.processing.encoding import NumberCollator
from numerate.processing.number_table import NumberTable
from numerate.training.learning_rates import set_number_rates

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from torch import Tensor

    from numerate.heads.base import NumberDistribution
    from numerate.modeling.number_model import NumberModel

__all__ = ["TargetScale", "ask", "build_network", "load_backbone", "quantiles_of", "train_network"]

_BATCH = 64
"""Texts of one batch in prediction."""
_WARMUP = 0.1
"""Share of the steps in which the learning rates grow; afterwards they fall linearly to 0."""
_CLIPPED = 1.0
"""Largest norm of the gradient."""
_FARTHEST = 700.0
"""Largest position on the line, so that its number is finite."""


@dataclass(frozen=True, kw_only=True)
class TargetScale(Config):
    """How the head sees the targets.

    Targets of one sign are seen as they are: the head works on their logarithms, and can answer with a number of the
    text times a ratio. Targets of both signs are standardised.

    Attributes:
        logarithmic: Whether targets are seen as they are.
        unit: Scale of the head's signed logarithm, see `MixtureConfig`.
        centre: Mean of standardised targets.
        spread: Standard deviation of standardised targets.

    Example:
        >>> TargetScale.of(np.array([10.0, 2000.0])).unit, TargetScale.of(np.array([-3.0, 1.0])).centre
        (1.0, -1.0)
        >>> scale = TargetScale.of(np.array([-3.0, 1.0]))
        >>> scale.number(scale.line(scale.seen(np.array([1.0])))).tolist()
        [1.0]
    """

    kind: ClassVar[str] = "target-scale"
    logarithmic: bool = True
    unit: float = 1e-3
    centre: float = 0.0
    spread: float = 1.0

    @classmethod
    def of(cls, targets: np.ndarray) -> TargetScale:
        """The scale for targets (N,)."""
        sizes = np.abs(targets[targets != 0])
        if len(sizes) and ((targets >= 0).all() or (targets <= 0).all()):
            # Well below all targets, where the signed logarithm is a logarithm; at the least of them if some are 0.
            least = float(np.quantile(sizes, 0.01, method="lower")) / (10 if len(sizes) == len(targets) else 1)
            return cls(unit=min(max(least, 1e-90), 1e90))
        return cls.standardising(targets)

    @classmethod
    def standardising(cls, targets: np.ndarray) -> TargetScale:
        """The scale that standardises targets (N,), whatever their signs."""
        # In units of the largest one, sums and squares of 1e300 do not overflow, and those of 1e-300 are not 0.
        size = float(np.abs(targets).max()) or 1.0
        with np.errstate(under="ignore"):
            spread, centre = float((targets / size).std()) * size, float((targets / size).mean()) * size
        return cls(logarithmic=False, unit=1.0, centre=centre, spread=spread if spread > 0 else 1.0)

    def head(self, components: int) -> dict[str, Any]:
        """The description of the head."""
        largest = min(1e9 * self.unit, 1e99)
        return {
            "kind": "mixture", "components": components, "unit": self.unit, "largest": largest,
            "ratios": self.logarithmic, "atom": self.logarithmic,
        }  # fmt: skip

    def seen(self, targets: np.ndarray) -> np.ndarray:
        """Targets as the head sees them."""
        return targets if self.logarithmic else (targets - self.centre) / self.spread

    def line(self, seen: np.ndarray) -> np.ndarray:
        """What the head sees, on the line on which intervals are stretched: its signed logarithm, or unchanged."""
        if not self.logarithmic:
            return seen
        near, size = np.arcsinh(np.clip(seen / self.unit, -1e150, 1e150)), np.abs(seen)
        far = np.log(np.maximum(size, 1e-300)) + math.log(2 / self.unit)
        return np.where(size < 1e100 * self.unit, near, np.copysign(far, seen))

    def number(self, line: np.ndarray) -> np.ndarray:
        """The number at a position on the line."""
        if not self.logarithmic:
            with np.errstate(over="ignore"):
                return np.clip(line * self.spread + self.centre, -1e308, 1e308)
        return np.clip(self.unit * np.sinh(np.clip(line, -_FARTHEST, _FARTHEST)), -1e308, 1e308)


def load_backbone(model: Any, tokenizer: Any, *, trained: bool = True) -> tuple[Any, Any]:
    """A copy of a model without its language model or classification head, and a copy of its tokenizer.

    Both are Hugging Face objects, or the names or folders that they are loaded from. A model of half precision that is
    `trained` is copied in float32, because small steps would be rounded away; a quantised one stays as it is.
    """
    import transformers

    if isinstance(model, os.PathLike):
        model = os.fspath(model)
    if isinstance(tokenizer, os.PathLike):
        tokenizer = os.fspath(tokenizer)
    if isinstance(model, str):
        try:
            name, backbone = model, transformers.AutoModel.from_pretrained(model, dtype=torch.float32)
        except OSError as error:
            said = str(error).split("\n", 1)[0]
            raise ValueError(f"the model {model!r} cannot be loaded, give a folder or a Hub name: {said}") from None
    elif not hasattr(model, "config"):
        raise BadInput(f"model must be a Hugging Face model, or the name or folder of one, got {model!r}")
    else:
        name = str(getattr(base_of(model).config, "_name_or_path", "") or "")
        # An adapter of PEFT stays around its model.
        backbone = copy.deepcopy(model if hasattr(model, "get_base_model") else model.base_model)
        is_quantised = getattr(base_of(model), "hf_quantizer", None) is not None
        if trained and not is_quantised and base_of(model).dtype in (torch.bfloat16, torch.float16):
            backbone = backbone.float()
    if getattr(backbone.config, "is_encoder_decoder", False):
        kind = type(backbone).__name__
        raise TypeError(f"model must be an encoder or a decoder, got {kind} with both: for T5, give T5EncoderModel")
    if tokenizer is None and not name:
        raise ValueError(f"give the tokenizer of {type(model).__name__}: its config names no checkpoint")
    words: Any = tokenizer if tokenizer is not None else name
    words = transformers.AutoTokenizer.from_pretrained(words) if isinstance(words, str) else copy.deepcopy(words)
    if not hasattr(words, "pad_token"):
        raise BadInput(f"tokenizer must be a Hugging Face tokenizer, or the name or folder of one, got {tokenizer!r}")
    if words.pad_token is None:
        words.pad_token = words.eos_token  # GPT-2 has none; padding is masked
    words.padding_side = "right"  # models with absolute positions count from the left
    return backbone, words


def build_network(
    backbone: Any, tokenizer: Any, recipe: str, scale: TargetScale, components: int, texts: Sequence[str],
    targets: np.ndarray,
) -> NumberModel:  # fmt: skip
    """A network with number vectors and a number head, fitted to the numbers of the texts and the targets."""
    model = attach(backbone, tokenizer, recipe, head=scale.head(components), pooled=True, objective=None)
    fit_parts(model, texts, NumberTable.of_values(scale.seen(targets)))
    return model


def train_network(
    model: NumberModel, texts: Sequence[str], targets: np.ndarray, *, steps: int, batch_size: int, max_length: int,
    learning_rate: float, number_learning_rate: float | str | None, say: Callable[[str], Any] | None = None,
) -> list[float]:  # fmt: skip
    """Trains with AdamW for some steps; returns the loss of each. Draws are those of the global random state."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, lr=learning_rate)
    set_number_rates(optimizer, model, learning_rate, number_learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _share(step, steps))
    losses: list[float] = []
    rows, goals, collate = _rows(model, texts, max_length), NumberTable.of_values(targets), _collator(model)
    model.train()
    for chosen in _batches(len(texts), batch_size, steps):
        numbers = ask(model, collate([rows[at] for at in chosen]))
        loss = -numbers.log_prob(goals[torch.tensor(chosen)].to(model.device)).mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, _CLIPPED)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if say is not None and (len(losses) % 50 == 0 or len(losses) == steps):
            say(f"step {len(losses):,} of {steps:,}, loss {np.mean(losses[-50:]):.3f}")
    model.eval()
    return losses


def ask(model: NumberModel, batch: Mapping[str, Tensor]) -> NumberDistribution:
    """The distributions of the numbers behind the texts of a batch: one for each row."""
    output = model(**{key: value.to(model.device) for key, value in batch.items()}, return_loss=False)
    numbers: Any = output.numbers
    # The text may ask for numbers, too: ours is the last one of its row.
    rows = output.number_index[:, 0]
    last = torch.ones_like(rows, dtype=torch.bool)
    last[:-1] = rows[1:] != rows[:-1]
    return numbers if bool(last.all()) else numbers[last.nonzero()[:, 0]]


@torch.no_grad()
def quantiles_of(model: NumberModel, texts: Sequence[str], p: Sequence[float], max_length: int) -> np.ndarray:
    """Quantiles (N, Q) of the numbers behind N texts, as the head sees them."""
    found = np.empty((len(texts), len(p)))
    rows, collate = _rows(model, texts, max_length), _collator(model)
    order = np.argsort([len(row["input_ids"]) for row in rows], kind="stable")  # little padding
    with evaluating(model):
        for start in range(0, len(order), _BATCH):
            some = order[start : start + _BATCH]
            numbers = ask(model, collate([rows[at] for at in some]))
            shares = torch.tensor(list(p), dtype=torch.float64, device=numbers.device).expand(len(some), -1)
            found[some] = numbers.quantile(shares).cpu().numpy()
    return found


def _rows(model: NumberModel, texts: Sequence[str], max_length: int) -> list[dict[str, Any]]:
    """The fields of each text with a question behind it; a text is cut so that the question always fits.

    An encoder answers at the [NUM] behind the text, a decoder at the token before it.
    """
    if not texts:
        return []
    questions = [NUM] * len(texts)
    most = longest_text(base_of(model.backbone).config, model.processor.tokenizer)
    max_length = max_length if most is None else min(max_length, most)
    least = len(model.processor("", NUM)["input_ids"])
    if max_length < least:
        raise BadInput(f"max_length must leave room for the question behind a text, at least {least}, got {max_length}")
    batch = model.processor(list(texts), questions, truncation="only_first", max_length=max_length)
    return [{key: batch[key][row] for key in batch} for row in range(len(texts))]


def _collator(model: NumberModel) -> NumberCollator:
    return NumberCollator(model.processor.tokenizer)


def _share(step: int, steps: int) -> float:
    warm = max(1, round(_WARMUP * steps))
    return min((step + 1) / warm, (steps - step) / max(1, steps - warm + 1))


def _batches(count: int, size: int, steps: int) -> Iterator[list[int]]:
    """Rows of each step: all rows in a new random order, again and again."""
    order: list[int] = []
    for _ in range(steps):
        if not order:
            order = torch.randperm(count).tolist()
        yield order[:size]
        order = order[size:]
