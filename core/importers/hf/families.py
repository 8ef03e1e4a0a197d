"""The table of families, by ``model_type``.  A new family is a line here, or a function beside it."""

from dataclasses import replace
from typing import Any

from core.importers.hf import gemma, hybrid, prediction, sparse, special
from core.importers.hf.attention import latent_attention
from core.importers.hf.family import Family

_LLAMA = Family()
_BIASED = Family(norm_width=2, qkv_bias=True, output_bias=True, mlp_bias=True, gated=False)
_QWEN2 = Family(qkv_bias=True, output_bias=False, window="flag", defaults={"max_window_layers": 28})
_QWEN3 = Family(qk_norm="per_head", window="flag", defaults={"max_window_layers": 28})
_GLM4_MOE = Family(
    qkv_bias="attention_bias",
    output_bias=False,
    qk_norm="per_head",
    qk_norm_flag="use_qk_norm",
    prediction=prediction.with_router_bias,
)
_DEEPSEEK = Family(
    attention=latent_attention,
    prediction=prediction.with_router_bias,
    defaults={"q_lora_rank": 1536},
)
_GEMMA = Family(tied=True, defaults={"head_dim": 256})
_GEMMA3 = Family(
    norms=4,
    qk_norm="per_head",
    tied=True,
    window="pattern",
    pattern=6,
    defaults={
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "vocab_size": 262208,
        "sliding_window": 4096,
        "hidden_size": 2304,
        "intermediate_size": 9216,
        "num_hidden_layers": 26,
        "max_position_embeddings": 131072,
    },
)
_GEMMA4 = Family(norms=4, qk_norm="per_head", tied=True, attention=gemma.gemma4_attention, build=gemma.gemma4)
_COHERE = Family(norms=1, qk_norm="full", qk_norm_flag="use_qk_norm", tied=True)
_ERNIE = Family(qkv_bias="use_bias", output_bias="use_bias", mlp_bias="use_bias", tied=True)
_HUNYUAN = Family(qk_norm="per_head", qk_norm_flag="use_qk_norm", attention=special.shared_cache_attention)
_BAILING = Family(
    qk_norm="per_head", qk_norm_flag="use_qk_norm", qkv_bias="use_qkv_bias", output_bias="use_bias"
)
_EXAONE4 = Family(qk_norm="per_head", window="pattern", pattern=4)
_OLMO2 = Family(qk_norm="full")
_STEP35 = Family(
    qk_norm="per_head",
    qk_norm_flag="use_qk_norm",
    attention=special.step35_attention,
    prediction=prediction.step,
)
_GROK = Family(norms=4, channels=special.grok_channels)
_INTERNLM = Family(qkv_bias="bias", output_bias="bias", mlp_bias="bias")

_GEMMA3N = Family(norms=4, qk_norm="per_head", tied=True, build=gemma.gemma3n)
_MLLAMA = Family(build=special.mllama)
_QWEN_NEXT = Family(
    qk_norm="per_head",
    output_gate="elementwise",
    shared_gate=True,
    attention=hybrid.qwen_next_attention,
    prediction=prediction.as_last,
    defaults={"full_attention_interval": 4},
)
_KIMI_LINEAR = Family(attention=hybrid.kimi_linear_attention, build=hybrid.kimi_linear)
_MINIMAX = Family(attention=hybrid.minimax_attention)
_MAMBA: dict[str, Any] = {"state_size": 16, "conv_kernel": 4, "expand": 2, "max_position_embeddings": 10**6}
_LFM2 = Family(qk_norm="per_head", tied=True, attention=hybrid.lfm2_attention, channels=hybrid.lfm2_channels)
_MINIMAX_M3 = Family(qk_norm="per_head", attention=sparse.minimax_m3_attention)
_QWEN4 = replace(
    _QWEN_NEXT, attention=sparse.qwen4_attention, build=sparse.qwen4, prediction=prediction.qwen4
)
_GLM5_NEXT = Family(
    attention=sparse.glm5_next_attention,
    build=sparse.glm5_next,
    prediction=prediction.with_router_bias,
)

FAMILIES: dict[str, Family] = {
    # dense
    "llama": _LLAMA,
    "yi": _LLAMA,
    "solar": _LLAMA,
    "granite": _LLAMA,
    "exaone": _LLAMA,
    "baichuan": replace(_LLAMA, defaults={"max_position_embeddings": 4096}),
    "smollm3": replace(_LLAMA, tied=True),
    "mistral": Family(window="all", defaults={"sliding_window": 4096}),
    "ministral3": Family(window="all"),
    "ministral": Family(window="all"),
    "seed_oss": Family(
        qkv_bias="attention_bias", output_bias="attention_out_bias", defaults={"attention_bias": True}
    ),
    "arcee": Family(gated=False),
    "apertus": Family(gated=False, qk_norm="per_head", other_layer_parameters=2),
    "nemotron": Family(norm_width=2, gated=False),
    "nemotron-nas": Family(build=special.nemotron_nas),
    "granitemoehybrid": Family(build=hybrid.granite_hybrid, tied=True),
    "qwen": Family(qkv_bias=True, output_bias=False, channels=special.qwen1_channels),
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen3": _QWEN3,
    "qwen3_vl": _QWEN3,
    "mimo": Family(qkv_bias=True, output_bias=False, window="flag", prediction=prediction.as_last),
    "glm": Family(output_bias=False),
    "glm4": Family(norms=4, output_bias=False),
    "chatglm": Family(
        qkv_bias="add_qkv_bias",
        output_bias="add_bias_linear",
        mlp_bias="add_bias_linear",
        attention=special.chatglm_attention,
    ),
    "internlm2": _INTERNLM,
    "internlm3": replace(_INTERNLM, qkv_bias="qkv_bias"),
    "ernie4_5": _ERNIE,
    "hunyuan_v1_dense": replace(_HUNYUAN, defaults={"use_qk_norm": True}),
    "olmo": Family(norm_width=0),
    "olmo2": _OLMO2,
    "olmo3": replace(_OLMO2, window="pattern", pattern=4, defaults={"sliding_window": 4096}),
    "exaone4": _EXAONE4,
    "phi3": Family(window="all"),
    "phi": replace(
        _BIASED, norms=1, head_bias=True, qk_norm="none", window="none", defaults={"intermediate_size": None}
    ),
    "stablelm": Family(norm_width=2, qkv_bias="use_qkv_bias", output_bias=False),
    "starcoder2": Family(
        norm_width=2,
        gated=False,
        qkv_bias="use_bias",
        output_bias="use_bias",
        mlp_bias="use_bias",
        tied=True,
        window="all",
        defaults={"use_bias": True},
    ),
    "gemma": _GEMMA,
    "gemma2": Family(
        norms=4, tied=True, window="pattern", pattern=2, defaults={"head_dim": 256, "sliding_window": 4096}
    ),
    "gemma3_text": _GEMMA3,
    "gemma3": _GEMMA3,
    "gemma4": _GEMMA4,
    "gemma4_text": _GEMMA4,
    "gemma4_unified": _GEMMA4,
    "gemma4_unified_text": _GEMMA4,
    "cohere": _COHERE,
    "cohere2": replace(_COHERE, window="pattern", pattern=4, defaults={"sliding_window": 4096}),
    "gemma3n": _GEMMA3N,
    "gemma3n_text": _GEMMA3N,
    "mllama": _MLLAMA,
    "mllama_text_model": _MLLAMA,
    # older files
    "gpt2": replace(_BIASED, tied=True, build=special.learned_positions),
    "gpt_bigcode": replace(_BIASED, tied=True, build=special.learned_positions),
    "gptj": replace(_BIASED, norms=1, qkv_bias=False, output_bias=False, head_bias=True),
    "gpt_neox": replace(
        _BIASED, qkv_bias="attention_bias", output_bias="attention_bias", defaults={"attention_bias": True}
    ),
    "opt": replace(
        _BIASED,
        tied=True,
        qkv_bias="enable_bias",
        output_bias="enable_bias",
        mlp_bias="enable_bias",
        defaults={"enable_bias": True, "do_layer_norm_before": True},
        build=special.opt,
    ),
    "bloom": replace(_BIASED, tied=True, build=special.bloom, defaults={"seq_length": 2048}),
    "mpt": Family(gated=False, tied=True, build=special.mpt),
    "falcon": Family(
        norm_width=2,
        gated=False,
        qkv_bias="bias",
        output_bias="bias",
        mlp_bias="bias",
        tied=True,
        build=special.falcon,
        defaults={"max_position_embeddings": 2048, "parallel_attn": True, "multi_query": True},
    ),
    # experts on grouped-query attention
    "mixtral": Family(window="all"),
    "qwen2_moe": replace(_QWEN2, qkv_bias="qkv_bias", shared_gate=True, defaults={"qkv_bias": True}),
    "qwen3_moe": _QWEN3,
    "qwen3_vl_moe": _QWEN3,
    "olmoe": _OLMO2,
    "phimoe": Family(norm_width=2, head_bias="lm_head_bias"),
    "granitemoe": _LLAMA,
    "gpt_oss": Family(
        sinks=True,
        expert_bias=True,
        router_bias=True,
        window="pattern",
        pattern=2,
        defaults={"attention_bias": True, "sliding_window": 128},
    ),
    "minimax_m2": Family(qk_norm="full", qk_norm_flag="use_qk_norm", defaults={"use_qk_norm": True}),
    "arctic": Family(norms=3, window="all", channels=special.arctic_channels),
    "grok-1": _GROK,
    "grok-2": _GROK,
    "deepseek": _LLAMA,
    "dots1": Family(qk_norm="per_head", window="flag"),
    "glm4_moe": _GLM4_MOE,
    "solar_open": _GLM4_MOE,
    "ernie4_5_moe": _ERNIE,
    "hunyuan_v1_moe": replace(_HUNYUAN, tied=True, defaults={"use_qk_norm": True}),
    "hunyuan": replace(_HUNYUAN, tied=True),
    "hy_v3": Family(
        qk_norm="per_head",
        qk_norm_flag="qk_norm",
        prediction=prediction.with_router_bias,
        defaults={"qk_norm": True},
    ),
    "exaone_moe": replace(_EXAONE4, prediction=prediction.dense),
    "afmoe": Family(
        norms=4, qk_norm="per_head", output_gate="elementwise", output_bias=False, window="pattern", pattern=4
    ),
    "bailing_moe": _BAILING,
    "bailing_moe_v2": _BAILING,
    "dbrx": Family(build=special.dbrx),
    "llama4": Family(attention=special.llama4_attention, channels=special.llama4_channels),
    "llama4_text": Family(attention=special.llama4_attention, channels=special.llama4_channels),
    "mimo_v2_flash": Family(attention=special.mimo_v2_attention, prediction=prediction.mimo_v2),
    "step3p5": _STEP35,
    "step3p7": replace(_STEP35, defaults={"use_qk_norm": True, "use_head_wise_attn_gate": True}),
    "step3_text": Family(attention=special.step3_attention),
    "step3_vl": Family(attention=special.step3_attention),
    # latent attention
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "glm_moe_dsa": _DEEPSEEK,
    "glm4_moe_lite": _DEEPSEEK,
    "mistral4": _DEEPSEEK,
    "minicpm3": replace(_DEEPSEEK, tied=True),
    "longcat_flash": replace(_DEEPSEEK, build=special.longcat, prediction=prediction.longcat),
    # linear attention and state-space layers
    "qwen3_next": replace(_QWEN_NEXT, prediction=prediction.always),
    "qwen3_5": _QWEN_NEXT,
    "qwen3_5_text": _QWEN_NEXT,
    "qwen3_5_moe": _QWEN_NEXT,
    "qwen3_5_moe_text": _QWEN_NEXT,
    "kimi_linear": _KIMI_LINEAR,
    "kimi_k3": _KIMI_LINEAR,
    "bailing_hybrid": replace(_DEEPSEEK, attention=hybrid.bailing_hybrid_attention, output_gate="per_head"),
    "minimax": _MINIMAX,
    "minimax_text_01": _MINIMAX,
    "minimax_m1": _MINIMAX,
    "jamba": Family(attention=hybrid.jamba_attention, channels=hybrid.jamba_channels),
    "mamba": Family(norms=1, tied=True, build=hybrid.mamba, defaults=_MAMBA),
    "falcon_mamba": Family(norms=1, tied=True, build=hybrid.mamba, defaults=_MAMBA),
    "mamba2": Family(norms=1, build=hybrid.mamba2_only, defaults=_MAMBA),
    "nemotron_h": Family(gated=False, build=hybrid.nemotron_h, prediction=prediction.nemotron_h),
    "falcon_h1": Family(build=hybrid.falcon_h1),
    "lfm2": _LFM2,
    "lfm2_moe": _LFM2,
    # attention that reads a part of the context
    "deepseek_v4": Family(build=sparse.deepseek_v4, prediction=prediction.deepseek_v4),
    "minimax_m3_vl": _MINIMAX_M3,
    "minimax_m3": _MINIMAX_M3,
    "qwen4_exp": _QWEN4,
    "qwen4_exp_text": _QWEN4,
    "glm5_next": _GLM5_NEXT,
    "glm5_next_text": _GLM5_NEXT,
}

# Files that name no type, or a misleading one, are told by the class they name.
ARCHITECTURES: dict[str, str] = {
    "LongcatFlashForCausalLM": "longcat_flash",
    "LongcatCausalLM": "longcat_flash",
    "Grok1ForCausalLM": "grok-2",
    "Grok1ModelForCausalLM": "grok-1",
}
