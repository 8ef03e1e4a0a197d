"""Names of curves in a report's pictures stand under no line."""

import re

import pytest

from core.estimator import estimate
from core.files import scenario_file
from core.planning.sweep import workload_curves
from core.reports.plots import _memory
from core.reports.svg import ACCENT, Chart, Curve, draw
from core.spec.change import with_values
from core.words import Words

_UPRIGHT = re.compile(rf'<line x1="([\d.]+)" y1="[\d.]+" x2="\1" y2="[\d.]+" stroke="{ACCENT}"')
_NAME = re.compile(
    r'<text x="([\d.]+)" y="[\d.]+" text-anchor="end" fill="(#\w+)"[^>]* font-weight="600">([^<]+)'
)


def crossed(svg: str) -> list[str]:
    """Names of curves that the line of the operating point runs through."""
    at = float(_UPRIGHT.search(svg)[1])
    names = [(float(right), said) for right, colour, said in _NAME.findall(svg) if colour != ACCENT]
    assert len(names) >= 3
    return [said for right, said in names if right - 7.5 * len(said) - 1 < at < right + 1]


@pytest.mark.parametrize("users", [1, 5, 8, 10, 14, 15, 16, 17, 18, 20, 40])
def test_memory_over_users_keeps_its_lengths_readable(samples, users):
    point = estimate(with_values(scenario_file.load(samples[1]), {"workload.users": users}))
    curves = workload_curves(point.scenario, point)
    assert crossed(_memory(point, curves, Words("en")).svg) == []


@pytest.mark.parametrize("at", [2.0, 6.0, 9.0, 9.6, 10.0])
def test_a_name_at_the_line_of_the_operating_point_stands_beside_it(at):
    curves = [
        Curve(name, (0.0, 10.0), (0.0, end)) for name, end in (("4.5K", 5.0), ("16K", 9.0), ("2K", 2.0))
    ]
    assert crossed(draw(Chart("t", "users", "GiB", curves, here=(at, 4.0, "16")))) == []
