"""What takes long to load does not hold up the window."""

import sys
import threading
import time

import pytest

from gui.work import loading


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that notes which thread loads it."""
    source = "import threading\nloaded_by = threading.current_thread()\n"
    (tmp_path / "loaded_slowly.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "loaded_slowly"
    sys.modules.pop("loaded_slowly", None)
    loading._loading.pop("loaded_slowly", None)


def wait(name):
    end = time.monotonic() + 30
    while not loading.is_loaded(name):
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_module_is_loaded_once_and_by_another_thread(module):
    assert not loading.is_loaded(module)
    wait(module)
    assert sys.modules[module].loaded_by is not threading.current_thread()
    assert loading.is_loaded(module)


def test_what_is_there_needs_no_thread():
    assert loading.is_loaded("json") and "json" not in loading._loading


def test_what_cannot_be_loaded_is_left_to_whoever_imports_it():
    try:
        wait("core.no_such_module")
    finally:
        loading._loading.pop("core.no_such_module")
