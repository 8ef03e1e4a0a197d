"""Results beside a scenario: exact round trip, bounded size, what is broken is refused with a reason."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from core.errors import UnreadableFile
from core.files import results_file, scenario_file
from core.files.results_file import KeptLoad, KeptModels, KeptResults, KeptRun, KeptSearch
from core.planning.capacity_search import ReplicasFound, find_capacity
from core.planning.recommend import recommend
from core.planning.what_runs import what_runs
from core.serving.simulator import simulate
from core.spec.change import with_values
from core.spec.scenario import Scenario


@pytest.fixture(scope="module")
def kept(scenario: Scenario) -> KeptResults:
    short = with_values(scenario, {"simulation.duration_s": 60.0, "workload.output_tokens": 32})
    *_, found = find_capacity(short, 100)
    *_, state = recommend(with_values(short, {"search.most_accelerators": 2}), verify=1)
    *_, models = what_runs(short)
    copies = ReplicasFound(2, 2, found.trials[0], True)
    return KeptResults(
        KeptRun(short, simulate(short), "", 0.5),
        KeptLoad(short, found, found.trials, 1, copies),
        KeptSearch(short, state, 0.2),
        KeptModels(short, models, 0.3),
    )


def test_everything_comes_back(kept: KeptResults) -> None:
    back = results_file.loads(results_file.dumps(kept))
    assert back.run and back.load and back.search and kept.run and kept.load and kept.search
    old, new = kept.run.result, back.run.result
    assert new.scenario == old.scenario and new.time_to_first_token == old.time_to_first_token
    assert np.array_equal(new.over.cache, old.over.cache)
    assert np.array_equal(new.records.finish, old.records.finish) and len(new.records) == old.asked
    assert (back.load.found, back.load.trials, back.load.replicas) == (
        kept.load.found, kept.load.trials, kept.load.replicas,
    )  # fmt: skip
    offers, before = back.search.state.offers, kept.search.state.offers
    assert [o.scenario for o in offers] == [o.scenario for o in before] and offers
    assert [o.combination for o in offers] == [o.combination for o in before]
    sure, was = offers[0].verified, before[0].verified
    assert sure and was and sure.time_per_output_token == was.time_per_output_token
    assert back.search.state.failures == kept.search.state.failures
    assert back.models and kept.models and len(back.models.state.runs) > 20
    assert back.models.state == kept.models.state


def test_the_size_is_bounded(kept: KeptResults, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results_file, "MOST_REQUESTS", 3)
    back = results_file.loads(results_file.dumps(KeptResults(kept.run)))
    assert back.run and kept.run and len(kept.run.result.records) > 3
    assert len(back.run.result.records) == 0 and back.run.result.done == kept.run.result.done
    assert len(results_file.dumps(kept)) < 2_000_000


def test_files_without_results_and_parts_stay_as_they_are(kept: KeptResults) -> None:
    only = results_file.loads(results_file.dumps(replace(kept, load=None, search=None, models=None)))
    assert only.run and only.load is None and only.search is None and only.models is None
    assert kept.run and "results" not in json.loads(scenario_file.dumps(kept.run.scenario))


def test_it_lies_beside_the_scenario(kept: KeptResults, tmp_path: Path) -> None:
    results_file.save(tmp_path / "a.inferometer", kept)
    assert [p.name for p in tmp_path.iterdir()] == ["a.inferometer.results"]
    assert results_file.load(tmp_path / "a.inferometer").run


def test_what_is_broken_is_refused(kept: KeptResults) -> None:
    tree = json.loads(results_file.dumps(kept))
    run = tree["run"]
    spoilt = (
        [],
        {**tree, "schema": 2},
        {**tree, "run": {**run, "seconds": "soon"}},
        {**tree, "run": {**run, "result": {**run["result"], "records": {}}}},
        {**tree, "run": {**run, "scenario": {}}},
        {**tree, "search": {**tree["search"], "devices": []}},
        {**tree, "models": {**tree["models"], "state": {**tree["models"]["state"], "total": "many"}}},
        {**tree, "run": {**run, "result": {**run["result"], "over": None}}},
        {**tree, "run": 3},
    )
    for one in spoilt:
        with pytest.raises(UnreadableFile):
            results_file.loads(json.dumps(one).encode())
    for cut in (0, 10, 5000):
        with pytest.raises(UnreadableFile):
            results_file.loads(results_file.dumps(kept)[:cut])


def test_settings_of_an_offer_keep_their_kinds(kept: KeptResults) -> None:
    """A switch, a share, a number and a word: none becomes another."""
    assert kept.search
    state = kept.search.state
    settings = (("a", True), ("b", 0.95), ("c", 2048), ("d", "mtp"))
    offer = replace(state.offers[0], combination=replace(state.offers[0].combination, settings=settings))
    part = replace(kept.search, state=replace(state, offers=(offer,)))
    back = results_file.loads(results_file.dumps(KeptResults(search=part)))
    assert back.search
    read = back.search.state.offers[0].combination.settings
    assert read == settings and [type(v) for _, v in read] == [bool, float, int, str]
