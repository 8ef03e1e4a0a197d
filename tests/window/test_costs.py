"""Energy and cost in the window: one line under the steps, prices to edit on the device's sheet."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QWidget

from core.estimator import estimate
from core.files import scenario_file
from core.planning.cost import running_cost
from core.planning.started import started
from core.spec.change import with_value
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.plots.step_costs import COST, ENERGY, costs_of
from gui.plots.step_time import StepTime
from gui.sheets.device_sheet import DeviceSheet

SAMPLES = Path(__file__).resolve().parents[2] / "resources" / "samples"
WORDS = Words("en")


@pytest.fixture
def sample():
    return scenario_file.load(sorted(SAMPLES.glob("*.json"))[0])


def priced(scenario, price, rent):
    scenario = with_value(scenario, "accelerator.price_usd", price)
    return with_value(scenario, "accelerator.cloud_usd_per_hour", rent)


def test_the_line_says_what_the_report_says(sample, qtbot):
    point = estimate(priced(sample, None, 2.5))
    cost = running_cost(point)
    view = StepTime(WORDS)
    qtbot.addWidget(view)
    view.show_started(started(point))
    assert f"{cost.watts:,.0f} W" in view.costs.text and "$2.50 an hour" in view.costs.text
    assert [key for _, key in costs_of(started(point), WORDS)] == [ENERGY, ENERGY, COST, COST]
    view.show()
    view.resize(1000, view.heightForWidth(1000))
    assert view.costs.geometry().bottom() < view.height()
    assert view.costs.geometry().top() >= max(v.geometry().bottom() for v in view.phases)


def test_without_a_price_it_says_so_and_energy_stays(sample):
    texts = costs_of(started(estimate(priced(sample, None, None))), WORDS)
    assert [key for _, key in texts] == [ENERGY, ENERGY, ""]


def test_nothing_starts_nothing_costs(sample, qtbot):
    view = StepTime(WORDS)
    qtbot.addWidget(view)
    view.show_started(None)
    assert not view.costs.isVisibleTo(view)


def test_a_price_is_edited_and_the_device_keeps_its_name(sample, qtbot):
    document = Document(sample)
    host = QWidget()
    qtbot.addWidget(host)
    sheet = DeviceSheet(document, WORDS, Catalogue(), host)
    sheet.open_sheet()
    name = document.scenario.accelerator.name
    sheet.row_of("accelerator.cloud_usd_per_hour").commit(1.25)
    assert document.scenario.accelerator.cloud_usd_per_hour == 1.25
    assert document.scenario.accelerator.name == name
    point = estimate(document.scenario)
    assert running_cost(point).usd_per_hour == pytest.approx(1.25 * sample.deployment.accelerators)
    sheet.row_of("accelerator.memory_bandwidth_gbps").commit(900.0)
    assert document.scenario.accelerator.name != name
