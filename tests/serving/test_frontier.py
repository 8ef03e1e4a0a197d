"""The frontier of offers: what nothing beats, among those that no simulation has refused."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.files import scenario_file
from core.planning.offers import _frontier
from core.planning.recommend import recommend
from core.planning.verify import confirmed, standing, verified_one
from core.spec.change import with_values

small = st.integers(1, 5)
kinds = st.lists(st.tuples(st.none() | small, small, small), max_size=25)


@given(kinds)
def test_it_is_all_that_no_other_beats(kinds):
    offers = [
        SimpleNamespace(price=p, output_tokens_per_second=s, time_per_output_token=t) for p, s, t in kinds
    ]

    def beats(one, other):
        pairs = ((one[0], other[0]), (-one[1], -other[1]), (one[2], other[2]))
        return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)

    known = [(i, kind) for i, kind in enumerate(kinds) if kind[0] is not None]
    assert _frontier(offers) == {i for i, kind in known if not any(beats(other, kind) for _, other in known)}


@pytest.fixture(scope="module")
def offers(samples):
    asked = {"search.devices": ("RTX 4090", "L40S", "H100 SXM"), "search.most_accelerators": 4}
    *_, state = recommend(with_values(scenario_file.load(samples[0]), asked))
    return state.offers


def test_what_a_simulation_refuses_beats_nothing(offers):
    first = next(i for i, o in enumerate(offers) if o.on_frontier)
    run = verified_one(offers[first], 60)
    tight = {"targets.time_to_first_token_s": 1e-4, "targets.time_per_output_token_ms": 1e-2}
    result = replace(run.verified, scenario=with_values(run.verified.scenario, tight))
    bad = replace(run, verified=result)
    assert not confirmed(bad)
    rest = [*offers[:first], *offers[first + 1 :]]
    known = standing((*rest, bad))
    assert not known[-1].on_frontier
    assert [o.on_frontier for o in known[:-1]] == [o.on_frontier for o in standing(rest)]
    assert any(o.on_frontier for o in known)


def test_the_frontier_follows_the_simulations(offers, samples):
    """After the verified ones it is what it would be if it had been asked for at the end."""
    base = with_values(
        scenario_file.load(samples[1]),
        {
            "search.devices": ("RTX 3090", "L40S", "H100 SXM"),
            "workload.load": "requests",
            "workload.request_rate": 0.4,
            "simulation.prompt_lengths": "lognormal",
            "simulation.prompt_spread": 1.0,
            "targets.time_to_first_token_s": 5.0,
        },
    )
    *_, state = recommend(base, verify=2)
    assert any(o.verified is not None for o in state.offers)
    again = standing([replace(o, on_frontier=False) for o in state.offers])
    assert [o.on_frontier for o in state.offers] == [o.on_frontier for o in again]
