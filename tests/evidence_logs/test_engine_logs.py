"""Start-up logs of engines, one real-shaped file a version: what a run then holds, worked out by hand.

The spelling of the lines is that of logs in public issue threads of the engines (vLLM 0.2 to 0.28, SGLang,
TensorRT-LLM, llama.cpp and ik_llama.cpp, Ollama).
"""

from pathlib import Path

import pytest

from core.evidence.readers.detect import read_files, read_text
from core.evidence.run import Run

FIXTURES = Path(__file__).parent / "fixtures"
GIB, MIB = 2**30, 2**20


def runs(name: str) -> tuple[Run, ...]:
    reading = read_files([FIXTURES / name])
    assert not reading.problems
    return reading.runs


def gib(run: Run, *lines: str) -> list[float]:
    return [round(run.ledger[line] / GIB, 3) for line in lines]


def mib(run: Run, *lines: str) -> list[float]:
    return [round(run.ledger[line] / MIB, 2) for line in lines]


def said(run: Run) -> set[str]:
    return {phrase.key.removeprefix("conversions.") for phrase in run.conversions}


def test_vllm_before_there_was_a_ledger() -> None:
    (run,) = runs("vllm_0_2.log")
    assert (run.setting.engine, run.setting.model) == ("vllm", "meta-llama/Llama-2-7b-hf")
    assert (run.setting.weight_format, run.setting.context_limit) == ("float16", 4096)
    assert run.ledger == {"gpu_blocks": 7351, "cpu_blocks": 512, "kv_cache_tokens": 7351 * 16}
    assert said(run) == {"tokens_of_blocks"}


def test_vllm_with_names_and_values() -> None:
    (run,) = runs("vllm_0_6_4.log")
    lines = ("weights", "non_torch", "kv_cache", "device_total")
    assert gib(run, *lines) == [14.249, 0.43, 4.47, 23.58]
    assert gib(run, "activation_peak") == [round(16.32 - 14.2487, 3)]
    assert run.ledger["kv_cache_tokens"] == 5231 * 16
    assert "activation_of_peak" in said(run)
    setting = run.setting
    assert (setting.utilization, setting.sequences, setting.block_size) == (0.9, 256, 16)
    assert (setting.graphs, setting.prefix_cache, setting.context_limit) == (False, False, 20000)
    assert (setting.engine_version, run.origin.tool_version) == ("0.6.4.post1", "0.6.4.post1")
    # The log's own sum: budget less weights, activations and the rest is the pool.
    budget = 0.9 * run.ledger["device_total"]
    used = run.ledger["weights"] + run.ledger["activation_peak"] + run.ledger["non_torch"]
    assert (budget - used) / GIB == pytest.approx(4.47, abs=0.01)


def test_vllm_with_a_table() -> None:
    (run,) = runs("vllm_0_6_5.log")
    lines = ("weights", "non_torch", "activation_peak", "available_kv", "requested", "cuda_graph")
    assert gib(run, *lines) == [14.96, 1.79, 1.26, 53.29, 71.29, 0.26]
    assert (run.ledger["gpu_blocks"], run.ledger["kv_cache_tokens"]) == (27283, 27283 * 16)
    assert run.ledger["max_concurrency"] == 53.29
    assert "pool_is_available" in said(run)


def test_vllm_of_two_ranks_follows_the_smaller_pool() -> None:
    (run,) = runs("vllm_0_8_v0_tp2.log")
    lines = ("weights", "non_torch", "activation_peak", "kv_cache", "cuda_graph")
    assert gib(run, *lines) == [21.215, 0.35, 0.45, 1.34, 0.24]
    assert (run.setting.utilization, run.setting.accelerators) == (0.99, 2)
    assert run.ledger["kv_cache_tokens"] == 1250 * 16
    other = run.rest["ranks"]["521"]  # type: ignore[index, call-overload]
    assert other["kv_cache"] == pytest.approx(1.57 * GIB)


def test_vllm_v1_with_the_blocks_of_v0() -> None:
    (run,) = runs("vllm_0_7_v1.log")
    assert gib(run, "weights") == [67.723]
    assert run.ledger["kv_cache_tokens"] == 1381 * 16  # 10.79 × 2048 / 1381 = 16.0 tokens a block
    assert run.setting.weight_format == "compressed-tensors"


def test_vllm_v1_in_its_debug_lines() -> None:
    (run,) = runs("vllm_0_10_debug.log")
    lines = ("weights", "activation_peak", "non_torch", "available_kv", "free_at_start", "non_kv_total")
    assert gib(run, *lines) == [2.318, 0.45, 0.02, 37.1, 43.82, 2.78]
    assert (run.ledger["kv_cache_tokens"], run.ledger["max_concurrency"]) == (1215552, 9.27)
    assert run.setting.context_limit == 131072


def test_vllm_v1_with_its_closing_sentence() -> None:
    (run,) = runs("vllm_0_11.log")
    lines = ("weights", "activation_peak", "non_torch", "cuda_graph", "device_total", "requested")
    assert gib(run, *lines) == [14.272, 1.97, 0.07, 0.67, 79.19, 71.27]
    assert run.ledger["kv_cache"] == 59212694937
    assert run.ledger["kv_cache_tokens"] == 451744
    setting = run.setting
    assert (setting.model, setting.engine_version) == ("Qwen/Qwen2.5-7B-Instruct", "0.11.0")
    assert (setting.sequences, setting.utilization, setting.prefix_cache) == (256, 0.9, True)
    assert (setting.weight_format, setting.kv_cache_format, setting.drafts) == ("bfloat16", "auto", "")


def test_vllm_where_weights_and_the_rest_are_one_figure() -> None:
    (run,) = runs("vllm_0_28_tp2.log")
    lines = ("weights", "non_torch", "activation_peak", "cuda_graph", "cuda_graph_estimated", "kv_cache")
    assert gib(run, *lines) == [55.19, 1.7, 0.76, 0.32, 0.73, 27.85]
    assert run.ledger["kv_cache_tokens"] == 621392
    assert "non_torch_of_consumed" in said(run)
    setting = run.setting
    assert (setting.tensor_parallel, setting.expert_parallel, setting.accelerators) == (2, 2, 2)
    assert (setting.weight_format, setting.kv_cache_format, setting.drafts) == (
        "modelopt_fp4",
        "fp8_e4m3",
        "mtp",
    )
    # What the server printed last while it served.
    assert run.figures == {("prefix_hit_share", "mean"): 0.375, ("acceptance_length", "mean"): 2.61}


def test_vllm_that_did_not_start() -> None:
    (run,) = runs("vllm_too_small.log")
    assert gib(run, "weights", "available_kv", "kv_needed") == [27.568, 4.77, 6.0]
    assert run.ledger["fitting_tokens"] == 26048
    assert "kv_cache" not in run.ledger
    assert run.rest["not_started"] is True
    assert run.setting.context_limit == 32768


def test_two_starts_in_one_log_are_two_runs() -> None:
    first, second = runs("vllm_two_starts.log")
    assert (first.setting.model, second.setting.model) == ("Qwen/Qwen3-8B", "Qwen/Qwen3-4B")
    assert (first.origin.line, second.origin.line) == (1, 6)
    assert [round(r.ledger["weights"] / GIB, 2) for r in (first, second)] == [15.27, 7.55]


def test_sglang_of_eight_ranks() -> None:
    (run,) = runs("sglang_2025.log")
    lines = ("free_at_start", "weights", "free_after_weights", "kv_cache", "free_after_pool", "cuda_graph")
    assert gib(run, *lines) == [77.43, 36.73, 40.69, 27.58, 11.22, 0.89]
    assert run.ledger["kv_cache_tokens"] == 903439
    setting = run.setting
    assert (setting.engine, setting.model, setting.weight_format) == ("sglang", "xai-org/grok-2", "fp8")
    assert (setting.tensor_parallel, setting.accelerators, setting.sequences) == (8, 8, 3529)
    assert (setting.context_limit, setting.batched_tokens, setting.block_size) == (131072, 8192, 1)
    assert (setting.graphs, setting.prefix_cache) == (True, True)
    assert run.started_at == "2025-09-11T10:24:10"
    assert run.rest["mem_fraction_static"] == 0.852
    assert said(run) == {"gigabytes_are_gibibytes"}
    # Free memory after the pool: what was free after the weights less the pool, within a GiB of other tables.
    assert run.ledger["free_after_weights"] - run.ledger["kv_cache"] > run.ledger["free_after_pool"]


def test_sglang_that_does_not_print_what_loading_used() -> None:
    (run,) = runs("sglang_2024.log")
    assert gib(run, "weights") == [15.02]  # 23.20 − 8.18
    assert "weights_of_free" in said(run)
    assert run.ledger["kv_cache_tokens"] == 86014
    assert (run.setting.graphs, run.setting.prefix_cache, run.setting.batched_tokens) == (False, False, 16384)


def test_sglang_with_states_drafts_and_two_pools() -> None:
    (run,) = runs("sglang_2026_hybrid.log")
    assert gib(run, "weights", "draft_weights") == [28.4, 0.8]
    assert gib(run, "kv_cache", "recurrent_state", "cuda_graph") == [26.36, 7.8, 0.8]
    assert run.ledger["recurrent_slots"] == 48
    assert (run.setting.drafts, run.setting.batched_tokens) == ("eagle", 16384)
    assert run.figures == {("acceptance_length", "mean"): 2.71}


def test_tensorrt_llm_with_an_engine() -> None:
    (run,) = runs("tensorrt_llm_engine.log")
    assert mib(run, "weights", "activation_peak", "runtime_buffers") == [6694, 1210.51, 43.29]
    assert gib(run, "device_total", "free_before_pool", "kv_cache") == [79.1, 70.48, 63.44]
    assert run.ledger["kv_cache_tokens"] == 259840
    # research/memory.md: the pool is 0.9 of what is free.
    assert run.ledger["kv_cache"] / run.ledger["free_before_pool"] == pytest.approx(0.9, abs=0.001)
    setting = run.setting
    assert (setting.engine, setting.engine_version) == ("trtllm", "0.15.0.dev2024101500")
    assert (setting.sequences, setting.context_limit, setting.batched_tokens) == (2048, 2048, 8192)
    assert (setting.block_size, setting.accelerators) == (64, 1)


def test_tensorrt_llm_on_pytorch_takes_the_second_pool() -> None:
    (run,) = runs("tensorrt_llm_pytorch.log")
    lines = ("weights", "non_torch", "available_kv", "kv_cache", "device_total")
    assert gib(run, *lines) == [80.12, 3.02, 41.11, 41.11, 139.81]
    assert gib(run, "activation_peak") == [8.04]  # 91.46 − 80.12 − 3.02 − 0.28 for measuring
    assert run.ledger["kv_cache_tokens"] == 1256320
    assert (run.rest["kv_fraction"], run.rest["kv_bytes_per_token"]) == (0.85, 35136)
    # The log's own arithmetic: fraction × (total − peak + what was held for measuring).
    assert run.ledger["kv_cache"] / GIB == pytest.approx(0.85 * (139.81 - 91.46 + 0.28), abs=0.3)


def test_tensorrt_llm_of_2024() -> None:
    (run,) = runs("tensorrt_llm_2024.log")
    assert run.ledger["kv_cache"] == 69524783104
    assert run.ledger["kv_cache_tokens"] == 132608
    # 32 layers × 32 heads × 128 × 2 × 2 B: Llama-2-7B.
    assert run.ledger["kv_cache"] / run.ledger["kv_cache_tokens"] == pytest.approx(524288, rel=1e-4)


def test_llama_cpp_with_one_request() -> None:
    (run,) = runs("llama_cpp_2025.log")
    assert mib(run, "weights", "kv_cache", "compute_buffer") == [4455.34, 1152, 304.75]
    assert mib(run, "weights_host", "compute_buffer_host", "free_at_start") == [333.84, 24.01, 23123]
    # research/memory.md: layers × cells × (k + v) × 2 B, 8 heads of 128.
    assert run.ledger["kv_cache"] == 36 * 8192 * 2 * 1024 * 2
    setting = run.setting
    assert (setting.engine, setting.engine_version, setting.model) == ("llamacpp", "b6018", "Qwen3 8B")
    assert (setting.weight_format, setting.kv_cache_format) == ("Q4_K_M", "f16")
    assert (setting.accelerator, setting.accelerators) == ("NVIDIA GeForce RTX 4090", 1)
    assert (setting.layers_on_device, setting.context_limit, setting.batched_tokens) == (37, 8192, 512)
    assert run.figures == {
        ("prompt_throughput", "mean"): 136.21,
        ("time_to_first_token", "mean"): pytest.approx(0.08076),
        ("time_per_output_token", "mean"): pytest.approx(0.01939),
        ("decode_throughput", "mean"): 51.57,
        ("user_throughput", "mean"): 51.57,
    }
    assert (setting.input_tokens, setting.output_tokens) == (11, 475)


def test_llama_cpp_in_the_old_spelling_on_two_devices() -> None:
    start, first, second = runs("llama_cpp_2024_two_gpus.log")
    assert mib(start, "weights", "kv_cache", "compute_buffer", "weights_host") == [
        19423.91,
        5120,
        1344.03,
        1640.62,
    ]
    assert start.setting.accelerators == 2
    devices = start.rest["devices"]
    assert devices["CUDA1"]["kv_cache"] == 3584 * MIB  # type: ignore[index, call-overload]
    for request in (first, second):
        assert request.figure("decode_throughput") == 49.5
        assert (request.setting.input_tokens, request.setting.output_tokens) == (50, 99)
        assert not request.ledger


def test_llama_cpp_that_tried_what_fits_first() -> None:
    (run,) = runs("llama_cpp_2026_fit.log")
    assert mib(run, "weights", "kv_cache", "compute_buffer") == [59000, 2340, 398]
    assert mib(run, "unaccounted", "device_total") == [1566, 98304]
    assert run.origin.line == 6
    assert (run.setting.accelerator, run.setting.layers_on_device) == ("8060S Graphics (RADV STRIX_HALO)", 37)
    assert run.ledger["kv_cache_tokens"] == 65536


def test_ik_llama_with_latent_attention() -> None:
    (run,) = runs("ik_llama_mla.log")
    assert mib(run, "weights", "kv_cache", "compute_buffer") == [17744.02, 1166.63, 3425]
    # research/memory.md: 61 layers × cells × 576 × 34/32 B.
    assert run.ledger["kv_cache"] == pytest.approx(61 * 32768 * 576 * 34 / 32, rel=1e-4)
    assert (run.setting.kv_cache_format, run.setting.weight_format) == ("q8_0", "IQ2_K_R4")


def test_llama_server_with_states_and_drafts() -> None:
    start, first, second = runs("llama_server_recurrent.log")
    assert mib(start, "recurrent_state", "recurrent_state_host", "compute_buffer") == [41.88, 134, 304]
    assert (start.setting.sequences, start.setting.layers_on_device) == (4, 29)
    assert first.figure("time_per_output_token") == pytest.approx(0.0495)
    assert (first.origin.line, second.origin.line) == (21, 25)
    assert second.figure("acceptance_length") == pytest.approx(50 / 31)
    assert second.setting.drafts and not first.setting.drafts


def test_ollama_in_its_own_words() -> None:
    (run,) = runs("ollama_new_engine.log")
    assert run.setting.engine == "ollama"
    assert gib(run, "weights", "weights_host") == [59.8, 1.1]
    assert mib(run, "kv_cache", "compute_buffer") == [450, 121.8]
    assert run.setting.layers_on_device == 37


def test_a_paste_with_a_frame_and_a_container_name_reads_the_same() -> None:
    """People paste from terminals with frames, and logs of a service with a name before each line."""
    plain = (FIXTURES / "vllm_0_8_v0_tp2.log").read_text(encoding="utf-8")
    framed = "".join(f"│ {line} │\n" for line in plain.splitlines())
    named = "".join(f"Aug 18 22:22:05 host vllm[18]: {line}\r\n" for line in plain.splitlines())

    wanted = runs("vllm_0_8_v0_tp2.log")[0]
    for text in (framed, named):
        (run,) = read_text(text, "paste").runs
        assert run.ledger == wanted.ledger
        assert run.setting == wanted.setting


def test_a_log_of_days_is_read_up_to_a_limit_which_is_told() -> None:
    start = (FIXTURES / "vllm_0_11.log").read_text(encoding="utf-8")
    served = "INFO 09-24 08:00:00 [loggers.py:123] Running: 3 reqs, Prefix cache hit rate: 50.0%\n"
    reading = read_text(start + served * 30_000, "days.log")
    assert reading.runs[0].figures == {("prefix_hit_share", "mean"): 0.5}
    (told,) = reading.problems
    assert told.code == "reading.too_many_rows" and told.values["line"] == 20_001


def test_what_ollama_plans_stands_where_its_runner_says_nothing() -> None:
    (run,) = runs("ollama_offload.log")
    assert run.setting.engine == "ollama" and run.setting.layers_on_device == 33
    assert run.setting.kv_cache_format == "q8_0" and run.setting.context_limit == 8192
    assert run.ledger["weights"] == pytest.approx(4.3 * GIB)
    assert run.ledger["kv_cache"] == GIB and run.ledger["compute_buffer"] == 560 * 2**20
    assert [phrase.key for phrase in run.conversions] == ["conversions.planned_sizes"]
