"""What workspaces with long work have in common: form, sentence, progress, cancel, a rest after edits."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QTimer
from PySide6.QtGui import QHideEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from core.errors import Problem
from gui.frame.messages import Link
from gui.frame.sizes import Sizes
from gui.icons import beside, beside_size
from gui.theme import manager, theme
from gui.work.background import Work
from gui.workspaces.heading import Heading
from gui.workspaces.keep_switch import KeepSwitch
from gui.workspaces.parts import Edge, Ground, ProgressBar
from gui.workspaces.settings_form import SettingsForm

if TYPE_CHECKING:
    from gui.workspaces.registry import Context

_NARROW = 640  # px of the heading
_SEEN_MS = 12  # a page is painted before it works
_SHOW_WORK_MS = 300  # what takes longer says how far it is, and can be cancelled


class WorkPage(QWidget):
    """Works while it is in sight; nothing runs out of sight.

    A subclass says what follows an edit (``_follow``), how far the work is (``_share``) and what is to be
    said (``_say``), and begins the work when the rest after an edit is over (``_begin``).
    """

    def __init__(self, context: "Context", rest_ms: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._words, self._keeper = context, context.words, context.keeper
        self._active = self._stopped = self._small = False
        self._works: list[Work] = []
        self._heads: list[tuple[QPushButton, str]] = []
        self._icons: list[tuple[QPushButton, str, int]] = []
        self._rest = QTimer(self, singleShot=True, interval=rest_ms)
        self._rest.timeout.connect(self._begin)
        self._seen = QTimer(self, singleShot=True, interval=_SEEN_MS)
        self._seen.timeout.connect(self._begin_seen)
        self._late = QTimer(self, singleShot=True, interval=_SHOW_WORK_MS)
        self._late.timeout.connect(self._show_work)
        self.heading, self.bar = Heading(), ProgressBar()
        self.cancel = self._button("cancel", "stop", self._cancel)
        self.cancel.hide()
        context.document.changed.connect(self._follow)
        self._keeper.changed.connect(self._on_keeper)
        self._keeper.failed.connect(self._on_not_kept)
        manager.changed.connect(self._restyle)

    # -- for subclasses --------------------------------------------------------------------------

    words_of = ""  # group of the texts

    def _begin(self) -> None:
        """Nobody has typed for a while."""

    def _follow(self) -> None:
        """The scenario has changed, or the page has come into sight."""

    def _on_keeper(self) -> None:
        """What is kept with the file may be known now."""

    def _share(self) -> float:
        """How far the work is, 0 to 1."""
        return 0.0

    def _say(self) -> None:
        """Sentence and line."""

    def _end_work(self) -> None:
        """Nothing is under way any more."""
        self._late.stop()
        self.cancel.hide()
        self.bar.show_share(None)

    # -- building --------------------------------------------------------------------------------

    def _work(self) -> Work:
        """A piece of work that the page shows."""
        work = Work(self)
        self._works.append(work)
        return work

    def _button(self, key: str, picture: str, done: Callable[[], object], size: int = 16) -> QPushButton:
        button = QPushButton(self._words(f"{self.words_of}.{key}"))
        button.clicked.connect(lambda _checked: done())
        if picture:
            self._icons.append((button, picture, size))
        return button

    def _head(self, *buttons: QPushButton) -> None:
        """Buttons at the right of the sentence."""
        for button in buttons:
            self._heads.append((button, button.text()))
            button.setToolTip(button.text())
            button.setAccessibleName(button.text())
            self.heading.add(button)

    def _fit_heads(self) -> None:
        """Pictures only where the sentences need the room."""
        narrow = self.heading.width() < theme().px(_NARROW)
        for button, text in self._heads:
            button.setText("" if narrow else text)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Another width."""
        super().resizeEvent(event)
        self._fit_heads()

    def _lay_out(self, form: SettingsForm, parts: Sequence[QWidget]) -> QVBoxLayout:
        """Form, hairline, heading and parts; the column of the parts."""
        self._form = form
        self._switch = KeepSwitch(self._keeper, self._words)
        form.add_widget(self._switch)
        ground = Ground("canvas")
        column = self.message_place = QVBoxLayout(ground)
        outer, row = QVBoxLayout(self), QHBoxLayout()
        for layout in (column, outer, row):
            layout.setContentsMargins(0, 0, 0, 0)
            layout.setSpacing(0)
        for part in (self.heading, *parts):
            column.addWidget(part)
        row.addWidget(form)
        row.addWidget(Edge())
        row.addWidget(ground, 1)
        outer.addLayout(row, 1)
        self.bar.lie_over(self)
        return column

    def _restyle(self) -> None:
        for button, picture, size in self._icons:
            button.setIcon(beside(picture))
            button.setIconSize(beside_size(size))
        self.update()

    # -- as one of the workspaces ----------------------------------------------------------------

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        self._small = sizes.name == "small"
        self._form.setFixedWidth(theme().px(sizes.forms) - 1)
        self._form.set_small(self._small)
        self._switch.set_small(self._small)
        self.heading.set_small(self._small)

    def activate(self) -> None:
        """In sight: work out what is not known."""
        self._active = True
        self._context.estimation.want("")
        self._follow()
        if self._rest.isActive():  # nobody is typing
            self._rest.stop()
            self._seen.start()

    def _begin_seen(self) -> None:
        if self._active and not self._rest.isActive():  # else an edit came in between
            self._begin()

    def deactivate(self) -> None:
        """Out of sight: nothing runs."""
        self._active = False
        self._stop_all()
        self._end_work()

    def hideEvent(self, event: QHideEvent) -> None:
        """A closed window works no more."""
        if not self.window().isVisible():
            self._stop_all()
        super().hideEvent(event)

    def settled(self) -> bool:
        """Whether everything belongs to the scenario as it stands."""
        waits = self._rest.isActive() or self._seen.isActive() or self._keeper.busy
        return not (waits or self._working)

    # -- working ---------------------------------------------------------------------------------

    @property
    def _working(self) -> bool:
        return any(work.working for work in self._works)

    def _stop_all(self) -> None:
        for work in self._works:
            work.stop()

    def _cancel(self) -> None:
        self._stop_all()
        self._stopped = True
        self._end_work()
        self._say()

    def _show_work(self) -> None:
        if self._working:
            self.cancel.show()
            self.bar.show_share(self._share())

    def _show_share(self) -> None:
        if not self.bar.isHidden():
            self.bar.show_share(self._share())

    def _on_not_kept(self, problems: tuple[Problem, ...]) -> None:
        if self._active:
            self._tell("kept", "bad", self._words("kept.not_read", reason=self._words.problem(problems[0])))

    def _tell(self, subject: str, kind: str, text: str, *links: Link) -> None:
        """A message with a link that takes it away."""
        messages = self._context.messages
        dismiss = (self._words("window.dismiss"), lambda: messages.drop(subject))
        messages.tell(subject, kind, text, [*links, dismiss])
