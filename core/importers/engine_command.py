"""Commands that start an engine → a scenario, and back.

Everything the command says is taken over; what the program has no field for is listed.  Nothing is
run and no file is opened.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from core.catalog.models import load_model
from core.errors import NotFound, Problem
from core.importers.command_flags import BARE, FLAGS, OLLAMA_ENVIRONMENT, Flag, NotUnderstood
from core.importers.command_line import Invocation, invocation_of, looks_like_command
from core.importers.model_names import resolve
from core.spec.architecture import Architecture, MixtureOfExperts
from core.spec.change import with_values
from core.spec.deployment import Deployment
from core.spec.engine import Engine
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.speculative import Speculative
from core.strict_json import shortened

__all__ = ["Command", "apply_command", "looks_like_command", "parse_command"]

# The release whose rules are taken where the command does not say one.
VERSIONS = {"vllm": "0.21", "sglang": "0.5.5", "trtllm": "1.0"}
_NUMBER = re.compile(r"-\d+(?:\.\d+)?")
_DRAFTS = (
    ("ngram", "ngram"),
    ("eagle", "eagle"),
    ("medusa", "eagle"),
    ("mtp", "mtp"),
    ("draft", "draft_model"),
)


@dataclass(slots=True)
class Command:
    """What a command says.  ``settings`` by field path, or by bare name where several decide a field.

    ``ignored``: options without a field here; ``unread``: options with one, whose value cannot be.
    """

    engine: str
    model: str = ""
    settings: dict[str, Any] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    version: str = ""
    devices: int | None = None


def parse_command(text: str) -> Command:
    """Take a command apart.

    Raises UnreadableFile: ``importer.command_too_long``, ``command_quote``, ``command_unknown``.
    """
    invocation = invocation_of(text)
    command = Command(invocation.engine, version=invocation.version, devices=invocation.devices)
    _environment(invocation, command)
    _arguments(invocation, command)
    return command


def _environment(invocation: Invocation, command: Command) -> None:
    for name, value in invocation.environment.items():
        flag = OLLAMA_ENVIRONMENT.get(name) if invocation.engine == "ollama" else None
        if flag is not None:
            _take(command, flag, name, value)


def _arguments(invocation: Invocation, command: Command) -> None:
    flags, words = FLAGS[invocation.engine], invocation.arguments
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.startswith("-") or word in ("-", "--") or _NUMBER.fullmatch(word):
            if not command.model and word not in ("-", "--"):
                command.model = word
            else:
                command.ignored.append(shortened(word))
            continue
        name, equals, value = word.partition("=")
        flag = flags.get(name) or (flags.get(name.replace("_", "-")) if name.startswith("--") else None)
        follows = index < len(words) and _is_value(words[index])
        if flag is not None:
            if not equals and flag.arity != "none" and follows and _takes(flag, words[index]):
                value = words[index]
                index += 1
            _take(command, flag, name, value)
            continue
        bare = name in BARE or name.startswith(("--no-", "--enable-", "--disable-"))
        if not equals and follows and not bare:
            word = f"{word} {words[index]}"
            index += 1
        command.ignored.append(shortened(word))


def _is_value(word: str) -> bool:
    return not word.startswith("-") or _NUMBER.fullmatch(word) is not None


def _takes(flag: Flag, word: str) -> bool:
    """Whether the next word is the flag's value: of an optional one only when it can be read."""
    if flag.arity == "value":
        return True
    try:
        flag.read(word)
    except NotUnderstood:
        return False
    return True


def _take(command: Command, flag: Flag, name: str, value: str) -> None:
    try:
        read = flag.read(value)
    except NotUnderstood:
        command.unread.append(shortened(f"{name} {value}".strip()))
        return
    if flag.target == "model":
        command.model = str(read)
    elif read == -1 and flag.target != "gpu_layers":
        return  # the engine's own choice
    else:
        command.settings[flag.target] = read


def apply_command(command: Command, base: Scenario) -> tuple[Scenario, tuple[Problem, ...]]:
    """``base`` with the command's model, engine, formats and deployment; load and targets stay.

    Raises InvalidScenario for values that cannot be; a model nobody knows is a warning, and the
    base's stays.
    """
    notes: list[Problem] = []
    model, weights, kept = base.model, "", True
    if command.model:
        try:
            found = resolve(command.model)
            model, weights, kept = load_model(found.model_id), found.weight_format, False
            notes += found.notes
        except NotFound:
            values = {"name": shortened(command.model), "model": base.model.name}
            notes.append(Problem("importer.command_model", ("model",), values, "warning"))
    else:
        values = {"model": base.model.name}
        notes.append(Problem("importer.command_no_model", ("model",), values, "warning"))
    told = command.settings
    weights = _weights(weights, told, model.published_weight_format, base, kept)
    changes: dict[str, Any] = {
        "engine": Engine.model_validate({"name": command.engine, "version": _version(command)}),
        "deployment": Deployment(link=base.deployment.link),
        "speculative": Speculative(),
        "precision.weights": weights,
        "precision.kv_cache": _cache(told, weights, command.engine),
        **_deployment(command, base, model.architecture),
        **_engine(command, model.max_context, model.architecture.layers),
        **{path: value for path, value in told.items() if "." in path},
        **_speculation(told),
    }
    scenario = with_values(base.model_copy(update={"model": model}), changes)
    # No command says what it runs on: a large model may open on a small card.
    hardware: dict[str, object] = {
        "count": scenario.deployment.accelerators,
        "device": scenario.accelerator.name,
    }
    notes.append(Problem("importer.command_hardware", ("accelerator",), hardware, "note"))
    now, before = scenario.deployment.accelerators, base.deployment.accelerators
    if now < before:
        counts: dict[str, object] = {"now": now, "before": before}
        notes.append(Problem("importer.command_devices", ("deployment.accelerators",), counts, "note"))
    if told.get("cache_v") not in (None, told.get("cache", "fp16")):
        notes.append(Problem("importer.command_cache_v", ("precision.kv_cache",), {}, "warning"))
    if command.unread:
        values = {"options": ", ".join(command.unread[:40])}
        notes.append(Problem("importer.command_value", (), values, "warning"))
    if command.ignored:
        values = {"options": ", ".join(command.ignored[:40])}
        notes.append(Problem("importer.command_ignored", (), values, "note"))
    return scenario, tuple(notes)


def _version(command: Command) -> str:
    if command.version:
        version = command.version[:40]
        return ".".join(version.split(".")[:2]) if command.engine == "vllm" else version
    return VERSIONS.get(command.engine, "")


def _weights(stated: str, told: Mapping[str, Any], published: str, base: Scenario, kept: bool) -> str:
    """The format: of the flag, the name, or the publisher; a plain type only narrows nothing."""
    quantised = told.get("quantization", "")
    if quantised:
        same = stated.partition("_")[0] == quantised.partition("_")[0]
        return stated if same and stated else quantised
    known = stated or (base.precision.weights if kept else published)
    known = known if known in WEIGHT_FORMATS else "bf16"
    plain = told.get("dtype", "")
    return plain if plain and known in ("bf16", "fp16", "fp32") else known


def _cache(told: Mapping[str, Any], weights: str, engine: str) -> str:
    stated = str(told.get("cache", ""))
    if stated:
        return stated if stated in CACHE_FORMATS else "bf16"
    if engine in ("llamacpp", "ollama"):
        return "fp16"
    plain = told.get("dtype") or weights
    return plain if plain in ("fp16", "fp32") else "bf16"


def _deployment(command: Command, base: Scenario, arch: Architecture) -> dict[str, Any]:
    told, layers = command.settings, arch.layers
    tp, pp, dp = (max(1, int(told.get(name, 1))) for name in ("tp", "pp", "dp"))
    experts, copies, replicas = max(1, int(told.get("ep", 1))), 1, dp
    sparse = any(isinstance(kind.channel_mixer, MixtureOfExperts) for kind in arch.kinds)
    if command.engine == "vllm" and (told.get("expert_parallel") or (sparse and dp > 1)):
        # vLLM, "Data Parallel Deployment": attention is copied for each rank; the experts of a mixture are
        # divided over all of them, each cut in parts or, with expert parallelism, spread whole.
        tp, copies, replicas = tp * dp, dp, 1
        experts = tp if told.get("expert_parallel") else 1
    elif told.get("dp_attention"):
        copies, replicas = dp, 1
    if command.engine in ("llamacpp", "ollama"):
        # llama.cpp takes every device that it sees (docs/multi-gpu.md); Ollama one, if the model fits it.
        seen = base.deployment.accelerators if command.engine == "llamacpp" else 1
        devices = command.devices or min(seen, layers)
        split = told.get("split", "layer")
        tp, pp = (devices, 1) if split == "row" else (1, 1 if split == "none" else devices)
    total = min(4096, tp * pp * replicas)
    return {
        "deployment.accelerators": total,
        "deployment.tensor_parallel": tp,
        "deployment.pipeline_parallel": pp,
        "deployment.expert_parallel": experts,
        "deployment.attention_data_parallel": copies,
    }


def _engine(command: Command, longest: int, layers: int) -> dict[str, Any]:
    told, changes = command.settings, dict[str, Any]()
    if command.engine in ("llamacpp", "ollama"):
        slots = max(1, int(told.get("engine.n_parallel", 1)))
        # llama.cpp takes the model's own length for 0 or nothing; its context is of all slots
        # together, Ollama's is of each.
        stated = int(told.get("context", 0) if command.engine == "llamacpp" else told.get("context", 4096))
        length = stated or longest
        changes["engine.max_model_len"] = length * slots if command.engine == "ollama" else length
        if told.get("gpu_layers", -1) >= 0:
            changes["engine.n_gpu_layers"] = told["gpu_layers"]
        if told.get("cpu_moe"):
            changes["engine.n_cpu_moe"] = layers
    elif "engine.max_model_len" not in told:
        changes["engine.max_model_len"] = longest
    if command.engine in ("vllm", "sglang"):
        default = 1 if command.engine == "vllm" else 8
        if told.get("lora") or (command.engine == "sglang" and "max_loras" in told):
            changes["engine.max_loras"] = told.get("max_loras", default)
    return changes


def _speculation(told: Mapping[str, Any]) -> dict[str, Any]:
    stated = told.get("speculation")
    if not isinstance(stated, dict):
        # A chain of so many drafted tokens, unless their number is said.
        steps = told.get("draft_steps", 0)
        return {"speculative.tokens": steps} if steps and "speculative.tokens" not in told else {}
    method = str(stated.get("method") or ("draft" if stated.get("model") else "")).lower()
    changes: dict[str, Any] = {}
    kind = next((kind for part, kind in _DRAFTS if part in method), "")
    if kind:
        changes["speculative.kind"] = kind
    tokens = stated.get("num_speculative_tokens")
    if isinstance(tokens, int) and not isinstance(tokens, bool):
        changes["speculative.tokens"] = tokens
    return changes
