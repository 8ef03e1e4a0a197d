"""The palette finds by what people type and does what it says; the page lists every shortcut."""

from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.files import scenario_file
from core.spec.checks import unsupported
from core.spec.scenario import Scenario
from core.words import Words
from gui.actions import COMMANDS
from gui.catalogue import Catalogue
from gui.fields.search_edit import SearchEdit
from gui.frame.shortcuts import groups
from gui.frame.window import MainWindow
from gui.palette.box import Palette
from gui.palette.match import match
from gui.palette.question import question_of
from gui.palette.sources import Sources


@pytest.fixture
def opened(qtbot: QtBot, window: MainWindow) -> Palette:
    window.show()
    window.activateWindow()
    return window.shell.open_palette("")


def names(palette: Palette) -> list[str]:
    return [entry.name for entry in palette.results()]


# -- matching --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("sav", "Save as", "Canvas"),
        ("gm", "GPU memory", "Programming"),
        ("kv", "KV cache", "Marketing view"),
        ("3090", "RTX 3090", "RTX 3080 90"),
        ("pin", "Pin for comparison", "Shopping in"),
        ("per", "Per token", "Super long percent"),
    ],
)
def test_starts_of_words_beat_letters_within(query: str, better: str, worse: str) -> None:
    good, poor = match(query, better), match(query, worse)
    assert good is not None
    assert poor is None or good.score > poor.score


@pytest.mark.qt_log_ignore("This plugin does not support", extend=True)  # a popup without a screen
@pytest.mark.parametrize(
    ("typed", "model", "weights", "engine"),
    [
        ("qwen3:30b-a3b-q4_K_M", "Qwen3-30B-A3B", "gguf_q4_k_m", "llamacpp"),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", "Qwen2.5-7B-Instruct", "awq_g128", "vllm"),
    ],
)
def test_a_name_that_states_its_format_gives_both(
    opened: Palette, window: MainWindow, qapp: QApplication, typed: str, model: str, weights: str, engine: str
) -> None:
    """In the palette and in the field of the model, as when it is pasted."""

    def now() -> tuple[str, str, str]:
        scenario = window.document.scenario
        return scenario.model.name, scenario.precision.weights, scenario.engine.name

    opened.box.setText(typed)
    opened._search(typed)
    assert opened.results()[0].kind == "model"
    opened._run(0)
    qapp.processEvents()
    assert now() == (model, weights, engine)
    window.document.undo()
    row = window.workspace.forms.row_of("model")
    assert row is not None and now()[0] != model
    editor = row.editor
    assert isinstance(editor, SearchEdit)
    editor.setText(typed)
    editor.textEdited.emit(typed)
    editor.chosen.emit(editor.hits()[0])
    assert now() == (model, weights, engine)


def test_a_model_that_lowers_the_maximum_length_says_so(window: MainWindow) -> None:
    """Qwen3-8B was trained for 40,960 tokens (max_position_embeddings of its config.json)."""
    document, forms = window.document, window.workspace.forms
    document.set_value("engine.max_model_len", 65536)
    document.end_merge()
    row = forms.row_of("model")
    assert row is not None and not row.reason.text()
    row.commit(forms.catalogue.model("Qwen/Qwen3-8B"))
    assert document.scenario.engine.max_model_len == 40960
    assert "65,536" in row.reason.text() and "40,960" in row.reason.text()
    document.undo()
    assert not row.reason.text()


def test_words_of_a_query_are_found_in_any_order() -> None:
    assert match("3090 qwen", "Qwen3-32B on two RTX 3090") is not None
    assert match("qwen 4090", "Qwen3-32B on two RTX 3090") is None


def test_found_letters_are_those_of_the_query() -> None:
    text = "Copy command"
    found = match("cc", text)
    assert found is not None
    assert [text[i].lower() for i in found.places] == ["c", "c"]
    assert found.places == (0, 5)
    assert match("zzz", text) is None
    assert match("", text) is not None


# -- finding ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "kind", "name"),
    [
        ("dark", "command", "Dark"),
        ("compare", "command", "Go to Compare"),
        ("roof", "command", "Roofline"),
        ("prompt", "field", "Prompt"),
        ("max_model_len", "field", "Max length"),
        ("qwen3 32b", "model", "Qwen3-32B"),
        ("qwen3-32b 4 bit", "command", "Qwen3-32B · AWQ INT4"),
        ("config", "command", None),
        ("sglang 0", "engine", None),
        ("h100", "gpu", None),
        ("deepseek eight", "sample", "DeepSeek-V3 on eight H200"),
        ("pdf", "command", "PDF"),
        ("导出 pdf", "command", "PDF"),
        ("671B", "model", None),
        ("ollama", "engine", "Ollama"),
        ("昇腾", "gpu", None),
        ("豆包", "model", None),
        ("report", "command", "Export"),
        ("glossary", "command", "Manual"),
        ("chinese", "command", "简体中文"),
        ("unit", "command", "GiB (2³⁰ bytes)"),
        ("benchmark", "command", "Go to Validate"),
        ("显存", "field", "GPU"),
        ("量化", "field", "Weights"),
        ("concurrency", "field", "Users"),
        ("llama70b", "model", None),
    ],
)
def test_it_finds_by_what_people_type(opened: Palette, typed: str, kind: str, name: str | None) -> None:
    opened.box.setText(typed)
    opened.box.textEdited.emit(typed)
    first = opened.results()[0]
    assert first.kind == kind
    assert name is None or first.name == name


def test_a_greater_sign_lists_commands_only(opened: Palette, window: MainWindow) -> None:
    window.shell.open_palette(">")
    assert {entry.kind for entry in opened.results()} == {"command"}
    listed = names(opened)
    for command in COMMANDS:
        action = window.actions_[command.id]
        if action.isEnabled() and command.id not in ("search", "open_recent"):
            assert action.text().rstrip("…") in listed


def test_nothing_found_is_said(opened: Palette) -> None:
    QTest.keyClicks(opened.box, "xqzxqzxqz")
    assert not opened.results()
    assert opened.list.spoken()
    QTest.keyClick(opened.box, Qt.Key.Key_Return)
    assert not opened.isHidden()


COMMAND = "vllm serve Qwen/Qwen3-32B \\\n  --max-model-len 20000 --gpu-memory-utilization 0.85"


@pytest.mark.parametrize("text", [COMMAND, COMMAND.replace("\n", " "), f"$ docker run --gpus all {COMMAND}"])
def test_a_pasted_command_is_offered_whole_and_applied(
    qapp: QApplication, opened: Palette, window: MainWindow, text: str
) -> None:
    opened.box.insert(text)
    opened.box.textEdited.emit(opened.box.text())
    assert names(opened) == [Words("en")("palette.paste_command")]
    if "docker" not in text:
        QTest.keyClick(opened.box, Qt.Key.Key_Return)
        qapp.processEvents()
        scenario = window.document.scenario
        assert scenario.model.name == "Qwen3-32B"
        assert scenario.engine.max_model_len == 20000
        assert scenario.engine.gpu_memory_utilization == 0.85


def test_an_engine_is_chosen_as_in_the_form(qapp: QApplication, opened: Palette, window: MainWindow) -> None:
    run(qapp, opened, "llama.cpp")
    assert window.document.scenario.engine.name == "llamacpp"
    window.document.undo()
    assert window.document.scenario.engine.name == "vllm"


# -- doing -----------------------------------------------------------------------------------------


def run(qapp: QApplication, palette: Palette, typed: str) -> None:
    QTest.keyClicks(palette.box, typed)
    QTest.keyClick(palette.box, Qt.Key.Key_Return)
    qapp.processEvents()


def test_a_command_runs_and_the_palette_closes(
    qapp: QApplication, opened: Palette, window: MainWindow
) -> None:
    run(qapp, opened, "go to explore")
    assert window.stack.key == "explore"
    assert opened.isHidden()


def test_a_model_is_taken_over_as_one_edit(qapp: QApplication, opened: Palette, window: MainWindow) -> None:
    before = window.document.scenario
    run(qapp, opened, "qwen3 32b")
    assert window.document.scenario.model.name == "Qwen3-32B"
    window.document.undo()
    assert window.document.scenario == before


def test_a_field_gets_the_focus(qapp: QApplication, opened: Palette, window: MainWindow) -> None:
    window.stack.show_key("compare")
    window.shell.open_palette("")
    run(qapp, opened, "shared prefix")
    assert window.stack.key == "estimate"
    row = window.workspace.forms.row_of("workload.shared_prefix_tokens")
    assert row is not None
    assert row.editor.isVisibleTo(window)
    focused = QApplication.focusWidget()
    assert focused is None or focused is row.editor


def test_a_recent_file_is_opened(
    qapp: QApplication,
    window: MainWindow,
    tmp_path,
    scenario,  # type: ignore[no-untyped-def]
) -> None:
    file = tmp_path / "night-shift.json"
    scenario_file.save(file, scenario)
    window.recent.add(file)
    window.show()
    palette = window.shell.open_palette("")
    assert "night-shift.json" in names(palette)
    run(qapp, palette, "night shift")
    assert window.document.path == file


def test_arrows_go_round_and_escape_gives_the_focus_back(
    qtbot: QtBot, opened: Palette, window: MainWindow
) -> None:
    count = len(opened.results())
    assert count > 5
    QTest.keyClick(opened.box, Qt.Key.Key_Up)
    assert opened.list.current == count - 1
    QTest.keyClick(opened.box, Qt.Key.Key_Down)
    assert opened.list.current == 0
    assert opened.box.accessibleDescription() == opened.list.spoken()
    QTest.keyClick(opened.box, Qt.Key.Key_Escape)
    assert opened.isHidden()


def test_a_press_elsewhere_closes(qtbot: QtBot, opened: Palette, window: MainWindow) -> None:
    qtbot.mouseClick(window.workspace.verdict, Qt.MouseButton.LeftButton)
    assert opened.isHidden()


def test_it_stays_inside_the_window(qapp: QApplication, opened: Palette, window: MainWindow) -> None:
    for size in ((960, 600), (1280, 720), (1920, 1080)):
        window.resize(*size)
        qapp.processEvents()
        window.shell.open_palette("")
        assert window.rect().contains(opened.geometry())
        assert not opened.grab().isNull()


# -- shortcuts -------------------------------------------------------------------------------------


def test_the_page_lists_every_shortcut(qtbot: QtBot, window: MainWindow) -> None:
    listed = {keys for group in groups(Words("en")) for _, found in group.lines for keys in found}
    for command in COMMANDS:
        for keys in command.shortcuts:
            assert QKeySequence(keys).toString(QKeySequence.SequenceFormat.NativeText) in listed, command.id
    window.show()
    page = window.shell.show_shortcuts()
    assert page.isVisible()
    assert not page.grab().isNull()
    QTest.keyClick(page, Qt.Key.Key_Escape)
    assert page.isHidden()


def test_no_shortcut_is_given_twice() -> None:
    given = [keys for command in COMMANDS for keys in command.shortcuts]
    assert len(given) == len(set(given))


def test_palette_and_page_speak_the_language_of_the_window(
    make_window: Callable[[], MainWindow], qtbot: QtBot
) -> None:
    window = make_window()
    window.show()
    window.shell.open_palette("")
    window.shell.show_shortcuts()
    window.language.use("zh_CN")
    palette = window.shell.open_palette("")
    assert palette.box.accessibleName() == Words("zh_CN")("actions.search")
    assert window.shell.show_shortcuts().accessibleName() == Words("zh_CN")("actions.shortcuts")


QUESTIONS = [
    (
        "qwen3-32b 4 bit 2x3090 16 users 16k",
        ("Qwen3-32B", "2 × RTX 3090", "AWQ INT4", "16 users", "16K prompt"),
    ),
    (
        "Does Qwen3-32B in 4 bit fit on two 3090s with 16 users at 16K?",
        ("Qwen3-32B", "2 × RTX 3090", "AWQ INT4", "16 users", "16K prompt"),
    ),
    (
        "qwen3-32b 4 位 2 张 3090 16 用户 16k",
        ("Qwen3-32B", "2 × RTX 3090", "AWQ INT4", "16 users", "16K prompt"),
    ),
    ("llama 3.1 70b fp8 4x h100", ("Llama-3.1-70B-Instruct", "4 × H100 SXM5 80GB", "FP8 per tensor")),
    ("2x 3090", ("2 × RTX 3090",)),
    ("2 x a100 80gb", ("2 × A100 SXM4 80GB",)),
    ("4 bit", ("AWQ INT4",)),
    ("16 users", ("16 users",)),
    ("3090×2", ("2 × RTX 3090",)),
    ("3090 x2", ("2 × RTX 3090",)),
    ("mixtral 8x7b h100x8", ("Mixtral-8x7B-Instruct-v0.1", "8 × H100 SXM5 80GB")),
    ("16K上下文", ("16K prompt",)),
    ("四位", ("AWQ INT4",)),
    ("并发16", ("16 users",)),
    ("q4_k_m", ("llama.cpp", "GGUF Q4_K_M")),
    ("qwen3-8b q4_k_m ollama", ("Qwen3-8B", "Ollama", "GGUF Q4_K_M")),
    ("TP2", ("TP 2",)),
    ("TPOT 50ms", ("Per token ≤ 50 ms",)),
    ("TTFT<2s 32 users", ("32 users", "First token ≤ 2 s")),
    ("2 req/s", ("2 requests/s",)),
    ("每秒2个请求", ("2 requests/s",)),
    ("输入4K 输出1K", ("4K prompt · 1K output",)),
    ("4k输入 1k输出", ("4K prompt · 1K output",)),
    ("3000 in", ("2.9K prompt",)),
    ("3000 in 400 out", ("2.9K prompt · 400 output",)),
    ("3000 input 400 output", ("2.9K prompt · 400 output",)),
    ("2x 3090 in 4 bit", ("2 × RTX 3090", "AWQ INT4")),
    ("400out", ("400 output",)),
    ("3000in 400out", ("2.9K prompt · 400 output",)),
    ("kv 8", ("KV FP8",)),
    ("kv8 400out", ("KV FP8", "400 output")),
    ("KV缓存8位", ("KV FP8",)),
    ("int8 kv cache", ("KV FP8",)),
    ("4 bit kv 8", ("AWQ INT4", "KV FP8")),
    ("4 bit weights 8-bit kv", ("AWQ INT4", "KV FP8")),
    ("qwen3-8b q4_k_m kv 8 bit", ("Qwen3-8B", "llama.cpp", "GGUF Q4_K_M", "KV q8_0")),
    ("kv 8 users 16", ("KV FP8", "16 users")),
    ("昇腾910B 8卡", ("8 × Ascend 910B (376T, 64GB)",)),
    ("deepseek-v3 fp8 8x h200", ("DeepSeek-V3", "8 × H200 SXM 141GB", "FP8 block 128")),
]


@pytest.mark.parametrize(("typed", "parts"), QUESTIONS)
def test_a_question_is_read(window: MainWindow, typed: str, parts: tuple[str, ...]) -> None:
    shelf = window.workspace.forms.catalogue
    question = question_of(typed, window.document.scenario, shelf, window.words)
    assert question is not None and question.parts == parts


@pytest.mark.parametrize(
    "typed",
    ["", "?", "qwen3-32b", "3090", "undo", "hello world", "0 users", "99999x 3090", "4", "k", "×"],
)
def test_other_texts_are_no_questions(window: MainWindow, typed: str) -> None:
    shelf = window.workspace.forms.catalogue
    assert question_of(typed, window.document.scenario, shelf, window.words) is None


@pytest.mark.parametrize(
    ("typed", "parts", "unknown"),
    [
        ("hello world 16 users", ("16 users",), ("hello", "world")),
        ("在两张3090上跑qwen3-32b 并发16 foobar", ("Qwen3-32B", "2 × RTX 3090", "16 users"), ("foobar",)),
        ("99999x 3090 16 users", ("RTX 3090", "16 users"), ("99999x",)),
    ],
)
def test_words_that_are_not_understood_are_named_and_the_rest_is_offered(
    opened: Palette, window: MainWindow, typed: str, parts: tuple[str, ...], unknown: tuple[str, ...]
) -> None:
    shelf = window.workspace.forms.catalogue
    question = question_of(typed, window.document.scenario, shelf, window.words)
    assert question is not None and (question.parts, question.unknown) == (parts, unknown)
    opened._search(typed)
    listed = {entry.context: entry.name for entry in opened.results()}
    assert listed["Set up"] == " · ".join(parts)
    assert listed["Not understood"] == " · ".join(unknown)


def test_users_that_are_asked_for_are_the_target_of_the_capacity(window: MainWindow) -> None:
    document, sources = window.document, Sources(window)
    document.set_value("targets.users", 8)
    sources.asked("1 user")[0].run()
    assert (document.scenario.workload.users, document.scenario.targets.users) == (1, 1)
    document.set_value("targets.users", None)
    sources.asked("16 users")[0].run()
    assert (document.scenario.workload.users, document.scenario.targets.users) == (16, None)


@pytest.mark.parametrize(
    ("typed", "device", "engine", "weights"),
    [
        ("Qwen3-8B M4 Max 4bit 1 user 2K", "Apple M4 Max (40-core GPU)", "llamacpp", "gguf_q4_k_m"),
        ("Qwen3-8B M4 Max mlx 4bit", "Apple M4 Max (40-core GPU)", "mlx", "mlx_4bit"),
        ("Qwen3-8B V100 8 users", "V100 SXM2 32GB", "vllm", "fp16"),
        ("Qwen3-8B P100 8 users", "P100 PCIe 16GB", "llamacpp", "gguf_q4_k_m"),
    ],
)
def test_what_was_asked_for_runs(
    window: MainWindow, typed: str, device: str, engine: str, weights: str
) -> None:
    document, sources = window.document, Sources(window)
    place = {"accelerators": 8, "tensor_parallel": 8, "expert_parallel": 1, "attention_data_parallel": 8}
    document.set_values([(f"deployment.{name}", value) for name, value in place.items()], "x")
    sources.asked(typed)[0].run()
    now = document.scenario
    assert (now.accelerator.name, now.engine.name, now.precision.weights) == (device, engine, weights)
    assert unsupported(now) is None
    if now.accelerator.unified_memory:
        assert (now.deployment.accelerators, now.deployment.group) == (1, 1)
        assert now.deployment.attention_data_parallel == 1


def test_a_device_that_another_engine_runs_on_is_still_a_name(window: MainWindow) -> None:
    shelf = window.workspace.forms.catalogue
    assert question_of("M4 Max", window.document.scenario, shelf, window.words) is None


def test_devices_that_nobody_counted_are_told(window: MainWindow) -> None:
    window.document.set_values([("deployment.accelerators", 2), ("deployment.tensor_parallel", 2)], "x")
    kept = Sources(window).asked("llama 70b h100 4 bit 8 users 2k")[1]
    assert kept.name == "2 × GPU"


def test_a_layout_that_needs_more_devices_brings_them(window: MainWindow) -> None:
    document, sources = window.document, Sources(window)
    sources.asked("qwen3-32b h100 tp4")[0].run()
    place = document.scenario.deployment
    assert (place.accelerators, place.tensor_parallel) == (4, 4)


def test_a_question_is_one_edit_with_what_follows_from_it(
    qtbot: QtBot, opened: Palette, window: MainWindow
) -> None:
    before = window.document.scenario
    QTest.keyClicks(opened.box, QUESTIONS[0][0])
    QTest.keyClick(opened.box, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.document.scenario != before)
    now = window.document.scenario
    assert (now.model.name, now.accelerator.name) == ("Qwen3-32B", "RTX 3090")
    assert (now.deployment.accelerators, now.deployment.tensor_parallel) == (2, 2)
    assert now.precision.weights == "awq_g128"
    assert (now.workload.users, now.workload.prompt_tokens) == (16, 16384)
    assert now.engine.max_model_len >= 16384 + now.workload.output_tokens
    assert window.document.undo_stack.count() == 1
    window.document.undo()
    assert window.document.scenario == before


def test_a_question_says_what_it_leaves_as_it_was(window: MainWindow) -> None:
    document, sources = window.document, Sources(window)
    document.set_values([("precision.weights", "awq_g128"), ("workload.prompt_tokens", 4096)], "x")
    asked, kept = sources.asked("4 h100 with 32 users")
    assert (kept.context, kept.name) == ("Keeps", "AWQ INT4 · 4K prompt")
    asked.run()
    assert document.scenario.precision.weights == "awq_g128"
    assert (document.scenario.workload.users, document.scenario.workload.prompt_tokens) == (32, 4096)
    assert len(sources.asked(QUESTIONS[0][0])) == 1  # nothing is left


PIECES = st.lists(
    st.sampled_from(
        ["2", "x", "×", "3090", "16", "users", "k", "16k", "4", "bit", "qwen", "两", "²", "99999999999", "?"]
    )
)


@given(text=st.one_of(st.text(max_size=80), PIECES.map(" ".join)))
@example(text="²x 3090")
@example(text="9" * 70 + "k")
def test_no_text_is_too_odd_for_it(text: str, scenario: Scenario) -> None:
    question = question_of(text, scenario, SHELF, Words("en"))
    if question is not None:
        question.changes(scenario)


SHELF = Catalogue()
