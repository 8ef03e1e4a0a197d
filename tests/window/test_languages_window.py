"""The window in both languages, and with texts longer than any translation, at its smallest size."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QToolButton, QWidget

from core.spec.scenario import Scenario
from core.words import LANGUAGES, Words, _catalogue
from gui import theme
from gui.dialogs.service import QtDialogs
from gui.document import Document, Origin
from gui.exporting.screenshot import grab
from gui.frame.window import MainWindow
from gui.kept.preferences import Preferences
from gui.kept.recent import RecentFiles
from gui.samples import Sample, load_sample, samples
from gui.widgets import paint

FILLER = "aeiouy"
ICON_ONLY = Qt.ToolButtonStyle.ToolButtonIconOnly
SMALLEST = QSize(1280, 720)
TABS = ("overview", "roofline", "step", "request")
OTHERS = ("compare", "explore", "simulate")
LABEL_WIDTH = 88  # of the forms at the smallest size
# The table of a step names kernels in full and ends them with an ellipsis where the two stand side by side.
MAY_BE_CUT = ("operators.", "plots.step_time.")
FORMS = (
    *("workload", "deployment", "precision", "engine", "speculative", "host", "targets", "simulation"),
    "search",
)


class StretchedWords(Words):
    """English, every text longer by a share; places and units stay."""

    def __init__(self, share: float) -> None:
        super().__init__("en")
        self._texts = {key: stretched(text, share) for key, text in self._texts.items()}


def stretched(text: str, share: float) -> str:
    """A text with letters added to its words, so that it is longer by ``share``."""
    bare = re.sub(r"\{[^}]*\}", "", text)
    if len(bare) < 4 or not re.search("[a-z]{3}", bare):
        return text  # units and abbreviations are the same everywhere
    more = max(1, round(share * len(bare)))
    parts = re.split(r"(\{[^}]*\}|[A-Za-z]{4,})", text)
    words = [i for i, part in enumerate(parts) if re.fullmatch("[A-Za-z]{4,}", part)]
    for n in range(more if words else 0):
        parts[words[n % len(words)]] += FILLER[n % len(FILLER)]
    return "".join(parts) if words else text + FILLER[:more]


@contextmanager
def cut_texts() -> Iterator[list[str]]:
    """Texts that painted widgets shorten while the window is painted inside the block."""
    found: list[str] = []
    before = paint.text

    def text(painter, box: QRectF, string: str, font, colour, align=paint.LEFT) -> float:
        if QFontMetricsF(font).horizontalAdvance(string) > box.width() + 0.5:
            found.append(string)
        return before(painter, box, string, font, colour, align)

    paint.text = text
    try:
        yield found
    finally:
        paint.text = before


def cut_widgets(window: QWidget) -> list[str]:
    """Texts of labels and buttons in sight that are wider than their widget."""
    found = []
    for kind in (QLabel, QAbstractButton):
        for widget in window.findChildren(kind):
            text = widget.text()
            wraps = isinstance(widget, QLabel) and widget.wordWrap()
            if not text or "<" in text or wraps or not widget.isVisible() or not widget.visibleRegion():
                continue
            if isinstance(widget, QToolButton) and widget.toolButtonStyle() == ICON_ONLY:
                continue
            needed = widget.fontMetrics().horizontalAdvance(text)
            if needed > widget.contentsRect().width() + 1:
                found.append(f"{text} ({needed} in {widget.contentsRect().width()})")
    return found


@pytest.fixture
def open_window(qapp: QApplication) -> Iterator[Callable[[Scenario, Words], MainWindow]]:
    theme.apply(qapp, "light")
    made: list[MainWindow] = []

    def make(scenario: Scenario, words: Words) -> MainWindow:
        document = Document(scenario)
        document.start(scenario, Origin(title="sample"))
        preferences, recent = Preferences(None), RecentFiles(None)
        made.append(MainWindow(document, words, preferences, recent, QtDialogs(words)))
        return made[-1]

    yield make
    for window in made:
        window.document.undo_stack.setClean()
        window.close()
        window.deleteLater()


def cut_in(window: MainWindow, tab: str) -> set[str]:
    """Every text that the window cuts, the tab in front."""
    window.workspace.show_tab(tab)
    grab(window, SMALLEST)
    with cut_texts() as painted:
        window.grab()
    return {*painted, *cut_widgets(window)}


def texts_of(words: Words, *starts: str) -> set[str]:
    return {words(key) for key in _catalogue("en") if key.startswith(starts)}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("sample", samples(), ids=lambda sample: sample.key[:8])
def test_nothing_is_cut_at_the_smallest_size(
    open_window: Callable[[Scenario, Words], MainWindow], sample: Sample, language: str
) -> None:
    words = Words(language)
    window = open_window(load_sample(sample), words)
    spared = texts_of(words, *MAY_BE_CUT)
    cut = {tab: sorted(cut_in(window, tab) - spared) for tab in TABS}
    assert cut == {tab: [] for tab in TABS}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("workspace", OTHERS)
def test_nothing_is_cut_in_the_other_workspaces(
    open_window: Callable[[Scenario, Words], MainWindow], workspace: str, language: str
) -> None:
    window = open_window(load_sample(samples()[1]), Words(language))
    grab(window, SMALLEST)
    window.stack.show_key(workspace)
    grab(window, SMALLEST)
    with cut_texts() as painted:
        window.grab()
    assert sorted({*painted, *cut_widgets(window)}) == []


def test_headings_have_room_for_texts_longer_by_two_fifths(
    open_window: Callable[[Scenario, Words], MainWindow],
) -> None:
    """Verdict, cards, tabs, workspaces, sections of the forms, titles of the plots."""
    words = StretchedWords(0.4)
    assert words("cards.concurrent_users.name") != Words("en")("cards.concurrent_users.name")
    roomy = ("cards.", "verdict.", "window.tabs.", "window.workspaces.", "forms.sections.", "status.")
    for sample in samples():
        window = open_window(load_sample(sample), words)
        shown = texts_of(words, *roomy)
        for tab in TABS:
            cut = cut_in(window, tab)
            assert not cut & shown
            assert not [text for text in cut if text.startswith(tuple(title_texts(words)))]


def title_texts(words: Words) -> set[str]:
    return {words(key) for key in _catalogue("en") if key.startswith("plots.") and key.endswith(".title")}


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_of_the_forms_fit_their_column(qapp: QApplication, language: str) -> None:
    theme.apply(qapp, "light")
    metrics = QFontMetricsF(theme.theme().font("body"))
    words = Words(language)
    labels = {
        key: words(key)
        for key in _catalogue("en")
        if key.startswith(tuple(f"fields.{group}." for group in FORMS)) and key.endswith(".label")
    }
    assert len(labels) > 40
    assert {k: t for k, t in labels.items() if metrics.horizontalAdvance(t) > LABEL_WIDTH} == {}


def test_stretched_texts_are_longer_and_keep_their_places() -> None:
    text = stretched("Fits {users}, but a token takes {value}; the target is {target}.", 0.4)
    bare = text.format(users="", value="", target="")
    assert len(bare) >= 1.4 * len("Fits , but a token takes ; the target is .") - 1
    assert stretched("GiB", 0.4) == "GiB"


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_cut_looks_like_is_seen(qapp: QApplication, language: str) -> None:
    """The check itself: a label narrower than its text is reported."""
    box = QWidget()
    label = QLabel(Words(language)("actions.search"), box)
    label.setFixedWidth(12)
    box.show()
    assert cut_widgets(box)
    label.setFixedWidth(label.sizeHint().width())
    assert not cut_widgets(box)
