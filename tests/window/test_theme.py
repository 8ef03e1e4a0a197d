"""Colours, contrast and type, against the formulas of WCAG 2.2 and the house's own limits."""

import re
from itertools import product
from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QFontInfo, QFontMetricsF
from PySide6.QtWidgets import QApplication

from core.memory.ledger import LINE_ORDER
from gui import icons, theme

SURFACES = ("canvas", "side", "raised", "field")


def luminance(colour: QColor) -> float:
    """Relative luminance, https://www.w3.org/TR/WCAG22/#dfn-relative-luminance."""
    channels = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (colour.redF(), colour.greenF(), colour.blueF())
    ]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def contrast(a: QColor, b: QColor) -> float:
    """Contrast ratio, https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio."""
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.fixture(params=theme.NAMES)
def look(request: pytest.FixtureRequest, qapp: QApplication) -> theme.Theme:
    return theme.Theme(request.param)


def test_text_has_the_contrast_of_level_aa_on_every_surface(look: theme.Theme) -> None:
    for ink, surface in product(("ink", "ink2", "ink3", "good", "warn", "bad", "accent_text"), SURFACES):
        assert contrast(getattr(look, ink), getattr(look, surface)) >= 4.5, (ink, surface)


def test_states_are_legible_on_their_soft_grounds(look: theme.Theme) -> None:
    for state in ("good", "warn", "bad"):
        assert contrast(look.state(state), look.state_soft(state)) >= 4.5, state


def test_edges_and_fills_have_the_contrast_of_graphics(look: theme.Theme) -> None:
    for surface in ("side", "field", "canvas"):
        assert contrast(look.control, getattr(look, surface)) >= 3.0
    for key in LINE_ORDER:
        if key not in ("kv_cache_spare", "outside"):
            assert contrast(look.ledger[key], look.canvas) >= 3.0, key
    assert contrast(look.ledger["kv_cache"], look.ledger["kv_cache_spare"]) >= 3.0
    for colour in look.series:
        assert contrast(colour, look.canvas) >= 3.0


def test_labels_stay_legible_on_tinted_areas(look: theme.Theme) -> None:
    for key in ("weights", "kv_cache"):
        assert contrast(look.ink2, look.ledger_tint[key]) >= 4.5


def test_switching_is_announced_and_sets_the_palette(qapp: QApplication) -> None:
    heard = []
    theme.manager.changed.connect(lambda: heard.append(theme.theme().name))
    for name in ("dark", "light"):
        theme.apply(qapp, name)
        assert qapp.palette().window().color() == theme.theme().side
    assert heard == ["dark", "light"]


def test_following_a_system_that_does_not_say_gives_its_lightness(qapp: QApplication) -> None:
    theme.apply(qapp, "dark")  # our own dark palette must not be taken for the system's
    assert theme.apply(qapp, "system").name == "light"
    theme.apply(qapp, "light")


def test_three_sizes_of_one_family_with_figures_of_one_width(qapp: QApplication) -> None:
    theme.apply(qapp, "light")
    for role, pixels in (("caption", 11), ("body", 13), ("title20", 20)):
        made = theme.font(role)
        assert QFontInfo(made).family() == "Inter"
        assert QFontInfo(made).pixelSize() == pixels
        metrics = QFontMetricsF(made)
        widths = [metrics.horizontalAdvance(digit * 8) for digit in "0123456789"]
        assert max(widths) - min(widths) < 0.5


def test_a_larger_text_size_scales_fonts_and_grid(qapp: QApplication) -> None:
    large = theme.apply(qapp, "light", 2.0)
    assert QFontInfo(large.font("body")).pixelSize() == 26
    assert large.px(28) == 56
    theme.apply(qapp, "light")


def test_every_icon_paints_and_takes_the_colour_given(qapp: QApplication, root: Path) -> None:
    red = QColor(200, 0, 0)
    for file in sorted((root / "resources" / "icons").glob("*.svg")):
        picture = icons.pixmap(file.stem, red, 16, 2.0).toImage()
        seen = {
            picture.pixelColor(x, y).rgb() & 0xFFFFFF
            for x, y in product(range(32), range(32))
            if picture.pixelColor(x, y).alpha() == 255
        }
        assert seen == {red.rgb() & 0xFFFFFF}, file.stem


def test_colours_stand_in_the_theme_only(root: Path) -> None:
    literal = re.compile(r"[\"']#[0-9A-Fa-f]{3,8}[\"']|QColor\(\s*[\d\"']|GlobalColor\.(?!transparent)")
    for file in (root / "gui").rglob("*.py"):
        if file.name != "theme.py":
            found = literal.findall(file.read_text(encoding="utf-8"))
            assert not found, f"{file.name}: {found}"
