"""What is found out about a backbone, and that finding it out leaves no trace."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import transformers as hf
from tiny_models import ASKING, BERT, backbone_of, new_backbone, tokenizer_of

import numerate
from numerate.errors import NumerateError
from numerate.modeling.introspection import BackboneError, BackboneInfo
from numerate.modeling.probing import probe
from numerate.modeling.tasks import task_of
from numerate.numerals.numeral import Numeral
from numerate.processing.number_table import NumberTable

SIZE = 400


def test_the_width_of_states_is_that_of_the_states() -> None:
    sizes = {"ffn_dim": 48, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": SIZE}
    config = hf.OPTConfig(hidden_size=32, word_embed_proj_dim=16, max_position_embeddings=64, **sizes)
    info = BackboneInfo.of(hf.OPTForCausalLM(config))
    assert (info.embedding_dim, info.hidden_dim, info.is_causal) == (16, 16, True)


@pytest.mark.parametrize("name", ["bert", "llama", "t5", "classifier", "llama-classifier"])
def test_the_probe_leaves_no_trace(name: str) -> None:
    backbone = new_backbone(name).train()
    backbone.base_model.eval()
    modes = [module.training for module in backbone.modules()]
    before, state = copy.deepcopy(backbone.state_dict()), torch.random.get_rng_state()
    assert probe(backbone) is not None
    assert torch.equal(torch.random.get_rng_state(), state)
    assert [module.training for module in backbone.modules()] == modes
    assert all(torch.equal(value, before[key]) for key, value in backbone.state_dict().items())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in backbone.modules())
    assert all(weight.grad is None for weight in backbone.parameters())


def test_a_model_that_cannot_run_is_judged_by_its_config() -> None:
    with torch.device("meta"):
        backbone = hf.LlamaForCausalLM(backbone_of("llama").config)
    assert probe(backbone) is None
    info = BackboneInfo.of(backbone)
    assert info == BackboneInfo.of(backbone_of("llama"))


def test_a_model_without_useful_weights_is_not_refused() -> None:
    backbone = new_backbone("llama")
    torch.nn.init.zeros_(backbone.lm_head.weight)
    assert probe(backbone) is not None and BackboneInfo.of(backbone).is_causal
    backbone = new_backbone("llama")
    torch.nn.init.constant_(backbone.model.norm.weight, torch.nan)
    assert probe(backbone) is None and BackboneInfo.of(backbone).is_causal


def test_random_hashes_are_not_taken_for_another_result() -> None:
    sizes = {"attention_head_size": 16, "hidden_size": 32, "num_attention_heads": 2, "feed_forward_size": 48}
    layers = {"attn_layers": ["lsh"], "lsh_attn_chunk_length": 4, "num_buckets": 2, "axial_pos_embds": False}
    config = hf.ReformerConfig(vocab_size=SIZE, is_decoder=True, max_position_embeddings=64, **sizes, **layers)
    info = BackboneInfo.of(hf.ReformerModelWithLMHead(config))
    assert (info.hidden_dim, info.needs_ids) == (64, False)


def test_sparse_attention_stays() -> None:
    """BigBird changes to full attention for good when it reads a short text."""
    config = hf.BigBirdConfig(vocab_size=SIZE, block_size=4, num_random_blocks=1, **BERT)
    backbone = hf.BigBirdForMaskedLM(config)
    assert BackboneInfo.of(backbone).task == "masked-lm"
    assert backbone.bert.attention_type == "block_sparse"


def test_a_decoder_that_sees_ahead_is_refused() -> None:
    config = hf.BertConfig(vocab_size=SIZE, **BERT)
    with pytest.raises(BackboneError, match=r"^BertLMHeadModel attends to both sides .* or with is_decoder=True$"):
        numerate.attach(hf.BertLMHeadModel(config).eval(), tokenizer_of("bert"))
    config.is_decoder = True
    assert BackboneInfo.of(hf.BertLMHeadModel(config)).is_causal
    assert issubclass(BackboneError, NumerateError) and issubclass(BackboneError, TypeError)


def test_encoder_and_decoder_must_share_their_vocabulary() -> None:
    parts = [hf.BertConfig(vocab_size=SIZE + more, **BERT) for more in (0, 7)]
    config = hf.EncoderDecoderConfig.from_encoder_decoder_configs(*parts)
    with pytest.raises(BackboneError, match=r"encoder embeddings \(400, 32\) and decoder embeddings \(407, 32\)"):
        BackboneInfo.of(hf.EncoderDecoderModel(config))


def test_late_reach_is_left_out_where_the_head_reads_a_pooled_vector() -> None:
    """The vectors would be added to states that nobody reads."""
    tokenizer = tokenizer_of("classifier")
    assert numerate.attach(backbone_of("classifier"), tokenizer).late_reach is None
    assert numerate.attach(backbone_of("tagger"), tokenizer).late_reach is not None
    with pytest.raises(ValueError, match=r"late_reach=2: the head of BertForSequenceClassification reads a pooled"):
        numerate.attach(backbone_of("classifier"), tokenizer, late_reach=2)


@pytest.mark.parametrize("name", ["gpt2", "bert"])
def test_predictions_do_not_depend_on_the_side_of_the_padding(name: str) -> None:
    tokenizer: Any = copy.deepcopy(tokenizer_of(name))
    model = numerate.attach(new_backbone(name), tokenizer).eval()

    def scores(texts: Any) -> torch.Tensor:  # the medians of an untrained head are all near 0
        numbers = model.predict(texts)
        return numbers.log_prob(NumberTable.of_numerals([Numeral("3", 0, 1, 3.0)] * len(numbers)))

    alone = torch.cat([scores(text) for text in ASKING])
    for side in ("left", "right"):
        tokenizer.padding_side = side
        assert torch.allclose(scores(ASKING), alone, atol=1e-4), side


def test_classes_of_users_are_judged_by_their_names() -> None:
    class MyOwnForCausalLM(hf.LlamaForCausalLM):
        pass

    class MyOwnForConditionalGeneration(hf.PreTrainedModel):
        config_class = hf.LlamaConfig

        def forward(self, input_ids: torch.Tensor) -> None:
            """Not an encoder-decoder, whatever its name."""

    config = backbone_of("llama").config
    assert task_of(MyOwnForCausalLM(config)) == "causal-lm"
    assert task_of(MyOwnForConditionalGeneration(config)) == "causal-lm"
