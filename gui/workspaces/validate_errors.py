"""The page of errors: the plot and the error by group, the chosen run and what stands beside it."""

from PySide6.QtCore import QEvent, QRect
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QWidget

from core.words import Words
from gui.frame.sizes import COLUMN_GAP, GUTTER
from gui.plots.measured_plot import MeasuredPlot
from gui.theme import manager, theme
from gui.widgets.grid_table import GridTable
from gui.workspaces.parts import Ground
from gui.workspaces.plot_title import PlotTitle
from gui.workspaces.validate_beside import Beside
from gui.workspaces.validate_run import RunDetail

_TITLE, _CAPTION = 20, 14  # heights, on one line with those of the plot
_EDGE, _ROW_GAP = 8, 14
_LEFT, _UPPER = 0.46, 0.51  # shares of the first column and row
_WIDE_LEFT, _MOST_RIGHT = 0.54, 860  # in a large window
_MOST_GROUPS, _MOST_RUN = 0.42, 0.72  # of the height there


class ErrorsPage(Ground):
    """All runs above and one below, in two columns; in a large window all runs at the left and one at the
    right, where each part is as high as it needs to be and the plot takes what is left.
    """

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__("canvas", parent=parent)
        self.plot = MeasuredPlot(words, self)
        self.groups = GridTable(words("validating.groups_title"), 30, parent=self)
        self.groups_title = PlotTitle("body_semibold", "ink")
        self.groups_caption = PlotTitle("caption", "ink3", words("validating.groups_caption"))
        self.run = RunDetail(words, self)
        self.beside = Beside(words)
        for widget in (self.groups_title, self.groups_caption, self.beside):
            widget.setParent(self)
        self._wide = False
        manager.changed.connect(self._place)

    def set_wide(self, wide: bool) -> None:
        """Lay out for a large window, or for another one."""
        if wide != self._wide:
            self._wide = wide
            self._place()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The parts share the room."""
        super().resizeEvent(event)
        self._place()

    def event(self, event: QEvent) -> bool:
        """A part wants another height."""
        if event.type() == QEvent.Type.LayoutRequest:
            self._place()
        return super().event(event)

    def _place(self) -> None:
        edge = theme().px(_EDGE)
        inside = self.rect().adjusted(GUTTER, edge, -GUTTER, -edge)
        if inside.width() <= COLUMN_GAP or inside.height() <= theme().px(_ROW_GAP):
            return
        plot, groups, run, beside = self._in_columns(inside) if self._wide else self._in_rows(inside)
        self.plot.setGeometry(plot)
        title, caption = theme().px(_TITLE), theme().px(_CAPTION)
        self.groups_title.setGeometry(groups.x(), groups.y(), groups.width(), title)
        self.groups_caption.setGeometry(groups.x(), groups.y() + title, groups.width(), caption)
        self.groups.setGeometry(groups.adjusted(0, title + caption, 0, 0))
        self.run.setGeometry(run)
        self.beside.setGeometry(beside)

    def _in_rows(self, inside: QRect) -> tuple[QRect, QRect, QRect, QRect]:
        """Four quarters."""
        left = round(_LEFT * (inside.width() - COLUMN_GAP))
        upper = round(_UPPER * (inside.height() - theme().px(_ROW_GAP)))
        x, y = inside.x() + left + COLUMN_GAP, inside.y() + upper + theme().px(_ROW_GAP)
        right, lower = inside.right() + 1 - x, inside.bottom() + 1 - y
        return (
            QRect(inside.x(), inside.y(), left, upper),
            QRect(x, inside.y(), right, upper),
            QRect(inside.x(), y, left, lower),
            QRect(x, y, right, lower),
        )

    def _in_columns(self, inside: QRect) -> tuple[QRect, QRect, QRect, QRect]:
        """All runs and one run beside each other."""
        t, high = theme(), inside.height()
        gap = t.px(_ROW_GAP)
        left = round(_WIDE_LEFT * (inside.width() - COLUMN_GAP))
        left = max(left, inside.width() - COLUMN_GAP - t.px(_MOST_RIGHT))
        x = inside.x() + left + COLUMN_GAP
        right = inside.right() + 1 - x
        wanted = t.px(_TITLE) + t.px(_CAPTION) + self.groups.sizeHint().height()
        groups = min(wanted, round(_MOST_GROUPS * high))
        run = min(self.run.wanted_height(right), round(_MOST_RUN * high))
        return (
            QRect(inside.x(), inside.y(), left, high - groups - gap),
            QRect(inside.x(), inside.y() + high - groups, left, groups),
            QRect(x, inside.y(), right, run),
            QRect(x, inside.y() + run + gap, right, high - run - gap),
        )
