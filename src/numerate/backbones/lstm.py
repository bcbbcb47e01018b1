"""The LSTM language model of Spithourakis & Riedel (2018) as a Hugging Face model.

Input and output word vectors are separate. Numbers are added by `numerate.attach`: the paper's gated token-character
vectors are the embedder `gated-chars`, and a number head predicts them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModelForCausalLM, GenerationMixin
from transformers import PreTrainedConfig as HFConfig
from transformers import initialization as init
from transformers.modeling_outputs import CausalLMOutput

from numerate.backbones.base import Backbone, check_sizes, token_cross_entropy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast

__all__ = ["NumerateLSTMConfig", "NumerateLSTMForCausalLM", "glove_rows", "use_word_vectors"]


class NumerateLSTMConfig(HFConfig):
    """Sizes of the LSTM; the defaults are those of the paper for scientific texts.

    Attributes:
        vocab_size: Number of tokens.
        hidden_size: Width of the state.
        embedding_size: Width of the token vectors; None for `hidden_size`.
        num_hidden_layers: Number of LSTM layers.
        dropout: Dropout of the LSTM's input and output.
        forget_bias: Initial bias of the forget gates.
    """

    model_type: ClassVar[str] = "numerate-lstm"  # type: ignore[misc]
    vocab_size: int = 5004
    hidden_size: int = 50
    embedding_size: int | None = None
    num_hidden_layers: int = 1
    dropout: float = 0.1
    forget_bias: float = 1.0
    pad_token_id: int | None = 0
    bos_token_id: int | None = 2
    eos_token_id: int | None = 3
    tie_word_embeddings: bool = False
    use_cache: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        check_sizes(self, "vocab_size", "hidden_size", "embedding_size", "num_hidden_layers")
        super().__post_init__(**kwargs)


class NumerateLSTMForCausalLM(Backbone, GenerationMixin):
    """Token vectors, dropout, an LSTM, dropout, and a separate output matrix with a bias.

    Padding anywhere in a row does not change the outputs of real tokens: the real tokens of each row are moved together
    before the LSTM, and its states are moved back. Outputs at padding have no meaning.

    **Shape**

    - Input: `input_ids` (B, T) or `inputs_embeds` (B, T, E); `attention_mask` (B, T), 1 for real tokens
    - Output: `logits` (B, T, V); with `output_hidden_states`, the token vectors (B, T, E) and the states after dropout
      (B, T, D)

    Example:
        >>> model = NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=30)).eval()
        >>> model(input_ids=torch.tensor([[2, 7, 8, 3]])).logits.shape
        torch.Size([1, 4, 30])
    """

    config_class = NumerateLSTMConfig
    base_model_prefix = ""
    _no_split_modules: ClassVar[list[str]] = ["LSTM"]  # type: ignore[misc]

    def __init__(self, config: NumerateLSTMConfig) -> None:
        super().__init__(config)
        width = config.embedding_size or config.hidden_size
        self.words = nn.Embedding(config.vocab_size, width)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = nn.LSTM(width, config.hidden_size, config.num_hidden_layers, batch_first=True)
        self.output = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.LSTM):
            size = module.hidden_size
            for name, weight in module.named_parameters():
                if name.startswith("weight"):
                    init.uniform_(weight, -(size**-0.5), size**-0.5)
                else:
                    init.zeros_(weight)
                    if name.startswith("bias_ih"):  # torch adds two biases; the gates are input, forget, cell, output
                        init.constant_(weight[size : 2 * size], self.config.forget_bias)
        elif isinstance(module, nn.Linear):
            init.uniform_(module.weight, -(module.in_features**-0.5), module.in_features**-0.5)
            init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            init.uniform_(module.weight, -0.5, 0.5)  # about the scale of word vectors

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> CausalLMOutput | tuple[Any, ...]:
        """Predicts each next token.

        Args:
            input_ids: (B, T); either this or `inputs_embeds`.
            attention_mask: (B, T), 0 at padding; by default there is no padding.
            inputs_embeds: (B, T, E).
            labels: (B, T) token ids, not shifted, -100 where nothing is predicted.
            output_hidden_states: Whether to return the states.
            return_dict: False for a plain tuple.
            **kwargs: Other arguments of Hugging Face tools; ignored.
        """
        del kwargs
        embeddings = self._embedded(input_ids, inputs_embeds, attention_mask)
        hidden = self.dropout(self._run(self.dropout(embeddings), attention_mask))
        logits = self.output(hidden)
        states = (embeddings, hidden) if self._gives_states(output_hidden_states) else None
        loss = token_cross_entropy(logits, labels, shift=True)
        output = CausalLMOutput(loss=loss, logits=logits, hidden_states=states)  # type: ignore[arg-type]
        return output.to_tuple() if return_dict is False else output

    def _run(self, inputs: Tensor, attention_mask: Tensor | None) -> Tensor:
        """States at all positions: (B, T, E) -> (B, T, D)."""
        if inputs.is_cuda:
            self.lstm.flatten_parameters()  # loading leaves the weights scattered: cuDNN would copy them in each call
        if attention_mask is None or inputs.shape[1] == 0:
            return self.lstm(inputs)[0]
        # Always moved: checking for padding on the left would wait for the device and cost more.
        order = (attention_mask == 0).to(torch.uint8).argsort(dim=1, stable=True)
        return _moved(self.lstm(_moved(inputs, order))[0], order.argsort(dim=1))


def _moved(vectors: Tensor, order: Tensor) -> Tensor:
    """Reorders the vectors of each row: (B, T, D), (B, T) -> (B, T, D)."""
    return vectors.gather(1, order[..., None].expand_as(vectors))


def glove_rows(words: Sequence[str], path: str | Path, dim: int = 50, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Reduces word vectors to `dim` dimensions, to initialise a model's words.

    The vectors of the whole file are centred and projected to their first `dim` principal components; the sign of each
    component makes its largest entry positive. Words that are not in the file get uniform random vectors around 0 with
    the same standard deviation. (The paper draws from 0 to 1, which is on one side of every axis.)

    Args:
        words: Tokens, in the order of their ids.
        path: An `.npz` file with `words` (N,) and `vectors` (N, at least `dim`).
        dim: Width of the rows.
        seed: Seed for missing words; a random row depends only on the seed and its index.

    Returns:
        Rows (V, dim) in float32, and which words were found, (V,) bool.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            known, vectors = file["words"], torch.from_numpy(file["vectors"].astype(np.float64))
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise ValueError(
            f"cannot read word vectors (an .npz with 'words' and 'vectors') from {path}: {error}"
        ) from None
    if vectors.dim() != 2 or len(vectors) != len(known) or not 1 <= dim <= vectors.shape[1]:
        raise ValueError(f"{path} has {len(known)} words and vectors {tuple(vectors.shape)}, which do not fit {dim=}")
    vectors = vectors - vectors.mean(dim=0)
    axes = torch.linalg.eigh(vectors.T @ vectors).eigenvectors.flip(1)[:, :dim]
    axes = axes * axes.gather(0, axes.abs().argmax(dim=0, keepdim=True)).sign()
    places = {word: place for place, word in enumerate(known.tolist())}
    index = torch.tensor([places.get(word, -1) for word in words], dtype=torch.int64)
    found = index >= 0
    turned = vectors @ axes
    rows, spread = turned[index.clamp_min(0)], turned.std(dim=0, correction=0)
    drawn = torch.rand(len(words), dim, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return torch.where(found[:, None], rows, (2 * drawn - 1) * 3**0.5 * spread).float(), found


@torch.no_grad()
def use_word_vectors(
    model: NumerateLSTMForCausalLM, tokenizer: PreTrainedTokenizerFast, path: str | Path, seed: int = 0
) -> int:
    """Initialises a model's input and output word vectors from a file (as copies, not tied).

    Tokens that are not in the file get different random input and output vectors.

    Args:
        model: The model; embeddings and states must have the same width.
        tokenizer: Its tokenizer.
        path: File of word vectors, as `glove_rows` reads it.
        seed: Seed of the random vectors.

    Returns:
        Number of tokens that were found.
    """
    into, out = cast("Tensor", model.words.weight), cast("Tensor", model.output.weight)
    width = into.shape[1]
    if width != model.config.hidden_size:
        raise ValueError(
            f"embedding_size must equal hidden_size={model.config.hidden_size} to share word vectors, got {width}"
        )
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    count = 0
    for offset, weight in enumerate((into, out)):
        rows, found = glove_rows(tokens, path, dim=width, seed=2 * seed + offset)
        weight[: len(rows)] = rows.to(weight)
        count = int(found.sum())
    return count


AutoConfig.register(NumerateLSTMConfig.model_type, NumerateLSTMConfig, exist_ok=True)
AutoModelForCausalLM.register(NumerateLSTMConfig, NumerateLSTMForCausalLM, exist_ok=True)
