"""Whether results stay with the scenario's file: a choice at the foot of a form."""

from PySide6.QtWidgets import QHBoxLayout, QLabel, QWidget

from core.words import Words
from gui.fields.choice_edit import Choice
from gui.fields.segmented import Segmented
from gui.kept.results import Keeper
from gui.theme import manager, theme
from gui.workspaces.settings_form import LABELS, LABELS_SMALL


class KeepSwitch(QWidget):
    """Label and two segments, like the rows above it."""

    def __init__(self, keeper: Keeper, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._keeper = keeper
        self.editor = Segmented([Choice(on, words(f"kept.{'on' if on else 'off'}")) for on in (False, True)])
        self.editor.setAccessibleName(words("kept.label"))
        self.editor.setToolTip(words("kept.help"))
        self.editor.chosen.connect(lambda on: keeper.set_on(bool(on)))
        self._label = QLabel(words("kept.label"), self)
        self._label.setToolTip(words("kept.help"))
        self._label.setBuddy(self.editor)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 8, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._label)
        row.addWidget(self.editor, 1)
        keeper.changed.connect(self._follow)
        manager.changed.connect(self._restyle)
        self._restyle()
        self._follow()

    def set_small(self, small: bool) -> None:
        """Use the narrow label."""
        self._label.setFixedWidth(theme().px(LABELS_SMALL if small else LABELS))

    def _follow(self) -> None:
        self.editor.set_value(self._keeper.on)

    def _restyle(self) -> None:
        palette = self._label.palette()
        palette.setColor(palette.ColorRole.WindowText, theme().ink2)
        self._label.setPalette(palette)
