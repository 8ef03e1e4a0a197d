"""Files of every schema version that was ever published open for ever; none of them may be changed."""

import hashlib
import json
from pathlib import Path

import pytest

from core.estimator import estimate
from core.files import migrations
from core.files.opening import open_document

KEPT = Path(__file__).with_name("kept")
# Version → what the file is, so that nobody mends the file in place of the program.
SUMS = {1: "2b142037bf5361473ba3325154e6dd86a5479daafdb4eedaf3b746052f0c9440"}


def test_there_is_one_of_every_version() -> None:
    assert set(SUMS) == set(range(1, migrations.CURRENT_SCHEMA + 1))


@pytest.mark.parametrize("version", sorted(SUMS))
def test_it_opens_and_means_what_it_meant(version: int) -> None:
    path = KEPT / f"schema-{version}.json"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == SUMS[version]
    assert json.loads(path.read_bytes())["schema"] == version
    scenario = open_document(path).scenario
    assert scenario.model.name == "Qwen3-32B"
    assert scenario.accelerator.memory_mib_reported == 24 * 1024
    assert (scenario.deployment.accelerators, scenario.deployment.tensor_parallel) == (2, 2)
    assert (scenario.workload.users, scenario.workload.prompt_tokens) == (16, 4096)
    assert scenario.targets.time_to_first_token_s == 4.0
    assert estimate(scenario).ledger.fits
