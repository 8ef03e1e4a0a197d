"""The left column of a workspace: titled groups of fields that are edits of the scenario like any other."""

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from core.spec.scenario import Scenario
from gui.fields.row import FieldRow
from gui.forms.row_group import MoreRows, RowGroup
from gui.sheets.sheet import Text
from gui.theme import manager, theme

SIDE = 16
LABELS, LABELS_SMALL = 96, 88


class SettingsForm(QScrollArea):
    """Groups under titles; what follows the scenario is refreshed while the form is in sight."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(name)
        self._column = _Ground()
        self._layout = QVBoxLayout(self._column)
        self._layout.setSpacing(4)
        self._groups: list[RowGroup | MoreRows] = []
        self._titles: list[Text] = []
        self._small = False
        self._led = False  # something stands before the first title
        self._foot: _Foot | None = None
        self._layout.addStretch(1)
        self.setWidget(self._column)
        manager.changed.connect(self._restyle)
        self._restyle()

    def add_title(self, text: str) -> Text:
        """A title of the groups that follow."""
        title = Text("body_semibold", "ink", text)
        self._titles.append(title)
        self._layout.insertWidget(self._layout.count() - 1, title)
        self._restyle()
        return title

    def add_group(self, group: RowGroup | MoreRows) -> None:
        """Rows that come and go with the scenario."""
        group.row_made.connect(self._fit)
        for row in group.rows:
            self._fit(row)
        self._groups.append(group)
        self._layout.insertWidget(self._layout.count() - 1, group)

    def add_widget(self, widget: QWidget, left: bool = False) -> None:
        """Anything else."""
        self._led = self._led or not self._titles
        side = Qt.AlignmentFlag.AlignLeft if left else Qt.AlignmentFlag(0)
        self._layout.insertWidget(self._layout.count() - 1, widget, 0, side)

    def set_foot(self, button: QWidget) -> None:
        """What ends the form: below the last field, and at the edge where the fields are scrolled."""
        self._foot = _Foot(button, self)
        self._column.installEventFilter(self)
        self._place_foot()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The fields need another height."""
        if event.type() in (QEvent.Type.LayoutRequest, QEvent.Type.Resize):
            self._place_foot()
        return super().eventFilter(watched, event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """So does another height of the window."""
        super().resizeEvent(event)
        self._place_foot()

    def _place_foot(self) -> None:
        foot = self._foot
        if foot is None:
            return
        high, fields = foot.sizeHint().height(), self._layout.sizeHint().height()
        fits = fields + high <= self.height()
        self.setViewportMargins(0, 0, 0, 0 if fits else high)
        foot.floats = not fits
        foot.setGeometry(0, fields if fits else self.height() - high, self.width(), high)
        foot.update()

    @property
    def rows(self) -> list[FieldRow]:
        """All rows made so far."""
        return [row for group in self._groups for row in group.rows]

    def row(self, path: str) -> FieldRow:
        """The row of a field.  Raises StopIteration where it is not shown."""
        return next(row for row in self.rows if row.path == path)

    def refresh(self, scenario: Scenario) -> None:
        """Follow the scenario."""
        for group in self._groups:
            group.refresh(scenario)

    def set_small(self, small: bool) -> None:
        """Use the narrow labels."""
        self._small = small
        for row in self.rows:
            self._fit(row)

    def _fit(self, row: FieldRow) -> None:
        row.set_label_width(theme().px(LABELS_SMALL if self._small else LABELS))

    def _restyle(self) -> None:
        t = theme()
        self._layout.setContentsMargins(SIDE, t.px(12), SIDE, t.px(16))
        for index, title in enumerate(self._titles):
            title.setFixedHeight(t.px(30 if index or self._led else 24))
            title.setContentsMargins(0, t.px(8) if index or self._led else 0, 0, 0)
        for row in self.rows:
            self._fit(row)


class _Foot(QWidget):
    """One button on the side's ground, parted by a hairline from fields that go on below it."""

    def __init__(self, button: QWidget, parent: QWidget) -> None:
        super().__init__(parent)
        self.floats = False
        row = QHBoxLayout(self)
        row.setContentsMargins(SIDE, 8, SIDE, 8)
        row.addWidget(button)
        row.addStretch(1)

    def paintEvent(self, event: QPaintEvent) -> None:
        """Ground and hairline."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().side)
            if self.floats:
                painter.fillRect(0, 0, self.width(), 1, theme().line)


class _Ground(QWidget):
    def paintEvent(self, event: QPaintEvent) -> None:
        """The side's ground."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().side)
