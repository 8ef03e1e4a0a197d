"""Steps of local engines: invariants over models and devices, offload, layer split, micro-batches."""

import numpy as np
import pytest

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.models import load_model
from core.estimator import estimate
from core.explain.derivation import derive
from core.latency.local import ENGINES, local_plan_of
from core.latency.local_profile import load_local_profile, local_profile_for, profile_names
from core.latency.offload import LEAST_COPIED_BATCH, placement
from core.quantities import EXPECTED
from core.serving.steady_state import closed_loop, phases, prepare
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.host import Host
from core.spec.scenario import Scenario
from core.spec.speculative import Speculative
from core.spec.workload import Workload

MODELS = (
    "Meta-Llama-3-8B-Instruct",
    "Qwen/Qwen3-30B-A3B",
    "deepseek-ai/DeepSeek-V3",
    "openai/gpt-oss-20b",
    "google/gemma-3-12b-it",
    "Qwen/Qwen3.6-35B-A3B",
)
ALL = slice(0, 4)


def plan(model=MODELS[0], device="RTX 4090", weights="gguf_q4_k_m", host=None, split=1, draft=None, **engine):
    card = load_accelerator(device) if isinstance(device, str) else device
    engine.setdefault("name", "llamacpp")
    return local_plan_of(
        load_model(model).architecture,
        card,
        Deployment(accelerators=split, pipeline_parallel=split),
        Precision(weights=weights, kv_cache="fp16"),
        Engine(**engine),
        host or Host(),
        draft,
    )


def seconds(a_plan, decoding=0.0, context=0.0, prefill=0.0, history=0.0, rows=ALL):
    arrays = np.broadcast_arrays(*(np.asarray(v, float) for v in (decoding, context, prefill, history)))
    return a_plan.seconds(rows, *(np.atleast_1d(a).ravel() for a in arrays))


POINTS = {
    "decoding": [1, 1, 4, 32, 0, 0, 0, 2],
    "context": [0, 30000, 500, 500, 0, 0, 0, 800],
    "prefill": [0, 0, 0, 0, 1, 512, 5000, 700],
    "history": [0, 0, 0, 0, 0, 0, 20000, 100],
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_bound_is_never_above_any_estimate(model, engine):
    weights = {"mlx": "mlx_4bit", "transformers": "bf16"}.get(engine, "gguf_q4_k_m")
    for device in all_accelerators():
        low, expected, high, bound = seconds(plan(model, device, weights, name=engine), **POINTS)
        assert np.isfinite(high).all() and (bound > 0).all(), device.name
        assert (bound <= low * (1 + 1e-12)).all(), device.name
        assert (low <= expected).all() and (expected <= high).all(), device.name


@pytest.mark.parametrize("model", MODELS)
def test_longer_and_larger_is_never_faster(model):
    for engine, weights in (("llamacpp", "gguf_q4_k_m"), ("mlx", "mlx_4bit"), ("transformers", "bf16")):
        for offloaded in (0, 3) if engine == "llamacpp" else (0,):
            a_plan = plan(model, "RTX 4090", weights, name=engine, n_cpu_moe=offloaded)
            # With weights on the host, batches of 32 take another way than smaller ones.
            first = LEAST_COPIED_BATCH if offloaded else 0.0
            rising = np.linspace(0, 40000, 60)
            for varied in (
                seconds(a_plan, 1.0, rising),
                seconds(a_plan, np.arange(1, 32 if offloaded else 65), 1000.0),
                seconds(a_plan, 0.0, 0.0, np.arange(1 + first, 3000, 7)),
                seconds(a_plan, 0.0, 0.0, 512.0, rising),
                seconds(a_plan, 2.0, 100.0, np.arange(first, 3000, 7)),
            ):
                expected = varied[EXPECTED]
                assert (np.diff(expected) >= -1e-9 * expected[:-1]).all(), engine


@pytest.mark.parametrize("model", MODELS)
def test_more_bandwidth_or_compute_is_never_slower(model):
    device = load_accelerator("RTX 4090")
    faster = device.model_copy(update={"memory_bandwidth_gbps": device.memory_bandwidth_gbps * 1.5})
    peaks = {name: 2 * rate for name, rate in device.peak_tflops.model_dump().items() if rate}
    quicker = device.model_copy(
        update={"peak_tflops": device.peak_tflops.model_copy(update=peaks), "tdp_w": 2 * device.tdp_w}
    )
    base = seconds(plan(model, device), **POINTS)
    assert (seconds(plan(model, faster), **POINTS)[EXPECTED] < base[EXPECTED]).all()
    assert (seconds(plan(model, quicker), **POINTS)[EXPECTED] <= base[EXPECTED]).all()


@pytest.mark.parametrize("model", MODELS)
def test_the_parts_of_a_step_add_to_the_whole(model):
    for a_plan in (
        plan(model),
        plan(model, n_gpu_layers=10),
        plan(model, n_cpu_moe=5, kv_on_host=True),
        plan(model, split=3),
        plan(model, weights="bf16", name="transformers"),
        plan(model, draft=Speculative(kind="eagle", tokens=3)),
        plan(model, flash_attention=False),
    ):
        for point in zip(*POINTS.values(), strict=True):
            whole = float(seconds(a_plan, *point, rows=EXPECTED)[0])
            parts = a_plan.parts(*map(float, point))
            assert sum(part.seconds for part in parts) == pytest.approx(whole, rel=1e-9)
            assert all(min(p.compute, p.bandwidth, p.link, p.launch) >= 0 for p in parts)


def test_more_layers_on_the_host_are_never_faster_to_decode():
    times = [float(seconds(plan(n_gpu_layers=n), 1.0, 500.0)[EXPECTED, 0]) for n in range(33, -1, -1)]
    assert (np.diff(times) >= 0).all()
    assert times[-1] > 5 * times[0]


def test_more_experts_on_the_host_are_never_faster_to_decode():
    model = "Qwen/Qwen3-30B-A3B"
    times = [float(seconds(plan(model, n_cpu_moe=n), 1.0, 500.0)[EXPECTED, 0]) for n in range(0, 49, 4)]
    assert (np.diff(times) > 0).all()


def test_a_faster_host_speeds_up_what_is_left_to_it():
    slow, fast = Host(memory_bandwidth_gbps=50), Host(memory_bandwidth_gbps=400, cores=64)
    point = (1.0, 500.0)
    assert (
        seconds(plan(host=fast, n_gpu_layers=8), *point)[1]
        < seconds(plan(host=slow, n_gpu_layers=8), *point)[1]
    )
    assert seconds(plan(host=fast), *point)[1] == pytest.approx(seconds(plan(host=slow), *point)[1])


def test_long_prompts_send_the_weights_to_the_device_instead():
    # Four slow cores would take over half a minute for 512 tokens of 8B.
    host = Host(cores=4, gflops_per_core=50)
    offloaded = float(seconds(plan(n_gpu_layers=0, host=host), 0.0, 0.0, 512.0)[EXPECTED, 0])
    alone = 2 * 7.5e9 * 512 / host.peak_flops
    assert offloaded < alone / 3


def test_where_settings_put_the_parts():
    arch, card = load_model("Qwen/Qwen3-30B-A3B").architecture, load_accelerator("RTX 4090")
    assert not placement(arch, Engine(name="llamacpp"), card).anything
    half = placement(arch, Engine(name="llamacpp", n_gpu_layers=24), card)
    assert (half.layers, half.experts, half.head, half.cache) == (0.5, 0.5, 1.0, 0.5)
    assert placement(arch, Engine(name="llamacpp", n_gpu_layers=48), card).head == 1.0
    assert not placement(arch, Engine(name="llamacpp", n_gpu_layers=49), card).anything
    experts = placement(arch, Engine(name="llamacpp", n_cpu_moe=12), card)
    assert (experts.layers, experts.experts, experts.crossings) == (0.0, 0.25, 24.0)
    # One memory: nothing to leave elsewhere.
    assert not placement(arch, Engine(name="llamacpp", n_gpu_layers=0), load_accelerator("M4 Pro")).anything


def test_layers_over_several_devices_help_prompts_not_streams():
    one, four = plan(), plan(split=4)
    assert seconds(four, 1.0, 500.0)[EXPECTED] > seconds(one, 1.0, 500.0)[EXPECTED]
    gain = seconds(one, 0.0, 0.0, 8192.0)[EXPECTED] / seconds(four, 0.0, 0.0, 8192.0)[EXPECTED]
    assert 1.5 < float(gain[0]) < 4


def test_larger_micro_batches_read_the_weights_less_often():
    model = "openai/gpt-oss-120b"
    small, large = (
        plan(model, "DGX Spark (GB10)", "gguf_mxfp4_moe"),
        plan(model, "DGX Spark (GB10)", "gguf_mxfp4_moe", n_ubatch=2048),
    )
    assert seconds(large, 0.0, 0.0, 4096.0)[EXPECTED] < seconds(small, 0.0, 0.0, 4096.0)[EXPECTED]


def test_fused_attention_is_faster_over_long_prompts():
    fused, plain = plan(), plan(flash_attention=False)
    assert seconds(plain, 0.0, 0.0, 8192.0)[EXPECTED] > seconds(fused, 0.0, 0.0, 8192.0)[EXPECTED]


def test_profiles_follow_the_device_and_the_back_end():
    def name(device, backend="auto", engine="llamacpp"):
        return local_profile_for(engine, load_accelerator(device), backend).name

    assert name("RTX 4090") == "CUDA"
    assert name("H100 SXM5 80GB") == "CUDA, HBM"
    assert name("DGX Spark (GB10)") == "CUDA, unified memory"
    assert name("GTX 1080 Ti") == "CUDA, Pascal"
    assert name("Radeon RX 7900 XTX") == "Radeon"
    assert name("Radeon RX 7900 XTX", "vulkan") == "Vulkan, Radeon"
    assert name("RTX 4090", "vulkan") == "Vulkan"
    assert name("Apple M2 Ultra") == "Metal, M1 and M2"
    assert name("Apple M1 Max") == "Metal, M1"
    assert name("Apple M4 Pro") == "Metal"
    assert name("P100 PCIe 16GB") == "CUDA, Pascal"  # its memory is no reason to count as an A100
    assert name("Arc B580") == "SYCL"
    assert name("Grace CPU") == "CPU"
    assert name("Apple M4 Pro", engine="mlx") == "generic"
    assert name("RTX 4090", engine="ollama") == "CUDA"


@pytest.mark.parametrize("engine", ["llamacpp", "mlx", "transformers"])
def test_profiles_are_whole_and_their_fractions_sound(engine):
    names = set(load_local_profile(engine, "generic").fractions)
    for name in profile_names(engine):
        profile = load_local_profile(engine, name)
        assert profile.chain[-1] == "generic" and profile.sources
        assert set(profile.fractions) == names
        # Of a class and of a format in it: together the data sheet's rate at most, but for a little
        # scatter that the step cuts off.
        for key, fraction in profile.fractions.items():
            kind = key.partition("_")[0]
            beside = key in ("read", "multiply", "read_simple") or "experts" in key
            common = profile.fractions[kind] if kind in ("read", "multiply") and not beside else 1.0
            assert 0 < fraction * common <= (2.0 if beside else 1.1), (name, key)
        simple = profile.fractions["read"] * profile.fractions["read_k"] * profile.fractions["read_simple"]
        assert simple <= 1.0, name
        assert all(us >= 0 for us in profile.microseconds.values()), name
        for band in (profile.spread, profile.spread_unseen):
            assert band.decode[0] <= 1 <= band.decode[1] and band.prefill[0] <= 1 <= band.prefill[1]


def scenario(**work):
    return Scenario(
        model=load_model(MODELS[0]),
        accelerator=load_accelerator("RTX 4090"),
        precision=Precision(weights="gguf_q4_k_m", kv_cache="fp16"),
        engine=Engine(name="llamacpp", n_parallel=4),
        workload=Workload(**work),
    )


def test_slots_share_a_step_and_further_users_wait():
    service = prepare(scenario(prompt_tokens=512, output_tokens=256))
    curve = closed_loop(service, np.array([1.0, 4.0, 8.0]), 200_000)
    rate = curve.output_tokens_per_second[EXPECTED]
    assert rate[1] > 2 * rate[0] and rate[2] == pytest.approx(rate[1], rel=0.01)
    assert curve.queue_seconds[EXPECTED, 2] > 0 == curve.queue_seconds[EXPECTED, 1]
    prefill, decode = phases(service, 1.0)
    assert decode.bottleneck == "bandwidth" and prefill.bottleneck == "compute"
    assert decode.compute_format == "int8"


@pytest.mark.parametrize("engine", ["llamacpp", "ollama"])
def test_what_is_longer_than_a_slot_has_no_users(engine):
    """No users where no request is admitted, and a length is shared among those that have a slot."""

    def capacity_of(slots):
        settings = Engine(name=engine, n_parallel=slots, max_model_len=8192)
        work = Workload(users=8, prompt_tokens=1024, output_tokens=512)
        return estimate(scenario().model_copy(update={"engine": settings, "workload": work}))

    cut, alone, half = (capacity_of(slots) for slots in (8, 1, 4))
    assert cut.verdict.headline.key == "verdict.too_long_slot"
    assert (cut.capacity.max_users, cut.capacity.max_length) == (0, 1024)
    assert cut.capacity.max_users_at_model_length == 8
    assert (alone.capacity.max_users, alone.capacity.max_length) == (1, 8192)
    assert (half.capacity.max_users, half.capacity.max_length) == (4, 2048)
    assert derive(cut, "concurrent_users").total.value == 0
    assert derive(alone, "max_length").total.value == 8192


def test_drafts_that_are_verified_cost_less_than_steps_of_their_own():
    base = float(seconds(plan(), 1.0, 500.0)[EXPECTED, 0])
    verified = float(seconds(plan(draft=Speculative(kind="ngram", tokens=3)), 1.0, 500.0)[EXPECTED, 0])
    assert base < verified < 2 * base


@pytest.mark.parametrize(
    ("device", "model", "weights", "measured"),
    [
        ("Apple M2 Ultra", "Meta-Llama-3-8B-Instruct", "gguf_q4_k_m", 18.47 - 12.69),
        ("Apple M2 Ultra", "Meta-Llama-3-8B-Instruct", "gguf_f16", 32.59 - 27.10),
        ("Apple M2 Ultra", "Llama-3.1-70B-Instruct", "gguf_f16", 236.4 - 210.1),
        ("Apple M1 Max", "Meta-Llama-3-8B-Instruct", "gguf_q4_k_m", 37.26 - 27.99),
    ],
)
def test_on_apple_plain_attention_reads_the_cache_for_each_head(device, model, weights, measured):
    """What a token takes longer at 4096 than at 256 cached ones without flash attention, ms:
    XiongjieDai/GPU-Benchmarks-on-LLM-Inference, May 2024.  Llama 3 70B has the shapes of 3.1.
    """

    def grown(**engine):
        some = plan(model, device, weights, **engine)
        first, last = (float(seconds(some, 1.0, context)[EXPECTED, 0]) for context in (256.0, 4096.0))
        return 1e3 * (last - first)

    assert grown(flash_attention=False) == pytest.approx(measured, rel=0.25)
    assert grown() < 0.3 * measured


def test_cards_without_matrix_units_stay_below_their_peaks():
    # A P100 sums in 16 bit at twice its rate in 32 bit and has no INT8 products; a GTX 1080 Ti has these,
    # and multiplies 16-bit weights in 32 bit.
    for name, weights, peak in (
        ("P100 PCIe 16GB", "gguf_q4_k_m", 0.75 * 18.7e12),
        ("P100 PCIe 16GB", "gguf_f16", 0.95 * 18.7e12),
        ("GTX 1080 Ti", "gguf_f16", 0.95 * 11.34e12),
    ):
        one = plan("meta-llama/Llama-3.1-8B-Instruct", name, weights)
        took = float(seconds(one, 0.0, 0.0, 512.0)[EXPECTED][0])
        products = 512 * 2 * 6.98e9  # of the layers; the head multiplies one token
        assert products / took < peak, (name, weights)


def test_two_dies_and_formats_nobody_measured_are_as_fast_as_their_kin():
    def rate(device, weights="gguf_q4_k_m"):
        one = plan("meta-llama/Llama-3.1-8B-Instruct", device, weights)
        return 1 / float(seconds(one, 1.0, 256.0)[EXPECTED][0])

    # 819 and 800 GB/s behind two dies each; one generation apart.
    assert 1.0 < rate("Apple M3 Ultra") / rate("Apple M2 Ultra") < 1.15
    # A smaller file of as many bits is not slower by more than the scatter of the measurements.
    for device in ("RTX 4090", "RTX 5090", "Apple M3 Max (40-core GPU)", "Apple M2 Max"):
        assert 0.97 < rate(device, "gguf_q4_0") / rate(device) < 1.1, device
