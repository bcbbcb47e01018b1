"""Softmax heads over a vocabulary of numerals, flat or hierarchical (Spithourakis & Riedel 2018)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.embedders.option_checks import check_positive
from numerate.heads.base import GatedHead, Head, NumberTable, run_wide
from numerate.heads.enumerated import StringDistribution, Support
from numerate.heads.number_strings import strings_of
from numerate.heads.numeral_vocabulary import KnownNumerals
from numerate.heads.spelling_lstm import SpellingLSTM
from numerate.registry import heads

__all__ = ["HSoftmaxConfig", "HSoftmaxRNNConfig", "SoftmaxConfig", "SoftmaxRNNConfig", "VocabularyDistribution"]


@dataclass(frozen=True, eq=False, repr=False)
class VocabularyDistribution(StringDistribution):
    """Probabilities of V numerals and of "unknown", which stands for all others.

    `support` is the vocabulary, `unseen` the probability of "unknown".

    Shape:
        log_masses: (N, V + 1), float64, "unknown" last; -inf for an unused entry.
        numerals: The numerals of the entries.
    """

    log_masses: Tensor
    numerals: KnownNumerals

    def _support(self) -> Support:
        """The vocabulary, sorted by value."""
        return Support(self.numerals.values, self.log_masses[:, :-1], self.log_masses[:, -1].exp())

    @property
    def is_empty(self) -> Tensor:
        """Rows in which every number has probability 0: (N,) bool."""
        return (self.log_masses == -torch.inf).all(-1)

    def without_unknown(self) -> Self:
        """The distribution given that the numeral is known; in an empty vocabulary all probabilities are 0."""
        known = self.log_masses[:, :-1]
        none = (known == -torch.inf).all(-1, keepdim=True)
        known = torch.where(none, 0.0, known).log_softmax(-1).masked_fill(none, -torch.inf)
        return dataclasses.replace(self, log_masses=functional.pad(known, (0, 1), value=-torch.inf))

    def log_prob_strings(self, strings: Tensor) -> Tensor:
        """Log-probability of each row's string, or that of "unknown" if it is not in the vocabulary: (N,)."""
        return self.log_masses.gather(1, self.numerals.find(strings)[:, None])[:, 0]

    def log_prob_adjusted(self, numbers: NumberTable) -> Tensor:
        """`log_prob`, with the probability of "unknown" split among all types that `fit` left out (Ueberla): (N,)."""
        shared = self.numerals.oov_types.clamp_min(1).to(torch.float64).log()
        unknown = self.numerals.find(strings_of(numbers)) == len(self.numerals.pairs)
        return self.log_prob(numbers) - torch.where(unknown, shared, 0.0)

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C)."""
        chosen = self.log_masses[:, self.numerals.find(strings_of(candidates))]
        return chosen.masked_fill(~candidates.values().isfinite(), -torch.inf)


@dataclass(frozen=True, kw_only=True)
class SoftmaxConfig(Config):
    """Options of `softmax`.

    Attributes:
        size: Number of numerals, the most frequent ones, that `fit` puts into the vocabulary.
    """

    kind: ClassVar[str] = "softmax"
    size: int = 1000

    def __post_init__(self) -> None:
        check_positive(self, "size")


@dataclass(frozen=True, kw_only=True)
class SoftmaxRNNConfig(SoftmaxConfig):
    """Options of `softmax-rnn`: those of `softmax`, and `framed`.

    Attributes:
        framed: Whether the character LSTM reads a start and an end sign around a numeral, as in the released code.
    """

    kind: ClassVar[str] = "softmax-rnn"
    framed: bool = False


@dataclass(frozen=True, kw_only=True)
class HSoftmaxConfig(SoftmaxConfig):
    """Options of `h-softmax`.

    Attributes:
        size: Number of numerals, the most frequent ones, that `fit` puts into the vocabulary.
        gate: How the model chooses between a word and a number, see `GatedHead`.
    """

    kind: ClassVar[str] = "h-softmax"
    gate: Literal["class", "logit"] = "class"


@dataclass(frozen=True, kw_only=True)
class HSoftmaxRNNConfig(HSoftmaxConfig):
    """Options of `h-softmax-rnn`: those of `h-softmax`, and `framed`.

    Attributes:
        framed: Whether the character LSTM reads a start and an end sign around a numeral, as in the released code.
    """

    kind: ClassVar[str] = "h-softmax-rnn"
    framed: bool = False


@heads.register("softmax")
class SoftmaxHead(Head):
    """One flat softmax over the words, the numerals of a vocabulary, and "unknown".

    Numerals are strings: 1.50 differs from 1.5. `fit` takes the most frequent ones; before it, every number is unknown.
    All unknown numbers share one probability (`VocabularyDistribution.log_prob_adjusted`). NaN and the infinities are
    not targets. The logit of [NUM] is the logsumexp of all scores, which makes the softmax flat.

    Shape: `(N, dim)` to N distributions over `size` numerals and the unknown one.

    Example:
        >>> head = SoftmaxHead.build(dim=8, size=2)
        >>> head.fit(NumberTable.of_values([7, 3, 7, 9, 3, 2]))
        >>> head.known.texts(), int(head.oov_types), head.is_oov(NumberTable.of_values([3, 9])).tolist()
        (['3', '7'], 2, [False, True])
    """

    Config = SoftmaxConfig
    config: SoftmaxConfig
    _written = True

    def __init__(self, dim: int, config: SoftmaxConfig) -> None:
        super().__init__(dim, config)
        self.known = KnownNumerals(config.size)
        self.out = nn.Linear(dim, config.size + 1)

    @property
    def is_open(self) -> bool:
        """False: unknown numbers share one probability."""
        return False

    @property
    def oov_types(self) -> Tensor:
        """Number of numeral types that `fit` left out: ()."""
        return self.known.oov_types

    def fit(self, numbers: NumberTable) -> None:
        """Makes the vocabulary of the most frequent numerals, sorted by value."""
        self.known.fit(numbers)

    def is_oov(self, numbers: NumberTable) -> Tensor:
        """Which numbers are not in the vocabulary: (N,) bool."""
        return self.known.find(strings_of(numbers)) == self.config.size

    def numeral_scores(self, hidden: Tensor) -> Tensor:
        """Scores of all numerals, "unknown" last: (..., size + 1), float64, -inf for an unused entry."""
        return self._raw_scores(hidden).masked_fill(functional.pad(self.known.unused(), (0, 1)), -torch.inf)

    def _raw_scores(self, hidden: Tensor) -> Tensor:
        return run_wide(self.out, hidden)

    def forward(self, hidden: Tensor) -> VocabularyDistribution:
        """Distributions for (N, dim) hidden states."""
        return VocabularyDistribution(self.numeral_scores(hidden).log_softmax(-1), self.known)

    def number_logit(self, hidden: Tensor, own: Tensor, words: Tensor) -> Tensor:
        """The logsumexp of all scores: numerals and words share one softmax. (...)."""
        del words
        # Computed at every token of a text, so not in float64: the tensors kept for the gradients are large.
        scores = self.numeral_scores(hidden).to(torch.promote_types(own.dtype, torch.float32))
        return scores.logsumexp(-1).to(own.dtype)


@heads.register("softmax-rnn")
class SoftmaxRNNHead(SoftmaxHead):
    """`softmax` with h · e(numeral) added to each score, where e is the last state of a character LSTM.

    The score of "unknown", which has no characters, is not changed.

    Shape: `(N, dim)` to N distributions over `size` numerals and the unknown one.

    Example:
        >>> SoftmaxRNNHead.build(dim=8, size=2)(torch.zeros(3, 8)).log_masses.shape
        torch.Size([3, 3])
    """

    Config = SoftmaxRNNConfig

    def __init__(self, dim: int, config: SoftmaxRNNConfig | HSoftmaxRNNConfig) -> None:
        super().__init__(dim, config)
        self.spelling = SpellingLSTM(dim, config.framed)

    def _raw_scores(self, hidden: Tensor) -> Tensor:
        vectors = self.spelling(self.known.strings())
        missing = self.config.size + 1 - len(vectors)
        with torch.autocast(hidden.device.type, enabled=False):
            spelled = (hidden.to(vectors.dtype) @ vectors.T).to(torch.float64)
        return super()._raw_scores(hidden) + functional.pad(spelled, (0, missing))


@heads.register("h-softmax")
class HSoftmaxHead(GatedHead, SoftmaxHead):
    """Hierarchical softmax: word or number first, by the [NUM] logit (`gate`), then the numerals as in `softmax`.

    Shape: `(N, dim)` to N distributions over `size` numerals and the unknown one.

    Example:
        >>> head = HSoftmaxHead.build(dim=8, size=2)
        >>> head.number_logit(torch.zeros(8), own=torch.tensor(-1.0), words=torch.tensor(5.0)).item()
        4.0
    """

    Config = HSoftmaxConfig


@heads.register("h-softmax-rnn")
class HSoftmaxRNNHead(GatedHead, SoftmaxRNNHead):
    """`h-softmax` with h · e(numeral) added to each score, as in `softmax-rnn`.

    Shape: `(N, dim)` to N distributions over `size` numerals and the unknown one.

    Example:
        >>> HSoftmaxRNNHead.build(dim=8, size=2)(torch.zeros(3, 8)).log_masses.shape
        torch.Size([3, 3])
    """

    Config = HSoftmaxRNNConfig
