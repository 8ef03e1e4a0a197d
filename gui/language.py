"""The language of one window, switched while it runs.

Everybody holds the same ``Words``, which goes over to the other language; what was written down before is
written anew.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu

from core.words import LANGUAGES
from gui import qt_words
from gui.workspaces.registry import KEYS

if TYPE_CHECKING:
    from gui.frame.window import MainWindow


class LanguageSwitch(QObject):
    """The menu of languages, each by its own name, and what happens when one is chosen."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        qt_words.speak(window.words.language)
        self.menu = QMenu(window)
        for name in LANGUAGES:
            action = window.actions_[f"language_{name}"]  # type: ignore[index]
            action.setChecked(name == window.words.language)
            action.triggered.connect(lambda _=False, name=name: self.choose(name))
            self.menu.addAction(action)

    def choose(self, language: str) -> None:
        """Speak a language and remember it."""
        self._window.preferences.change(language=language)
        self.use(language)

    def use(self, language: str) -> None:
        """Speak a language; focus, scroll places and everything else stay."""
        window = self._window
        if language == window.words.language:
            return
        window.words.speak(language)
        qt_words.speak(window.words.language)
        window.actions_[f"language_{window.words.language}"].setChecked(True)  # type: ignore[index]
        self.say_everything()

    def say_frame(self) -> None:
        """Menu and toolbar."""
        window = self._window
        words = window.words
        window.menu.speak(words)
        names = {key: words(f"window.workspaces.{key}") for key in KEYS}
        window.toolbar.speak(words("window.menu"), words("actions.language"), names)
        window.toolbar.search.set_short(words("window.search_short"))

    def say_everything(self, messages_stay: bool = False) -> None:
        """Write everything that was written down anew."""
        window = self._window
        window.setUpdatesEnabled(False)
        try:
            self._say_everything(messages_stay)
        finally:
            window.setUpdatesEnabled(True)

    def _say_everything(self, messages_stay: bool) -> None:
        window = self._window
        words = window.words
        window.actions_.speak(words)
        window.actions_["pin"].setIconText(words("compare.pin_short"))
        self.say_frame()
        window.workspace.set_words(words)
        window.sheets.forget()
        window.stack.forget()
        window.shell.forget()
        if window.habits is not None:
            window.habits.speak()
        window.drops.frame.set_text(words("intake.drop_here"))
        if not messages_stay:
            window.rescue.say_anew(window.workspace.messages.say_anew())
        window.status.set_words(words)
        window.estimation.start()
        window.refresh()
