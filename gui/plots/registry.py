"""The plots by tab, in their order.  A new plot is one file and one line here."""

from gui.plots.base import PlotPane
from gui.plots.latency_over_users import LatencyOverUsers
from gui.plots.memory_over_users import MemoryOverUsers
from gui.plots.request_timeline import RequestTimeline
from gui.plots.roofline import Roofline
from gui.plots.step_time import StepTime
from gui.plots.throughput_latency import ThroughputLatency

OVERVIEW: tuple[type[PlotPane], ...] = (MemoryOverUsers, LatencyOverUsers, ThroughputLatency)
ROOFLINE = Roofline
STEP = StepTime
REQUEST = RequestTimeline
