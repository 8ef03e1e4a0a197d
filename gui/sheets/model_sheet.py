"""The model on one sheet: what it is, of what parts, what it keeps; and its numbers to edit."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from core.model.numbers import NUMBERS
from core.spec.edited import EDITED
from core.spec.formats import CACHE_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.row import FieldRow
from gui.forms import choices
from gui.forms.consequences import Changes, edited_model_changes
from gui.sheets import model_content as content
from gui.sheets.fact_table import FactTable
from gui.sheets.marks import bare_name, is_edited, mark_changes, marked
from gui.sheets.rows import LABEL, Block, Labelled, NameEdit, NumberRow, plain
from gui.sheets.sheet import Sheet
from gui.theme import theme

_EDITORS = 264  # width of the column of editors


class ModelSheet(Sheet):
    """Follows the document's model while it is shown.  ``save_asked`` for the user's catalogue."""

    save_asked = Signal()

    def __init__(self, document: Document, words: Words, catalogue: Catalogue, parent: QWidget) -> None:
        super().__init__(words, parent)
        self._document = document
        self._catalogue = catalogue
        self.badge.hide()
        self.save = QPushButton(words("sheet.save"))
        self.save.setProperty("kind", "small")
        self.save.setToolTip(words("sheet.save_model_help"))
        self.save.clicked.connect(self.save_asked)
        self.add_action(self.save)
        self.name = NameEdit(words("sheet.name"), self._rename, 300)
        self.rows = self._rows()
        self._sources = plain("")
        self.parameters = FactTable(words("sheet.parameters"))
        self.layers = FactTable(words("sheet.layers"), two_lines=True)
        self.cache = FactTable(words("sheet.cache"), two_lines=True)
        self.formats = FactTable(words("sheet.formats"))
        numbers = Block(
            words("sheet.numbers"), [Labelled(words("sheet.name"), self.name), *self.rows], _EDITORS
        )
        sources = Block(words("sheet.sources"), [self._sources])
        self.set_columns([[numbers], [self.layers, self.cache, sources], [self.parameters, self.formats]])
        document.changed.connect(self._on_changed)

    def _rows(self) -> list[FieldRow]:
        document, words = self._document, self.words
        numbers: list[FieldRow] = [
            NumberRow(document, name, words, lambda old, new: marked(old, new, words)) for name in NUMBERS
        ]
        context = bind(document, "model.max_context", words, changes=self._context)
        tied = bind(
            document,
            "model.architecture.tied_embeddings",
            words,
            choices=choices.on_off,
            changes=self._tied,
        )
        for row in (context, tied):
            row.set_label_width(theme().px(LABEL))
        return [*numbers, context, tied]

    def _context(self, scenario: Scenario, value: object) -> Changes:
        changes: Changes = [("model.max_context", value), *mark_changes(scenario.model, self.words)]
        if isinstance(value, int):
            model = scenario.model.model_copy(update={"max_context": value})
            changes += edited_model_changes(scenario, model)[1:]
        return changes

    def _tied(self, scenario: Scenario, value: object) -> Changes:
        arch = "model.architecture"
        dropped: Changes = [
            (f"{arch}.stated_parameters", None),
            (f"{arch}.file_format", ""),
            (f"{arch}.file_sizes", ()),
        ]
        return [(f"{arch}.tied_embeddings", value), *dropped, *mark_changes(scenario.model, self.words)]

    def _rename(self, name: str) -> None:
        self._document.end_merge()
        self._document.set_value("model.name", name)
        self._document.end_merge()

    # -- showing ---------------------------------------------------------------------------------

    def open_sheet(self) -> None:
        """Show the model as it stands."""
        self.show()
        self.refresh(self._document.scenario)

    def _on_changed(self, scenario: Scenario, _revision: int) -> None:
        if not self.isHidden():
            self.refresh(scenario)

    def refresh(self, scenario: Scenario) -> None:
        """Show a scenario's model."""
        model, words = scenario.model, self.words
        arch = model.architecture
        self.title.setText(bare_name(model.name, words))
        self.badge.setText(words("sheet.edited"))
        self.badge.setVisible(is_edited(model))
        self.caption.setText(_caption(model, words))
        self.name.show_name(model.name)
        for row in self.rows:
            row.refresh(scenario)
        self.parameters.show_facts(content.parameter_facts(arch, words))
        self.layers.show_facts(
            content.layer_facts(arch, words), words("sheet.layer_count", count=arch.layers)
        )
        self.cache.show_facts(
            content.cache_facts(scenario, words), words("sheet.cache_caption", format=_cache_label(scenario))
        )
        self.formats.show_facts(content.format_facts(scenario, words))
        self._sources.setText(_sources(model, words))
        self.save.setVisible(self._catalogue.can_save)
        self.save.setEnabled(not self._catalogue.has_model(model))

    def row_of(self, path: str) -> FieldRow | None:
        """The row that edits a path."""
        return next((row for row in self.rows if row.path == path), None)


def _cache_label(scenario: Scenario) -> str:
    known = CACHE_FORMATS.get(scenario.precision.kv_cache)
    return known.label if known else scenario.precision.kv_cache


def _caption(model: Model, words: Words) -> str:
    parts = [
        model.family,
        words("sheet.released", when=model.released) if model.released else "",
        model.licence,
    ]
    return " · ".join(part for part in parts if part)


def _sources(model: Model, words: Words) -> str:
    told = [words("sheet.source_edited") if s == EDITED else s for s in model.sources[:8]]
    if not told:
        return words("sheet.nothing_known")
    # A place to break long addresses at.
    return "\n".join(text.replace("/", "/\u200b") for text in told)
