"""What a unit of each term of a local engine's step takes, under a profile of measured efficiencies."""

import numpy as np

from core.latency.local_profile import LocalProfile
from core.latency.local_work import Term
from core.model.work import load_work
from core.quantities import FloatArray
from core.spec.accelerator import Accelerator
from core.spec.calibration import Calibration


class Costs:
    """Seconds per unit of a feature under a profile: expected, and at the bound."""

    def __init__(self, profile: LocalProfile, device: Accelerator, fitted: Calibration) -> None:
        self.profile, self.factor = profile, profile.factor(device)
        self._rates = {"compute": fitted.compute, "bandwidth": fitted.bandwidth, "link": fitted.link}
        self._launches = {"step": fitted.step, "sequence": fitted.step, "hop": 1.0 / fitted.link}
        self._layer = fitted.layer
        self._least_read = 1.0 / load_work().most_bandwidth

    def of(self, term: Term) -> tuple[float, float]:
        """Seconds of one unit of a term's work."""
        if term.microseconds:
            return self._launch(term.microseconds), 0.0
        slower = term.penalty * (self.factor.prefill if term.bound == "compute" else self.factor.decode)
        slower /= self._rates.get(term.bound, 1.0)
        for name in term.fractions:
            slower /= self.profile.fractions[name]
        least = 1.0 if term.bound == "compute" else self._least_read
        return max(least, slower) / term.rate, 1.0 / term.rate

    def microseconds(self, name: str) -> FloatArray:
        """A launch cost in seconds, (2, 1); nothing at the bound."""
        return np.array([[self._launch(name)], [0.0]])

    def _launch(self, name: str) -> float:
        each = self.factor.decode * self._launches.get(name, self._layer)
        return 1e-6 * each * self.profile.microseconds.get(name, 0.0)
