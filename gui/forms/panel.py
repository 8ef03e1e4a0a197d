"""The forms: six sections in one scrolling column, bound to the document."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QComboBox, QFrame, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from core.errors import Problem
from core.spec.scenario import Scenario
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.fields.row import FieldRow
from gui.forms import engine, hardware, model, precision, targets, workload
from gui.forms.row_group import MoreRows, RowGroup
from gui.forms.section import FactRow, Section
from gui.theme import manager, theme
from gui.widgets.link_button import LinkButton

# Which sections are worth their room: what is asked first, and what is changed most once it is answered.
_OPEN: dict[int, tuple[str, ...]] = {
    0: (),
    2: ("model", "hardware"),
    3: ("model", "hardware", "workload"),
    4: ("hardware", "workload", "engine", "targets"),
    6: ("model", "hardware", "precision", "engine", "workload", "targets"),
}
_LABEL_WIDTH = {"small": 88, "medium": 96, "large": 96}
_WIDTH = {"small": 272, "medium": 288, "large": 320}
_OPEN_COUNT = {"small": 3, "medium": 4, "large": 6}
_HEAD_HEIGHT = {"small": 32, "medium": 36, "large": 36}
# Fields that are edited together with another one.
_SHOWN_WITH = {
    "engine.version": "engine.name",
    "deployment.pipeline_parallel": "deployment.tensor_parallel",
}


def _rows_of(widget: QWidget) -> list[FieldRow]:
    if isinstance(widget, FieldRow):
        return [widget]
    return widget.rows if isinstance(widget, RowGroup | MoreRows) else []


class _Column(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)

    def paintEvent(self, event: QPaintEvent) -> None:
        """The side's ground."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().side)


class FormsPanel(QScrollArea):
    """Shows the document's scenario and edits it.  Widths are the workspace's to set.

    ``details_asked`` carries "model" or "hardware", ``computer_asked`` wants this computer's devices.
    """

    details_asked = Signal(str)
    computer_asked = Signal()
    presets_asked = Signal(object)  # a menu of presets is opened: a person's own belong into it too

    def __init__(self, document: Document, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._words = words
        self._density = "medium"
        self._warned: dict[str, str] = {}
        self.setObjectName("forms")
        self.setAccessibleName(words("forms.title"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.catalogue = Catalogue(self)
        self._fill()
        document.changed.connect(self._on_changed)
        document.refused_changed.connect(self._open_refused)
        manager.changed.connect(self._restyle)

    def _fill(self) -> None:
        """Make the sections."""
        document, words = self._document, self._words
        self.parts = [
            model.build(document, words, self.catalogue),
            hardware.build(document, words, self.catalogue, self.computer_asked.emit),
            precision.build(document, words),
            engine.build(document, words),
            workload.build(document, words, self.presets_asked.emit),
            targets.build(document, words),
        ]
        self.sections: dict[str, Section] = {}
        column = _Column()
        layout = self._column = QVBoxLayout(column)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for part in self.parts:
            section = Section(part.key, words(f"forms.sections.{part.key}"), part.rows, part.action)
            self.sections[part.key] = section
            if part.key in ("model", "hardware") and isinstance(part.action, LinkButton):
                part.action.clicked.connect(lambda _=False, key=part.key: self.details_asked.emit(key))
            layout.addWidget(section)
        layout.addStretch(1)
        self.setWidget(column)
        for part in self.parts:
            for rows in part.rows:
                if isinstance(rows, RowGroup | MoreRows):
                    rows.row_made.connect(self._on_row_made)
        self._restyle()
        self.refresh(document.scenario)

    def set_words(self, words: Words) -> None:
        """Speak another language: the sections are made anew, those that are open stay so."""
        opened = {key: section.is_open for key, section in self.sections.items()}
        self._words = words
        self._warned = {}
        self.setAccessibleName(words("forms.title"))
        self._fill()
        for key, is_open in opened.items():
            self.sections[key].set_open(is_open)

    @property
    def rows(self) -> list[FieldRow]:
        """All rows that exist; those of other engines and of "More" are made when they are shown."""
        return [row for part in self.parts for rows in part.rows for row in _rows_of(rows)]

    # -- following the document ------------------------------------------------------------------

    def refresh(self, scenario: Scenario) -> None:
        """Show a scenario; editors that already do are left alone."""
        for part in self.parts:
            for row in part.rows:
                if isinstance(row, FieldRow):
                    row.refresh(scenario)
            part.refresh(scenario)
            self.sections[part.key].set_summary(part.summary(scenario, self._words))

    def show_warnings(self, problems: Sequence[Problem]) -> None:
        """Mark the fields whose values are taken although something speaks against them."""
        told: dict[str, str] = {}
        for problem in problems:
            if problem.severity == "warning" and problem.paths:
                row = self.row_of(problem.paths[0])
                if row is not None:
                    told.setdefault(row.path, self._words.problem(problem))
        self._warned = told
        for row in self.rows:
            row.show_warning(told.get(row.path, ""))

    def _on_changed(self, scenario: Scenario, _revision: int) -> None:
        self.refresh(scenario)

    def _open_refused(self) -> None:
        """A refused value is not hidden in a closed section; one closed by hand is marked."""
        refused = {path: row for path in self._document.refused if (row := self.row_of(path)) is not None}
        for section in self.sections.values():
            inside = [path for path, row in refused.items() if section.isAncestorOf(row)]
            if inside:
                section.set_open(True)
            names = self._words.listed(self._words.field(path) for path in inside)
            section.set_refused(self._words("forms.refused_inside", names=names) if inside else "")

    # -- layout ----------------------------------------------------------------------------------

    def set_density(self, name: str) -> None:
        """Label column and heads for the window's size: "small", "medium" or "large"."""
        self._density = name
        self._restyle()

    def set_size_class(self, name: str) -> None:
        """The same with the panel's own width and the sections open that this size has room for."""
        self.set_density(name)
        self.setFixedWidth(theme().px(_WIDTH[name]))
        self.open_first(_OPEN_COUNT[name])

    def open_first(self, count: int) -> None:
        """Open the sections that are worth most where there is room for ``count``, close the others."""
        wanted = _OPEN[max(known for known in _OPEN if known <= count)]
        for key, section in self.sections.items():
            section.set_open(key in wanted)

    def _restyle(self) -> None:
        t = theme()
        width = t.px(_LABEL_WIDTH[self._density])
        for part in self.parts:
            for rows in part.rows:
                for row in [rows] if isinstance(rows, FactRow) else _rows_of(rows):
                    row.set_label_width(width)
        for section in self.sections.values():
            section.set_head_height(_HEAD_HEIGHT[self._density])
        for part in self.parts:
            for fact in part.rows:
                if isinstance(fact, FactRow):
                    fact.setVisible(fact.essential or self._density != "small")
        self.update()

    def _on_row_made(self, row: FieldRow) -> None:
        row.set_label_width(theme().px(_LABEL_WIDTH[self._density]))
        row.show_warning(self._warned.get(row.path, ""))

    # -- finding fields --------------------------------------------------------------------------

    def row_of(self, path: str) -> FieldRow | None:
        """The row that edits a path, or the one that holds it ("model.max_context" → the model)."""
        exact = next((row for row in self.rows if row.path == path), None)
        if exact is not None:
            return exact
        if path in _SHOWN_WITH:
            return self.row_of(_SHOWN_WITH[path])
        return next((row for row in self.rows if path.startswith(f"{row.path}.")), None)

    def edits(self, path: str) -> bool:
        """Whether a row of the forms edits exactly this field, now or when "More" is opened."""
        found = self.row_of(path)
        scenario = self._document.scenario
        hidden = any(
            isinstance(rows, MoreRows | RowGroup) and rows.knows(path, scenario)
            for part in self.parts
            for rows in part.rows
        )
        return hidden or (found is not None and found.path in (path, _SHOWN_WITH.get(path)))

    def _section_of(self, row: FieldRow) -> Section | None:
        return next((s for s in self.sections.values() if s.isAncestorOf(row)), None)

    def focus_field(self, path: str) -> None:
        """Open the section of a field, scroll to it, and put the focus there."""
        for part in self.parts:
            for rows in part.rows:
                if isinstance(rows, MoreRows) and rows.knows(path, self._document.scenario):
                    rows.set_open(True)
        row = self.row_of(path)
        section = self._section_of(row) if row is not None else None
        if row is None or section is None:
            return
        section.set_open(True)
        row.show()
        self._column.activate()
        self.ensureWidgetVisible(row)
        row.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def shown_value(self, path: str) -> str:
        """What stands in the editor of a field, refused or not; "" when it has none."""
        row = self.row_of(path)
        if row is None:
            return ""
        if isinstance(row.editor, QLineEdit):
            return row.editor.text()
        return row.editor.currentText() if isinstance(row.editor, QComboBox) else ""
