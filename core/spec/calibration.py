"""Factors fitted to somebody's own measurements, as a profile that scenarios use by name."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from core.spec.base import Line, Spec, Word

# Efficiencies divide times, overheads multiply them.
FactorName = Literal["bandwidth", "compute", "link", "step", "layer", "server"]
FACTORS: tuple[FactorName, ...] = get_args(FactorName)
EFFICIENCIES: frozenset[FactorName] = frozenset({"bandwidth", "compute", "link"})
_FACTOR = Field(1.0, ge=0.05, le=20.0)
_Share = Annotated[float, Field(gt=0.0, le=100.0)]


class CalibrationSource(Spec):
    """A run that was fitted to."""

    tool: Line = ""
    file: Line = ""
    line: int = Field(0, ge=0)
    model: Line = ""
    label: Line = ""
    started_at: Word = ""


class CalibrationErrors(Spec):
    """Absolute median errors over the figures of the runs, each figure predicted from the others."""

    figures: int = Field(0, ge=0)
    runs: int = Field(0, ge=0)
    before: float = Field(0.0, ge=0.0)
    after: float = Field(0.0, ge=0.0)


class SetupFactors(Spec):
    """What is left over for one set-up, beside the factors of all: how much longer than predicted it takes.

    ``time`` multiplies the steps, ``server`` the server's own time; ``compute`` is an efficiency.
    """

    model: Line = ""
    weights: Word = ""
    kv_cache: Word = ""
    version: Word = ""  # of the engine
    tensor_parallel: int = Field(1, ge=1, le=4096)
    pipeline_parallel: int = Field(1, ge=1, le=4096)
    expert_parallel: int = Field(1, ge=1, le=4096)
    attention_data_parallel: int = Field(1, ge=1, le=4096)
    time: float = _FACTOR
    server: float = _FACTOR
    compute: float = _FACTOR
    figures: int = Field(0, ge=0)

    @property
    def key(self) -> tuple[str | int, ...]:
        """What a scenario must share."""
        return (
            *(self.model, self.weights, self.kv_cache, self.version, self.tensor_parallel),
            *(self.pipeline_parallel, self.expert_parallel, self.attention_data_parallel),
        )


class Calibration(Spec):
    """Multipliers of what an efficiency profile says, for one engine on the devices it was fitted on.

    ``bandwidth``, ``compute``, ``link``: reached shares of the rates; ``step``, ``layer``, ``server``: times
    of a step, of the launches in a layer, and of the server before the first token.  ``reserve_gib`` is
    memory of a device that is gone beside what the engine's rules say.
    """

    name: Word = Field(min_length=1)
    engine: Word = ""  # key of the engine; "": any
    accelerators: tuple[Line, ...] = Field((), max_length=64)  # names; empty: any
    bandwidth: float = _FACTOR
    compute: float = _FACTOR
    link: float = _FACTOR
    step: float = _FACTOR
    layer: float = _FACTOR
    server: float = _FACTOR
    setups: tuple[SetupFactors, ...] = Field((), max_length=10_000)
    reserve_gib: float = Field(0.0, ge=-100.0, le=1000.0)
    # p10 and p90 of measured / predicted that are left; None: those of the profile.
    step_band: tuple[_Share, _Share] | None = None
    first_token_band: tuple[_Share, _Share] | None = None
    errors: CalibrationErrors = Field(default_factory=CalibrationErrors)
    source: tuple[CalibrationSource, ...] = Field((), max_length=10_000)
    notes: str = Field("", max_length=10_000)

    def applies_to(self, engine: str, accelerator: str) -> bool:
        """Whether it was fitted for this engine on this device."""
        return self.engine in ("", engine) and (not self.accelerators or accelerator in self.accelerators)

    @property
    def reserve_bytes(self) -> int:
        """``reserve_gib`` in bytes."""
        return round(self.reserve_gib * 2**30)
