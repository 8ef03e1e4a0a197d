"""The lines of memory over users as handles: one that is dragged sets the length of a request.

The prompt follows the line, the answer stays as long as it is.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF

from core.planning.curves import LengthLine, WorkloadCurves
from core.results import Estimate
from core.spec.scenario import Scenario
from core.units import memory_size, show_tokens
from gui.plots.grips import REACH, Grip, length_pitch, round_length
from gui.plots.scales import at

if TYPE_CHECKING:
    from gui.plots.memory_over_users import MemoryOverUsers

PATH = "workload.prompt_tokens"
_LEAST_USERS = 0.5  # nearer to the axis every length takes the same memory


def length_grip(pane: "MemoryOverUsers", curves: WorkloadCurves, estimate: Estimate) -> Grip:
    """All lines of the picture as one handle."""
    panel, scenario = pane.panel, estimate.scenario
    size = memory_size()
    base = sum(count for _, count in curves.fixed) / size
    own = float(curves.memory.tokens)
    xs, ys = curves.memory_users, curves.memory.bytes / size
    low, high = prompt_limits(scenario)
    answer = scenario.workload.output_tokens
    drawn: tuple[LengthLine, ...] = (curves.memory, *curves.other_lengths)

    def near(point: QPointF) -> bool:
        users, level = panel.value_at(point.x()), panel.level_at(point.y())
        if users < _LEAST_USERS or not base < level <= panel.y_end:
            return False
        return any(_distance(pane, curves, line, point) <= REACH for line in drawn)

    def value_at(point: QPointF) -> float:
        # Memory beside the fixed lines grows with the length: the own line is moved up to the pointer.
        users = min(max(panel.value_at(point.x()), _LEAST_USERS), panel.x.end)
        mine = at(users, xs, ys) - base
        level = min(max(panel.level_at(point.y()), base), panel.y_end) - base
        if not mine > 0:
            return math.nan
        return kept(round_length(own * level / mine))

    def kept(tokens: float) -> float:
        return min(max(tokens - answer, low), high)

    def step(prompt: float, by: int) -> float:
        tokens = prompt + answer
        return kept(round_length(tokens + by * length_pitch(tokens if by > 0 else tokens - 1)))

    name = pane.words("plots.grips.length", length=show_tokens(own))
    end = min(panel.x.end, curves.memory.full_at)
    mark = QPointF(panel.px(end / 2), panel.py(min(at(end / 2, xs, ys), panel.y_end)))
    prompt = float(scenario.workload.prompt_tokens)
    return Grip(PATH, prompt, False, near, value_at, step, name, mark)


def prompt_limits(scenario: Scenario) -> tuple[float, float]:
    """The shortest and the longest prompt that the scenario may have."""
    work = scenario.workload
    low = work.shared_prefix_tokens + 1.0
    if scenario.engine.name == "textbook":
        return low, 1e9
    return low, max(low, float(scenario.engine.longest_request - work.output_tokens))


def _distance(pane: "MemoryOverUsers", curves: WorkloadCurves, line: LengthLine, point: QPointF) -> float:
    """Pixels from a place to a line, along the shorter of both directions; inf beyond its end."""
    panel = pane.panel
    fits = pane.estimate is None or pane.estimate.ledger.fits
    users = panel.value_at(point.x())
    if fits and users > line.full_at + abs(panel.value_at(point.x() + REACH) - users):
        return math.inf
    ys = line.bytes / memory_size()
    beside = abs(panel.py(at(users, curves.memory_users, ys)) - point.y())
    rising = np.maximum.accumulate(ys)
    across = abs(panel.px(at(panel.level_at(point.y()), rising, curves.memory_users)) - point.x())
    return min(beside, across)
