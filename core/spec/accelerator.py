"""A device as its data sheet describes it.  Units stand in the names."""

from typing import Literal

from pydantic import Field

from core.spec.base import Line, Remark, Spec, Word, declared

GIB = 2**30
# Far from zero and from infinity: rates are divided by and multiplied.
_RATE = Field(None, ge=1e-3, le=1e7)
_MOST_FACTS = 64


class PeakTflops(Spec):
    """Dense peak rates, 10¹² operations per second; None: the hardware lacks the format."""

    fp32: float | None = _RATE
    tf32: float | None = _RATE
    fp16: float | None = _RATE  # FP32 accumulation
    fp16_fp16acc: float | None = _RATE
    bf16: float | None = _RATE
    fp8: float | None = _RATE
    int8: float | None = _RATE
    int4: float | None = _RATE
    fp4: float | None = _RATE


class HostLink(Spec):
    """The way to host memory, one direction."""

    gen: int | None = Field(None, ge=1, le=100)
    lanes: int | None = Field(None, ge=1, le=1024)
    gbps_per_direction: float | None = _RATE


class ScaleUp(Spec):
    """The fast link between devices of one node, one direction of one device."""

    kind: Word = "none"
    gbps_per_direction: float | None = _RATE
    max_devices: int = Field(1, ge=1, le=10**6)


class Accelerator(Spec):
    """One device.  ``sources`` and ``confidence`` are per figure."""

    name: Line = Field(min_length=1, max_length=200)
    vendor: Word = ""
    aliases: tuple[Line, ...] = Field((), max_length=64)
    architecture: Word = ""
    compute_capability: Word | None = None
    year: int | None = Field(None, ge=1970, le=2200)
    form_factor: Word = ""
    kind: Literal["gpu", "apu", "npu", "cpu", "tpu"] = "gpu"
    memory_gb_nominal: float = declared(unit="GB", step=1, ge=0.1, le=100_000)
    memory_mib_reported: int | None = declared(None, unit="MiB", kind="count", ge=1, le=10**9)
    # Total memory as a program sees it; None: from the list of known devices or the size reported.
    memory_gib_driver: float | None = declared(None, unit="GiB", ge=0.1, le=100_000)
    memory_type: Word = ""
    memory_bandwidth_gbps: float = declared(unit="GB/s", step=10, ge=0.1, le=10**7)
    unified_memory: bool = False
    peak_tflops: PeakTflops
    l2_cache_mb: float | None = Field(None, ge=0, le=10**6)
    sm_count: int | None = Field(None, ge=1, le=10**6)
    boost_mhz: float | None = Field(None, ge=1, le=10**6)
    tdp_w: float | None = declared(None, unit="W", step=10, ge=0, le=10**6)
    pcie: HostLink = Field(default_factory=HostLink)
    scale_up: ScaleUp = Field(default_factory=ScaleUp)
    price_usd: float | None = declared(None, unit="USD", step=100, ge=0, le=10**9)
    cloud_usd_per_hour: float | None = declared(None, unit="USD", step=0.1, ge=0, le=10**9)
    sources: dict[Word, Remark] = Field(default_factory=dict, max_length=_MOST_FACTS)
    confidence: dict[Word, Remark] = Field(default_factory=dict, max_length=_MOST_FACTS)
    notes: Remark = ""

    def __hash__(self) -> int:
        return hash((self.name, self.memory_gb_nominal, self.memory_bandwidth_gbps))
