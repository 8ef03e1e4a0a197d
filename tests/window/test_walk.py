"""The manual's first walk, as a person does it: no answer to another question on the way."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from gui import theme
from gui.fields.quantity_edit import QuantityEdit
from gui.forms.consequences import accelerator_changes, count_changes, model_changes
from gui.forms.layouts import layout_of
from gui.frame.window import MainWindow


def test_the_first_walk_ends_with_the_answer_to_what_was_asked(qtbot: QtBot, window: MainWindow) -> None:
    with qtbot.waitSignal(window.plots_shown, timeout=20_000):
        window.show()
    document, forms, verdict = window.document, window.workspace.forms, window.workspace.verdict
    document.set_values(model_changes(document.scenario, load_model("qwen3-32b")), "model")
    document.set_values(accelerator_changes(document.scenario, load_accelerator("rtx-3090")), "gpu")
    document.set_values(count_changes(document.scenario, 2, layout_of(document.scenario)), "count")
    document.set_value("precision.weights", "awq_g128")
    for path, text in (("workload.users", "16"), ("workload.prompt_tokens", "16K")):
        row = forms.row_of(path)
        assert row is not None and isinstance(row.editor, QuantityEdit)
        row.editor.setFocus()
        row.editor.selectAll()
        QTest.keyClicks(row.editor, text)
        QTest.keyClick(row.editor, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: window.estimation.revision == document.revision)
    assert "workload.prompt_tokens" in document.refused
    assert verdict.held and "not taken" in verdict.accessibleDescription()
    assert not _shows(window, theme.theme().good)

    links = window.workspace.messages.links_of("refused")
    raised = [run for text, run in links if text.startswith("Raise Max length")]
    assert len(raised) == 1
    raised[0]()
    qtbot.waitUntil(lambda: window.estimation.revision == document.revision)
    QApplication.processEvents()
    work = document.scenario.workload
    assert (work.users, work.prompt_tokens) == (16, 16384)
    assert not document.refused and not verdict.held
    point = window.estimation.estimate
    assert point is not None and point.scenario == document.scenario
    assert point.verdict.state == "warn"  # 16 users of 16K fit not all at once, and wait


def _shows(window: MainWindow, colour: QColor) -> bool:
    image = window.workspace.verdict.grab().toImage()
    return any(image.pixelColor(x, y) == colour for x in range(80) for y in range(image.height()))
