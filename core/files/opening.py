"""Whatever a person opens, drops or names on the command line, recognised by its content."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.calibrations import look_also_in
from core.catalog.models import load_model
from core.errors import InferometerError, NotFound, Problem, UnreadableFile
from core.files import scenario_file
from core.model.parameters import weight_bytes
from core.spec.accelerator import Accelerator
from core.spec.change import with_values
from core.spec.checks import check
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.workload import Workload

# The readers of foreign files are not needed to start on a scenario: imported where they are used.
if TYPE_CHECKING:
    from core.importers.recognise import Imported


class Opened(NamedTuple):
    """A scenario and what there is to say about how it came to be."""

    scenario: Scenario
    notes: tuple[Problem, ...]

    @property
    def imported(self) -> bool:
        """True: the file is of a foreign kind, and saving must not write over it."""
        return bool(self.notes)


def open_document(path: Path, base: Scenario | None = None) -> Opened:
    """Open a scenario file, or anything that ``core.importers.recognise`` knows, or a model by its name.

    A model, a command or a computer's devices change ``base``; without one they are put on
    default hardware, and a note says which.
    Raises UnreadableFile, InvalidScenario and NotFound, each naming the field and the reason.
    """
    found = opened(_recognised(path), base)
    if found.scenario.engine.calibration:
        look_also_in(path.parent)
    return found


def _recognised(path: Path) -> Imported:
    """What lies at a path; where nothing does, the model whose name it is."""
    from core.importers.recognise import recognise

    try:
        return recognise(path)
    except UnreadableFile as error:
        if error.problems[0].code != "file.not_found" or not _may_be_name(path):
            raise
        try:
            return recognise(path.as_posix())
        except InferometerError:
            raise error from None


def _may_be_name(path: Path) -> bool:
    """Whether a path could be a model's name: "qwen3:8b", "Qwen/Qwen3-32B", and no place that is there."""
    parts = path.parts
    return (
        not path.is_absolute()
        and len(parts) <= 2
        and path.suffix.lower() not in _FILE_ENDINGS
        and not (len(parts) == 2 and (parts[0] in (".", "..", "~") or Path(parts[0]).exists()))
    )


def paste_document(text: str, base: Scenario | None = None) -> Opened:
    """The same for a pasted text: a file's contents, a command, a model's name, a tool's output."""
    from core.importers.recognise import recognise

    return opened(recognise(text), base)


def opened(found: Imported, base: Scenario | None = None) -> Opened:
    """A scenario from what was recognised.  Errors as ``open_document``."""
    if found.kind == "document":
        if scenario_file.is_scenario(found.tree):
            return Opened(scenario_file.from_tree(found.tree), ())
        from core.importers.teaching_config import read_teaching_config

        return Opened(*read_teaching_config(found.tree, _lender))
    from core.importers.recognise import apply_import

    scenario, notes = apply_import(found, base or default_scenario(found))
    values = {"model": scenario.model.name, "gpu": scenario.accelerator.name}
    said = Problem(f"importer.opened_{found.kind}", (), values, "note")
    if base is not None:
        return Opened(scenario, (said, *notes))
    scenario = _with_room(scenario)
    hardware = {"gpu": scenario.accelerator.name, "devices": str(scenario.deployment.accelerators)}
    assumed = Problem("importer.default_hardware", ("accelerator",), hardware, "note")
    return Opened(scenario, (said, *notes) if found.kind == "hardware" else (said, *notes, assumed))


_SERVER, _DESKTOP, _MAC = "H100 SXM5 80GB", "RTX 4090", "M3 Max"
_FILE_ENDINGS = (".json", ".jsonl", ".inferometer", ".gguf", ".safetensors", ".txt", ".log", ".csv")
_USUAL_MODEL = "Llama-3.1-8B"
_COUNTS = (1, 2, 4, 8, 16, 32, 64)


def default_scenario(found: Imported) -> Scenario:
    """What an import without a scenario changes: GGUF files on a desktop's card, MLX's on a Mac, the rest on
    a server's."""
    model = found.model.model if found.model is not None else load_model(_USUAL_MODEL)
    weights = found.model.weight_format if found.model is not None else ""
    started = found.command.engine if found.command is not None else ""
    apple = weights.startswith("mlx") or started == "mlx"
    local = apple or weights.startswith("gguf") or started in ("llamacpp", "ollama")
    engine = Engine(name="mlx" if apple else "llamacpp", version="") if local else Engine()
    engine = engine.model_copy(update={"max_model_len": min(engine.max_model_len, model.max_context)})
    base = Scenario(
        model=model,
        accelerator=load_accelerator(_MAC if apple else _DESKTOP if local else _SERVER),
        precision=Precision(kv_cache="fp16" if local else "bf16"),
        engine=engine,
        workload=Workload(users=1) if local else Workload(),
    )
    return base if found.model is None or apple else _with_devices(base, found.model.weight_format)


def _with_devices(base: Scenario, weight_format: str) -> Scenario:
    """The smallest group of devices that holds the weights with a fifth to spare."""
    weights = WEIGHT_FORMATS.get(weight_format, WEIGHT_FORMATS["bf16"])
    needed = 1.25 * weight_bytes(base.model.architecture, weights)
    split = "pipeline_parallel" if base.engine.name == "llamacpp" else "tensor_parallel"
    for count in _COUNTS:
        place = Deployment.model_validate({"accelerators": count, split: count})
        scenario = base.model_copy(update={"deployment": place})
        refused = any(p.severity == "error" and "deployment" in "".join(p.paths) for p in check(scenario))
        if not refused and needed <= count * base.accelerator.memory_gb_nominal * 1e9:
            return scenario
    return base


def _with_room(scenario: Scenario) -> Scenario:
    """The default load cut to what the imported engine admits of one request."""
    room, work = scenario.engine.longest_request, scenario.workload
    if work.tokens_per_request <= room or room < 2:
        return scenario
    output = min(work.output_tokens, max(1, room // 8))
    changes = {"workload.output_tokens": output, "workload.prompt_tokens": room - output}
    return with_values(scenario, {**changes, "workload.shared_prefix_tokens": 0})


def _lender(name: str, bandwidth_gbps: float, memory_gb: float) -> tuple[Accelerator, bool]:
    """The device of this name, or else the GPU nearest in bandwidth and memory, and whether it was named."""
    if name.strip():
        try:
            return load_accelerator(name), True
        except NotFound:
            pass

    def distance(device: Accelerator) -> float:
        bandwidth = math.log(device.memory_bandwidth_gbps / bandwidth_gbps)
        return bandwidth**2 + math.log(device.memory_gb_nominal / memory_gb) ** 2

    return min((d for d in all_accelerators() if d.kind == "gpu"), key=distance), False
