"""Numbers and texts at the edge of what a record takes, and what follows from them."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from core import strict_json
from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.models import all_models, load_model
from core.errors import InferometerError, InvalidScenario, UnreadableFile
from core.estimator import estimate
from core.explain.derivation import derive
from core.explain.verdict import phrase_of
from core.files import scenario_file
from core.importers.recognise import recognise
from core.memory.capacity import Change, memory_over_users, smallest_changes
from core.planning.sweep import workload_curves
from core.spec.architecture import CompressedAttention, NoMixer, RecurrentMixer
from core.spec.change import with_value, with_values
from core.spec.checks import check
from core.spec.scenario import Scenario
from core.units import (
    show_bytes,
    show_count,
    show_limit,
    show_power,
    show_time,
    show_tokens,
    three_digits,
)
from core.words import Words

WORDS = Words("en")
GROUP = "model.architecture.groups.0"


def refused(scenario: Scenario, path: str, value: Any) -> str:
    with pytest.raises(InvalidScenario) as told:
        with_value(scenario, path, value)
    (problem,) = told.value.problems
    sentence = WORDS.problem(problem)
    assert "{" not in sentence and not sentence.startswith("problems.")
    return sentence


@pytest.mark.parametrize("output", [1, 2])
@pytest.mark.parametrize("load", ["users", "requests"])
def test_a_step_without_tokens_sends_nothing(scenario: Scenario, load: str, output: int) -> None:
    """Nothing times a cost that is never paid is nothing, not NaN."""
    changes = {
        "deployment.accelerators": 2,
        "deployment.tensor_parallel": 2,
        "workload.prompt_tokens": 1,
        "workload.output_tokens": output,
        "workload.load": load,
    }
    speed = estimate(with_values(scenario, changes)).speed
    assert speed is not None
    assert math.isfinite(speed.time_per_output_token.expected)
    assert math.isfinite(speed.time_to_first_token.expected)


@pytest.mark.parametrize("version", ["", "0", "0.0.1", "0.5", "99", "nightly"])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "transformers"])
def test_any_version_has_rules(scenario: Scenario, engine: str, version: str) -> None:
    assert estimate(with_values(scenario, {"engine.name": engine, "engine.version": version})).ledger.lines


@pytest.mark.parametrize("model", ["falcon-mamba-7b", "mamba-2.8b", "Mamba-Codestral-7B-v0.1"])
@pytest.mark.parametrize("engine", ["vllm", "sglang", "trtllm", "llamacpp", "transformers", "mlx"])
def test_models_whose_cache_does_not_grow_have_curves(scenario: Scenario, model: str, engine: str) -> None:
    changed = with_values(
        scenario,
        {"model": load_model(model), "engine.name": engine, "precision.kv_cache": "fp16"},
    )
    lengths = np.array([[128], [1024], [8192]])
    users = np.array([0.0, 1.0, 2.5, 8.0])
    assert memory_over_users(changed, users, lengths).shape == (3, 4)
    curves = workload_curves(changed)
    assert curves.memory.bytes.shape == curves.memory_users.shape


@pytest.mark.parametrize("engine", ["vllm", "sglang", "llamacpp", "mlx"])
def test_a_model_that_keeps_nothing_is_not_limited_by_memory(scenario: Scenario, engine: str) -> None:
    changes = {
        f"{GROUP}.token_mixer": NoMixer(),
        "engine.name": engine,
        "engine.n_parallel": 64,
        "engine.max_model_len": 64 * 2048,  # a slot has its share, which holds a request
        "precision.weights": "fp16",
        "precision.kv_cache": "fp16",
    }
    point = estimate(with_values(scenario, changes))
    most = point.capacity.max_users
    assert most >= 64 and point.verdict.headline.key != "verdict.waits"
    for key in ("concurrent_users", "kv_tokens", "max_users_at_model_length"):
        derived = derive(point, key)
        assert derived is not None
    tokens = derive(point, "kv_tokens")
    assert tokens is not None and tokens.total.value == point.capacity.kv_tokens
    workload_curves(point.scenario, point)


def test_without_room_for_the_weights_nothing_fits_even_without_a_cache(scenario: Scenario) -> None:
    huge = with_values(scenario, {f"{GROUP}.token_mixer": NoMixer(), f"{GROUP}.count": 1000})
    found = estimate(huge).capacity
    assert (found.max_users, found.kv_tokens, found.max_length) == (0, 0, 0)


LAYOUTS = {
    "1 device in 2 stages": {"deployment.pipeline_parallel": 2},
    "4 devices, 4 x 2": {
        "deployment.accelerators": 4,
        "deployment.tensor_parallel": 4,
        "deployment.pipeline_parallel": 2,
    },
    "1024 copies of the attention on 1": {"deployment.attention_data_parallel": 1024},
    "3 copies on 2": {
        "deployment.accelerators": 2,
        "deployment.tensor_parallel": 2,
        "deployment.attention_data_parallel": 3,
    },
    "7 parts of the experts on 8": {
        "deployment.accelerators": 8,
        "deployment.tensor_parallel": 8,
        "deployment.expert_parallel": 7,
    },
    "33 stages of 32 layers": {"deployment.accelerators": 33, "deployment.pipeline_parallel": 33},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_layouts_that_cannot_be_are_refused(scenario: Scenario, layout: dict[str, int]) -> None:
    problems = [p for p in check(with_values(scenario, layout)) if p.severity == "error"]
    assert problems
    for problem in problems:
        assert "{" not in WORDS.problem(problem)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (f"{GROUP}.token_mixer.value_head_dim", -128),
        (f"{GROUP}.token_mixer.window", -5),
        (f"{GROUP}.token_mixer.window", 0),
        (f"{GROUP}.token_mixer.query_rank", -1),
        ("model.architecture.embedding_width", -1),
        ("model.architecture.stated_parameters", -1),
        ("model.architecture.stated_parameters", 0),
        ("accelerator.peak_tflops.fp16", 1e-300),
        ("accelerator.peak_tflops.fp16", 1e300),
        ("accelerator.pcie.gbps_per_direction", 1e-300),
        ("accelerator.scale_up.gbps_per_direction", 1e-300),
        ("accelerator.scale_up.max_devices", 10**30),
        ("accelerator.sm_count", 0),
        ("accelerator.tdp_w", -1.0),
        ("accelerator.cloud_usd_per_hour", -1.0),
        ("engine.n_batch", 10**30),
        ("engine.max_mamba_cache_size", 10**30),
    ],
)
def test_numbers_that_cannot_be_are_refused(scenario: Scenario, path: str, value: float) -> None:
    sentence = refused(scenario, path, value)
    assert "at least" in sentence or "at most" in sentence


def test_a_compressed_entry_stands_for_a_token_at_least(scenario: Scenario) -> None:
    mixer = CompressedAttention(
        heads=8, head_dim=64, query_rank=64, output_groups=1, output_rank=64, window=64, tokens_per_entry=4
    )
    compressed = with_value(scenario, f"{GROUP}.token_mixer", mixer)
    for value in (0, -4):
        assert "at least 1" in refused(compressed, f"{GROUP}.token_mixer.tokens_per_entry", value)


def test_a_token_visits_no_expert_twice(scenario: Scenario) -> None:
    moe = with_value(scenario, "model", load_model("Mixtral-8x7B-v0.1"))
    path = f"{GROUP}.channel_mixer"
    assert "9 of 8 experts" in refused(moe, f"{path}.experts_per_token", 9)
    assert "at least 1" in refused(moe, f"{path}.latent_width", -3)
    tree = json.loads(scenario_file.dumps(moe))
    tree["model"]["architecture"]["groups"][0]["channel_mixer"]["experts"] = 1
    with pytest.raises(InvalidScenario) as told:
        scenario_file.loads(json.dumps(tree))
    (problem,) = told.value.problems
    assert problem.paths == (f"{path}.experts_per_token",)
    assert "2 of 1 experts" in WORDS.problem(problem)


TEXTS = (
    "name",
    "model.name",
    "model.family",
    "model.published_weight_format",
    "accelerator.name",
    "accelerator.vendor",
    "accelerator.scale_up.kind",
    "engine.version",
    "precision.weights",
)


@pytest.mark.parametrize("path", TEXTS)
def test_texts_are_bounded_and_steer_no_terminal(scenario: Scenario, path: str) -> None:
    assert "at most" in refused(scenario, path, "9" * 1_000_000)
    assert "cannot be shown" in refused(scenario, path, "\x1b]0;title\x07")
    assert "cannot be shown" in refused(scenario, path, "a\u202eb")
    with_value(scenario, path, "Küche 显存 👩‍💻")  # a joiner is no control character


def test_lists_of_texts_are_bounded(scenario: Scenario) -> None:
    refused(scenario, "accelerator.aliases", ("a",) * 100_000)
    refused(scenario, "accelerator.sources", {str(n): "x" for n in range(1000)})
    refused(scenario, "model.sources", ("x" * 10_000,))


def test_a_name_in_a_foreign_file_is_made_fit() -> None:
    model = {
        "_name_or_path": "a\x1b]0;b\x07",
        "model_type": "llama",
        "hidden_size": 64,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "intermediate_size": 128,
        "vocab_size": 100,
        "max_position_embeddings": 2048,
    }
    found = recognise(json.dumps(model))
    assert found.model is not None and "\x1b" not in found.model.model.name


def test_an_endless_tag_of_an_image_is_no_traceback() -> None:
    recognise(f"docker run vllm/vllm-openai:v0.{'9' * 500} --model meta-llama/Llama-3.1-8B")


@pytest.mark.parametrize("data", [b"[" + b"{}," * 400_000 + b"1]", b"[" + b"1," * 2_100_000 + b"1]"])
def test_a_file_of_countless_parts_is_refused_before_it_is_read(
    data: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []  # would take twenty seconds
    monkeypatch.setattr(strict_json.json, "loads", lambda text, **_: read.append(text))
    with pytest.raises(UnreadableFile) as told:
        strict_json.parse(data)
    assert told.value.problems[0].code == "file.too_many_parts"
    assert "400,000" in WORDS.problem(told.value.problems[0])
    assert not read


def test_many_parts_are_still_read() -> None:
    tree = strict_json.parse(b"[" * 50 + b"[" + b"{}," * 100_000 + b"1]" + b"]" * 50)
    assert len(str(tree)) > 100_000
    with pytest.raises(UnreadableFile) as told:
        strict_json.parse(b'{"a": [1, {"b": [NaN]}]}')
    assert told.value.problems[0].paths == ("a.1.b.0",)


def test_a_bare_text_is_no_scenario_and_half_a_character_is_no_text() -> None:
    for data, code in ((b'"inferometer-scenario"', "file.not_a_scenario"), (b'"\\ud800"', "field.not_text")):
        with pytest.raises(UnreadableFile) as told:
            scenario_file.loads(data)
        assert told.value.problems[0].code == code


def test_a_schema_below_the_first_is_told_so(scenario: Scenario) -> None:
    tree = json.loads(scenario_file.dumps(scenario))
    with pytest.raises(UnreadableFile) as told:
        scenario_file.loads(json.dumps({**tree, "schema": 0}))
    assert WORDS.problem(told.value.problems[0]) == "schema must be at least 1, but is 0."


class _Counted:
    """Counts ledgers that are built."""

    def __init__(self, real: Callable[..., Any]) -> None:
        self.real, self.calls = real, 0

    def __call__(self, *arguments: Any) -> Any:
        self.calls += 1
        return self.real(*arguments)


@pytest.mark.parametrize("engine", ["vllm", "textbook", "llamacpp"])
def test_a_change_that_fits_is_found_in_few_trials(
    scenario: Scenario, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """TPUs join 9,216 devices: trying each would take a second at every edit."""
    from core.memory import capacity

    counted = _Counted(capacity.plan_memory)
    monkeypatch.setattr(capacity, "plan_memory", counted)
    pod = next(d for d in all_accelerators() if d.scale_up.max_devices > 8000)
    changes = {
        "accelerator": pod.model_copy(update={"memory_gb_nominal": 1.0, "memory_mib_reported": None}),
        "model": load_model("DeepSeek-V3"),
        "engine.name": engine,
        "precision.weights": "fp16",
        "precision.kv_cache": "fp16",
    }
    smallest_changes(with_values(scenario, changes))
    assert counted.calls < 1200


def test_the_fewest_layers_stay_on_the_host(scenario: Scenario) -> None:
    """Bisection finds what trying one by one finds, and says it in words."""
    changes = {
        "accelerator": load_accelerator("RTX 3060 12GB"),
        "engine.name": "llamacpp",
        "precision.weights": "fp16",
        "precision.kv_cache": "fp16",
    }
    tight = with_values(scenario, changes)
    (found,) = next(c for c in smallest_changes(tight) if c[0].path == "engine.n_gpu_layers")
    assert isinstance(found.value, int)
    assert estimate(with_value(tight, found.path, found.value)).speed is not None
    assert estimate(with_value(tight, found.path, found.value + 1)).speed is None


def test_notes_name_their_own_engine_and_group_digits(scenario: Scenario) -> None:
    changes = {
        "engine.name": "transformers",
        "engine.static_cache": True,
        "engine.max_model_len": 17_649_811,
        "precision.kv_cache": "fp16",
    }
    told = [WORDS.problem(n) for n in estimate(with_values(scenario, changes)).notes]
    for sentence in told:
        assert "vLLM" not in sentence
    assert any("17,649,811" in sentence for sentence in told)


@pytest.mark.parametrize("output", [1, 2, 512])
def test_nobody_decodes_who_is_not_there(scenario: Scenario, output: int) -> None:
    base: dict[str, Any] = {
        "workload.load": "requests",
        "workload.request_rate": 0.5,
        "workload.output_tokens": output,
    }
    base["accelerator"] = load_accelerator("H100 SXM5 80GB")
    layout = {"deployment.accelerators": 2, "deployment.pipeline_parallel": 2}
    for engine in ("textbook", "vllm"):
        speed = estimate(with_values(scenario, {**base, **layout, "engine.name": engine})).speed
        assert speed is not None and speed.running <= speed.users * (1 + 1e-9)


def test_a_recurrent_model_of_one_state_has_a_place(scenario: Scenario) -> None:
    mixer = RecurrentMixer(family="mamba", heads=1, state_elements=1, projection_parameters=1)
    workload_curves(with_value(scenario, f"{GROUP}.token_mixer", mixer))


def test_small_numbers_need_no_programmers_notation() -> None:
    assert three_digits(1.61e-6) == "1.61 × 10⁻⁶"
    assert three_digits(-3.05e-5) == "−3.05 × 10⁻⁵"
    assert str(show_bytes(32_768)) == "32.0 KiB"
    assert str(show_bytes(12 * 2**20)) == "0.0117 GiB"
    assert str(show_bytes(5)) == "5 B"
    assert str(show_bytes(2_000_000, "GB")) == "2.00 MB"
    assert str(show_bytes(0)) == "0 GiB"


def test_the_catalogue_keeps_all_bounds() -> None:
    assert len(all_models()) > 200 and len(all_accelerators()) > 150
    for model in all_models():
        load_model(model.id)  # raises InferometerError for what the records refuse
    assert issubclass(InvalidScenario, InferometerError)


def test_one_is_singular(scenario: Scenario) -> None:
    told = phrase_of(scenario, (Change("engine.n_gpu_layers", 1),))
    assert WORDS.phrase(told) == "1 layer on the GPU"
    for path in ("workload.users", "workload.prompt_tokens", "workload.output_tokens", "engine.n_cpu_moe"):
        counted = WORDS.phrase(phrase_of(scenario, (Change(path, 1),))).partition("1 ")[2].split()[0]
        assert counted in ("user", "token", "layer")


def test_what_is_no_number_is_never_good(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault in the times is a fault, and no verdict."""
    from core import estimator

    real = estimator.closed_loop

    def spoiled(*arguments: Any) -> Any:
        curve = real(*arguments)
        return replace(curve, time_per_output_token=curve.time_per_output_token * math.nan)

    monkeypatch.setattr(estimator, "closed_loop", spoiled)
    with pytest.raises(ArithmeticError):
        estimate(scenario)


@pytest.mark.parametrize("size", [1e15, 3.3e18, 1e100, 1.7e308])
def test_no_number_is_told_in_a_line_of_digits(size: float) -> None:
    told = [three_digits(size), three_digits(-size), show_tokens(size), show_count(size)]
    told += [str(show(size)) for show in (show_time, show_limit, show_bytes, show_power)]
    assert all(len(text) < 24 for text in told), told


def test_numbers_that_are_counted_are_told_in_digits() -> None:
    assert three_digits(396e9) == "396,000,000,000"
    assert three_digits(9.99e14) == "999,000,000,000,000"
    assert three_digits(1e15) == "1.00 × 10¹⁵"
