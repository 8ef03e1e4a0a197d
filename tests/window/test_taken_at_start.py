"""llama.cpp and Ollama have no budget: they take what they need as they start, and the rest stays free."""

import io
import re
import zipfile

import pytest

from core.catalog.accelerators import load_accelerator
from core.estimator import estimate
from core.explain.derivation import derive, keys_of
from core.explain.derivation_types import as_text
from core.explain.glossary import ENTRIES
from core.explain.ledger_names import cache_entry
from core.planning.compare import difference_table
from core.reports.as_html import report_html
from core.reports.as_markdown import report_markdown
from core.reports.as_text import estimate_text
from core.reports.as_xlsx import report_xlsx
from core.reports.content import metric_values, report_of
from core.results import Estimate
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.units import show_bytes
from core.words import Words
from gui.widgets.card_content import cards_of
from gui.widgets.ledger_content import account_of


def point_of(scenario: Scenario, engine: str, **changes: object) -> Estimate:
    """The sample's model in GGUF, on one card."""
    given = {
        "engine.name": engine,
        "engine.version": "",
        "engine.n_parallel": 2,
        "precision.weights": "gguf_q4_k_m",
        "precision.kv_cache": "fp16",
    }
    return estimate(with_values(scenario, {**given, **changes}))


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("engine", ["llamacpp", "ollama"])
def test_what_is_taken_is_no_limit(scenario: Scenario, engine: str, language: str) -> None:
    point, words = point_of(scenario, engine), Words(language)
    ledger = point.ledger
    taken, free = show_bytes(ledger.budget_bytes), show_bytes(ledger.device_bytes - ledger.budget_bytes)
    assert ledger.fits and ledger.budget_bytes < 0.9 * ledger.device_bytes
    card = next(card for card in cards_of(point, words) if card.key == "memory_per_device")
    assert card.target == f"≤ {show_bytes(ledger.device_bytes).number}"
    assert card.target_mark == 1 and taken.number in card.note
    assert str(taken) in card.tip and str(free) in card.tip
    account = account_of(point, words)
    names = [row.name for row in account.rows]
    assert words("ledger.taken") in names and words("ledger.unused") in names
    assert words("ledger.budget") not in names
    told = f"{account.limit_text} {account.shares} {estimate_text(point, words)}"
    assert "budget" not in told.lower() and "预算" not in told
    limit = next(target for key, _, target, _ in metric_values(point) if key == "memory_per_device")
    assert limit == ledger.device_bytes


def test_what_does_not_fit_is_limited_by_the_device(scenario: Scenario) -> None:
    words = Words("en")
    point = point_of(scenario, "llamacpp", **{"engine.max_model_len": 10**6})
    assert not point.ledger.fits and point.ledger.budget_bytes == point.ledger.device_bytes
    names = [row.name for row in account_of(point, words).rows]
    assert words("ledger.device") in names and words("ledger.budget") not in names


@pytest.mark.parametrize(
    ("version", "on_top"), [("0.10", True), ("0.19", True), ("0.21", False), ("0.25", True)]
)
@pytest.mark.parametrize("device", ["RTX 4090", "H100 SXM5 80GB", "B200 SXM", "Instinct MI300X"])
def test_the_formula_beside_the_budget_gives_the_budget(
    scenario: Scenario, device: str, version: str, on_top: bool
) -> None:
    """The graphs of vLLM lie inside of the share, or on top of it: by version."""
    changed = with_values(scenario, {"engine.version": version})
    point = estimate(changed.model_copy(update={"accelerator": load_accelerator(device)}))
    words = Words("en")
    row = next(row for row in account_of(point, words).rows if row.name == words("ledger.budget"))
    told = re.fullmatch(r"([\d.]+) × ([\d.]+)( \+ graphs)?", row.word)
    assert told is not None and (told[3] is not None) is on_top
    graphs = sum(line.bytes for line in point.ledger.lines if line.key == "graphs") / 2**30
    said = float(told[1]) * float(told[2]) + (graphs if on_top else 0.0)
    assert said == pytest.approx(float(row.value.split()[0].replace(",", "")), abs=0.02)


def everything_told(point: Estimate, words: Words) -> str:
    """Account, workings, plain text, Markdown, HTML and the cells of the workbook, in one text."""
    account = account_of(point, words)
    told = [f"{row.name} {row.word}" for row in account.rows]
    told += [as_text(made, words) for key in keys_of(point) if (made := derive(point, key)) is not None]
    told += [
        words(f"derivation.symbols.{s.meaning}")
        for k in keys_of(point)
        if (d := derive(point, k))
        for s in d.symbols()
        if s.meaning
    ]
    report = report_of(point, words)
    told += [report_markdown(report, words), report_html(report, words)]
    with zipfile.ZipFile(io.BytesIO(report_xlsx(point, words))) as book:
        told.append(book.read("xl/sharedStrings.xml").decode())
    return "\n".join(told)


@pytest.mark.parametrize("language", ["en", "zh_CN"])
@pytest.mark.parametrize("engine", ["llamacpp", "ollama"])
def test_no_word_of_blocks_and_budgets_where_there_are_none(
    scenario: Scenario, engine: str, language: str
) -> None:
    """The cache is reserved as a whole, cell by cell, and nothing is a share of a budget."""
    words = Words(language)
    told = everything_told(point_of(scenario, engine), words)
    assert words("ledger.spare_word_cells") in told
    for word in ("free blocks", "gpu_memory_utilization", *_BLOCKS[language]):
        assert word not in told
    of_budget = words("reports.columns.share_of_budget")
    assert of_budget not in told and words("reports.columns.share_of_taken") in told
    assert words("derivation.steps.budget") not in told
    assert words("derivation.steps.taken") in told


_BLOCKS = {"en": ("Blocks", "of a block"), "zh_CN": ("块数", "每块")}


def test_engines_with_pages_keep_their_blocks(scenario: Scenario) -> None:
    words = Words("en")
    told = everything_told(estimate(scenario), words)
    assert "free blocks" in told and "Blocks of a request" in told and "Free cells" not in told
    assert words("reports.columns.share_of_budget") in told


@pytest.mark.parametrize("engine", ["transformers", "mlx"])
def test_a_cache_that_grows_has_no_blocks_either(scenario: Scenario, engine: str) -> None:
    changes = {"engine.name": engine, "engine.version": "", "workload.users": 1}
    told = everything_told(estimate(with_values(scenario, changes)), Words("en"))
    assert not any(word in told for word in ("free blocks", "Blocks", "of a block", "Cells"))


def test_compare_names_what_both_have(scenario: Scenario) -> None:
    own, other = point_of(scenario, "llamacpp"), estimate(scenario)

    def names(*points: Estimate) -> set[str]:
        return {
            row.name.key
            for row in difference_table(points, only_differences=False)
            if row.section == "memory"
        }

    assert {"ledger.taken", "ledger.unused"} <= names(own, own)
    assert {"ledger.budget", "ledger.outside"} <= names(other, other)
    assert {"ledger.budget_or_taken", "ledger.outside_or_unused"} <= names(other, own)


@pytest.mark.parametrize(("engine", "entry"), [("llamacpp", "slot"), ("vllm", "paged_attention")])
def test_the_spare_line_is_explained_by_what_the_engine_does(engine: str, entry: str) -> None:
    assert cache_entry(engine) == entry  # type: ignore[arg-type]
    assert entry in ENTRIES
