"""Benchmark outputs: a file of the real shape for every tool and version, and what it says, by hand.

Figures in the files come from public results where there are such: the serving blocks from
https://github.com/sgl-project/sglang/issues/12389 and /issues/2805 and from results of vLLM users, the
tests of llama-bench from its README (https://github.com/ggml-org/llama.cpp/tree/master/tools/llama-bench),
the table of GenAI-Perf from the guide of CloudAI, AIPerf's from its page of the export schema.  The
definitions are those of the tools' sources.
"""

import math
from pathlib import Path

import pytest

from core.evidence.readers.detect import read_files
from core.evidence.run import FIGURES, STATISTICS, Run

FIXTURES = Path(__file__).parent / "fixtures"


def read(name: str):
    return read_files([FIXTURES / name])


def only(name: str) -> Run:
    reading = read(name)
    assert len(reading.runs) == 1
    return reading.runs[0]


def figures(run: Run) -> dict[str, float]:
    return {f"{figure}.{statistic}": value for (figure, statistic), value in run.figures.items()}


def stated(run: Run) -> dict[str, object]:
    names = run.setting.__dataclass_fields__
    return {n: v for n in names if (v := getattr(run.setting, n)) is not None and v != ""}


def converted(run: Run) -> set[str]:
    return {phrase.key.removeprefix("conversions.") for phrase in run.conversions}


def codes(name: str) -> list[tuple[str, int]]:
    return [(p.code.removeprefix("reading."), p.values["line"]) for p in read(name).problems]


@pytest.mark.parametrize("path", sorted(FIXTURES.iterdir()), ids=lambda path: path.name)
def test_every_file_is_read(path: Path) -> None:
    reading = read_files([path])
    assert reading.runs
    for run in reading.runs:
        assert run.origin.file == path.name and run.origin.line >= 1
        assert run.figures or run.ledger or run.operators
        for (figure, statistic), value in run.figures.items():
            assert figure in FIGURES and statistic in STATISTICS
            assert math.isfinite(value) and value >= 0
        if run.setting.output_tokens:
            assert 0 < run.setting.output_tokens < 1e7


# vLLM


def test_vllm_serve_of_2024_has_no_total_throughput() -> None:
    run = only("vllm_serve_2024.json")
    assert run.origin.tool == "vllm_serve" and run.started_at == "2024-04-18T09:12:33"
    assert stated(run) == {
        "engine": "vllm",
        "model": "meta-llama/Llama-2-7b-chat-hf",
        "input_tokens": 150.0,  # 300 over 2 completed
        "output_tokens": 50.0,
        "request_rate": math.inf,
        "requests": 2,
    }
    seen = figures(run)
    assert seen["time_to_first_token.mean"] == pytest.approx(0.2105)
    assert seen["time_to_first_token.p50"] == pytest.approx(0.2)
    assert seen["time_per_output_token.p99"] == pytest.approx(0.036)
    assert seen["total_throughput.mean"] == pytest.approx(100.0)  # 75 in and 25 out
    assert converted(run) == {"milliseconds", "sum", "tokens_of_a_request"}
    assert not run.rest.keys() & {"ttfts", "itls", "generated_texts", "errors", "input_lens"}
    assert codes("vllm_serve_2024.json") == [("failed_requests", 1)]  # 2 of 3


def test_vllm_serve_of_2025() -> None:
    run = only("vllm_serve_2025.json")
    assert stated(run) == {
        "engine": "vllm",  # the key is endpoint_type in these versions
        "model": "Qwen/Qwen3-8B",
        "accelerator": "NVIDIA H100 80GB HBM3",  # from --metadata
        "tensor_parallel": 2,
        "input_tokens": 1024.0,
        "output_tokens": 128.0,
        "concurrency": 64.0,
        "request_rate": 4.0,
        "requests": 200,
    }
    seen = figures(run)
    assert seen["time_per_output_token.mean"] == pytest.approx(0.011)
    assert seen["inter_token_latency.p99"] == pytest.approx(0.021)
    assert seen["end_to_end.p50"] == pytest.approx(1.47)
    assert seen["time_to_first_token.p90"] == pytest.approx(0.101)
    assert seen["output_throughput.mean"] == 512.0 and seen["total_throughput.mean"] == 4608.0
    assert run.label == "after tuning"
    assert run.rest["request_goodput"] == 3.5  # the key ends in a colon in these versions
    assert run.rest["p99.9_ttft_ms"] == 190.0


def test_vllm_serve_of_2026_with_drafts() -> None:
    run = only("vllm_serve_2026.json")
    setting = stated(run)
    assert "engine" not in setting  # any server answers to openai-chat
    assert setting["drafts"] == "unspecified" and setting["requests"] == 98
    assert (setting["input_tokens"], setting["output_tokens"]) == (1000.0, 500.0)
    seen = figures(run)
    assert seen["acceptance_length.mean"] == 2.4
    # With drafts a chunk holds several tokens: the gap between chunks is not the time of a token.
    assert seen["inter_token_latency.mean"] == pytest.approx(2.4 * seen["time_per_output_token.mean"])
    assert run.rest["spec_decode_acceptance_rate"] == 61.5
    assert run.rest["mean_client_queue_time_ms"] == 812.0
    assert codes("vllm_serve_2026.json") == [("failed_requests", 1)]


def test_appended_results_are_runs_of_their_own() -> None:
    first, second = read("vllm_serve_appended.json").runs
    assert (first.origin.line, second.origin.line) == (1, 2)
    assert (first.setting.concurrency, second.setting.concurrency) == (16.0, 32.0)
    assert figures(second)["time_per_output_token.mean"] == pytest.approx(0.0075)


def test_vllm_blocks_in_a_pasted_terminal() -> None:
    first, second = read("vllm_serve_console.txt").runs
    assert (first.origin.line, second.origin.line) == (9, 34)
    assert stated(first) == {
        "engine": "vllm",
        "model": "ibm-granite/granite-3.1-8b-instruct",
        "input_tokens": 2048.0,
        "output_tokens": 2048.0,
        "concurrency": 32.0,
        "request_rate": math.inf,
        "requests": 32,
    }
    seen = figures(first)
    assert seen["time_to_first_token.mean"] == pytest.approx(7.27956)
    assert seen["time_per_output_token.p50"] == pytest.approx(0.07023)
    assert seen["inter_token_latency.p99"] == pytest.approx(0.07247)
    assert seen["total_throughput.mean"] == 868.8  # "Total Token" here, "Total token" in the second
    assert first.rest["burstiness"] == "1.0"
    setting, seen = stated(second), figures(second)
    assert (setting["request_rate"], setting["concurrency"], setting["requests"]) == (2.5, 8.0, 50)
    assert "model" not in setting  # that of the first block is not the second's
    assert seen["total_throughput.mean"] == 2304.0 and seen["acceptance_length.mean"] == 2.1
    assert second.rest["max_output_tokens_per_s"] == "410.00"


def test_vllm_throughput() -> None:
    run = only("vllm_throughput.json")
    assert figures(run) == {"request_throughput.mean": 50.0, "total_throughput.mean": 25000.0}
    assert run.setting.requests == 1000
    first, second = read("vllm_throughput.txt").runs
    assert figures(first) == {
        "request_throughput.mean": 12.5,
        "total_throughput.mean": 14400.0,
        "output_throughput.mean": 1600.0,
    }
    assert (first.setting.input_tokens, first.setting.output_tokens) == (1024.0, 128.0)
    assert first.setting.model == "Qwen/Qwen2.5-7B-Instruct" and first.setting.tensor_parallel == 1
    # The oldest versions print requests and all tokens only.
    assert figures(second) == {"request_throughput.mean": 7.15, "total_throughput.mean": 4656.0}


def test_vllm_latency() -> None:
    run = only("vllm_latency.json")
    assert figures(run) == {
        "end_to_end.mean": 1.25,
        "end_to_end.std": 0.01,
        "end_to_end.p25": 1.245,
        "end_to_end.p50": 1.25,
        "end_to_end.p75": 1.255,
        "end_to_end.p90": 1.258,
        "end_to_end.p99": 1.26,
    }
    text = only("vllm_latency.txt")
    assert figures(text)["end_to_end.p90"] == 0.321
    assert (text.setting.input_tokens, text.setting.output_tokens, text.setting.concurrency) == (32, 128, 8)


# SGLang


def test_sglang_lines_with_infinity_and_without_streaming() -> None:
    still, streamed = read("sglang_serving_2025.jsonl").runs
    assert still.setting.request_rate == math.inf and still.setting.concurrency == 16.0
    seen = figures(still)
    # Without streaming the first token was never timed, and the time per token holds the prefill.
    assert not [key for key in seen if key.startswith(("time_to_first", "time_per_output", "inter_token"))]
    assert seen["end_to_end.mean"] == pytest.approx(4.760202868748844)
    assert seen["total_throughput.mean"] == pytest.approx(816773.1476989945 + 3267.0925907959777)
    assert codes("sglang_serving_2025.jsonl") == [("not_streamed", 1)]
    seen = figures(streamed)
    assert seen["time_per_output_token.mean"] == pytest.approx(0.0095)
    assert seen["inter_token_latency.max"] == pytest.approx(0.15)
    assert seen["inter_token_latency.p95"] == pytest.approx(0.012)
    assert streamed.setting.concurrency == 20.0  # Σ latency over the duration: no limit was set
    assert "concurrency_mean" in converted(streamed)
    assert streamed.setting.input_tokens == 512.0  # measured, not the random length asked for


def test_sglang_with_the_server_s_arguments() -> None:
    run = only("sglang_serving_2026.jsonl")
    assert stated(run) == {
        "engine": "sglang",
        "engine_version": "0.5.5",
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "tensor_parallel": 4,
        "pipeline_parallel": 1,
        "expert_parallel": 1,
        "data_parallel": 1,
        "weight_format": "fp8",
        "kv_cache_format": "auto",
        "context_limit": 131072,
        "utilization": 0.85,
        "batched_tokens": 8192,
        "sequences": 256,
        "block_size": 1,
        "graphs": True,
        "prefix_cache": False,
        "drafts": "EAGLE3",
        "input_tokens": 300.0,
        "output_tokens": 256.0,
        "concurrency": 32.0,
        "request_rate": math.inf,
        "requests": 320,
    }
    assert figures(run)["total_throughput.mean"] == 4448.0
    assert figures(run)["acceptance_length.mean"] == 3.0
    assert run.label == "eagle3 tp4"


def test_sglang_blocks() -> None:
    first, second = read("sglang_serving_console.txt").runs
    assert first.origin.tool == "sglang_serving" and first.setting.engine == "sglang"
    assert first.setting.model == "meta-llama/Llama-3.1-8B-Instruct"
    assert first.setting.concurrency == 775.0  # "Max reqeuest concurrency: not set"
    assert figures(first)["end_to_end.mean"] == pytest.approx(80.12693)
    assert figures(first)["inter_token_latency.max"] == pytest.approx(2.1)
    assert figures(first)["acceptance_length.mean"] == 2.25
    assert first.setting.input_tokens == pytest.approx(369103 / 1648)
    seen = figures(second)
    assert seen["total_throughput.mean"] == 2121.89  # "Total throughput" in this version
    # Every answer came as one chunk: 2,074 ms of 2,098 are "the first token", and there are no gaps.
    assert sorted(seen) == [
        *("end_to_end.mean", "end_to_end.p50", "output_throughput.mean", "request_throughput.mean"),
        "total_throughput.mean",
    ]
    assert codes("sglang_serving_console.txt") == [("not_streamed", 33)]
    assert second.setting.request_rate == 2.0


def test_sglang_one_batch() -> None:
    one, many = read("sglang_one_batch.jsonl").runs
    assert one.origin.tool == "sglang_one_batch" and one.label == "before"
    assert figures(many) == {
        "total_throughput.mean": 59395.7,
        "time_to_first_token.mean": 0.5,
        "prompt_throughput.mean": 65536.0,
        "time_per_output_token.p50": 0.008,
        "decode_throughput.p50": 4000.0,
        "end_to_end.mean": 0.556,
        "user_throughput.p50": 125.0,  # 4,000 over 32
    }
    assert converted(one) == {"prefill_is_first"}
    assert converted(many) == {"prefill_is_first", "user_of_total"}
    # The warm-up is no run; the line before it is one of the engine's start.
    started, text = read("sglang_one_batch.txt").runs
    assert started.ledger == {"kv_cache_tokens": 444500} and not started.figures
    assert text.origin.line == 9
    assert text.setting.concurrency == 8.0
    assert text.setting.input_tokens == 512.0  # 64,000 tok/s × 0.064 s over 8
    assert figures(text)["time_per_output_token.p50"] == 0.008


def test_sglang_one_batch_with_a_server_means_two_things_by_output_throughput() -> None:
    old, new, newest = read("sglang_one_batch_server.jsonl").runs
    # Older: all tokens over the whole time.
    assert figures(old) == {
        "total_throughput.mean": 20800.0,
        "end_to_end.mean": 0.8,
        "output_throughput.mean": 320.0,
    }
    for run in (new, newest):  # newer: over the time after the first token, 16·17/680 = 0.4 s
        seen = figures(run)
        assert seen["decode_throughput.mean"] == 680.0
        assert seen["time_to_first_token.max"] == pytest.approx(0.4)
        assert seen["time_per_output_token.mean"] == pytest.approx(0.4 / 16)
        assert seen["output_throughput.mean"] == pytest.approx(16 * 17 / 0.8)
    assert "first_of_rate" in converted(new) and "first_of_rate" not in converted(newest)
    assert figures(newest)["acceptance_length.mean"] == 1.9
    first, second = read("sglang_one_batch_server.txt").runs
    assert first.setting.concurrency == 4.0 and first.setting.input_tokens == 2048.0
    assert figures(first)["time_per_output_token.mean"] == pytest.approx(0.01)
    assert figures(second) == {
        "total_throughput.mean": 576.0,
        "end_to_end.mean": 2.0,
        "output_throughput.mean": 64.0,
    }


def test_sglang_report_of_batches() -> None:
    one, many = read("sglang_report.md").runs
    assert (many.setting.concurrency, many.setting.input_tokens, many.setting.output_tokens) == (16, 1024, 17)
    assert figures(many)["time_per_output_token.mean"] == pytest.approx(0.4 / 16)
    assert figures(many)["acceptance_length.mean"] == 1.9
    assert figures(one)["decode_throughput.mean"] == 170.0
    assert not codes("sglang_report.md")


# llama.cpp


@pytest.mark.parametrize(
    ("name", "prompt", "made", "seconds"),
    [
        ("llama_bench.csv", 7285.676949, 119.915244, 1.0674316),
        ("llama_bench.json", 7100.002165, 118.881588, 1.07676788),
        ("llama_bench.sql", 7285.676949, 119.915244, 1.0674316),
    ],
)
def test_llama_bench(name: str, prompt: float, made: float, seconds: float) -> None:
    reading, making = read(name).runs
    assert stated(reading) == {
        "engine": "llamacpp",
        "engine_version": "b5163 (8cf427ff)",
        "model": "Qwen2.5-7B-Instruct-Q4_K_M.gguf",
        "weight_format": "Q4_K_M",
        "accelerator": "NVIDIA GeForce RTX 4080",
        "kv_cache_format": "f16",
        "batched_tokens": 2048,
        "input_tokens": 512.0,
        "concurrency": 1.0,
        "context_tokens": 0,
    }
    assert reading.ledger == {"weights": 4677120000.0}
    assert figures(reading)["prompt_throughput.mean"] == prompt
    assert figures(making)["decode_throughput.mean"] == figures(making)["user_throughput.mean"] == made
    # avg_ns is that of the whole test of 128 tokens
    assert figures(making)["time_per_output_token.mean"] == pytest.approx(seconds / 128)
    assert making.label == "tg128" and making.started_at.startswith("2025-04-24T11:5")
    assert not codes(name)


def test_llama_bench_lines_with_depth_and_newer_columns() -> None:
    prompt, deep, both = read("llama_bench.jsonl").runs
    assert [run.origin.line for run in (prompt, deep, both)] == [1, 2, 3]
    assert deep.setting.context_tokens == 4096 and deep.label == "tg128 @ d4096"
    assert deep.setting.layers_on_device == 28  # −1 in the others: all of them, no count
    assert prompt.setting.layers_on_device is None
    assert deep.rest["load_mode"] == "mmap" and deep.rest["split_mode"] == "tensor"
    # One rate over reading and generating is neither of both.
    assert figures(both) == {"total_throughput.mean": 560.0, "total_throughput.std": 140.341520}


def test_llama_bench_of_2023_has_a_column_for_each_back_end() -> None:
    reading, making = read("llama_bench_2023.csv").runs
    assert reading.setting.accelerator == "NVIDIA GeForce RTX 3090 Ti"
    assert reading.setting.context_tokens is None  # no such column: not stated
    assert reading.setting.layers_on_device is None  # 99 was the way to say all
    assert figures(making)["decode_throughput.mean"] == 132.052051
    assert codes("llama_bench_2023.csv") == [("row", 4)]


def test_llama_bench_tables() -> None:
    runs = read("llama_bench.md").runs
    assert [run.label for run in runs] == [
        *("pp512", "tg128", "pp512 @ d512", "tg128 @ d512", "pp4096+tg128"),
        *("tg128", "pp512"),
    ]
    assert figures(runs[0])["prompt_throughput.mean"] == 7340.20
    assert figures(runs[0])["prompt_throughput.std"] == 23.45
    assert figures(runs[1])["time_per_output_token.mean"] == pytest.approx(1 / 120.60)
    assert runs[2].setting.context_tokens == 512
    assert runs[0].setting.kv_cache_format == "q8_0"
    assert runs[0].ledger["weights"] == pytest.approx(4.36 * 2**30)
    assert runs[5].setting.layers_on_device == 20
    assert figures(runs[5])["decode_throughput.std"] == 1.94  # "_" where ± was lost
    assert codes("llama_bench.md") == [("cell", 16), ("row", 17)]


def test_llama_batched_bench() -> None:
    one, eight = read("llama_batched_bench.md").runs
    assert eight.setting.concurrency == 8.0 and eight.setting.context_limit == 8192
    seen = figures(eight)
    assert seen["decode_throughput.mean"] == 400.0  # the sum over the sequences
    assert seen["user_throughput.mean"] == 50.0
    assert seen["time_per_output_token.mean"] == pytest.approx(2.56 / 128)
    assert seen["time_to_first_token.mean"] == 0.256
    assert codes("llama_batched_bench.md") == [("cell", 7)]
    assert "user_of_total" not in converted(one)
    four, _ = read("llama_batched_bench.jsonl").runs
    assert four.origin.line == 2  # log lines between
    assert figures(four)["user_throughput.mean"] == 64.0
    assert "shared_prompt" in converted(four)
    assert four.setting.layers_on_device == 33


def test_llama_sweep_bench_states_the_depth() -> None:
    first, second = read("llama_sweep_bench.md").runs
    assert first.origin.tool == "llama_sweep_bench"
    assert (first.setting.context_tokens, second.setting.context_tokens) == (0, 512)
    assert second.setting.concurrency == 1.0
    assert figures(second)["decode_throughput.mean"] == 80.0
    assert figures(second)["time_per_output_token.mean"] == pytest.approx(1.6 / 128)


# NVIDIA


def test_genai_perf() -> None:
    table = only("profile_export_genai_perf.csv")
    seen = figures(table)
    assert seen["time_to_first_token.mean"] == pytest.approx(1.14631)  # "1,146.31" ms
    assert seen["time_per_output_token.p50"] == pytest.approx(0.03013)  # their inter-token latency
    assert not [key for key in seen if key.startswith("inter_token")]
    assert seen["end_to_end.p99"] == pytest.approx(9.43613)
    assert seen["output_throughput.mean"] == 261.25
    assert (table.setting.input_tokens, table.setting.output_tokens) == (3000.05, 174.45)
    assert table.setting.requests == 40
    assert converted(table) == {"milliseconds", "inter_token_is_per_output"}
    early = only("genai_perf_2024.csv")  # nanoseconds, "Num Output Token"
    assert figures(early)["time_to_first_token.mean"] == pytest.approx(0.02)
    assert figures(early)["time_per_output_token.max"] == pytest.approx(0.003)
    assert early.setting.output_tokens == 4.0
    tree = only("profile_export_genai_perf.json")
    assert tree.origin.tool == "genai_perf"
    assert figures(tree)["time_per_output_token.std"] == pytest.approx(0.0002)
    assert figures(tree)["user_throughput.mean"] == 65.8
    assert (tree.setting.model, tree.setting.concurrency) == ("meta/llama-3.1-8b-instruct", 8.0)


def test_genai_perf_on_a_terminal() -> None:
    run = only("genai_perf_console.txt")
    assert run.origin.tool == "genai_perf" and run.origin.line == 3
    seen = figures(run)
    assert seen["time_to_first_token.mean"] == pytest.approx(0.01626)
    assert seen["time_per_output_token.p90"] == pytest.approx(0.00197)
    assert seen["user_throughput.max"] == 640.0  # its unit is in the next row
    assert seen["output_throughput.mean"] == 520.87
    assert run.setting.output_tokens == 261.9
    assert not codes("genai_perf_console.txt")


def test_aiperf() -> None:
    run = only("profile_export_aiperf.json")
    assert (run.origin.tool, run.origin.tool_version) == ("aiperf", "0.8.0")
    seen = figures(run)
    assert seen["end_to_end.mean"] == pytest.approx(2.62071)
    assert seen["time_per_output_token.mean"] == pytest.approx(0.010)
    assert seen["inter_token_latency.mean"] == pytest.approx(0.0101)  # inter_chunk_latency, in µs
    assert seen["power.mean"] == 320.0  # of two devices
    assert seen["utilization.mean"] == pytest.approx(0.85)
    assert seen["memory_used.mean"] == pytest.approx(60e9)
    assert run.setting.concurrency == 40.0  # of this point of the sweep
    assert (run.setting.accelerator, run.setting.accelerators) == ("NVIDIA H100", 2)
    assert run.setting.output_tokens == 255.0  # with the reasoning tokens
    assert codes("profile_export_aiperf.json") == [("cancelled", 1)]
    table = figures(only("profile_export_aiperf.csv"))
    assert table["time_to_first_token.p99"] == pytest.approx(0.069)
    assert table["output_throughput.mean"] == 1250.0
    repeated = figures(only("profile_export_aiperf_aggregate.json"))
    assert repeated["time_to_first_token.mean"] == pytest.approx(0.1)
    assert repeated["time_to_first_token.p99"] == pytest.approx(0.18)
    assert repeated["time_per_output_token.mean"] == pytest.approx(0.012)  # in s here


def test_trtllm_bench() -> None:
    run = only("trtllm_report.json")
    assert run.setting.accelerator == "NVIDIA H100 80GB HBM3"
    assert (run.setting.accelerators, run.setting.tensor_parallel) == (2, 2)
    assert (run.setting.weight_format, run.setting.kv_cache_format) == ("FP8", "FP8")
    assert run.setting.drafts == "Eagle" and run.setting.concurrency == 400.5
    seen = figures(run)
    assert seen["time_per_output_token.p95"] == pytest.approx(0.025)
    assert seen["user_throughput.mean"] == 45.0  # of the generation; 40 over the whole request
    assert run.rest["output_throughput_per_user_tok_s"] == 40.0
    assert seen["output_throughput.mean"] == 16000.0  # of the system, not of a GPU
    assert seen["end_to_end.min"] == pytest.approx(1.5)
    assert seen["acceptance_length.mean"] == 2.55
    old = only("trtllm_report_2024.json")  # no machine, no streaming
    assert old.setting.accelerator == "" and old.setting.context_limit == 2048
    assert old.setting.weight_format == "float16" and old.setting.kv_cache_format == ""
    assert figures(old)["end_to_end.mean"] == pytest.approx(4.8)
    text = only("trtllm_bench.txt")
    assert text.origin.line == 4
    assert text.setting.accelerator == "NVIDIA H200" and text.setting.tensor_parallel == 4
    assert text.setting.expert_parallel is None  # printed as None
    assert figures(text)["time_per_output_token.p99"] == pytest.approx(0.039)
    assert figures(text)["time_to_first_token.mean"] == pytest.approx(2.1)
    assert figures(text)["end_to_end.p50"] == pytest.approx(34.0)
    assert text.rest["kv_cache_percentage"].startswith("90.00")


# GuideLLM, LLMPerf


def test_guidellm_of_the_first_versions() -> None:
    alone, rated = read("guidellm_01.json").runs
    assert alone.setting.concurrency == 1.0 and rated.setting.request_rate == 3.0
    seen = figures(alone)
    assert seen["time_to_first_token.mean"] == pytest.approx(0.06)
    assert seen["time_per_output_token.p99"] == pytest.approx(0.011)
    assert seen["end_to_end.p90"] == 2.8  # in seconds already
    assert seen["output_throughput.mean"] == 102.4


def test_guidellm_leaves_out_what_the_time_limit_cut_off() -> None:
    run = only("guidellm_03.json")
    assert run.setting.model == "neuralmagic/Qwen2.5-7B-quantized.w8a8"
    assert run.setting.request_rate == 2.0 and run.setting.concurrency == 5.5 and run.setting.requests == 55
    seen = figures(run)
    assert seen["end_to_end.mean"] == 2.9  # of the completed ones; 2.7 of all
    assert seen["time_per_output_token.mean"] == pytest.approx(0.0222)  # their ITL, not their TPOT
    assert seen["output_throughput.mean"] == 243.2
    assert "completed_only" in converted(run)
    assert run.started_at == "2025-04-30T08:00:00+00:00"


def test_guidellm_time_per_token_without_the_first_one() -> None:
    run, alone, flood = read("guidellm_07.json").runs
    # 45.5 ms over 101 tokens, 300 ms of them the first: (45.5·101 − 300)/100
    assert figures(run)["time_per_output_token.mean"] == pytest.approx(0.042955)
    assert "token_time_without_first" in converted(run)
    assert run.setting.concurrency == 8.0 and run.label == "concurrent@8"
    assert run.origin.tool_version == "0.7.0"
    assert alone.setting.concurrency == 1.0
    assert flood.setting.request_rate == math.inf and flood.setting.concurrency == 512.0


def test_llmperf_counts_the_first_token_in() -> None:
    run = only("llmperf_summary.json")
    seen = figures(run)
    # 32 ms over 151 tokens, 520 ms of them the first: (0.032·151 − 0.52)/150
    assert seen["time_per_output_token.mean"] == pytest.approx((0.032 * 151 - 0.52) / 150)
    assert "time_per_output_token.p50" not in seen  # percentiles cannot be converted
    assert seen["request_throughput.mean"] == pytest.approx(61.5 / 60)
    assert seen["output_throughput.mean"] == 155.0
    assert not [key for key in seen if key.startswith("user")]  # theirs has the first token in it
    assert run.rest["results_request_output_throughput_token_per_s_mean"] == 31.0
    assert (run.setting.input_tokens, run.setting.output_tokens) == (545.0, 151.0)  # measured, not asked for


# One request at a time


def test_ollama() -> None:
    first, second = read("ollama_verbose.txt").runs
    assert first.setting.model == "llama3.1:8b" and first.setting.engine == "ollama"
    seen = figures(first)
    assert seen["prompt_throughput.mean"] == pytest.approx(26 / 0.130)
    assert seen["decode_throughput.mean"] == pytest.approx(259 / 3.7)
    assert seen["end_to_end.mean"] == pytest.approx(4.0)  # without loading the model
    seen = figures(second)
    assert seen["time_per_output_token.mean"] == pytest.approx(0.1)  # 1m0s over 600
    assert seen["end_to_end.mean"] == pytest.approx(62.5 - 500e-6)
    api = only("ollama_api.json")
    assert figures(api)["decode_throughput.mean"] == pytest.approx(298 / 4.799921)
    assert figures(api)["time_to_first_token.mean"] == pytest.approx(0.383809)
    assert "nanoseconds" in converted(api)


def test_llama_server_timings() -> None:
    run = only("llama_server_timings.json")
    seen = figures(run)
    assert seen["prompt_throughput.mean"] == 2000.0
    assert seen["time_per_output_token.mean"] == pytest.approx(0.008)
    assert seen["acceptance_length.mean"] == pytest.approx(100 / 40)  # 60 of 100 tokens came as drafts


def test_mlx_lm() -> None:
    batch, single = read("mlx_lm_benchmark.txt").runs
    assert batch.setting.model == "mlx-community/Qwen3-4B-4bit" and batch.setting.concurrency == 4.0
    seen = figures(batch)
    assert seen["decode_throughput.mean"] == 162.0 and seen["user_throughput.mean"] == 40.5
    assert seen["time_to_first_token.mean"] == pytest.approx(4 * 512 / 2048)
    assert seen["memory_used.max"] == pytest.approx(4.2e9)
    assert seen["decode_throughput.min"] == 160.0
    assert figures(single)["end_to_end.mean"] == 3.28
    assert codes("mlx_lm_benchmark.txt") == [("no_averages", 7)]
