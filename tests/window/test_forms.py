"""The forms against the document, and what follows from a choice."""

from itertools import product

import pytest
from PySide6.QtWidgets import QApplication, QLineEdit
from pytestqt.qtbot import QtBot

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.latency.machine import link_of
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.words import Words
from gui import theme
from gui.document import Document
from gui.fields.binder import declaration
from gui.fields.quantity_edit import QuantityEdit
from gui.forms import choices
from gui.forms.consequences import (
    accelerator_changes,
    count_changes,
    draft_changes,
    engine_changes,
    layout_changes,
    model_changes,
    preset_changes,
    published_format,
)
from gui.forms.layouts import Layout, allowed_layouts, allowed_tensor_parallel
from gui.forms.panel import FormsPanel
from gui.forms.row_group import MoreRows
from gui.forms.section import FactRow
from gui.forms.workload import preset_of, presets
from gui.widgets.copy_button import CopyButton


@pytest.fixture
def panel(qtbot: QtBot, qapp: QApplication, document: Document) -> FormsPanel:
    theme.apply(qapp, "light")
    made = FormsPanel(document, Words("en"))
    qtbot.addWidget(made)
    made.resize(320, 1000)
    made.set_density("large")
    with qtbot.waitExposed(made):
        made.show()
    return made


def errors(scenario: Scenario) -> list[str]:
    return [p.code for p in check(scenario) if p.severity == "error"]


def test_every_row_has_words_and_a_field_behind_it(panel: FormsPanel) -> None:
    words = Words("en")
    for row in panel.rows:
        for kind in ("label", "help"):
            key = f"fields.{row.path}.{kind}"
            assert words(key) != key
        if "." in row.path:
            declaration(row.path)


def test_all_editors_start_on_one_line_and_nothing_is_cut(panel: FormsPanel) -> None:
    for density in ("small", "medium", "large"):
        panel.set_density(density)
        panel.open_first(6)
        QApplication.processEvents()
        labelled = [row for row in panel.rows if row.label.isVisible()]
        assert len({row.editor.x() for row in labelled}) == 1
        for row in labelled:
            assert row.label.fontMetrics().horizontalAdvance(row.label.text()) <= row.label.width(), row.path
            assert row.editor.height() == 28, row.path


@pytest.mark.parametrize(("density", "count"), [("small", 3), ("medium", 4), ("large", 6)])
def test_sections_open_by_the_room_there_is(panel: FormsPanel, density: str, count: int) -> None:
    panel.set_size_class(density)
    assert sum(section.is_open for section in panel.sections.values()) == count


def test_a_closed_section_says_what_is_in_it(panel: FormsPanel, document: Document) -> None:
    head = panel.sections["hardware"].head
    assert head.summary == f"1 × {document.scenario.accelerator.name}"
    document.set_values([("deployment.accelerators", 2), ("deployment.tensor_parallel", 2)], "deployment")
    assert head.summary.startswith("2 × ")


def test_an_edit_from_elsewhere_reaches_the_form(panel: FormsPanel, document: Document) -> None:
    document.set_value("workload.users", 23)
    assert panel.shown_value("workload.users") == "23"
    document.undo()
    assert panel.shown_value("workload.users") == str(document.scenario.workload.users)


def test_going_to_a_field_opens_its_section(panel: FormsPanel, qtbot: QtBot) -> None:
    panel.open_first(0)
    panel.focus_field("engine.max_num_seqs")
    row = panel.row_of("engine.max_num_seqs")
    assert row is not None
    assert panel.sections["engine"].is_open
    assert row.isVisible()
    qtbot.waitUntil(row.editor.hasFocus)
    inner = panel.row_of("model.max_context")
    assert inner is not None and inner.path == "model"


def test_a_refused_value_is_not_hidden_in_a_closed_section(
    panel: FormsPanel, document: Document, qtbot: QtBot
) -> None:
    row = panel.row_of("workload.prompt_tokens")
    assert row is not None and isinstance(row.editor, QuantityEdit)
    row.commit(10**8)
    assert row.editor.marked
    assert row.reason.text()
    assert "workload.prompt_tokens" in document.refused
    panel.open_first(0)
    document.refused_changed.emit()
    section = panel.sections["workload"]
    assert section.is_open
    section.set_open(False)  # by hand: then its head says what is inside
    assert "Prompt" in section.head.refused and "Prompt" in section.head.accessibleDescription()
    assert not panel.sections["engine"].head.refused
    assert not section.head.grab().isNull()
    row.commit(100)
    assert not section.head.refused


def test_the_load_decides_between_users_and_rate(panel: FormsPanel, document: Document) -> None:
    users, rate = panel.row_of("workload.users"), panel.row_of("workload.request_rate")
    assert users is not None and rate is not None
    assert (users.isVisible(), rate.isVisible()) == (True, False)
    document.set_value("workload.load", "requests")
    assert (users.isVisible(), rate.isVisible()) == (False, True)


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # a popup without a screen
def test_choosing_a_gpu_by_typing(panel: FormsPanel, document: Document, qtbot: QtBot) -> None:
    row = panel.row_of("accelerator")
    assert row is not None and isinstance(row.editor, QLineEdit)
    row.editor.setFocus()
    row.editor.selectAll()
    qtbot.keyClicks(row.editor, "3090")
    qtbot.keyClick(row.editor, "\r")
    assert "3090" in document.scenario.accelerator.name
    document.undo()
    assert "3090" not in document.scenario.accelerator.name
    assert row.editor.text() == document.scenario.accelerator.name


@pytest.mark.parametrize(
    ("name", "weights"),
    [("DeepSeek-V3", "fp8_block"), ("gpt-oss-20b", "mxfp4_experts"), ("Qwen3-8B", "bf16")],
)
def test_a_model_published_narrow_is_served_as_published(scenario: Scenario, name: str, weights: str) -> None:
    """config.json of deepseek-ai/DeepSeek-V3 (fp8 in blocks of 128) and openai/gpt-oss-20b (mxfp4)."""
    assert published_format(load_model(name)) == weights
    changes = dict(model_changes(scenario, load_model(name)))
    assert changes.get("precision.weights", scenario.precision.weights) == weights


def test_a_new_model_clamps_lengths_as_one_edit(document: Document) -> None:
    before = document.scenario
    document.set_values([("engine.max_model_len", 65536), ("workload.prompt_tokens", 32768)], "x")
    long = document.scenario
    small = load_model("Llama-2-7B")
    assert small.max_context == 4096
    assert document.set_values(model_changes(long, small), "model")
    now = document.scenario
    assert now.engine.max_model_len == 4096
    assert now.workload.tokens_per_request <= 4096
    assert errors(now) == []
    document.undo()
    assert document.scenario == long
    assert before.model == long.model


def test_copies_and_parallelism_follow_the_count(document: Document) -> None:
    assert document.set_values(count_changes(document.scenario, 4, Layout(1, 1)), "count")
    assert document.scenario.deployment.tensor_parallel == 4
    assert document.set_values(count_changes(document.scenario, 3, Layout(4, 4)), "count")
    assert errors(document.scenario) == []
    assert document.scenario.deployment.accelerators == 3
    assert document.set_values(count_changes(document.scenario, 8, Layout(4, 2)), "count")
    assert document.scenario.deployment.tensor_parallel == 2
    assert document.scenario.deployment.replicas == 4


def test_typing_a_count_keeps_the_layout_that_was_there_before(
    panel: FormsPanel, document: Document, qtbot: QtBot
) -> None:
    document.set_values([("deployment.accelerators", 4), ("deployment.tensor_parallel", 2)], "x")
    row = panel.row_of("deployment.accelerators")
    assert row is not None and isinstance(row.editor, QuantityEdit)
    row.editor.setFocus()
    qtbot.waitUntil(row.editor.hasFocus)
    row.editor.selectAll()
    qtbot.keyClicks(row.editor, "16")
    assert document.scenario.deployment.accelerators == 16
    assert document.scenario.deployment.tensor_parallel == 2


def test_parallelism_offers_what_divides_heads_and_count(document: Document) -> None:
    """Llama-3.1-8B has 32 heads and 8 KV heads (its config.json)."""
    assert document.scenario.model.architecture.groups[0].token_mixer.heads == 32  # type: ignore[union-attr]
    assert allowed_tensor_parallel(document.scenario, 12) == [1, 2, 4]
    document.set_values([("deployment.accelerators", 4), ("deployment.tensor_parallel", 2)], "x")
    labels = [c.label for c in choices.layouts(document.scenario, Words("en"))]
    assert labels == [
        "TP 1 × 4 copies",
        "TP 2 × 2 copies",
        "TP 4",
        "PP 2 × 2 copies",
        "TP 2 × PP 2",
        "PP 4",
    ]


def test_only_links_that_the_device_has_are_offered(document: Document) -> None:
    words = Words("en")
    document.set_values(accelerator_changes(document.scenario, load_accelerator("RTX 4090")), "accelerator")
    values = [c.value for c in choices.links(document.scenario, words)]
    assert values == ["auto", "pcie_host"]
    document.set_values(accelerator_changes(document.scenario, load_accelerator("L40S")), "accelerator")
    values = [c.value for c in choices.links(document.scenario, words)]
    assert values == ["auto", "pcie_switch", "pcie_sockets", "pcie_host"]
    h200 = load_accelerator("H200 SXM 141GB")
    document.set_values(accelerator_changes(document.scenario, h200), "accelerator")
    assert choices.links(document.scenario, words)[0].label == "NVLink"
    document.set_value("deployment.link", "scale_up")
    document.set_values(accelerator_changes(document.scenario, load_accelerator("RTX 4090")), "accelerator")
    assert document.scenario.deployment.link == "auto"


def test_a_bridge_joins_two_cards_and_more_go_over_pcie(document: Document) -> None:
    """The NVLink bridge of an RTX 3090 joins two cards (nvidia.com, NVLink bridges)."""
    words = Words("en")
    document.set_values(accelerator_changes(document.scenario, load_accelerator("RTX 3090")), "accelerator")
    for count, label in ((2, "NVLink bridge"), (4, "PCIe 4.0 ×16")):
        changes = [("deployment.accelerators", count), ("deployment.tensor_parallel", count)]
        document.set_values(changes, "deployment")
        found = {c.value: c.label for c in choices.links(document.scenario, words)}
        assert found["auto"] == label
        reached = link_of(document.scenario.accelerator, document.scenario.deployment, count, False)
        assert reached.kind == ("bridge" if count == 2 else "pcie")


def test_engines_exchange_formats_that_they_lack(document: Document) -> None:
    assert document.set_values(engine_changes(document.scenario, "textbook 0.21"), "engine")
    assert document.set_values([("precision.kv_cache", "int4"), ("precision.weights", "int4")], "x")
    assert document.set_values(engine_changes(document.scenario, "vllm 0.21"), "engine")
    assert document.scenario.precision.kv_cache == "fp8"
    assert errors(document.scenario) == []


@pytest.mark.parametrize("preset", presets(), ids=lambda p: str(p["key"]))
def test_every_preset_can_be_taken_over(document: Document, preset: dict[str, object]) -> None:
    assert preset["source"]
    words = Words("en")
    assert words(f"choices.presets.{preset['key']}") != f"choices.presets.{preset['key']}"
    assert document.set_values(preset_changes(document.scenario, preset), "preset")
    assert preset_of(document.scenario) == preset["key"]
    assert errors(document.scenario) == []


@pytest.mark.parametrize(
    "engine", ["llamacpp ", "ollama ", "mlx ", "transformers ", "sglang 0.5.5", "textbook "]
)
@pytest.mark.parametrize("name", ["gpt-oss-20b", "DeepSeek-V3", "Kimi-K2-Instruct", "Llama-3.1-8B-Instruct"])
def test_a_model_published_narrow_can_be_chosen_under_every_engine(
    document: Document, engine: str, name: str
) -> None:
    """gpt-oss is published in MXFP4, which llama.cpp has in GGUF (ggml-org/gpt-oss-20b-GGUF)."""
    document.set_values(engine_changes(document.scenario, engine), "engine.name")
    model = load_model(name)
    assert document.set_values(model_changes(document.scenario, model), "model")
    assert document.scenario.model == model and errors(document.scenario) == []
    if engine == "llamacpp " and name == "gpt-oss-20b":
        assert document.scenario.precision.weights == "gguf_mxfp4_moe"
    document.set_values(model_changes(document.scenario, load_model("Qwen3-8B")), "model")
    assert document.scenario.precision.weights == "bf16"  # the narrow format was the former model's own


def test_a_dot_marks_what_differs_from_the_preset(panel: FormsPanel, document: Document) -> None:
    chat = next(p for p in presets() if p["key"] == "chat")
    document.set_values(preset_changes(document.scenario, chat), "preset")
    row = panel.row_of("workload.output_tokens")
    assert row is not None and isinstance(row.editor, QuantityEdit)
    assert not row.editor._changed_dot
    document.set_value("workload.output_tokens", 300)
    assert row.editor._changed_dot


def test_what_is_known_of_the_model_is_told(panel: FormsPanel, document: Document) -> None:
    rows = [row for row in panel.sections["model"].rows if isinstance(row, FactRow)]
    assert [row.value for row in rows][:3] == ["8.03 B", "32", "32 / 8"]


def test_the_forms_take_the_ground_of_every_theme(panel: FormsPanel, qapp: QApplication) -> None:
    for name in theme.NAMES:
        theme.apply(qapp, name)
        image = panel.grab().toImage()
        assert image.pixelColor(4, image.height() - 4) == theme.theme().side
        places = product(range(0, image.width(), 3), range(0, image.height(), 3))
        assert len({image.pixel(x, y) for x, y in places}) > 8
    theme.apply(qapp, "light")


def visible(panel: FormsPanel) -> set[str]:
    return {row.path for row in panel.rows if row.isVisible()}


@pytest.mark.parametrize(
    ("engine", "has", "lacks"),
    [
        ("vllm 0.21", {"engine.gpu_memory_utilization", "engine.max_num_seqs"}, {"engine.n_gpu_layers"}),
        ("sglang 0.5.5", {"engine.mem_fraction_static"}, {"engine.gpu_memory_utilization"}),
        ("trtllm 1.0", {"engine.kv_cache_free_gpu_mem_fraction"}, {"engine.mem_fraction_static"}),
        ("llamacpp ", {"engine.n_gpu_layers", "engine.kv_on_host"}, {"engine.block_size"}),
        ("ollama ", {"engine.n_gpu_layers", "engine.n_parallel"}, {"engine.max_loras"}),
        ("transformers ", {"engine.static_cache"}, {"engine.n_batch"}),
        ("mlx ", {"engine.wired_limit_gib"}, {"engine.enforce_eager"}),
        ("textbook ", {"engine.gpu_memory_utilization"}, {"engine.max_num_seqs"}),
    ],
)
def test_each_engine_has_its_own_fields(
    panel: FormsPanel, document: Document, engine: str, has: set[str], lacks: set[str]
) -> None:
    panel.open_first(6)
    assert document.set_values(engine_changes(document.scenario, engine), "engine.name")
    for part in panel.sections["engine"].rows:
        if isinstance(part, MoreRows):
            part.set_open(True)
    assert has <= visible(panel)
    assert not lacks & visible(panel)
    assert errors(document.scenario) == []
    document.undo()
    assert document.scenario.engine.name == "vllm"


def test_engines_and_their_releases_are_one_list(document: Document) -> None:
    labels = [c.label for c in choices.engines(document.scenario, Words("en"))]
    assert {"vLLM 0.21", "SGLang 0.5.5", "TensorRT-LLM 1.0", "llama.cpp", "ik_llama.cpp", "MLX"} <= set(
        labels
    )
    assert document.set_value("engine.version", "0.12")
    assert "vLLM 0.12" in [c.label for c in choices.engines(document.scenario, Words("en"))]


def test_only_formats_that_the_engine_loads_are_offered(document: Document) -> None:
    document.set_values(engine_changes(document.scenario, "llamacpp "), "engine.name")
    words, scenario = Words("en"), document.scenario
    weights = {str(c.value) for c in choices.weight_formats(scenario, words)}
    assert "gguf_q4_k_m" in weights and not weights & {"awq_g128", "fp8", "mlx_4bit"}
    assert {c.value for c in choices.cache_formats(scenario, words)} >= {"fp16", "q8_0", "q4_0"}


def test_layers_are_divided_by_layers_where_the_engine_does_so(document: Document) -> None:
    document.set_values(count_changes(document.scenario, 4, Layout(1, 1)), "count")
    document.set_values(engine_changes(document.scenario, "llamacpp "), "engine.name")
    place = document.scenario.deployment
    assert (place.tensor_parallel, place.pipeline_parallel) == (1, 4)
    document.set_values(engine_changes(document.scenario, "vllm 0.21"), "engine.name")
    place = document.scenario.deployment
    assert (place.tensor_parallel, place.pipeline_parallel) == (4, 1)


def test_every_layout_that_is_offered_can_be_taken(document: Document) -> None:
    document.set_values(model_changes(document.scenario, load_model("DeepSeek-V3")), "model")
    document.set_values(count_changes(document.scenario, 16, Layout(1, 1)), "count")
    document.set_values([("deployment.expert_parallel", 16), ("deployment.attention_data_parallel", 8)], "x")
    for layout in allowed_layouts(document.scenario, 16):
        assert document.set_values(layout_changes(document.scenario, layout), "layout"), layout
        assert errors(document.scenario) == []
        document.undo()


def test_experts_and_attention_copies_are_asked_for_mixtures_only(
    panel: FormsPanel, document: Document
) -> None:
    panel.open_first(6)
    rows = {"deployment.expert_parallel", "deployment.attention_data_parallel"}
    document.set_values(count_changes(document.scenario, 4, Layout(1, 1)), "count")
    assert not rows & visible(panel)
    document.set_values(model_changes(document.scenario, load_model("Qwen3-30B-A3B")), "model")
    assert rows <= visible(panel)


def test_a_draft_without_a_size_gets_one(document: Document) -> None:
    assert document.set_values(draft_changes(document.scenario, "eagle"), "speculative.kind")
    assert document.scenario.speculative.draft_parameters > 10**8
    document.undo()
    assert document.scenario.speculative.kind == "none"


def test_the_command_is_copied(panel: FormsPanel, document: Document, qapp: QApplication) -> None:
    copy = panel.sections["engine"].action
    assert isinstance(copy, CopyButton)
    copy.click()
    assert qapp.clipboard().text().startswith("vllm serve ")
    document.set_values(engine_changes(document.scenario, "textbook "), "engine.name")
    assert not copy.isEnabled()


@pytest.mark.parametrize(
    "engine", ["vllm 0.21", "sglang 0.5.5", "trtllm 1.0", "llamacpp ik", "transformers ", "mlx "]
)
def test_no_label_of_any_engine_is_cut(panel: FormsPanel, document: Document, engine: str) -> None:
    panel.set_density("small")
    document.set_values(model_changes(document.scenario, load_model("Qwen3-Next-80B-A3B-Instruct")), "model")
    document.set_values(count_changes(document.scenario, 8, Layout(1, 1)), "count")
    assert document.set_values(engine_changes(document.scenario, engine), "engine.name")
    document.set_values(draft_changes(document.scenario, "draft_model"), "speculative.kind")
    document.set_values([("engine.max_loras", 4), ("engine.n_cpu_moe", 4)], "x")
    panel.open_first(6)
    panel.focus_field("speculative.kind")
    QApplication.processEvents()
    for row in panel.rows:
        if row.isVisible() and row.label.text():
            wide = row.label.fontMetrics().horizontalAdvance(row.label.text())
            assert wide <= row.label.width(), row.path
