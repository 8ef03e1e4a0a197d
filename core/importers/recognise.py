"""Whatever a person drops, pastes or opens, recognised by its content: one entry for all importers.

A model, a computer's devices or a command changes a scenario; a scenario or teaching file is handed
back as its JSON tree, for ``core.files`` to read.
"""

import itertools
import json
import re
from codecs import BOM_UTF8
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from core import strict_json
from core.catalog.models import load_model
from core.errors import InvalidScenario, NotFound, Problem, UnreadableFile
from core.importers.compose import looks_like_compose, read_compose
from core.importers.engine_command import Command, apply_command, looks_like_command, parse_command
from core.importers.gguf import is_gguf, read_gguf
from core.importers.gguf_model import model_from_gguf
from core.importers.imported_model import ImportedModel
from core.importers.limits import is_file, is_folder, opened, read_bounded, told_of
from core.importers.local_hardware import (
    LocalHardware,
    hardware_of,
    parse_nvidia_smi,
    parse_rocm_smi,
    parse_system_profiler,
)
from core.importers.model_names import resolve
from core.importers.safetensors import SUFFIX
from core.importers.safetensors_model import CONFIG, model_from_files, model_from_tree
from core.importers.shape_name import named_by_shape
from core.importers.teaching_config import is_teaching_config
from core.spec.change import with_values
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.strict_json import shortened
from core.words import Phrase

Kind = Literal["document", "model", "hardware", "command"]
MAX_NAME = 300
MAX_DOCUMENT_BYTES = 6 * 2**20  # of a scenario, a configuration, a pasted text
MAX_LISTED = 10_000  # entries of a folder that are looked at
_CONFIG_KEYS = frozenset(
    {"model_type", "architectures", "hidden_size", "text_config", "num_hidden_layers", "n_layer"}
)
_SCENARIO = "inferometer-scenario"


@dataclass(frozen=True, slots=True)
class Imported:
    """What was found; the field of its kind is set.  ``notes`` list every assumption."""

    kind: Kind
    notes: tuple[Problem, ...] = ()
    model: ImportedModel | None = None
    hardware: LocalHardware | None = None
    command: Command | None = None
    tree: Any = None  # of a document


def recognise(source: Path | str) -> Imported:
    """What a file or folder (a ``Path``) or a pasted text (a ``str``) is.

    Raises UnreadableFile, InvalidScenario and NotFound, each saying what is missing and what to do;
    ``file.unknown_kind`` and ``importer.text_unknown`` for what nothing here reads.
    """
    return _file(source) if isinstance(source, Path) else _text(source)


def _file(path: Path) -> Imported:
    if is_folder(path):
        inside = _gguf_in(path)
        if inside is None:
            return _model(model_from_files(path))
        with told_of(inside):
            return _file(inside)
    with opened(path) as file:
        head = file.read(8)
    if is_gguf(head):
        stem = re.sub(r"-\d{5}-of-\d{5}$", "", path.stem)
        return _model(model_from_gguf(read_gguf(path), shortened(stem)))
    _refuse_kind(path, head)
    if path.name.lower().endswith(SUFFIX) or path.name.endswith(".index.json"):
        return _model(model_from_files(path))
    data = read_bounded(path, MAX_DOCUMENT_BYTES)
    found = _written(data)
    if found is not None:
        return found
    if path.suffix.lower() in _TABLES:
        raise UnreadableFile(Problem("file.other_kind", values={"kind": Phrase("file_kinds.table")}))
    tree = strict_json.parse(data)
    if path.name == CONFIG and _is_config(tree):
        return _model(model_from_files(path))
    imported = _tree(tree, path.stem)
    if imported is None:
        raise UnreadableFile(Problem("file.unknown_kind"))
    return imported


# What files of other programs begin with, and what such a file is called.
_SIGNATURES = (
    (b"\x89PNG", "picture"),
    (b"\xff\xd8\xff", "picture"),
    (b"GIF8", "picture"),
    (b"%PDF", "pdf"),
    (b"PK\x03\x04", "archive"),
    (b"\x1f\x8b", "archive"),
    (b"7z\xbc\xaf", "archive"),
    (b"\xd0\xcf\x11\xe0", "office"),
)
_OFFICE = (".xlsx", ".xlsm", ".docx", ".pptx", ".ods", ".odt")
_TABLES = (".csv", ".tsv")


def _refuse_kind(path: Path, head: bytes) -> None:
    """Raise UnreadableFile for a file whose first bytes or ending say that it is of another kind."""
    ending = path.suffix.lower()
    kind = next((kind for start, kind in _SIGNATURES if head.startswith(start)), "")
    if kind == "archive" and ending in _OFFICE:
        kind = "office"
    if kind:
        raise UnreadableFile(Problem("file.other_kind", values={"kind": Phrase(f"file_kinds.{kind}")}))
    if ending == ".gguf":
        raise UnreadableFile(Problem("file.not_gguf"))


def _gguf_in(folder: Path) -> Path | None:
    """The one GGUF model of a folder that has no configuration: a single file, or the first of its parts."""
    if is_file(folder / CONFIG):
        return None
    try:
        listed = itertools.islice(folder.iterdir(), MAX_LISTED)
        found = sorted(
            p for p in listed if p.name.lower().endswith(".gguf") and "mmproj" not in p.name.lower()
        )
    except OSError:
        return None
    models = {re.sub(r"-\d{5}-of-\d{5}\.gguf$", "", p.name, flags=re.IGNORECASE) for p in found}
    return found[0] if len(models) == 1 else None


def _text(text: str) -> Imported:
    if len(text) > MAX_DOCUMENT_BYTES:
        raise UnreadableFile(Problem("file.too_large", values={"limit": MAX_DOCUMENT_BYTES // 2**20}))
    stripped = text.strip()
    if stripped[:1] in ("{", "["):
        imported = _tree(strict_json.parse(stripped.encode(errors="surrogatepass")), "")
        if imported is not None:
            return imported
        raise UnreadableFile(Problem("importer.text_unknown"))
    found = _written(stripped.encode(errors="replace"))
    if found is not None:
        return found
    if not stripped or len(stripped) > MAX_NAME or "\n" in stripped:
        raise UnreadableFile(Problem("importer.text_unknown"))
    return _model(named_model(stripped))


def named_model(name: str) -> ImportedModel:
    """The catalogue's model of a name, in the format that the name states.  Raises NotFound."""
    found = resolve(name)
    model = load_model(found.model_id)
    return ImportedModel(model, found.weight_format or model.published_weight_format, found.notes)


def _model(found: ImportedModel) -> Imported:
    return Imported("model", found.notes, model=found)


def _written(data: bytes) -> Imported | None:
    """A command, or what a driver's tool prints; None for anything else."""
    if len(data) > 200_000 or data.removeprefix(BOM_UTF8).lstrip()[:1] in (b"{", b"["):
        return None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    if looks_like_compose(text):
        started, note = read_compose(text)
        return Imported("command", (note,), command=started)
    if looks_like_command(text):
        return Imported("command", command=parse_command(text))
    if re.search(r"memory\.total", text) or re.match(
        r"\s*(?:NVIDIA|Tesla|Quadro|GeForce)\b[^\n]*,\s*\d+", text
    ):
        devices = parse_nvidia_smi(text)
        if devices:
            return _hardware(hardware_of(devices))
    return None


def _hardware(found: LocalHardware) -> Imported:
    return Imported("hardware", found.notes, hardware=found)


def _is_config(tree: Any) -> bool:
    return isinstance(tree, dict) and bool(_CONFIG_KEYS & tree.keys())


def _tree(tree: Any, name: str) -> Imported | None:
    if not isinstance(tree, dict):
        return None
    if tree.get("format") == _SCENARIO or is_teaching_config(tree):
        return Imported("document", tree=tree)
    if _is_config(tree):
        stated = _stated_name(tree) or shortened(name)
        found = model_from_tree(tree, stated or "model")
        return _model(found if stated else named_by_shape(found, tree))
    if "SPHardwareDataType" in tree:
        devices, memory = parse_system_profiler(json.dumps(tree))
        return _hardware(hardware_of(devices, memory_bytes=memory))
    if any(key.startswith("card") for key in tree):
        devices = parse_rocm_smi(json.dumps(tree))
        return _hardware(hardware_of(devices)) if devices else None
    return None


def _stated_name(tree: dict[str, Any]) -> str:
    stated = tree.get("_name_or_path")
    return shortened(stated.rstrip("/").rpartition("/")[2]) if isinstance(stated, str) else ""


def apply_import(found: Imported, base: Scenario) -> tuple[Scenario, tuple[Problem, ...]]:
    """``base`` with what was found in place of its own; the rest stays.

    Raises InvalidScenario for what cannot be, and with ``importer.no_device`` for hardware that the
    catalogue does not have.
    """
    if found.command is not None:
        scenario, notes = apply_command(found.command, base)
        return scenario, (*found.notes, *notes)
    if found.model is not None:
        scenario = _with_model(found.model, base)
        return scenario, (*found.notes, *_shortened(scenario, base))
    if found.hardware is not None:
        scenario = _with_hardware(found.hardware, base)
        return scenario, (*found.notes, *_left_out(found.hardware, scenario))
    raise InvalidScenario(Problem("file.unknown_kind"))


def _with_model(found: ImportedModel, base: Scenario) -> Scenario:
    known = found.weight_format in WEIGHT_FORMATS
    changes: dict[str, Any] = {"precision.weights": found.weight_format if known else "bf16"}
    longest = base.engine.separate_slots * found.model.max_context
    if base.engine.max_model_len > longest:
        changes["engine.max_model_len"] = longest
    work = base.workload
    limited = base.engine.model_copy(update={"max_model_len": min(base.engine.max_model_len, longest)})
    room = min(limited.longest_request, found.model.max_context)
    if work.tokens_per_request > room >= 2:
        output = min(work.output_tokens, max(1, room // 8))
        changes["workload.output_tokens"] = output
        changes["workload.prompt_tokens"] = room - output
        changes["workload.shared_prefix_tokens"] = min(work.shared_prefix_tokens, room - output - 1)
    return with_values(base.model_copy(update={"model": found.model, "name": ""}), changes)


def _shortened(taken: Scenario, base: Scenario) -> tuple[Problem, ...]:
    """A word on a maximum length that the model does not reach."""
    now, before = taken.engine.max_model_len, base.engine.max_model_len
    if now >= before:
        return ()
    values: dict[str, object] = {"now": now, "before": before, "model": taken.model.name}
    return (Problem("importer.length_cut", ("engine.max_model_len",), values, "note"),)


def _left_out(found: LocalHardware, taken: Scenario) -> tuple[Problem, ...]:
    """A word on devices of other kinds."""
    names = {one.accelerator.name for one in found.devices if one.accelerator is not None}
    others = ", ".join(sorted(names - {taken.accelerator.name}))
    return (
        (Problem("importer.devices_left_out", ("accelerator",), {"names": others}, "note"),) if others else ()
    )


def _with_hardware(found: LocalHardware, base: Scenario) -> Scenario:
    known = [one for one in found.devices if one.accelerator is not None]
    if not known:
        raise NotFound(Problem("importer.no_device", ("accelerator",)))
    # Of different devices the kind with most memory in all: one scenario has one kind.
    best = max(known, key=lambda one: one.device.count * one.accelerator.memory_gb_nominal)  # type: ignore[union-attr]
    changes = {"deployment.accelerators": best.device.count, "deployment.tensor_parallel": 1}
    if base.deployment.tensor_parallel <= best.device.count:
        rest = best.device.count % base.deployment.tensor_parallel
        changes["deployment.tensor_parallel"] = 1 if rest else base.deployment.tensor_parallel
    changes["deployment.pipeline_parallel"] = 1
    return with_values(base.model_copy(update={"accelerator": best.accelerator}), changes)
