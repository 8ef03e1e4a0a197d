"""How wide the columns of a table are: as wide as their texts, then as there is room."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gui.theme import theme
from gui.widgets.cell_text import Measure

if TYPE_CHECKING:
    from gui.widgets.grid_table import Column, Row

INDENT = 8  # of texts, where a chosen row has its ground; without one they stand on the edge
_PAD = 16
_LEAST = 196  # px of a column that stretches
_BESIDE = 12  # more of it where the column before ends with numbers
_TIGHTER = 9  # px that each column can be closer to the next where names would be cut
_MOST_STRETCH = 120  # px that a column takes of what is left, before all take their part


def indents(columns: Sequence["Column"], selects: bool) -> list[int]:
    """Left of the texts of each column; more beside numbers that end there."""
    found = []
    for index, column in enumerate(columns):
        if column.right or (index == 0 and not selects):
            found.append(0)
        else:
            found.append(INDENT + (_BESIDE if index and columns[index - 1].right else 0))
    return found


def needed(
    columns: Sequence["Column"], rows: Sequence["Row"], indent: Sequence[int]
) -> tuple[list[float], list[float]]:
    """What each column needs for its texts, and for the small print behind them, which stands below one
    another."""
    t, measure = theme(), Measure()
    width, icon = measure.width, t.px(14) + 4
    widths, afters = [], []
    for index, column in enumerate(columns):
        cells = [row.cells[index] for row in rows]
        small = [width("caption", cell.after) + 8 if cell.after else 0.0 for cell in cells]
        most = max(small, default=0.0) if column.right else 0.0
        afters.append(most)
        if column.width:
            widths.append(float(t.px(column.width)))
            continue
        wide = width("caption", column.title)
        for cell, after in zip(cells, small, strict=True):
            own = width(cell.role, cell.text) + (after if after > most else most)
            if cell.icon:
                own += icon
            if own > wide:
                wide = own
        widths.append(wide + _PAD + indent[index] - (0 if column.right else INDENT))
    return widths, afters


def placed(columns: Sequence["Column"], needed_widths: Sequence[float], room: float) -> list[float]:
    """What is left goes to the columns that stretch; what is missing is taken from them first."""
    px, widths = theme().px, list(needed_widths)
    slack = sum(
        max(0.0, wide - px(column.least or _LEAST))
        for column, wide in zip(columns, widths, strict=True)
        if column.stretch
    )
    spare = [(column.spare, index) for index, column in enumerate(columns) if column.spare]
    for _, index in sorted(spare):
        if sum(widths) - slack > room:
            widths[index] = 0.0
    _tighten(columns, widths, room)
    over = room - sum(widths)
    stretched = [i for i, c in enumerate(columns) if c.stretch]
    last = bool(stretched) and stretched[-1] == len(widths) - 1 and not columns[-1].right
    taken = over if last else min(over, px(_MOST_STRETCH) * len(stretched))
    for index in stretched:
        widths[index] = max(float(px(48)), widths[index] + taken / len(stretched))
    shown = [i for i, wide in enumerate(widths) if wide and not columns[i].fixed]
    for index in shown if over > taken and stretched else ():  # what lies far apart is not read together
        widths[index] += (over - taken) / len(shown)
    return widths


def _tighten(columns: Sequence["Column"], widths: list[float], room: float) -> None:
    """Less room between the columns, where that is enough for no text to be cut."""
    beside = [i for i, wide in enumerate(widths) if wide and not columns[i].width]
    missing = sum(widths) - room
    if beside and 0.0 < missing <= theme().px(_TIGHTER) * len(beside):
        for index in beside:
            widths[index] -= missing / len(beside)
