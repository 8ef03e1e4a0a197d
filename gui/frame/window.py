"""The main window: toolbar, workspace, status bar, and what the commands do."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import shiboken6
from PySide6.QtCore import QEvent, QObject, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QContextMenuEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

from core.errors import Problem
from core.results import Estimate
from core.units import show_bytes
from core.words import Words
from gui import theme as themes
from gui.actions import COMMANDS, ActionId, Actions
from gui.dialogs.service import Dialogs
from gui.document import Document
from gui.estimation import Estimation
from gui.exporting.exports import Exports
from gui.frame.main_menu import MainMenu
from gui.frame.shell import Shell
from gui.frame.sizes import sizes_for
from gui.frame.statusbar import Complaint, StatusBar, notes_of
from gui.frame.titles import Titles
from gui.frame.toolbar import Toolbar
from gui.icons import icon
from gui.kept.preferences import Preferences
from gui.kept.recent import RecentFiles
from gui.kept.recovery import Recovery
from gui.kept.recovery_offer import RecoveryOffer
from gui.kept.window_state import WindowState
from gui.language import LanguageSwitch
from gui.opening.dropping import DropTarget
from gui.opening.file_commands import FileCommands
from gui.opening.refusals import Refusals
from gui.pinned import Pinned
from gui.sheets.host import Sheets
from gui.workspaces.estimate import EstimateWorkspace
from gui.workspaces.registry import KEYS, Context, Workspaces

if TYPE_CHECKING:  # at run time they come after the first paint
    from gui.frame.habits import Habits
    from gui.paths import Paths

LEAST = QSize(960, 600)


class MainWindow(QWidget):
    """One document in one window.

    ``painted`` is emitted once, after the first paint; ``plots_shown`` after the first with plots.
    """

    painted = Signal()
    plots_shown = Signal()

    def __init__(
        self,
        document: Document,
        words: Words,
        preferences: Preferences,
        recent: RecentFiles,
        dialogs: Dialogs,
        recovery: Recovery | None = None,
        settings: QSettings | None = None,
        own_catalogue: Path | None = None,
    ) -> None:
        super().__init__()
        self.document = document
        self.words = words
        self.preferences = preferences
        self.recent = recent
        self.dialogs = dialogs
        self.recovery = recovery
        self.state_ = WindowState(self, settings)
        self.paths: Paths | None = None  # of presets and pins; None keeps neither
        self.habits: Habits | None = None
        self._may_close = False
        self._titled = ""
        titles = Titles(words)
        document.describe, document.said = titles.describe, titles.said
        self._folded_for_room = False
        self._found: tuple[Complaint, ...] = ()  # what the estimate itself complains of
        self.estimation = Estimation(document, self)
        self.actions_ = Actions(self, words)
        self._build()
        self.workspace.forms.catalogue.use(own_catalogue)
        self._connect()
        self._restyle()
        self._on_document()
        self._on_changed()
        self.estimation.start()

    # -- building --------------------------------------------------------------------------------

    def _build(self) -> None:
        self.setObjectName("window")
        self.setMinimumSize(LEAST)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.workspace = EstimateWorkspace(self.document, self.estimation, self.words)
        self.status = StatusBar(self.words)
        self.pinned = Pinned(self)
        self.stack = Workspaces(
            self.workspace,
            Context(
                self.document,
                self.estimation,
                self.words,
                self.pinned,
                self.workspace.messages,
                self.go_to,
                lambda key: self.stack.show_key(key),  # noqa: PLW0108 - the stack is being made
                self.workspace.drag_users,
                self.dialogs,
                self.workspace.forms.catalogue,
                lambda: self.shell,
            ),
        )
        messages = self.workspace.messages
        forms = self.workspace.forms
        self.sheets = Sheets(
            self.workspace, self.workspace.cards, self.document, self.words, forms.catalogue, messages
        )
        self.files = FileCommands(
            self,
            self.document,
            messages,
            self.words,
            self.preferences,
            self.recent,
            self.dialogs,
            self.sheets.open_notes,
        )
        self.drops = DropTarget(self, self.files.intake, self.words)
        self.rescue = RecoveryOffer(
            self.recovery, self.document, messages, self.words, self.files.after_saving, self
        )
        self.exports = Exports(self)
        self.refusals = Refusals(self)
        self.language = LanguageSwitch(self)
        self.menu = MainMenu(self)
        self.recent_menu = self.menu.recent
        self.toolbar = Toolbar(
            self.actions_,
            self.menu,
            self.words("window.menu"),
            self.menu.samples,
            tuple((key, self.words(f"window.workspaces.{key}")) for key in KEYS),
        )
        self.language.say_frame()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self.stack, 1)
        column.addWidget(self.status)

    def refresh(self) -> None:
        """Say everything again that follows the document."""
        self._on_document()
        self._on_changed()
        self._on_refused()

    def _connect(self) -> None:
        a = self.actions_
        runs: dict[ActionId, Callable[..., object]] = {
            "new": self.toolbar.drop_samples,
            "open": self.files.open,
            "open_folder": self.files.open_folder,
            "paste": self.files.intake.paste,
            "save": self.files.save,
            "save_as": self.files.save_as,
            "undo": self.workspace.undo,
            "redo": self.workspace.redo,
            "toggle_theme": self._toggle_theme,
            "quit": self.close,
        }
        for key, run in runs.items():
            a[key].triggered.connect(lambda _=False, run=run: run())
        self.menu.drop_from(self.toolbar)
        a["fold_forms"].toggled.connect(self.workspace.fold_forms)
        for choice in ("system", "light", "dark", "contrast"):
            action = a[f"theme_{choice}"]  # type: ignore[index]
            action.setChecked(self.preferences.choices.theme == choice)
            action.triggered.connect(lambda _=False, choice=choice: self.set_theme(choice))
        stack = self.document.undo_stack
        stack.canUndoChanged.connect(self._on_undo)
        stack.canRedoChanged.connect(self._on_undo)
        stack.undoTextChanged.connect(self._on_undo)
        stack.redoTextChanged.connect(self._on_undo)
        self.document.changed.connect(lambda _scenario, _revision: self._on_edit())
        self.document.path_changed.connect(lambda _path: self._on_file())
        self.document.clean_changed.connect(lambda _clean: self._on_document())
        self.document.refused_changed.connect(self._on_refused)
        self.estimation.point_ready.connect(self._on_point)
        self.estimation.failed.connect(self._on_failed)
        self.workspace.users_dragged.connect(self._on_dragged)
        cards = self.workspace.cards
        cards.set_definition(self.preferences.choices.latency_as)
        cards.definition_chosen.connect(lambda name: self.preferences.change(latency_as=name))
        cards.definition_chosen.connect(cards.set_definition)
        self.workspace.unfold_asked.connect(self._unfold)
        self.workspace.forms.details_asked.connect(self.sheets.open_for)
        self.workspace.forms.computer_asked.connect(self.files.intake.ask_computer)
        self.files.intake.told.connect(self.sheets.close_notes)
        self.status.go_to.connect(self.go_to)
        self.shell = Shell(self)
        themes.manager.changed.connect(self._restyle)
        app = QApplication.instance()
        if isinstance(app, QApplication):
            app.focusChanged.connect(self._on_focus)

    # -- showing ---------------------------------------------------------------------------------

    def showEvent(self, event: QShowEvent) -> None:
        """No control shows a focus ring before a key was pressed."""
        super().showEvent(event)
        self._lay_out()
        self.setFocus()
        self.toolbar.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """The plots follow the first paint: their library takes longer to import than all the rest."""
        if event.type() == QEvent.Type.Paint and watched is self.toolbar:
            self.toolbar.removeEventFilter(self)
            QTimer.singleShot(0, self._first_paint_done)
        return False

    def _first_paint_done(self) -> None:
        self.painted.emit()
        self.load_plots()

    def load_plots(self) -> None:
        """Import and show the plots, and what else nobody waits for."""
        late = not self.workspace.plots
        if late:
            self.workspace.load_plots()
        if self.habits is None:
            from gui.frame.habits import Habits

            self.habits = Habits(self)
        if late:
            self.sheets.tell_problems()
            QTimer.singleShot(0, self._announce)

    def _announce(self) -> None:
        self.workspace.repaint()
        self.plots_shown.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another size may mean another layout."""
        super().resizeEvent(event)
        self._lay_out()

    def _lay_out(self) -> None:
        sizes = sizes_for(self.size(), themes.theme().scale)
        self.toolbar.set_small(sizes.name == "small")
        self.stack.set_sizes(sizes)
        fold = self.actions_["fold_forms"]
        if sizes.folded != self._folded_for_room:
            self._folded_for_room = sizes.folded
            fold.setChecked(sizes.folded)

    def _restyle(self) -> None:
        for command in COMMANDS:
            if command.icon:
                self.actions_[command.id].setIcon(icon(command.icon))
        self.toolbar.restyle()
        self.status.restyle()
        self._lay_out()
        # With larger text a window as narrow as that would cut the toolbar.
        wide = self.toolbar.minimumSizeHint().width() if themes.theme().scale > 1 else 0
        self.setMinimumWidth(max(LEAST.width(), min(wide, self.screen().availableSize().width())))
        self.update()

    def set_theme(self, choice: str) -> None:
        """Switch the colours and remember it."""
        self.preferences.change(theme=choice)
        self.actions_[f"theme_{choice}"].setChecked(True)  # type: ignore[index]
        app = QApplication.instance()
        if isinstance(app, QApplication):
            themes.apply(app, choice, themes.theme().scale)

    def _toggle_theme(self) -> None:
        self.set_theme("light" if themes.theme().dark else "dark")

    def _unfold(self, section: str) -> None:
        self.actions_["fold_forms"].setChecked(False)
        if section:
            self.workspace.forms.sections[section].set_open(True)

    def go_to(self, path: str) -> None:
        """Open the form section of a field and put the focus there."""
        self.stack.show_key("estimate")
        if self.workspace.forms.edits(path) or not self.sheets.has_field(path):
            self.actions_["fold_forms"].setChecked(False)
            self.workspace.forms.focus_field(path)
        else:
            self.sheets.go_to(path)

    # -- following the document ------------------------------------------------------------------

    def _on_document(self) -> None:
        clean = self.document.is_clean
        name = self._titled = self.document.title
        self.setWindowTitle(self.words("window.title_of", name=f"{name}[*]"))
        self.setWindowModified(not clean)
        self.setWindowFilePath(str(self.document.path) if self.document.path else "")
        self.status.show_file(name, clean)
        self.actions_["save"].setEnabled(not clean or self.document.path is None)
        self._on_undo()

    def _on_file(self) -> None:
        """Another file, and perhaps calibrations beside it."""
        self._on_document()
        if self.workspace.plots:  # before, they are told with the plots
            self.sheets.tell_calibrations()

    def _on_edit(self) -> None:
        if "file" in self.workspace.messages.pass_on():
            self.files.intake.told.emit()  # the sentences behind the message go with it
        self._on_changed()

    def _on_changed(self) -> None:
        if self.document.title != self._titled:
            self._on_document()
        self.workspace.show_hint(not self.preferences.choices.users_were_dragged)

    def _on_undo(self) -> None:
        stack = self.document.undo_stack
        if not shiboken6.isValid(stack):
            return  # it tells of its own end, too, where the program goes without closing the window
        for key, able, text in (
            ("undo", stack.canUndo(), stack.undoText()),
            ("redo", stack.canRedo(), stack.redoText()),
        ):
            action = self.actions_[key]  # type: ignore[index]
            action.setEnabled(able)
            what = self._edit_name(text) if able and text else ""
            said = self.words(f"actions.{key}_what", what=what) if what else self.words(f"actions.{key}")
            if said != action.text():  # else the toolbar would be laid out for every edit of a field
                action.setText(said)
                action.setToolTip(self.actions_.tooltip(key))  # type: ignore[arg-type]

    def _edit_name(self, text: str) -> str:
        """An edit is named by the field it changed, or by a text of its own."""
        name = self.words.field(text)
        return self.words(text) if name == text else name

    def _on_point(self, estimate: Estimate, _revision: int) -> None:
        self.workspace.messages.drop("failed")
        found = [self._complaint(note) for note in estimate.notes if note.severity != "note"]
        found = [*self._failures(estimate, found), *found]
        self._found = tuple(found)
        self.workspace.forms.show_warnings(estimate.notes)
        self.status.show_estimate(estimate)
        self.status.show_notes(notes_of(estimate, self.words))
        self._count_problems()

    def _failures(self, estimate: Estimate, noted: Sequence[Complaint]) -> list[Complaint]:
        """Why it cannot run, in other words than the verdict's where a note does not say so already."""
        if estimate.speed is not None:
            stable = estimate.speed.stable
            return [] if stable else [Complaint(self.words("status.overload"), "", serious=False)]
        ledger = estimate.ledger
        if not ledger.fits:
            over = show_bytes(ledger.needed_bytes - ledger.budget_bytes)
            return [Complaint(self.words("status.too_much", value=over))]
        return [] if noted else [Complaint(self.words.phrase(estimate.verdict.headline))]

    def _on_failed(self, problems: tuple[Problem, ...], _revision: int) -> None:
        """The scenario cannot be estimated: the last good picture stays, and says so."""
        reason = self.words.problem(problems[0]) if problems else ""
        self.workspace.messages.tell("failed", "bad", self.words("window.not_estimated", reason=reason))
        self._found = tuple(self._complaint(p) for p in problems)
        self._count_problems()

    def _on_refused(self) -> None:
        self.refusals.show()
        self._count_problems()

    def _count_problems(self) -> None:
        refused = [self._complaint(problem) for problem in self.document.refused.values()]
        self.status.show_problems(tuple(dict.fromkeys((*refused, *self._found))))

    def _complaint(self, problem: Problem) -> Complaint:
        path = problem.paths[0] if problem.paths else ""
        return Complaint(self.words.problem(problem), path, problem.severity == "error")

    def _on_dragged(self) -> None:
        if not self.preferences.choices.users_were_dragged:
            self.preferences.change(users_were_dragged=True)
            self.workspace.show_hint(False)

    def _on_focus(self, old: QWidget | None, _now: QWidget | None) -> None:
        if isinstance(old, QLineEdit):
            self.document.end_merge()

    # -- closing ---------------------------------------------------------------------------------

    def closeEvent(self, event: QCloseEvent) -> None:
        """Ask about unsaved changes without holding anything up."""
        if self.document.is_clean or self._may_close:
            self._keep_geometry()
            self.document.undo_stack.blockSignals(True)  # its own end is nothing to follow
            if self.recovery is not None:
                self.recovery.close()
            event.accept()
            return
        event.ignore()
        self.files.after_saving(self._close_now)

    def _close_now(self) -> None:
        self._may_close = True
        QTimer.singleShot(0, self.close)  # not from within the event that asked

    def _keep_geometry(self) -> None:
        self.state_.keep()
        if self.habits is not None:
            self.habits.flush()

    def restore_geometry(self) -> None:
        """As it was left, or the first size, within the screen."""
        self.state_.restore()

    def folded_for_room(self) -> bool:
        """Whether the forms are folded because the window is narrow."""
        return self._folded_for_room

    def say_again(self) -> None:
        """Memory is shown in another unit: everything that tells of it is told anew."""
        self.pinned.forget_results()
        self.language.say_everything(messages_stay=True)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        """A plot's menu."""
        self.exports.context(event)

    def changeEvent(self, event: QEvent) -> None:
        """Leaving the window ends the running edit."""
        if event.type() == QEvent.Type.ActivationChange and not self.isActiveWindow():
            self.document.end_merge()
        super().changeEvent(event)
