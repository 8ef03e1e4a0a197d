"""Memory plans at many values of an input are those that the engine's rules make one by one."""

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.memory.build import plan_of_many, simply_over, sizes_of
from core.planning.explore_axes import axis_for
from core.planning.explore_memory import plans_of, plans_of_sizes
from core.spec.change import with_values
from core.spec.scenario import Scenario

ENGINES = {
    "textbook": {},
    "transformers": {"engine.version": "4.50"},
    "trtllm": {"engine.version": "1.0"},
    "sglang": {"engine.version": "0.5"},
    "llamacpp": {
        "engine.version": "b6000",
        "precision.weights": "gguf_q4_k_m",
        "engine.max_model_len": 32768,
    },
}
NUMBERS = ("budget", "fixed", "caches", "least", "ceiling", "slots", "running")


@pytest.mark.parametrize("engine", ENGINES)
def test_plans_over_an_input_are_those_of_each_value(engine: str) -> None:
    start = Scenario(model=load_model("qwen3-8b"), accelerator=load_accelerator("RTX 4090"))
    base = with_values(start, {"engine.name": engine, **ENGINES[engine]})
    assert simply_over(base)
    for path in simply_over(base):
        axis = axis_for(base, path, 9)
        cells = [axis.apply(base, index) for index in range(len(axis.values))]
        records = [getattr(cell, path.partition(".")[0]) for cell in cells]
        one_by_one = plans_of([plan_of_many(cell) for cell in cells])
        together = plans_of_sizes(sizes_of(base, path, records))
        for name in NUMBERS:
            assert np.array_equal(
                np.broadcast_arrays(getattr(together, name), np.ones(len(cells)))[0],
                np.broadcast_to(getattr(one_by_one, name), len(cells)),
            ), (path, name)


@pytest.mark.parametrize("model", ["qwen3-8b", "google/gemma-3-27b-it", "qwen3-next-80b-a3b", "deepseek-v3"])
@pytest.mark.parametrize("device", ["RTX 4090", "H200 SXM 141GB"])
@pytest.mark.parametrize("sequences", [None, 48])
def test_lengths_of_sglang_are_those_of_each_value(model: str, device: str, sequences: int | None) -> None:
    start = Scenario(model=load_model(model), accelerator=load_accelerator(device))
    chosen = {"engine.name": "sglang", "engine.version": "0.5", "engine.max_num_seqs": sequences}
    base = with_values(start, chosen)
    path = "engine.max_model_len"
    axis = axis_for(base, path, 9)
    cells = [axis.apply(base, index) for index in range(len(axis.values))]
    one_by_one = plans_of([plan_of_many(cell) for cell in cells])
    together = plans_of_sizes(sizes_of(base, path, [cell.engine for cell in cells]))
    for name in NUMBERS:
        assert np.array_equal(
            np.broadcast_to(getattr(together, name), len(cells)), getattr(one_by_one, name)
        ), name
