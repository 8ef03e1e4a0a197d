"""How many figures of each file are predicted, and which kinds of reason the others have."""

import json
from pathlib import Path

import pytest

from core.evidence.memory_predictions import Prediction
from core.evidence.outcomes import file_row, outcomes_of, reason_rows
from core.evidence.page import accuracy_page
from core.evidence.report import validation_json, validation_text
from core.evidence.served import rules
from core.evidence.validate import predictions_of
from core.words import Words

RECORD = {
    "id": "a1",
    "engine": "vllm",
    "engine_version": "0.11.0",
    "model": "Llama-3.1-8B",
    "gpu": "NVIDIA H100 SXM5 80GB",
    "gpu_count": 1,
    "tp": 1,
    "weight_format": "BF16",
    "mode": "server",
    "batch_or_concurrency": 8,
    "input_len": 512,
    "output_len": 128,
    "metric": "tpot_ms",
    "statistic": "mean",
    "value": 8.0,
}


def prediction(reason="", file="a.jsonl", number=0):
    found = None if reason else 1.0
    return Prediction(f"r{number}", "vllm", "tpot_ms", 1.0, found, found, found, reason, file=file)


def read(tmp_path, *records):
    path = Path(tmp_path) / "speed.jsonl"
    path.write_text("".join(json.dumps({**RECORD, **r}) + "\n" for r in records), encoding="utf-8")
    return predictions_of([path])


def test_a_file_is_counted_by_the_two_kinds_of_reason():
    reasons = ["", "", "", "", "", "same_run_twice", "glitch", "glitch", "percentile", "load_not_stated"]
    (one,) = outcomes_of([prediction(reason, number=i) for i, reason in enumerate(reasons)])
    assert (one.figures, one.predicted) == (10, 5)
    assert one.no_measurement == {"glitch": 2, "same_run_twice": 1}
    assert one.left_out == {"percentile": 1, "load_not_stated": 1}
    assert one.share_left_out == pytest.approx(0.2)


def test_several_files_are_also_counted_together():
    found = outcomes_of([prediction(file="a"), prediction("percentile", "b"), prediction(file="b")])
    assert [(one.file, one.figures, one.predicted) for one in found] == [("a", 1, 1), ("b", 2, 1), ("", 3, 2)]
    assert file_row(found[-1], Words("en")) == ["all files", "3", "0", "1 (33.3 %)", "2"]
    assert [row[0] for row in reason_rows(found[:2], Words("en"))] == ["b"]


@pytest.mark.parametrize("reason", rules()["no_measurement"]["reasons"])
@pytest.mark.parametrize("language", ["en", "zh_CN"])
def test_every_reason_has_words(reason, language):
    assert Words(language).has(f"cli.validate.reasons.{reason}")


def test_no_record_with_a_speed_is_passed_over_in_silence(tmp_path):
    records = (
        {},
        {"id": "a2", "engine": "DeepSpeed"},
        {"id": "a3", "engine": None},
        {"id": "a4", "mode": "x"},
    )
    found = read(tmp_path, *records)
    assert {p.id: p.skipped for p in found} == {"a1": "", "a2": "engine", "a3": "engine", "a4": "engine"}
    assert {p.file for p in found} == {"speed.jsonl"}


def test_all_at_once_is_predicted_where_the_record_tells_how_many(tmp_path):
    burst = {"request_rate": "inf", "batch_or_concurrency": None}
    told = {"id": "b1", **burst, "extra": {"dataset": "ShareGPT, 400 prompts"}}
    late = {"id": "b2", **burst, "metric": "ttft_ms", "extra": {"num_requests": 4000}}
    soon = {"id": "b3", **burst, "metric": "ttft_ms", "extra": {"num_requests": 40}}
    first, second, third, fourth = read(tmp_path, told, late, soon, {"id": "b4", **burst})
    assert first.predicted and second.predicted and third.predicted
    assert second.predicted > 20 * third.predicted  # prompts wait for each other
    assert fourth.skipped == "load_not_stated"


def test_text_page_and_json_count_alike():
    found = [prediction(), prediction("glitch", number=1), prediction("percentile", number=2)]
    text, page = validation_text(found, Words("en")), accuracy_page(found, Words("en"))
    for told in (text, page):
        assert "No such measurement" in told and "Other reason" in told and "1 (33.3 %)" in told
    tree = json.loads(validation_json(found))
    assert tree["files"][0]["no_measurement"] == {"glitch": 1}
