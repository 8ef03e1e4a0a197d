"""The workspaces of the window.  A new one is one file, one line here, one action, one word.

Every workspace but the first is made when it is first shown.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QBoxLayout, QStackedWidget, QWidget

from core.words import Words
from gui.catalogue import Catalogue
from gui.dialogs.service import Dialogs
from gui.document import Document
from gui.estimation import Estimation
from gui.frame.messages import MessageArea
from gui.frame.sizes import Sizes
from gui.kept.results import Keeper
from gui.pinned import Pinned

if TYPE_CHECKING:  # at run time it comes with the plots
    from gui.exporting.workspace_tables import Given
    from gui.frame.shell import Shell


@dataclass(frozen=True, slots=True)
class Context:
    """What a workspace works with."""

    document: Document
    estimation: Estimation
    words: Words
    pinned: Pinned
    messages: MessageArea
    go_to: Callable[[str], object]  # the field of a path, in the forms
    show: Callable[[str], object]  # another workspace
    drag_users: Callable[[int], object]  # the operating point was moved to so many users
    dialogs: Dialogs
    catalogue: Catalogue
    shell: "Callable[[], Shell]"
    memory: dict[str, object] = field(default_factory=dict)  # what outlives a change of language

    @property
    def keeper(self) -> Keeper:
        """What keeps results with the file."""
        found = self.memory.setdefault("keeper", None) or Keeper(self.document)
        self.memory["keeper"] = found
        return cast(Keeper, found)


class Workspace(Protocol):
    """What the window asks of a workspace, which is a widget besides."""

    message_place: QBoxLayout  # messages come first in it while the workspace is shown

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""

    def activate(self) -> None:
        """It is shown now: ask for what it needs."""

    def deactivate(self) -> None:
        """Another is shown now: stop working."""

    def settled(self) -> bool:
        """Whether everything on it belongs to the scenario as it stands."""


def _compare(context: Context) -> QWidget:
    from gui.workspaces.compare import CompareWorkspace

    return CompareWorkspace(context)


def _explore(context: Context) -> QWidget:
    from gui.workspaces.explore import ExploreWorkspace

    return ExploreWorkspace(context)


def _recommend(context: Context) -> QWidget:
    from gui.workspaces.recommend import RecommendWorkspace

    return RecommendWorkspace(context)


def _simulate(context: Context) -> QWidget:
    from gui.workspaces.simulate import SimulateWorkspace

    return SimulateWorkspace(context)


def _validate(context: Context) -> QWidget:
    from gui.workspaces.validate import ValidateWorkspace

    return ValidateWorkspace(context)


FIRST = "estimate"
LATER: dict[str, Callable[[Context], QWidget]] = {
    "compare": _compare,
    "explore": _explore,
    "recommend": _recommend,
    "simulate": _simulate,
    "validate": _validate,
}
KEYS: tuple[str, ...] = (FIRST, *LATER)


class Workspaces(QStackedWidget):
    """One of them in sight.  ``switched`` carries the key of the one that is."""

    switched = Signal(str)

    def __init__(self, first: QWidget, context: Context, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        context.keeper.setParent(self)
        self._sizes: Sizes | None = None
        self._pages: dict[str, QWidget] = {FIRST: first}
        self._carried: dict[str, object] = {}  # what a page that went hands to the one in its place
        self.addWidget(first)
        self.key = FIRST

    def page(self, key: str) -> QWidget:
        """A workspace, made where it is not there yet."""
        found = self._pages.get(key)
        if found is None:
            found = self._pages[key] = LATER[key](self._context)
            self.addWidget(found)
            if self._sizes is not None:
                _as_workspace(found).set_sizes(self._sizes)
            if key in self._carried:
                found.carry(self._carried.pop(key))  # type: ignore[attr-defined]
        return found

    def show_key(self, key: str) -> None:
        """Bring a workspace into sight, and the messages with it, without what was done in the last one."""
        if key != self.key:
            self._context.messages.leave()
            self._bring(key)

    def _bring(self, key: str) -> None:
        _as_workspace(self._pages[self.key]).deactivate()
        page = self.page(key)
        self.key = key
        _as_workspace(page).message_place.insertWidget(0, self._context.messages)
        self._context.messages.setVisible(bool(self._context.messages.subjects()))
        self.setCurrentWidget(page)
        _as_workspace(page).activate()
        self.switched.emit(key)

    def show_known(self, key: str) -> None:
        """Bring a workspace into sight if there is one of that key."""
        if key in KEYS:
            self.show_key(key)

    def forget(self) -> None:
        """Make all but the first anew: another language is spoken."""
        shown = self.key
        if shown != FIRST:
            self._bring(FIRST)
        for key in [key for key in self._pages if key != FIRST]:
            page = self._pages.pop(key)
            if hasattr(page, "carried"):
                self._carried[key] = page.carried()
            self.removeWidget(page)
            page.deleteLater()
        if shown != FIRST:
            self._bring(shown)

    def set_sizes(self, sizes: Sizes) -> None:
        """Lay out for a size of the window."""
        self._sizes = sizes
        for page in self._pages.values():
            _as_workspace(page).set_sizes(sizes)

    def pictures(self) -> "list[Given]":
        """What can be given away of the workspace in sight: pictures with their data."""
        give = getattr(self._pages[self.key], "pictures", None)
        return list(give()) if give is not None else []

    def settled(self) -> bool:
        """Whether the workspace in sight shows the scenario as it stands."""
        return _as_workspace(self._pages[self.key]).settled()


def _as_workspace(page: QObject) -> Workspace:
    return cast(Workspace, page)
