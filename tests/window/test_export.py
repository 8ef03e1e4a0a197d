"""What leaves the window: reports, pictures that can be opened, data that a spreadsheet takes."""

import csv
import io
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QByteArray, QPoint, QRectF, Qt
from PySide6.QtGui import QColor, QContextMenuEvent, QGuiApplication, QImage, QPainter
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QMenu, QWidget
from pytestqt.qtbot import QtBot

from core.quantities import EXPECTED
from core.units import GIB
from gui import theme as themes
from gui.exporting.exports import PICTURES, REPORTS, Exports, Part, plain_name
from gui.exporting.pictures import SHARP, image_of, kind_of, picture
from gui.exporting.plot_tables import DataTable
from gui.frame.window import MainWindow
from gui.plots.vector import lines_within

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def complete(qtbot: QtBot, window: MainWindow) -> MainWindow:
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    return window


@pytest.fixture
def exports(complete: MainWindow) -> Exports:
    return complete.exports


def parts(exports: Exports) -> dict[str, Part]:
    return {getattr(part.widget, "key", "ledger"): part for part in exports.parts()}


def count(image: QImage, colour: QColor) -> int:
    """Pixels of exactly this colour."""
    plain = image.convertToFormat(QImage.Format.Format_RGB32)
    data = np.frombuffer(plain.constBits(), np.uint32).reshape(plain.height(), -1)
    return int(((data & 0xFFFFFF) == (colour.rgb() & 0xFFFFFF)).sum())


@pytest.mark.parametrize("kind", REPORTS)
def test_a_report_is_written_where_it_was_asked_for(
    complete: MainWindow, exports: Exports, dialogs: Any, tmp_path: Path, kind: str
) -> None:
    target = tmp_path / f"for the meeting.{kind}"
    dialogs.files = [target]
    exports.report(kind)
    assert dialogs.suggested[-1].name == f"sample, report.{kind}"
    content = target.read_bytes()
    model = complete.document.scenario.model.name
    if kind == "pdf":
        assert content.startswith(b"%PDF-")
        assert b"/FontFile" in content  # nothing that it needs is elsewhere
    elif kind == "xlsx":
        with zipfile.ZipFile(io.BytesIO(content)) as book:
            assert book.testzip() is None
    else:
        assert model in content.decode("utf-8").replace("\\", "")
    messages = complete.workspace.messages
    assert messages.text_of("export") == f"Saved {target.name}."


@pytest.mark.parametrize("kind", REPORTS)
def test_a_report_from_compare_holds_the_comparison(
    complete: MainWindow, exports: Exports, dialogs: Any, tmp_path: Path, kind: str, qtbot: QtBot
) -> None:
    """What is exported is what is in sight: the pinned scenarios beside the one under edit."""
    window = complete
    window.pinned.pin(window.document.scenario, "as it was before")
    window.document.set_value("workload.users", 2)
    qtbot.waitUntil(lambda: window.estimation.shown_revision == window.document.revision, timeout=30_000)
    files = [tmp_path / f"estimate.{kind}", tmp_path / f"compare.{kind}"]
    dialogs.files = list(files)
    exports.report(kind)
    window.stack.show_key("compare")
    exports.report(kind)
    alone, beside = (_texts_of(file) for file in files)
    assert "as it was before" not in alone
    if kind == "pdf":
        assert len(files[1].read_bytes()) > len(files[0].read_bytes()) + 5_000
        return
    assert "as it was before" in beside
    curves = "compare_throughput" if kind == "csv" else "Output throughput over users"
    assert curves in beside and curves not in alone


def _texts_of(file: Path) -> str:
    if file.suffix == ".xlsx":
        with zipfile.ZipFile(file) as book:
            return book.read("xl/sharedStrings.xml").decode("utf-8")
    return file.read_bytes().decode("utf-8", errors="replace").replace("\\", "")


def test_a_report_that_cannot_be_written_says_why(
    complete: MainWindow, exports: Exports, dialogs: Any, tmp_path: Path
) -> None:
    dialogs.files = [tmp_path / "no such folder" / "report.md"]
    exports.report("md")
    assert complete.workspace.messages.text_of("export").startswith("Not saved: ")


def test_nothing_is_written_when_nothing_was_chosen(
    complete: MainWindow, exports: Exports, dialogs: Any
) -> None:
    dialogs.files = [None]
    exports.report("html")
    assert complete.workspace.messages.text_of("export") == ""


@pytest.mark.parametrize("key", ["ledger", "memory_over_users", "latency_over_users", "throughput_latency"])
def test_a_picture_is_twice_as_fine_as_the_screen(exports: Exports, key: str) -> None:
    part = parts(exports)[key]
    image = QImage.fromData(picture(part.widget, "png", part.title))
    assert image.width() == SHARP * (part.widget.width() + 24)
    current = themes.theme()
    assert count(image, current.canvas) > 0.2 * image.width() * image.height()
    colour = current.ledger["weights"] if key in ("ledger", "memory_over_users") else current.curve
    assert count(image, colour) > 200


def test_curves_of_a_picture_are_as_thick_as_on_the_screen(exports: Exports) -> None:
    """Scaled pens count device pixels: without a correction they would be half as thick."""
    pane = parts(exports)["latency_over_users"].widget
    own = pane.grab().toImage()
    fine = image_of(pane)
    ratio = count(fine, themes.theme().curve) / max(1, count(own, themes.theme().curve))
    assert ratio > 0.75 * SHARP**2 / max(1.0, own.devicePixelRatio()) ** 2
    assert pane.grab().toImage() == own  # nothing on the screen has changed


@pytest.mark.parametrize("key", ["ledger", "memory_over_users", "latency_over_users", "throughput_latency"])
def test_a_drawing_holds_words_and_lines_and_no_picture(exports: Exports, key: str) -> None:
    part = parts(exports)[key]
    drawing = picture(part.widget, "svg", part.title)
    root = ET.fromstring(drawing)
    assert root.get("width") == str(part.widget.width() + 24)
    words = {"".join(node.itertext()).strip() for node in root.iter(f"{_SVG}text")}
    assert part.title in words
    assert not list(root.iter(f"{_SVG}image"))
    assert not list(root.iter(f"{_SVG}clipPath"))  # Qt writes them in the wrong place
    assert b"non-scaling-stroke" not in drawing.replace(b'vector-effect="none"', b"")
    renderer = QSvgRenderer(QByteArray(drawing))
    assert renderer.isValid()
    image = QImage(renderer.defaultSize(), QImage.Format.Format_RGB32)
    image.fill(Qt.GlobalColor.magenta)
    painter = QPainter(image)
    renderer.render(painter)
    painter.end()
    assert count(image, QColor(Qt.GlobalColor.magenta)) == 0  # it has a ground of its own
    colour = themes.theme().ledger["weights"] if key in ("ledger", "memory_over_users") else None
    assert colour is None or count(image, colour) > 50


@pytest.mark.parametrize("key", ["memory_over_users", "latency_over_users", "throughput_latency"])
def test_a_drawing_and_the_screen_show_the_same(exports: Exports, key: str) -> None:
    """Coarsely: where the screen has ink, the drawing has."""
    part = parts(exports)[key]
    renderer = QSvgRenderer(QByteArray(picture(part.widget, "svg", part.title)))
    drawn = QImage(renderer.defaultSize(), QImage.Format.Format_RGB32)
    painter = QPainter(drawn)
    renderer.render(painter)
    painter.end()
    screen = image_of(part.widget).scaled(
        drawn.size(), Qt.AspectRatioMode.IgnoreAspectRatio, Qt.TransformationMode.SmoothTransformation
    )
    a, b = (_cells(image) for image in (drawn, screen))
    assert float(np.abs(a - b).mean()) < 6.0  # of 255; another font alone makes about two


def _cells(image: QImage) -> np.ndarray:
    """Mean lightness in squares of eight pixels, heading left out: its font may differ."""
    grey = image.convertToFormat(QImage.Format.Format_Grayscale8)
    rows = np.frombuffer(grey.constBits(), np.uint8).reshape(grey.height(), grey.bytesPerLine())
    body = rows[56 : 56 + 8 * ((grey.height() - 56) // 8), : 8 * (grey.width() // 8)].astype(float)
    return body.reshape(body.shape[0] // 8, 8, body.shape[1] // 8, 8).mean(axis=(1, 3))


def test_a_pdf_of_a_plot_has_the_size_of_the_plot(exports: Exports) -> None:
    part = parts(exports)["memory_over_users"]
    content = picture(part.widget, "pdf", part.title)
    assert content.startswith(b"%PDF-")
    box = content.split(b"/MediaBox [")[1].split(b"]")[0].split()
    assert float(box[2]) == pytest.approx(0.75 * (part.widget.width() + 24), abs=1.5)
    assert float(box[3]) == pytest.approx(0.75 * (part.widget.height() + 24), abs=1.5)


@pytest.mark.parametrize("kind", PICTURES)
def test_the_file_is_of_the_kind_that_its_name_says(
    exports: Exports, dialogs: Any, tmp_path: Path, kind: str
) -> None:
    dialogs.files = [tmp_path / f"x.{kind}"]
    exports.picture(parts(exports)["throughput_latency"], "png")
    assert dialogs.suggested[-1].name == "sample, Throughput against latency.png"
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF-"}[kind]
    assert (tmp_path / f"x.{kind}").read_bytes().startswith(start)
    assert kind_of(".unknown", kind) == kind


def test_the_data_of_a_plot_are_its_curves(complete: MainWindow, exports: Exports) -> None:
    curves = complete.estimation.curves
    assert curves is not None
    assert curves.load is not None
    latency = parts(exports)["latency_over_users"].table()
    assert latency is not None
    assert [row[0] for row in latency.rows] == curves.load.users.tolist()
    assert [row[1] for row in latency.rows] == curves.load.time_to_first_token[EXPECTED].tolist()
    assert [row[4] for row in latency.rows] == (curves.load.time_per_output_token[EXPECTED] * 1e3).tolist()
    memory = parts(exports)["memory_over_users"].table()
    assert memory is not None
    assert memory.rows[0][1] == curves.memory.bytes[0] / GIB
    assert len(memory.heads) == 3 + len(curves.other_lengths)


def test_every_tab_gives_its_plots_away(complete: MainWindow, exports: Exports) -> None:
    found = {}
    for tab in ("overview", "roofline", "step", "request"):
        complete.workspace.show_tab(tab)
        QApplication.processEvents()
        for part in exports.parts():
            table = part.table()
            assert table is not None, part.title
            assert table.rows
            assert all(len(row) == len(table.heads) for row in table.rows)
            assert not image_of(part.widget).isNull()
            assert ET.fromstring(picture(part.widget, "svg", part.title)) is not None
            found[part.title] = tab
    assert len(found) == 7


def test_data_as_csv_can_be_read_back_and_never_computes() -> None:
    table = DataTable(("a", "b"), (("=1+1", 0.1 + 0.2), ("x", float("inf")), (None, 3)))
    text = table.csv_bytes().decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))
    assert rows == [["a", "b"], ["'=1+1", "0.3"], ["x", ""], ["", "3"]]
    assert table.tab_separated().splitlines()[1] == "'=1+1\t0.3"


def test_picture_and_data_are_copied(exports: Exports) -> None:
    part = parts(exports)["ledger"]
    exports.copy_picture(part)
    assert QGuiApplication.clipboard().image().width() == SHARP * (part.widget.width() + 24)
    exports.copy_data(part)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert lines[0].split("\t") == ["Line", "Engine's word", "GiB", "%"]
    assert lines[1].startswith("Weights\t")


def test_the_menu_lists_reports_and_the_plots_in_sight(complete: MainWindow, exports: Exports) -> None:
    exports.menu.aboutToShow.emit()
    names = [action.text() for action in exports.menu.actions() if not action.isSeparator()]
    assert names[1:6] == [
        "Web page (HTML)…",
        "PDF…",
        "Markdown…",
        "Workbook (Excel)…",
        "Numbers (CSV)…",
    ]
    assert names[7:] == [
        "Memory of each GPU",
        "Memory over users",
        "Latency over users",
        "Throughput against latency",
    ]


def menu_at(window: MainWindow, widget: QWidget) -> QMenu:
    """The menu that a right click on a widget opens."""
    at = widget.mapToGlobal(QPoint(40, widget.height() // 2))
    inner = window.childAt(window.mapFromGlobal(at))
    assert inner is not None
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, inner.mapFromGlobal(at), at)
    QApplication.sendEvent(inner, event)
    menus = [menu for menu in window.findChildren(QMenu) if menu.isVisible()]
    assert len(menus) == 1
    return menus[0]


@pytest.mark.qt_log_ignore("This plugin does not support")  # a popup without a screen
def test_a_plot_has_a_menu_of_its_own(complete: MainWindow) -> None:
    menu = menu_at(complete, complete.workspace.plots[0])
    assert [a.text() for a in menu.actions()][-3:] == ["Show the data", "Copy the picture", "Copy the data"]
    menu.close()


@pytest.mark.qt_log_ignore("This plugin does not support")
@pytest.mark.parametrize("key", ["compare", "explore", "recommend", "simulate"])
def test_every_workspace_gives_its_plots_and_their_data_away(
    qtbot: QtBot, complete: MainWindow, exports: Exports, key: str
) -> None:
    complete.pinned.pin(complete.document.scenario)
    complete.stack.show_key(key)
    qtbot.waitUntil(lambda: complete.stack.settled(), timeout=60_000)
    tabs = ("time", "percentiles") if key == "simulate" else ("",)
    for tab in tabs:
        if tab:
            complete.stack.page(key).show_tab(tab)  # type: ignore[attr-defined]
            QApplication.processEvents()
        given = exports.parts()
        assert given
        for part in given:
            table = part.table()
            assert table is not None and table.rows, part.title
            assert {len(row) for row in table.rows} == {len(table.heads)}
            assert any(isinstance(cell, float) for cell in table.rows[0])
            for kind in PICTURES:
                assert len(picture(part.widget, kind, part.title)) > 1000  # type: ignore[arg-type]
        menu = menu_at(complete, given[0].widget)
        assert "Show the data" in [action.text() for action in menu.actions()]
        menu.close()


def test_the_data_of_a_plot_is_shown_in_a_table(complete: MainWindow, exports: Exports) -> None:
    part = parts(exports)["latency_over_users"]
    view = exports.show_data(part)
    table = part.table()
    assert view is not None and table is not None
    model = view.view.model()
    assert model.rowCount() == len(table.rows) and model.columnCount() == len(table.heads)
    heads = [
        model.headerData(i, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole)
        for i in range(model.columnCount())
    ]
    assert heads == list(table.heads)
    assert model.data(model.index(3, 0), Qt.ItemDataRole.DisplayRole) == f"{table.rows[3][0]:.6g}"
    view.copy()
    assert QGuiApplication.clipboard().text() == table.tab_separated()
    view.close()


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Llama 3.1 8B on 2 × RTX 4090", "Llama 3.1 8B on 2 × RTX 4090"),
        ("a/b\\c:d*?", "a-b-c-d--"),
        ("..hidden", "hidden"),
        ("", "export"),
        ("x" * 500, "x" * 120),
        ("模型 7B", "模型 7B"),
    ],
)
def test_file_names_are_taken_by_every_system(text: str, name: str) -> None:
    assert plain_name(text) == name


def test_lines_are_cut_to_their_box() -> None:
    box = QRectF(0, 0, 10, 10)
    assert list(lines_within([-5, 5, 15], [5, 5, 5], box)) == [[(0, 5), (5, 5), (10, 5)]]
    assert list(lines_within([5, 5], [-10, 20], box)) == [[(5, 0), (5, 10)]]
    assert list(lines_within([0, 4, float("nan"), 6, 10], [1, 1, 1, 1, 1], box)) == [
        [(0, 1), (4, 1)],
        [(6, 1), (10, 1)],
    ]
    assert list(lines_within([20, 30], [1, 1], box)) == []
    assert list(lines_within([0, 10, 0, 10], [2, 2, 4, 4], box, pairs=True)) == [
        [(0, 2), (10, 2)],
        [(0, 4), (10, 4)],
    ]
