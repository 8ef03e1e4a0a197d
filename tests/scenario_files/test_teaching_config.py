"""The configuration file of the teaching article opens, with its own figures."""

import json
from pathlib import Path
from typing import Any

import pytest

from core.errors import InferometerError
from core.estimator import estimate
from core.files.opening import open_document
from core.words import Words

# The article's own example, letter by letter.
ARTICLE = {
    "model": {"name": "7b_model", "num_params_G": 7, "precision": "fp16", "max_context": 4096},
    "hardware": {"gpu_name": "RTX-4090", "memory_bandwidth_GBps": 1000, "total_memory_GB": 24},
    "batch": {"batch_size": 1, "max_concurrent_requests": 8},
}


def written(folder: Path, tree: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(tree), encoding="utf-8")
    return path


def changed(section: str, **values: Any) -> dict[str, Any]:
    return {**ARTICLE, section: {**ARTICLE[section], **values}}


def test_the_article_s_example(tmp_path: Path) -> None:
    opened = open_document(written(tmp_path, ARTICLE))
    scenario = opened.scenario
    assert opened.imported
    assert scenario.engine.name == "textbook"
    assert scenario.accelerator.name == "RTX 4090"
    assert scenario.accelerator.memory_bandwidth_gbps == 1000  # stated, not the data sheet's 1,008
    assert scenario.workload.tokens_per_request == 4096
    assert scenario.workload.users == 8


def test_its_figures_come_out(tmp_path: Path) -> None:
    """Weights 7e9 × 2 bytes = 14 GB; cache 2 × 32 × 32 × 128 × 2 bytes = 524,288 a token, 2 GiB for 4,096
    tokens; a token 14 GB ÷ 1,000 GB/s = 14 ms when nothing is lost.  The article's sections on memory and
    on decoding."""
    one = changed("batch", max_concurrent_requests=1)
    result = estimate(open_document(written(tmp_path, one)).scenario)
    assert result.ledger.bytes_of("weights") == 14_000_000_000
    assert result.capacity.kv_bytes_per_token == 524_288
    assert result.ledger.bytes_of("kv_cache") == 2 * 2**30
    assert result.speed is not None
    assert result.speed.decode.seconds == pytest.approx(0.014 / 0.8, rel=0.25)  # 80 % of peak is achieved


@pytest.mark.parametrize(
    ("size", "layers"), [(7, 32), (8, 32), (13, 40), (32, 60), (70, 80), (0.5, 32), (671, 80)]
)
def test_the_shape_nearest_in_size_is_taken_and_told(tmp_path: Path, size: float, layers: int) -> None:
    """Shapes: Touvron et al. 2023, arXiv:2302.13971, table 2."""
    opened = open_document(written(tmp_path, changed("model", num_params_G=size)))
    architecture = opened.scenario.model.architecture
    assert architecture.layers == layers
    assert architecture.stated_parameters == round(size * 1e9)
    assert any(note.code == "teaching.shape" for note in opened.notes)


def test_an_unknown_card_borrows_from_the_nearest_and_says_so(tmp_path: Path) -> None:
    tree = changed("hardware", gpu_name="Foo 9000", memory_bandwidth_GBps=3350, total_memory_GB=80)
    opened = open_document(written(tmp_path, tree))
    assert opened.scenario.accelerator.name == "Foo 9000"
    assert opened.scenario.accelerator.memory_gb_nominal == 80
    (note,) = [note for note in opened.notes if note.code == "teaching.gpu_nearest"]
    assert "H100" in Words("en").problem(note)


@pytest.mark.parametrize("precision", ["fp32", "fp16", "bf16", "fp8", "int8", "int4", "fp4", "FP16"])
def test_every_precision_of_the_article_is_known(tmp_path: Path, precision: str) -> None:
    """Bytes per parameter 4, 2, 2, 1, 1, 0.5, 0.5 (the article's table of precisions)."""
    bytes_each = {"fp32": 4, "fp16": 2, "bf16": 2, "fp8": 1, "int8": 1, "int4": 0.5, "fp4": 0.5}
    scenario = open_document(written(tmp_path, changed("model", precision=precision))).scenario
    weights = estimate(scenario).ledger.bytes_of("weights")
    assert weights == 7e9 * bytes_each[precision.lower()]


def test_notes_can_be_spoken(tmp_path: Path) -> None:
    for note in open_document(written(tmp_path, ARTICLE)).notes:
        assert not Words("en").problem(note).startswith("problems.")
        assert note.severity == "note"


@pytest.mark.parametrize(
    ("tree", "field", "reason"),
    [
        (changed("model", precision="fp3"), "model.precision", "one of fp32"),
        (changed("model", num_params_G="7"), "model.num_params_G", "must be a number"),
        (changed("model", num_params_G=0), "model.num_params_G", "more than 0"),
        (changed("model", max_context=1), "model.max_context", "at least 2"),
        (changed("model", layers=32), "model.layers", "not a field"),
        (changed("hardware", total_memory_GB=-24), "hardware.total_memory_GB", "at least 0.1"),
        (changed("batch", batch_size=0), "batch.batch_size", "at least 1"),
        ({**ARTICLE, "hardware": []}, "hardware", "group of fields"),
        ({k: v for k, v in ARTICLE.items() if k != "hardware"}, "hardware", "is missing"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, tree: Any, field: str, reason: str) -> None:
    with pytest.raises(InferometerError) as refused:
        open_document(written(tmp_path, tree))
    said = [Words("en").located(problem) for problem in refused.value.problems]
    assert any(field in sentence and reason in sentence for sentence in said), said
