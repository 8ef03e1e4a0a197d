"""Decode batches are filled up to the sizes that engines capture CUDA graphs for.

Sizes from the engines' own sources: vllm/config/compilation.py, sglang/srt/server_args.py and
tensorrt_llm/llmapi/llm_args.py (CudaGraphConfig with padding).
"""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.latency.graphs import Padding, captured_sizes, padding_of
from core.latency.step import plan_of, step_time
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.speculative import Speculative


def plan(model="meta-llama/Llama-3.1-8B-Instruct", tp=1, speculative=None, **engine):
    return plan_of(
        load_model(model).architecture,
        load_accelerator("H100 SXM5 80GB"),
        Deployment(accelerators=tp, tensor_parallel=tp),
        Precision(),
        Engine(**engine),
        speculative,
    )


@pytest.mark.parametrize(
    ("engine", "version", "starts", "after_256", "last"),
    [
        ("vllm", "0.10", (1, 2, 4, 8, 16, 24), 264, 512),
        ("vllm", "0.21", (1, 2, 4, 8, 16, 24), 272, 512),
        ("sglang", "0.4.9", (1, 2, 4, 8, 16, 24), None, 256),
        ("sglang", "0.5.9", (1, 2, 4, 8, 12, 16, 24), 272, 1024),
        ("trtllm", "1.0", (1, 2, 4, 8, 16, 24), 512, 2048),
        ("trtllm", "1.2", (1, 2, 4, 8, 16, 24), 320, 2048),
    ],
)
def test_sizes_are_those_of_the_engines(engine, version, starts, after_256, last):
    sizes = captured_sizes(engine, version)
    assert sizes[: len(starts)] == starts
    assert sizes[-1] == last
    if after_256 is not None:
        assert sizes[sizes.index(256) + 1] == after_256


def test_compiled_engines_of_tensorrt_llm_and_eager_mode_pad_nothing():
    n = np.arange(1.0, 600)
    for padding in (padding_of("trtllm", "0.14.0", 1, False), padding_of("vllm", "0.21", 1, True)):
        assert (padding.of(n) == n).all()
        assert padding.largest > 1e6


def test_padded_is_the_next_size_and_a_mean_between_whole_numbers():
    padding = padding_of("vllm", "0.21", 1, False)
    n = np.array([0.0, 1, 2, 3, 4, 5, 8, 9, 16, 100, 257, 512, 513, 700])
    assert padding.of(n).tolist() == [0, 1, 2, 4, 4, 8, 8, 16, 16, 104, 272, 512, 513, 700]
    # 8.3 running on average: 8 in seven steps of ten, 9 in three.
    assert padding.of(np.array([8.3]))[0] == pytest.approx(0.7 * 8 + 0.3 * 16)
    fine = np.linspace(0, 600, 60001)
    assert (np.diff(padding.of(fine)) >= 0).all()
    assert (padding.of(fine[fine >= 1]) >= fine[fine >= 1]).all()


def test_drafts_are_counted_in_the_unit_of_the_list():
    """Sizes of vLLM are tokens (four a sequence here); the list of SGLang for drafts is a finer one."""
    assert captured_sizes("vllm", "0.21", 4)[:4] == (1, 2, 4, 6)
    assert captured_sizes("sglang", "0.5.9", 4)[:10] == (1, 2, 3, 4, 5, 6, 7, 8, 10, 12)


def test_times_are_level_up_to_the_cache_between_two_sizes_and_rise_behind_one():
    """9 to 16 sequences pass the same rows through the matrices; the ninth costs more than the tenth."""
    p = plan("Qwen/Qwen3-32B")
    n = np.arange(8.0, 18)
    seconds = step_time(p, n, 0.0)[1]
    rise = np.diff(seconds)
    assert rise[0] > 1.5 * rise[1:8].max()
    assert rise[8] > 1.5 * rise[1:8].max()
    eager = np.diff(step_time(plan("Qwen/Qwen3-32B", enforce_eager=True), n, 0.0)[1])
    assert eager.max() < 1.2 * eager.min()


def test_rows_that_fill_up_touch_the_experts_of_one_token():
    p = plan("openai/gpt-oss-120b")
    one = np.array([9.0]), np.array([500.0]), np.zeros(1), np.zeros(1)
    padded, first = p.features(*one), len(p.operators.windows) * 2 + 6
    real = padded[first, 0]
    exact = np.interp(9.0, [9.0, 10.0], [p.features(*_alone(k))[first, 0] for k in (9.0, 10.0)])
    assert padded[1, 0] == 16.0
    assert real > exact * 0.99
    assert real <= p.features(*_alone(16.0))[first, 0]


def _alone(n):
    return np.array([n]), np.array([500.0]), np.zeros(1), np.zeros(1)


def test_beyond_the_largest_graph_kernels_are_launched_one_by_one():
    p = plan("Qwen/Qwen3-0.6B")
    inside, beyond = step_time(p, np.array([512.0, 513.0]), 1.0)[1]
    assert beyond > inside
    assert Padding(()).largest > 1e6


def test_a_verified_draft_is_padded_too():
    draft = Speculative(kind="ngram", tokens=3)
    p = plan(speculative=draft)
    at = [np.array([v]) for v in (9.0, 100.0, 0.0, 0.0)]
    sizes = captured_sizes("vllm", "0.21", 4)
    assert p.features(*at)[1, 0] == 4 * next(s for s in sizes if s >= 9)


def test_small_steps_with_prompts_run_in_pieces_of_the_graph():
    """The V1 engine captures the pieces between the attentions: vllm/v1/worker/gpu_model_runner.py."""

    def jump(**engine):
        small = plan("Qwen/Qwen3-0.6B", **engine)
        below, beyond = (float(step_time(small, 0.0, 0.0, tokens)[1]) for tokens in (512.0, 513.0))
        return beyond - below

    assert jump(name="vllm", version="0.11.0") > 1e-3  # launches of a whole model, seconds
    assert abs(jump(name="vllm", version="0.7.3")) < 1e-4
    assert abs(jump(name="sglang", version="0.5.9")) < 1e-4
    assert abs(jump(name="vllm", version="0.11.0", enforce_eager=True)) < 1e-4
