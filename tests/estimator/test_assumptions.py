"""What the program takes for granted is said, and an empty setting says what it becomes."""

import re

import pytest

from core.catalog.accelerators import load_accelerator
from core.estimator import estimate
from core.explain.assumptions import assumptions
from core.explain.automatic import automatic, backend_of
from core.explain.derivation import derive
from core.explain.engine_notes import engine_notes, not_measured, profile_sources
from core.explain.ledger_names import line_name
from core.files import scenario_file
from core.memory.build import plan_memory
from core.model.parameters import stored_parameters
from core.reports.as_text import estimate_text
from core.serving.limits import batch_limits
from core.spec.change import with_value
from core.spec.scenario import Scenario
from core.words import LANGUAGES, Words


def changed(scenario: Scenario, device: str = "", **values: object) -> Scenario:
    """``engine__name="mlx"`` sets engine.name."""
    if device:
        scenario = with_value(scenario, "accelerator", load_accelerator(device))
    for path, value in values.items():
        scenario = with_value(scenario, path.replace("__", "."), value)
    return scenario


def grouped(scenario: Scenario, device: str, count: int, **values: object) -> Scenario:
    return changed(
        scenario, device, deployment__accelerators=count, deployment__tensor_parallel=count, **values
    )


def keys(scenario: Scenario) -> list[str]:
    return [phrase.key.removeprefix("assumed.") for phrase in assumptions(scenario)]


LOCAL = {"engine__name": "llamacpp", "engine__version": "", "precision__kv_cache": "fp16"}


@pytest.mark.parametrize(
    ("device", "count", "link", "said"),
    [
        ("RTX 3090", 1, "auto", []),
        ("RTX 3090", 2, "auto", ["bridge"]),
        ("RTX 3090", 2, "pcie", []),  # chosen, so nothing is assumed
        ("RTX 3090", 4, "auto", ["staged"]),  # the bridge joins two
        ("A100 PCIe 80GB", 2, "auto", ["bridge"]),
        ("A100 PCIe 80GB", 4, "auto", ["bridge_too_short"]),
        ("RTX 4090", 2, "auto", ["staged"]),
        ("L40S", 2, "auto", []),  # the data sheet leaves nothing open
        ("H200 SXM 141GB", 8, "auto", []),
        ("H200 SXM 141GB", 16, "auto", ["network"]),
        ("Apple M4 Max (40-core GPU)", 2, "auto", ["unknown_link"]),
    ],
)
def test_links_that_nobody_chose_are_said(
    scenario: Scenario, device: str, count: int, link: str, said: list[str]
) -> None:
    assert keys(grouped(scenario, device, count, deployment__link=link)) == said


def test_the_way_between_servers_and_pools_is_said(scenario: Scenario) -> None:
    apart = grouped(scenario, "H200 SXM 141GB", 8, deployment__nodes=2)
    assert keys(apart) == ["network"]
    faster = changed(apart, deployment__network_gbit_per_s=800.0)
    assert "800 Gbit/s" in Words("en").phrase(assumptions(faster)[0])
    pools = changed(
        scenario, "H200 SXM 141GB", deployment__accelerators=2, deployment__prefill_accelerators=1
    )
    assert keys(pools) == ["hand_over"]
    assert keys(changed(pools, deployment__nodes=2)) == ["hand_over_network"]


def test_the_host_is_said_until_somebody_describes_it(scenario: Scenario) -> None:
    offloaded = changed(scenario, "RTX 4090", **LOCAL, engine__n_gpu_layers=10)
    assert keys(offloaded) == ["host"]
    assert keys(changed(offloaded, host__cores=64)) == []
    assert keys(changed(scenario, "RTX 4090", **LOCAL)) == []
    assert keys(changed(offloaded, "Apple M4 Max (40-core GPU)")) == ["one_memory"]
    assert keys(grouped(scenario, "RTX 4090", 2, **LOCAL)) == ["no_exchange"]
    assert keys(changed(offloaded, "EPYC 9654 12-channel DDR5-4800 (Genoa)")) == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_assumption_has_words_with_its_places_filled(scenario: Scenario, language: str) -> None:
    words = Words(language)
    known = [key for key in words._texts if key.startswith("assumed.")]
    assert len(known) == 12
    for case in (
        grouped(scenario, "RTX 3090", 2),
        grouped(scenario, "H200 SXM 141GB", 16),
        grouped(scenario, "H200 SXM 141GB", 8, deployment__attention_data_parallel=8),
        changed(scenario, "RTX 4090", **LOCAL, engine__n_gpu_layers=10),
    ):
        for phrase in engine_notes(estimate(case)):
            said = words.phrase(phrase)
            assert said != phrase.key and not re.search(r"[{}]", said), said


def test_what_an_empty_setting_becomes_is_what_the_ledger_and_the_plan_use(scenario: Scenario) -> None:
    """By the size of the device, in vLLM: 256 and 2,048; 1,024 and 8,192 (vllm/engine/arg_utils.py)."""
    small, large = changed(scenario, "RTX 4090"), changed(scenario, "H100 SXM5 80GB")
    assert automatic(small, "engine.max_num_seqs") == 256
    assert automatic(small, "engine.max_num_batched_tokens") == 2048
    assert automatic(large, "engine.max_num_seqs") == 1024
    assert automatic(large, "engine.max_num_batched_tokens") == 8192
    for path in ("engine.max_num_seqs", "engine.max_num_batched_tokens"):
        written = changed(small, **{path.replace(".", "__"): int(automatic(small, path) or 0)})
        assert estimate(written).ledger == estimate(small).ledger
        assert automatic(written, path) == automatic(small, path)  # of the empty field, whatever stands in it


def test_every_default_written_out_changes_nothing(scenario: Scenario) -> None:
    local = changed(scenario, "RTX 4090", **LOCAL)
    plain = estimate(local)
    for name in ("n_gpu_layers", "n_batch", "n_ubatch", "flash_attention"):
        value = automatic(local, f"engine.{name}")
        assert value is not None
        found = estimate(changed(local, **{f"engine__{name}": type(value)(value)}))
        assert (found.ledger, found.speed) == (plain.ledger, plain.speed), name


def test_llama_cpp_computes_with_what_the_vendor_has(scenario: Scenario) -> None:
    found = {
        "RTX 4090": "CUDA",
        "Instinct MI300X": "ROCm",
        "Arc B580": "SYCL",
        "Apple M4 Max (40-core GPU)": "Metal",
        "EPYC 9654 12-channel DDR5-4800 (Genoa)": "CPU",
    }
    for device, backend in found.items():
        assert backend_of(changed(scenario, device)) == backend


@pytest.mark.parametrize(
    "device",
    ["Instinct MI300X", "Arc B580", "Apple M4 Max (40-core GPU)", "EPYC 9654 12-channel DDR5-4800 (Genoa)"],
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_speaks_of_cuda_where_there_is_none(scenario: Scenario, device: str, language: str) -> None:
    words = Words(language)
    for engine in ({}, LOCAL, {"engine__name": "transformers", "engine__version": ""}):
        found = estimate(changed(scenario, device, **engine))
        said = [words.phrase(note) for note in engine_notes(found)]
        said += [words.phrase(source) for source in profile_sources(found.scenario)]
        for line in found.ledger.lines:
            said += [words.phrase(line_name(line.key, found.scenario.accelerator)), line.engine_word]
        working = derive(found, "memory_per_device")
        assert working is not None
        said += [words.phrase(step.name) for step in working.steps]
        assert not [text for text in said if "cuda" in text.lower()]


def test_a_processor_alone_holds_the_whole_model(scenario: Scenario) -> None:
    """No -ngl moves anything out of the only memory there is; it holds at least all weights."""
    cpu = changed(scenario, "EPYC 9654 12-channel DDR5-4800 (Genoa)", **LOCAL)
    plain = estimate(cpu)
    for name, value in (("n_gpu_layers", 0), ("n_gpu_layers", 10), ("kv_on_host", True)):
        assert estimate(changed(cpu, **{f"engine__{name}": value})).ledger == plain.ledger
    stored = stored_parameters(cpu.model.architecture) * 2
    assert plain.ledger.bytes_of("weights") == pytest.approx(stored, rel=0.002)


def test_figures_of_devices_that_nobody_measured_say_so(scenario: Scenario) -> None:
    unknown = changed(scenario, "Gaudi 3")
    assert not_measured(unknown) is not None and profile_sources(unknown) == ()
    working = derive(estimate(unknown), "time_per_output_token")
    known = derive(estimate(changed(scenario, "H100 SXM5 80GB")), "time_per_output_token")
    assert working is not None and known is not None
    sources = {step.source.key for step in working.steps}
    assert "derivation.sources.profile_generic" in sources and "derivation.sources.profile" not in sources
    assert "derivation.sources.profile" in {step.source.key for step in known.steps}
    assert profile_sources(changed(scenario, "RTX 4090"))


@pytest.mark.parametrize(
    ("device", "weights", "note"),
    [
        ("A100 SXM4 80GB", "fp8", "expanded"),  # Ampere has no FP8 units
        ("A100 SXM4 80GB", "w8a8", "native"),
        ("RTX 3090", "awq_g128", "expanded"),
        ("H100 SXM5 80GB", "fp8", "native"),
        ("H100 SXM5 80GB", "nvfp4", "expanded"),
        ("B200 SXM", "nvfp4", "native"),
        ("Gaudi 3", "fp8", "native_no_faster"),  # Intel states 1,835 TFLOP/s for BF16 as for FP8
    ],
)
def test_the_note_on_a_format_says_what_the_prefill_does(
    scenario: Scenario, device: str, weights: str, note: str
) -> None:
    wide, narrow = (estimate(changed(scenario, device, precision__weights=w)) for w in ("bf16", weights))
    found = [n.key.removeprefix("engine_notes.") for n in engine_notes(narrow)]
    assert {"expanded", "native", "native_no_faster"} & set(found) == {note}
    assert wide.speed is not None and narrow.speed is not None
    gained = narrow.speed.prefill.seconds < 0.85 * wide.speed.prefill.seconds
    assert gained == (note == "native")


def test_an_engine_with_one_class_of_devices_was_measured_on_it(scenario: Scenario) -> None:
    """mlx-lm runs on Apple alone; its one profile is called generic and yet rests on measurements."""
    mlx = {"engine__name": "mlx", "engine__version": ""}
    assert not_measured(changed(scenario, "Apple M4 Max (40-core GPU)", **mlx)) is None
    assert not_measured(changed(scenario, "RTX 4090", **mlx)) is not None
    transformers = {"engine__name": "transformers", "engine__version": ""}
    assert not_measured(changed(scenario, "RTX 4090", **transformers)) is not None


@pytest.mark.parametrize("device", ["RTX 4090", "A100 SXM4 40GB", "H100 SXM5 80GB", "H200 SXM 141GB"])
def test_memory_and_time_count_on_the_same_chunk_of_a_prompt(scenario: Scenario, device: str) -> None:
    """SGLang sets chunked_prefill_size by the device's memory (server_args.py)."""
    served = changed(scenario, device, engine__name="sglang", engine__version="0.5.5")
    chunk = automatic(served, "engine.chunked_prefill_size")
    assert batch_limits(served.engine, served.accelerator)[1] == chunk == plan_memory(served).batched_tokens


@pytest.mark.parametrize(
    ("version", "told"), [("9.9", True), ("0.26", True), ("0.25.3", False), ("0.11", False), ("", False)]
)
def test_a_release_beyond_the_known_ones_says_by_which_rules(
    version: str, told: bool, scenario: Scenario
) -> None:
    scenario = changed(scenario, engine__name="vllm", engine__version=version)
    said = [
        Words("en").phrase(n) for n in engine_notes(estimate(scenario)) if n.key == "engine_notes.release"
    ]
    expected = f"vLLM {version} is newer than the releases known here: it is told by the rules of 0.25."
    assert said == ([expected] if told else [])


def test_copies_of_the_attention_are_told_as_what_works_together(samples):
    """A step is counted with as much in every copy; where there are fewer users than that, it is said."""
    plain = scenario_file.load(samples[2])
    spread = changed(plain, deployment__expert_parallel=8, deployment__attention_data_parallel=8)
    assert "copies" not in keys(plain) and "copies" in keys(spread)
    assert "copies_few" in keys(changed(spread, workload__users=1))
    text = estimate_text(estimate(spread), Words("en"))
    assert "2K prompt tokens in each of 8 copies" in text
    assert "in each of" not in estimate_text(estimate(plain), Words("en"))
