"""The points of Recommend's plot: filled where nothing speaks against an offer."""

from dataclasses import replace

from core.planning.recommend import recommend
from core.planning.verify import confirmed, verified_one
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.contents.recommend_points import price_points
from gui.contents.recommend_rows import hardware_rows


def test_an_offer_that_its_simulation_refuses_is_an_open_point(scenario: Scenario) -> None:
    asked = with_values(scenario, {"search.devices": ("RTX 4090", "L40S"), "search.most_accelerators": 2})
    *_, state = recommend(asked)
    offer = next(o for o in state.offers if o.price)
    good = verified_one(offer, 60)
    assert confirmed(good)
    # The same run, held against targets that its times are beyond.
    tight = {"targets.time_to_first_token_s": 1e-4, "targets.time_per_output_token_ms": 1e-2}
    result = replace(good.verified, scenario=with_values(good.verified.scenario, tight))
    bad = replace(good, verified=result, on_frontier=True)
    assert not confirmed(bad)
    plain = replace(offer, verified=None)
    for one, filled in ((plain, True), (good, True), (bad, False)):
        (point,) = price_points(replace(state, offers=(one,), near=()), Words("en"))
        assert point.good is filled
        assert point.best is (filled and one.on_frontier)
        shown, _ = hardware_rows(replace(state, offers=(one,), near=()), "price", Words("en"))
        assert bool(shown[0].cells[0].icon) is (filled and one.on_frontier)
