"""The one short style sheet, filled with the colours of a theme."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gui.theme import Theme

_SHEET = """
QLineEdit, QPlainTextEdit, QTextEdit {{ background: {field}; color: {ink}; border: 1px solid {control};
  border-radius: 5px; padding: 0 5px; selection-background-color: {accent}; selection-color: {on_accent}; }}
QLineEdit {{ min-height: {h26}px; max-height: {h26}px; }}
QLineEdit[warned="true"] {{ border-color: {warn}; }}
QLineEdit:hover {{ border-color: {ink2}; }}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus {{ border: 2px solid {accent}; padding: 0 4px; }}
QLineEdit:focus {{ min-height: {h24}px; max-height: {h24}px; }}
QLineEdit:disabled {{ background: {sunken}; color: {off}; border: 1px {off_edge}; }}
QLineEdit[invalid="true"] {{ background: {bad_soft}; border-color: {bad}; }}
QLineEdit[plain="true"] {{ border: none; background: transparent; padding: 0; }}
QTextEdit[plain="true"], QTextEdit[plain="true"]:focus {{ border: none; border-radius: 0; padding: 0;
  background: {canvas}; }}
QTextEdit[kind="log"], QTextEdit[kind="log"]:focus {{ background: {side}; border: 1px solid {line2};
  border-radius: 6px; padding: 0; }}
QTextEdit[kind="log"]:focus {{ border-color: {accent}; }}
QPushButton {{ background: {raised}; color: {ink}; border: 1px solid {line2}; border-radius: 6px;
  padding: 0 12px; min-height: {h26}px; }}
QPushButton:hover {{ border-color: {control}; }}
QPushButton:pressed {{ background: {sunken}; }}
QPushButton:focus {{ border: 2px solid {accent}; padding: 0 11px; min-height: {h24}px; }}
QPushButton:disabled {{ color: {off}; background: {sunken}; border: 1px {off_edge}; }}
QPushButton[kind="primary"] {{ background: {accent}; color: {on_accent}; border-color: {accent}; }}
QPushButton[kind="primary"]:focus {{ border-color: {ink}; }}
QPushButton[kind="primary"]:disabled {{ color: {off}; background: {sunken}; border: 1px {off_edge}; }}
QPushButton[kind="small"] {{ min-height: {h22}px; padding: 0 10px; }}
QPushButton[kind="small"]:focus {{ min-height: {h20}px; padding: 0 9px; }}
QPushButton[kind="link"] {{ background: transparent; border: none; color: {accent_text}; padding: 0 2px; }}
QPushButton[kind="link"]:focus {{ border: 2px solid {accent}; padding: 0; }}
QPushButton[kind="link"][quiet="true"]:focus {{ border: 2px solid transparent; padding: 0; }}
QPushButton::menu-indicator {{ image: none; width: 0; }}
QToolButton {{ background: transparent; color: {ink2}; border: 2px solid transparent; border-radius: 6px;
  padding: 2px; }}
QToolButton:hover, QToolButton:pressed, QToolButton:checked {{ background: {hover}; color: {ink}; }}
QToolButton:focus {{ border-color: {accent}; }}
QToolButton:disabled {{ color: {off}; background: transparent; }}
QToolButton::menu-indicator {{ image: none; }}
QMenu {{ background: {raised}; color: {ink}; border: 1px solid {line2}; padding: 4px; }}
QMenu::item {{ padding: 5px 20px 5px 12px; border-radius: 4px; }}
QMenu::item:selected {{ background: {accent_soft}; color: {ink}; }}
QMenu::item:disabled {{ color: {off}; }}
QMenu::separator {{ height: 1px; background: {line}; margin: 4px 6px; }}
QMenu::icon {{ padding-left: 8px; }}
QDialog {{ background: {raised}; }}
QToolTip {{ background: {raised}; color: {ink}; border: 1px solid {line2}; padding: 4px 6px; }}
QComboBox {{ combobox-popup: 0; }}
QAbstractItemView {{ background: {raised}; color: {ink}; border: 1px solid {line2}; outline: 0;
  selection-background-color: {accent_soft}; selection-color: {ink}; }}
QAbstractItemView[plain="true"] {{ background: transparent; border: none; }}
QAbstractItemView[plain="true"]::item {{ min-height: {h26}px; padding: 0 6px; border-radius: 5px; }}
QAbstractItemView[plain="true"]::item:selected {{ background: {accent_soft}; color: {ink}; }}
QAbstractItemView[plain="true"]::item:hover:!selected {{ background: {hover}; }}
QTableView::item {{ padding: 0 10px; }}
QHeaderView {{ background: {raised}; border: none; }}
QHeaderView::section {{ background: {raised}; color: {ink3}; border: none; border-bottom: 1px solid {line2};
  padding: 5px 10px; }}
QScrollArea {{ background: transparent; border: none; }}
QScrollBar:vertical {{ background: transparent; width: 8px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 8px; margin: 0; }}
QScrollBar::handle {{ background: {line2}; border-radius: 3px; margin: 1px; }}
QScrollBar::handle:vertical {{ min-height: 28px; }}
QScrollBar::handle:horizontal {{ min-width: 28px; }}
QScrollBar::handle:hover {{ background: {control}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}
QAbstractScrollArea::corner {{ background: transparent; border: none; }}
QSplitter::handle {{ background: {line}; }}
"""


def style_sheet(theme: "Theme") -> str:
    """The sheet for a theme at its text size."""
    names = [
        *("field", "ink", "ink2", "ink3", "control", "accent", "on_accent", "accent_text", "accent_soft"),
        *("sunken", "raised", "line", "line2", "bad", "warn", "bad_soft", "canvas", "side", "off"),
    ]
    colours = {name: getattr(theme, name).name() for name in names}
    heights = {f"h{n}": theme.px(n) for n in (20, 22, 24, 26)}
    hover = theme.sunken if not theme.dark else theme.line
    # Where every edge is black, one that cannot be used is told by its dashes.
    off_edge = f"dashed {colours['off']}" if theme.name == "contrast" else f"solid {colours['line']}"
    return _SHEET.format(**colours, **heights, hover=hover.name(), off_edge=off_edge)
