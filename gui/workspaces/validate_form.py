"""The left column of the Validate workspace: which runs are shown, and the runs themselves."""

from collections.abc import Sequence
from dataclasses import replace

from PySide6.QtCore import Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QMenu, QPushButton, QVBoxLayout, QWidget

from core.words import Words, counted
from gui.contents import validate as content
from gui.fields.choice_edit import Choice, ChoiceEdit
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.link_button import LinkButton
from gui.widgets.run_list import RunLine, RunList
from gui.work.boards import GROUPS, Board, Question, View

_SIDE = 16
_LABELS, _LABELS_SMALL = 96, 80
_FIELDS = ("tool", "engine", "device", "figure", "group")


class ValidateForm(QWidget):
    """``asked`` after another question; the buttons say what is wanted."""

    asked = Signal()
    add_asked = Signal()
    example_asked = Signal()
    remove_asked = Signal()
    export_asked = Signal(str)  # "jsonl" or "csv"

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._small = False
        self.question = Question()
        self._shown: tuple[Board, View] | None = None  # never a view of another board
        self.title = Text("body_semibold", "ink", words("validating.runs"))
        self.labels: list[QLabel] = []
        self.choices: dict[str, ChoiceEdit] = {}
        self._grid = QGridLayout()
        for row, key in enumerate(_FIELDS):
            label = Text("body", "ink2", words(f"validating.fields.{key}"))
            edit = self.choices[key] = ChoiceEdit()
            edit.setAccessibleName(label.text())
            edit.chosen.connect(lambda value, key=key: self._choose(key, value))
            label.setBuddy(edit)
            self._grid.addWidget(label, row, 0)
            self._grid.addWidget(edit, row, 1)
            self.labels.append(label)
        self._grid.setColumnStretch(1, 1)
        self.add = QPushButton(words("validating.add"))
        self.add.clicked.connect(self.add_asked)
        self.more = QPushButton(words("validating.more"))
        self.more.setMenu(self._menu())
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.add)
        buttons.addWidget(self.more)
        buttons.addStretch(1)
        self.count = Text("caption", "ink3")
        self.all = LinkButton()
        self.all.clicked.connect(self._tick_all)
        counts = QHBoxLayout()
        counts.addWidget(self.count)
        counts.addStretch(1)
        counts.addWidget(self.all)
        self.list: RunList = RunList(words("validating.runs"), self._line)
        self.list.ticked.connect(self._tell_count)
        self.list.removed.connect(self.remove_asked)
        top = self._top = QVBoxLayout()
        top.addWidget(self.title)
        top.addLayout(self._grid)
        top.addLayout(buttons)
        top.addLayout(counts)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(top)
        column.addWidget(self.list, 1)
        manager.changed.connect(self._restyle)
        self._restyle()
        self.offer(None)
        self._tell_count()

    def _menu(self) -> QMenu:
        words, menu = self._words, QMenu(self)
        self.remove = menu.addAction(words("validating.remove"))
        self.remove.triggered.connect(lambda _=False: self.remove_asked.emit())
        menu.addSeparator()
        self.exports = []
        for kind in ("jsonl", "csv"):
            action = menu.addAction(words(f"validating.export_{kind}"))
            action.triggered.connect(lambda _=False, kind=kind: self.export_asked.emit(kind))
            self.exports.append(action)
        menu.addSeparator()
        example = menu.addAction(words("validating.show_example"))
        example.triggered.connect(lambda _=False: self.example_asked.emit())
        return menu

    def _restyle(self) -> None:
        t = theme()
        self._top.setContentsMargins(_SIDE, t.px(12), _SIDE, 0)
        self._top.setSpacing(t.px(8))
        self._grid.setVerticalSpacing(t.px(4))
        self._grid.setHorizontalSpacing(8)
        self._grid.setColumnMinimumWidth(0, t.px(_LABELS_SMALL if self._small else _LABELS))
        self.update()

    def set_small(self, small: bool) -> None:
        """Narrow labels."""
        self._small = small
        self._restyle()

    def _choose(self, key: str, value: object) -> None:
        self.question = replace(self.question, **{key: str(value)})
        self.asked.emit()

    # -- showing ---------------------------------------------------------------------------------

    def _tick_all(self) -> None:
        self.list.tick_all(not self.list.ticks)

    def offer(self, board: Board | None) -> None:
        """Offer what these runs have; the list shows them with their view."""
        words = self._words
        some = board is not None and bool(board.entries)
        for key in ("tool", "engine", "device"):
            names = board.names[key].names if board is not None and key in board.names else ()
            known = [Choice("", words(f"validating.all.{key}"))]
            known += [Choice(name, content.name_of(key, name, words)) for name in sorted(filter(None, names))]
            self._offer(key, known, some)
        figures = board.figures if board is not None else ()
        self._offer("figure", [content.figure_choice(f, words) for f in figures], some)
        self._offer(
            "group",
            [
                Choice("", words("validating.groups.auto")),
                *(Choice(key, words(f"validating.groups.{key}")) for key in GROUPS),
            ],
            some,
        )

    def _offer(self, key: str, choices: Sequence[Choice], some: bool) -> None:
        edit, now = self.choices[key], getattr(self.question, key)
        edit.set_choices(choices)
        edit.setEnabled(bool(choices) and some)
        if now and all(choice.value != now for choice in choices):
            self.question = replace(self.question, **{key: ""})
            now = getattr(self.question, key)
        edit.set_value(now)

    def show_view(self, board: Board, view: View) -> None:
        """List the runs of the filters: ``view`` is one of ``board``."""
        self._shown = board, view
        self.choices["figure"].set_value(view.figure)
        self.list.show_rows(view.ids, more_to_come=board.share < 1)
        self._tell_count()

    def _tell_count(self) -> None:
        words, ticked = self._words, len(self.list.ticks)
        shown = len(self.list)
        key = "validating.ticked" if ticked else "validating.shown"
        self.count.setText(words.phrase(counted(key, ticked or shown)) if shown else "")
        self.all.setText(words("validating.tick_none" if ticked else "validating.tick_all"))
        self.all.setVisible(bool(shown))
        self.remove.setEnabled(ticked > 0 or self.list.current >= 0)
        for action in self.exports:
            action.setEnabled(shown > 0)

    def select(self, run: int) -> None:
        """Choose the row of a run, if it is listed."""
        row = -1
        if self._shown is not None and run >= 0:
            found = (self._shown[1].runs == run).nonzero()[0]
            row = int(found[0]) if len(found) else -1
        self.list.select(row)
        self._tell_count()

    def run_at(self, row: int) -> int:
        """The run of a row."""
        return int(self._shown[1].runs[row]) if self._shown is not None else -1

    def _line(self, row: int) -> RunLine:
        if self._shown is None:
            return RunLine("", "")
        board, view = self._shown
        return content.run_line(board.pairs[int(view.runs[row])], view.figure, self._words)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The side's ground."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().side)
