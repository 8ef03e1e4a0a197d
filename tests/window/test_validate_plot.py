"""The plot of Validate with few runs: ticks to read by, a band with edges, a name on both axes."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from core.words import Words
from gui.plots.decades import decades
from gui.plots.measured_scales import KINDS
from gui.work.boards import WITHIN
from tests.window.test_validate import settle, shown

__all__ = ["shown"]
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("value", [0.0093, 0.022, 0.999, 41.0, 7300.0])
@pytest.mark.parametrize("factor", [1.0, 1e3])
def test_one_run_alone_has_ticks_and_a_band_that_does_not_fill_the_plot(value: float, factor: float) -> None:
    scale = decades(np.array([value, 1.05 * value]), factor)
    assert len(scale.ticks) >= 3
    assert scale.low < math.log10(value) < math.log10(1.05 * value) < scale.high
    band = math.log10((1 + WITHIN) / (1 - WITHIN))
    assert band < 0.4 * (scale.high - scale.low)


def test_wide_values_are_scaled_as_ever() -> None:
    scale = decades(np.array([0.01, 10.0]), 1.0)
    assert scale.low == pytest.approx(-2.18) and scale.high == pytest.approx(1.18)


def test_both_axes_of_every_picture_have_a_name(shown, qtbot) -> None:
    plot = shown.pages.plot
    for kind in KINDS:
        plot.set_kind(kind)
        settle(shown, qtbot)
        assert plot.height_name() in ("predicted, ms", "error")
        assert not plot.grab().isNull()
        if kind != "measured":
            assert min(plot._x.ticks) >= 1
    for language in ("en", "zh_CN"):
        said = json.dumps(
            [Words(language)(f"validating.plot.{key}", unit="ms") for key in ("y_measured", "y_error")]
        )
        assert "validating" not in said


def test_the_workspace_is_loaded_without_readers_and_fit() -> None:
    """They are for later: opening pays for none of it."""
    late = "evidence.readers.detect evidence.calibrate reports.as_csv"
    code = (
        "import sys, gui.workspaces.validate; "
        f"print([n for n in '{late}'.split() if f'core.{{n}}' in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.stdout.strip() == "[]", done.stderr
