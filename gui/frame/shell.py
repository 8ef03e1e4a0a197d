"""What hangs together around the workspaces: pinning, switching, the palette, the page of shortcuts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from core.errors import InferometerError
from core.results import Estimate
from gui.pinned import letter
from gui.workspaces.registry import KEYS

if TYPE_CHECKING:
    from core.evidence.readers.common import Reading
    from gui.frame.shortcuts import ShortcutPage
    from gui.frame.window import MainWindow
    from gui.help.manual import Manual
    from gui.kept.runs import RunStore
    from gui.measured_overlay import MeasuredOverlay
    from gui.palette.box import Palette
    from gui.workspaces.validate import ValidateWorkspace

_MOST_GHOSTS = 3


class Shell(QObject):
    """Wires the commands of one window that belong to no workspace."""

    def __init__(self, window: "MainWindow") -> None:
        super().__init__(window)
        self._window = window
        self._palette: Palette | None = None
        self._page: ShortcutPage | None = None
        self._manual: Manual | None = None
        actions, stack = window.actions_, window.stack
        for key in KEYS:
            action = actions[f"show_{key}"]  # type: ignore[index]
            action.triggered.connect(lambda _=False, key=key: stack.show_key(key))
        actions["pin"].setIconText(window.words("compare.pin_short"))
        actions["pin"].triggered.connect(lambda _=False: self.pin())
        actions["search"].triggered.connect(lambda _=False: self.open_palette(""))
        actions["commands"].triggered.connect(lambda _=False: self.open_palette(">"))
        actions["shortcuts"].triggered.connect(lambda _=False: self.show_shortcuts())
        actions["manual"].triggered.connect(lambda _=False: self.show_manual())
        actions["about"].triggered.connect(lambda _=False: self.show_manual("about"))
        window.toolbar.workspace_chosen.connect(stack.show_key)
        stack.switched.connect(window.toolbar.show_workspace)
        window.workspace.search_asked.connect(lambda: stack.show_key("recommend"))
        window.pinned.changed.connect(self._show_ghosts)
        window.estimation.point_ready.connect(self._on_point)
        window.workspace.tabs.tab_changed.connect(self._show_ghosts)  # also when the plots have come
        if window.recovery is not None:
            window.recovery.watch(window.pinned)
        self._runs: RunStore | None = None
        self._overlay: MeasuredOverlay | None = None
        window.workspace.tabs.tab_changed.connect(lambda _tab: self._overlay_runs())
        stack.switched.connect(lambda _key: self._overlay_runs())
        intake = window.files.intake
        intake.wants_runs = lambda: stack.key == "validate"
        intake.runs.found.connect(self._take_runs)
        intake.calibration.connect(self._take_calibration)
        intake.trace.connect(self._take_trace)
        window.document.saved_as.connect(self._on_saved_as)

    # -- measured runs ---------------------------------------------------------------------------

    @property
    def data(self) -> Path | None:
        """The program's own folder; None keeps nothing on disk."""
        return self._window.paths.data if self._window.paths is not None else None

    @property
    def runs(self) -> "RunStore":
        """The measured runs of the open project."""
        if self._runs is None:
            from gui.kept.runs import RunStore

            self._runs = RunStore(self._window.document, self.data, self)
        return self._runs

    @property
    def settled(self) -> bool:
        """Whether the measured runs, where there are any, stand where they belong."""
        return self._runs is None or (self._overlay is not None and self._overlay.settled)

    def bring(self, paths: Sequence[Path]) -> None:
        """Take in files that a person has chosen as measurements."""
        if paths:
            self._window.files.intake.take_runs(paths)

    def show_unread(self) -> None:
        """What of the measurements could not be read."""
        self._validate().show_tab("unread")

    def _take_runs(self, reading: "Reading") -> None:
        self._window.workspace.messages.drop("file")
        self._validate().take(reading)

    def _take_calibration(self, path: Path) -> None:
        page = self._validate()
        page.show_tab("calibrate")
        page.calibration.take(path)

    def _take_trace(self, path: Path) -> None:
        from gui.workspaces.simulate import SimulateWorkspace

        self._window.workspace.messages.drop("file")
        self._window.stack.show_key("simulate")
        page = self._window.stack.page("simulate")
        assert isinstance(page, SimulateWorkspace)
        page.traces.read(path)

    def _validate(self) -> "ValidateWorkspace":
        """That workspace, in sight."""
        from gui.workspaces.validate import ValidateWorkspace

        self._window.stack.show_key("validate")
        page = self._window.stack.page("validate")
        assert isinstance(page, ValidateWorkspace)
        return page

    def _on_saved_as(self, old: Path | None, new: Path) -> None:
        """Runs go along with a scenario that is saved under another name."""
        if self._runs is not None or self._has_log():
            self.runs.take_along(old, new)

    def _has_log(self) -> bool:
        paths = self._window.paths
        return paths is not None and paths.runs.exists()

    def _overlay_runs(self) -> None:
        """Measured runs over the plots of Estimate; nothing is loaded for them where there is no log."""
        window = self._window
        if self._overlay is not None or not window.workspace.plots or not (self._runs or self._has_log()):
            return
        from gui.measured_overlay import MeasuredOverlay

        self._overlay = MeasuredOverlay(window, self.runs)
        self._overlay.follow()

    # -- pinning ---------------------------------------------------------------------------------

    def pin(self) -> None:
        """Put the scenario aside for comparison, and say where it went."""
        window = self._window
        made = window.pinned.pin(window.document.scenario)
        if made is None or window.stack.key == "compare":
            return
        messages, words = window.workspace.messages, window.words
        name = letter(len(window.pinned.pins))
        messages.tell(
            "pinned",
            "info",
            words("compare.pinned", name=name),
            [
                (words("compare.show"), lambda: window.stack.show_key("compare")),
                (words("compare.take_back"), self._unpin),
                (words("window.dismiss"), lambda: messages.drop("pinned")),
            ],
        )

    def _unpin(self) -> None:
        self._window.pinned.take_back()
        self._window.workspace.messages.drop("pinned")

    def _on_point(self, _estimate: Estimate, _revision: int) -> None:
        self._window.actions_["pin"].setEnabled(True)

    def _show_ghosts(self) -> None:
        """The pinned scenarios behind the plots of Estimate, as far as there is room."""
        window = self._window
        if window.stack.key != "estimate":
            self._window.workspace.messages.drop("pinned")
        if not window.workspace.plots:
            return
        from gui.contents.compare import names_of
        from gui.plots.base import Ghost

        ghosts, pins = [], window.pinned.pins[:_MOST_GHOSTS]
        every = [window.document.scenario, *(pin.scenario for pin in pins)]
        models = [scenario.model.name for scenario in every]
        given = ["", *(pin.name for pin in pins)]
        if len(set(models)) == len(models):  # enough to tell them apart, and short
            names = [own or model for own, model in zip(given, models, strict=True)]
        else:
            names = names_of(every, given, window.words, short=True)
        for index, pin in enumerate(pins, 1):
            try:
                curves, point = window.pinned.curves_of(pin), window.pinned.estimate_of(pin)
                ghosts.append(Ghost(letter(index), curves, index, point, names[index]))
            except InferometerError:
                continue
        window.workspace.tabs.set_ghosts("pinned", tuple(ghosts))

    # -- palette and shortcuts -------------------------------------------------------------------

    def open_palette(self, prefix: str) -> "Palette":
        """The list of everything that can be found or run; ``prefix`` ">" for commands only."""
        from gui.palette.box import Palette
        from gui.palette.sources import Sources

        if self._palette is None:
            self._palette = Palette(self._window.words, Sources(self._window), self._window)
        self._palette.open_at(self._window.toolbar.search, prefix)
        return self._palette

    def forget(self) -> None:
        """Another language is spoken: make palette and page anew."""
        for widget in (self._palette, self._page):
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        self._palette = self._page = None
        self._show_ghosts()  # their names are of the language
        if self._overlay is not None:
            self._overlay.say_again()
        if self._manual is not None:
            was, place = self._manual.isVisible(), self._manual.view.place
            self._manual.deleteLater()
            self._manual = None
            if was:
                self.show_manual(*place)

    def show_shortcuts(self) -> "ShortcutPage":
        """The page of shortcuts; a second time takes it away."""
        from gui.frame.shortcuts import ShortcutPage

        if self._page is None:
            self._page = ShortcutPage(self._window.words, self._window)
        self._page.toggle()
        return self._page

    def show_manual(self, key: str = "", heading: str = "") -> "Manual":
        """The manual, at a page or at the one that belongs to where the person is."""
        from gui.help.manual import Manual
        from gui.help.places import place_of

        if self._manual is None:
            self._manual = Manual(self._window.words, self._window)
        if not key:
            key, heading = place_of(self._window)
        self._manual.open_at(key, heading)
        return self._manual
