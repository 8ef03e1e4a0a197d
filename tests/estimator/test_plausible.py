"""What each device of the catalogue reaches of its bandwidth, and in which order.

A step of one 8B stream in 16 bit takes a share of the bound that launches lower the more the faster the
memory is; none reads faster than tables of long reads show, none is slower than its launches explain.
"""

from itertools import pairwise

import numpy as np
import pytest

from core.catalog.accelerators import all_accelerators
from core.catalog.models import load_model
from core.latency.protocol import BOUND
from core.serving.steady_state import prepare
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Workload

MODEL = load_model("meta-llama/Llama-3.1-8B-Instruct")
ENGINES = {"vllm": "bf16", "sglang": "bf16", "trtllm": "bf16"}
DEVICES = all_accelerators()


def devices_of(engine):
    """TensorRT-LLM runs on NVIDIA's alone."""
    return [device for device in DEVICES if engine != "trtllm" or device.vendor == "NVIDIA"]


def shares(engine, device, decoding, context):
    """Of the bound, that a decode step takes; and the profile that says so."""
    scenario = Scenario(
        model=MODEL,
        accelerator=device,
        deployment=Deployment(),
        precision=Precision(weights=ENGINES[engine]),
        engine=Engine(name=engine),
        workload=Workload(prompt_tokens=1024, output_tokens=128),
    )
    plan = prepare(scenario).plan
    point = [np.array([float(v)]) for v in (decoding, context, 0.0, 0.0)]
    seconds = plan.seconds(slice(0, BOUND + 1), *point)[:, 0]
    return float(seconds[BOUND] / seconds[1]), (plan.profile_name, device.memory_type[:4])


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("point", [(1, 2048), (32, 2048), (1, 65_536)], ids=str)
def test_a_decode_step_reaches_what_measured_devices_do(engine, point):
    found = {device.name: shares(engine, device, *point)[0] for device in devices_of(engine)}
    assert not {name: share for name, share in found.items() if not 0.35 <= share <= 0.97}


@pytest.mark.parametrize("engine", ENGINES)
def test_of_one_profile_the_faster_memory_is_used_less(engine):
    classes = {}
    for device in devices_of(engine):
        share, profile = shares(engine, device, 1, 2048)
        classes.setdefault(profile, []).append((device.memory_bandwidth_gbps, share, device.name))
    for found in classes.values():
        ordered = sorted(found)
        for slower, faster in pairwise(ordered):
            assert faster[1] <= slower[1] + 0.005, (slower, faster)
