"""TabBERT (Padhi et al. 2021) as Hugging Face models: a transformer over the fields of a row, and one over rows.

Every cell of a table is one token of its field's own vocabulary. A field transformer mixes the cells of each row; the
cells side by side are the row's vector, and a BERT runs over the rows of a window. The states of the rows, cut into
cells again, predict masked cells, each among the values of its own field.

Global ids: the special tokens of `SPECIAL_TOKENS` come first, then the values of the first field, of the second, ...
Numbers are added to cells through `inputs_embeds`, before the field transformer. Unlike the released code, which
computed the loss at all cells, only cells with a label are scored, and logits are computed for those alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, BertConfig, BertModel
from transformers import PreTrainedConfig as HFConfig
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutput
from transformers.utils.generic import ModelOutput

from numerate.backbones.base import Backbone, check_sizes
from numerate.processing.static_shapes import has_fixed_shapes

__all__ = [
    "MASK", "NUM", "PAD", "SEP", "SPECIAL_TOKENS", "UNK", "MaskedCellsOutput", "NumerateTabBertConfig",
    "NumerateTabBertForMaskedLM", "NumerateTabBertModel",
]  # fmt: skip

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[MASK]", "[SEP]", "[NUM]")
"""Tokens of all fields: padding, a value that is not in the vocabulary, a masked cell, the end of a row, a number."""
PAD, UNK, MASK, SEP, NUM = range(len(SPECIAL_TOKENS))


class NumerateTabBertConfig(HFConfig):
    """Sizes of TabBERT; the defaults are the paper's, for the 11 fields of IBM's card transactions.

    Attributes:
        field_sizes: Number of values of each field; the default is about that of IBM's 24 million rows.
        field_size: Width of a cell; a row is (fields + 1) x `field_size` wide: each row ends with a [SEP].
        num_field_layers: Layers of the field transformer.
        num_field_heads: Its attention heads.
        field_intermediate_size: Width of its MLP; None for `field_size`.
        num_hidden_layers: Layers of the row transformer, a BERT.
        num_attention_heads: Its attention heads.
        intermediate_size: Width of its MLP; None for 4 x the width of a row.
        max_position_embeddings: Maximum number of rows in a window.
        dropout: Dropout everywhere.
    """

    model_type: ClassVar[str] = "numerate-tabbert"  # type: ignore[misc]
    field_sizes: list[int] | tuple[int, ...] = (2000, 9, 10, 10, 3, 100343, 13429, 224, 27322, 109, 24)
    field_size: int = 64
    num_field_layers: int = 1
    num_field_heads: int = 8
    field_intermediate_size: int | None = None
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int | None = None
    max_position_embeddings: int = 512
    dropout: float = 0.1
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = PAD
    tie_word_embeddings: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        counts = ("field_size", "num_field_layers", "num_field_heads", "num_hidden_layers", "num_attention_heads")
        check_sizes(self, *counts, "field_intermediate_size", "intermediate_size", "max_position_embeddings")
        self.field_sizes = [int(size) for size in self.field_sizes]
        if not self.field_sizes or min(self.field_sizes) < 1:
            raise ValueError(f"field_sizes must be positive, one for each field, got {self.field_sizes}")
        for width, heads in (("field_size", "num_field_heads"), ("row_size", "num_attention_heads")):
            if getattr(self, width) % getattr(self, heads):
                sizes = f"{width}={getattr(self, width)}, {heads}={getattr(self, heads)}"
                raise ValueError(f"{width} must be a multiple of {heads}, got {sizes}")
        super().__post_init__(**kwargs)

    @property
    def fields(self) -> int:
        """Number of fields."""
        return len(self.field_sizes)

    @property
    def row_size(self) -> int:
        """Width of a row: its cells and its [SEP] side by side."""
        return (len(self.field_sizes) + 1) * self.field_size

    @property
    def hidden_size(self) -> int:
        """Width of a cell's state, which heads are attached to."""
        return self.field_size

    @property
    def vocab_size(self) -> int:
        """Number of global ids."""
        return len(SPECIAL_TOKENS) + sum(self.field_sizes)

    @property
    def offsets(self) -> list[int]:
        """The global id of each field's first value."""
        starts = [len(SPECIAL_TOKENS)]
        for size in self.field_sizes[:-1]:
            starts.append(starts[-1] + size)
        return starts


@dataclass
class MaskedCellsOutput(ModelOutput):
    """Output of `NumerateTabBertForMaskedLM`.

    Attributes:
        loss: Sum over the fields of the mean cross-entropy of their labelled cells; None without labels.
        field_losses: (F,) the mean cross-entropy of each field, 0 for a field without a label.
        last_hidden_state: (B, R, F, E) states of the cells.
        rows: (B, R, (F + 1) x E) states of the rows.
    """

    loss: Tensor | None = None
    field_losses: Tensor | None = None
    last_hidden_state: Tensor | None = None
    rows: Tensor | None = None


class _TabBert(Backbone):
    config_class = NumerateTabBertConfig
    base_model_prefix = "tabbert"
    _supports_sdpa = True
    _no_split_modules: ClassVar[list[str]] = ["BertLayer", "TransformerEncoderLayer"]  # type: ignore[misc]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """BERT's initialisation, and PyTorch's for the field transformer's attention."""
        if isinstance(module, nn.MultiheadAttention):
            init.xavier_uniform_(module.in_proj_weight)
            init.zeros_(module.in_proj_bias)
        elif isinstance(module, (nn.Linear, nn.Embedding)):
            init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            init.ones_(module.weight)
            init.zeros_(module.bias)


class NumerateTabBertModel(_TabBert):
    """Cell vectors, the field transformer, and the row transformer.

    **Shape**

    - Input: `input_ids` (B, R, F) global ids, or `inputs_embeds` (B, R, F, E); `attention_mask` (B, R), 1 for rows
    - Output: `last_hidden_state` (B, R, (F + 1) x E); `cells` cuts it into (B, R, F, E)

    Example:
        >>> sizes = NumerateTabBertConfig(
        ...     field_sizes=[4, 2, 3], field_size=8, num_hidden_layers=1, num_attention_heads=2, num_field_heads=2
        ... )
        >>> model = NumerateTabBertModel(sizes).eval()
        >>> ids = torch.tensor([[[5, 9, 11], [6, 10, 2]]])
        >>> model(input_ids=ids).last_hidden_state.shape
        torch.Size([1, 2, 32])
    """

    def __init__(self, config: NumerateTabBertConfig) -> None:
        super().__init__(config)
        width, wide = config.field_size, config.row_size
        self.words = nn.Embedding(config.vocab_size, width)
        layer = nn.TransformerEncoderLayer(
            width, config.num_field_heads, config.field_intermediate_size or width, config.dropout, batch_first=True
        )
        self.fields = nn.TransformerEncoder(layer, config.num_field_layers, enable_nested_tensor=False)
        self.join = nn.Linear(wide, wide)
        sizes = BertConfig(
            vocab_size=1, hidden_size=wide, num_hidden_layers=config.num_hidden_layers, type_vocab_size=1,
            num_attention_heads=config.num_attention_heads, intermediate_size=config.intermediate_size or 4 * wide,
            max_position_embeddings=config.max_position_embeddings, layer_norm_eps=config.layer_norm_eps,
            hidden_dropout_prob=config.dropout, attention_probs_dropout_prob=config.dropout, pad_token_id=None,
        )  # fmt: skip
        self.rows = BertModel(sizes, add_pooling_layer=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput | tuple[Any, ...]:
        """Runs both transformers.

        Args:
            input_ids: (B, R, F); either this or `inputs_embeds`.
            attention_mask: (B, R), 0 at rows of padding; by default there are none.
            inputs_embeds: (B, R, F, E), vectors of the cells.
            return_dict: False for a plain tuple.
            **kwargs: Other arguments of Hugging Face tools; ignored.
        """
        del kwargs
        vectors = self._embedded(input_ids, inputs_embeds, attention_mask)
        batch, rows, fields = vectors.shape[:3]
        if fields != self.config.fields:
            raise ValueError(f"a row must have {self.config.fields} cells (field_sizes), got {fields}")
        if rows > self.config.max_position_embeddings:
            most = self.config.max_position_embeddings
            raise ValueError(f"a window may have at most {most} rows (max_position_embeddings), got {rows}")
        end = self.words.weight[SEP].to(vectors.dtype).expand(batch, rows, 1, -1)
        cells = self.fields(torch.cat([vectors, end], dim=2).flatten(0, 1))
        joined = self.join(cells.reshape(batch, rows, self.config.row_size))
        states = self.rows(inputs_embeds=joined, attention_mask=attention_mask).last_hidden_state
        output = BaseModelOutput(last_hidden_state=states)
        return output.to_tuple() if return_dict is False else output

    def cells(self, rows: Tensor) -> Tensor:
        """The states of the cells in states of rows: (B, R, (F + 1) x E) -> (B, R, F, E)."""
        return rows.unflatten(-1, (self.config.fields + 1, self.config.field_size))[:, :, :-1]


class NumerateTabBertForMaskedLM(_TabBert):
    """TabBERT with a head that predicts masked cells, each among the values of its own field.

    **Shape**

    - Input: as `NumerateTabBertModel`; `labels` (B, R, F) global ids, -100 (and special tokens) where nothing is scored
    - Output: see `MaskedCellsOutput`

    Example:
        >>> sizes = NumerateTabBertConfig(
        ...     field_sizes=[4, 2, 3], field_size=8, num_hidden_layers=1, num_attention_heads=2, num_field_heads=2
        ... )
        >>> model = NumerateTabBertForMaskedLM(sizes).eval()
        >>> ids = torch.tensor([[[5, 9, 11], [6, 10, 2]]])
        >>> labels = torch.tensor([[[-100, -100, -100], [-100, -100, 12]]])
        >>> model(input_ids=ids, labels=labels).field_losses.shape
        torch.Size([3])
        >>> model.field_logits(torch.zeros(5, 8), field=2).shape
        torch.Size([5, 3])
    """

    def __init__(self, config: NumerateTabBertConfig) -> None:
        super().__init__(config)
        self.tabbert = NumerateTabBertModel(config)
        wide = config.row_size
        self.into, self.norm = nn.Linear(config.field_size, wide), nn.LayerNorm(wide, config.layer_norm_eps)
        self.output = nn.Linear(wide, config.vocab_size)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> MaskedCellsOutput | tuple[Any, ...]:
        """Predicts cells; arguments as in `NumerateTabBertModel.forward`, and `labels` (B, R, F)."""
        del kwargs
        rows = self.tabbert(input_ids, attention_mask, inputs_embeds).last_hidden_state
        cells = self.tabbert.cells(rows)
        losses = None if labels is None else self.field_losses(cells, labels)
        loss = None if losses is None else losses.sum()
        output = MaskedCellsOutput(loss=loss, field_losses=losses, last_hidden_state=cells, rows=rows)
        return output.to_tuple() if return_dict is False else output

    def field_logits(self, cells: Tensor, field: int) -> Tensor:
        """Logits of the values of one field for states of its cells: (N, E) -> (N, V)."""
        weight, bias = self._matrices()[field]
        return functional.linear(self._widened(cells), weight, bias)

    def field_losses(self, cells: Tensor, labels: Tensor) -> Tensor:
        """Mean cross-entropy of each field's labelled cells, 0 for a field without one: (F,) float32.

        Only labelled cells are scored, so that a vocabulary of 100,000 merchants costs little; all of them where no
        shape may depend on the data.

        Shape:
            cells: (B, R, F, E). labels: (B, R, F).
        """
        flat = labels.flatten(0, 1).T  # (F, N)
        scored = flat >= len(SPECIAL_TOKENS)
        if has_fixed_shapes():
            return self._losses_of_all(cells.flatten(0, 1), flat, scored)
        field, place = scored.nonzero().unbind(1)  # field by field
        counts = scored.sum(1).tolist()  # besides `nonzero`, the only wait for the device in a step
        states = self._widened(cells.flatten(0, 1)[place, field]).split(counts)
        targets = flat[field, place].long().split(counts)
        losses = []
        for some, own, start, (weight, bias) in zip(
            states, targets, self.config.offsets, self._matrices(), strict=True
        ):
            logits = functional.linear(some, weight, bias).float()
            losses.append(functional.cross_entropy(logits, own - start, reduction="sum") / max(1, len(own)))
        return torch.stack(losses)

    def _losses_of_all(self, cells: Tensor, labels: Tensor, scored: Tensor) -> Tensor:
        """`field_losses` of cells (N, F, E) and labels (F, N), computed for all cells."""
        losses = []
        states, fields = self._widened(cells).unbind(1), zip(self.config.offsets, self._matrices(), strict=True)
        for some, own, known, (start, (weight, bias)) in zip(states, labels, scored, fields, strict=True):
            logits = functional.linear(some, weight, bias).float()
            wanted = torch.where(known, own.long() - start, -100)
            losses.append(functional.cross_entropy(logits, wanted, reduction="sum") / known.sum().clamp_min(1))
        return torch.stack(losses)

    def _widened(self, cells: Tensor) -> Tensor:
        return self.norm(functional.gelu(self.into(cells)))

    def _matrices(self) -> list[tuple[Tensor, Tensor]]:
        """Weight and bias of each field's values: split at once, so that their gradients are joined once."""
        sizes = [len(SPECIAL_TOKENS), *self.config.field_sizes]
        return list(zip(self.output.weight.split(sizes), self.output.bias.split(sizes), strict=True))[1:]


AutoConfig.register(NumerateTabBertConfig.model_type, NumerateTabBertConfig, exist_ok=True)
AutoModel.register(NumerateTabBertConfig, NumerateTabBertModel, exist_ok=True)
AutoModelForMaskedLM.register(NumerateTabBertConfig, NumerateTabBertForMaskedLM, exist_ok=True)
