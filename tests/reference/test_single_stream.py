"""Single streams of llama.cpp, MLX and ktransformers against measurements, each with its address.

The rows (single_streams.jsonl) are public llama-bench tables and single runs of many classes of devices;
most of them are among those that the profiles were fitted on.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from core.evidence.single_stream import Case, Refused, cases_of, plan_for, predictions_of_streams, seconds_of

ROWS = [
    json.loads(line) for line in Path(__file__).with_name("single_streams.jsonl").read_text().splitlines()
]
CASES = [case for case in cases_of(ROWS) if isinstance(case, Case)]
FAR = 0.35  # of one row, in time


def errors(kind):
    chosen = [case for case in CASES if case.kind == kind]
    return np.array([abs(seconds_of(case, plan_for(case))[1] / case.seconds - 1) for case in chosen])


def test_every_row_is_predicted_and_has_an_address():
    assert len(CASES) == len(ROWS)
    assert all(row["source_url"].startswith("http") for row in ROWS)


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_a_measured_stream(case):
    low, expected, high, bound = seconds_of(case, plan_for(case))
    assert bound <= low <= expected <= high
    assert bound <= case.seconds * 1.02  # nothing runs faster than its memory
    assert abs(expected / case.seconds - 1) < FAR


def test_decoding_is_within_four_percent_and_prompts_within_eight_in_the_median():
    assert np.median(errors("decode")) < 0.04
    assert np.median(errors("prefill")) < 0.08


def test_rates_and_times_are_told_in_the_unit_of_the_record():
    found = {p.id: p for p in predictions_of_streams(ROWS)}
    decode = found["sp0032"]  # 130.58 tok/s, Llama-3-8B Q4_K_M on an RTX 4090
    assert decode.measured == 130.58
    assert decode.low <= decode.predicted <= decode.high
    assert decode.predicted == pytest.approx(130.58, rel=0.06)


def changed(**new):
    return {**ROWS[0], "id": "made up", **new}


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (changed(gpu="RTX 9999"), "unknown_name"),
        (changed(model="nobody knows 3B"), "unknown_name"),
        (changed(weight_format="Q17_X"), "unknown_name"),
        (changed(metric="joules"), "other_metric"),
        (changed(extra={"speculative": {"method": "EAGLE"}}), "speculation_of_unknown_acceptance"),
        (changed(id="sp3280"), "spilled"),
    ],
)
def test_what_cannot_be_predicted_is_refused_with_a_reason(record, reason):
    (found,) = cases_of([record])
    assert isinstance(found, Refused) and found.reason == reason


def test_records_of_servers_and_of_other_engines_are_passed_over():
    assert not list(cases_of([changed(engine="vLLM"), changed(mode="server"), changed(value=None)]))


def test_a_prompt_of_a_batch_shares_micro_batches():
    one = changed(metric="prefill_tok_s", input_len=512, batch_or_concurrency=32, value=2000.0)
    (case,) = cases_of([one])
    assert case.steps[0].prefill == 2048 and case.seconds == pytest.approx(2048 / 2000)


def test_several_streams_count_as_a_batch():
    (case,) = cases_of([changed(batch_or_concurrency=4, value=200.0)])
    assert case.group == "batches" and case.seconds == pytest.approx(4 / 200)
