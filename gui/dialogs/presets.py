"""The two dialogs of a person's own presets: keep one under a name, and rename or delete what is kept."""

from collections.abc import Callable

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QHBoxLayout,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.words import Words
from gui.fields.check_box import CheckBox
from gui.kept.user_presets import LONGEST_NAME, PARTS, Preset, UserPresets, tidy
from gui.sheets.sheet import Text
from gui.theme import theme

_WIDTH, _LIST_HEIGHT, _ROW = 400, 200, 28


class _Plate(QDialog):
    """A raised plate with a title; everything in one column."""

    def __init__(self, title: str, parent: QWidget) -> None:
        super().__init__(parent)
        t = theme()
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(title)
        self.setAccessibleName(title)
        self.column = QVBoxLayout(self)
        self.column.addStrut(t.px(_WIDTH - 48))  # at least: longer words make it wider
        self.column.setContentsMargins(t.px(24), t.px(20), t.px(24), t.px(20))
        self.column.setSpacing(t.px(8))
        self.column.addWidget(Text("body_semibold", "ink", title))

    def buttons(self, *buttons: QPushButton) -> None:
        """A row at the lower right."""
        row = QHBoxLayout()
        row.setSpacing(theme().px(8))
        row.addStretch(1)
        for button in buttons:
            row.addWidget(button)
        self.column.addSpacing(theme().px(8))
        self.column.addLayout(row)

    def paintEvent(self, _event: QPaintEvent) -> None:
        """The ground of what is raised."""
        with QPainter(self) as painter:
            painter.fillRect(self.rect(), theme().raised)


class SavePreset(_Plate):
    """Name and parts.  ``wanted`` carries both when they are settled."""

    wanted = Signal(str, object)

    def __init__(self, words: Words, kept: UserPresets, name: str, parent: QWidget) -> None:
        super().__init__(words("presets.save_title"), parent)
        self._words, self._kept = words, kept
        label = Text("body", "ink2", words("presets.name"))
        self.name = QLineEdit(tidy(name))
        self.name.setMaxLength(LONGEST_NAME)
        self.name.setAccessibleName(words("presets.name"))
        self.name.selectAll()
        label.setBuddy(self.name)
        self.column.addWidget(label)
        self.column.addWidget(self.name)
        self.column.addWidget(Text("body", "ink2", words("presets.holds")))
        self.parts: dict[str, CheckBox] = {}
        for part in PARTS:
            box = self.parts[part] = CheckBox(words(f"presets.parts.{part}"))
            box.setChecked(True)
            box.toggled.connect(self._settle)
            self.column.addWidget(box)
        self.told = Text("caption", "ink3", "", wrap=True)
        self.column.addWidget(self.told)
        cancel = QPushButton(words("dialogs.unsaved.cancel"))
        cancel.setAutoDefault(False)
        cancel.clicked.connect(self.reject)
        self.save = QPushButton(words("presets.save"))
        self.save.setProperty("kind", "primary")
        self.save.setDefault(True)
        self.save.clicked.connect(self._take)
        self.buttons(cancel, self.save)
        self.name.textChanged.connect(self._settle)
        self.name.setFocus()
        self._settle()

    def _settle(self) -> None:
        """What the button would do, and why it cannot."""
        name = tidy(self.name.text())
        chosen = any(box.isChecked() for box in self.parts.values())
        taken = bool(name) and self._kept.named(name) is not None
        self.save.setEnabled(bool(name) and chosen)
        self.save.setText(self._words("presets.replace" if taken else "presets.save"))
        why = "" if name else "presets.needs_name"
        if name:
            why = "presets.needs_part" if not chosen else "presets.taken" if taken else ""
        self.told.setText(self._words(why, name=name) if why else " ")

    def _take(self) -> None:
        parts = tuple(part for part, box in self.parts.items() if box.isChecked())
        self.wanted.emit(tidy(self.name.text()), parts)
        self.accept()


class ManagePresets(_Plate):
    """The kept presets: a name is edited in place, what was deleted comes back until the dialog is closed."""

    def __init__(
        self, words: Words, kept: UserPresets, use: Callable[[Preset], object], parent: QWidget
    ) -> None:
        super().__init__(words("presets.manage_title"), parent)
        self._words, self._kept, self._use = words, kept, use
        self._gone: list[Preset] = []
        self.list = QListWidget()
        self.list.setAccessibleName(words("presets.manage_title"))
        self.list.setEditTriggers(
            QAbstractItemView.EditTrigger.EditKeyPressed | QAbstractItemView.EditTrigger.SelectedClicked
        )
        self.list.setMinimumHeight(theme().px(_LIST_HEIGHT))
        self.column.addWidget(self.list)
        self.told = Text("caption", "ink3", "", wrap=True)
        self.column.addWidget(self.told)
        self.use = self._button("presets.use", self._use_it)
        self.rename = self._button("presets.rename", lambda: self.list.editItem(self.list.currentItem()))
        self.delete = self._button("presets.delete", self._delete)
        self.back = self._button("presets.take_back", self._take_back)
        self.finish = self._button("presets.done", self.accept)
        self.finish.setDefault(True)
        self.finish.setProperty("kind", "primary")
        self.buttons(self.use, self.rename, self.delete, self.back, self.finish)
        self.list.currentItemChanged.connect(lambda *_: self._settle())
        self.list.itemChanged.connect(self._renamed)
        self.list.itemDoubleClicked.connect(lambda _item: self._use_it())
        self._fill("")

    def _button(self, key: str, run: Callable[[], object]) -> QPushButton:
        button = QPushButton(self._words(key))
        button.setAutoDefault(False)
        button.clicked.connect(lambda _=False: run())
        return button

    def _fill(self, current: str) -> None:
        self.list.blockSignals(True)
        self.list.clear()
        for preset in self._kept.all():
            item = QListWidgetItem(preset.name)
            item.setSizeHint(QSize(0, theme().px(_ROW)))
            item.setData(Qt.ItemDataRole.UserRole, preset)
            item.setFlags(item.flags() | Qt.ItemFlag.ItemIsEditable)
            self.list.addItem(item)
            if preset.name == current or self.list.count() == 1:
                self.list.setCurrentItem(item)
        self.list.blockSignals(False)
        self._settle()

    def _current(self) -> Preset | None:
        chosen = self.list.selectedItems()
        found = chosen[0].data(Qt.ItemDataRole.UserRole) if chosen else None
        return found if isinstance(found, Preset) else None

    def _settle(self, told: str = "") -> None:
        preset, words = self._current(), self._words
        for button in (self.use, self.rename, self.delete):
            button.setEnabled(preset is not None)
        self.back.setVisible(bool(self._gone))
        if not told and preset is not None:
            names = words.listed(words(f"presets.parts.{part}") for part in preset.parts)
            told = words("presets.holding", names=names)
        self.told.setText(told or words("presets.none"))

    def _use_it(self) -> None:
        preset = self._current()
        if preset is not None:
            self.accept()
            self._use(preset)

    def _renamed(self, item: QListWidgetItem) -> None:
        preset = item.data(Qt.ItemDataRole.UserRole)
        name = tidy(item.text())
        if name == preset.name or self._kept.rename(preset, name):
            self._fill(name)
            return
        self._fill(preset.name)
        self._settle(self._words("presets.not_renamed", name=name) if name else "")

    def _delete(self) -> None:
        preset = self._current()
        if preset is not None and self._kept.delete(preset):
            self._gone.append(preset)
            self._fill("")

    def _take_back(self) -> None:
        preset = self._gone.pop()
        self._kept.put(preset)
        self._fill(preset.name)
