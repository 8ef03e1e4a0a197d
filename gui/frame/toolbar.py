"""The bar on top: menu, commands as icons, workspaces as text, theme at the right."""

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QStyleOptionToolButton,
    QToolButton,
    QWidget,
)

from gui.actions import ActionId, Actions
from gui.icons import beside, beside_size, icon
from gui.theme import Role, font, theme
from gui.widgets.search_box import SearchBox

HEIGHT = 48
_BUTTON = 28
_GROUPS: tuple[tuple[ActionId, ...], ...] = (("new", "open", "save"), ("undo", "redo"))
_WORDED: tuple[ActionId, ...] = ("pin", "export")


class TextTab(QAbstractButton):
    """A tab as plain words with a 2 px accent underline on the lower edge when chosen."""

    def __init__(self, text: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setText(text)
        self.setAccessibleName(text)
        self.setCheckable(True)
        self.setAutoExclusive(True)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Expanding)

    def sizeHint(self) -> QSize:
        """As wide as the words when chosen, so that choosing moves nothing."""
        wide = QFontMetricsF(font("body_semibold")).horizontalAdvance(self.text())
        return QSize(round(wide) + 1, theme().px(36))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Words, underline, focus ring."""
        t = theme()
        with QPainter(self) as painter:
            chosen = self.isChecked()
            role: Role = "body_semibold" if chosen else "body"
            painter.setFont(font(role))
            painter.setPen(t.ink if chosen or self.underMouse() else t.ink2)
            painter.drawText(
                self.rect(), Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text()
            )
            if chosen:
                painter.fillRect(0, self.height() - 2, self.width(), 2, t.accent)
            if self.hasFocus():
                painter.setRenderHint(QPainter.RenderHint.Antialiasing)
                painter.setPen(t.accent)
                painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 6.5, -0.5, -6.5), 3, 3)


class _Worded(QToolButton):
    """A command whose words stand as far from its icon as those of other buttons."""

    def __init__(self, name: str, parent: QWidget) -> None:
        super().__init__(parent)
        self._name, self._icon = name, QIcon()

    def restyle(self) -> None:
        """Draw the icon anew."""
        self._icon = beside(self._name)

    def initStyleOption(self, option: QStyleOptionToolButton) -> None:
        """With room behind the icon where words follow."""
        super().initStyleOption(option)
        if self.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonTextBesideIcon:
            option.icon, option.iconSize = self._icon, beside_size()


class Toolbar(QWidget):
    """48 px of commands.  ``workspace_chosen`` carries the key of a workspace."""

    workspace_chosen = Signal(str)

    def __init__(
        self,
        actions: Actions,
        menu: QMenu,
        menu_name: str,
        samples: QMenu,
        workspaces: Sequence[tuple[str, str]],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_OpaquePaintEvent)
        self._actions = actions
        self._menu = menu
        self._samples = samples
        self._buttons: dict[ActionId, QToolButton] = {}
        row = QHBoxLayout(self)
        row.setContentsMargins(8, 0, 10, 0)
        row.setSpacing(0)
        self.menu_button = QToolButton(self)
        self.menu_button.setAccessibleName(menu_name)
        self.menu_button.setToolTip(menu_name)
        self.menu_button.clicked.connect(lambda: self._drop(menu, self.menu_button))
        row.addWidget(self.menu_button)
        for group in _GROUPS:
            row.addSpacing(8)
            for name in group:
                row.addWidget(self._button(name))
        self._gap = QWidget(self)
        row.addWidget(self._gap)
        self._tabs: dict[str, TextTab] = {}
        for key, text in workspaces:
            tab = self._tabs[key] = TextTab(text, self)
            tab.setChecked(key == workspaces[0][0])
            tab.clicked.connect(lambda _=False, key=key: self.workspace_chosen.emit(key))
            row.addWidget(tab)
            row.addSpacing(24)
        row.addStretch(1)
        self.pin_button = self._button("pin")
        row.addWidget(self.pin_button)
        row.addSpacing(8)
        self.export_button = self._button("export")
        row.addWidget(self.export_button)
        row.addSpacing(12)
        self.search = SearchBox(actions["search"], self)
        row.addWidget(self.search)
        row.addSpacing(8)
        self.language_button = QToolButton(self)
        self.language_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        row.addWidget(self.language_button)
        row.addWidget(self._button("toggle_theme"))
        self.set_small(False)
        self.restyle()

    def set_small(self, small: bool) -> None:
        """Less room before the workspaces in a small window."""
        self._gap.setFixedWidth(theme().px(19 if small else 31))
        self.search.set_small(small)
        style = (
            Qt.ToolButtonStyle.ToolButtonIconOnly if small else Qt.ToolButtonStyle.ToolButtonTextBesideIcon
        )
        for button in (self.pin_button, self.export_button):
            button.setToolButtonStyle(style)

    def show_workspace(self, key: str) -> None:
        """Mark the workspace in sight."""
        self._tabs[key].setChecked(True)

    def restyle(self) -> None:
        """After a switch of theme: sizes and drawings anew."""
        t = theme()
        self.setFixedHeight(t.px(HEIGHT))
        self.menu_button.setIcon(icon("menu"))
        self.language_button.setIcon(icon("globe"))
        for button in (self.menu_button, self.language_button, *self._buttons.values()):
            if isinstance(button, _Worded):
                button.restyle()
                button.setFixedHeight(t.px(_BUTTON))
            else:
                button.setFixedSize(t.px(_BUTTON), t.px(_BUTTON))
            button.setIconSize(QSize(t.px(16), t.px(16)))
        for key, button in self._buttons.items():
            button.setToolTip(self._actions.tooltip(key))
            button.setAccessibleName(self._actions[key].text())
        self.update()

    def speak(self, menu_name: str, language: str, workspaces: Mapping[str, str]) -> None:
        """The words of another language."""
        for button, name in ((self.menu_button, menu_name), (self.language_button, language)):
            button.setAccessibleName(name)
            button.setToolTip(name)
        for key, text in workspaces.items():
            self._tabs[key].setText(text)
            self._tabs[key].setAccessibleName(text)
        self.restyle()

    def drop_menu(self, menu: QMenu, button: QWidget) -> None:
        """Open a menu below a button."""
        self._drop(menu, button)

    def drop_samples(self) -> None:
        """Open the list of samples below its button."""
        self._drop(self._samples, self._buttons["new"])

    def _button(self, key: ActionId) -> QToolButton:
        button = _Worded(key, self) if key in _WORDED else QToolButton(self)
        button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        button.setDefaultAction(self._actions[key])
        self._buttons[key] = button
        return button

    def _drop(self, menu: QMenu, button: QWidget) -> None:
        menu.popup(button.mapToGlobal(button.rect().bottomLeft()))

    def paintEvent(self, _event: QPaintEvent) -> None:
        """Ground and the hairline below."""
        t = theme()
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), t.side)
            painter.fillRect(0, self.height() - 1, self.width(), 1, t.line)
