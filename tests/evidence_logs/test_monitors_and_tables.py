"""Device monitors, profiler traces, a person's own log of runs, this project's tables: values by hand."""

import gzip
import json
from pathlib import Path

import pytest

from core.evidence.readers.detect import read_files, read_text
from core.evidence.readers.run_table_heads import head_of
from core.evidence.run import Run
from core.words import Words

FIXTURES = Path(__file__).parent / "fixtures"
GIB, MIB = 2**30, 2**20


def runs(name: str, problems: int = 0) -> tuple[Run, ...]:
    reading = read_files([FIXTURES / name])
    assert len(reading.problems) == problems
    return reading.runs


def figures(run: Run, statistic: str = "mean") -> dict[str, float]:
    return {name: value for (name, of), value in run.figures.items() if of == statistic}


def test_the_table_of_nvidia_smi() -> None:
    first, second = runs("nvidia_smi_table.txt")
    assert figures(first) == {
        "temperature": 41,
        "power": 359,
        "memory_used": 73402 * MIB,
        "utilization": 0.97,
    }
    assert first.ledger == {"device_total": 81559 * MIB}
    assert (first.setting.accelerator, first.label) == ("NVIDIA H100 80GB HBM3", "GPU 0")
    assert first.started_at == "2025-07-03T13:31:10"
    assert first.origin.tool_version == "550.54.15"
    assert (second.setting.accelerator, second.label) == ("NVIDIA GeForce RTX 4090", "GPU 1")
    assert second.figure("utilization") == 0  # a reading of nothing is a reading


def test_the_table_of_an_old_driver() -> None:
    (run,) = runs("nvidia_smi_old_table.txt")
    assert figures(run) == {"temperature": 41, "power": 11, "memory_used": 617 * MIB, "utilization": 0.03}
    assert run.setting.accelerator == "GeForce GTX 1080"


def test_the_long_form_of_nvidia_smi() -> None:
    (run,) = runs("nvidia_smi_q.txt")
    assert figures(run) == {
        "memory_used": 22010 * MIB,
        "utilization": 0.99,
        "temperature": 74,
        "power": 348.9,
        "core_clock": 1665e6,
        "memory_clock": 9501e6,
    }
    # What a slow run is explained by: the power cap, and half of the link's lanes.
    assert run.rest["throttled"] == {"sw_power_cap": 1.0}
    assert (run.rest["pcie_generation"], run.rest["link_width"]) == ("4", "8x")
    assert run.rest["power_limit"] == 350


def test_the_xml_form_of_nvidia_smi() -> None:
    (run,) = runs("nvidia_smi_x.xml")
    assert figures(run) == {
        "memory_used": 9116 * MIB,
        "utilization": 0.87,
        "temperature": 83,
        "power": 340.1,
        "core_clock": 1665e6,
        "memory_clock": 9251e6,
    }
    assert run.rest["throttled"] == {"sw_thermal_slowdown": 1.0}


def test_samples_of_a_loop_are_one_run_a_device() -> None:
    first, second = runs("nvidia_smi.csv")
    assert first.figures["power", "mean"] == pytest.approx((390.10 + 400.30) / 2)
    assert (first.figures["memory_used", "min"], first.figures["memory_used", "max"]) == (
        70000 * MIB,
        70100 * MIB,
    )
    assert first.figures["temperature", "p50"] == 61
    assert first.figures["core_clock", "mean"] == 1395e6
    assert first.rest == {"samples": 2, "throttled": {"sw_power_cap": 0.5}}
    assert (first.started_at, first.label) == ("2025-07-03T13:31:10", "GPU 0")
    assert "power" not in figures(second)  # [N/A] is no figure


def test_a_cut_row_of_samples_is_told() -> None:
    reading = read_files([FIXTURES / "nvidia_smi_nounits.csv"])
    (run,) = reading.runs
    assert run.figures["utilization", "max"] == 1
    assert run.rest["throttled"] == {"hw_thermal_slowdown": 0.5}
    assert [(p.code, p.values["line"]) for p in reading.problems] == [("reading.line", 4)]


def test_dmon_with_and_without_dates() -> None:
    first, second = runs("nvidia_smi_dmon.txt")
    assert figures(first)["power"] == 310
    assert figures(first)["memory_used"] == 73402 * MIB
    assert figures(second)["core_clock"] == 345e6
    (dated,) = runs("nvidia_smi_dmon_dates.txt")
    assert figures(dated)["power"] == 400
    assert dated.started_at == "2025-07-03T13:31:10"
    assert dated.rest["throttled"] == {"power": 1.0}


def test_pmon_tells_processes_apart() -> None:
    first, second = runs("nvidia_smi_pmon.txt")
    assert figures(first) == {"memory_used": 7669 * MIB}
    assert figures(second) == {"memory_used": 1635 * MIB, "utilization": 0.4}
    assert second.rest["process"] == "python"


def test_a_trace_of_the_profiler() -> None:
    (run,) = runs("torch_trace.json")
    # The first matrix was launched by an operator of the trace, whose shape is known; the second was not.
    told = [(one.name[:10], one.name[-12:], round(one.seconds * 1e6, 6), one.calls) for one in run.operators]
    assert told == [
        ("sm90_xmma_", " [4096×4096]", 300, 1),
        ("sm90_xmma_", "ze128x128x64", 200, 1),
        ("void at::n", "<128, 4>(int)"[-12:], 50, 1),
        ("Memcpy Hto", "e -> Device)", 10, 1),
    ]
    # From 100 to 910 µs; busy 300 + 200 (the third kernel ran inside the second) + 10.
    assert run.figure("utilization") == pytest.approx(510 / 810)
    assert (run.setting.accelerator, run.setting.accelerators) == ("NVIDIA H100 80GB HBM3", 2)
    assert run.rest["profiler_steps"] == 1
    assert run.ledger["device_total"] == 85017493504


def test_a_trace_of_2021_is_a_bare_list() -> None:
    (run,) = runs("torch_trace_2021.json")
    assert [(one.name, one.calls) for one in run.operators] == [
        ("volta_sgemm_128x64_nn", 1),
        ("Memset (Device)", 1),
    ]


def test_a_packed_trace_is_the_same(tmp_path: Path) -> None:
    packed = tmp_path / "torch_trace.json.gz"
    packed.write_bytes(gzip.compress((FIXTURES / "torch_trace.json").read_bytes()))
    (found,) = read_files([packed]).runs
    assert found.operators == runs("torch_trace.json")[0].operators
    (pasted,) = read_text(packed.read_bytes(), "x.gz").runs
    assert pasted.operators == found.operators


def test_other_packed_files_are_read_as_well(tmp_path: Path) -> None:
    packed = tmp_path / "server.log.gz"
    packed.write_bytes(gzip.compress((FIXTURES / "vllm_0_11.log").read_bytes()))
    assert read_files([packed]).runs[0].ledger == runs("vllm_0_11.log")[0].ledger


def test_a_chinese_log_of_runs() -> None:
    first, second = runs("run_log_zh.csv", problems=2)
    assert first.figures == {
        ("memory_used", "mean"): 18.2e9,
        ("time_to_first_token", "mean"): pytest.approx(0.31),
        ("time_per_output_token", "mean"): pytest.approx(0.0225),
        ("output_throughput", "mean"): 355.6,
    }
    assert (first.setting.model, first.setting.input_tokens) == ("Qwen2.5-7B-Instruct", 1024)
    assert (first.setting.concurrency, first.started_at) == (8, "2025-10-01")
    assert first.rest["note"] == "基线"
    # The cell's own unit goes before the header's; 4K tokens are 4,096.
    assert second.figure("memory_used") == pytest.approx(20.1 * GIB)
    assert second.figure("time_to_first_token") == 0.9
    assert (second.setting.input_tokens, second.started_at) == (4096, "2025-10-02T14:30:00")


def test_a_row_without_figures_is_told_with_its_line() -> None:
    told = [(p.code, p.values["line"]) for p in read_files([FIXTURES / "run_log_zh.csv"]).problems]
    assert told == [("reading.not_number", 4), ("reading.no_figures", 4)]


def test_a_log_of_runs_with_semicolons_and_decimal_commas() -> None:
    (run,) = runs("run_log_en.csv")
    assert run.figures["time_to_first_token", "p50"] == 0.1
    assert run.figures["time_to_first_token", "p99"] == pytest.approx(0.15)
    assert run.figure("time_per_output_token") == pytest.approx(0.0095)
    assert run.figures["memory_used", "max"] == 6000 * MIB
    assert run.figure("decode_throughput") == 100
    assert run.figure("utilization") == pytest.approx(0.98)
    assert run.setting.weight_format == "int4"


def test_units_that_nobody_stated_are_told_by_size_and_said() -> None:
    first, second = runs("run_log.jsonl", problems=1)
    for run in (first, second):
        assert run.figure("time_to_first_token") == pytest.approx(0.21)
        assert run.figure("time_per_output_token") == pytest.approx(0.0143)
        assert run.figure("memory_used") == pytest.approx(15.1e9)
    said = [Words("en").phrase(phrase) for phrase in second.conversions]
    assert said == [
        "“memory_gb” is in GB, powers of ten; shown in GiB.",
        "“TTFT” states no unit; by its size it was taken as ms.",
        "“TPOT” states no unit; by its size it was taken as ms.",
    ]


def test_a_log_of_runs_in_markdown_and_in_json() -> None:
    (run,) = runs("run_log.md")
    assert run.figures["time_to_first_token", "p95"] == pytest.approx(0.48)
    assert run.figure("memory_used") == 39.5 * GIB
    assert (run.setting.accelerator, run.setting.input_tokens) == ("L40S", 1024)
    (run,) = runs("run_log.json")
    assert run.figure("memory_used") == 15000 * MIB
    assert run.figures["time_to_first_token", "p99"] == pytest.approx(0.9)
    assert run.figure("output_throughput") == 70
    assert run.setting.kv_cache_format == "fp8"


@pytest.mark.parametrize(
    ("header", "name", "statistic", "factor"),
    [
        ("TTFT (ms)", "time_to_first_token", "mean", 1e-3),
        ("首 token 延迟（毫秒）", "time_to_first_token", "mean", 1e-3),
        ("首字时延/s", "time_to_first_token", "mean", 1.0),
        ("p99_ttft_ms", "time_to_first_token", "p99", 1e-3),
        ("每 token 延迟(ms)", "time_per_output_token", "mean", 1e-3),
        ("TPOT ms/token", "time_per_output_token", "mean", 1e-3),
        ("tokens/s", "output_throughput", "mean", 1.0),
        ("吞吐率(tok/s)", "output_throughput", "mean", 1.0),
        ("prefill tok/s", "prompt_throughput", "mean", 1.0),
        ("QPS", "request_throughput", "mean", 1.0),
        ("E2E latency (s)", "end_to_end", "mean", 1.0),
        ("峰值显存 (GiB)", "memory_used", "max", float(GIB)),
        ("GPU memory MB", "memory_used", "mean", 1e6),
        ("GPU 利用率(%)", "utilization", "mean", 0.01),
        ("平均功耗 (W)", "power", "mean", 1.0),
    ],
)
def test_headers(header: str, name: str, statistic: str, factor: float | None) -> None:
    head = head_of(header)
    assert head is not None and head.kind == "figure"
    assert (head.name, head.statistic, head.factor) == (name, statistic, factor)


@pytest.mark.parametrize("header", ["seed", "loss", "price", "TTFT (apples)", "hostname", "温度计品牌"])
def test_headers_that_mean_nothing_here(header: str) -> None:
    head = head_of(header)
    assert head is None or head.kind != "figure"


def test_the_article_names_every_column_that_is_needed() -> None:
    """Its list: model version, input and output length, memory, TTFT, TPOT, throughput."""
    text = (
        "model version,input length,output length,memory,TTFT,TPOT,throughput\n7b,512,128,15.5,0.8,0.02,49\n"
    )
    (run,) = read_text(text, "runs.csv").runs
    assert figures(run) == {
        "memory_used": 15.5e9,
        "time_to_first_token": 0.8,
        "time_per_output_token": 0.02,
        "output_throughput": 49,
    }
    assert (run.setting.model, run.setting.input_tokens, run.setting.output_tokens) == ("7b", 512, 128)


def test_measured_ledgers() -> None:
    first, _second, third = runs("measured_memory.jsonl")
    assert round(first.ledger["weights"] / GIB, 2) == 64.38
    assert (first.setting.engine, first.setting.utilization, first.setting.prefix_cache) == (
        "vllm",
        0.9,
        True,
    )
    assert round(first.ledger["device_total"] / GIB, 2) == 79.18
    # llama.cpp's buffers are its weights and its cache.
    assert round(third.ledger["weights"] / MIB, 2) == 5049.71
    assert third.ledger["kv_cache"] == 640 * MIB


def test_records_of_one_run_are_put_together() -> None:
    first, second, served = runs("measured_speed.jsonl")
    assert first.figures == {("decode_throughput", "mean"): 72.79}
    assert (first.setting.engine, first.setting.output_tokens) == ("llamacpp", 512)
    assert second.label == "sp0002"
    assert served.figures == {
        ("output_throughput", "mean"): 556.7592,
        ("time_per_output_token", "mean"): pytest.approx(0.007169),
        ("inter_token_latency", "p50"): pytest.approx(0.0070095),
    }
    assert served.rest["ids"] == ["sp3430", "sp3431", "sp3432"]


def test_served_points_hold_what_was_measured_and_no_predictions() -> None:
    first, second = runs("measured_points.csv")
    assert first.figures == {
        ("time_to_first_token", "mean"): pytest.approx(0.259911),
        ("time_per_output_token", "mean"): pytest.approx(0.0102923),
    }
    assert (first.setting.concurrency, first.setting.accelerators, second.setting.concurrency) == (4, 8, 16)
    assert first.rest["aic_ttft_ms"] == "129.391"


def test_every_table_of_this_project_is_read_whole() -> None:
    table = Path(__file__).parents[1] / "reference" / "measured_memory.jsonl"
    lines = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    reading = read_files([table])
    assert len(reading.runs) == len([line for line in lines if line["observed"]])
    for run in reading.runs:
        assert all(value >= 0 for value in run.ledger.values())
