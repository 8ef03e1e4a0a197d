"""What's this: point at anything, or go to it with Tab, and its entry of the nomenclature is shown.

A field has the words of its declaration, a number those of its quantity, a plot how it is read and used.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import BaseModel
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QCursor, QGuiApplication, QKeyEvent, QMouseEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QMenu, QWidget

from core.explain.glossary import ENTRIES
from core.spec.base import field_meta
from core.spec.scenario import Scenario
from core.words import Words
from gui.fields.row import FieldRow
from gui.widgets.popover import Popover

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

_WIDTH = 320
# Numbers and fields, with the word of the glossary that says more.
_WORDS = {
    "time_to_first_token": "ttft",
    "time_per_output_token": "tpot",
    "output_throughput": "throughput",
    "memory_per_device": "memory_ledger",
    "concurrent_users": "concurrency",
    "workload.load": "closed_loop",
    "workload.users": "concurrency",
    "workload.request_rate": "open_loop",
    "workload.prompt_tokens": "prefill",
    "workload.output_tokens": "decode",
    "workload.shared_prefix_tokens": "prefix_cache",
    "precision.weights": "quantisation",
    "precision.kv_cache": "kv_cache",
    "engine.name": "continuous_batching",
    "engine.max_model_len": "max_model_len",
    "engine.gpu_memory_utilization": "gpu_memory_utilization",
    "engine.max_num_batched_tokens": "chunked_prefill",
    "deployment.tensor_parallel": "tensor_parallel",
    "deployment.link": "all_reduce",
    "targets.time_to_first_token_s": "ttft",
    "targets.time_per_output_token_ms": "tpot",
    "targets.users": "concurrency",
    "speculative.kind": "speculative_decoding",
}
# Painted parts by their class: key below "whats", word of the glossary.  The names save importing them.
_PARTS = {
    "VerdictView": ("verdict", "latency"),
    "LedgerView": ("ledger", "memory_ledger"),
    "MemoryOverUsers": ("memory_over_users", "kv_cache"),
    "LatencyOverUsers": ("latency_over_users", "latency"),
    "ThroughputLatency": ("throughput_latency", "throughput"),
    "Roofline": ("roofline", "roofline"),
    "StepTime": ("step_time", "step"),
    "RequestTimeline": ("request_life", "queueing"),
    "CompareCurves": ("compare_curves", "concurrency"),
    "DifferenceTable": ("differences", ""),
    "SeriesCard": ("pins", ""),
    "AdviceView": ("advice", ""),
    "DerivationView": ("derivation", ""),
    "HeatMap": ("heat_map", ""),
    "GridCurves": ("grid_curves", ""),
    "ExploreLegend": ("heat_map", ""),
    "ExploreSide": ("explore_side", ""),
    "PricePlot": ("price_plot", "throughput"),
    "GridTable": ("table", ""),
    "LoadCurve": ("load_curve", "open_loop"),
    "OverTime": ("over_time", "queueing"),
    "Spread": ("spread", "percentile"),
    "RequestRows": ("request_rows", "queueing"),
    "FigureStrip": ("figures", "percentile"),
    "TimeSlider": ("time_slider", ""),
    "StatusBar": ("status", ""),
    "MessageStrip": ("messages", ""),
    "SummaryBar": ("summary", ""),
    "SectionHead": ("section", ""),
    "Rail": ("rail", ""),
    "SearchBox": ("search", ""),
    "Heading": ("heading", ""),
}


@dataclass(frozen=True, slots=True)
class Said:
    """What there is to say of something: a title, paragraphs, and the word of the glossary that says more."""

    title: str
    texts: tuple[str, ...]
    entry: str = ""


def tip_of(key: str, words: Words) -> str:
    """What a number is, in the words of the glossary, for its tooltip."""
    return words.phrase(ENTRIES[_WORDS[key]].text)


def said_of(widget: QWidget | None, words: Words) -> Said | None:
    """What a widget is; that of what it stands in where it has nothing to say itself."""
    above = widget
    while above is not None and not above.isWindow():
        if isinstance(above, FieldRow):
            return _field(above, words)
        above = above.parentWidget()
    while widget is not None and not widget.isWindow():
        found = _own(widget, words)
        if found is not None:
            return found
        widget = widget.parentWidget()
    return None


def _own(widget: QWidget, words: Words) -> Said | None:
    kind = type(widget).__name__
    if kind == "CardView":
        key = str(widget.key)  # type: ignore[attr-defined]
        entry = ENTRIES[_WORDS[key]]
        texts = (words.phrase(entry.text), words("whats.card"))
        return Said(words(f"cards.{key}.name"), texts, entry.key)
    if kind == "LedgerView" and widget.toolTip():
        key = str(widget.marked)  # type: ignore[attr-defined]
        return Said(words(f"ledger.{key}"), (widget.toolTip(), words("whats.ledger.text")))
    if kind in _PARTS:
        key, entry_key = _PARTS[kind]
        return Said(words(f"whats.{key}.name"), (words(f"whats.{key}.text"),), entry_key)
    takes_focus = bool(widget.focusPolicy() & Qt.FocusPolicy.TabFocus)
    if isinstance(widget, QAbstractButton) or (takes_focus and kind != "PlotArea"):  # whose pane speaks
        return _control(widget)
    return None


def _control(widget: QWidget) -> Said | None:
    """A button or an editor outside the forms speaks for itself."""
    name = widget.accessibleName() or (widget.text() if isinstance(widget, QAbstractButton) else "")
    told = [text for text in (widget.accessibleDescription(), widget.toolTip()) if text and text != name]
    plain = [text for text in told if "<" not in text]
    return Said(name, tuple(dict.fromkeys(plain))) if name else None


def _field(row: FieldRow, words: Words) -> Said:
    """Words, unit, limits and present value of a field."""
    path = row.path
    texts = [row.told, *_limits(row, words)]
    texts += [text for text in (row.editor.toolTip(),) if text and "<" not in text and text not in texts]
    return Said(words.field(path), tuple(texts), _WORDS.get(path, ""))


def _limits(row: FieldRow, words: Words) -> list[str]:
    part, _, name = row.path.partition(".")
    record = Scenario.model_fields[part].annotation if part in Scenario.model_fields else None
    if not (isinstance(record, type) and issubclass(record, BaseModel)) or name not in record.model_fields:
        return []
    meta = field_meta(record, name)
    if meta.minimum is None or meta.maximum is None:
        return []
    unit = "" if meta.unit in ("", "1", "users") else meta.unit
    low, high = (f"{value:,.12g} {unit}".strip() for value in (meta.minimum, meta.maximum))
    return [words("whats.limits", low=low, high=high)]


class WhatsThis(QObject):
    """Waits for one click or one key and explains what it met; Escape ends it."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self.active = False
        self.popover: Popover | None = None

    def toggle(self) -> None:
        """Begin, or end."""
        if self.active:
            self.end()
            return
        app = QApplication.instance()
        if app is None:
            return
        self.active = True
        app.installEventFilter(self)
        QGuiApplication.setOverrideCursor(QCursor(Qt.CursorShape.WhatsThisCursor))
        messages, words = self._window.workspace.messages, self._window.words
        messages.tell("whats_this", "info", words("whats.hint"), [(words("whats.end"), self.end)])

    def end(self) -> None:
        """The pointer is an arrow again."""
        if not self.active:
            return
        self.active = False
        app = QApplication.instance()
        if app is not None:
            app.removeEventFilter(self)
        QGuiApplication.restoreOverrideCursor()
        self._window.workspace.messages.drop("whats_this")

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A press is an answer, not a press; Tab still moves, Escape ends, Enter explains the focus."""
        kind = event.type()
        if kind in (QEvent.Type.MouseButtonPress, QEvent.Type.MouseButtonDblClick):
            if isinstance(event, QMouseEvent) and isinstance(watched, QWidget):
                self._pressed(watched, event.position().toPoint())
            return isinstance(watched, QWidget)
        if kind == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            event.accept()  # no command runs meanwhile
            return False
        if kind == QEvent.Type.KeyPress and isinstance(event, QKeyEvent) and isinstance(watched, QWidget):
            return self._key(event)
        return False

    def _pressed(self, widget: QWidget, at: QPoint) -> None:
        if widget.window() is not self._window or self._window.workspace.messages.isAncestorOf(widget):
            self.end()  # beside the window, or on the message that ends it
            return
        self.end()
        inner = widget.childAt(at) or widget
        self.explain(inner, widget.mapToGlobal(at))

    def _key(self, event: QKeyEvent) -> bool:
        key = event.key()
        if key in (Qt.Key.Key_Tab, Qt.Key.Key_Backtab, Qt.Key.Key_Shift, Qt.Key.Key_Control, Qt.Key.Key_Alt):
            return False
        self.end()
        focused = QApplication.focusWidget()
        explains = key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space, Qt.Key.Key_F1)
        if explains and focused is not None:
            self.explain(focused, focused.mapToGlobal(QPoint(0, focused.height())))
        return True

    def explain(self, widget: QWidget, place: QPoint) -> Said | None:
        """Show what something is, beside a place on the screen."""
        words = self._window.words
        if isinstance(widget, QMenu):
            return None
        if isinstance(widget, QLabel) and isinstance(widget.buddy(), QWidget):
            widget = widget.buddy()
        said = said_of(widget, words) or Said(words("whats.nothing"), (words("whats.nothing_text"),))
        popover = self.popover = Popover(self._window, _WIDTH)
        popover.clear()
        popover.setObjectName("whats_this")
        popover.setAccessibleName(said.title)
        popover.setAccessibleDescription(" ".join(said.texts))
        popover.text(said.title, "body_semibold", "ink")
        for text in said.texts:
            popover.text(text, "body", "ink2")
        if said.entry in ENTRIES:
            entry = ENTRIES[said.entry]
            name = words.phrase(entry.name)
            if name != said.title and words.phrase(entry.text) not in said.texts:
                more = words("units.told", name=name, value=words.phrase(entry.text))
                popover.text(more, "caption", "ink3")
        popover.settle()
        popover.open_below(place)
        return said
