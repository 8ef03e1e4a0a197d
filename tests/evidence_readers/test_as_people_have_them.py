"""Files as people bring them: types and devices that stand outside a column, encodings, broken parts."""

import pytest

from core.errors import Problem
from core.evidence.pairing import pair_runs
from core.evidence.readers import records
from core.evidence.readers.decoding import decoded
from core.evidence.readers.detect import read_text
from core.evidence.readers.objects import Found, objects
from core.evidence.run_scenario import describe
from core.files import scenario_file
from core.words import Words

EN = Words("en")
GIB = 2**30
# As llama-bench prints it since 2023 (ggml_cuda_init of ggml-cuda.cu, test names of llama-bench.cpp).
CUDA = "ggml_cuda_init: found {n} CUDA devices:\n"
DEVICE = "  Device {i}: {name}, compute capability 8.9, VMM: yes\n"
HEAD = "| model | size | params | backend | ngl | test | t/s |\n"
HEAD += "| --- | ---: | ---: | --- | --: | ---: | ---: |\n"
ROW = "| {kind} | 4.58 GiB | 8.03 B | CUDA | 99 | tg128 | 142.33 ± 0.41 |\n"
# The table of nvidia-smi 570 with two devices.
SMI = """\
| NVIDIA-SMI 570.124.06             Driver Version: 570.124.06     CUDA Version: 12.8     |
|   0  NVIDIA GeForce RTX 3090        Off |   00000000:01:00.0 Off |                  N/A |
| 62%   71C    P2             338W / 350W |   22510MiB / 24576MiB  |     99%      Default |
|   1  NVIDIA GeForce RTX 3090        Off |   00000000:02:00.0 Off |                  N/A |
| 60%   69C    P2             331W / 350W |   22498MiB / 24576MiB  |     99%      Default |
"""
TABLE = "模型,显卡,引擎,版本,量化,并发,输入长度,输出长度,首token延迟(ms),每token时间(ms),备注\n"
LINE = "Qwen/Qwen3-32B-AWQ,RTX 3090,vLLM,0.11.0,AWQ,4,2048,256,2100,21.6,中等\n"


def codes(reading):
    return [(p.code.removeprefix("reading."), p.values["line"]) for p in reading.problems]


@pytest.mark.parametrize(
    ("kind", "stated", "weights"),
    [
        ("llama 8B Q4_K - Medium", "Q4_K_M", "gguf_q4_k_m"),
        ("llama 8B Q5_K - Small", "Q5_K_S", "gguf_q5_k_s"),
        ("llama 8B Q8_0", "Q8_0", "gguf_q8_0"),
        ("llama 8B BF16", "BF16", "gguf_bf16"),
    ],
)
def test_the_type_of_the_weights_in_the_name_of_a_model(samples, kind, stated, weights):
    """Not the open scenario's: that of a run of llama.cpp is no AWQ."""
    (run,) = read_text(HEAD + ROW.format(kind=kind), "b.md").runs
    assert run.setting.weight_format == stated
    scenario = describe(run, scenario_file.load(samples[0])).scenario
    assert scenario is not None and scenario.precision.weights == weights


def test_the_devices_above_a_table_are_those_of_its_rows():
    one = CUDA.format(n=1) + DEVICE.format(i=0, name="NVIDIA GeForce RTX 4090")
    two = CUDA.format(n=2) + "".join(DEVICE.format(i=i, name="NVIDIA GeForce RTX 3090") for i in (0, 1))
    table = HEAD + ROW.format(kind="llama 8B Q8_0")
    first, second = read_text(f"{one}{table}\nbuild: 7049c26 (6800)\n\n{two}{table}", "b.md").runs
    assert (first.setting.accelerator, first.setting.accelerators) == ("NVIDIA GeForce RTX 4090", 1)
    assert (second.setting.accelerator, second.setting.accelerators) == ("NVIDIA GeForce RTX 3090", 2)
    described = describe(first).scenario
    assert described is not None and described.accelerator.name == "RTX 4090"
    (bare,) = read_text(table, "b.md").runs
    assert bare.setting.accelerator == "" and bare.setting.accelerators is None


def test_a_table_saved_by_a_spreadsheet_on_a_chinese_windows():
    text = TABLE + LINE
    wanted = read_text(text, "r.csv").runs
    assert len(wanted) == 1 and wanted[0].setting.engine_version == "0.11.0"
    for encoding in ("gbk", "gb18030"):
        reading = read_text(text.encode(encoding), "r.csv")
        assert reading.runs == wanted and not reading.problems


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("t/s 12.3 ± 0.4 °C, naïve café".encode("latin-1"), None),  # no Chinese, no guess
        ("吞吐与显存".encode() + b"\xff" + "首个延迟".encode(), None),
        (("吞吐,显存\n" * 20_000).encode("gbk"), "吞吐,显存\n" * 20_000),
    ],
    ids=["latin", "broken", "long"],
)
def test_chinese_is_not_seen_where_there_is_none(data, text):
    found, notes = decoded(data, "x")
    if text is None:
        assert "\N{REPLACEMENT CHARACTER}" in found and notes
    else:
        assert found == text and not notes


def test_what_a_monitor_reads_is_compared_with_the_total(samples):
    """22,510 MiB are 21.98 GiB; the scenario's two devices stay two."""
    base = scenario_file.load(samples[1])
    pairs = pair_runs(read_text(SMI, "smi.txt").runs, base)
    assert [len(pair.ledger) for pair in pairs] == [1, 1]
    (row,) = pairs[0].ledger
    assert pairs[0].scenario is not None and pairs[0].scenario.deployment == base.deployment
    assert row.line == "total" and row.measured == 22510 * 2**20
    # vLLM takes its share at once, as its documentation says, whatever is needed.
    share = base.engine.gpu_memory_utilization
    assert row.predicted is not None and share * 23 * GIB < row.predicted < 24 * GIB
    assert "memory_used" not in {left.figure for left in pairs[0].left}


def test_broken_parts_are_told_as_what_they_are():
    cut = read_text("".join(SMI.splitlines(keepends=True)[:2]), "smi.txt")
    assert codes(cut) == [("no_samples", 2)] and "benchmark" not in EN.problem(cut.problems[0])
    short = read_text(TABLE + LINE + "Qwen/Qwen3-32B-AWQ,RTX 3090,vLLM\n", "r.csv")
    assert len(short.runs) == 1 and codes(short) == [("row", 3)]
    assert (short.problems[0].values["found"], short.problems[0].values["wanted"]) == (3, 11)


def test_amounts_of_a_start_that_are_none_are_told():
    log = (
        "INFO [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='Qwen/Qwen3-32B-AWQ'\n"
        "INFO [gpu_model_runner.py:2653] Model loading took ?? GiB and 31.551 seconds\n"
        "INFO [gpu_worker.py:298] Available KV cache memory: -3.2 GiB\n"
    )
    reading = read_text(log, "start.log")
    assert codes(reading) == [("number", 2), ("negative", 3)]
    assert "-3.2 GiB, less than nothing" in EN.problem(reading.problems[1])
    assert not codes(read_text(log.replace("??", "9.1").replace("-3.2", "3.2"), "start.log"))


def test_statements_of_the_older_table_are_read() -> None:
    fields = "build_commit, build_number, model_type, n_prompt, n_gen, avg_ns, avg_ts"
    values = "'1a2b', '4200', 'llama 7B Q4_0', '0', '128', '2000000000', '64.0'"
    made = "CREATE TABLE IF NOT EXISTS test (\n  n_gen INTEGER\n);\n\n"
    reading = read_text(f"{made}INSERT INTO test ({fields}) VALUES ({values});\n", "bench.sql")
    assert [run.figure("decode_throughput") for run in reading.runs] == [64.0]
    assert not reading.problems


def test_units_of_an_own_table_that_change_the_digits_are_told() -> None:
    text = "model,gpu,input length,memory (GB),TTFT (ms)\nQwen3-8B,RTX 4090,4k,18.5,210\n"
    run = read_text(text, "runs.csv").runs[0]
    assert run.setting.input_tokens == 4096 and run.figure("memory_used") == 18.5e9
    assert {phrase.key for phrase in run.conversions} == {
        "conversions.kibi_tokens",
        "conversions.decimal_bytes",
    }


def test_of_many_foreign_objects_only_the_first_are_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[int] = []

    def counted(text: str, name: str) -> tuple[list[Found], list[Problem]]:
        looked.append(len(text))
        return objects(text, name)

    monkeypatch.setattr(records, "objects", counted)
    text = '{"time": 1, "message": "step done"}\n' * 30_000
    reading = read_text(text, "events.jsonl")
    assert not reading.runs and {told.code for told in reading.problems} == {"reading.unknown_object"}
    assert looked and sum(looked) < len(text) // 2
