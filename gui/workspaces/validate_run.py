"""One measured run beside its prediction: figures, ledger in the engine's words, kernels, remarks."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QScrollArea, QVBoxLayout, QWidget

from core.evidence.operator_pairs import OperatorRow
from core.evidence.pairing import Pair
from core.words import Words
from gui.contents import validate as content
from gui.contents.validate_ledger import ledger_table, operator_table
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.grid_table import Column, GridTable, Row
from gui.work.background import Work
from gui.work.validation import operators
from gui.workspaces.parts import Ground
from gui.workspaces.plot_title import PlotTitle


class RunDetail(QScrollArea):
    """The account of the run that is chosen.  ``line_chosen`` carries a line of its ledger."""

    line_chosen = Signal(str)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self.pair: Pair | None = None
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.title = PlotTitle("body_semibold", "ink", words("validating.run"))
        self.caption = Text("caption", "ink3", wrap=True)
        self.figures = self._table("validating.figures")
        self.ledger_title = Text("body_semibold", "ink", words("validating.ledger"))
        self.ledger = self._table("validating.ledger", selects=True)
        self.ledger.chosen.connect(lambda row: self.line_chosen.emit(str(self.ledger.rows[row].key or "")))
        self.kernels_title = Text("body_semibold", "ink", words("validating.kernels"))
        self.kernels_note = Text("caption", "ink3", words("validating.kernels_note"), wrap=True)
        self.kernels = self._table("validating.kernels")
        self.working = Work(self)
        self.working.news.connect(self._show_kernels)
        self._remarks: list[Text] = []
        ground = Ground("canvas")
        self._column = QVBoxLayout(ground)
        for widget in (
            self.title,
            self.caption,
            self.figures,
            self.ledger_title,
            self.ledger,
            self.kernels_title,
            self.kernels_note,
            self.kernels,
        ):
            self._column.addWidget(widget)
        self._column.addStretch(1)
        self.setWidget(ground)
        manager.changed.connect(self._restyle)
        self._restyle()
        self.show_pair(None)

    def _table(self, key: str, selects: bool = False) -> GridTable:
        table = GridTable(self._words(key), selects=selects)
        table.fix_height()
        return table

    def _restyle(self) -> None:
        t = theme()
        self._column.setContentsMargins(0, 0, t.px(8), 0)
        self._column.setSpacing(t.px(4))
        self.title.setFixedHeight(t.px(20))
        for title in (self.ledger_title, self.kernels_title):
            title.setContentsMargins(0, t.px(8), 0, 0)

    def wanted_height(self, width: int) -> int:
        """Pixels that all of it takes at a width."""
        return self._column.totalHeightForWidth(width) + 2

    def remarks(self) -> list[str]:
        """All lines of small print."""
        return [text.text() for text in self._remarks]

    def show_pair(self, pair: Pair | None) -> None:
        """Show a run, or ask for one to be chosen."""
        self.pair = pair
        words = self._words
        self.working.stop()
        self._fill(self.figures, content.figure_table(pair, words) if pair is not None else ((), ()))
        self._fill(self.ledger, ledger_table(pair, words) if pair is not None else ((), ()))
        self.ledger.select(-1)
        only = bool(self.ledger.rows) and not self.figures.rows  # a log: its ledger is all there is
        self.title.setText(words("validating.ledger" if only else "validating.run"))
        self.ledger_title.setVisible(bool(self.ledger.rows) and not only)
        self._show_kernels(())
        for text in self._remarks:
            text.hide()
            text.deleteLater()
        self._remarks = []
        if pair is None:
            self.caption.setText(words("validating.choose_run"))
            return
        run = pair.run
        tool = content.name_of("tool", run.origin.tool, words)
        engine = content.name_of("engine", run.setting.engine, words) if run.setting.engine else ""
        engine = f"{engine} {run.setting.engine_version}".strip()
        parts = (
            run.label,
            content.run_title(run, words),
            run.setting.model,
            run.setting.accelerator,
            engine,
            f"{tool} {run.origin.tool_version}".strip(),
            content.run_place(run),
        )
        self.caption.setText(" · ".join(dict.fromkeys(filter(None, parts))))
        if run.operators:
            self.working.start(lambda: operators(pair))
        for title, lines in content.remarks(pair, words):
            self._remark("caption_semibold", "ink2", title)
            for line in lines:
                self._remark("caption", "ink3", line)

    def _remark(self, role: str, colour: str, text: str) -> None:
        label = Text(role, colour, text, wrap=True)  # type: ignore[arg-type]
        self._column.insertWidget(self._column.count() - 1, label)
        self._remarks.append(label)

    def _show_kernels(self, found: tuple[OperatorRow, ...]) -> None:
        self._fill(self.kernels, operator_table(found, self._words) if found else ((), ()))
        for widget in (self.kernels_title, self.kernels_note):
            widget.setVisible(bool(found))

    @staticmethod
    def _fill(table: GridTable, filled: tuple[Sequence[Column], Sequence[Row]]) -> None:
        columns, rows = filled
        table.most_rows = max(1, len(rows))
        table.show_table(columns, rows)
        table.setVisible(bool(rows))
        table.updateGeometry()
