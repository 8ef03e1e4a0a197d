"""The combinations of a search by device and count: the same as in one list, in the order of the search."""

import math

import pytest

from core.files import scenario_file
from core.planning.groups import by_room, grouped
from core.planning.search_space import combinations, combining
from core.spec.change import with_values

DEVICES = ("RTX 4090", "RTX 5060", "L40S", "H100 SXM5 80GB", "Apple M3 Ultra", "Radeon RX 7900 XTX")


@pytest.fixture(params=["vllm", "llamacpp", "transformers"])
def base(samples, request):
    narrow = {"llamacpp": "gguf_q4_k_m"}.get(request.param, "bf16")
    changes = {"engine.name": request.param, "precision.weights": narrow, "precision.kv_cache": "bf16"}
    scenario = scenario_file.load(samples[0])
    return with_values(scenario, {**changes, "search.devices": DEVICES, "search.most_accelerators": 4})


def parts_of(scenario):
    return [part for part in combining(scenario) if part is not None]


def key(combination):
    return combination.device.name, combination.deployment.accelerators


@pytest.mark.parametrize("rank", ["price", "speed", "energy", "devices"])
def test_each_that_is_allowed_is_in_the_group_of_its_hardware(base, rank):
    groups = grouped(parts_of(base), rank)
    allowed = [c for c in combinations(base) if c.reason is None]
    assert allowed and len({(g.device.name, g.count) for g in groups}) == len(groups)
    for group in groups:
        mine = [c for c in allowed if key(c) == (group.device.name, group.count)]
        assert group.combinations() == mine and {c.price for c in mine} == {group.price}
    assert sum(len(g.parts) for g in groups) == len(allowed)


def test_groups_come_in_the_order_of_the_rank(base):
    parts = parts_of(base)
    prices = [math.inf if g.price is None else g.price for g in grouped(parts, "price")]
    assert prices == sorted(prices)
    counts = [g.count for g in grouped(parts, "devices")]
    assert counts == sorted(counts)
    widths = [g.count * g.device.memory_bandwidth_gbps for g in grouped(parts, "speed")]
    assert widths == sorted(widths, reverse=True)


def test_what_runs_too_few_is_told_apart_and_counted(samples):
    changes = {"engine.name": "transformers", "targets.users": 2, "search.devices": DEVICES}
    base = with_values(scenario_file.load(samples[0]), changes)
    groups, counted = grouped(parts_of(base), "price"), []
    able, short = by_room(base, groups, lambda count, nearest: counted.append((count, nearest)))
    assert able and short and counted
    for group in able:
        assert all(part.rooms[group.index] >= 2 for part in group.parts)
    for one in short:
        assert one.nearest.reason == "users" and one.nearest.value < one.nearest.limit == 2
    ruled_out = sum(count for count, _ in counted) + sum(one.others + 1 for one in short)
    assert ruled_out + sum(len(g.parts) for g in able) == sum(len(g.parts) for g in groups)


def test_servers_keep_all(samples):
    base = scenario_file.load(samples[0])
    groups = grouped(parts_of(base), "price")
    assert by_room(base, groups, pytest.fail) == (groups, [])
