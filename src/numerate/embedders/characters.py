"""Character-level embedders of the written form: CharLSTM and CharFormer of LUNA (2022)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from numerate.config import Config
from numerate.embedders.base import Embedder, NumberTable, full_precision
from numerate.embedders.option_checks import check_dropout, check_option, check_positive
from numerate.processing.number_table import CHARACTERS, UNKNOWN_CHARACTER
from numerate.processing.static_shapes import may_wait
from numerate.registry import embedders

__all__ = [
    "N_CHARACTERS",
    "CharFormerConfig",
    "CharFormerEmbedder",
    "CharLSTMConfig",
    "CharLSTMEmbedder",
    "digit_places",
    "framed",
    "read_characters",
    "recurrent_summary",
]

N_CHARACTERS = UNKNOWN_CHARACTER + 1
N_PLACES = 21
_LSTM_SIZES = {"0.1M": (32, 3), "1M": (128, 3), "9M": (208, 9)}
_FORMER_SIZES = {"0.1M": (8, 3), "1M": (64, 3), "9M": (128, 9)}


def read_characters(numbers: NumberTable) -> tuple[Tensor, Tensor]:
    """Character ids (N, L) and lengths (N,), both int64; a number without characters gets one padding character."""
    characters = numbers.characters.to(torch.int64)
    if characters.shape[-1] == 0:
        characters = nn.functional.pad(characters, (0, 1))
    return characters, (characters != 0).sum(-1).clamp_min(1)


def framed(characters: Tensor, lengths: Tensor, start: int, end: int) -> tuple[Tensor, Tensor]:
    """Ids (N, L + 2) and lengths of sequences with a start sign before and an end sign after them.

    Example:
        >>> framed(torch.tensor([[5, 6], [7, 0]]), torch.tensor([2, 1]), 20, 21)[0].tolist()
        [[20, 5, 6, 21], [20, 7, 21, 0]]
    """
    wide = nn.functional.pad(nn.functional.pad(characters, (1, 0), value=start), (0, 1))
    return wide.scatter(1, lengths[:, None] + 1, end), lengths + 2


def digit_places(characters: Tensor) -> Tensor:
    """Decimal place of each character as in LUNA: 1 ones, 2 tens ... 10; 11 tenths, 12 hundredths ... 20; 0 no digit.

    Digits of a written exponent (`1e5`), which LUNA does not have, get 0.

    Shape:
        Input and output: int64 (N, L).

    Example:
        >>> from numerate.processing.number_table import encode_characters
        >>> digit_places(torch.tensor([encode_characters("1,234.56")]))[0].tolist()
        [4, 0, 3, 2, 1, 0, 11, 12]
    """
    digit = (characters >= CHARACTERS["0"]) & (characters <= CHARACTERS["9"])
    in_fraction = (characters == CHARACTERS["."]).cumsum(-1) > 0
    digit = digit & ((characters == CHARACTERS["e"]).cumsum(-1) == 0)
    whole, fraction = digit & ~in_fraction, digit & in_fraction
    from_right = whole.flip(-1).cumsum(-1).flip(-1).clamp_max(10)
    from_left = 10 + fraction.cumsum(-1).clamp_max(10)
    return from_right * whole + from_left * fraction


def recurrent_summary(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor) -> Tensor:
    """Mean over layers and directions of an LSTM's last hidden states; padding is ignored (packed sequences).

    Runs in the type of the weights: under autocast, rounding errors would accumulate over the characters.

    Shape:
        Input: (N, L, H), lengths (N,). Output: (N, hidden).
    """
    if len(inputs) == 0:
        return inputs.new_zeros(0, lstm.hidden_size)
    with full_precision(inputs):
        inputs = inputs.to(next(lstm.parameters()).dtype)
        # The host would need the lengths of a packed sequence: it cannot be exported, nor recorded as a CUDA graph.
        if torch.compiler.is_exporting() or not (may_wait() or (lstm.training and lstm.dropout)):
            return _unpacked_summary(lstm, inputs, lengths)
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (last, _) = lstm(packed)
        return last.mean(0)


def _unpacked_summary(lstm: nn.LSTM, inputs: Tensor, lengths: Tensor) -> Tensor:
    """`recurrent_summary` without packed sequences: layer by layer, direction by direction.

    The backward direction reads each text reversed within its length; its last state then stands where that of the
    forward direction does.
    """
    places = torch.arange(inputs.shape[1], device=inputs.device).expand(inputs.shape[:2])
    end = lengths.to(inputs.device)[:, None] - 1
    backwards = torch.where(places <= end, end - places, places)
    start = inputs.new_zeros(1, inputs.shape[0], lstm.hidden_size)
    last: list[Tensor] = []
    learns = torch.is_grad_enabled() and not torch.compiler.is_exporting()
    for layer in range(lstm.num_layers):
        read: list[Tensor] = []
        for direction in range(1 + lstm.bidirectional):
            name = f"_l{layer}" + "_reverse" * direction
            kinds = ("weight_ih", "weight_hh") + ("bias_ih", "bias_hh") * lstm.bias
            weights = [getattr(lstm, kind + name) for kind in kinds]
            seen = _in_order(inputs, backwards) if direction else inputs
            # Without dropout, training and evaluation compute the same; cuDNN has gradients only in training.
            states = torch.lstm(seen, [start, start], weights, lstm.bias, 1, 0.0, learns, False, True)[0]
            last.append(states.gather(1, end[..., None].expand(-1, 1, lstm.hidden_size))[:, 0])
            read.append(_in_order(states, backwards) if direction else states)
        inputs = torch.cat(read, dim=-1)
    return torch.stack(last).mean(0)


def _in_order(states: Tensor, order: Tensor) -> Tensor:
    """The states (N, L, H) of each row in another order (N, L)."""
    return states.gather(1, order[..., None].expand(-1, -1, states.shape[-1]))


@dataclass(frozen=True, kw_only=True)
class _CharacterConfig(Config):
    """Options of `char-lstm` and `char-former`.

    Attributes:
        size: One of LUNA's three sizes; sets `hidden` and `layers`.
        hidden: Overrides the width of the network.
        layers: Overrides the depth of the network.
    """

    size: Literal["0.1M", "1M", "9M"] = "1M"
    hidden: int | None = None
    layers: int | None = None

    def __post_init__(self) -> None:
        check_positive(self, "hidden", "layers")


@dataclass(frozen=True, kw_only=True)
class CharLSTMConfig(_CharacterConfig):
    """Options of `char-lstm`: `size`, `hidden`, `layers`."""

    kind: ClassVar[str] = "char-lstm"


@embedders.register("char-lstm")
class CharLSTMEmbedder(Embedder):
    """Bidirectional LSTM over the written characters; mean of its last hidden states, mapped to `dim` (LUNA 2022).

    It reads the written form alone: `1.0`, `1` and `1e0` differ, and so do `0` and `-0`; a sign is a character; `inf`
    and `nan` are unknown letters; numbers beyond float64 are read like others; at most 32 characters are read. A number
    without characters is one padding character. Sequences are packed, so padding has no effect.

    Shape: N numbers with characters (N, L) to `(N, dim)`.

    Example:
        >>> CharLSTMEmbedder.build(dim=8, size="0.1M")(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = CharLSTMConfig
    outermost = ("out",)
    costly = True

    def __init__(self, dim: int, config: CharLSTMConfig) -> None:
        super().__init__(dim, config)
        hidden, layers = _LSTM_SIZES[config.size]
        hidden, layers = config.hidden or hidden, config.layers or layers
        self.characters = nn.Embedding(N_CHARACTERS, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers, batch_first=True, bidirectional=True)
        self.out = nn.Linear(hidden, dim)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        characters, lengths = read_characters(numbers)
        return self.out(recurrent_summary(self.lstm, self.characters(characters), lengths))


@dataclass(frozen=True, kw_only=True)
class CharFormerConfig(_CharacterConfig):
    """Options of `char-former`: `size`, `hidden` (a multiple of 4), `layers`, `dropout`."""

    kind: ClassVar[str] = "char-former"
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_option(not (self.hidden or 0) % 4, self, "hidden must be a multiple of the 4 heads", "hidden")
        check_dropout(self)


@embedders.register("char-former")
class CharFormerEmbedder(Embedder):
    """Characters and their decimal places through a transformer and a bidirectional LSTM, mapped to `dim` (LUNA 2022).

    As released: 4 heads, feed-forward width 2048, post-norm. Unlike the released code, padding is masked in the
    transformer and packed away in the LSTM. 0, -0, signs, `inf`, `nan` and overflow are treated as by `char-lstm`.

    Shape: N numbers with characters (N, L) to `(N, dim)`.

    Example:
        >>> CharFormerEmbedder.build(dim=8, size="0.1M")(NumberTable.of_values([1.5, -2.0])).shape
        torch.Size([2, 8])
    """

    Config = CharFormerConfig
    outermost = ("out",)
    costly = True

    def __init__(self, dim: int, config: CharFormerConfig) -> None:
        super().__init__(dim, config)
        hidden, layers = _FORMER_SIZES[config.size]
        hidden, layers = config.hidden or hidden, config.layers or layers
        self.characters = nn.Embedding(N_CHARACTERS, hidden)
        self.places = nn.Embedding(N_PLACES, hidden)
        layer = nn.TransformerEncoderLayer(hidden, nhead=4, dropout=config.dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        between = config.dropout if layers > 1 else 0.0
        self.lstm = nn.LSTM(hidden, hidden, layers, batch_first=True, bidirectional=True, dropout=between)
        self.out = nn.Linear(hidden, dim)

    def forward(self, numbers: NumberTable) -> Tensor:
        """Embeds a flat table of N numbers: (N, dim)."""
        characters, lengths = read_characters(numbers)
        inputs = self.characters(characters) + self.places(digit_places(characters))
        padding = torch.arange(characters.shape[-1], device=characters.device) >= lengths[:, None]
        if len(numbers):
            inputs = self.encoder(inputs, src_key_padding_mask=padding)
        return self.out(recurrent_summary(self.lstm, inputs, lengths))
