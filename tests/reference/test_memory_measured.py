"""Every measured run against the ledger of its engine, by the comparison that the command line offers.

Each record of measured_memory.jsonl names where its log was published ("source_url").
"""

import json
import statistics
from pathlib import Path

import pytest

from core.cli import main
from core.evidence.memory_predictions import Prediction
from core.evidence.validate import error_of, grouped, lines_of, p90, predictions_of

TABLE = Path(__file__).with_name("measured_memory.jsonl")
FOUND = predictions_of([TABLE])
RECORDS = [json.loads(line) for line in TABLE.read_text(encoding="utf-8").splitlines()]


def errors(metric: str, *, home: bool | None = None) -> list[float]:
    """Absolute errors.  ``home``: vLLM on the H100 only, or everything else."""
    at_home = {r["id"] for r in RECORDS if r["engine"] == "vllm" and "H100" in r.get("gpu", "")}
    return [
        abs(error)
        for p in FOUND
        if p.metric == metric and (error := error_of(p)) is not None
        if home is None or (p.id in at_home) == home
    ]


def test_every_record_is_predicted_or_says_why_not() -> None:
    assert {p.id for p in FOUND} == {r["id"] for r in RECORDS}
    assert all((p.predicted is None) == bool(p.skipped) for p in FOUND)
    silent = {r["id"] for r in RECORDS} - {p.id for p in FOUND if not p.skipped}
    assert len(silent) <= 0.05 * len(RECORDS)


@pytest.mark.parametrize(
    ("metric", "least", "median", "decile"),
    [
        ("weights_gib", 55, 0.005, 0.03),
        ("kv_cache_gib", 58, 0.005, 0.06),
        ("kv_tokens", 50, 0.01, 0.06),
        ("max_concurrency", 44, 0.01, 0.06),
        ("activation_peak_gib", 50, 0.25, 0.30),
        ("non_torch_gib", 50, 0.25, 0.25),
        ("cuda_graph_gib", 45, 0.25, 0.50),
        ("kv_buffer_mib", 8, 0.0001, 0.001),
        ("model_buffer_mib", 4, 0.01, 0.02),
        ("compute_buffer_mib", 6, 0.01, 0.02),
    ],
)
def test_errors(metric: str, least: int, median: float, decile: float) -> None:
    found = errors(metric)
    assert len(found) >= least
    assert statistics.median(found) <= median
    assert p90(found) <= decile


def test_cache_on_other_devices_and_engines() -> None:
    found = errors("kv_cache_gib", home=False)
    assert len(found) >= 20
    assert statistics.median(found) <= 0.02
    assert p90(found) <= 0.06


def test_buffers_of_llama_cpp_together() -> None:
    buffers = ("model_buffer_mib", "kv_buffer_mib", "compute_buffer_mib")
    found = [abs(e) for p in FOUND if p.metric in buffers and (e := error_of(p)) is not None]
    assert len(found) >= 18 and statistics.median(found) <= 0.01


@pytest.mark.parametrize("metric", ["weights_gib", "kv_cache_gib", "kv_tokens", "activation_peak_gib"])
def test_the_band_holds_what_it_promises(metric: str) -> None:
    (group,) = [g for g in grouped(FOUND) if (g.engine, g.metric) == ("all", metric)]
    assert 0.70 <= group.inside <= 0.97


def test_predictions_are_written_a_line_each() -> None:
    lines = [json.loads(line) for line in lines_of(FOUND).splitlines()]
    assert len(lines) == len(FOUND)
    wanted = {"id", "metric", "measured", "predicted", "low", "high", "skipped"}
    assert all(wanted <= line.keys() for line in lines)
    assert all(Prediction(**line).low is None or line["low"] <= line["high"] for line in lines)


@pytest.mark.parametrize("tree", [{}, {"engine": 3, "observed": {"weights_gib": "x"}}, {"observed": {}}])
def test_strange_records_are_no_error(tree: dict[str, object], tmp_path: Path) -> None:
    path = tmp_path / "strange.jsonl"
    path.write_text(json.dumps(tree) + "\n\n", encoding="utf-8")
    assert predictions_of([path]) == ()


def test_the_command_prints_groups_and_reasons(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "predictions.jsonl"
    assert main(["validate", str(TABLE), "--out", str(out)]) == 0
    said = capfd.readouterr().out
    assert "kv_cache_gib" in said and "cli.validate" not in said
    written = {json.loads(line)["id"] for line in out.read_text(encoding="utf-8").splitlines()}
    assert written >= {r["id"] for r in RECORDS}
    assert main(["validate", str(TABLE), "--json"]) == 0
    groups = json.loads(capfd.readouterr().out)["groups"]
    assert {g["metric"] for g in groups} >= {"weights_gib", "kv_cache_gib", "kv_tokens"}
    assert main(["validate", str(tmp_path / "absent.jsonl")]) == 2
