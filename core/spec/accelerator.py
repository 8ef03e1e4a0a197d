"""A device as its data sheet describes it.  Units stand in the names."""

from typing import Literal

from pydantic import Field

from core.spec.base import Spec, declared

GIB = 2**30


class PeakTflops(Spec):
    """Dense peak rates, 10¹² operations per second; None: the hardware lacks the format."""

    fp32: float | None = Field(None, gt=0)
    tf32: float | None = Field(None, gt=0)
    fp16: float | None = Field(None, gt=0)  # FP32 accumulation
    fp16_fp16acc: float | None = Field(None, gt=0)
    bf16: float | None = Field(None, gt=0)
    fp8: float | None = Field(None, gt=0)
    int8: float | None = Field(None, gt=0)
    int4: float | None = Field(None, gt=0)
    fp4: float | None = Field(None, gt=0)


class HostLink(Spec):
    """The way to host memory, one direction."""

    gen: int | None = None
    lanes: int | None = None
    gbps_per_direction: float | None = Field(None, gt=0)


class ScaleUp(Spec):
    """The fast link between devices of one node, one direction of one device."""

    kind: str = "none"
    gbps_per_direction: float | None = Field(None, gt=0)
    max_devices: int = Field(1, ge=1)


class Accelerator(Spec):
    """One device.  ``sources`` and ``confidence`` are per figure."""

    name: str = Field(min_length=1, max_length=200)
    vendor: str = ""
    aliases: tuple[str, ...] = ()
    architecture: str = ""
    compute_capability: str | None = None
    year: int | None = None
    form_factor: str = ""
    kind: Literal["gpu", "apu", "npu", "cpu", "tpu"] = "gpu"
    memory_gb_nominal: float = declared(unit="GB", step=1, ge=0.1, le=100_000)
    memory_mib_reported: int | None = declared(None, unit="MiB", kind="count", ge=1, le=10**9)
    # Total memory as a program sees it; None: from the list of known devices or the size reported.
    memory_gib_driver: float | None = declared(None, unit="GiB", ge=0.1, le=100_000)
    memory_type: str = ""
    memory_bandwidth_gbps: float = declared(unit="GB/s", step=10, ge=0.1, le=10**7)
    unified_memory: bool = False
    peak_tflops: PeakTflops
    l2_cache_mb: float | None = None
    sm_count: int | None = None
    boost_mhz: float | None = None
    tdp_w: float | None = None
    pcie: HostLink = HostLink()
    scale_up: ScaleUp = ScaleUp()
    price_usd: float | None = None
    cloud_usd_per_hour: float | None = None
    sources: dict[str, str] = Field(default_factory=dict)
    confidence: dict[str, str] = Field(default_factory=dict)
    notes: str = ""

    def __hash__(self) -> int:
        return hash((self.name, self.memory_gb_nominal, self.memory_bandwidth_gbps))
