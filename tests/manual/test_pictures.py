"""The manual's pictures: there for every workspace, small, and made the same way each time."""

from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from PySide6.QtGui import QImage

from core.words import LANGUAGES
from gui.workspaces.registry import KEYS

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "resources" / "help" / "pictures"
MOST_OF_ALL = 3_000_000


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return run_path(str(ROOT / "packaging" / "make_pictures.py"))


def test_every_workspace_has_its_pictures(script: dict[str, Any]) -> None:
    wanted = {
        f"{k}-{language}-{look}.png" for k in KEYS for language in LANGUAGES for look in script["THEMES"]
    }
    there = {file.name: file.stat().st_size for file in FOLDER.iterdir()}
    assert set(there) == wanted
    assert max(there.values()) <= script["MOST_BYTES"]
    assert sum(there.values()) < MOST_OF_ALL


@pytest.mark.parametrize("key", KEYS)
def test_a_picture_is_of_the_smallest_window(key: str) -> None:
    image = QImage(str(FOLDER / f"{key}-en-light.png"))
    assert (image.width(), image.height()) == (1280, 720)
    assert image.format() == QImage.Format.Format_Indexed8


def test_few_colours_are_kept_as_they_are(script: dict[str, Any]) -> None:
    pixels = np.zeros((20, 30, 3), np.uint8)
    pixels[:10, :, 0] = 200
    pixels[5:, 7:9] = (1, 2, 3)
    assert np.array_equal(_decoded(script["palette_png"](pixels, 256)), pixels)


def test_many_colours_become_near_ones_the_same_each_time(script: dict[str, Any]) -> None:
    rows, columns = np.mgrid[0:64, 0:96]
    pixels = np.stack([rows * 4, columns * 2, (rows + columns) % 256], axis=2).astype(np.uint8)
    pixels[:, :20] = 255  # the ground, which must stay exactly what it is
    first = script["palette_png"](pixels, 64)
    assert first == script["palette_png"](pixels.copy(), 64)
    got = _decoded(first).astype(int)
    assert len(np.unique(got.reshape(-1, 3), axis=0)) <= 64
    assert np.all(got[:, :20] == 255)
    assert np.abs(got - pixels).mean() < 16


def _decoded(content: bytes) -> Any:
    image = QImage.fromData(content, "PNG").convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : 3 * image.width()].reshape(image.height(), image.width(), 3).copy()
