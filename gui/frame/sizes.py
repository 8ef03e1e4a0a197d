"""What the size of the window decides: widths, heights and gaps, for every workspace alike."""

from dataclasses import dataclass, replace

from PySide6.QtCore import QSize


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths in pixels at 100 % text."""

    name: str  # "small", "medium", "large"
    forms: int  # width of the forms
    verdict: int
    strip: int
    row_gap: int  # between the rows of plots
    open_sections: int  # form sections open when nobody has said otherwise
    columns: int = 2  # of plots
    folded: bool = False  # no room for forms and results side by side


GUTTER = 24  # left and right of the centre
COLUMN_GAP = 32
TABS = 36
LEAST_FORMS = 240
LEAST_CENTRE = 616  # five cards, narrower than they like to be
LEAST_PLOT = 196  # height below which the plots scroll instead
_SMALL = Sizes("small", 272, 60, 88, 8, 3)
_MEDIUM = Sizes("medium", 288, 72, 104, 20, 4)
_LARGE = Sizes("large", 320, 72, 104, 20, 6)


def sizes_for(window: QSize, scale: float) -> Sizes:
    """The layout for a window at a text size.  Window frames are allowed for."""
    wide, high = window.width() / scale, window.height() / scale
    found = _MEDIUM
    if wide < 1400 or high < 820:
        found = _SMALL
    elif wide >= 1760 and high >= 960:
        found = _LARGE
    if high < 680:
        found = replace(found, open_sections=2)
    if window.width() < 1240 or scale > 1.5:
        found = replace(found, columns=1)
    return replace(found, folded=wide < found.forms + LEAST_CENTRE)


def right_width(sizes: Sizes, window: QSize, scale: float, folded: bool) -> int:
    """Width of the right panel where there is room for it; ``folded``: the forms take none.  0: a rail."""
    wide = window.width() / scale
    if sizes.name == "large":
        return 368
    if wide >= 1400:
        return 304
    return 288 if folded and wide >= LEAST_CENTRE + 2 * GUTTER + 288 else 0
