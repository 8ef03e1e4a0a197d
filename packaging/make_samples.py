"""Write the samples anew from the catalogue: ``python packaging/make_samples.py``.

Needed when a specification gets a new field or the catalogue a better value; run with the Python of
the private environment.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from core.catalog.accelerators import load_accelerator
from core.catalog.models import load_model
from core.files import scenario_file
from core.spec.deployment import Deployment
from core.spec.engine import Engine, Precision
from core.spec.scenario import Scenario
from core.spec.workload import Targets, Workload

SAMPLES = {
    "1-llama-8b-on-an-rtx-4090": Scenario(
        name="Llama 3.1 8B on an RTX 4090",
        model=load_model("meta-llama/Llama-3.1-8B-Instruct"),
        accelerator=load_accelerator("RTX 4090"),
        engine=Engine(max_model_len=8192),
        workload=Workload(users=8, prompt_tokens=1024, output_tokens=512),
        targets=Targets(time_to_first_token_s=2.0, time_per_output_token_ms=50.0, users=8),
    ),
    "2-qwen3-32b-on-two-rtx-3090": Scenario(
        name="Qwen3-32B on two RTX 3090",
        model=load_model("Qwen/Qwen3-32B"),
        accelerator=load_accelerator("RTX 3090"),
        deployment=Deployment(accelerators=2, tensor_parallel=2),
        precision=Precision(weights="awq_g128"),
        engine=Engine(max_model_len=16384),
        workload=Workload(users=16, prompt_tokens=4096, output_tokens=512),
        targets=Targets(time_to_first_token_s=4.0, time_per_output_token_ms=100.0, users=16),
    ),
    "3-deepseek-v3-on-eight-h200": Scenario(
        name="DeepSeek-V3 on eight H200",
        model=load_model("deepseek-ai/DeepSeek-V3"),
        accelerator=load_accelerator("H200"),
        deployment=Deployment(accelerators=8, tensor_parallel=8),
        precision=Precision(weights="fp8_block"),
        engine=Engine(max_model_len=32768),
        workload=Workload(users=64, prompt_tokens=2048, output_tokens=512),
        targets=Targets(time_to_first_token_s=5.0, time_per_output_token_ms=100.0, users=64),
    ),
}


def main() -> None:
    """Write every sample."""
    for name, scenario in SAMPLES.items():
        path = ROOT / "resources" / "samples" / f"{name}.json"
        scenario_file.save(path, scenario)
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
