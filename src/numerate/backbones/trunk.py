"""xVal's transformer (Golkar et al. 2023) as Hugging Face models: pre-norm blocks with learned positions.

The paper trains it bidirectionally on masked tokens: `NumerateTrunkForMaskedLM`. With `causal`, the same blocks use
causal attention: `NumerateTrunkForCausalLM`. Numbers are added by `numerate.attach`: its placement `scale` multiplies
the [NUM] vector before positions are added and before any layer norm, so that the first norm sees x u + p as in Fig. 2.

Two things differ from the released code: padding is masked in attention and not counted in positions, and the token
head's hidden layer is optional (`token_head="linear"`), which tied embeddings need.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, GenerationMixin
from transformers import PreTrainedConfig as HFConfig
from transformers import initialization as init
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import BaseModelOutput, CausalLMOutput, MaskedLMOutput

from numerate.backbones.base import Backbone, check_sizes, token_cross_entropy

__all__ = ["NumerateTrunkConfig", "NumerateTrunkForCausalLM", "NumerateTrunkForMaskedLM", "NumerateTrunkModel"]


class NumerateTrunkConfig(HFConfig):
    """Sizes of the transformer; the defaults are the paper's.

    Attributes:
        vocab_size: Number of tokens.
        hidden_size: Width of the states.
        num_hidden_layers: Number of blocks.
        num_attention_heads: Number of attention heads of each block.
        intermediate_size: Width of the MLPs in the blocks and in the token head; None for 4 x `hidden_size`.
        max_position_embeddings: Maximum number of tokens of a text.
        dropout: Dropout of attention weights, of the outputs of attention and MLP, and of the MLP's hidden layer.
        layer_norm_eps: Epsilon of all layer norms.
        causal: Whether a position attends only to itself and those before it.
        final_norm: Whether a layer norm follows the last block; xVal has none.
        token_head: `mlp` as in xVal, a hidden layer with GELU and no biases; or `linear`, one matrix.
    """

    model_type: ClassVar[str] = "numerate-trunk"  # type: ignore[misc]
    vocab_size: int = 128
    hidden_size: int = 768
    num_hidden_layers: int = 6
    num_attention_heads: int = 6
    intermediate_size: int | None = None
    max_position_embeddings: int = 1024
    dropout: float = 0.1
    layer_norm_eps: float = 1e-5
    causal: bool = False
    final_norm: bool = False
    token_head: str = "mlp"  # noqa: S105
    pad_token_id: int | None = None
    bos_token_id: int | None = None
    eos_token_id: int | None = None
    tie_word_embeddings: bool = False
    is_decoder: bool = False
    use_cache: bool = False

    def __post_init__(self, **kwargs: Any) -> None:
        counts = ("vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "max_position_embeddings")
        check_sizes(self, *counts, "intermediate_size")
        if self.hidden_size % self.num_attention_heads:
            sizes = f"hidden_size={self.hidden_size}, num_attention_heads={self.num_attention_heads}"
            raise ValueError(f"hidden_size must be a multiple of num_attention_heads, got {sizes}")
        if self.token_head not in ("mlp", "linear"):
            raise ValueError(f"token_head must be 'mlp' or 'linear', got {self.token_head!r}")
        if self.tie_word_embeddings and self.token_head != "linear":  # noqa: S105
            raise ValueError(f"tied embeddings need token_head='linear', got {self.token_head!r}")
        self.is_decoder = self.causal  # Hugging Face tools and `numerate.attach` read this of bare encoders
        super().__post_init__(**kwargs)


class _Joint(nn.Linear):
    """Queries, keys and values of all heads; a class of its own because PyTorch initialises it differently."""


class _Joined(nn.Linear):
    """Output projection of attention, whose bias starts at 0."""


class TrunkBlock(GradientCheckpointingLayer):
    """Pre-norm transformer block: layer norm and attention, layer norm and MLP with GELU, each with a residual."""

    def __init__(self, config: NumerateTrunkConfig) -> None:
        super().__init__()
        width, inner = config.hidden_size, config.intermediate_size or 4 * config.hidden_size
        self.heads, self.causal = config.num_attention_heads, config.causal
        self.norm1 = nn.LayerNorm(width, config.layer_norm_eps)
        self.attention_in = _Joint(width, 3 * width)
        self.attention_out = _Joined(width, width)
        self.norm2 = nn.LayerNorm(width, config.layer_norm_eps)
        self.into = nn.Linear(width, inner)
        self.out = nn.Linear(inner, width)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, states: Tensor, mask: Tensor | None) -> Tensor:
        """Runs the block: states (B, T, D) and attention mask (B, 1, 1 or T, T) -> (B, T, D)."""
        batch, length, width = states.shape
        joint = self.attention_in(self.norm1(states)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4).unbind(0)
        seen = functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=self.causal and mask is None,
            dropout_p=self.dropout.p if self.training else 0.0,
        )  # fmt: skip
        seen = seen.transpose(1, 2).reshape(batch, length, width)
        states = states + self.dropout(self.attention_out(seen))
        inner = self.dropout(functional.gelu(self.into(self.norm2(states))))
        return states + self.dropout(self.out(inner))


class _Trunk(Backbone):
    config_class = NumerateTrunkConfig
    base_model_prefix = "trunk"
    supports_gradient_checkpointing = True
    counts_real_tokens = True
    """Positions follow from the attention mask: numerate gives none of its own."""
    _supports_sdpa = True
    _no_split_modules: ClassVar[list[str]] = ["TrunkBlock"]  # type: ignore[misc]

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        """PyTorch's default initialisation, which xVal uses: normal embeddings, Xavier for attention."""
        if isinstance(module, nn.Embedding):
            init.normal_(module.weight)
        elif isinstance(module, nn.LayerNorm):
            init.ones_(module.weight)
            init.zeros_(module.bias)
        elif isinstance(module, nn.Linear):
            bound = module.in_features**-0.5
            if isinstance(module, _Joint):
                init.xavier_uniform_(module.weight)
            else:
                init.uniform_(module.weight, -bound, bound)
            if isinstance(module, (_Joint, _Joined)):
                init.zeros_(module.bias)
            elif module.bias is not None:
                init.uniform_(module.bias, -bound, bound)


class NumerateTrunkModel(_Trunk):
    """Token embeddings plus position embeddings, and the blocks.

    Padding anywhere in a row does not change the outputs of real tokens: it is masked in attention, and positions count
    real tokens only. Outputs at padding have no meaning, but are finite.

    **Shape**

    - Input: `input_ids` (B, T) or `inputs_embeds` (B, T, D); `attention_mask` (B, T), 1 for real tokens
    - Output: `last_hidden_state` (B, T, D); with `output_hidden_states`, the input of the first block and the output of
      each block (the last one after the final norm, if there is one)

    Example:
        >>> sizes = NumerateTrunkConfig(vocab_size=30, hidden_size=12, num_hidden_layers=2)
        >>> model = NumerateTrunkModel(sizes).eval()
        >>> model(input_ids=torch.tensor([[2, 7, 8, 3]])).last_hidden_state.shape
        torch.Size([1, 4, 12])
    """

    def __init__(self, config: NumerateTrunkConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocab_size, config.hidden_size)
        self.positions = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.blocks = nn.ModuleList([TrunkBlock(config) for _ in range(config.num_hidden_layers)])
        self.norm = nn.LayerNorm(config.hidden_size, config.layer_norm_eps) if config.final_norm else nn.Identity()
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> BaseModelOutput | tuple[Any, ...]:
        """Runs the blocks.

        Args:
            input_ids: (B, T); either this or `inputs_embeds`.
            attention_mask: (B, T), 0 at padding; by default there is no padding.
            position_ids: (B, T); by default real tokens are counted.
            inputs_embeds: (B, T, D), without positions.
            output_hidden_states: Whether to return all states.
            return_dict: False for a plain tuple.
            **kwargs: Other arguments of Hugging Face tools; ignored.
        """
        del kwargs
        vectors = self._embedded(input_ids, inputs_embeds, attention_mask)
        length, most = vectors.shape[1], self.config.max_position_embeddings
        if length > most:
            raise ValueError(f"a text may have at most {most} tokens (max_position_embeddings), got {length}")
        mask = None if attention_mask is None else _visible(attention_mask != 0, self.config.causal)
        if position_ids is None:
            position_ids = _counted(attention_mask, length, vectors.device)
        states = vectors + self.positions(position_ids)
        every = [states]
        for block in self.blocks:
            states = block(states, mask)
            every.append(states)
        every[-1] = states = self.norm(states)
        kept = tuple(every) if self._gives_states(output_hidden_states) else None
        output = BaseModelOutput(last_hidden_state=states, hidden_states=kept)  # type: ignore[arg-type]
        return output.to_tuple() if return_dict is False else output


class _TrunkWithHead(_Trunk):
    """The transformer with its token head."""

    causal: ClassVar[bool]
    _tied_weights_keys: ClassVar[dict[str, str]] = {"output.weight": "trunk.words.weight"}  # type: ignore[misc]

    def __init__(self, config: NumerateTrunkConfig) -> None:
        super().__init__(config)
        if config.causal != self.causal:
            raise ValueError(f"{type(self).__name__} needs causal={self.causal}, got causal={config.causal}")
        width, inner = config.hidden_size, config.intermediate_size or 4 * config.hidden_size
        self.trunk = NumerateTrunkModel(config)
        deep = config.token_head == "mlp"  # noqa: S105
        self.into = nn.Linear(width, inner, bias=False) if deep else None
        self.output = nn.Linear(inner if deep else width, config.vocab_size, bias=False)
        self.post_init()

    def forward(
        self,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        inputs_embeds: Tensor | None = None,
        labels: Tensor | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
        **kwargs: Any,
    ) -> MaskedLMOutput | CausalLMOutput | tuple[Any, ...]:
        """Predicts tokens; arguments as in `NumerateTrunkModel.forward`, and `labels` (B, T), not shifted."""
        del kwargs
        found = self.trunk(
            input_ids, attention_mask, position_ids, inputs_embeds, output_hidden_states=output_hidden_states
        )
        hidden = found.last_hidden_state
        logits = self.output(hidden if self.into is None else functional.gelu(self.into(hidden)))
        loss = token_cross_entropy(logits, labels, shift=self.causal)
        made = CausalLMOutput if self.causal else MaskedLMOutput
        output = made(loss=loss, logits=logits, hidden_states=found.hidden_states)  # type: ignore[arg-type]
        return output.to_tuple() if return_dict is False else output


class NumerateTrunkForMaskedLM(_TrunkWithHead):
    """The transformer with a token head that predicts the token at each position.

    **Shape**

    - Input: as `NumerateTrunkModel`; `labels` (B, T), -100 where nothing is predicted
    - Output: `logits` (B, T, V)

    Example:
        >>> sizes = NumerateTrunkConfig(vocab_size=30, hidden_size=12, num_hidden_layers=2)
        >>> model = NumerateTrunkForMaskedLM(sizes).eval()
        >>> model(input_ids=torch.tensor([[2, 7, 8, 3]])).logits.shape
        torch.Size([1, 4, 30])
    """

    causal = False


class NumerateTrunkForCausalLM(_TrunkWithHead, GenerationMixin):
    """The transformer with `causal=True` and a token head that predicts the next token; it has no key-value cache.

    Example:
        >>> sizes = NumerateTrunkConfig(vocab_size=30, hidden_size=12, num_hidden_layers=2, causal=True)
        >>> NumerateTrunkForCausalLM(sizes).eval()(input_ids=torch.tensor([[2, 7, 8, 3]])).logits.shape
        torch.Size([1, 4, 30])
    """

    causal = True


def _visible(real: Tensor, causal: bool) -> Tensor:
    """Attention mask from real tokens: (B, T) bool -> (B, 1, 1 or T, T) bool; every position attends to something."""
    length = real.shape[1]
    if not causal:
        # A row of only padding attends to itself: a softmax over nothing would be NaN.
        return (real | ~real.any(dim=1, keepdim=True))[:, None, None, :]
    back = torch.ones(length, length, dtype=torch.bool, device=real.device).tril()
    own = torch.eye(length, dtype=torch.bool, device=real.device)  # padding on the left attends to itself
    return ((real[:, None, :] & back) | own)[:, None]


def _counted(attention_mask: Tensor | None, length: int, device: torch.device) -> Tensor:
    """Position of each real token among the real tokens of its row: (B or 1, T)."""
    if attention_mask is None:
        return torch.arange(length, device=device)[None]
    return ((attention_mask != 0).long().cumsum(dim=1) - 1).clamp_min(0)


AutoConfig.register(NumerateTrunkConfig.model_type, NumerateTrunkConfig, exist_ok=True)
AutoModel.register(NumerateTrunkConfig, NumerateTrunkModel, exist_ok=True)
AutoModelForMaskedLM.register(NumerateTrunkConfig, NumerateTrunkForMaskedLM, exist_ok=True)
AutoModelForCausalLM.register(NumerateTrunkConfig, NumerateTrunkForCausalLM, exist_ok=True)
