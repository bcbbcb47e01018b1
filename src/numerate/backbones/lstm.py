"""The LSTM language model of Spithourakis & Riedel (2018), as a Hugging Face model.

Words have vectors of their own going in and going out. Numbers are for `numerate.attach`: their gated token-character
vectors are the embedder `gated-chars`, and what predicts them is a head.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForCausalLM, GenerationMixin, PreTrainedModel
from transformers import PreTrainedConfig as HFConfig
from transformers import initialization as init
from transformers.modeling_outputs import CausalLMOutput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast

__all__ = ["NumerateLSTMConfig", "NumerateLSTMForCausalLM", "glove_rows", "use_word_vectors"]


class NumerateLSTMConfig(HFConfig):
    """Sizes of the LSTM; the defaults are the paper's, with its scientific vocabulary.

    Attributes:
        vocab_size: How many tokens there are.
        hidden_size: Width of the state.
        embedding_size: Width of the token vectors; None for `hidden_size`.
        num_hidden_layers: How many LSTM layers.
        dropout: On the LSTM's input and output, in training.
        forget_bias: What the forget gates' bias starts at.
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
        for name in ("vocab_size", "hidden_size", "embedding_size", "num_hidden_layers"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be positive, got {name}={value}")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"dropout must be in [0, 1), got dropout={self.dropout}")
        super().__post_init__(**kwargs)


class NumerateLSTMForCausalLM(PreTrainedModel, GenerationMixin):
    """Token vectors, dropout, an LSTM, dropout, and an output matrix of its own with a bias.

    Padding on either side (or holes) changes nothing at real tokens: each row's real tokens are moved together before
    the one call of the LSTM, and its states moved back behind it. What stands at padding means nothing.

    **Shape**

    - Input: `input_ids` (B, T) or `inputs_embeds` (B, T, E); `attention_mask` (B, T), 1 for real tokens
    - Output: `logits` (B, T, V); with `output_hidden_states`, the token vectors (B, T, E) and the last state behind its
      dropout (B, T, D)

    Example:
        >>> model = NumerateLSTMForCausalLM(NumerateLSTMConfig(vocab_size=30)).eval()
        >>> model(input_ids=torch.tensor([[2, 7, 8, 3]])).logits.shape
        torch.Size([1, 4, 30])
    """

    config_class = NumerateLSTMConfig
    base_model_prefix = ""
    main_input_name = "input_ids"
    _no_split_modules: ClassVar[list[str]] = ["LSTM"]  # type: ignore[misc]

    def __init__(self, config: NumerateLSTMConfig) -> None:
        super().__init__(config)
        width = config.embedding_size or config.hidden_size
        self.words = nn.Embedding(config.vocab_size, width)
        self.dropout = nn.Dropout(config.dropout)
        self.lstm = nn.LSTM(width, config.hidden_size, config.num_hidden_layers, batch_first=True)
        self.output = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """The token vectors."""
        return self.words

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Puts others in their place."""
        self.words = value  # type: ignore[assignment]

    def get_output_embeddings(self) -> nn.Module:
        """The output matrix."""
        return self.output

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        """Puts another in its place."""
        self.output = new_embeddings  # type: ignore[assignment]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.LSTM):
            size = module.hidden_size
            for name, weight in module.named_parameters():
                if name.startswith("weight"):
                    init.uniform_(weight, -(size**-0.5), size**-0.5)
                else:
                    init.zeros_(weight)
                    if name.startswith("bias_ih"):  # torch adds two biases; gates come as input, forget, cell, output
                        init.constant_(weight[size : 2 * size], self.config.forget_bias)
        elif isinstance(module, nn.Linear):
            init.uniform_(module.weight, -(module.in_features**-0.5), module.in_features**-0.5)
            init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            init.uniform_(module.weight, -0.5, 0.5)  # about as wide as word vectors are

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
            input_ids: (B, T); or give `inputs_embeds`.
            attention_mask: (B, T), 0 at padding; by default everything is real.
            inputs_embeds: (B, T, E).
            labels: (B, T) token ids, -100 where nothing is predicted; they are shifted here.
            output_hidden_states: Whether the states are given out.
            return_dict: False for a plain tuple.
            **kwargs: What else Hugging Face tools pass; not used.
        """
        del kwargs
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        embeddings = self.words(input_ids) if inputs_embeds is None else inputs_embeds
        hidden = self.dropout(self._run(self.dropout(embeddings), attention_mask))
        logits = self.output(hidden)
        loss = None
        if labels is not None:
            targets = labels[:, 1:].reshape(-1).to(logits.device)
            loss = functional.cross_entropy(logits[:, :-1].flatten(0, 1).float(), targets, ignore_index=-100)
        states = self.config.output_hidden_states if output_hidden_states is None else output_hidden_states
        output = CausalLMOutput(
            loss=loss,  # type: ignore[arg-type]
            logits=logits,
            hidden_states=(embeddings, hidden) if states else None,  # type: ignore[arg-type]
        )
        return output.to_tuple() if return_dict is False else output

    def _run(self, inputs: Tensor, attention_mask: Tensor | None) -> Tensor:
        """The states at all positions, (B, T, E) -> (B, T, D)."""
        if inputs.is_cuda:
            self.lstm.flatten_parameters()  # loading a model leaves its weights scattered, which cuDNN copies each time
        if attention_mask is None or inputs.shape[1] == 0:
            return self.lstm(inputs)[0]
        if attention_mask.shape != inputs.shape[:2]:
            raise ValueError(
                f"attention_mask must be (B, T) = {tuple(inputs.shape[:2])}: {tuple(attention_mask.shape)}"
            )
        # Whether any padding stands on the left is known on the device alone: to ask would cost more than to move.
        order = (attention_mask == 0).to(torch.uint8).argsort(dim=1, stable=True)
        return _moved(self.lstm(_moved(inputs, order))[0], order.argsort(dim=1))


def _moved(vectors: Tensor, order: Tensor) -> Tensor:
    """Each row's vectors in a new order: (B, T, D), (B, T) -> (B, T, D)."""
    return vectors.gather(1, order[..., None].expand_as(vectors))


def glove_rows(words: Sequence[str], path: str | Path, dim: int = 50, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Word vectors brought to `dim` dimensions, for initialising a model's words.

    The vectors of the whole file are centred and turned onto their `dim` main axes (PCA), each axis pointing to where
    its largest entry is positive. A word that the file does not have is drawn evenly from an interval about 0 that is
    as spread out as the file's. (The paper draws from 0 to 1, all on one side of every axis.)

    Args:
        words: Tokens, in the order of their ids.
        path: An `.npz` file with `words` (N,) and `vectors` (N, at least `dim`).
        dim: Width of the rows.
        seed: For words that are missing; a row's draw depends on its place and the seed alone.

    Returns:
        Rows (V, dim) in float32, and which words were found, (V,) bool.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            known, vectors = file["words"], torch.from_numpy(file["vectors"].astype(np.float64))
    except (OSError, ValueError, KeyError, BadZipFile) as error:
        raise ValueError(f"{path}: no word vectors (an .npz with 'words' and 'vectors'): {error}") from None
    if vectors.dim() != 2 or len(vectors) != len(known) or not 1 <= dim <= vectors.shape[1]:
        raise ValueError(f"{path}: {len(known)} words, vectors {tuple(vectors.shape)}, got {dim=}")
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
    """Starts a model's words from word vectors, going in and (as copies, not tied) going out.

    Tokens that `glove_rows` does not find are drawn for either side by itself.

    Args:
        model: The model; embeddings and states must be of one width.
        tokenizer: Its tokenizer.
        path: See `glove_rows`.
        seed: For what is drawn.

    Returns:
        How many tokens were found.
    """
    into, out = cast("Tensor", model.words.weight), cast("Tensor", model.output.weight)
    width = into.shape[1]
    if width != model.config.hidden_size:
        raise ValueError(f"word vectors go in and out: {width=} of embeddings, hidden_size={model.config.hidden_size}")
    tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
    count = 0
    for offset, weight in enumerate((into, out)):
        rows, found = glove_rows(tokens, path, dim=width, seed=2 * seed + offset)
        weight[: len(rows)] = rows.to(weight)
        count = int(found.sum())
    return count


AutoConfig.register(NumerateLSTMConfig.model_type, NumerateLSTMConfig, exist_ok=True)
AutoModelForCausalLM.register(NumerateLSTMConfig, NumerateLSTMForCausalLM, exist_ok=True)
