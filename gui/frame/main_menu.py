"""The menu behind the toolbar's first button: everything once, in groups, in one column of a low screen."""

from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu

from core.words import Words
from gui.workspaces.registry import KEYS

if TYPE_CHECKING:
    from gui.frame.toolbar import Toolbar
    from gui.frame.window import MainWindow


class MainMenu(QMenu):
    """Filled anew with every language; ``samples`` and ``recent`` fill themselves when they open."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self.samples = QMenu(window)
        self.samples.aboutToShow.connect(lambda: window.files.fill_samples(self.samples))
        self.recent = QMenu(window)
        self.recent.aboutToShow.connect(lambda: window.files.fill_recent(self.recent))
        self.presets = QMenu(window)
        self._places = QMenu(window)
        self._help = QMenu(window)
        self._appearance = QMenu(window)
        self._text = QMenu(window)
        self._memory = QMenu(window)

    def speak(self, words: Words) -> None:
        """Put everything in, in a language."""
        window = self._window
        a = window.actions_
        for menu, key in (
            (self.samples, "new_from"),
            (self.recent, "open_recent"),
            (self.presets, "presets"),
            (self._places, "go_to"),
            (self._help, "help"),
            (self._appearance, "theme"),
            (self._text, "text_size"),
            (self._memory, "memory_unit"),
            (window.exports.menu, "export"),
            (window.language.menu, "language"),
        ):
            menu.setTitle(words(f"actions.{key}"))
        self.samples.clear()
        self.clear()
        self.addMenu(self.samples)
        self.addActions([a["open"], a["open_folder"]])
        self.addMenu(self.recent)
        self.addSeparator()
        self.addActions([a["save"], a["save_as"]])
        self.addMenu(window.exports.menu)
        self.addSeparator()
        self.addActions([a["undo"], a["redo"], a["paste"]])
        self.addMenu(self.presets)
        self.addSeparator()
        self._places.clear()
        self._places.addActions([a[f"show_{key}"] for key in KEYS])  # type: ignore[index]
        self.addMenu(self._places)
        self.addActions([a["pin"], a["search"], a["commands"]])
        self.addSeparator()
        self.addActions([a["fold_forms"], a["reset_layout"]])
        self._appearance.clear()
        self._appearance.addActions(
            [a["theme_system"], a["theme_light"], a["theme_dark"], a["theme_contrast"]]
        )
        self._text.addActions([a["text_larger"], a["text_smaller"], a["text_normal"]])
        self._memory.addActions([a["memory_gib"], a["memory_gb"]])
        for menu in (self._appearance, self._text, self._memory, window.language.menu):
            self.addMenu(menu)
        self.addSeparator()
        self._help.clear()
        self._help.addActions([a["manual"], a["whats_this"], a["shortcuts"], a["about"]])
        self.addMenu(self._help)
        self.addAction(a["quit"])

    def drop_from(self, bar: "Toolbar") -> None:
        """Let the toolbar's buttons open the menus of export and language."""
        window = self._window
        window.actions_["export"].triggered.connect(
            lambda: bar.drop_menu(window.exports.menu, bar.export_button)
        )
        bar.language_button.clicked.connect(lambda: bar.drop_menu(window.language.menu, bar.language_button))
