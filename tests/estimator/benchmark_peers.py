"""One estimate of this program beside one of each peer that installs from PyPI, both timed here.

    pip install llm-flops servcalc vramcalc ridgepoint aiconfigurator
    INFEROMETER_PEERS=/path/to/their/python pytest tests/estimator/benchmark_peers.py -rs

Peers are no part of the project and may live in any Python; run explicitly.
The same question to all, as far as each can be asked: Llama-3.1-8B on one H100, 4096 tokens in, 512 out.
A peer that is not installed, or does not answer, is skipped with its reason.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.serving.steady_state import closed_loop, phases, prepare
from core.spec.scenario import Scenario
from core.spec.workload import Workload

MODEL = "meta-llama/Llama-3.1-8B"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rms_norm_eps": 1e-5,
    "rope_theta": 500000.0,
    "hidden_act": "silu",
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
# Statements that prepare, and one estimate.
PEERS = {
    "llm-flops": ("import llmflops", f"llmflops.estimate('{MODEL}', 8, 4096, 'bf16', 'H100-SXM')"),
    "servcalc": (
        "import servcalc; work = servcalc.Workload(prompt_len=4096, gen_len=512, concurrency=(8,))",
        "servcalc.estimate(CONFIG, 'H100 80GB', workload=work)",
    ),
    "vramcalc": ("import vramcalc", "vramcalc.estimate(CONFIG, mode='inference', batch=8, seq_len=4608)"),
    "ridgepoint": ("import ridgepoint", "ridgepoint.fit('llama-3-8b', 'h100-80gb', ctx=4608, prompt=4096)"),
    "aiconfigurator": (
        "from aiconfigurator.cli.api import cli_estimate as ask",
        # From a folder: by the model's name it would fetch the configuration.
        "ask(FOLDER, 'h100_sxm', batch_size=8, isl=4096, osl=512)",
    ),
}
CHILD = """
import json, os, sys, tempfile, time
CONFIG = json.loads(sys.argv[1])
FOLDER = tempfile.mkdtemp()
with open(os.path.join(FOLDER, "config.json"), "w") as file:
    json.dump(CONFIG, file)
names = {"CONFIG": CONFIG, "FOLDER": FOLDER}
exec(sys.argv[2], names)
run = compile(sys.argv[3], "peer", "eval")
eval(run, names)
times = []
end = time.perf_counter() + 5.0
while len(times) < 200 and (len(times) < 3 or time.perf_counter() < end):
    begun = time.perf_counter()
    eval(run, names)
    times.append(time.perf_counter() - begun)
print(json.dumps(min(times)))
"""


def own_seconds():
    """Seconds of the fastest of 200 whole points: plan, load and both phases."""
    one = Scenario(
        model=load_model("meta-llama/Llama-3.1-8B-Instruct"),
        accelerator=load_accelerator("H100 SXM5 80GB"),
        workload=Workload(prompt_tokens=4096, output_tokens=512, users=8),
    )
    times, users = [], np.array([8.0])
    for _ in range(200):
        begun = time.perf_counter()
        service = prepare(one)
        phases(service, float(closed_loop(service, users, 1e6).running[1, 0]))
        times.append(time.perf_counter() - begun)
    return min(times)


@pytest.mark.parametrize("name", PEERS)
def test_beside_a_peer(name, capsys):
    python = os.environ.get("INFEROMETER_PEERS", sys.executable)
    command = [python, "-c", CHILD, json.dumps(CONFIG), *PEERS[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        pytest.skip(f"{name} gave no estimate: {done.stderr.strip().splitlines()[-1][:200]}")
    peer, own = float(json.loads(done.stdout.strip().splitlines()[-1])), own_seconds()
    with capsys.disabled():
        print(f"\n{name}: {1e6 * peer:.0f} µs one estimate, here {1e6 * own:.0f} µs: ratio {peer / own:.2f}")
    assert own < 5e-3
