"""What a person sets once and expects to last: text size, unit of memory, layout, presets, pins.

Made after the first paint; nothing here is needed for it.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QMenu

from core.errors import Problem
from core.units import memory_unit, show_memory_in
from gui import theme as themes
from gui.forms.consequences import preset_changes
from gui.kept.pins import PinStore
from gui.kept.user_presets import Preset, UserPresets

if TYPE_CHECKING:
    from gui.dialogs.presets import ManagePresets, SavePreset
    from gui.frame.whats_this import WhatsThis
    from gui.frame.window import MainWindow

# Sizes of the text, as shares of the usual one.  Below the first the small print stops being legible.
TEXT_SCALES = (0.85, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0)
_UNITS = {"memory_gib": "GiB", "memory_gb": "GB"}


class Habits(QObject):
    """Wires the commands of one window that belong to habits."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self._whats_this: WhatsThis | None = None
        self._store: PinStore | None = None
        self._least = TEXT_SCALES[0]
        paths = window.paths
        self.presets = UserPresets(paths.presets if paths is not None else None)
        a = window.actions_
        a["text_larger"].triggered.connect(lambda _=False: self.step_text(1))
        a["text_smaller"].triggered.connect(lambda _=False: self.step_text(-1))
        a["text_normal"].triggered.connect(lambda _=False: self.set_text(1.0))
        for key, unit in _UNITS.items():
            action = a[key]  # type: ignore[index]
            action.setChecked(unit == memory_unit())
            action.triggered.connect(lambda _=False, unit=unit: self.set_unit(unit))
        a["whats_this"].triggered.connect(lambda _=False: self.ask_what())
        a["reset_layout"].triggered.connect(lambda _=False: window.state_.reset())
        a["save_preset"].setEnabled(self.presets.can_keep)
        a["manage_presets"].setEnabled(self.presets.can_keep)
        a["save_preset"].triggered.connect(lambda _=False: self.ask_preset())
        a["manage_presets"].triggered.connect(lambda _=False: self.manage_presets())
        window.workspace.forms.presets_asked.connect(self.fill_presets)
        window.menu.presets.aboutToShow.connect(lambda: self.fill_presets(window.menu.presets))
        if paths is not None:
            self._store = PinStore(window.pinned, paths.pins, self)
            if window.recovery is not None:
                window.recovery.pins_are_kept = True
        self._limit_text()
        self.speak()

    def speak(self) -> None:
        """Tooltips that need the glossary, in the window's language."""
        from gui.frame.whats_this import tip_of

        for card in self._window.workspace.cards.cards:
            card.set_about(tip_of(card.key, self._window.words))

    def flush(self) -> None:
        """The window is closed: write what waits."""
        if self._store is not None:
            self._store.flush()

    # -- text size -------------------------------------------------------------------------------

    def step_text(self, by: int) -> None:
        """The next size up or down."""
        now = themes.theme().scale
        further = [s for s in TEXT_SCALES if (s > now + 0.01 if by > 0 else s < now - 0.01)]
        if further:
            self.set_text(further[0] if by > 0 else further[-1])

    def set_text(self, scale: float) -> None:
        """Set the size and remember it."""
        app = QApplication.instance()
        if isinstance(app, QApplication):
            themes.apply(app, themes.manager.wanted, scale)
        if themes.theme().scale > scale:
            self._least = themes.theme().scale  # the system's own text is larger
        self._window.preferences.change(text_scale=themes.theme().scale)
        self._limit_text()

    def _limit_text(self) -> None:
        now, a = themes.theme().scale, self._window.actions_
        a["text_larger"].setEnabled(now < TEXT_SCALES[-1] - 0.01)
        a["text_smaller"].setEnabled(now > self._least + 0.01)

    # -- unit of memory --------------------------------------------------------------------------

    def set_unit(self, unit: str) -> None:
        """Show memory in GiB or GB, everywhere and at once, and remember it."""
        window = self._window
        window.preferences.change(memory_unit=unit)
        if unit == memory_unit():
            return
        show_memory_in(unit)
        for key, name in _UNITS.items():
            window.actions_[key].setChecked(name == unit)  # type: ignore[index]
        window.say_again()

    # -- what's this -----------------------------------------------------------------------------

    def ask_what(self) -> "WhatsThis":
        """The next click, or Enter on what has the focus, is explained."""
        from gui.frame.whats_this import WhatsThis

        if self._whats_this is None:
            self._whats_this = WhatsThis(self._window)
        self._whats_this.toggle()
        return self._whats_this

    # -- presets ---------------------------------------------------------------------------------

    def fill_presets(self, menu: QMenu) -> None:
        """Put a person's own presets, and what can be done with them, behind what a menu has already."""
        words, a = self._window.words, self._window.actions_
        for action in menu.actions():
            if action.property("own"):
                menu.removeAction(action)
                action.deleteLater()
        menu.setToolTipsVisible(True)
        kept = self.presets.all()
        before = [menu.addSeparator()] if menu.actions() and kept else []
        for preset in kept:
            action = menu.addAction(preset.name.replace("&", "&&"))
            names = words.listed(words(f"presets.parts.{part}") for part in preset.parts)
            action.setToolTip(words("presets.holding", names=names))
            action.triggered.connect(lambda _=False, preset=preset: self.use_preset(preset))
            before.append(action)
        if menu.actions():
            before.append(menu.addSeparator())
        for action in before:
            action.setProperty("own", True)
        menu.addAction(a["save_preset"])
        a["manage_presets"].setEnabled(bool(kept))
        menu.addAction(a["manage_presets"])

    def use_preset(self, preset: Preset) -> None:
        """Take a preset over as one undoable edit, or say why not."""
        document = self._window.document
        scenario = document.scenario
        changes, problems = preset.changes(scenario)
        if not problems and "workload" in preset.parts:
            work = dict(changes)["workload"]
            lengths = {
                n: getattr(work, n) for n in ("prompt_tokens", "output_tokens", "shared_prefix_tokens")
            }
            if scenario.engine.name != "textbook":
                changes = [*changes, *preset_changes(scenario, lengths)]
        problems = problems or document.problems_with(changes)
        if problems:
            self._tell_preset(preset.name, problems[0])
            return
        self._window.workspace.messages.drop("preset")
        document.end_merge()
        document.set_values(changes, "presets.applied")
        document.end_merge()

    def _tell_preset(self, name: str, problem: Problem) -> None:
        words, messages = self._window.words, self._window.workspace.messages
        text = words("presets.not_applied", name=name, reason=words.problem(problem))
        messages.tell(
            "preset", "bad", text, [(words("window.dismiss"), lambda: messages.drop("preset"))], passing=True
        )

    def ask_preset(self) -> "SavePreset":
        """Ask for a name and the parts to keep."""
        from gui.dialogs.presets import SavePreset

        window = self._window
        dialog = SavePreset(window.words, self.presets, "", window)
        dialog.wanted.connect(self.save_preset)
        dialog.open()
        return dialog

    def save_preset(self, name: str, parts: tuple[str, ...]) -> None:
        """Keep parts of the scenario under a name, and say so."""
        window, words = self._window, self._window.words
        messages = window.workspace.messages
        kept = self.presets.save(name, window.document.scenario, parts)
        text = words("presets.saved" if kept else "presets.not_saved", name=name)
        dismiss = (words("window.dismiss"), lambda: messages.drop("saved"))
        messages.tell("saved", "good" if kept else "bad", text, [dismiss], passing=True)

    def manage_presets(self) -> "ManagePresets":
        """Show what is kept."""
        from gui.dialogs.presets import ManagePresets

        dialog = ManagePresets(self._window.words, self.presets, self.use_preset, self._window)
        dialog.open()
        return dialog
