"""How the window was left: size and place, workspace and tab, the forms folded, open, as wide as they were.

Kept in ``window.ini``; what cannot be read there is as good as not kept.
"""

from typing import TYPE_CHECKING

from PySide6.QtCore import QByteArray, QSettings, QSize

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

FIRST = QSize(1440, 900)

_WIDEST = 16_000  # px; what a spoilt file says may be wider than any number Qt holds


class WindowState:
    """Keeps and restores the state of one window; without ``settings`` it only knows the first one."""

    def __init__(self, window: "MainWindow", settings: QSettings | None) -> None:
        self._window = window
        self._settings = settings

    def restore(self) -> None:
        """Size and forms as they were left, or as they are at first; before the window is shown."""
        window, settings = self._window, self._settings
        geometry = settings.value("geometry") if settings is not None else None
        if not isinstance(geometry, QByteArray) or not window.restoreGeometry(geometry):
            window.resize(FIRST.boundedTo(window.screen().availableSize()))
        if settings is None:
            return
        sections = settings.value("sections")
        width = str(settings.value("forms_width", 0))
        window.workspace.restore_forms(
            str(sections).split() if sections is not None else None,
            min(int(width), _WIDEST) if width.isdecimal() and len(width) < 10 else 0,
        )
        if _is_true(settings.value("folded")):
            window.actions_["fold_forms"].setChecked(True)

    def restore_place(self) -> None:
        """Workspace and tab; after the first paint, for their parts take time to make."""
        if self._settings is None:
            return
        self._window.workspace.show_tab(str(self._settings.value("tab", "")))
        self._window.stack.show_known(str(self._settings.value("workspace", "")))

    def keep(self) -> None:
        """Write everything down."""
        window, settings = self._window, self._settings
        if settings is None:
            return
        settings.setValue("geometry", window.saveGeometry())
        settings.setValue("workspace", window.stack.key)
        settings.setValue("tab", window.workspace.tabs.current)
        settings.setValue("folded", window.workspace.forms.isHidden() and not window.folded_for_room())
        sections, width = window.workspace.forms_as_chosen()
        for key, value in (
            ("sections", None if sections is None else " ".join(sections)),
            ("forms_width", width),
        ):
            if value is None or value == 0:
                settings.remove(key)
            else:
                settings.setValue(key, value)

    def reset(self) -> None:
        """As it is at the very first start."""
        window = self._window
        if window.isMaximized() or window.isFullScreen():
            window.showNormal()
        window.resize(FIRST.boundedTo(window.screen().availableSize()))
        window.actions_["fold_forms"].setChecked(window.folded_for_room())
        window.workspace.reset_forms()
        window.workspace.show_tab("overview")
        window.stack.show_key("estimate")


def _is_true(value: object) -> bool:
    return str(value).lower() in ("true", "1")
