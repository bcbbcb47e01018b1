"""TabBERT whose cells know their numbers: LUNA's AddBack and Replace with any embedder, and a head for masked numbers.

`addback` adds the vector of a number to that of the cell's token; `replace` puts [NUM] in place of the token first. A
masked cell shows neither token nor number. Unlike in the released code, a refund is a negative number, and a missing
zip code is no number instead of 0.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from numerate.backbones.tabbert import MASK, NUM, NumerateTabBertForMaskedLM
from numerate.config import Config, ConfigError, check_names
from numerate.modeling.ratio_features import RatioFeatures
from numerate.processing.number_table import GIVEN, PADDING, NumberTable
from numerate.processing.static_shapes import has_fixed_shapes
from numerate.registry import embedders, heads

if TYPE_CHECKING:
    from numerate.objectives.cell_masking import MaskedCells

__all__ = ["FraudHead", "NumberCells", "NumberCellsConfig", "load_number_cells"]

_WEIGHTS, _CONFIG, _BACKBONE = "number_cells.safetensors", "number_cells.json", "backbone"


@dataclass(frozen=True, kw_only=True)
class NumberCellsConfig(Config):
    """The parts that are added to TabBERT.

    Attributes:
        fields: The fields that have numbers, by their index.
        placement: How a number's vector meets its cell; None for a model that does not see numbers.
        embedder: Embedder of the numbers, `{"kind": name, option: value, ...}`; None for none.
        head: Head that predicts masked numbers; None for no such loss.
        relations: A number's vector also has log-ratios to the same field of so many rows before and after it; 0 for
            none.
    """

    kind: ClassVar[str] = "number-cells"
    fields: tuple[int, ...] = ()
    placement: Literal["addback", "replace"] | None = None
    embedder: dict[str, Any] | None = None
    head: dict[str, Any] | None = None
    relations: int = 0

    def __post_init__(self) -> None:
        check_names(self)
        if self.relations < 0 or (self.relations and self.embedder is None):
            raise ConfigError(f"relations must be 0, or at least 1 with an embedder, got {self.relations}")


class FraudHead(nn.Module):
    """An LSTM over the rows of a window, and the log-odds of fraud from its last state (LUNA's fine-tuning).

    Shape: rows (B, R, D) to (B,).

    Example:
        >>> FraudHead(8)(torch.zeros(3, 10, 8)).shape
        torch.Size([3])
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, rows: Tensor) -> Tensor:
        """Log-odds of fraud of each window."""
        return self.out(self.lstm(rows)[0][:, -1])[:, 0]


class NumberCells(nn.Module):
    """TabBERT, an embedder and a head of numbers, and a head that finds fraud.

    Args:
        backbone: The table model.
        config: What is added.

    Example:
        >>> from numerate.backbones.tabbert import NumerateTabBertConfig
        >>> sizes = NumerateTabBertConfig(
        ...     field_sizes=[4, 2], field_size=8, num_hidden_layers=1, num_attention_heads=2, num_field_heads=2
        ... )
        >>> parts = NumberCellsConfig(fields=(1,), placement="addback", embedder={"kind": "log-fourier"})
        >>> model = NumberCells(NumerateTabBertForMaskedLM(sizes), parts)
        >>> ids, numbers = torch.tensor([[[5, 9], [6, 10]]]), torch.tensor([[[0], [1]]])
        >>> model.rows(ids, numbers, NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([1, 2, 24])
    """

    def __init__(self, backbone: NumerateTabBertForMaskedLM, config: NumberCellsConfig) -> None:
        super().__init__()
        self.backbone, self.config = backbone, config
        width, wide = backbone.config.field_size, backbone.config.row_size
        self.embedder = None if config.embedder is None else _built(embedders, config.embedder, width)
        self.relations = RatioFeatures(width, config.relations) if config.relations else None
        # LUNA's regression head widens a cell's state, too: 64 to 768.
        self.widen = None if config.head is None else nn.Linear(width, wide)
        self.head = None if config.head is None else _built(heads, config.head, wide)
        self.fraud = FraudHead(wide)
        self.register_buffer("fields", torch.tensor(config.fields, dtype=torch.int64), persistent=False)
        self.register_buffer("threshold", torch.tensor(0.5, dtype=torch.float64))

    fields: Tensor
    threshold: Tensor

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.threshold.device

    def cell_vectors(self, ids: Tensor, numbers: Tensor, table: NumberTable) -> Tensor:
        """Vectors of the cells, with those of their numbers.

        Shape:
            ids: (B, R, F) int64. numbers: (B, R, K) int64, index into `table`, -1 for none. Output: (B, R, F, E).
        """
        words = self.backbone.get_input_embeddings()
        if self.embedder is None or self.config.placement is None:
            return words(ids)
        given = numbers >= 0
        if self.config.placement == "replace":
            own = ids.index_select(2, self.fields)
            ids = ids.index_copy(2, self.fields, torch.where(given, NUM, own))
        index = numbers.clamp_min(0)
        if self.embedder.costly and not has_fixed_shapes():  # equal numbers are embedded once
            index, inverse = torch.unique(index, return_inverse=True)
            vectors = self.embedder(table[index])[inverse]
        else:
            vectors = self.embedder(table[index.flatten()]).view(*index.shape, -1)
        if self.relations is not None:
            vectors = vectors + self._ratios(numbers, table).to(vectors.dtype)
        vectors = vectors * given[..., None]
        cells = words(ids)
        added = torch.zeros_like(cells).index_copy(2, self.fields, vectors.to(cells.dtype))
        return cells + added

    def _ratios(self, numbers: Tensor, table: NumberTable) -> Tensor:
        """Vectors of the ratios of each number to those of the rows beside it, in its own field: (B, R, K, E)."""
        batch, rows, fields = numbers.shape
        columns = numbers.transpose(1, 2).flatten(0, 1)  # a text of R numbers for each window and field
        given = columns >= 0
        known = table[columns.clamp_min(0)]
        # Only what is given has a ratio: neither a missing number nor one that is to be predicted.
        own = dataclasses.replace(known, given=torch.where(given, GIVEN, PADDING).to(known.given.dtype))
        slots = torch.arange(1, rows + 1, device=numbers.device).expand(len(columns), rows)
        assert self.relations is not None  # noqa: S101
        return self.relations(slots, own).view(batch, fields, rows, -1).transpose(1, 2)

    def rows(self, ids: Tensor, numbers: Tensor, table: NumberTable) -> Tensor:
        """States of the rows of whole windows, the features of fraud detection: (B, R, D)."""
        return self.backbone.tabbert(inputs_embeds=self.cell_vectors(ids, numbers, table)).last_hidden_state

    def pretraining_losses(
        self, ids: Tensor, numbers: Tensor, table: NumberTable, masks: MaskedCells,
        scored: Literal["masked", "all"] = "masked",
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """The loss of masked cells, summed over the fields, and that of their numbers (0 without a head).

        Args:
            ids: (B, R, F) int64.
            numbers: (B, R, K) int64.
            table: The numbers.
            masks: Of the cells.
            scored: `masked` cells, or `all`, as the released code did by mistake.
        """
        own = masks.of_fields(self.fields)
        vectors = self.cell_vectors(masks.shown(ids, MASK), own.shown(numbers, -1), table)
        labels = ids if scored == "all" else torch.where(masks.chosen, ids, -100)
        output = self.backbone(inputs_embeds=vectors, labels=labels)
        wanted = (numbers >= 0) & (own.chosen | (scored == "all"))
        return output.loss, self._number_loss(output.last_hidden_state, numbers, table, wanted)

    def _number_loss(self, cells: Tensor, numbers: Tensor, table: NumberTable, wanted: Tensor) -> Tensor:
        """Sum over the fields of the mean loss of their wanted numbers."""
        if self.head is None or self.widen is None:
            return cells.new_zeros(())
        # In a recorded step all cells have a place, wanted ones or not.
        every = wanted.flatten()
        picked = torch.arange(len(every), device=every.device) if has_fixed_shapes() else every.nonzero()[:, 0]
        states = cells.index_select(2, self.fields).flatten(0, 2)[picked]
        losses = self.head.loss(self.widen(states), table[numbers.flatten()[picked].clamp_min(0)])
        kept, field = every[picked], picked % len(self.fields)
        losses = torch.where(kept, losses, 0.0)
        sums, counts = losses.new_zeros(len(self.fields)), losses.new_zeros(len(self.fields))
        sums = sums.index_add(0, field, losses)
        counts = counts.index_add(0, field, kept.to(losses.dtype))
        return (sums / counts.clamp_min(1)).sum()

    def trainable_parameters(self) -> tuple[int, int]:
        """The number of parameters that are trained, and of all."""
        counts = [(weight.numel(), weight.requires_grad) for weight in self.parameters()]
        return sum(count for count, trained in counts if trained), sum(count for count, _ in counts)

    def save_pretrained(self, folder: str | Path, backbone: bool = True) -> None:
        """Saves the backbone as a Hugging Face model in `backbone`, and our parts beside it."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        if backbone:
            self.backbone.save_pretrained(target / _BACKBONE)
        own = {
            name: value.contiguous() for name, value in self.state_dict().items() if not name.startswith("backbone.")
        }
        save_file(own, target / _WEIGHTS)
        (target / _CONFIG).write_text(self.config.to_json(), encoding="utf-8")


def load_number_cells(folder: str | Path) -> NumberCells:
    """A model that `NumberCells.save_pretrained` has saved, with its backbone."""
    source = Path(folder)
    config = NumberCellsConfig.from_dict(json.loads((source / _CONFIG).read_text(encoding="utf-8")))
    model = NumberCells(NumerateTabBertForMaskedLM.from_pretrained(source / _BACKBONE), config)
    missing, unexpected = model.load_state_dict(load_file(source / _WEIGHTS), strict=False)
    wrong = [*unexpected, *(name for name in missing if not name.startswith("backbone."))]
    if wrong:
        raise ValueError(f"{source / _WEIGHTS}: the weights do not fit the config: {', '.join(wrong)[:200]}")
    return model.eval()


def _built(registry: Any, options: dict[str, Any], width: int) -> Any:
    return registry[options["kind"]].build(width, **options | {"kind": registry.name_of(options["kind"])})
