"""Every value that was fitted to measured speeds names what it rests on: two models and two sources at least.

Values that nothing measured moves are no fits: they stand where they started.
"""

import json
from pathlib import Path

import pytest

import resources
from core.evidence.grounds import key_of, value_of, values_of, values_of_eras
from core.latency.efficiency import SERVER_ENGINES

EFFICIENCY = Path(resources.__file__).parent / "data" / "efficiency"
PRIORS = EFFICIENCY.parent / "evidence" / "local_priors.json"
PARTS = {"rows", "models", "devices", "sources"}


def tree(name):
    return json.loads((EFFICIENCY / name).read_text(encoding="utf-8"))


def rests_on_several(on):
    return set(on) == PARTS and on["models"] >= 2 and on["sources"] >= 2


FACTORS = tree("factors.json")["factors"]
LOCAL = {path.name: tree(path.name) for path in EFFICIENCY.glob("*.json") if "fractions" in tree(path.name)}


@pytest.mark.parametrize("factor", FACTORS, ids=lambda f: "/".join(map(str, f.values()))[:40])
def test_a_factor_rests_on_two_models_and_two_sources(factor):
    on = factor["fitted_on"]
    assert rests_on_several(on) or (on["rows"] == 0 and factor["value"] == factor["start"]), on


@pytest.mark.parametrize("engine", ["", *SERVER_ENGINES])
def test_a_value_of_the_overheads_rests_on_two_models_and_two_sources(engine):
    stored = tree(f"{engine}_generic.json" if engine else "eras.json")
    values = values_of(engine) if engine else values_of_eras()
    keys = {key_of(value) for value in values}
    assert set(stored["fitted_on"]) == keys
    thin = {key: on for key, on in stored["fitted_on"].items() if on["rows"] and not rests_on_several(on)}
    assert not thin


@pytest.mark.parametrize("engine", SERVER_ENGINES)
def test_no_more_specific_profile_of_a_server_states_overheads_of_its_own(engine):
    """But the exponent that measured kernels have."""
    for path in EFFICIENCY.glob(f"{engine}_*.json"):
        if path.name != f"{engine}_generic.json":
            assert set(tree(path.name).get("overheads", {})) <= {"p"}, path.name


def test_an_era_is_one_value_for_the_engines_it_names():
    for era in tree("eras.json")["eras"]:
        assert era["releases"] and set(era["releases"]) <= set(SERVER_ENGINES)
        assert era["name"] in tree("eras.json")["sources"]
        moved = [key for key in era if key not in ("name", "releases", "separate_prompts")]
        assert all(value_of(tree("eras.json"), f"eras.{key}/{era['name']}") == era[key] for key in moved)


@pytest.mark.parametrize("name", sorted(LOCAL))
def test_a_local_profile_rests_on_two_models_and_two_sources_or_is_never_fitted(name):
    """Where fewer speak for a value the fit leaves it as its parent has it; one uncounted is not fitted."""
    stored = LOCAL[name]
    on = stored.get("fitted_on")
    if on is None:
        priors = json.loads(PRIORS.read_text(encoding="utf-8"))
        assert stored["engine"] not in priors["starts"] and {"launches", "fractions"} <= set(
            stored["sources"]
        )
    else:
        assert on["models"] >= 2 and on["sources"] >= 2
