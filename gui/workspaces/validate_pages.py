"""The pages of the Validate workspace: errors with the run that is chosen, and what to do without runs."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QButtonGroup,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QStackedLayout,
    QVBoxLayout,
    QWidget,
)

from core.errors import Problem
from core.words import Words
from gui.fields.choice_edit import Choice
from gui.fields.segmented import Segmented
from gui.frame.sizes import GUTTER, TABS
from gui.frame.toolbar import TextTab
from gui.plots.measured_scales import KINDS
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.grid_table import Cell, Column, GridTable, Row
from gui.workspaces.parts import Ground
from gui.workspaces.validate_errors import ErrorsPage

TABS_IN_ORDER = ("errors", "calibrate", "diagnose", "unread")
_SOURCES = ("serving", "engines", "local", "logs", "monitors", "tables")


class ValidatePages(QWidget):
    """``tab_chosen`` carries the key of a tab."""

    tab_chosen = Signal(str)

    def __init__(self, words: Words, calibrate: QWidget, diagnose: QWidget) -> None:
        super().__init__()
        self._words = words
        self.tab = "errors"
        self.errors = ErrorsPage(words)
        self.plot, self.run, self.beside = self.errors.plot, self.errors.run, self.errors.beside
        self.groups, self.groups_title = self.errors.groups, self.errors.groups_title
        self.causes = self.beside.causes
        self.run.line_chosen.connect(self.beside.point_out)
        self.unread = GridTable(words("validating.unread_title"), selects=False)
        self._pages = QStackedLayout()
        for page in (self.errors, calibrate, diagnose, self._unread_page()):
            self._pages.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self._tab_row())
        column.addLayout(self._pages, 1)
        manager.changed.connect(self._restyle)
        self._restyle()
        self.show_unread(())

    def _tab_row(self) -> QWidget:
        self._row = QWidget()
        row = QHBoxLayout(self._row)
        row.setContentsMargins(GUTTER, 0, GUTTER, 0)
        row.setSpacing(24)
        group = QButtonGroup(self)
        self.tabs: dict[str, TextTab] = {}
        for key in TABS_IN_ORDER:
            tab = self.tabs[key] = TextTab(self._words(f"validating.tabs.{key}", n=""), self._row)
            tab.setChecked(key == self.tab)
            tab.toggled.connect(lambda on, key=key: self.tab_chosen.emit(key) if on else None)
            group.addButton(tab)
            row.addWidget(tab)
        row.addStretch(1)
        self.kinds = Segmented([Choice(kind, self._words(f"validating.kinds.{kind}")) for kind in KINDS])
        self.kinds.setAccessibleName(self._words("validating.kinds.title"))
        self.kinds.chosen.connect(self.plot.set_kind)
        self.kinds.chosen.connect(self.kinds.set_value)
        row.addWidget(self.kinds)
        return self._row

    def _unread_page(self) -> QWidget:
        page = Ground("canvas")
        column = self._unread_column = QVBoxLayout(page)
        column.addWidget(self.unread, 1)
        return page

    def _restyle(self) -> None:
        t = theme()
        self._row.setFixedHeight(t.px(TABS))
        self._unread_column.setContentsMargins(GUTTER, t.px(8), GUTTER, t.px(8))
        self.kinds.setFixedWidth(t.px(330))
        self.kinds.setFixedHeight(t.px(28))

    def show_tab(self, key: str) -> None:
        """Bring a tab into sight."""
        self.tab = key
        if not self.tabs[key].isChecked():
            self.tabs[key].setChecked(True)
        self._pages.setCurrentIndex(TABS_IN_ORDER.index(key))
        self.kinds.setVisible(key == "errors")

    def show_unread(self, problems: Sequence[Problem]) -> None:
        """List what could not be read, or with care only."""
        words, tab = self._words, self.tabs["unread"]
        columns = [
            Column(words("validating.columns.file")),
            Column(words("validating.columns.line_number"), right=True),
            Column(words("validating.columns.reason"), stretch=True),
        ]
        rows = []
        for problem in problems:
            line = problem.values.get("line") or ""
            reason = words.problem(problem)
            serious = problem.severity == "error"
            file = str(problem.values.get("file", ""))
            cells = (
                Cell(file, "body_medium", tip=file),
                Cell(str(line), colour="ink2"),
                Cell(reason, colour="bad" if serious else "ink2", tip=reason),
            )
            rows.append(Row(cells, words.located(problem)))
        self.unread.show_table(columns, rows)
        tab.setText(words("validating.tabs.unread", n=len(rows)))
        tab.setAccessibleName(tab.text())
        tab.setVisible(bool(rows))
        tab.updateGeometry()
        if not rows and self.tab == "unread":
            self.show_tab("errors")


class EmptyPage(Ground):
    """Without runs: what to drop, and an example."""

    add_asked = Signal()
    example_asked = Signal()

    def __init__(self, words: Words) -> None:
        super().__init__("canvas")
        self.add = QPushButton(words("validating.add"))
        self.add.setProperty("kind", "primary")
        self.add.clicked.connect(self.add_asked)
        self.example = QPushButton(words("validating.show_example"))
        self.example.clicked.connect(self.example_asked)
        column = self._column = QVBoxLayout(self)
        for role, colour, key in (
            ("body_semibold", "ink", "title"),
            ("body", "ink2", "how"),
        ):
            text = Text(role, colour, words(f"validating.empty.{key}"), wrap=True)  # type: ignore[arg-type]
            column.addWidget(text)
        grid = self._grid = QGridLayout()
        for row, source in enumerate(_SOURCES):
            name = Text("body_medium", "ink", words(f"validating.empty.{source}"))
            what = Text("body", "ink2", words(f"validating.empty.{source}_what"), wrap=True)
            grid.addWidget(name, row, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(what, row, 1)
        grid.setColumnStretch(1, 1)
        column.addLayout(grid)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.add)
        buttons.addWidget(self.example)
        buttons.addStretch(1)
        column.addLayout(buttons)
        column.addWidget(Text("caption", "ink3", words("validating.empty.example"), wrap=True))
        column.addWidget(Text("caption", "ink3", words("validating.empty.kept"), wrap=True))
        column.addStretch(1)
        manager.changed.connect(self._restyle)
        self._restyle()

    def _restyle(self) -> None:
        t = theme()
        self._column.setContentsMargins(GUTTER, t.px(20), t.px(120), t.px(20))
        self._column.setSpacing(t.px(10))
        self._grid.setHorizontalSpacing(t.px(24))
        self._grid.setVerticalSpacing(t.px(8))
        self._grid.setContentsMargins(0, t.px(8), 0, t.px(8))
