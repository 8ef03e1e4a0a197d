"""Contrast and colour vision, read from the pixels of the window and not from the tables of the theme.

Sources: WCAG 2.2 (contrast), CIE 142-2001 (CIEDE2000, checked against Sharma's data), Machado, Oliveira and
Fernandes 2009 (colour vision, full strength).
"""

import math
import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray
from PySide6.QtCore import QPoint, QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QImage, QPainter
from PySide6.QtWidgets import QApplication, QScrollArea, QWidget
from pytestqt.qtbot import QtBot

from core.spec.change import with_values
from gui import theme as themes
from gui.frame.window import MainWindow

SHARP = 2  # pixels of the picture for one of the screen: strokes are wide enough to show their colour
TEXT, GRAPHICS = 4.5, 3.0
# Measured over all pairs of fills by the designers of the palette; the smallest allowed here.
NORMAL, IMPAIRED = 19.0, 9.5
VISION = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
Rgb = tuple[int, int, int]
Pixels = NDArray[np.uint8]


# -- colours ---------------------------------------------------------------------------------------


def linear(colour: Rgb) -> list[float]:
    """Linear light of an sRGB colour."""
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour)]


def luminance(colour: Rgb) -> float:
    """Relative luminance."""
    return float(np.dot(linear(colour), (0.2126, 0.7152, 0.0722)))


def contrast(a: Rgb, b: Rgb) -> float:
    """Contrast ratio."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def lab(light: list[float]) -> tuple[float, float, float]:
    """CIELAB (D65) of linear light."""
    matrix = (
        (0.4124564, 0.3575761, 0.1804375),
        (0.2126729, 0.7151522, 0.0721750),
        (0.0193339, 0.1191920, 0.9503041),
    )
    xyz = [
        float(np.dot(row, np.clip(light, 0, 1))) / white
        for row, white in zip(matrix, (0.95047, 1.0, 1.08883), strict=True)
    ]
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def difference(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """CIEDE2000 of two colours in CIELAB."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25.0**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = 0.0 if c1 * c2 == 0 else (h2 - h1 + 180) % 360 - 180
    dl, dc, dh = l2 - l1, c2 - c1, 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2))
    light, chroma = (l1 + l2) / 2, (c1 + c2) / 2
    hue = h1 + h2 if c1 * c2 == 0 else (h1 + turn / 2) % 360
    t = (
        1
        - 0.17 * math.cos(math.radians(hue - 30))
        + 0.24 * math.cos(math.radians(2 * hue))
        + 0.32 * math.cos(math.radians(3 * hue + 6))
        - 0.20 * math.cos(math.radians(4 * hue - 63))
    )
    sl = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    sc, sh = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    rotation = -2 * math.sqrt(chroma**7 / (chroma**7 + 25.0**7))
    rotation *= math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    return math.sqrt((dl / sl) ** 2 + (dc / sc) ** 2 + (dh / sh) ** 2 + rotation * dc / sc * dh / sh)


def seen(colour: Rgb, vision: str) -> tuple[float, float, float]:
    """CIELAB of a colour as a kind of eye sees it."""
    light = linear(colour)
    return lab([float(np.dot(row, light)) for row in VISION[vision]] if vision in VISION else light)


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (50.0, 0.0, -2.5), 4.3065),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_measure_of_difference_is_the_published_one(
    one: tuple[float, float, float], other: tuple[float, float, float], wanted: float
) -> None:
    """Pairs of Sharma, Wu and Dalal 2005, table 1."""
    assert difference(one, other) == pytest.approx(wanted, abs=1e-4)


# -- pictures --------------------------------------------------------------------------------------


def pixels(widget: QWidget) -> Pixels:
    """The picture of a widget, ``SHARP`` times as fine as the screen: (rows, columns, 3)."""
    image = QImage(widget.size() * SHARP, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SHARP)
    painter = QPainter(image)
    widget.render(painter, QPoint())
    painter.end()
    data = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)
    return data[:, :, 2::-1].copy()


class Texts:
    """Every text that is painted while a widget is: what it says and where, in pixels of the picture."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.found: list[tuple[str, QRectF]] = []
        drawn = QPainter.drawText

        def spy(painter: QPainter, *given: object) -> object:
            text = next((one for one in given if isinstance(one, str)), "")
            place = given[0]
            metrics = QFontMetricsF(painter.font())
            if isinstance(place, QPointF):
                box = QRectF(
                    place.x(),
                    place.y() - metrics.capHeight(),
                    metrics.horizontalAdvance(text),
                    metrics.capHeight(),
                )
            elif isinstance(place, QRectF):
                box = place
            else:
                return drawn(painter, *given)
            self.found.append((text, painter.deviceTransform().mapRect(box)))
            return drawn(painter, *given)

        monkeypatch.setattr(QPainter, "drawText", spy)


def readable(picture: Pixels, box: QRectF) -> float:
    """Contrast of the strokes within a box to the ground under them."""
    rows = slice(max(0, math.floor(box.top())), math.ceil(box.bottom()))
    columns = slice(max(0, math.floor(box.left())), math.ceil(box.right()))
    part = picture[rows, columns].reshape(-1, 3)
    if not len(part):
        return math.inf
    counted = Counter(map(tuple, part.tolist()))
    ground: Rgb = counted.most_common(1)[0][0]  # type: ignore[assignment]
    return max(contrast(ground, colour) for colour in counted)  # type: ignore[arg-type]


@pytest.fixture(params=("light", "dark", "contrast"))
def complete(request: pytest.FixtureRequest, qtbot: QtBot, window: MainWindow) -> Iterator[MainWindow]:
    app = QApplication.instance()
    assert isinstance(app, QApplication)
    window.resize(1440, 900)
    with qtbot.waitSignal(window.plots_shown, timeout=30_000):
        window.show()
    themes.apply(app, request.param)
    window.pinned.pin(with_values(window.document.scenario, {"accelerator.memory_bandwidth_gbps": 500.0}))
    window.pinned.pin(with_values(window.document.scenario, {"workload.prompt_tokens": 3000}))
    QApplication.processEvents()
    yield window
    themes.apply(app, "light")


def in_sight(window: MainWindow, box: QRectF) -> bool:
    """Whether no scroll area has scrolled a box of the picture out of sight."""

    def place(widget: QWidget) -> QRectF:
        at = widget.mapTo(window, QPoint())
        return QRectF(at.x() * SHARP, at.y() * SHARP, widget.width() * SHARP, widget.height() * SHARP)

    areas = [area for area in window.findChildren(QScrollArea) if area.isVisible() and area.widget()]
    return not any(place(a.widget()).contains(box) and not place(a.viewport()).contains(box) for a in areas)


@pytest.mark.parametrize("tab", ["overview", "roofline", "step", "request"])
def test_every_text_that_is_painted_can_be_read(
    complete: MainWindow, monkeypatch: pytest.MonkeyPatch, tab: str
) -> None:
    complete.workspace.tabs.show_tab(tab)  # type: ignore[arg-type]
    QApplication.processEvents()
    texts = Texts(monkeypatch)
    picture = pixels(complete)
    told = [(text, box) for text, box in texts.found if re.search(r"\w\w", text) and box.width() > 8]
    assert len(told) > 40
    frame = QRectF(0, 0, picture.shape[1], picture.shape[0])
    faint = {
        text: round(ratio, 2)
        for text, box in told
        if frame.contains(box) and in_sight(complete, box) and (ratio := readable(picture, box)) < TEXT
    }
    assert faint == {}


def test_parts_of_the_ledger_are_told_apart_by_every_eye(complete: MainWindow) -> None:
    """The fills of bar and account as they are painted, whichever of them lie side by side."""
    picture = pixels(complete.workspace.ledger)
    t = themes.theme()
    ground: Rgb = (t.canvas.red(), t.canvas.green(), t.canvas.blue())
    counted = Counter(map(tuple, picture.reshape(-1, 3).tolist()))
    own = {(c.red(), c.green(), c.blue()) for key, c in t.ledger.items() if key != "kv_cache_spare"}
    fills = [colour for colour in own if counted[colour] > 200 and colour != ground]
    assert len(fills) == 5  # weights, cache, activations, graphs, runtime
    for index, one in enumerate(fills):
        assert contrast(one, ground) >= GRAPHICS
        for other in fills[:index]:
            assert difference(seen(one, ""), seen(other, "")) >= NORMAL, (one, other)
            for vision in VISION:
                assert difference(seen(one, vision), seen(other, vision)) >= IMPAIRED, (one, other, vision)


@pytest.mark.parametrize("tab", ["overview", "roofline", "step", "request"])
def test_ghosts_differ_by_dashes_and_letters_and_stand_out(complete: MainWindow, tab: str) -> None:
    """Each pinned scenario has pixels of its own colour, 3 : 1 to the ground; dashes leave gaps."""
    complete.workspace.tabs.show_tab(tab)  # type: ignore[arg-type]
    QApplication.processEvents()
    t = themes.theme()
    picture = pixels(complete.workspace.tabs)
    ground = (t.canvas.red(), t.canvas.green(), t.canvas.blue())
    flat = picture.reshape(-1, 3)
    for index in (1, 2):
        colour: QColor = t.series_colour(index)
        rgb = (colour.red(), colour.green(), colour.blue())
        assert int((flat == np.array(rgb, np.uint8)).all(axis=1).sum()) > 60, index
        assert contrast(rgb, ground) >= GRAPHICS
    assert themes.series_dash(1) != themes.series_dash(2) and themes.series_dash(1)
    for vision in ("", *VISION):
        one, other = (
            seen((c.red(), c.green(), c.blue()), vision) for c in (t.series_colour(1), t.series_colour(2))
        )
        assert difference(one, other) >= IMPAIRED
