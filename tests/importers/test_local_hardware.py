"""What drivers' tools print, and the catalogue's entry for it."""

import json
from collections.abc import Sequence

import pytest

from core.importers.local_hardware import (
    Device,
    hardware_of,
    match_device,
    parse_cpuinfo,
    parse_meminfo,
    parse_nvidia_smi,
    parse_rocm_smi,
    parse_system_profiler,
    read_local_hardware,
)

# Names and sizes as nvidia-smi prints them, and the entry that they are.
DRIVER_NAMES = [
    ("NVIDIA GeForce RTX 4090", 24564, "RTX 4090"),
    ("NVIDIA A100-SXM4-80GB", 81920, "A100 SXM4 80GB"),
    ("NVIDIA A100-SXM4-40GB", 40960, "A100 SXM4 40GB"),
    ("NVIDIA A100 80GB PCIe", 81920, "A100 PCIe 80GB"),
    ("NVIDIA H100 80GB HBM3", 81559, "H100 SXM5 80GB"),
    ("NVIDIA H100 PCIe", 81559, "H100 PCIe 80GB"),
    ("NVIDIA L40S", 46068, "L40S"),
    ("Tesla V100-SXM2-16GB", 16384, "V100 SXM2 16GB"),
    ("Tesla V100-SXM2-32GB", 32768, "V100 SXM2 32GB"),
    ("Tesla T4", 15360, "T4"),
    ("NVIDIA GeForce RTX 3080", 10240, "RTX 3080 10GB"),
    ("NVIDIA GeForce RTX 3080", 12288, "RTX 3080 12GB"),
    ("NVIDIA GeForce RTX 4060 Ti", 8188, "RTX 4060 Ti 8GB"),
    ("NVIDIA GeForce RTX 4060 Ti", 16380, "RTX 4060 Ti 16GB"),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "RTX 4090 Laptop"),
    ("NVIDIA RTX A6000", 49140, "RTX A6000"),
    ("NVIDIA RTX 6000 Ada Generation", 49140, "RTX 6000 Ada"),
    ("NVIDIA B200", 183359, "B200 SXM"),
]


@pytest.mark.parametrize(
    ("name", "memory", "entry"), DRIVER_NAMES, ids=[f"{n} {m}" for n, m, _ in DRIVER_NAMES]
)
def test_driver_names_find_their_entry(name: str, memory: int, entry: str) -> None:
    found = match_device(Device(name, memory))
    assert found is not None and found.name == entry
    assert found.memory_mib_reported == memory


def test_a_refitted_card_keeps_its_own_memory() -> None:
    found = match_device(Device("NVIDIA GeForce RTX 4090 D", 49140))
    assert found is not None and found.name == "RTX 4090 D"
    assert (found.memory_mib_reported, found.memory_gb_nominal) == (49140, 48)


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA H100 80GB HBM3, 81559\nNVIDIA H100 80GB HBM3, 81559\n",
        "name, memory.total [MiB]\nNVIDIA H100 80GB HBM3, 81559 MiB\nNVIDIA H100 80GB HBM3, 81559 MiB\n",
        "index, name, memory.total [MiB]\r\n0, NVIDIA H100 80GB HBM3, 81559 MiB\r\n1, NVIDIA H100 80GB HBM3, 81559 MiB\r\n",  # noqa: E501
    ],
)
def test_nvidia_smi_in_its_forms(text: str) -> None:
    assert parse_nvidia_smi(text) == [Device("NVIDIA H100 80GB HBM3", 81559, 2)]


def test_nvidia_smi_without_a_figure_or_a_driver() -> None:
    assert parse_nvidia_smi("NVIDIA GB10, [N/A]\n") == [Device("NVIDIA GB10", 0, 1)]
    failed = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
    assert parse_nvidia_smi(failed) == [] == parse_nvidia_smi("")


def test_rocm_smi() -> None:
    card = {
        "Card Series": "AMD Instinct MI300X",
        "Card Model": "0x74a1",
        "VRAM Total Memory (B)": "206141652992",
    }
    text = json.dumps({f"card{n}": card for n in range(8)} | {"system": {"Driver version": "6.8"}})
    (device,) = parse_rocm_smi(text)
    assert device == Device("AMD Instinct MI300X", 196592, 8)
    found = match_device(device)
    assert found is not None and found.name == "Instinct MI300X"
    assert parse_rocm_smi("{}") == parse_rocm_smi("WARNING: no GPU") == []


def test_system_profiler() -> None:
    tree = {
        "SPHardwareDataType": [{"chip_type": "Apple M3 Max", "physical_memory": "64 GB"}],
        "SPDisplaysDataType": [{"sppci_model": "Apple M3 Max", "sppci_cores": "40"}],
    }
    devices, memory = parse_system_profiler(json.dumps(tree))
    assert devices == [Device("Apple M3 Max (40-core GPU)", 65536)] and memory == 64 * 2**30
    found = match_device(devices[0])
    assert found is not None and found.name == "Apple M3 Max (40-core GPU)"
    assert found.memory_gb_nominal == 64
    assert parse_system_profiler("[]") == ([], 0)


def test_proc() -> None:
    assert parse_cpuinfo("processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor\n") == (
        "AMD EPYC 9654 96-Core Processor"
    )
    assert parse_meminfo("MemTotal:       131891872 kB\nMemFree: 1 kB\n") == 131891872 * 1024
    assert parse_cpuinfo("") == "" and parse_meminfo("") == 0


def test_absent_tools_are_no_error() -> None:
    assert read_local_hardware(lambda _: "").devices == ()

    def smi(command: Sequence[str]) -> str:
        return "NVIDIA L4, 23034\nVoodoo 2, 12\n" if command[0] == "nvidia-smi" else ""

    found = read_local_hardware(smi)
    assert [d.accelerator and d.accelerator.name for d in found.devices] == ["L4", None]
    assert [n.code for n in found.notes] == ["importer.device_unknown"]
    read_local_hardware()  # whatever this machine has


def test_an_empty_computer() -> None:
    assert hardware_of([]).devices == ()
