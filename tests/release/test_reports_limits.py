"""Where an engine takes memory as it needs it, what does not fit meets the device itself, no budget."""

from pathlib import Path

import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.derivation import derive
from core.explain.ledger_names import budget_key
from core.reports.as_text import estimate_text
from core.reports.content import report_of
from core.reports.write import report_bytes
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.exporting.plot_tables import ledger_table
from gui.widgets.ledger_content import account_of

BUDGET = {"en": "budget", "zh_CN": "预算"}


def point_of(engine: str, device: str = "RTX 4090", weights: str = "gguf_q8_0"):
    base = Scenario(model=load_model("llama-3.3-70b"), accelerator=load_accelerator(device))
    return estimate(with_values(base, {"engine.name": engine, "precision.weights": weights}))


@pytest.mark.parametrize("language", BUDGET)
@pytest.mark.parametrize("engine", ["llamacpp", "ollama"])
def test_what_does_not_fit_is_measured_at_the_device(engine, language):
    point, words = point_of(engine), Words(language)
    assert not point.ledger.fits and budget_key(point) == "device"
    account, table = account_of(point, words), ledger_table(point, words)
    said = [estimate_text(point, words), account.limit_text, account.shares, account.spoken]
    said += [row.name for row in account.rows] + [str(row[0]) for row in table.rows]
    said += report_of(point, words).ledger.head
    for key in ("memory_per_device", "concurrent_users", "kv_tokens"):
        found = derive(point, key)
        said += [words.phrase(step.name) for step in found.steps]
        assert all(step.symbol.name != "M_b" for step in found.steps)
    assert not [text for text in said if BUDGET[language] in text.lower()]
    assert not [text for text in said if "ledger." in text]  # a key that has no words
    assert report_bytes(point, Path("r.xlsx"), words)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_servers_have_a_budget(engine):
    point = point_of(engine, weights="bf16")
    assert budget_key(point) == "budget"
    assert "budget" in estimate_text(point, Words("en"))


@pytest.mark.parametrize(
    ("engine", "device", "weights", "graphs"),
    [
        ("vllm", "H100 SXM5 80GB", "w8a8", "CUDA graphs"),
        ("vllm", "Instinct MI300X", "w8a8", "graphs"),
        ("llamacpp", "RTX 4090", "gguf_q8_0", ""),
        ("ollama", "RTX 4090", "gguf_q8_0", ""),
        ("mlx", "M4 Max", "mlx_4bit", ""),
    ],
)
def test_the_rule_s_note_counts_graphs_where_there_are_some(engine, device, weights, graphs):
    note = Words("en").phrase(derive(point_of(engine, device, weights), "memory_per_device").why[0])
    assert ("graphs" in note, "CUDA" in note) == (bool(graphs), graphs.startswith("CUDA"))
