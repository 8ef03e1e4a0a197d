"""What people met who used the program for the first time."""

from collections.abc import Callable

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QPaintEvent, QRegion
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from core.estimator import estimate
from core.evidence.run import Setting
from core.evidence.run_scenario import described
from core.planning.explore_axes import axis_for
from core.reports.as_text import estimate_text
from core.spec.change import with_values
from core.spec.scenario import Scenario
from core.words import Words
from gui.frame.window import MainWindow
from gui.workspaces.heading import Heading


def test_a_heading_is_painted_whole_when_a_button_goes(qtbot: QtBot) -> None:
    heading, button = Heading(), QPushButton("Cancel")
    heading.add(button)
    heading.say("A sentence that needs the room " * 3, "a line")
    heading.resize(700, 72)
    qtbot.addWidget(heading)
    heading.show()
    qtbot.waitExposed(heading)
    qtbot.wait(50)  # the first paints are over
    painted = QRegion()

    class Watch(QObject):
        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            nonlocal painted
            if isinstance(event, QPaintEvent):
                painted = painted.united(event.region())
            return False

    watch = Watch()
    heading.installEventFilter(watch)
    button.hide()
    qtbot.waitUntil(lambda: painted.contains(heading.rect()) and painted.boundingRect() == heading.rect())


def test_more_slots_are_taken_with_the_length_that_is_offered(
    make_window: Callable[[], MainWindow], qtbot: QtBot
) -> None:
    window = make_window()
    document = window.document
    document.set_values([("engine.name", "ollama"), ("precision.weights", "gguf_q4_k_m")], "engine")
    before = document.scenario.engine.max_model_len
    document.set_value("engine.n_parallel", 8)
    assert "engine.n_parallel" in document.refused
    assert "refused" in window.workspace.messages.subjects()
    path, problem = list(document.refused.items())[-1]
    link = window.refusals._repairs(path, problem)[0]
    assert "None" not in window.refusals._shown(path)
    link[1]()
    assert document.scenario.engine.max_model_len > before
    assert not document.refused and document.scenario.engine.n_parallel == 8


def test_counts_of_an_exploration_are_those_the_layout_divides(scenario: Scenario) -> None:
    two = with_values(scenario, {"deployment.accelerators": 2, "deployment.tensor_parallel": 2})
    axis = axis_for(two, "deployment.accelerators", 200)
    assert axis.values and all(n % 2 == 0 for n in axis.values)  # type: ignore[operator]
    for index, count in enumerate(axis.values):
        assert axis.apply(two, index).deployment.accelerators == count


def test_the_longest_request_under_a_rate_is_of_one_user(scenario: Scenario) -> None:
    words = Words("en")
    rate = with_values(scenario, {"workload.load": "requests"})
    assert "8 users" in estimate_text(estimate(scenario), words)
    assert "8 users" not in estimate_text(estimate(rate), words).split(words("report.capacity"))[1]


def test_no_run_is_lent_a_device_that_its_engine_does_not_run_on(scenario: Scenario) -> None:
    assert scenario.accelerator.vendor == "NVIDIA"
    lent = described(Setting(engine="mlx"), None, scenario, None)
    assert lent.scenario is None
    own = described(Setting(engine="vllm"), None, scenario, None)
    assert own.scenario is not None and own.scenario.accelerator is scenario.accelerator
