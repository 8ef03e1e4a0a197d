"""The time figures of the teaching articles, in textbook mode, and why the engine differs.

Source: the two articles behind the project ("Performance from first principles": 7B FP16 = 14 GB,
RTX 4090 about 1,000 GB/s, H100 3.35 TB/s; "Inference basics": 100 ms a token, 2,000 tokens).
"""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.quantities import EXPECTED
from core.serving.steady_state import closed_loop, open_loop, phases, prepare
from core.spec.accelerator import Accelerator, PeakTflops
from core.spec.architecture import Architecture, Attention, DenseMlp, LayerGroup
from core.spec.engine import Engine, Precision
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.workload import Workload

SEVEN_B = Architecture(
    hidden=4096,
    vocabulary=32000,
    groups=(
        LayerGroup(
            count=32,
            token_mixer=Attention(heads=32, kv_heads=32, head_dim=128),
            channel_mixer=DenseMlp(intermediate=11008),
        ),
    ),
    stated_parameters=7_000_000_000,
)
ARTICLE_4090 = Accelerator(
    name="RTX-4090",
    architecture="Ada Lovelace",
    memory_gb_nominal=24.0,
    memory_bandwidth_gbps=1000.0,
    peak_tflops=PeakTflops(fp16=165.2),
)


def scenario(device=ARTICLE_4090, engine="textbook", prompt=2048, output=2000):
    return Scenario(
        model=Model(name="7b_model", max_context=4096, architecture=SEVEN_B),
        accelerator=device,
        precision=Precision(weights="fp16", kv_cache="fp16"),
        engine=Engine(name=engine),
        workload=Workload(prompt_tokens=prompt, output_tokens=output),
    )


def at(users, device=ARTICLE_4090, engine="textbook", **lengths):
    return closed_loop(prepare(scenario(device, engine, **lengths)), np.array([float(users)]), 1e6)


def test_decode_on_a_4090_takes_14_ms_about_70_tokens_per_second():
    curve = at(1)
    assert curve.time_per_output_token[EXPECTED, 0] == pytest.approx(0.014)
    assert 1 / curve.time_per_output_token[EXPECTED, 0] == pytest.approx(70, rel=0.03)


def test_decode_on_an_h100_takes_about_4_ms():
    assert at(1, load_accelerator("H100 SXM5 80GB")).time_per_output_token[EXPECTED, 0] == pytest.approx(
        0.004, rel=0.06
    )


def test_batch_of_four_reaches_about_280_tokens_per_second():
    """Throughput = bandwidth x batch / weights."""
    assert at(4).output_tokens_per_second[EXPECTED, 0] == pytest.approx(280, rel=0.03)


def test_100_ms_a_token_makes_2000_tokens_last_200_s():
    """A device that reads 14 GB in 100 ms."""
    slow = ARTICLE_4090.model_copy(update={"memory_bandwidth_gbps": 140.0})
    curve = at(1, slow)
    assert curve.time_per_output_token[EXPECTED, 0] == pytest.approx(0.1)
    assert 1 / curve.time_per_output_token[EXPECTED, 0] == pytest.approx(10)
    assert curve.time_per_output_token[EXPECTED, 0] * 2000 == pytest.approx(200)


def test_prefill_is_two_flops_a_parameter_and_token():
    """2 N L / compute = 2 x 7e9 x 2048 / 165.2e12; the article's own script multiplies by bytes, wrongly."""
    assert at(1).time_to_first_token[EXPECTED, 0] == pytest.approx(2 * 7e9 * 2048 / 165.2e12)


def test_batch_stops_paying_where_compute_takes_over():
    """Decode = max(weights / bandwidth, 2 N b / compute): they meet at b = 165.2e12 / 1e12 = 165."""
    curve = closed_loop(prepare(scenario()), np.array([160.0, 330.4]), 1e9)
    assert curve.time_per_output_token[EXPECTED] == pytest.approx([0.014, 0.028])


def test_textbook_has_no_range_and_names_its_bounds():
    curve = at(3)
    assert (curve.time_per_output_token[0] == curve.time_per_output_token[2]).all()
    prefill, decode = phases(prepare(scenario()), 1.0)
    assert (prefill.bottleneck, decode.bottleneck) == ("compute", "bandwidth")


def test_textbook_open_loop_follows_littles_law_and_its_ceiling():
    service = prepare(scenario())
    curve = open_loop(service, np.array([0.01, 1e4]), 1e6)
    assert curve.stable.tolist() == [1, 0]
    life = curve.time_to_first_token[EXPECTED, 0] + 1999 * curve.time_per_output_token[EXPECTED, 0]
    assert curve.users[0] == pytest.approx(0.01 * life, rel=1e-3)


def test_engine_is_slower_for_the_reasons_the_textbook_leaves_out():
    """Achieved bandwidth below peak, cache reads, kernel starts: at least 0.7 of the peak."""
    book, engine = at(1, prompt=512, output=64), at(1, engine="vllm", prompt=512, output=64)
    ratio = engine.time_per_output_token[EXPECTED, 0] / book.time_per_output_token[EXPECTED, 0]
    assert 1.05 < ratio < 1 / 0.7
    _, decode = phases(prepare(scenario(engine="vllm")), 1.0)
    assert decode.bottleneck == "bandwidth"
    assert decode.shares["launch"] > 0
