"""The log beside the ledger: when it is shown, what a line of the ledger points out, what can be copied."""

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

import resources
from core.evidence.readers.common import together
from core.evidence.readers.detect import read_text
from core.evidence.run import Origin, Run, Setting
from core.words import Words
from gui.contents.validate import run_title
from gui.frame.window import MainWindow
from gui.paths import Paths
from gui.workspaces.validate import ValidateWorkspace
from gui.workspaces.validate_runs import EXAMPLES

WAIT_MS = 20_000


@pytest.fixture
def shown(make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot) -> ValidateWorkspace:
    window = make_window()
    window.paths = paths
    window.show()
    window.stack.show_key("validate")
    page = window.stack.page("validate")
    assert isinstance(page, ValidateWorkspace)
    read = (read_text(resources.read_bytes(f"data/evidence/{name}"), name) for name in EXAMPLES)
    page.take(together(read))
    qtbot.waitUntil(lambda: page.settled() and page.view is not None, timeout=WAIT_MS)
    return page


def number_of(page: ValidateWorkspace, *, log: bool) -> int:
    assert page.board is not None
    return next(i for i, pair in enumerate(page.board.pairs) if bool(pair.run.log) == log)


def test_a_start_log_shows_its_lines_and_a_benchmark_its_causes(shown: ValidateWorkspace) -> None:
    beside = shown.pages.beside
    shown.choose(number_of(shown, log=True))
    assert beside.shown == "log" and beside.switch.isVisible() and beside.log.isVisible()
    text = beside.log.toPlainText()
    assert "Available KV cache memory: 4.52 GiB" in text and "gpu_worker.py" not in text
    assert "example-vllm-start.log" in beside.caption.text() and "6 lines" in beside.caption.text()
    beside.switch.chosen.emit("causes")
    assert beside.causes.isVisible() and not beside.log.isVisible()
    shown.choose(number_of(shown, log=False))
    assert beside.shown == "causes" and not beside.switch.isVisible()
    assert "users" in beside.caption.text() or "user" in beside.caption.text()


def test_a_line_of_the_ledger_points_out_where_the_log_says_it(shown: ValidateWorkspace) -> None:
    shown.choose(number_of(shown, log=True))
    beside, ledger = shown.pages.beside, shown.pages.run.ledger
    keys = [row.key for row in ledger.rows]
    assert keys.index("weights") == 0 and keys.index("max_concurrency") == len(keys) - 1
    ledger._go(keys.index("kv_cache_tokens"))
    assert beside.log.marked == "kv_cache_tokens"
    block = beside.log.document().findBlockByNumber(beside.log.textCursor().blockNumber())
    assert "GPU KV cache size: 37,024 tokens" in block.text()
    beside.show_kind("causes")
    ledger._go(0)
    assert beside.shown == "log", "the line is brought into sight"


def test_another_run_begins_without_a_mark(shown: ValidateWorkspace) -> None:
    shown.choose(number_of(shown, log=True))
    shown.pages.run.ledger._go(0)
    shown.choose(number_of(shown, log=False))
    assert shown.pages.beside.log.toPlainText() == ""
    shown.choose(number_of(shown, log=True))
    assert shown.pages.beside.log.marked == "" and shown.pages.run.ledger.current == -1
    assert shown.pages.beside.log.verticalScrollBar().value() == 0


def test_runs_that_are_on_their_way_are_not_read_twice(
    make_window: Callable[[], MainWindow], paths: Paths, qtbot: QtBot
) -> None:
    """Estimate and Validate both want them: a long log is read once."""
    window = make_window()
    window.paths = paths
    store = window.shell.runs
    read: list[object] = []
    store.loaded.connect(lambda: read.append(store.project))
    for _ in range(3):
        store.want()
    qtbot.waitUntil(lambda: not store.busy and store.is_current, timeout=WAIT_MS)
    store.want()
    assert not store.busy and len(read) == 1
    store.load()
    qtbot.waitUntil(lambda: not store.busy, timeout=WAIT_MS)
    assert len(read) == 2


def test_a_length_that_is_not_stated_is_no_zero() -> None:
    words = Words("en")
    some = Run(Origin("x"), Setting(output_tokens=262.0))
    none = Run(Origin("x"), Setting(input_tokens=0.0, output_tokens=128.0))
    assert run_title(some, words) == "? + 262" and run_title(none, words) == "0 + 128"


def test_a_trace_with_the_size_of_its_device_is_no_start_log(shown: ValidateWorkspace, qtbot: QtBot) -> None:
    """The size is a line of its ledger, and nothing of it is compared: no difference is called small."""
    kernel = '{"ph":"X","cat":"kernel","name":"ampere_bf16_gemm","pid":0,"tid":7,"ts":1,"dur":9}'
    device = '[{"id":0,"name":"NVIDIA A100-SXM4-80GB","totalGlobalMem":85000000000}]'
    text = f'{{"schemaVersion":1,"deviceProperties":{device},"traceEvents":[{kernel}]}}'
    reading = read_text(text, "trace.json")
    (run,) = reading.runs
    assert run.ledger and run_title(run, Words("en")) == Words("en")("validating.trace")
    shown.take(reading)
    qtbot.waitUntil(
        lambda: shown.settled() and shown.board is not None and len(shown.board.pairs) == 10, timeout=WAIT_MS
    )
    assert shown.board is not None
    shown.choose(next(i for i, pair in enumerate(shown.board.pairs) if pair.run.operators))
    qtbot.waitUntil(shown.settled, timeout=WAIT_MS)
    assert shown.pages.causes.empty == Words("en")("validating.causes.not_compared")
