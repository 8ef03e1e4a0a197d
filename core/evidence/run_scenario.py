"""From a measured run to the scenario that describes it.

What the run does not state is that of the open scenario where model, device or engine are the same or
are not stated either, else the engine's default; each such field is told.
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import ValidationError

from core.evidence import naming
from core.evidence.run import Run, Setting
from core.evidence.run_names import device_of, model_of, weights_in_name, weights_of
from core.spec.accelerator import Accelerator
from core.spec.architecture import MixtureOfExperts
from core.spec.checks import check, runs_on
from core.spec.deployment import Deployment
from core.spec.engine import Engine, EngineName, Precision
from core.spec.formats import WEIGHT_FORMATS
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.speculative import DraftKind, Speculative
from core.spec.support import nearest_cache, nearest_weights
from core.spec.workload import Targets, Workload

Origin = Literal["scenario", "default", "model"]
_LONGEST = 10**6  # tokens, where no limit is stated: none that matters
_BY_LAYERS = ("llamacpp", "ollama", "mlx", "transformers")
_SHORT_PROMPT, _SHORT_ANSWER = 1, 128  # tokens, of a test of one kind of step
_MOST_TOKENS = 10**9


@dataclass(frozen=True, slots=True)
class Assumed:
    """A field that the run does not state, and where its value was taken from."""

    path: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Described:
    """The scenario of a run, or the key of the reason why there is none (below ``cli.validate.reasons``)."""

    scenario: Scenario | None
    assumed: tuple[Assumed, ...] = ()
    reason: str = ""
    codes: tuple[str, ...] = ()  # of the problems that a scenario with these settings has


class _Unclear(Exception):
    """The argument is a reason."""


class _Describer:
    """One run against the open scenario."""

    def __init__(self, setting: Setting, base: Scenario | None, folder: Path | None) -> None:
        self.setting, self.base, self.folder = setting, base, folder
        self.assumed: list[Assumed] = []

    def take(self, path: str, stated: Any, default: Any, same: bool = True) -> Any:
        """What is stated, else that of the open scenario (where ``same``), else the default; told."""
        if stated not in (None, ""):
            return stated
        if self.base is not None and same:
            self.assumed.append(Assumed(path, "scenario"))
            part, _, name = path.partition(".")
            return getattr(getattr(self.base, part), name) if name else getattr(self.base, part)
        self.assumed.append(Assumed(path, "default"))
        return default

    def engine_name(self) -> EngineName:
        """The engine's key."""
        stated = self.setting.engine
        key = (stated if stated in get_args(EngineName) else naming.engine_of(stated)) if stated else None
        if stated and key is None:
            raise _Unclear("engine")
        name: EngineName = self.take("engine.name", key, "vllm")
        return name

    def model(self) -> Model:
        """The model of the catalogue."""
        found = model_of(self.setting.model, self.folder and self.folder / "models")
        if self.setting.model and found is None:
            own = self.base.model if self.base is not None else None
            if own is None or own.name.lower() not in self.setting.model.lower():
                raise _Unclear("model")
            found = own
        model: Model | None = self.take("model", found, None)
        if model is None:
            raise _Unclear("model_unstated")
        return model

    def device(self, engine: EngineName) -> Accelerator:
        """The device of the catalogue; the open scenario's own where it has the name, or where none is
        named and the engine runs on it.
        """
        name = self.setting.accelerator
        own = self.base.accelerator if self.base is not None else None
        if own is not None and name == own.name:
            return own
        found = device_of(name, self.folder and self.folder / "accelerators") if name else None
        if own is not None and found is not None and found.name == own.name:
            return own  # by its maker's name for it, too
        if name and found is None:
            raise _Unclear("device")
        device: Accelerator | None = self.take("accelerator", found, None, self._lends(engine))
        if device is None:
            raise _Unclear("device_unstated")
        return device

    def _lends(self, engine: EngineName) -> bool:
        base = self.base
        other = base and base.model_copy(update={"engine": base.engine.model_copy(update={"name": engine})})
        return other is not None and runs_on(other)

    def precision(self, engine: EngineName, model: Model) -> Precision:
        """Weight and cache formats."""
        same = self.base is not None and self.base.model.name == model.name
        stated = self.setting.weight_format or weights_in_name(self.setting.model)
        key = weights_of(stated, model, engine) if stated else None
        if stated and key is None and self.setting.weight_format:
            raise _Unclear("weight_format")
        if key is None and not same:
            published = model.published_weight_format
            key = published if published in WEIGHT_FORMATS else "bf16"
            self.assumed.append(Assumed("precision.weights", "model"))
        weights = str(self.take("precision.weights", key, "bf16", same))
        cache = self.setting.kv_cache_format
        known = naming.cache_format_of(cache) if cache else None
        default = "fp16" if engine in _BY_LAYERS else "bf16"
        kept = str(self.take("precision.kv_cache", known, default, same))
        weights = weights if stated else nearest_weights(engine, weights)
        return Precision(weights=weights, kv_cache=nearest_cache(engine, kept, weights))

    def deployment(self, engine: EngineName, model: Model) -> Deployment:
        """Devices and their division."""
        s, base = self.setting, self.base.deployment if self.base is not None else Deployment()
        # A monitor looks at one device after the other and knows nothing of their division.
        alone = s.accelerators == 1 and not s.model and not s.engine and self.base is not None
        unstated = s.accelerators is None or alone
        if unstated and s.tensor_parallel is None and s.pipeline_parallel is None:
            self.take("deployment.accelerators", None, 1)
            return base
        layers = engine in _BY_LAYERS
        total = s.accelerators or (s.tensor_parallel or 1) * (s.pipeline_parallel or 1)
        tp = s.tensor_parallel or (1 if layers else total // (s.pipeline_parallel or 1))
        pp = s.pipeline_parallel or (max(1, total // tp) if layers else 1)
        sparse = any(isinstance(k.channel_mixer, MixtureOfExperts) for k in model.architecture.kinds)
        copies = s.data_parallel or 1
        experts = min(s.expert_parallel or 1, tp) if sparse else 1
        total = max(total, tp * pp * (copies if tp % copies else 1))
        return Deployment(
            accelerators=total // (tp * pp) * tp * pp or tp * pp,
            tensor_parallel=tp,
            pipeline_parallel=pp,
            expert_parallel=experts if tp % experts == 0 else 1,
            link=base.link,
        )

    def engine(self, name: EngineName, model: Model) -> Engine:
        """The engine's settings."""
        s = self.setting
        same = self.base is not None and self.base.engine.name == name
        base = self.base.engine if same and self.base is not None else Engine(name=name, version="new")
        changes: dict[str, Any] = {
            "version": self.take("engine.version", s.engine_version[:60], base.version, same),
            "max_model_len": s.context_limit or max(_LONGEST, model.max_context),
        }
        if name == "vllm":
            changes["gpu_memory_utilization"] = self.take(
                "engine.gpu_memory_utilization", s.utilization, 0.9, same
            )
        elif s.utilization is not None:
            own = {"sglang": "mem_fraction_static", "trtllm": "kv_cache_free_gpu_mem_fraction"}
            changes |= {own[name]: s.utilization} if name in own else {}
        optional = {
            "max_num_seqs": s.sequences,
            "max_num_batched_tokens": s.batched_tokens if name not in _BY_LAYERS else None,
            "block_size": s.block_size,
            "enforce_eager": None if s.graphs is None else not s.graphs,
        }
        if name in ("llamacpp", "ollama") and s.layers_on_device is not None:
            every = s.layers_on_device < 0 or s.layers_on_device > model.architecture.layers
            optional["n_gpu_layers"] = None if every else s.layers_on_device
            changes |= {"n_gpu_layers": None} if every else {}
        changes |= {key: value for key, value in optional.items() if value is not None}
        if same and s.graphs is None and name not in _BY_LAYERS:
            self.assumed.append(Assumed("engine.enforce_eager", "scenario"))
        return base.model_copy(update=changes)

    def workload(self, hits: float | None) -> Workload:
        """Lengths and load; the context that is there already counts as a shared beginning."""
        s = self.setting
        before = s.context_tokens or 0
        alone = s.input_tokens is not None or s.output_tokens is not None
        prompt = self.take("workload.prompt_tokens", s.input_tokens, _SHORT_PROMPT, not alone)
        answer = self.take(
            "workload.output_tokens", s.output_tokens, 1 if s.input_tokens else _SHORT_ANSWER, not alone
        )
        prompt_tokens = _whole(prompt) + before
        shared = before or (round((hits or 0.0) * prompt_tokens) if hits else 0)
        if not alone and hits is None and self.base is not None:
            shared = before or self.base.workload.shared_prefix_tokens
        rate = s.request_rate
        users = s.concurrency or 1.0
        open_load = rate is not None and math.isfinite(rate) and rate > 0
        return Workload(
            load="requests" if open_load else "users",
            users=min(_whole(users), 10**6),
            request_rate=min(max(rate, 1e-6), 1e6) if rate is not None and open_load else 1.0,
            prompt_tokens=prompt_tokens,
            output_tokens=_whole(answer),
            shared_prefix_tokens=min(shared, max(0, prompt_tokens - 1)),
        )

    def speculative(self) -> Speculative:
        """The draft, where the run names one."""
        kinds: tuple[DraftKind, ...] = get_args(DraftKind)
        found = next((k for k in kinds if k != "none" and k in self.setting.drafts.lower()), None)
        if found is not None:
            return Speculative(kind=found)
        if self.base is not None and self.base.speculative.kind != "none" and not self.setting.drafts:
            self.assumed.append(Assumed("speculative.kind", "scenario"))
            return self.base.speculative
        return Speculative()


def _whole(value: float) -> int:
    return int(min(max(1.0, round(value)), _MOST_TOKENS))


def that_starts(scenario: Scenario, longest: int = 0) -> Scenario:
    """The scenario of a run for an estimate: where the run states no longest request it is the one that
    was made, or ``longest``; an engine that must hold a million tokens would not start.
    """
    if scenario.engine.max_model_len < _LONGEST:
        return scenario
    work = scenario.workload
    needed = max(work.prompt_tokens + work.output_tokens, longest)
    engine = scenario.engine.model_copy(update={"max_model_len": min(needed, scenario.engine.max_model_len)})
    return scenario.model_copy(update={"engine": engine})


def describe(run: Run, base: Scenario | None = None, folder: Path | None = None) -> Described:
    """The scenario of a run.  ``folder``: the user's catalogue, with "models" and "accelerators" in it."""
    return described(run.setting, run.figure("prefix_hit_share"), base, folder)


def described(setting: Setting, hits: float | None, base: Scenario | None, folder: Path | None) -> Described:
    """The same of a setting, with the share of prompt tokens that the prefix cache held."""
    maker = _Describer(setting, base, folder)
    try:
        name = maker.engine_name()
        model, device = maker.model(), maker.device(name)
        scenario = Scenario(
            name="",
            model=model,
            accelerator=device,
            deployment=maker.deployment(name, model),
            precision=maker.precision(name, model),
            engine=Engine.model_validate(maker.engine(name, model).model_dump()),
            workload=maker.workload(hits),
            targets=base.targets if base is not None else Targets(),
            speculative=maker.speculative(),
            host=base.host
            if base is not None
            else Scenario.model_fields["host"].get_default(call_default_factory=True),
        )
    except _Unclear as unclear:
        return Described(None, reason=str(unclear))
    except (ValidationError, ValueError, ArithmeticError):
        return Described(None, reason="settings")
    wrong = tuple(p.code for p in check(scenario) if p.severity == "error")
    if wrong:
        return Described(None, reason="settings", codes=wrong)
    return Described(scenario, tuple(dict.fromkeys(maker.assumed)))
