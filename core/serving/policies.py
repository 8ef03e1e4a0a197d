"""What each engine's scheduler does, as far as a simulation can tell them apart.

vLLM V1        one token budget for decodes and chunks of prompts, running requests first; a request
               enters when all that it has to read has blocks (before 0.19 its first chunk alone,
               github.com/vllm-project/vllm/pull/37307: scheduler_reserve_full_isl); the last one in is
               preempted when they run out.
vLLM < 0.8     prompts in steps of their own, before decodes; a hundredth of the blocks is left free by a
               request that enters (the "watermark" of its block manager, which V1 has not).
SGLang         prompts before decodes; a request enters when the answers of all have room as far as a
               share of them goes (core.serving.answer_share); the one with the shortest answer is retracted.
TensorRT-LLM   in-flight batching: no eviction, room for the whole answer is kept (default), or as
               much as fits, and the last one in is paused.
llama.cpp      slots of fixed size, prompts beside decodes.
Transformers, MLX: static batches; none joins and the batch ends with its longest answer.
Textbook rules: continuous batching that costs nothing.
"""

from dataclasses import dataclass
from typing import Literal

from core.latency.efficiency import version_number
from core.spec.scenario import Scenario

STATIC_ENGINES = ("transformers", "mlx")
Admission = Literal["chunk", "prompt", "whole", "share"]
Victim = Literal["last", "shortest", "none"]

# Of vLLM's block manager before V1.
_WATERMARK = 0.01
_FULL_PROMPT = (0, 19)  # vLLM lets a request in when its whole prompt has room
# SGLang's SGLANG_INIT_NEW_TOKEN_RATIO, its floor and the steps it falls over (global_config.py).
FIRST_SHARE, LAST_SHARE, SHARE_STEPS = 0.7, 0.098, 600
MOST_COUNTED = 4096  # tokens of one answer that SGLang counts (CLIP_MAX_NEW_TOKENS)


@dataclass(frozen=True, slots=True)
class Policy:
    """``prompts_apart``: steps carry prompts or decodes, never both, and prompts go first.

    ``admission``: a request enters when its first chunk ("chunk"), all that it has to read ("prompt"),
    prompt and answer ("whole"), or its prompt and a share of all answers to come ("share") have blocks.
    """

    prompts_apart: bool = False
    admission: Admission = "chunk"
    victim: Victim = "last"
    swaps: bool = False  # preempted caches go to the host's memory
    watermark: float = 0.0  # share of the blocks that a request which enters leaves free
    static: bool = False


@dataclass(frozen=True, slots=True)
class Settings:
    """What all replicas of a service have in common."""

    policy: Policy
    most: int  # sequences at once
    budget: int  # tokens of one step
    prefix: int  # tokens that all prompts begin with, cached for ever
    verified: int = 1  # tokens of one sequence in a step
    swap_blocks: int = 0  # of host memory
    swap_seconds: float = 0.0  # of one block on its way
    batch_wait: float = 0.0  # s, of static batches


def policy_of(scenario: Scenario, prompts_apart: bool) -> Policy:
    """The policy; ``prompts_apart`` as the release's profile has it."""
    engine, settings = scenario.engine.name, scenario.simulation
    if engine == "sglang":
        return Policy(prompts_apart=True, admission="share", victim="shortest")
    if engine == "trtllm":
        if settings.batching == "max_utilization":
            return Policy(prompts_apart, "chunk", "last")
        return Policy(prompts_apart, "whole", "none")
    if engine in ("llamacpp", "ollama"):
        return Policy(prompts_apart, "whole", "none")
    if engine in STATIC_ENGINES:
        return Policy(prompts_apart=True, admission="whole", victim="none", static=True)
    if engine == "textbook":
        return Policy(admission="whole", victim="none")
    swaps, watermark = settings.preemption == "swap", _WATERMARK if prompts_apart else 0.0
    entry: Admission = "prompt" if version_number(scenario.engine.version) >= _FULL_PROMPT else "chunk"
    return Policy(prompts_apart, entry, "last", swaps=swaps, watermark=watermark)
