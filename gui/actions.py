"""Every command once: id, words, shortcut, icon.  Menu, toolbar and shortcuts read this table."""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtGui import QAction, QActionGroup, QKeySequence
from PySide6.QtWidgets import QWidget

from core.words import Words

ActionId = Literal[
    "new",
    "open",
    "open_folder",
    "open_recent",
    "paste",
    "save",
    "save_as",
    "undo",
    "redo",
    "fold_forms",
    "theme_system",
    "theme_light",
    "theme_dark",
    "theme_contrast",
    "toggle_theme",
    "language_en",
    "language_zh_CN",
    "export",
    "pin",
    "search",
    "commands",
    "shortcuts",
    "show_estimate",
    "show_compare",
    "show_explore",
    "show_recommend",
    "show_simulate",
    "show_validate",
    "text_larger",
    "text_smaller",
    "text_normal",
    "memory_gib",
    "memory_gb",
    "whats_this",
    "reset_layout",
    "save_preset",
    "manage_presets",
    "manual",
    "about",
    "quit",
]


@dataclass(frozen=True, slots=True)
class Command:
    """One command.  Its words are ``actions.<id>``; ``icon`` names a drawing, "" for none."""

    id: ActionId
    shortcuts: tuple[str, ...] = ()
    icon: str = ""
    checkable: bool = False
    group: str = ""


COMMANDS: tuple[Command, ...] = (
    Command("new", ("Ctrl+N",), "new"),
    Command("open", ("Ctrl+O",), "open"),
    Command("open_folder"),
    Command("open_recent"),
    Command("paste", ("Ctrl+V",)),
    Command("save", ("Ctrl+S",), "save"),
    Command("save_as", ("Ctrl+Shift+S",)),
    Command("undo", ("Ctrl+Z",), "undo"),
    Command("redo", ("Ctrl+Shift+Z", "Ctrl+Y"), "redo"),
    Command("fold_forms", ("Ctrl+B",), checkable=True),
    Command("theme_system", checkable=True, group="theme"),
    Command("theme_light", checkable=True, group="theme"),
    Command("theme_dark", checkable=True, group="theme"),
    Command("theme_contrast", checkable=True, group="theme"),
    Command("toggle_theme", icon="sun"),
    Command("language_en", checkable=True, group="language"),
    Command("language_zh_CN", checkable=True, group="language"),
    Command("export", ("Ctrl+E",), "export"),
    Command("pin", ("Ctrl+P",), "pin"),
    Command("search", ("Ctrl+K",), "search"),
    Command("commands", ("Ctrl+Shift+P",)),
    Command("shortcuts", ("Ctrl+/",)),
    Command("show_estimate", ("Ctrl+1",)),
    Command("show_compare", ("Ctrl+2",)),
    Command("show_explore", ("Ctrl+3",)),
    Command("show_recommend", ("Ctrl+4",)),
    Command("show_simulate", ("Ctrl+5",)),
    Command("show_validate", ("Ctrl+6",)),
    Command("text_larger", ("Ctrl++", "Ctrl+=")),
    Command("text_smaller", ("Ctrl+-",)),
    Command("text_normal", ("Ctrl+0",)),
    Command("memory_gib", checkable=True, group="memory_unit"),
    Command("memory_gb", checkable=True, group="memory_unit"),
    Command("whats_this", ("Shift+F1",)),
    Command("reset_layout"),
    Command("save_preset"),
    Command("manage_presets"),
    Command("manual", ("F1",)),
    Command("about"),
    Command("quit", ("Ctrl+Q",)),
)


class Actions:
    """The commands of one window as QActions, looked up by id.

    Icons are drawn by whoever shows them: they depend on theme and screen.
    """

    def __init__(self, window: QWidget, words: Words) -> None:
        self._actions: dict[ActionId, QAction] = {}
        groups: dict[str, QActionGroup] = {}
        for command in COMMANDS:
            action = QAction(window)
            action.setObjectName(command.id)
            action.setShortcuts([QKeySequence(keys) for keys in command.shortcuts])
            action.setCheckable(command.checkable)
            if command.group:
                group = groups.setdefault(command.group, QActionGroup(window))
                group.addAction(action)
            self._actions[command.id] = action
            window.addAction(action)
        self.speak(words)

    def __getitem__(self, key: ActionId) -> QAction:
        return self._actions[key]

    def speak(self, words: Words) -> None:
        """Put the words of a language on."""
        for key, action in self._actions.items():
            action.setText(words(f"actions.{key}"))

    def tooltip(self, key: ActionId) -> str:
        """The words with the shortcut, for a button without text."""
        action = self._actions[key]
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        text = action.text().rstrip("…")
        return f"{text} ({keys})" if keys else text
