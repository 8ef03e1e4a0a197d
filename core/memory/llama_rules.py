"""Figures of llama.cpp's and Ollama's memory rules, from the data file, and defaults of their settings."""

import json
from functools import cache
from typing import Any

import resources
from core.spec.engine import Engine


@cache
def rules() -> dict[str, Any]:
    """The data file."""
    tree: dict[str, Any] = json.loads(resources.read_text("data/engines/llamacpp.json"))
    return tree


def n_ubatch(engine: Engine) -> int:
    """Tokens computed at once: as set, else the default, never more than a batch."""
    size = engine.n_ubatch or int(rules()["n_ubatch"]["value"])
    return min(size, engine.n_batch or max(size, int(rules()["n_batch"]["value"])))


def n_parallel(engine: Engine) -> int:
    """Requests served at once."""
    name = "ollama" if engine.name == "ollama" else "llamacpp"
    return engine.n_parallel or int(rules()["n_parallel"][name])


def unified(engine: Engine) -> bool:
    """Whether all slots share one cache; the default where the number of slots is left open."""
    return engine.n_parallel is None if engine.kv_unified is None else engine.kv_unified


def flash(engine: Engine) -> bool:
    """Whether attention runs without a table of scores."""
    return True if engine.flash_attention is None else engine.flash_attention


def padded(cells: int) -> int:
    """Cells of a cache, a multiple of 256."""
    step = int(rules()["padding"]["cells"])
    return -(-cells // step) * step


def is_fork(engine: Engine) -> bool:
    """Whether the version names the fork ik_llama.cpp."""
    return engine.name == "llamacpp" and engine.version.startswith("ik")


def keeps_all(engine: Engine, family: str) -> bool:
    """Whether windowed layers keep the whole context: in the fork, and for families without windows here."""
    return is_fork(engine) or (engine.name == "llamacpp" and family in rules()["whole_cache"]["families"])
