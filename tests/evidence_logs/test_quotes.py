"""The lines of a start-up log that stay with a run: which ones, what each gave, how they are kept."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.evidence.readers.detect import read_files, read_text
from core.evidence.run import Quote, Run
from core.evidence.run_files import runs_jsonl
from core.evidence.run_json import from_tree, to_tree
from core.evidence.run_log import DATABASE, RunLog

FIXTURES = Path(__file__).resolve().parent / "fixtures"
LOGS = ("vllm_0_28_tp2", "vllm_0_6_5", "sglang_2025", "tensorrt_llm_engine", "llama_cpp_2024_two_gpus")


def run_of(name: str) -> Run:
    return read_files([FIXTURES / f"{name}.log"]).runs[0]


@pytest.mark.parametrize("name", LOGS)
def test_each_line_stands_in_the_file_and_gave_a_line_of_the_ledger(name: str) -> None:
    run = run_of(name)
    file = (FIXTURES / f"{name}.log").read_text(encoding="utf-8").splitlines()
    giving = [one for one in run.log if one.gave]
    assert giving and {"weights", "kv_cache"} & {line for one in giving for line in one.gave}
    for one in run.log:
        words = one.text.rstrip("…").split()
        assert words[-1] in file[one.number - 1] or words[-2] in file[one.number - 1]
    told = {line for one in giving for line in one.gave}
    derived = {"activation_peak", "non_torch", "kv_cache_tokens", "kv_cache"}  # may follow from others
    assert set(run.ledger) - derived <= told


def test_stamps_are_left_out_and_amounts_are_not() -> None:
    run = run_of("vllm_0_11")
    weights = next(one for one in run.log if one.gave == ("weights",))
    assert weights.text == "INFO Model loading took 14.2717 GiB and 3.652170 seconds"
    assert {len(one.gave) for one in run.log} >= {0, 1}
    assert max(len(one.gave) for one in run.log) > 3  # the closing sentence holds the whole ledger


def test_a_log_of_a_hundred_thousand_lines_keeps_few() -> None:
    line = "INFO 09-14 10:00:27 [gpu_model_runner.py:3338] Model loading took 14.9889 GiB memory\n"
    config = "INFO Initializing a V1 LLM engine (v0.21.0) with config: model='" + "x" * 5000 + "'\n"
    run = read_text(config * 30 + line * 100_000, "long.log").runs[0]
    assert 0 < len(run.log) <= 50
    assert all(len(one.text) <= 480 for one in run.log)


def test_lines_go_through_files_and_the_log_of_runs(tmp_path: Path) -> None:
    run = run_of("sglang_2025")
    assert from_tree(json.loads(json.dumps(to_tree(run)))).log == run.log
    assert read_text(runs_jsonl([run]), "x.jsonl").runs[0].log == run.log
    log = RunLog(tmp_path / DATABASE)
    assert log.add("a", [run]) == 1
    assert log.runs("a")[0].log == run.log
    assert log.add("a", [replace(run, log=())]) == 0, "the same run, read before lines were kept"


@pytest.mark.parametrize("kept", [7, "text", [1, [2], ["1", "x", ""], [True, "x", ""], [1, "x"]], {"a": 1}])
def test_foreign_lines_are_passed_over(kept: object) -> None:
    tree = {**to_tree(run_of("vllm_0_11")), "log": kept}
    assert from_tree(tree).log == ()
    tree["log"] = [kept, [3, "INFO x", "weights"]]
    assert from_tree(tree).log == (Quote(3, "INFO x", ("weights",)),)
