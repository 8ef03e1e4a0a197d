"""The devices of a computer, from what its own tools print.

The parsers are pure and bounded; ``read_local_hardware`` asks the tools that are there, each with a
time limit, and a tool that is absent or fails is no error.
"""

import contextlib
import csv
import json
import math
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.catalog.accelerators import load_accelerator, search_accelerators
from core.catalog.search import tokens
from core.errors import NotFound, Problem
from core.spec.accelerator import Accelerator
from core.strict_json import shortened

MAX_OUTPUT = 2 * 2**20
MAX_DEVICES = 256
SECONDS = 5.0
_MEMORY_TOLERANCE = 0.08  # between a driver's figure and the catalogue's
_MIB = 2**20
_SMI = ("nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
_ROCM = ("rocm-smi", "--showproductname", "--showmeminfo", "vram", "--json")
_PROFILER = ("system_profiler", "-json", "SPHardwareDataType", "SPDisplaysDataType")


@dataclass(frozen=True, slots=True)
class Device:
    """A device as its driver names it; ``memory_mib`` 0: not said."""

    name: str
    memory_mib: int
    count: int = 1


@dataclass(frozen=True, slots=True)
class FoundDevice:
    """Devices of one kind and the catalogue's entry for them, with the memory that the driver reports."""

    device: Device
    accelerator: Accelerator | None


@dataclass(frozen=True, slots=True)
class LocalHardware:
    """What a computer has.  ``memory_bytes`` of the host, 0 where unknown."""

    devices: tuple[FoundDevice, ...] = ()
    processor: str = ""
    memory_bytes: int = 0
    notes: tuple[Problem, ...] = ()


def parse_nvidia_smi(text: str) -> list[Device]:
    """Devices in the CSV of ``--query-gpu=name,memory.total`` in any of its forms, alike ones together."""
    name_at, memory_at = 0, 1
    devices: list[Device] = []
    try:
        rows = list(csv.reader(text[:MAX_OUTPUT].replace("\0", "").splitlines(), skipinitialspace=True))
    except csv.Error:
        return []
    for row in rows[: MAX_DEVICES + 1]:
        cells = [cell.strip() for cell in row]
        heads = [re.sub(r"\s*\[.*", "", cell.lower()) for cell in cells]
        if "name" in heads:
            name_at = heads.index("name")
            memory_at = heads.index("memory.total") if "memory.total" in heads else -1
            continue
        if len(cells) <= max(name_at, memory_at) or not cells[name_at]:
            continue
        memory = re.match(r"(\d{1,9})", cells[memory_at]) if memory_at >= 0 else None
        devices.append(Device(shortened(cells[name_at]), int(memory[1]) if memory else 0))
    return _together(devices)


def parse_rocm_smi(text: str) -> list[Device]:
    """Devices in the JSON of ``--showproductname --showmeminfo vram``, alike ones together."""
    tree = _json(text)
    devices: list[Device] = []
    for card, entry in tree.items() if isinstance(tree, dict) else ():
        if not card.startswith("card") or not isinstance(entry, dict):
            continue
        fields = {key.lower(): value for key, value in entry.items() if isinstance(value, str)}
        names = (fields.get(key, "") for key in ("card series", "device name", "card model", "market_name"))
        name = next((n for n in names if n and not n.lower().startswith("0x") and n != "N/A"), "")
        stated = fields.get("vram total memory (b)", "")
        memory = int(stated) // _MIB if stated.isdecimal() and len(stated) < 16 else 0
        if name:
            devices.append(Device(shortened(name), memory))
    return _together(devices[:MAX_DEVICES])


def parse_system_profiler(text: str) -> tuple[list[Device], int]:
    """The Apple chip with its unified memory, and that memory in bytes."""
    tree = _json(text)
    if not isinstance(tree, dict):
        return [], 0
    hardware, displays = _first(tree, "SPHardwareDataType"), _first(tree, "SPDisplaysDataType")
    chip = hardware.get("chip_type")
    stated = hardware.get("physical_memory")
    size = re.match(r"(\d{1,6})\s*([GT])B", stated) if isinstance(stated, str) else None
    memory = int(size[1]) * (2**30 if size[2] == "G" else 2**40) if size else 0
    if not isinstance(chip, str) or not chip.startswith("Apple"):
        return [], memory
    cores = displays.get("sppci_cores")
    name = f"{chip} ({cores}-core GPU)" if isinstance(cores, str) and cores.isdecimal() else chip
    return [Device(shortened(name), memory // _MIB)], memory


def parse_cpuinfo(text: str) -> str:
    """The processor's name in ``/proc/cpuinfo``."""
    match = re.search(r"^(?:model name|Model|Hardware)\s*:\s*(.{1,200})$", text[:MAX_OUTPUT], re.MULTILINE)
    return shortened(match[1].strip()) if match else ""


def parse_meminfo(text: str) -> int:
    """The host's memory in ``/proc/meminfo``, bytes; 0 where it is not said."""
    match = re.search(r"^MemTotal:\s*(\d{1,15}) kB$", text[:MAX_OUTPUT], re.MULTILINE)
    return int(match[1]) * 1024 if match else 0


def match_device(device: Device) -> Accelerator | None:
    """The catalogue's entry for a driver's name and memory, with the memory as reported; None without one."""
    candidates: list[Accelerator] = []
    with contextlib.suppress(NotFound):
        candidates.append(load_accelerator(device.name))
    exact = candidates[:1]
    plain = re.sub(r"\b(?:NVIDIA|AMD|Tesla|OAM|HBM\d\w?|\d+\s?GB)\b|[()]", " ", device.name)
    plain = re.sub(r"[-_]", " ", plain)
    candidates += search_accelerators(plain, 8) if plain.strip() else []
    if not device.memory_mib:
        return candidates[0] if candidates else None
    near = [d for d in candidates if _apart(d, device) <= _MEMORY_TOLERANCE]
    if near:
        best = min(near, key=lambda d: _apart(d, device))
        first = near[0]
        best = first if _apart(first, device) - _apart(best, device) < 0.01 else best
        return best if best.unified_memory else _with_memory(best, device.memory_mib)
    # A card with another amount of memory, as refitted ones have, or a share of a chip's.
    said = {word for word in tokens(plain) if any(c.isdigit() for c in word)}
    alike = exact or [
        d for d in candidates if said and said <= {w for n in (d.name, *d.aliases) for w in tokens(n)}
    ]
    return _with_memory(alike[0], device.memory_mib) if alike else None


def _apart(accelerator: Accelerator, device: Device) -> float:
    reported = accelerator.memory_mib_reported or accelerator.memory_gb_nominal * 1024
    return abs(math.log(reported / device.memory_mib))


def _with_memory(accelerator: Accelerator, memory_mib: int) -> Accelerator:
    if accelerator.memory_mib_reported == memory_mib:
        return accelerator
    same = abs(math.log(accelerator.memory_gb_nominal * 1024 / memory_mib)) <= _MEMORY_TOLERANCE
    nominal = accelerator.memory_gb_nominal if same else float(max(1, round(memory_mib / 1024)))
    update = {"memory_mib_reported": memory_mib, "memory_gb_nominal": nominal}
    return accelerator.model_copy(update=update)


def _together(devices: Sequence[Device]) -> list[Device]:
    counted: dict[Device, int] = {}
    for device in devices:
        counted[device] = counted.get(device, 0) + 1
    return [replace(device, count=n) for device, n in counted.items()]


def _json(text: str) -> Any:
    try:
        return json.loads(text[:MAX_OUTPUT])
    except (ValueError, RecursionError):
        return None


def _first(tree: dict[str, Any], name: str) -> dict[str, Any]:
    entries = tree.get(name)
    first = entries[0] if isinstance(entries, list) and entries else None
    return first if isinstance(first, dict) else {}


def hardware_of(devices: Sequence[Device], processor: str = "", memory_bytes: int = 0) -> LocalHardware:
    """Devices matched with the catalogue; one that it does not have is a note."""
    found = tuple(FoundDevice(device, match_device(device)) for device in devices)
    notes = tuple(
        Problem("importer.device_unknown", ("accelerator",), {"name": one.device.name}, "warning")
        for one in found
        if one.accelerator is None
    )
    return LocalHardware(found, processor, memory_bytes, notes)


def read_local_hardware(run: Callable[[Sequence[str]], str] | None = None) -> LocalHardware:
    """Ask this computer's tools.  ``run`` returns a tool's output, "" when it has none."""
    ask = run or _output
    devices = parse_nvidia_smi(ask(_SMI)) + parse_rocm_smi(ask(_ROCM))
    processor, memory = "", 0
    if sys.platform == "darwin":
        apple, memory = parse_system_profiler(ask(_PROFILER))
        devices += apple
    elif sys.platform == "linux":
        processor, memory = parse_cpuinfo(_system_file("cpuinfo")), parse_meminfo(_system_file("meminfo"))
    return hardware_of(devices, processor, memory)


def _output(command: Sequence[str]) -> str:
    """What a tool prints, "" when it is absent, fails or takes too long."""
    program = shutil.which(command[0])
    if program is None:
        return ""
    try:
        done = subprocess.run(  # noqa: S603  # a fixed list of words, no shell
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return done.stdout[:MAX_OUTPUT].decode("utf-8", "replace")


def _system_file(name: str) -> str:
    try:
        with Path("/proc", name).open("rb") as file:
            return file.read(MAX_OUTPUT).decode("utf-8", "replace")
    except OSError:
        return ""
