"""Embedders that read a number as it is written, character by character."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from numerate.config import Config
from numerate.embedders.base import Embedder, full_precision
from numerate.processing.number_table import CHARACTERS, UNKNOWN_CHARACTER
from numerate.registry import embedders

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = [
    "N_CHARACTERS",
    "CharFormerConfig",
    "CharFormerEmbedder",
    "CharLSTMConfig",
    "CharLSTMEmbedder",
    "digit_places",
    "read_characters",
    "recurrent_summary",
]

N_CHARACTERS = UNKNOWN_CHARACTER + 1
N_PLACES = 21
_LSTM_SIZES = {"0.1M": (32, 3), "1M": (128, 3), "9M": (208, 9)}
_FORMER_SIZES = {"0.1M": (8, 3), "1M": (64, 3), "9M": (128, 9)}


def read_characters(numbers: NumberTable) -> tuple[Tensor, Tensor]:
    """Character ids (N, L) and lengths (N,), both int64; a number without characters has one of padding."""
    characters = numbers.characters.to(torch.int64)
    if characters.shape[-1] == 0:
        characters = nn.functional.pad(characters, (0, 1))
    return characters, (characters != 0).sum(-1).clamp_min(1)


def digit_places(characters: Tensor) -> Tensor:
    """LUNA's digit map: 1 for ones, 2 for tens up to 10; 11 for tenths, 12 for hundredths up to 20; 0 for all else.

    Digits of a written exponent (`1e5`), which LUNA does not know, count as "all else".

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
    """The mean over layers and directions of an LSTM's last hidden states, as if there were no padding.

    Runs in the weights' own type: autocast would carry rounding errors through every character.

    Shape:
        Input: (N, L, H), lengths (N,). Output: (N, hidden).
    """
    if len(inputs) == 0:
        return inputs.new_zeros(0, lstm.hidden_size)
    with full_precision(inputs):
        inputs = inputs.to(next(lstm.parameters()).dtype)
        packed = pack_padded_sequence(inputs, lengths.cpu(), batch_first=True, enforce_sorted=False)
        _, (last, _) = lstm(packed)
        return last.mean(0)


@dataclass(frozen=True, kw_only=True)
class _CharacterConfig(Config):
    """Options of `char-lstm` and `char-former`.

    Attributes:
        size: One of LUNA's three sizes, which sets `hidden` and `layers`.
        hidden: Width of the network, instead of the size's.
        layers: Depth of the network, instead of the size's.
    """

    size: Literal["0.1M", "1M", "9M"] = "1M"
    hidden: int | None = None
    layers: int | None = None

    def __post_init__(self) -> None:
        for name in ("hidden", "layers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be positive, got {name}={value}")


@dataclass(frozen=True, kw_only=True)
class CharLSTMConfig(_CharacterConfig):
    """Options of `char-lstm`: see `size`, `hidden`, `layers`."""

    kind: ClassVar[str] = "char-lstm"


@embedders.register("char-lstm")
class CharLSTMEmbedder(Embedder):
    """A two-way LSTM over the written characters; the mean of its last hidden states, mapped to `dim` (LUNA 2022).

    It sees the written form alone: `1.0`, `1` and `1e0` differ, so do `0` and `-0`; a sign is a character; `inf` and
    `nan` are unknown letters; what is too large for a float64 is as good as any other; beyond 32 characters nothing
    is read. A number without characters is one padding character. Sequences are packed, so padding has no effect.

    **Shape**

    - Input: a flat number table of N numbers, `characters` (N, L)
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
    """Options of `char-former`: see `size`, `hidden` (a multiple of 4), `layers`; and `dropout`."""

    kind: ClassVar[str] = "char-former"
    dropout: float = 0.1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden is not None and self.hidden % 4:
            raise ValueError(f"hidden must be a multiple of the 4 heads, got {self.hidden=}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got {self.dropout=}")


@embedders.register("char-former")
class CharFormerEmbedder(Embedder):
    """Characters and their decimal places through a transformer and a bidirectional LSTM, mapped to `dim` (LUNA 2022).

    As released: 4 heads, feed-forward 2048, post-norm; but padding is masked and the LSTM packed, where the released
    code lets padding in. It sees the written form alone: what `char-lstm` says of 0, -0, signs, `inf`, `nan` and
    overflow holds here.

    **Shape**

    - Input: a flat number table of N numbers, `characters` (N, L)
    - Output: `(N, dim)`

    Example:
        >>> from numerate.processing.number_table import NumberTable
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
