"""Colours, type and the style of the controls.  The only file that holds a colour.

``theme()`` is the theme in use; ``manager.changed`` is emitted after a switch.  Widgets that paint
themselves read the attributes inside their paint event and need no more than an ``update()``.
"""

import sys
from functools import cache
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

import resources
from core.memory.ledger import LINE_ORDER, LineKey
from gui.style_sheet import style_sheet

ThemeName = Literal["light", "dark", "contrast"]
NAMES: tuple[ThemeName, ...] = ("light", "dark", "contrast")
Role = Literal[
    "caption",
    "caption_medium",
    "caption_semibold",
    "body",
    "body_medium",
    "body_semibold",
    "title20",
    "title20_medium",
    "italic",
    "fixed",
]

# token: light, dark, high contrast
_TOKENS: dict[str, tuple[str, str, str]] = {
    "canvas": ("#FFFFFF", "#14171C", "#FFFFFF"),
    "side": ("#F6F7F9", "#191D23", "#FFFFFF"),
    "raised": ("#FFFFFF", "#1E232A", "#FFFFFF"),
    "sunken": ("#EEF0F3", "#101317", "#FFFFFF"),
    "field": ("#FFFFFF", "#101317", "#FFFFFF"),
    "line": ("#E4E7EB", "#282E37", "#000000"),
    "line2": ("#D2D7DE", "#363E49", "#000000"),
    "control": ("#7F8997", "#737E8C", "#000000"),
    "grid": ("#ECEEF1", "#20262E", "#B0B0B0"),
    "axis": ("#98A1AE", "#626C79", "#000000"),
    "ink": ("#14181F", "#ECEFF3", "#000000"),
    "ink2": ("#4A5362", "#B3BBC6", "#000000"),
    "ink3": ("#5F6978", "#8F99A6", "#1F1F1F"),
    "accent": ("#2B5FD9", "#7BA2FF", "#0033CC"),
    "on_accent": ("#FFFFFF", "#0C1630", "#FFFFFF"),
    "accent_text": ("#2454C6", "#8FB0FF", "#0033CC"),
    "accent_soft": ("#E9EFFC", "#1D2942", "#FFFFFF"),
    "good": ("#176B4D", "#52D6A4", "#00523A"),
    "good_soft": ("#E4F3EC", "#17291F", "#FFFFFF"),
    "warn": ("#935A00", "#E0B03B", "#7A5C00"),
    "warn_soft": ("#FBF0DA", "#2C2415", "#FFFFFF"),
    "bad": ("#9C1F19", "#EE7A75", "#7A0000"),
    "bad_soft": ("#FBE9E7", "#331C1B", "#FFFFFF"),
    "curve": ("#2A3442", "#D5DBE3", "#000000"),
    "band": ("#D9DFE7", "#333B46", "#D4D4D4"),
    "ghost": ("#7F8997", "#7A8593", "#555555"),
}
_LEDGER: dict[LineKey, tuple[str, str, str]] = {
    "weights": ("#30679A", "#5F8AC0", "#1C4E80"),
    "kv_cache": ("#249A95", "#46C2B0", "#00706B"),
    "kv_cache_spare": ("#E9F6F5", "#163733", "#D6EEEC"),  # the ground; hatched in the KV colour
    "activations": ("#BD8014", "#DB9E3F", "#8A5A00"),
    "graphs": ("#83205C", "#B0608C", "#6B1148"),
    "runtime": ("#2A2F36", "#DDE4EC", "#000000"),
    "outside": ("#FFFFFF", "#14171C", "#FFFFFF"),
}
_SERIES: tuple[tuple[str, str, str], ...] = (
    ("#2A3442", "#D5DBE3", "#000000"),
    ("#4F86BF", "#56A3FF", "#2F6FB0"),
    ("#C9662F", "#F48C2C", "#A84A12"),
    ("#6934A2", "#9C5F90", "#5A2590"),
    ("#7A1F1F", "#4F8A68", "#105040"),
    ("#6E8270", "#7CE3BE", "#7A6070"),
    ("#1F5A48", "#D8484F", "#601010"),
    ("#906080", "#E6DE6A", "#707050"),
)
# Classes of a heat map: from nearly the ground to a blue in the middle, so that lines stay legible.
_RAMP = (("#F1F5FA", "#6B9CCC"), ("#1A222D", "#3C6FA6"), ("#F1F5FA", "#6B9CCC"))
RAMP_CLASSES = 8
# Dash patterns (pixels) and markers that go with the series colours.
SERIES_DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (5, 2),
    (1.5, 1.5),
    (6, 2, 1.5, 2),
    (9, 3),
    (6, 2, 1.5, 2, 1.5, 2),
    (3, 3),
    (12, 2, 3, 2),
)
SERIES_MARKERS = ("circle", "square", "triangle", "diamond") * 2
# Share of the full colour in the tint of a large area, light; dark adds 8 points.
_TINT_SHARE: dict[LineKey, float] = {"weights": 0.22, "kv_cache": 0.26}
_THIN_SHARE = 0.50

_SIZES = {"caption": 11, "body": 13, "title20": 20, "italic": 13, "fixed": 13}
_FAMILIES = ["Inter"]
_system_families: list[str] = []  # filled once there is an application to ask
_CJK = ["PingFang SC", "Microsoft YaHei UI", "Noto Sans CJK SC", "WenQuanYi Micro Hei"]


def mix(top: QColor, ground: QColor, share: float) -> QColor:
    """``share`` of ``top`` over ``ground`` as one opaque colour."""
    return QColor.fromRgbF(
        top.redF() * share + ground.redF() * (1 - share),
        top.greenF() * share + ground.greenF() * (1 - share),
        top.blueF() * share + ground.blueF() * (1 - share),
    )


class Theme:
    """One set of colours and fonts.  Attributes carry the names of the token table."""

    canvas: QColor
    side: QColor
    raised: QColor
    sunken: QColor
    field: QColor
    line: QColor
    line2: QColor
    control: QColor
    grid: QColor
    axis: QColor
    ink: QColor
    ink2: QColor
    ink3: QColor
    accent: QColor
    on_accent: QColor
    accent_text: QColor
    accent_soft: QColor
    good: QColor
    good_soft: QColor
    warn: QColor
    warn_soft: QColor
    bad: QColor
    bad_soft: QColor
    curve: QColor
    band: QColor
    ghost: QColor

    def __init__(self, name: ThemeName, scale: float = 1.0) -> None:
        column = NAMES.index(name)
        self.name: ThemeName = name
        self.dark = name == "dark"
        self.scale = scale
        for token, colours in _TOKENS.items():
            setattr(self, token, QColor(colours[column]))
        self.ledger: dict[LineKey, QColor] = {k: QColor(c[column]) for k, c in _LEDGER.items()}
        self.series = tuple(QColor(c[column]) for c in _SERIES)
        low, high = (QColor(c) for c in _RAMP[column])
        self.ramp = tuple(mix(high, low, i / (RAMP_CLASSES - 1)) for i in range(RAMP_CLASSES))
        extra = 0.08 if self.dark else 0.0
        self.ledger_tint: dict[LineKey, QColor] = {
            key: mix(self.ledger[key], self.canvas, _TINT_SHARE.get(key, _THIN_SHARE) + extra)
            for key in LINE_ORDER
        }
        self.ledger_tint["kv_cache_spare"] = self.ledger["kv_cache_spare"]
        self.ledger_tint["outside"] = self.canvas
        contrast = name == "contrast"  # there a segment that is chosen is told by more than its edge
        self.chosen = self.ink if contrast else self.raised
        self.on_chosen = self.canvas if contrast else self.ink
        self.off = self.ghost if contrast else self.ink3  # words and edges of what cannot be used
        self.missed_region = mix(self.warn_soft, self.canvas, 0.65)
        self.washed = {k: mix(c, self.canvas, 0.35) for k, c in self.ledger.items()}
        self._fonts: dict[str, QFont] = {}

    def series_colour(self, index: int) -> QColor:
        """Colour of a compared scenario, 0 for the one that is set; they come again after the last."""
        return self.series[index % len(self.series)]

    def state(self, state: str) -> QColor:
        """Colour of "good", "warn" or "bad"; ink for anything else."""
        return {"good": self.good, "warn": self.warn, "bad": self.bad}.get(state, self.ink)

    def state_soft(self, state: str) -> QColor:
        """Soft ground that goes with ``state``."""
        return {"good": self.good_soft, "warn": self.warn_soft, "bad": self.bad_soft}.get(state, self.sunken)

    def px(self, length: float) -> int:
        """A length of the grid, in pixels at the person's text size."""
        return round(length * self.scale)

    def font(self, role: Role) -> QFont:
        """The font of a role: a copy each time, so that who changes it changes nobody else's."""
        found = self._fonts.get(role)
        if found is None:
            found = self._fonts[role] = _font(role, self.scale)
        return QFont(found)

    def palette(self) -> QPalette:
        """Every role that Fusion reads."""
        p = QPalette()
        r = QPalette.ColorRole
        for role, colour in (
            (r.Window, self.side),
            (r.WindowText, self.ink),
            (r.Base, self.field),
            (r.AlternateBase, self.side),
            (r.Text, self.ink),
            (r.PlaceholderText, self.ink3),
            (r.Button, self.raised),
            (r.ButtonText, self.ink),
            (r.BrightText, self.bad),
            (r.Highlight, self.accent),
            (r.HighlightedText, self.on_accent),
            (r.Accent, self.accent),
            (r.Link, self.accent_text),
            (r.LinkVisited, self.accent_text),
            (r.ToolTipBase, self.raised),
            (r.ToolTipText, self.ink),
            (r.Light, self.raised),
            (r.Midlight, self.line),
            (r.Mid, self.line2),
            (r.Dark, self.control),
            (r.Shadow, self.line2),
        ):
            p.setColor(role, colour)
        for role in (r.WindowText, r.Text, r.ButtonText):
            p.setColor(QPalette.ColorGroup.Disabled, role, self.off)
        p.setColor(QPalette.ColorGroup.Disabled, r.Base, self.sunken)
        return p


def _font(role: str, scale: float) -> QFont:
    size, _, weight = role.partition("_")
    if role == "fixed":
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    else:
        font = QFont()
        font.setFamilies([*_FAMILIES, *_system_families, *_CJK])
        font.setFeature(QFont.Tag("tnum"), 1)
        font.setFeature(QFont.Tag("calt"), 0)  # or "0x10" would read as a product
    # Qt counts 72 points to the logical inch on macOS and 96 elsewhere.
    font.setPointSizeF(_SIZES[size] * scale * (1.0 if sys.platform == "darwin" else 0.75))
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    if role == "title20":
        weight = "semibold"
    font.setWeight(
        {"medium": QFont.Weight.Medium, "semibold": QFont.Weight.DemiBold}.get(weight, QFont.Weight.Normal)
    )
    font.setItalic(role == "italic")
    return font


@cache
def load_fonts() -> None:
    """Make the program's own font known to Qt; once per process."""
    for face in ("Regular", "Italic", "Medium", "SemiBold"):
        QFontDatabase.addApplicationFontFromData(resources.read_bytes(f"fonts/Inter-{face}.otf"))


class Manager(QObject):
    """Holds the theme in use and follows the system when asked to."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.current = Theme("light")
        self.wanted = "light"
        self._prepared = False
        self._least_scale = 1.0
        self.system_dark = False

    def prepare(self, app: QApplication) -> None:
        """Load the fonts and listen to the system; once per process."""
        if self._prepared:
            return
        self._prepared = True
        app.setStyle("Fusion")
        _system_families.append(app.font().family())
        # Body text is never below 0.85 of the system's own.
        self._least_scale = 0.85 * QFontInfo(app.font()).pixelSize() / _SIZES["body"]
        self.system_dark = app.palette().color(QPalette.ColorRole.Window).lightnessF() < 0.5
        load_fonts()
        app.styleHints().colorSchemeChanged.connect(self._system_changed)

    def _system_changed(self) -> None:
        app = QApplication.instance()
        if self.wanted == "system" and isinstance(app, QApplication):
            self.use(app, "system", self.current.scale)

    def use(self, app: QApplication, name: str, scale: float, *, dressed: bool = True) -> None:
        """Switch to a theme: "light", "dark", "contrast" or "system"; without the sheet, see ``dress``."""
        self.prepare(app)
        self.wanted = name
        resolved: ThemeName = name if name in NAMES else system_theme()
        new = Theme(resolved, max(scale, self._least_scale))
        self.current = new
        app.setPalette(new.palette())
        app.setFont(new.font("body"))
        if dressed:
            self.dress(app)
        self.changed.emit()

    def dress(self, app: QApplication) -> None:
        """Set the style sheet.

        While there is one, every widget that finds its parent is styled anew with all that it holds: a
        window made before it takes two thirds of the time.
        """
        app.setStyleSheet(style_sheet(self.current))


manager = Manager()


def theme() -> Theme:
    """The theme in use."""
    return manager.current


def series_dash(index: int) -> tuple[float, ...]:
    """Dash pattern of a compared scenario, pixels; empty for a solid line."""
    return SERIES_DASHES[index % len(SERIES_DASHES)]


def font(role: Role) -> QFont:
    """The font of a role in the theme in use."""
    return manager.current.font(role)


def system_theme() -> ThemeName:
    """What the system asks for; the lightness of its palette where it does not say."""
    hints = QGuiApplication.styleHints()
    if hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast:
        return "contrast"
    scheme = hints.colorScheme()
    if scheme == Qt.ColorScheme.Unknown:
        return "dark" if manager.system_dark else "light"
    return "dark" if scheme == Qt.ColorScheme.Dark else "light"


def apply(app: QApplication, name: str = "system", scale: float = 1.0, *, dressed: bool = True) -> Theme:
    """Set style, palette, fonts and the one style sheet.  ``scale`` is the text size, 1.0 to 2.5.

    Not ``dressed``: the sheet is left to ``manager.dress``.
    """
    manager.use(app, name, min(2.5, max(0.85, scale)), dressed=dressed)
    return manager.current
