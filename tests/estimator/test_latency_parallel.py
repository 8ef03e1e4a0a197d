"""Layouts, drafts and engines: what must hold whatever the numbers are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.catalog.models import all_models, load_model
from core.latency.collectives import all_reduce
from core.latency.efficiency import SERVER_ENGINES, load_links
from core.latency.machine import link_of
from core.latency.speculative import draft_of, tokens_per_step
from core.latency.step import plan_of, step_bound, step_time
from core.model.operator_rows import operators_of
from core.model.operators import Layout
from core.planning.cost import Prices, cost_of, power_watts
from core.quantities import EXPECTED, Range
from core.serving.disaggregated import Pools, disaggregated
from core.serving.finite_run import finite_run
from core.serving.static_batch import static_batch
from core.serving.steady_state import closed_loop, prepare
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.speculative import Speculative
from core.spec.workload import Workload

MODELS = [m.id for m in all_models()][::13]
DEVICES = list(all_accelerators())[::17]
R1, H200 = "deepseek-ai/DeepSeek-V3", "H200 SXM 141GB"
POINT = (np.array([1.0, 9, 64]), 3000.0, np.array([0.0, 700, 4096]), 100.0)


def plan(model, device, engine="vllm", weights="bf16", draft=None, **deployment):
    device = load_accelerator(device) if isinstance(device, str) else device
    arch = load_model(model).architecture
    layout = Deployment(accelerators=64, **deployment)
    return plan_of(arch, device, layout, Precision(weights=weights), Engine(name=engine), draft)


def scenario(engine="vllm", users=32, draft=None, **deployment):
    return Scenario(
        model=load_model(R1),
        accelerator=load_accelerator(H200),
        deployment=Deployment(**{"accelerators": 8, "tensor_parallel": 8, **deployment}),
        precision=Precision(weights="fp8_block"),
        engine=Engine(name=engine),
        workload=Workload(prompt_tokens=2000, output_tokens=500, users=users),
        speculative=draft or Speculative(),
    )


@pytest.mark.parametrize("engine", SERVER_ENGINES)
@pytest.mark.parametrize("model", MODELS)
def test_bound_and_order_for_every_engine_and_layout(engine, model):
    for index, device in enumerate(DEVICES):
        layout = [
            {"tensor_parallel": 4},
            {"tensor_parallel": 4, "expert_parallel": 4},
            {"tensor_parallel": 4, "attention_data_parallel": 4, "expert_parallel": 4},
            {"tensor_parallel": 2, "pipeline_parallel": 3},
            {"tensor_parallel": 16},
        ][index % 5]
        p = plan(model, device, engine, **layout)
        low, expected, high = step_time(p, *POINT)
        assert np.isfinite(high).all() and (low > 0).all()
        assert (low <= expected).all() and (expected <= high).all()
        assert (step_bound(p, *POINT) <= low * (1 + 1e-9)).all()
        parts = p.parts(9.0, 3000.0, 700.0, 100.0)
        whole = float(step_time(p, 9.0, 3000.0, 700.0, 100.0)[EXPECTED])
        assert sum(part.seconds for part in parts) == pytest.approx(whole)


@settings(max_examples=40)
@given(
    st.sampled_from(MODELS),
    st.sampled_from(SERVER_ENGINES),
    st.floats(1, 400),
    st.floats(1, 40_000),
    st.floats(1, 8000),
    st.floats(1.0, 2.0),
)
def test_more_work_is_never_faster(model, engine, n, context, prefill, more):
    p = plan(model, "B200 SXM", engine, tensor_parallel=8, expert_parallel=8, attention_data_parallel=8)
    base = step_time(p, n, context, prefill, 0.0)
    for bigger in ((n * more, context, prefill, 0.0), (n, context * more, prefill, 0.0)):
        assert (step_time(p, *bigger) >= base * (1 - 1e-9)).all()
    assert (step_time(p, n, context, prefill * more, 0.0) >= base * (1 - 1e-9)).all()


@pytest.mark.parametrize("engine", SERVER_ENGINES)
@pytest.mark.parametrize("model", MODELS[::4])
def test_a_better_device_is_never_slower(engine, model):
    base = load_accelerator("H200 SXM 141GB")
    rates = {k: 1.4 * v for k, v in base.peak_tflops.model_dump().items() if v is not None}
    better = [
        base.model_copy(update={"memory_bandwidth_gbps": 1.4 * base.memory_bandwidth_gbps}),
        base.model_copy(update={"peak_tflops": base.peak_tflops.model_copy(update=rates)}),
        base.model_copy(update={"scale_up": base.scale_up.model_copy(update={"gbps_per_direction": 900.0})}),
    ]
    for layout in ({"tensor_parallel": 8}, {"tensor_parallel": 8, "attention_data_parallel": 8}):
        slow = step_time(plan(model, base, engine, **layout), *POINT)
        for device in better:
            assert (step_time(plan(model, device, engine, **layout), *POINT) <= slow * (1 + 1e-9)).all()


@pytest.mark.parametrize("engine", SERVER_ENGINES)
def test_no_steps_in_batch_and_length(engine):
    p = plan(R1, H200, engine, tensor_parallel=8, expert_parallel=8)
    n = np.geomspace(1, 1000, 300)
    for near, far in (
        (step_time(p, n, 4000.0), step_time(p, n * 1.0001, 4000.0)),
        (step_time(p, 8.0, 4000.0, n * 8), step_time(p, 8.0, 4000.0, n * 8.0008)),
    ):
        assert np.abs(far / near - 1).max() < 4e-4


def test_dealing_out_experts_keeps_their_bytes_and_adds_no_attention():
    arch = load_model(R1).architecture
    whole = operators_of(arch, "fp8_block", "bf16", Layout(8))
    dealt = operators_of(arch, "fp8_block", "bf16", Layout(8, expert_parallel=8))
    copied = operators_of(arch, "fp8_block", "bf16", Layout(8, data_parallel=8, expert_parallel=8))
    rows = {name: {r.key: r for r in ops.rows} for name, ops in (("w", whole), ("d", dealt), ("c", copied))}
    assert rows["w"]["experts"].bytes == rows["d"]["experts"].bytes == rows["c"]["experts"].bytes
    assert rows["c"]["projections"].bytes[0] > 4 * rows["w"]["projections"].bytes[0]
    assert dealt.expert_width == 8 * whole.expert_width == 2048
    assert [e.key for e in copied.exchanges] == ["all_to_all"]
    assert [e.key for e in whole.exchanges] == ["all_reduce"]


def test_stages_carry_more_requests_for_a_longer_life():
    flat, staged = (
        closed_loop(prepare(scenario(accelerators=16, **kind)), np.array([1.0, 256.0]), 4e6)
        for kind in ({"tensor_parallel": 16}, {"pipeline_parallel": 2})
    )
    alone, pooled = staged.time_per_output_token[EXPECTED]
    one = closed_loop(prepare(scenario()), np.array([1.0, 256.0]), 4e6).time_per_output_token[EXPECTED]
    assert alone == pytest.approx(one[0], rel=0.02)  # a lone token passes all layers one by one
    assert pooled < one[1]  # half the requests in a step
    assert (staged.output_tokens_per_second[EXPECTED] > 0).all()
    assert np.isfinite(flat.time_to_first_token).all()


def test_slower_networks_between_nodes():
    inside = step_time(plan(R1, H200, tensor_parallel=8), 32.0, 2000.0)
    across = step_time(plan(R1, H200, tensor_parallel=16), 32.0, 2000.0)
    assert (across > 0.8 * inside).all()  # twice the devices gain little over a network
    rate = {
        link: float(
            step_time(
                plan("meta-llama/Llama-3.1-8B-Instruct", "L40S", tensor_parallel=2, link=link), 8.0, 500.0
            )[1]
        )
        for link in ("auto", "pcie", "pcie_host")
    }
    assert rate["auto"] == rate["pcie"] < rate["pcie_host"]


def test_pcie_topologies_reach_the_rates_that_were_measured():
    """All-reduces of 16 MiB among L40S (PCIe 4): two servers, in ms (public tables of NCCL and vLLM)."""
    device, message = load_accelerator("L40S"), 16 * 2**20
    for topology, devices, measured in (
        ("pcie_sockets", 2, 0.89),
        ("pcie_sockets", 4, 6.8),
        ("pcie_sockets", 8, 17.0),
        ("pcie_switch", 4, 1.6),
        ("pcie_switch", 8, 1.5),
    ):
        place = Deployment(accelerators=devices, tensor_parallel=devices, link=topology)
        link = link_of(device, place, devices, False)
        cost = all_reduce(load_links()[link.kind], link, devices)
        predicted = cost.start + cost.ring_start + cost.ring * message
        assert 0.7 < 1e3 * predicted / measured < 1.35


@pytest.mark.parametrize("devices", [4, 8])
def test_a_worse_topology_is_never_faster(devices):
    step = [
        float(
            step_time(
                plan("meta-llama/Llama-3.1-8B-Instruct", "L40S", tensor_parallel=devices, link=link),
                8.0,
                500.0,
                512.0,
            )[1]
        )
        for link in ("pcie_switch", "pcie", "pcie_sockets")
    ]
    assert step == sorted(step)


@pytest.mark.parametrize(
    ("kind", "tokens", "acceptance", "gain"), [("mtp", 3, 0.74, 2.69), ("ngram", 2, 0.5, 1.75)]
)
def test_tokens_of_a_verified_step(kind, tokens, acceptance, gain):
    """1 + a + a^2 + ... ; none accepted yields the one token of any step."""
    assert tokens_per_step(Speculative(kind=kind, tokens=tokens, acceptance=acceptance)) == pytest.approx(
        gain, abs=0.01
    )
    assert tokens_per_step(Speculative(kind=kind, tokens=tokens, acceptance=0.0)) == 1.0
    assert tokens_per_step(None) == tokens_per_step(Speculative()) == 1.0


def test_drafts_pay_at_low_load_and_less_under_full_load():
    """MTP of a mixture of experts: served DeepSeek-R1 gained 1.4-1.9 times at 4 users, 1.2-1.7 at 64."""
    draft = Speculative(kind="mtp", tokens=3, acceptance=0.8)
    users = np.array([4.0, 64.0, 512.0])
    plain = closed_loop(prepare(scenario("trtllm")), users, 3e6).time_per_output_token[EXPECTED]
    fast = closed_loop(prepare(scenario("trtllm", draft=draft)), users, 3e6).time_per_output_token[EXPECTED]
    gain = plain / fast
    assert 1.2 < gain[0] < 2.4
    assert gain[2] < gain[0] * 1.2
    useless = Speculative(kind="mtp", tokens=3, acceptance=0.0)
    slow = closed_loop(prepare(scenario("trtllm", draft=useless)), users, 3e6).time_per_output_token[EXPECTED]
    assert (slow > plain).all()


def test_what_a_draft_weighs():
    arch = load_model(R1).architecture
    assert draft_of(arch, Speculative(kind="ngram")) is None
    assert draft_of(arch, Speculative()) is None
    own = draft_of(arch, Speculative(kind="draft_model", draft_parameters=10**9, draft_layers=16))
    assert (own.parameters, own.layers) == (1e9, 16)
    module = draft_of(arch, Speculative(kind="mtp"))
    assert 0 < module.parameters < 4e9


@pytest.mark.parametrize("engine", SERVER_ENGINES)
def test_engines_serve(engine):
    curve = closed_loop(prepare(scenario(engine)), np.geomspace(1, 400, 60), 3e6)
    for values in (curve.time_to_first_token, curve.time_per_output_token):
        assert np.isfinite(values).all() and (values > 0).all()
        assert (np.diff(values, axis=0) >= -1e-12).all()
        assert (np.diff(values[EXPECTED]) >= -5e-3 * values[EXPECTED, 1:]).all()


def test_a_finite_run_is_short_of_the_steady_rate_and_ends():
    service = prepare(scenario())
    full = closed_loop(service, np.array([400.0]), 3e5).requests_per_second[EXPECTED, 0]
    rates = full * np.array([0.01, 0.5, 4.0])
    curve = finite_run(service, rates, 200.0, 3e5)
    for values in (curve.time_to_first_token, curve.users, curve.output_tokens_per_second):
        assert np.isfinite(values).all() and (values > 0).all()
    done = curve.requests_per_second[EXPECTED]
    assert (done <= rates * (1 + 1e-9)).all()
    assert done[2] <= full * 1.05
    assert curve.queue_seconds[EXPECTED, 0] == 0 < curve.queue_seconds[EXPECTED, 2]


def test_pools_apart_never_disturb_a_decode():
    """TPOT is the bare step; more readers shorten the first token only; the cache takes its time to cross."""
    service = prepare(scenario())
    users = np.array([1.0, 32.0, 256.0])
    one = Pools(service.plan, 1, service.plan, 1, 512.0, 70_000.0, 50e9)
    two = Pools(service.plan, 2, service.plan, 1, 512.0, 70_000.0, 50e9)
    slow, fast = (disaggregated(p, service.lengths, users) for p in (one, two))
    together = closed_loop(service, users, 3e6)
    assert (slow.time_per_output_token[EXPECTED, 1:] < together.time_per_output_token[EXPECTED, 1:]).all()
    assert (fast.time_to_first_token[EXPECTED] <= slow.time_to_first_token[EXPECTED] * (1 + 1e-9)).all()
    assert (fast.requests_per_second >= slow.requests_per_second * (1 - 1e-9)).all()
    assert slow.transfer_seconds == pytest.approx(2000 * 70_000 / 50e9)
    assert (np.diff(slow.requests_per_second) > 0).all() and (slow.reading_share < 1).all()
    life = slow.time_to_first_token + 499 * slow.time_per_output_token
    np.testing.assert_allclose((slow.requests_per_second * life)[EXPECTED], users, rtol=0.02)


def test_a_static_batch_reads_then_decodes():
    service = prepare(scenario())
    times = static_batch(service.plan, service.lengths, np.array([1.0, 8.0, 64.0]))
    assert (np.diff(times.total, axis=1) > 0).all() and (np.diff(times.total, axis=0) >= 0).all()
    assert (times.first_token < times.total).all()
    rate = times.throughput(np.array([1.0, 8.0, 64.0]), 500.0)[EXPECTED]
    assert (np.diff(rate) > 0).all()


def test_cost_and_energy():
    """1 kW and 2 $/h at 1,000 tokens/s: 1 J a token, 0.556 $ per million tokens."""
    device = load_accelerator("H100 SXM5 80GB").model_copy(update={"tdp_w": 1000 / 0.65})
    rate = Range(800.0, 1000.0, 1250.0)
    assert power_watts(device, 1, 0.0) == pytest.approx(1000.0)
    cost = cost_of(device, 1, rate, 0.0, Prices(rent_usd_per_hour=2.0, facility_factor=1.0))
    assert cost.joules_per_token.expected == pytest.approx(1.0)
    assert cost.usd_per_million_tokens.expected == pytest.approx(2e6 / 3.6e6, rel=1e-6)
    assert (
        cost.usd_per_million_tokens.low
        < cost.usd_per_million_tokens.expected
        < cost.usd_per_million_tokens.high
    )
    bought = cost_of(device, 2, rate, 1.0, Prices(purchase_usd=26_298.0, lifetime_years=3.0))
    assert bought.usd_per_hour == pytest.approx(2.0 + bought.watts / 1000 * 0.15)
    bare = device.model_copy(update={"cloud_usd_per_hour": None, "price_usd": None})
    assert cost_of(bare, 1, rate, 0.5).usd_per_million_tokens is None
