"""Numerals out of a vocabulary: one score each, flat beside the words or behind a gate (Spithourakis & Riedel 2018)."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from numerate.config import Config
from numerate.heads.base import Head
from numerate.heads.distribution import row_index
from numerate.heads.enumerated import StringDistribution, Support
from numerate.heads.number_strings import strings_of
from numerate.heads.numeral_vocabulary import KnownNumerals, NumeralTable
from numerate.heads.spelling_lstm import SpellingLSTM
from numerate.registry import heads

if TYPE_CHECKING:
    from numerate.processing.number_table import NumberTable

__all__ = ["HSoftmaxConfig", "HSoftmaxRNNConfig", "SoftmaxConfig", "SoftmaxRNNConfig", "VocabularyDistribution"]


@dataclass(frozen=True, eq=False)
class VocabularyDistribution(StringDistribution):
    """Probabilities of V numerals and of the unknown one, which all others share.

    `support` is the vocabulary, `unseen` the probability of the unknown one.

    Shape:
        log_masses: (N, V + 1), float64, the unknown one last; -inf for a free place.
        numerals: What the places stand for.
    """

    log_masses: Tensor
    numerals: NumeralTable

    @property
    def device(self) -> torch.device:
        """Where the distributions live."""
        return self.log_masses.device

    def __len__(self) -> int:
        return len(self.log_masses)

    def __getitem__(self, index: Tensor | slice | int) -> Self:
        index = row_index(index, len(self))
        return dataclasses.replace(self, log_masses=self.log_masses[index])

    def support(self) -> Support:
        """The vocabulary in the order of its values."""
        return Support(self.numerals.values, self.log_masses[:, :-1], self.log_masses[:, -1].exp())

    @property
    def is_empty(self) -> Tensor:
        """Which rows have no numeral: (N,) bool."""
        return (self.log_masses == -torch.inf).all(-1)

    def without_unknown(self) -> Self:
        """The numerals alone, their probabilities divided by what they sum to; a vocabulary of none stays at 0."""
        known = self.log_masses[:, :-1]
        none = (known == -torch.inf).all(-1, keepdim=True)
        known = torch.where(none, 0.0, known).log_softmax(-1).masked_fill(none, -torch.inf)
        return dataclasses.replace(self, log_masses=functional.pad(known, (0, 1), value=-torch.inf))

    def log_prob_strings(self, strings: Tensor) -> Tensor:
        """Log-probability of each row's string, that of the unknown numeral where it is not known: (N,)."""
        return self.log_masses.gather(1, self.numerals.find(strings)[:, None])[:, 0]

    def log_prob_adjusted(self, numbers: NumberTable) -> Tensor:
        """`log_prob`, but that of the unknown numeral is shared by all types that `fit` left out (Ueberla): (N,)."""
        shared = self.numerals.oov_types.clamp_min(1).to(torch.float64).log()
        unknown = self.numerals.find(strings_of(numbers)) == len(self.numerals.pairs)
        return self.log_prob(numbers) - torch.where(unknown, shared, 0.0)

    def scores(self, candidates: NumberTable) -> Tensor:
        """`log_prob` of each of C candidates for each row: (N, C), all of them looked up once."""
        chosen = self.log_masses[:, self.numerals.find(strings_of(candidates))]
        return chosen.masked_fill(~candidates.values().isfinite(), -torch.inf)


@dataclass(frozen=True, kw_only=True)
class SoftmaxConfig(Config):
    """Options of `softmax`.

    Attributes:
        size: How many numerals `fit` takes up, the most frequent ones.
    """

    kind: ClassVar[str] = "softmax"
    size: int = 1000

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be positive, got {self.size=}")


@dataclass(frozen=True, kw_only=True)
class SoftmaxRNNConfig(SoftmaxConfig):
    """Options of `softmax-rnn`: those of `softmax`."""

    kind: ClassVar[str] = "softmax-rnn"


@dataclass(frozen=True, kw_only=True)
class HSoftmaxConfig(SoftmaxConfig):
    """Options of `h-softmax`.

    Attributes:
        size: How many numerals `fit` takes up, the most frequent ones.
        gate: `class`: the probability of a number is the sigmoid of the model's [NUM] logit; `logit`: [NUM] is one
            word among the others.
    """

    kind: ClassVar[str] = "h-softmax"
    gate: Literal["class", "logit"] = "class"


@dataclass(frozen=True, kw_only=True)
class HSoftmaxRNNConfig(HSoftmaxConfig):
    """Options of `h-softmax-rnn`: those of `h-softmax`."""

    kind: ClassVar[str] = "h-softmax-rnn"


@heads.register("softmax")
class SoftmaxHead(Head):
    """A vector and a bias for each numeral of a vocabulary and for the unknown one, in one softmax with the words.

    Numerals are strings: 1.50 is not 1.5. `fit` takes the most frequent ones; before it, every number is unknown. All
    unknown ones share one probability: see `VocabularyDistribution.log_prob_adjusted`. NaN and the infinities are no
    targets. The logit of [NUM] is the logsumexp of all scores, which makes the softmax a flat one.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions over `size` numerals and the unknown one

    Example:
        >>> from numerate.processing.number_table import NumberTable
        >>> head = SoftmaxHead.build(dim=8, size=2)
        >>> head.fit(NumberTable.of_values([7, 3, 7, 9, 3, 2]))
        >>> head.known.texts(), int(head.oov_types), head.is_oov(NumberTable.of_values([3, 9])).tolist()
        (['3', '7'], 2, [False, True])
    """

    Config = SoftmaxConfig
    config: SoftmaxConfig

    def __init__(self, dim: int, config: SoftmaxConfig) -> None:
        super().__init__(dim, config)
        self.known = KnownNumerals(config.size)
        self.out = nn.Linear(dim, config.size + 1)

    @property
    def is_written(self) -> bool:
        """Of numbers as they are written."""
        return True

    @property
    def is_open(self) -> bool:
        """Unknown numbers share one probability."""
        return False

    @property
    def oov_types(self) -> Tensor:
        """How many types of numeral `fit` left out: ()."""
        return self.known.oov_types

    def fit(self, numbers: NumberTable) -> None:
        """Takes the most frequent numerals as vocabulary, in the order of their values."""
        self.known.fit(numbers)

    def is_oov(self, numbers: NumberTable) -> Tensor:
        """Which numbers the vocabulary does not have: (N,) bool."""
        return self.known.table().find(strings_of(numbers)) == self.config.size

    def numeral_scores(self, hidden: Tensor) -> Tensor:
        """Scores of all numerals, the unknown one last: (..., size + 1), float64, -inf for a free place."""
        free = functional.pad(self.known.table().free(), (0, 1))
        return self._raw_scores(hidden).masked_fill(free, -torch.inf)

    def _raw_scores(self, hidden: Tensor) -> Tensor:
        return self._run(self.out, hidden)

    def forward(self, hidden: Tensor) -> VocabularyDistribution:
        """The distributions that (N, dim) hidden states stand for."""
        return VocabularyDistribution(self.numeral_scores(hidden).log_softmax(-1), self.known.table())

    def number_logit(self, hidden: Tensor, own: Tensor, words: Tensor) -> Tensor:
        """The logsumexp of all scores: numerals and words are chosen by one softmax. (...)."""
        del words
        # At every token of a text, and so not in float64: what is kept for the gradients is large.
        scores = self.numeral_scores(hidden).to(torch.promote_types(own.dtype, torch.float32))
        return scores.logsumexp(-1).to(own.dtype)


@heads.register("softmax-rnn")
class SoftmaxRNNHead(SoftmaxHead):
    """`softmax`, with h · e(numeral) added to each score: e is the last state of an LSTM over its characters.

    The unknown numeral, which has no characters, gets nothing added. All else is as `softmax` says.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions over `size` numerals and the unknown one

    Example:
        >>> SoftmaxRNNHead.build(dim=8, size=2)(torch.zeros(3, 8)).log_masses.shape
        torch.Size([3, 3])
    """

    Config = SoftmaxRNNConfig

    def __init__(self, dim: int, config: SoftmaxConfig) -> None:
        super().__init__(dim, config)
        self.spelling = SpellingLSTM(dim)

    def _raw_scores(self, hidden: Tensor) -> Tensor:
        vectors = self.spelling(self.known.strings())
        missing = self.config.size + 1 - len(vectors)
        with torch.autocast(hidden.device.type, enabled=False):
            spelled = (hidden.to(vectors.dtype) @ vectors.T).to(torch.float64)
        return super()._raw_scores(hidden) + functional.pad(spelled, (0, missing))


class _Gated(SoftmaxHead):
    """A number's class is chosen first, by a logit of its own."""

    config: HSoftmaxConfig

    def number_logit(self, hidden: Tensor, own: Tensor, words: Tensor) -> Tensor:
        """`own`, as the log-odds of a number against all words together, unless `gate` is `logit`: (...)."""
        del hidden
        return words + own if self.config.gate == "class" else own


@heads.register("h-softmax")
class HSoftmaxHead(_Gated):
    """A vector and a bias for each numeral of a vocabulary and for the unknown one, in a softmax of their own.

    Word or number is decided before, by the [NUM] logit: p(number) is its sigmoid (`gate`). All else is as `softmax`
    says.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions over `size` numerals and the unknown one

    Example:
        >>> head = HSoftmaxHead.build(dim=8, size=2)
        >>> head.number_logit(torch.zeros(8), own=torch.tensor(-1.0), words=torch.tensor(5.0)).item()
        4.0
    """

    Config = HSoftmaxConfig


@heads.register("h-softmax-rnn")
class HSoftmaxRNNHead(_Gated, SoftmaxRNNHead):
    """`h-softmax`, with h · e(numeral) added to each score, as in `softmax-rnn`.

    **Shape**

    - Input: `(N, dim)`
    - Output: N distributions over `size` numerals and the unknown one

    Example:
        >>> HSoftmaxRNNHead.build(dim=8, size=2)(torch.zeros(3, 8)).log_masses.shape
        torch.Size([3, 3])
    """

    Config = HSoftmaxRNNConfig
