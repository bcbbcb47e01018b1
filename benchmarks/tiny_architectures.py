"""Tiny models of many transformers classes with random weights, for `architectures.py`; nothing is downloaded."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

import torch
import transformers as hf

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from tiny_models import ROBERTA, byte_level

SIZES = (
    dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "emb_dim", "embedding_size", "word_embed_proj_dim"), 32)
    | dict.fromkeys(("d_embed", "input_embedding_size", "output_embedding_size", "dim_model"), 32)
    | dict.fromkeys(("num_hidden_layers", "n_layers", "n_layer", "num_layers", "encoder_layers", "decoder_layers"), 2)
    | dict.fromkeys(("num_decoder_layers", "num_encoder_layers", "num_decoder_layers", "depth"), 2)
    | dict.fromkeys(("num_attention_heads", "n_heads", "n_head", "num_heads", "num_key_value_heads"), 2)
    | dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads", "num_encoder_attention_heads"), 2)
    | dict.fromkeys(("num_decoder_attention_heads", "num_mem_blocks"), 2)
    | dict.fromkeys(("intermediate_size", "hidden_dim", "d_ff", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim"), 48)
    | dict.fromkeys(("d_inner", "dff", "dim_ff", "shared_expert_intermediate_size"), 48)
    | dict.fromkeys(("max_position_embeddings", "n_positions", "max_seq_len"), 128)
    | dict.fromkeys(("head_dim", "d_kv", "attention_head_size", "v_head_dim", "d_head", "dim_head"), 16)
    | dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts"), 4)
    | {"moe_intermediate_size": 16, "num_experts_per_tok": 2, "q_lora_rank": 16, "kv_lora_rank": 16}
    | {"qk_rope_head_dim": 8, "qk_nope_head_dim": 8}
)
"""Sizes by the name of a config's field."""
IDS = {"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2}
WIDER = 5
"""How much wider the models' vocabularies are than the tokenizer's."""

IMAGE = {"image_size": 16, "embed_dim": 32, "patch_size": 8, "out_hidden_size": 32, "projection_dim": 32}
LABELS = {"num_labels": 3}
MROPE = {"text_config": {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]}}}
DECODER = {"is_decoder": True}
MIXED = {
    "layer_types": ["linear_attention", "full_attention"], "linear_num_value_heads": 4, "linear_num_key_heads": 2,
    "linear_key_head_dim": 8, "linear_value_head_dim": 8,
}  # fmt: skip
PER_LAYER = {"vocab_size_per_layer_input": 512, "hidden_size_per_layer_input": 8, "global_head_dim": 16}
MAMBA = {"hidden_size": 32, "num_heads": 4, "head_dim": 16, "n_groups": 1, "state_size": 8}

CLASSES: dict[str, dict[str, Any]] = {
    # Masked language models
    "AlbertForMaskedLM": {}, "BertForMaskedLM": {}, "BigBirdForMaskedLM": {"attention_type": "original_full"},
    "CamembertForMaskedLM": {}, "ConvBertForMaskedLM": {}, "Data2VecTextForMaskedLM": {}, "DebertaForMaskedLM": {},
    "DebertaV2ForMaskedLM": {}, "DistilBertForMaskedLM": {}, "ElectraForMaskedLM": {}, "ErnieForMaskedLM": {},
    "EsmForMaskedLM": {"mask_token_id": 4}, "EuroBertForMaskedLM": {"mask_token_id": 4},
    "FlaubertWithLMHeadModel": {"pad_index": 1, "eos_index": 2, "bos_index": 0}, "FNetForMaskedLM": {},
    "FunnelForMaskedLM": {"block_sizes": [1, 1], "d_inner": 48}, "IBertForMaskedLM": {}, "LayoutLMForMaskedLM": {},
    "LongformerForMaskedLM": {"attention_window": 16}, "LukeForMaskedLM": {"entity_vocab_size": 10},
    "MegatronBertForMaskedLM": {}, "ModernBertForMaskedLM": {"cls_token_id": 0, "sep_token_id": 2},
    "MobileBertForMaskedLM": {
        "intra_bottleneck_size": 16, "true_hidden_size": 16, "num_feedforward_networks": 1, "embedding_size": 32,
    },
    "MPNetForMaskedLM": {}, "MraForMaskedLM": {}, "NystromformerForMaskedLM": {"num_landmarks": 4,
    "segment_means_seq_len": 4},
    "RemBertForMaskedLM": {"input_embedding_size": 32, "output_embedding_size": 32}, "RobertaForMaskedLM": {},
    "RobertaPreLayerNormForMaskedLM": {}, "RoCBertForMaskedLM": {"pronunciation_vocab_size": 9, "shape_vocab_size": 9},
    "RoFormerForMaskedLM": {}, "SqueezeBertForMaskedLM": {"embedding_size": 32}, "TapasForMaskedLM": {},
    "XLMRobertaForMaskedLM": {}, "XLMRobertaXLForMaskedLM": {},
    "XLMWithLMHeadModel": {"pad_index": 1, "eos_index": 2, "bos_index": 0},
    "XmodForMaskedLM": {"default_language": "en_XX"}, "YosoForMaskedLM": {"use_expectation": True},
    "PerceiverForMaskedLM": {"d_latents": 16, "num_latents": 4, "num_blocks": 1, "num_self_attends_per_block": 1},
    "ReformerForMaskedLM": {"is_decoder": False, "attn_layers": ["local"], "axial_pos_embds": False},
    "GteForMaskedLM": {}, "JinaEmbeddingsV3ForMaskedLM": {}, "NomicBertForMaskedLM": {},
    # Causal language models
    "ApertusForCausalLM": {}, "ArceeForCausalLM": {}, "BartForCausalLM": DECODER, "BertLMHeadModel": DECODER,
    "BertGenerationDecoder": DECODER, "BigBirdPegasusForCausalLM": {"attention_type": "original_full"},
    "BioGptForCausalLM": {}, "BlenderbotForCausalLM": {}, "BloomForCausalLM": {}, "CamembertForCausalLM": DECODER,
    "CodeGenForCausalLM": {"rotary_dim": 8, "num_attention_heads": 4}, "CohereForCausalLM": {},
    "Cohere2ForCausalLM": {}, "CpmAntForCausalLM": {},
    "CTRLLMHeadModel": {}, "DeepseekV3ForCausalLM": {"n_group": 1, "topk_group": 1, "head_dim": 8},
    "ElectraForCausalLM": DECODER,
    "Ernie4_5ForCausalLM": {}, "Exaone4ForCausalLM": {}, "FalconForCausalLM": {}, "FalconMambaForCausalLM": MAMBA,
    "GemmaForCausalLM": {}, "Gemma2ForCausalLM": {}, "Gemma3ForCausalLM": {}, "GlmForCausalLM": {},
    "Glm4ForCausalLM": {},
    "GPT2LMHeadModel": {}, "GPTBigCodeForCausalLM": {},
    "GPTNeoForCausalLM": {"attention_types": [[["global", "local"], 1]]},
    "GPTNeoXForCausalLM": {}, "GptOssForCausalLM": {}, "GPTJForCausalLM": {"rotary_dim": 8}, "GraniteForCausalLM": {},
    "GraniteMoeForCausalLM": {}, "HeliumForCausalLM": {}, "JambaForCausalLM": {"mamba_dt_rank": 4,
    "attn_layer_period": 2, "attn_layer_offset": 1}, "Lfm2ForCausalLM": {},
    "LlamaForCausalLM": {}, "MambaForCausalLM": MAMBA, "Mamba2ForCausalLM": MAMBA, "MarianForCausalLM": DECODER,
    "MBartForCausalLM": DECODER, "MistralForCausalLM": {}, "MixtralForCausalLM": {}, "ModernBertDecoderForCausalLM": {},
    "MptForCausalLM": {}, "MvpForCausalLM": DECODER, "NemotronForCausalLM": {}, "OlmoForCausalLM": {},
    "Olmo2ForCausalLM": {}, "OlmoeForCausalLM": {}, "OpenAIGPTLMHeadModel": {},
    "OPTForCausalLM": {"word_embed_proj_dim": 16},
    "PegasusForCausalLM": DECODER, "PersimmonForCausalLM": {}, "PhiForCausalLM": {}, "Phi3ForCausalLM": {},
    "PLBartForCausalLM": DECODER, "ProphetNetForCausalLM": DECODER, "Qwen2ForCausalLM": {}, "Qwen2MoeForCausalLM": {},
    "Qwen3ForCausalLM": {}, "Qwen3MoeForCausalLM": {}, "RecurrentGemmaForCausalLM": {"lru_width": 32},
    "RobertaForCausalLM": DECODER, "RwkvForCausalLM": {"attention_hidden_size": 32}, "SeedOssForCausalLM": {},
    "SmolLM3ForCausalLM": {}, "StableLmForCausalLM": {}, "Starcoder2ForCausalLM": {}, "TrOCRForCausalLM": {},
    "WhisperForCausalLM": {}, "XGLMForCausalLM": {}, "XLNetLMHeadModel": {}, "ReformerModelWithLMHead": {
        "is_decoder": True, "attn_layers": ["local"], "axial_pos_embds": False,
    },
    "BambaForCausalLM": {
        "mamba_n_heads": 8, "mamba_d_head": 8, "mamba_n_groups": 1, "mamba_d_state": 8, "attn_layer_indices": [1],
    },
    "DeepseekV4ForCausalLM": {}, "Gemma4ForCausalLM": PER_LAYER, "GraniteMoeSharedForCausalLM": {},
    "HunYuanDenseV1ForCausalLM": {}, "MiniMaxForCausalLM": {}, "Ministral3ForCausalLM": {}, "NanoChatForCausalLM": {},
    "Olmo3ForCausalLM": {}, "Phi4MultimodalForCausalLM": {}, "Qwen3NextForCausalLM": MIXED,
    "Qwen3_5ForCausalLM": MIXED,
    # Encoder-decoders
    "BartForConditionalGeneration": {}, "BigBirdPegasusForConditionalGeneration": {"attention_type": "original_full"},
    "BlenderbotForConditionalGeneration": {}, "BlenderbotSmallForConditionalGeneration": {}, "EncoderDecoderModel": {},
    "FSMTForConditionalGeneration": {},
    "LEDForConditionalGeneration": {
        "attention_window": 16, "max_encoder_position_embeddings": 128, "max_decoder_position_embeddings": 128,
    },
    "LongT5ForConditionalGeneration": {}, "M2M100ForConditionalGeneration": {}, "MarianMTModel": {},
    "MBartForConditionalGeneration": {}, "MT5ForConditionalGeneration": {}, "MvpForConditionalGeneration": {},
    "NllbMoeForConditionalGeneration": {"encoder_sparse_step": 0, "decoder_sparse_step": 0},
    "PegasusForConditionalGeneration": {}, "PegasusXForConditionalGeneration": {"block_size": 16,
    "num_global_tokens": 4},
    "PLBartForConditionalGeneration": {}, "ProphetNetForConditionalGeneration": {},
    "SwitchTransformersForConditionalGeneration": {}, "T5ForConditionalGeneration": {},
    "UMT5ForConditionalGeneration": {}, "T5GemmaForConditionalGeneration": {}, "T5Gemma2ForConditionalGeneration": {},
    "WhisperForConditionalGeneration": {},
    # Image-text and audio-text models
    "LlavaForConditionalGeneration": {"image_token_index": 3}, "Qwen2_5_VLForConditionalGeneration": MROPE,
    "Qwen2VLForConditionalGeneration": MROPE, "PaliGemmaForConditionalGeneration": {"image_token_index": 3},
    "Gemma3ForConditionalGeneration": {"image_token_index": 3},
    "Qwen2AudioForConditionalGeneration": {"audio_token_index": 3}, "Blip2ForConditionalGeneration": {},
    "Gemma4ForConditionalGeneration": {"text_config": PER_LAYER}, "Mistral3ForConditionalGeneration": {},
    "SmolVLMForConditionalGeneration": {}, "VoxtralForConditionalGeneration": {},
    # Classifiers of texts
    "AlbertForSequenceClassification": LABELS, "BartForSequenceClassification": LABELS,
    "BertForSequenceClassification": LABELS, "DebertaV2ForSequenceClassification": LABELS,
    "DistilBertForSequenceClassification": LABELS, "ElectraForSequenceClassification": LABELS,
    "FunnelForSequenceClassification": LABELS | {"block_sizes": [1, 1]}, "Gemma2ForSequenceClassification": LABELS,
    "GPT2ForSequenceClassification": LABELS, "LlamaForSequenceClassification": LABELS,
    "LongformerForSequenceClassification": LABELS | {"attention_window": 16},
    "MistralForSequenceClassification": LABELS,
    "ModernBertForSequenceClassification": LABELS | {"cls_token_id": 0, "sep_token_id": 2},
    "OPTForSequenceClassification": LABELS | {"word_embed_proj_dim": 16}, "Qwen2ForSequenceClassification": LABELS,
    "Qwen3ForSequenceClassification": LABELS, "RobertaForSequenceClassification": LABELS,
    "T5ForSequenceClassification": LABELS, "XLMRobertaForSequenceClassification": LABELS,
    "XLNetForSequenceClassification": LABELS, "BertForNextSentencePrediction": {},
    "BloomForSequenceClassification": LABELS, "EuroBertForSequenceClassification": LABELS | {"mask_token_id": 4},
    "FalconForSequenceClassification": LABELS, "Gemma3ForSequenceClassification": LABELS,
    "GPTNeoXForSequenceClassification": LABELS, "GptOssForSequenceClassification": LABELS,
    "Mistral4ForSequenceClassification": LABELS, "MPNetForSequenceClassification": LABELS,
    "NomicBertForSequenceClassification": LABELS, "Phi3ForSequenceClassification": LABELS,
    "Qwen3NextForSequenceClassification": LABELS | MIXED, "SmolLM3ForSequenceClassification": LABELS,
    # Classifiers of tokens
    "BertForTokenClassification": LABELS, "DebertaV2ForTokenClassification": LABELS,
    "DistilBertForTokenClassification": LABELS, "ElectraForTokenClassification": LABELS,
    "GPT2ForTokenClassification": LABELS, "LlamaForTokenClassification": LABELS,
    "LongformerForTokenClassification": LABELS | {"attention_window": 16},
    "ModernBertForTokenClassification": LABELS | {"cls_token_id": 0, "sep_token_id": 2},
    "Qwen2ForTokenClassification": LABELS, "RobertaForTokenClassification": LABELS, "T5ForTokenClassification": LABELS,
    "BloomForTokenClassification": LABELS, "GemmaForTokenClassification": LABELS,
    "MT5ForTokenClassification": LABELS, "PhiForTokenClassification": LABELS, "Qwen3ForTokenClassification": LABELS,
    # Question answering
    "BartForQuestionAnswering": {}, "BertForQuestionAnswering": {}, "DebertaV2ForQuestionAnswering": {},
    "DistilBertForQuestionAnswering": {}, "ElectraForQuestionAnswering": {}, "GPT2ForQuestionAnswering": {},
    "LlamaForQuestionAnswering": {}, "LongformerForQuestionAnswering": {"attention_window": 16},
    "OPTForQuestionAnswering": {}, "RobertaForQuestionAnswering": {}, "T5ForQuestionAnswering": {},
    "XLNetForQuestionAnswering": {},
    "BigBirdForQuestionAnswering": {"attention_type": "original_full"}, "GPTNeoXForQuestionAnswering": {},
    "ModernBertForQuestionAnswering": {"cls_token_id": 0, "sep_token_id": 2}, "Qwen3ForQuestionAnswering": {},
    # Multiple choice and pre-training heads
    "BertForMultipleChoice": {}, "RobertaForMultipleChoice": {},
    "LongformerForMultipleChoice": {"attention_window": 16},
    "BertForPreTraining": {}, "AlbertForPreTraining": {}, "ElectraForPreTraining": {},
    "FunnelForPreTraining": {"block_sizes": [1, 1]}, "GPT2DoubleHeadsModel": {},
    # Bare encoders and decoders
    "AlbertModel": {}, "BartModel": {}, "BertModel": {}, "DebertaV2Model": {}, "DistilBertModel": {},
    "DPRContextEncoder": {}, "DPRQuestionEncoder": {}, "GPT2Model": {}, "LlamaModel": {}, "MPNetModel": {},
    "ModernBertModel": {"cls_token_id": 0, "sep_token_id": 2}, "OPTModel": {}, "Qwen3Model": {}, "RobertaModel": {},
    "T5EncoderModel": {}, "MT5EncoderModel": {}, "UMT5EncoderModel": {}, "T5Model": {}, "XLMRobertaModel": {},
    "CLIPTextModel": {}, "CanineModel": {}, "ViTModel": {}, "WhisperModel": {},
}  # fmt: skip
"""Options of each class's config, beside `SIZES`."""


@functools.cache
def tokenizer() -> hf.PreTrainedTokenizerFast:
    """The tokenizer of all models: RoBERTa's special tokens, which begin and end a text."""
    made = byte_level(ROBERTA, "<s> $A </s>")
    made.bos_token, made.eos_token = "<s>", "</s>"
    return made


def tiny_config(config_class: Any, **options: Any) -> Any:
    """A config of small sizes, also of the configs inside it."""
    options = dict(options)
    default = config_class()
    words = dict.fromkeys(("vocab_size", "src_vocab_size", "tgt_vocab_size"), len(tokenizer()) + WIDER)
    known = default.to_dict().keys() | getattr(config_class, "attribute_map", {}).keys()
    sizes = {name: value for name, value in (SIZES | IMAGE | words | IDS).items() if name in known}
    inside = {}
    for name, part in getattr(config_class, "sub_configs", {}).items():
        one = getattr(default, name, None)
        kind = type(one) if part.__name__ == "AutoConfig" else part
        if one is not None:
            inside[name] = tiny_config(kind, **options.pop(name, {})).to_dict()
    return config_class(**sizes | inside | options)


def tiny_backbone(name: str) -> Any:
    """A tiny model of a transformers class, in evaluation mode, with the same random weights each time."""
    made, options = getattr(hf, name), CLASSES[name]
    if name == "EncoderDecoderModel":
        parts = tiny_config(hf.BertConfig), tiny_config(hf.BertConfig, is_decoder=True, add_cross_attention=True)
        config: Any = hf.EncoderDecoderConfig.from_encoder_decoder_configs(*parts)
        config.decoder_start_token_id, config.pad_token_id, config.eos_token_id = 0, 1, 2
    else:
        config = tiny_config(made.config_class, **options)
        if getattr(config, "is_encoder_decoder", False):
            config.decoder_start_token_id = 2
    with torch.random.fork_rng():
        torch.manual_seed(1)
        backbone = made(config)
        for weight in backbone.parameters():  # far from the zeros and ones that layers begin with
            if weight.requires_grad:  # not the sines of positions
                weight.data.add_(torch.randn_like(weight) * 0.05)
        for part in backbone.modules():  # zero in every new model; loading some of them makes it zero again
            if isinstance(part, torch.nn.Embedding) and part.padding_idx is not None:
                part.weight.data[part.padding_idx] = 0
    return backbone.eval()
