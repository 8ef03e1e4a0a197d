"""Scenario files: what is written is read back the same, byte for byte."""

import json
from pathlib import Path

import pytest

from core.errors import UnreadableFile
from core.files import migrations, scenario_file
from core.files.opening import open_document
from core.spec.accelerator import Accelerator, PeakTflops
from core.spec.architecture import (
    Architecture,
    Attention,
    DenseMlp,
    LatentAttention,
    LayerGroup,
    MixtureOfExperts,
    NoMixer,
    RecurrentMixer,
    SparseIndexer,
)
from core.spec.model import Model
from core.spec.scenario import Scenario
from core.spec.workload import Targets

_MLP = DenseMlp(intermediate=4096)
EVERY_LAYER = Architecture(
    hidden=1024,
    vocabulary=1000,
    groups=(
        LayerGroup(count=1, token_mixer=Attention(heads=8, kv_heads=2, head_dim=64), channel_mixer=_MLP),
        LayerGroup(
            count=3,
            token_mixer=LatentAttention(
                heads=8,
                kv_rank=512,
                nope_head_dim=128,
                rope_head_dim=64,
                value_head_dim=128,
                indexer=SparseIndexer(heads=4, head_dim=64, top_k=2048),
            ),
            channel_mixer=MixtureOfExperts(experts=8, experts_per_token=2, intermediate=256),
        ),
        LayerGroup(
            count=1,
            token_mixer=RecurrentMixer(
                family="mamba2", heads=8, state_elements=8192, projection_parameters=10**6
            ),
            channel_mixer=_MLP,
        ),
        LayerGroup(count=2, token_mixer=NoMixer(), channel_mixer=_MLP),
    ),
)


@pytest.fixture
def every_kind() -> Scenario:
    """A scenario with every kind of layer, a name in two scripts, and targets taken away."""
    return Scenario(
        name='Küche 显存 "quoted" \\ \u2028',
        model=Model(name="m", max_context=8192, architecture=EVERY_LAYER),
        accelerator=Accelerator(
            name="a",
            memory_gb_nominal=24,
            memory_bandwidth_gbps=0.1 + 0.2,
            peak_tflops=PeakTflops(fp16=165.2),
        ),
        targets=Targets(time_to_first_token_s=None, time_per_output_token_ms=None, users=None),
    )


def test_every_field_survives(every_kind: Scenario) -> None:
    written = scenario_file.dumps(every_kind)
    read = scenario_file.loads(written)
    assert read == every_kind
    assert scenario_file.dumps(read) == written


def test_samples_are_as_this_program_writes_them(samples: list[Path]) -> None:
    """After a new field or a better value in the catalogue: packaging/make_samples.py."""
    assert len(samples) == 3
    for sample in samples:
        assert scenario_file.dumps(scenario_file.load(sample)) == sample.read_bytes(), sample.name


def test_a_target_taken_away_does_not_come_back(every_kind: Scenario) -> None:
    """Its default is not None: leaving None out of the file would restore the default."""
    assert scenario_file.loads(scenario_file.dumps(every_kind)).targets.time_to_first_token_s is None


def test_the_file_is_readable(every_kind: Scenario) -> None:
    text = scenario_file.dumps(every_kind).decode()
    assert text.startswith('{\n  "format": "inferometer-scenario",\n  "schema": 1,\n  "name": "Küche 显存')
    assert text.endswith("}\n")


def test_order_spacing_and_byte_order_mark_do_not_matter(every_kind: Scenario) -> None:
    tree = json.loads(scenario_file.dumps(every_kind))
    turned = dict(reversed(tree.items()))
    assert scenario_file.loads(b"\xef\xbb\xbf" + json.dumps(turned).encode()) == every_kind


def test_left_out_sections_take_their_defaults(every_kind: Scenario) -> None:
    tree = json.loads(scenario_file.dumps(every_kind))
    del tree["workload"], tree["notes"]
    assert scenario_file.loads(json.dumps(tree).encode()).workload.users == 8


def test_a_newer_file_is_refused_politely(every_kind: Scenario, tmp_path: Path) -> None:
    """Whatever else a newer schema may hold, its number is what the person is told."""
    tree = json.loads(scenario_file.dumps(every_kind)) | {"schema": 7, "quantum": {"qubits": 3}}
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(tree))
    with pytest.raises(UnreadableFile) as refused:
        open_document(path)
    (problem,) = refused.value.problems
    assert problem.code == "file.newer"
    assert problem.values == {"schema": 7, "known": migrations.CURRENT_SCHEMA}


def test_every_older_schema_has_its_step() -> None:
    assert sorted(migrations.STEPS) == list(range(1, migrations.CURRENT_SCHEMA))
