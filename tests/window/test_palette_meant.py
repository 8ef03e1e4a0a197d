"""The palette lists what is meant: names of devices hold no counts, and a clear answer stands alone."""

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from core.spec.scenario import Scenario
from core.words import Words
from gui.catalogue import Catalogue
from gui.frame.window import MainWindow
from gui.palette.question import question_of
from gui.theme import theme
from gui.widgets import paint

SHELF = Catalogue(None)


@pytest.mark.parametrize("text", ["rtx 4090", "rtx4090", "RTX 3090", "gtx 1080 ti", "rx 7900 xtx"])
def test_the_end_of_a_name_is_no_times_sign(text: str, scenario: Scenario) -> None:
    """ "rtx 3090" once set 3,090 GPUs."""
    question = question_of(text, scenario, SHELF, Words("en"))
    assert question is None  # a device alone is found as such


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("rtx 3090 qwen3-8b", ("Qwen3-8B", "RTX 3090")),
        ("2x rtx 3090", ("2 × RTX 3090",)),
        ("rtx 3090 x2 qwen 3 8b", ("Qwen3-8B", "2 × RTX 3090")),
        ("h100x8 qwen3-32b", ("Qwen3-32B", "8 × H100 SXM5 80GB")),
        ("rtx 5090 4 bit", ("RTX 5090", "AWQ INT4")),
        ("rtx 4070 ti super 4 bit", ("RTX 4070 Ti SUPER", "AWQ INT4")),
        ("l40s qwen3-8b", ("Qwen3-8B", "L40S")),
        ("two 3090s qwen3-8b", ("Qwen3-8B", "2 × RTX 3090")),
        ("4090×2 dsv3", ("DeepSeek-V3", "2 × RTX 4090", "FP8 block 128")),
    ],
)
def test_devices_and_their_number_are_told_apart(
    text: str, parts: tuple[str, ...], scenario: Scenario
) -> None:
    question = question_of(text, scenario, SHELF, Words("en"))
    assert question is not None and question.unknown == ()
    assert question.parts == parts


@pytest.mark.parametrize(
    "text",
    [
        "16 users 16k output 1k",
        "16 users, 16k, output 1k",
        "users 16 16k in output 1k",
        "16 users 16k in / 1k out",
        "1k output 16k 16 users",
        "16k context 1k out 16 users",
        "16k prompt output 1k users 16",
        "context 16k output 1k 16 users",
        "16 users isl 16k osl 1k",
        "16 users 16k/1k",
        "16 users 16384 output 1024",
        "16 用户 16k 输出 1k",
        "用户 16 输入 16k 输出 1k",
        "输入16k 1k输出 16人",
        "并发 16，上下文 16k，输出 1k",
        "每人输入 16k，输出 1k，16 个用户",
    ],
)
def test_a_length_belongs_to_the_word_beside_it(text: str, scenario: Scenario) -> None:
    question = question_of(text, scenario, SHELF, Words("en"))
    assert question is not None and question.unknown == ()
    assert question.parts == ("16 users", "16K prompt · 1K output")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("32 users 16k tokens output 500", ("32 users", "16K prompt · 500 output")),
        ("4090 output 1k", ("RTX 4090", "1K output")),
        ("output 500 users 16", ("16 users", "500 output")),
        ("2x3090 8k output 512", ("2 × RTX 3090", "8K prompt · 512 output")),
    ],
)
def test_devices_and_users_keep_their_numbers(text: str, parts: tuple[str, ...], scenario: Scenario) -> None:
    question = question_of(text, scenario, SHELF, Words("en"))
    assert question is not None and (question.parts, question.unknown) == (parts, ())


@pytest.fixture
def listed(make_window: Callable[[], MainWindow], qtbot: QtBot) -> Callable[[str], list[tuple[str, str]]]:
    palette = make_window().shell.open_palette("")

    def kinds(text: str) -> list[tuple[str, str]]:
        return [(found.entry.kind, found.entry.name) for found in palette.find_all(text)]

    return kinds


@pytest.mark.parametrize("text", ["8-bit kv", "kv 8 bit", "kv", "4 bit", "output", "16 users"])
def test_a_clear_answer_is_not_diluted_by_scattered_letters(
    listed: Callable[[str], list[tuple[str, str]]], text: str
) -> None:
    found = listed(text)
    assert found[0][0] in ("command", "field")
    assert not {kind for kind, _ in found} & {"model", "gpu"}


def test_names_that_hold_what_is_typed_are_still_listed(
    listed: Callable[[str], list[tuple[str, str]]],
) -> None:
    assert ("gpu", "Apple M3 Max (30-core GPU)") in listed("max")
    assert ("model", "Llama-3.1-8B-Instruct") in listed("llama")
    assert listed("dsv3")[0] == ("model", "DeepSeek-V3")
    assert listed("rtx 4090")[0] == ("gpu", "RTX 4090")


def test_all_that_was_understood_has_room(make_window: Callable[[], MainWindow], qtbot: QtBot) -> None:
    window = make_window()
    window.resize(1280, 800)
    window.show()
    palette = window.shell.open_palette("")
    narrow = palette.width()
    palette.box.clear()
    qtbot.keyClicks(palette.box, "qwen3-32b q4_k_m 2x3090 16 users prompt 16k output 1k")
    asked = palette.results()[0]
    assert asked.name.endswith("16 users · 16K prompt · 1K output")
    shown = paint.width(theme().font("body"), f"Set up › {asked.name}")
    assert palette.width() > shown + 50  # icon and margins beside it
    palette.box.clear()
    qtbot.keyClicks(palette.box, "pin")
    assert palette.width() == narrow
