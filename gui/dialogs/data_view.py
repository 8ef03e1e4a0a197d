"""The numbers behind a plot, to look at, copy and save."""

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QHBoxLayout, QPushButton, QTableView, QVBoxLayout, QWidget

from core.words import Words
from gui.exporting.plot_tables import DataTable, cell_text
from gui.theme import theme

_Index = QModelIndex | QPersistentModelIndex
_NOWHERE = QModelIndex()
_WIDE, _HIGH = 640, 420
_MEASURED = 40  # rows that decide how wide a column is


class _Model(QAbstractTableModel):
    """A table that is read only."""

    def __init__(self, table: DataTable, parent: QWidget) -> None:
        super().__init__(parent)
        self._table = table

    def rowCount(self, parent: _Index = _NOWHERE) -> int:
        """Rows."""
        return 0 if parent.isValid() else len(self._table.rows)

    def columnCount(self, parent: _Index = _NOWHERE) -> int:
        """Columns."""
        return 0 if parent.isValid() else len(self._table.heads)

    def data(self, index: _Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        """A number right-aligned, a text left."""
        cell = self._table.rows[index.row()][index.column()]
        if role == Qt.ItemDataRole.DisplayRole:
            return cell if isinstance(cell, str) else cell_text(cell)
        if role == Qt.ItemDataRole.TextAlignmentRole and not isinstance(cell, str):
            return Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        return None

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> object:
        """Names with their units; rows are counted from 1."""
        if role != Qt.ItemDataRole.DisplayRole:
            return None
        return self._table.heads[section] if orientation == Qt.Orientation.Horizontal else section + 1


class DataView(QDialog):
    """A window of its own that does not hold anything up.  ``save_asked``: as a file, please."""

    save_asked = Signal()

    def __init__(self, title: str, table: DataTable, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._table = table
        t = theme()
        self.view = QTableView(self)
        self.view.setModel(_Model(table, self))
        self.view.setAccessibleName(title)
        self.view.setTabKeyNavigation(False)
        self.view.setAlternatingRowColors(False)
        self.view.setShowGrid(False)
        self.view.setWordWrap(False)
        self.view.verticalHeader().setDefaultSectionSize(t.px(24))
        self.view.verticalHeader().hide()
        self.view.horizontalHeader().setHighlightSections(False)
        self.view.horizontalHeader().setResizeContentsPrecision(_MEASURED)
        self.view.horizontalHeader().setDefaultAlignment(
            Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        )
        copy = QPushButton(words("export.copy_data"), self)
        copy.clicked.connect(self.copy)
        save = QPushButton(words("export.data"), self)
        save.clicked.connect(self.save_asked)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        for button in (copy, save):
            button.setAutoDefault(False)
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(*(t.px(16),) * 4)
        column.setSpacing(t.px(12))
        column.addWidget(self.view, 1)
        column.addLayout(buttons)
        self._fit()

    def _fit(self) -> None:
        """Every column whole, and the window as wide as they are where the screen is."""
        t = theme()
        for part in (self.view, self.view.horizontalHeader()):
            part.ensurePolished()  # the paddings of the style sheet count
        self.view.resizeColumnsToContents()
        wide = self.view.horizontalHeader().length() + t.px(32) + 12
        most = self.screen().availableGeometry().width() - t.px(80)
        self.resize(min(max(wide, t.px(_WIDE)), most), t.px(_HIGH))

    def copy(self) -> None:
        """All of it, for a spreadsheet."""
        QGuiApplication.clipboard().setText(self._table.tab_separated())
