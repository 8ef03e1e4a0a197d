"""CPU time of whole explorations, run explicitly: every pair of inputs that the workspace offers.

    pytest tests/estimator/benchmark_explore.py -k samples        the first sample, users and arrivals
    python tests/estimator/benchmark_explore.py --help            other scenarios, results and pairs

An axis has as many points as in the window (200 where it has numbers; whole numbers come once each).
A pair that takes longer than the limit is cut off and told from the rows that are done.
"""

import argparse
import itertools
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the window does

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.files import scenario_file
from core.planning.explore import FINE, ResultKey, explore_grid
from core.planning.explore_axes import axes_for, axis_for
from core.spec.change import with_values
from core.spec.scenario import Scenario

SAMPLES = sorted((Path(__file__).resolve().parents[2] / "resources" / "samples").glob("*.json"))
RESULT: ResultKey = "output_throughput"


def scenarios() -> dict[str, Scenario]:
    """Scenarios by a short name."""
    first, second, third = (scenario_file.load(path) for path in SAMPLES[:3])
    h200 = load_accelerator("H200 SXM 141GB")
    windows = Scenario(model=load_model("google/gemma-3-27b-it"), accelerator=h200)
    return {
        "users": first,
        "arrivals": with_values(first, {"workload.load": "requests"}),
        "draft": with_values(first, {"speculative.kind": "ngram"}),
        "two": second,
        "experts": third,
        "experts-arrivals": with_values(third, {"workload.load": "requests"}),
        "windows": windows,
        "sglang": with_values(first, {"engine.name": "sglang", "engine.version": "0.5"}),
        "trtllm": with_values(first, {"engine.name": "trtllm", "engine.version": "1.0"}),
        "llamacpp": with_values(
            first, {"engine.name": "llamacpp", "engine.version": "b6000", "precision.weights": "gguf_q4_k_m"}
        ),
        "transformers": with_values(first, {"engine.name": "transformers", "engine.version": "4.50"}),
        "textbook": with_values(first, {"engine.name": "textbook"}),
    }


def seconds_of(
    base: Scenario, pair: tuple[str, str], result: ResultKey, limit: float
) -> tuple[float, bool, str]:
    """CPU seconds of one thread for a whole grid, whether they are told from a part, and the grid's shape."""
    x, y = (axis_for(base, path, FINE) for path in pair)
    begun = time.thread_time()
    share = 1.0
    for done, _grid in explore_grid(base, x, y, result):
        share = done
        if time.thread_time() - begun > limit:
            break
    spent = time.thread_time() - begun
    return spent / share, share < 1, f"{len(y.values)}x{len(x.values)}"


def report(name: str, result: ResultKey, limit: float, only: str = "") -> None:
    """Print a line for each pair, the slowest last."""
    base = scenarios()[name]
    pairs = [p for p in itertools.combinations(axes_for(base), 2) if only in p or not only]
    seconds_of(base, pairs[0], result, limit)  # what is loaded once
    found = sorted((*seconds_of(base, pair, result, limit), pair) for pair in pairs)
    for seconds, cut, shape, (across, down) in found:
        print(f"{name:18} {seconds:8.2f} s{' (told)' if cut else '       '} {shape:>8}  {across} × {down}")
    over = sum(seconds > 1 for seconds, *_ in found)
    print(f"{name:18} {len(found)} pairs, {over} above 1 s, all together {sum(f[0] for f in found):.1f} s")


def test_samples(capsys):
    with capsys.disabled():
        print()
        for name in ("users", "arrivals"):
            report(name, RESULT, 5.0)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["users", "arrivals"], help=", ".join(scenarios()))
    parser.add_argument("--result", default=RESULT)
    parser.add_argument("--limit", type=float, default=5.0, help="CPU seconds after which a pair is cut off")
    parser.add_argument("--only", default="", help="pairs with this input")
    given = parser.parse_args()
    for name in given.names:
        report(name, given.result, given.limit, given.only)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
