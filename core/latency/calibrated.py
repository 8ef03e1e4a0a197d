"""What a calibration does to the figures of a profile."""

from functools import lru_cache

from core.catalog.calibrations import applying
from core.latency.efficiency import Overheads, Profile
from core.latency.machine import Identity
from core.spec.calibration import FACTORS, Calibration, SetupFactors
from core.spec.scenario import Scenario

UNCALIBRATED = Calibration(name="-")
_LEAST, _MOST = 0.05, 20.0  # of a factor


def in_use(scenario: Scenario) -> Calibration | None:
    """The calibration that a scenario names and that applies to it, its set-up's own factors in it."""
    found = applying(scenario) if scenario.engine.calibration else None
    return None if found is None else for_setup(found, scenario)


def setup_of(scenario: Scenario) -> SetupFactors:
    """The set-up of a scenario, with no factors."""
    place, precision = scenario.deployment, scenario.precision
    return SetupFactors(
        model=scenario.model.name,
        weights=precision.weights,
        kv_cache=precision.kv_cache,
        version=scenario.engine.version,
        tensor_parallel=place.tensor_parallel,
        pipeline_parallel=place.pipeline_parallel,
        expert_parallel=place.expert_parallel,
        attention_data_parallel=place.attention_data_parallel,
    )


def for_setup(calibration: Calibration, scenario: Scenario) -> Calibration:
    """The calibration with the factors of the scenario's own set-up multiplied in."""
    if not calibration.setups:
        return calibration
    return _for_setup(Identity(calibration), setup_of(scenario).key)


@lru_cache(maxsize=1024)
def _for_setup(calibration: Identity[Calibration], key: tuple[str | int, ...]) -> Calibration:
    whole = calibration.it
    mine = next((setup for setup in whole.setups if setup.key == key), None)
    if mine is None:
        return whole
    factors: dict[str, float] = {name: float(getattr(whole, name)) for name in FACTORS}
    for name in ("bandwidth", "compute", "link"):
        factors[name] /= mine.time
    for name in ("step", "layer"):
        factors[name] *= mine.time
    factors["server"] *= mine.server
    factors["compute"] *= mine.compute
    bounded = {name: min(max(value, _LEAST), _MOST) for name, value in factors.items()}
    return whole.model_copy(update=bounded)


def with_overheads(over: Overheads, fitted: Calibration) -> Overheads:
    """The overheads with the calibration's factors of step, layer and server in them."""
    if fitted is UNCALIBRATED:
        return over
    return over.model_copy(
        update={
            "step_us": over.step_us * fitted.step,
            "sequence_us": over.sequence_us * fitted.step,
            "stream_us": over.stream_us * fitted.step,
            "ungraphed_step_us": over.ungraphed_step_us * fitted.step,
            "ungraphed_layer_us": over.ungraphed_layer_us * fitted.layer,
            "alone_ms": {kind: ms * fitted.server for kind, ms in over.alone_ms.items()},
            "together_ms": {kind: ms * fitted.server for kind, ms in over.together_ms.items()},
            "waiting_request_ms": {kind: ms * fitted.server for kind, ms in over.waiting_request_ms.items()},
        }
    )


def with_bands(profile: Profile, fitted: Calibration) -> Profile:
    """The profile with the bands that a calibration leaves; its own where the calibration has none."""
    bands = {}
    if fitted.step_band is not None:
        bands["step"] = dict.fromkeys(profile.band.step, fitted.step_band)
    if fitted.first_token_band is not None:
        bands["first_token"] = dict.fromkeys(profile.band.first_token, fitted.first_token_band)
    return profile.model_copy(update={"band": profile.band.model_copy(update=bands)}) if bands else profile
