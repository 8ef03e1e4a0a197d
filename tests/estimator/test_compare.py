"""The table over pinned scenarios."""

import pytest

from core.catalog.accelerators import all_accelerators, load_accelerator
from core.estimator import estimate
from core.explain.link_names import link_said
from core.files import scenario_file
from core.planning.compare import changed_inputs, cost_values, difference_table, headline, summary_of
from core.planning.cost import running_cost
from core.spec.change import with_values
from core.words import Phrase, Words

WORDS = Words("en")
CHANGES = (
    {},
    {"workload.shared_prefix_tokens": 512},
    {"precision.kv_cache": "fp8"},
    {"precision.weights": "fp8", "workload.users": 16},
    {"engine.enforce_eager": True},
    {"deployment.accelerators": 2, "deployment.tensor_parallel": 2},
    {"precision.weights": "fp32"},
)


@pytest.fixture(scope="module")
def estimates(scenario):
    return [estimate(with_values(scenario, dict(change))) for change in CHANGES]


def rows_of(estimates, **options):
    return {(row.section, row.key): row for row in difference_table(estimates, **options)}


def test_only_what_differs_is_shown(estimates):
    rows = rows_of(estimates)
    inputs = {key for section, key in rows if section == "inputs"}
    changed = {path for change in CHANGES for path in change}
    assert inputs == changed
    assert all(row.differs for row in rows.values())
    everything = rows_of(estimates, only_differences=False)
    assert set(rows) < set(everything)
    assert ("inputs", "model") in everything


def test_a_scenario_beside_itself_differs_in_nothing(estimates):
    assert difference_table([estimates[0], estimates[0]]) == ()
    assert changed_inputs(estimates[0].scenario, estimates[0].scenario) == ()


def test_percentages_are_of_the_baseline(estimates):
    for baseline in (0, 3):
        row = rows_of(estimates, baseline=baseline)[("results", "output_throughput")]
        base = estimates[baseline].speed.output_throughput.expected
        for index, cell in enumerate(row.cells):
            if index == baseline:
                assert cell.change is None and not cell.differs
            elif estimates[index].speed is None:
                assert cell.value is None and cell.change_said is None
            else:
                value = estimates[index].speed.output_throughput.expected
                assert cell.change == pytest.approx(value / base - 1)
                assert cell.better == (value > base) or not cell.differs


def test_seven_scenarios_have_seven_cells_and_words(estimates):
    for row in difference_table(estimates, only_differences=False):
        assert len(row.cells) == len(estimates)
        assert WORDS.has(row.name.key), row.name.key
        for cell in row.cells:
            if isinstance(cell.shown, Phrase):
                assert WORDS.has(cell.shown.key), cell.shown.key


def test_targets_are_marked(estimates):
    row = rows_of(estimates, only_differences=False)[("results", "time_per_output_token")]
    for point, cell in zip(estimates, row.cells, strict=True):
        missed = "time_per_output_token" in point.verdict.missed
        assert cell.state == ("" if point.speed is None else "misses" if missed else "meets")


def test_memory_rows_add_up(estimates):
    rows = rows_of(estimates, only_differences=False)
    for index, point in enumerate(estimates):
        lines = ("weights", "kv_cache", "activations", "graphs", "runtime")
        sizes = [rows[("memory", key)].cells[index].value or 0.0 for key in lines]
        assert sum(sizes) == rows[("memory", "needed")].cells[index].value == point.ledger.needed_bytes


def test_cost_of_a_million_tokens(estimates):
    """$/10^6 tokens = $/h / (3600 tokens/s) 10^6."""
    money, speed = cost_values(estimates[0]), estimates[0].speed
    expected = money["per_hour"] / 3600 / speed.output_throughput.expected * 1e6
    assert money["per_million"] == pytest.approx(expected)


def priced(scenario, bought, rented):
    changes = {"accelerator.price_usd": bought, "accelerator.cloud_usd_per_hour": rented}
    return estimate(with_values(scenario, changes))


@pytest.mark.parametrize(
    ("prices", "basis"),
    [
        (((30_000, 3.27), (15_000, None)), "bought"),
        (((30_000, 3.27), (15_000, 2.0)), "bought"),
        (((None, 3.27), (15_000, 2.0)), "rented"),
        (((30_000, None), (15_000, None), (None, None)), "bought"),
    ],
)
def test_costs_beside_each_other_are_of_one_kind(scenario, prices, basis):
    points = [priced(scenario, *one) for one in prices]
    rows = rows_of(points, only_differences=False)
    for key in ("per_hour", "per_million"):
        row = rows[("cost", key)]
        assert row.name.key == f"compare.costs.{basis}_{key}"
        assert WORDS.phrase(row.told).startswith(f"As if all of it were {basis}")
    for cell, point, (bought, rented) in zip(rows[("cost", "per_hour")].cells, points, prices, strict=True):
        watts = running_cost(point).watts
        hour = {"rented": rented, "bought": bought and bought / (3 * 8766) + watts / 1000 * 0.15}[basis]
        assert cell.value == (None if hour is None else pytest.approx(hour))
    assert rows[("cost", "per_hour")].cells[1].change_said is not None


def test_costs_of_two_kinds_are_marked_and_have_no_percentage(scenario):
    points = [priced(scenario, *one) for one in ((None, 3.27), (15_000, None), (None, 2.0))]
    for key in ("per_hour", "per_million"):
        row = rows_of(points, only_differences=False)[("cost", key)]
        ends = [WORDS.phrase(cell.shown).split(" ")[-1] for cell in row.cells]
        assert ends == ["rented", "bought", "rented"]
        assert row.cells[1].change is None and row.cells[1].better is None and row.cells[2].change < 0
        assert "no percentage" in WORDS.phrase(row.told)


def test_the_headline_names_the_fastest(estimates):
    letters = "ABCDEFG"
    running = [i for i, e in enumerate(estimates) if e.speed]
    best = min(running, key=lambda i: estimates[i].speed.time_per_output_token.expected)
    assert WORDS.phrase(headline(estimates, letters)).startswith(letters[best])
    assert headline([estimates[-1]], "A").key == "compare.none_starts"
    assert summary_of(estimates[0].scenario, estimates[1].scenario)


def test_layout_link_and_targets_are_said_as_in_the_form(samples):
    point = estimate(scenario_file.load(samples[1]))  # two RTX 3090 with TP 2, whose link is automatic
    rows = {row.key: row for row in difference_table([point], only_differences=False)}
    for language, bridge, target in (
        ("en", "NVLink bridge", "Target: "),
        ("zh_CN", "NVLink 桥接", "目标："),
    ):
        words = Words(language)
        shown = {
            key: words.phrase(rows[f"deployment.{key}"].cells[0].shown) for key in ("tensor_parallel", "link")
        }
        assert shown == {"tensor_parallel": "TP 2", "link": bridge}
        for key in ("time_to_first_token_s", "time_per_output_token_ms", "users"):
            assert words.phrase(rows[f"targets.{key}"].name) == target + words.field(f"targets.{key}")


@pytest.mark.parametrize("device", [d.name for d in all_accelerators()])
def test_the_link_of_every_device_has_a_name(samples, device):
    one = with_values(scenario_file.load(samples[0]), {"accelerator": load_accelerator(device)})
    said = link_said(one)
    if isinstance(said, Phrase):
        for language in ("en", "zh_CN"):
            assert Words(language).phrase(said) not in ("", said.key)
    else:
        assert said.number == one.accelerator.scale_up.kind and said.number


def test_a_setting_is_one_of_several_ways_and_has_no_percentage(scenario):
    changes = {"deployment.accelerators": 2, "deployment.tensor_parallel": 2, "engine.max_num_seqs": 64}
    changes["workload.users"] = 2 * scenario.workload.users
    rows = rows_of([estimate(scenario), estimate(with_values(scenario, changes))])
    for path in ("deployment.accelerators", "deployment.tensor_parallel"):
        assert rows[("inputs", path)].cells[1].differs
        assert rows[("inputs", path)].cells[1].change_said is None
    assert rows[("inputs", "workload.users")].cells[1].change == 1.0
