"""What a search found: the table, what can be done with an entry, why the rest fails, and the plot."""

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout

from core.words import Words
from gui.frame.sizes import GUTTER
from gui.sheets.sheet import Text
from gui.theme import theme
from gui.widgets.grid_table import GridTable
from gui.workspaces.parts import Caption, Ground

_WHY_ROWS, _WHY_ROWS_SMALL = 5, 3


class RecommendBoard(Ground):
    """Lays the parts out; the page fills them."""

    def __init__(self, words: Words, buttons: Sequence[QPushButton]) -> None:
        from gui.plots.price_plot import PricePlot

        super().__init__("canvas")
        self.chosen_text = Text("body_medium", "ink")
        self.chosen_text.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.table = GridTable(words("recommending.title"), 32)
        self.why_title = Text("body_semibold", "ink", words("recommend.why"))
        self.took = Caption()
        self.why = GridTable(words("recommend.why"), 28, selects=False)
        self.why.most_rows = _WHY_ROWS
        self.why.fix_height()
        self.plot = PricePlot()
        inner = self._inner = QVBoxLayout(self)
        inner.addWidget(self.table, 55)
        actions = QHBoxLayout()
        actions.setSpacing(8)
        actions.addWidget(self.chosen_text, 1)
        for button in buttons:
            actions.addWidget(button)
        inner.addLayout(actions)
        line = QHBoxLayout()
        line.addWidget(self.why_title)
        line.addWidget(self.took, 1)
        inner.addLayout(line)
        inner.addWidget(self.why)
        inner.addWidget(self.plot, 45)

    def set_small(self, small: bool) -> None:
        """Lay out for a small window, or for another look."""
        t = theme()
        self.why.most_rows = _WHY_ROWS_SMALL if small else _WHY_ROWS
        self.why.updateGeometry()
        self._inner.setContentsMargins(GUTTER, t.px(6 if small else 10), GUTTER, t.px(10))
        self._inner.setSpacing(t.px(6 if small else 10))
        self.took.setFixedHeight(t.px(20))
        self.table.setMinimumHeight(t.px(130))  # lower windows scroll
        self.plot.setMinimumHeight(t.px(140))

    def empty(self) -> None:
        """Show nothing."""
        self.table.empty = ""
        for table in (self.table, self.why):
            table.show_table((), ())
        for widget in (self.why_title, self.why):
            widget.hide()
        self.plot.empty = ""
        self.plot.show_points((), "", "")
        self.took.set_text("")
