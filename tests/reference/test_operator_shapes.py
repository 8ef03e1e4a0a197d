"""A profile whose operators recorded their shapes: each part of a layer beside the predicted one."""

import json

import pytest

from core.catalog import models
from core.estimator import estimate
from core.evidence.operator_pairs import rows_of_run
from core.evidence.operator_shapes import matrix_shape, parts_by_shape, shape_of
from core.evidence.readers.detect import read_text
from core.spec.change import with_values

GEMM = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64"
# Llama 3.1 8B by its config.json: 4096 hidden, 32 heads of 128, 8 of keys and values, 14336, 128256 tokens.
LAYER = {"qkv": (4096, 6144), "out": (4096, 4096), "up": (4096, 28672), "down": (14336, 4096)}
HEAD = (4096, 128256)


def trace(parts, steps, link):
    """Events of ``steps`` steps: [operator, dims, kernel, µs] for every part.

    ``link``: how a kernel names its operator.
    """
    events, at = [], 0.0
    for step in range(steps):
        events.append(
            {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "ts": at, "dur": 1}
        )
        for number, (operator, dims, kernel, micro) in enumerate(parts, 1 + step * len(parts)):
            told = {"External id": number, **({"Input Dims": dims} if dims else {})}
            events.append(
                {"ph": "X", "cat": "cpu_op", "name": operator, "pid": 9, "ts": at, "dur": 2, "args": told}
            )
            launch = {"External id": number, "correlation": 7000 + number}
            events.append(
                {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": at, "args": launch}
            )
            args = {link: launch[link], "device": 0}
            events.append(
                {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "ts": at, "dur": micro, "args": args}
            )
            at += micro
    return json.dumps({"schemaVersion": 1, "traceEvents": events})


def parts_of(tokens):
    """A step of 32 layers as PyTorch records it, times in µs by the bytes of each matrix at 2 TB/s."""
    found = []
    for _ in range(32):
        for name, (k, n) in LAYER.items():
            micro = 2.0 * k * n / 2e12 * 1e6
            if name == "down":  # as a linear layer: the matrix is (outputs, inputs)
                found.append(("aten::linear", [[tokens, k], [n, k], []], GEMM, micro))
            else:
                found.append(("aten::mm", [[tokens, k], [k, n]], GEMM, micro))
        found.append(("flash::fwd", [[tokens, 32, 128]], "flash_fwd_kernel", 10.0))
    k, n = HEAD
    return [*found, ("aten::addmm", [[n], [tokens, k], [k, n], [], []], GEMM, 2.0 * k * n / 2e12 * 1e6)]


@pytest.mark.parametrize("link", ["External id", "correlation"])
def test_matrices_are_parted_by_shape_and_a_step_stands_beside_the_predicted_one(scenario, link):
    (run,) = read_text(trace(parts_of(8), 3, link), "trace.json").runs
    point = estimate(scenario)
    rows = {row.kind: row for row in rows_of_run(run, point)}
    predicted = {one.key: one.seconds for one in point.speed.decode.operators}
    for kind, sides in (("projections", ("qkv", "out")), ("mlp", ("up", "down"))):
        elements = 32 * sum(LAYER[name][0] * LAYER[name][1] for name in sides)
        assert rows[kind].step_seconds == pytest.approx(2.0 * elements / 2e12, rel=1e-3)
        assert rows[kind].decode_seconds == pytest.approx(predicted[kind])
        assert rows[kind].calls == 3 * 32 * len(sides)
    assert rows["head"].step_seconds == pytest.approx(2.0 * HEAD[0] * HEAD[1] / 2e12, rel=1e-3)
    assert "matrices" not in rows and rows["attention"].calls == 96
    assert sum(row.measured for row in rows.values()) == pytest.approx(1)
    assert sum(row.decode for row in rows.values()) == pytest.approx(1)


def test_without_shapes_of_the_model_matrices_stay_one_kind(scenario):
    strange = [(op, [[8, 100], [100, 200]] if dims else None, k, t) for op, dims, k, t in parts_of(8)]
    (run,) = read_text(trace(strange, 1, "External id"), "trace.json").runs
    kinds = {row.kind for row in rows_of_run(run, estimate(scenario))}
    assert "matrices" in kinds and "mlp" not in kinds


def test_shapes_on_two_devices_are_halves(scenario):
    whole = parts_by_shape(scenario.model.architecture, 1)
    half = parts_by_shape(scenario.model.architecture, 2)
    assert whole[4096, 6144] == half[4096, 3072] == "projections"
    assert whole[14336, 4096] == half[7168, 4096] == "mlp"
    assert whole[HEAD] == half[4096, 64128] == "head"


def test_no_shape_is_two_operators():
    for listed in models.search_models(""):
        model = models.load_model(listed.id)
        found = parts_by_shape(model.architecture, 1)
        assert all(k > 0 and n > 0 for k, n in found), model.name


@pytest.mark.parametrize(
    ("dims", "shape"),
    [
        ([[1, 4096], [4096, 6144]], (4096, 6144)),
        ([[2, 7, 4096], [6144, 4096], [6144]], (4096, 6144)),
        ([[6144], [1, 4096], [4096, 6144], [], []], (4096, 6144)),
        ([[1, 4096], [5, 6]], None),
        ([[1, 4096]], None),
        ([[1, "x"], [1, 2]], None),
        ("[[1]]", None),
        (None, None),
    ],
)
def test_a_shape_is_read_from_the_dimensions_of_the_inputs(dims, shape):
    assert matrix_shape(dims) == shape


def test_names_without_a_shape_have_none():
    assert shape_of(GEMM) is None and shape_of("x [1×]") is None and shape_of("x [3×4]") == (3, 4)


def test_a_scenario_that_does_not_start_still_shows_the_trace(scenario):
    (run,) = read_text(trace(parts_of(8), 1, "External id"), "trace.json").runs
    too_large = with_values(scenario, {"engine.gpu_memory_utilization": 0.3})
    assert {row.decode for row in rows_of_run(run, estimate(too_large))} == {None}
