"""Every device loads, and every figure of it says where it comes from."""

import pytest

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.spec.accelerator import Accelerator

DEVICES = all_accelerators()
FIGURES = (
    "memory_gb_nominal",
    "memory_mib_reported",
    "memory_bandwidth_gbps",
    "l2_cache_mb",
    "sm_count",
    "boost_mhz",
    "tdp_w",
    "price_usd",
    "cloud_usd_per_hour",
)


def test_all_devices_are_there() -> None:
    assert len(DEVICES) == len({device.name for device in DEVICES}) == 167


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_every_figure_has_a_source(device: Accelerator) -> None:
    stated = [name for name in FIGURES if getattr(device, name) is not None]
    if any(value is not None for value in device.peak_tflops.model_dump().values()):
        stated.append("peak_tflops")
    if device.pcie.gbps_per_direction is not None:
        stated.append("pcie")
    if device.scale_up.gbps_per_direction is not None:
        stated.append("scale_up")
    assert [name for name in stated if not device.sources.get(name)] == []
    assert device.confidence.get("overall") in {"high", "medium", "low"}


@pytest.mark.parametrize("device", DEVICES, ids=lambda device: device.name)
def test_figures_are_of_the_right_size(device: Accelerator) -> None:
    if device.memory_mib_reported is not None:
        # Drivers report between 85 % (error correction) and 108 % (GiB sold as GB) of the label.
        assert 0.85 < device.memory_mib_reported * 2**20 / (device.memory_gb_nominal * 1e9) < 1.08
    peaks = device.peak_tflops
    if peaks.fp16 is not None and peaks.fp8 is not None:
        assert 1 <= peaks.fp8 / peaks.fp16 <= 8.1
    assert peaks.fp16 or peaks.bf16 or peaks.fp32


def test_published_values() -> None:
    # NVIDIA Ada whitepaper v2.02: RTX 4090, FP16 with FP32 accumulation dense 165.2, 1008 GB/s.
    card = load_accelerator("4090")
    assert card.peak_tflops.fp16 == pytest.approx(165.2, abs=0.1)
    assert card.memory_bandwidth_gbps == pytest.approx(1008, abs=1)
    # NVIDIA H100 data sheet: SXM, BF16 989.4 dense, 3.35 TB/s; NVLink 900 GB/s in both directions.
    card = load_accelerator("h100")
    assert card.peak_tflops.bf16 == pytest.approx(989.4, abs=0.5)
    assert card.memory_bandwidth_gbps == pytest.approx(3350, abs=10)
    assert card.scale_up.gbps_per_direction == 450
