"""The greys of parts of a step and of a request: ink on canvas, told apart by hatch, gap and words."""

from dataclasses import dataclass

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter

from gui.theme import Theme, mix
from gui.widgets import paint


@dataclass(frozen=True, slots=True)
class Shade:
    """Share of the curve's colour in the canvas; hatched or plain."""

    share: float
    hatched: bool = False


_DEFAULT = Shade(0.30)
FAINT = Shade(0.07)  # a ground that ties two parts together
OPERATORS: dict[str, Shade] = {
    "mlp": Shade(0.86),
    "weights": Shade(0.86),
    "experts": Shade(0.86),
    "projections": Shade(0.60),
    "attention_prefill": Shade(0.38),
    "attention_decode": Shade(0.38),
    "recurrent": Shade(0.38, True),
    "shared_experts": Shade(0.48),
    "router": Shade(0.24),
    "head": Shade(0.50),
    "elementwise": Shade(0.22),
    "sampler": Shade(0.12),
    "all_reduce": Shade(0.60, True),
    "overhead": Shade(0.22, True),
}
SPANS: dict[str, Shade] = {
    "server": Shade(0.22),
    "queue": Shade(0.22, True),
    "other_prompts": Shade(0.60, True),
    "own_prompt": Shade(0.86),
    "transfer": Shade(0.38, True),
    "decode": Shade(0.38),
}


def shade_of(key: str) -> Shade:
    """The shade of an operator."""
    return OPERATORS.get(key, _DEFAULT)


def fill(painter: QPainter, box: QRectF, shade: Shade, t: Theme, muted: bool = False) -> None:
    """Fill a box; muted: of a scenario that is not the one set, or out of date."""
    colour = shade_colour(shade, t, muted)
    if shade.hatched:
        paint.hatch(painter, box, mix(colour, t.canvas, 0.16), colour, 5.0)
    else:
        painter.fillRect(box, colour)


def shade_colour(shade: Shade, t: Theme, muted: bool = False) -> QColor:
    """The plain colour of a shade, or of its lines."""
    return mix(t.curve, t.canvas, 0.55 * shade.share if muted else shade.share)


def text_on(shade: Shade, t: Theme, muted: bool = False) -> QColor:
    """The colour of words on a shade: ink or canvas, whichever stands out more."""
    if shade.hatched:
        return t.ink  # on a plate of canvas
    ground = _light(shade_colour(shade, t, muted)) + 0.05
    by_ink, by_canvas = ((_light(c) + 0.05) / ground for c in (t.ink, t.canvas))
    return t.ink if max(by_ink, 1 / by_ink) > max(by_canvas, 1 / by_canvas) else t.canvas


def _light(colour: QColor) -> float:
    """Relative luminance, near enough to compare."""
    red, green, blue = (c**2.2 for c in (colour.redF(), colour.greenF(), colour.blueF()))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


__all__ = ["FAINT", "OPERATORS", "SPANS", "Shade", "fill", "shade_colour", "shade_of", "text_on"]
