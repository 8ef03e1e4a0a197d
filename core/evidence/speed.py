"""Predictions of measured servers and batches by the program's own model."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from core.errors import InferometerError
from core.evidence.served import Case
from core.latency.factors import Factors
from core.latency.machine import Identity
from core.latency.protocol import StepPlan
from core.memory.build import build_ledger
from core.memory.capacity import capacity
from core.model.cache import kv_bytes_per_token_unbounded
from core.model.parameters import weight_bytes
from core.quantities import EXPECTED, FloatArray
from core.serving.load import LoadCurve
from core.serving.static_batch import static_batch
from core.serving.steady_state import closed_loop, open_loop, prepare
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
