"""What leaves the window: reports, pictures of plots and their data, to files and to the clipboard."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from core.errors import InferometerError
from core.explain.ledger_names import budget_key
from core.files.atomic import write_atomic
from core.planning.curves import WorkloadCurves
from core.results import Estimate
from core.words import Words
from gui.paths import file_name
from gui.pinned import letter

if TYPE_CHECKING:  # at run time what is given away is made when it is asked for
    from core.reports.comparison import Comparison
    from gui.dialogs.data_view import DataView
    from gui.exporting.plot_tables import DataTable
    from gui.frame.window import MainWindow

_Maker: TypeAlias = "Callable[[WorkloadCurves, Words], DataTable | None]"
REPORTS = ("html", "pdf", "md", "xlsx", "csv")
PICTURES = ("png", "svg", "pdf")


@dataclass(frozen=True, slots=True)
class Part:
    """A plot that can be given away; ``table`` makes its data, None where there is none."""

    title: str
    widget: QWidget
    table: "Callable[[], DataTable | None]"


class Exports(QObject):
    """The menu "Export" of one window, and the menu of each plot."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self.menu = QMenu(window)
        self.menu.aboutToShow.connect(self._fill)

    # -- menus -----------------------------------------------------------------------------------

    def _fill(self) -> None:
        w, menu = self._window.words, self.menu
        menu.clear()
        self._head("report")
        for kind in REPORTS:
            action = menu.addAction(w(f"export.kinds.{kind}"))
            action.triggered.connect(lambda _=False, kind=kind: self.report(kind))
        parts = self.parts()
        if not parts:
            return
        menu.addSeparator()
        self._head("plots")
        for part in parts:
            self._fill_part(menu.addMenu(part.title), part)

    def _head(self, key: str) -> None:
        """Words over a group of the menu."""
        self.menu.addAction(self._window.words(f"export.{key}")).setEnabled(False)

    def _fill_part(self, menu: QMenu, part: Part) -> None:
        w = self._window.words
        for kind in PICTURES:
            action = menu.addAction(w(f"export.kinds.{kind}"))
            action.triggered.connect(lambda _=False, kind=kind: self.picture(part, kind))
        action = menu.addAction(w("export.data"))
        action.triggered.connect(lambda _=False: self.data(part))
        action.setEnabled(part.table() is not None)
        menu.addSeparator()
        show = menu.addAction(w("export.show_data"))
        show.triggered.connect(lambda _=False: self.show_data(part))
        show.setEnabled(part.table() is not None)
        menu.addAction(w("export.copy_picture")).triggered.connect(lambda _=False: self.copy_picture(part))
        copy = menu.addAction(w("export.copy_data"))
        copy.triggered.connect(lambda _=False: self.copy_data(part))
        copy.setEnabled(part.table() is not None)

    def context(self, event: QContextMenuEvent) -> None:
        """Every plot in sight has a menu of its own; the window is asked when nothing below it answers."""
        part = self._part_at(event)
        if part is None:
            event.ignore()
            return
        menu = QMenu(self._window)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._fill_part(menu, part)
        menu.popup(event.globalPos())

    def _part_at(self, event: QContextMenuEvent) -> Part | None:
        """The plot under the pointer, or, for the key, the one that has the focus."""
        at: QWidget | None = self._window.childAt(self._window.mapFromGlobal(event.globalPos()))
        if event.reason() == QContextMenuEvent.Reason.Keyboard:
            at = QApplication.focusWidget()
        parts = {part.widget: part for part in self.parts()}
        while at is not None and at not in parts:
            at = at.parentWidget()
        return parts.get(at) if at is not None else None

    # -- parts -----------------------------------------------------------------------------------

    def parts(self) -> list[Part]:
        """The plots of the tab in sight."""
        from gui.exporting import plot_tables as tables

        window, w = self._window, self._window.words
        tabs, estimation = window.workspace.tabs, window.estimation
        point, curves = estimation.estimate, estimation.curves
        if window.stack.key != "estimate":
            return [Part(one.title, one.widget, one.table) for one in window.stack.pictures()]
        if point is None:
            return []
        found: list[Part] = []
        if tabs.current == "overview":
            ledger = window.workspace.ledger
            found.append(Part(w("ledger.title"), ledger, lambda: tables.ledger_table(point, w)))
            makers: dict[str, _Maker] = {
                "memory_over_users": partial(tables.memory_table, limit=budget_key(point)),
                "latency_over_users": tables.latency_table,
                "throughput_latency": tables.frontier_table,
            }
            for plot in tabs.plots:
                table = partial(_of_curves, makers[plot.key], curves, w)
                found.append(Part(w(f"plots.{plot.key}.title"), plot, table))
        elif tabs.current == "roofline" and tabs.roofline is not None:
            roofline = tabs.roofline
            found.append(
                Part(w("plots.roofline.title"), roofline, lambda: tables.operators_table(roofline.started, w))
            )
        elif tabs.current == "step" and tabs.step is not None:
            step = tabs.step
            found.append(Part(w("window.tabs.step"), step, lambda: tables.operators_table(step.started, w)))
        elif tabs.current == "request" and tabs.request is not None:
            life = tabs.request
            found.append(Part(w("plots.request_life.title"), life, lambda: tables.life_table(life.life, w)))
        return found

    # -- files -----------------------------------------------------------------------------------

    def report(self, kind: str) -> None:
        """Write a report; its form follows the ending of the name that is chosen."""
        point = self._window.estimation.estimate
        if point is None:
            return
        words, beside = self._window.words, self._compared(point)

        def make(path: Path) -> bytes:
            from gui.exporting.pdf import report_pdf

            if path.suffix.lower() == ".pdf":
                return report_pdf(point, words, beside)
            from core.reports.write import report_bytes

            return report_bytes(point, path, words, beside)

        self._save(words("export.file_report", name=self._stem()), kind, make)

    def _compared(self, point: Estimate) -> "Comparison | None":
        """What Compare shows while it is in sight and there is something beside the scenario."""
        window = self._window
        page = window.stack.page("compare") if window.stack.key == "compare" else None
        if page is None or not window.pinned.pins:
            return None
        from core.reports.comparison import Comparison, Series
        from gui.workspaces.compare import CompareWorkspace

        assert isinstance(page, CompareWorkspace)
        found = [(point, window.estimation.curves)]
        for pin in window.pinned.pins:
            try:
                found.append((window.pinned.estimate_of(pin), window.pinned.curves_of(pin)))
            except InferometerError:
                continue  # Compare leaves it out as well
        series = tuple(
            Series(letter(index), name, one, curves)
            for index, ((one, curves), name) in enumerate(zip(found, page.names(), strict=True))
        )
        baseline = min(window.pinned.baseline_index, len(series) - 1)
        return Comparison(series, baseline, bool(page.which.value)) if len(series) > 1 else None

    def picture(self, part: Part, kind: str) -> None:
        """Write a plot as it stands."""

        def make(path: Path) -> bytes:
            from gui.exporting.pictures import kind_of, picture

            return picture(part.widget, kind_of(path.suffix, kind), part.title)

        self._save(self._window.words("export.file", name=self._stem(), part=part.title), kind, make)

    def data(self, part: Part) -> None:
        """Write the data behind a plot."""
        table = part.table()
        if table is not None:
            name = self._window.words("export.file", name=self._stem(), part=part.title)
            self._save(name, "csv", lambda _path: table.csv_bytes())

    def show_data(self, part: Part) -> "DataView | None":
        """The numbers behind a plot in a window of their own, as they stand now."""
        table = part.table()
        if table is None:
            return None
        from gui.dialogs.data_view import DataView

        view = DataView(part.title, table, self._window.words, self._window)
        view.save_asked.connect(lambda: self.data(part))
        view.show()
        return view

    def copy_picture(self, part: Part) -> None:
        """Put a plot on the clipboard."""
        from gui.exporting.pictures import image_of

        QGuiApplication.clipboard().setImage(image_of(part.widget))

    def copy_data(self, part: Part) -> None:
        """Put the data of a plot on the clipboard, for a spreadsheet."""
        table = part.table()
        if table is not None:
            QGuiApplication.clipboard().setText(table.tab_separated())

    def _stem(self) -> str:
        document = self._window.document
        return document.path.stem if document.path is not None else document.title

    def _save(self, name: str, kind: str, make: Callable[[Path], bytes]) -> None:
        window = self._window
        suggested = window.files.folder() / f"{plain_name(name)}.{kind}"

        def chosen(path: Path | None) -> None:
            if path is None:
                return
            QGuiApplication.setOverrideCursor(Qt.CursorShape.WaitCursor)
            try:
                write_atomic(path, make(path))
            except InferometerError as error:
                reason = window.words.problem(error.problems[0])
                self._tell("bad", window.words("export.failed", reason=reason))
            else:
                self._tell("good", window.words("export.saved", name=path.name))
            finally:
                QGuiApplication.restoreOverrideCursor()

        window.dialogs.save_file(window, suggested, chosen)

    def _tell(self, kind: str, text: str) -> None:
        messages = self._window.workspace.messages
        links = [(self._window.words("window.dismiss"), lambda: messages.drop("export"))]
        messages.tell("export", kind, text, links)


def _of_curves(make: "_Maker", curves: WorkloadCurves | None, words: Words) -> "DataTable | None":
    return make(curves, words) if curves is not None else None


def plain_name(text: str) -> str:
    """A file name that every system takes."""
    return file_name(text, "export")
