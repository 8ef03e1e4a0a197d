"""``llama-batched-bench`` (Markdown, JSON lines) and ``llama-sweep-bench`` of ik_llama.cpp (Markdown).

``S_TG`` of the batched benchmark is the sum over its B sequences; with a shared prompt the prompt is read
once.  ``N_KV`` of the sweep is what was in the cache before the test, and there is one sequence.
"""

import re
from collections.abc import Mapping
from typing import Any

from core.evidence.readers.common import Builder, Reading, count, number, problem, shown, together
from core.evidence.readers.tables import markdown
from core.units import three_digits

KEY = "llama_batched_bench"
WHOLE = False
NEEDLES = ("speed_tg", "n_kv_max")
_NAMES = {
    "PP": "pp",
    "TG": "tg",
    "B": "pl",
    "N_KV": "n_kv",
    "T_PP s": "t_pp",
    "S_PP t/s": "speed_pp",
    "T_TG s": "t_tg",
    "S_TG t/s": "speed_tg",
    "T s": "t",
    "S t/s": "speed",
}
_USED = frozenset({"pp", "tg", "pl", "n_kv", "t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed"})
_SETTINGS = re.compile(r"\b(n_kv_max|n_batch|n_ubatch|flash_attn|is_pp_shared|n_gpu_layers) = (-?\d{1,12})")


def claims(tree: dict[str, Any]) -> bool:
    """A row of the table as an object."""
    return "speed_tg" in tree and "speed_pp" in tree and "pp" in tree


def take(tree: Mapping[str, Any], name: str, line: int) -> Reading:
    """The run of one row; without a number of sequences it is one of the sweep."""
    sweep = "pl" not in tree
    build = Builder("llama_sweep_bench" if sweep else KEY, name, line)
    batch = number(tree.get("pl")) or 1.0
    prompt, made = number(tree.get("pp")), number(tree.get("tg"))
    layers = count(tree.get("n_gpu_layers"))
    build.set(
        engine="llamacpp",
        concurrency=batch,
        input_tokens=prompt or None,
        output_tokens=made or None,
        batched_tokens=count(tree.get("n_batch")) or None,
        context_limit=count(tree.get("n_kv_max")) or None,
        layers_on_device=layers if layers not in (99, 999) else None,
        context_tokens=count(tree.get("n_kv")) if sweep else None,
    )
    build.put("prompt_throughput", "mean", tree.get("speed_pp"))
    build.put("time_to_first_token", "mean", tree.get("t_pp"))
    if number(tree.get("t_pp")):
        build.converted("prefill_is_first")
    build.put("decode_throughput", "mean", tree.get("speed_tg"))
    build.put("end_to_end", "mean", tree.get("t"))
    build.put("total_throughput", "mean", tree.get("speed"))
    rate, seconds = number(tree.get("speed_tg")), number(tree.get("t_tg"))
    if rate:
        build.put("user_throughput", "mean", rate / batch)
        if batch > 1:
            build.converted("user_of_total", total=three_digits(rate), n=f"{batch:g}")
    if seconds and made:
        build.put("time_per_output_token", "mean", seconds / made)
        build.converted("token_of_seconds", seconds=three_digits(seconds), n=f"{made:g}")
    if str(tree.get("is_pp_shared")).lower() in ("1", "true"):
        build.converted("shared_prompt")
    build.keep(tree, _USED)
    return build.reading()


def looks_like(text: str, _name: str) -> bool:
    """Whether the table's header is there."""
    return "S_TG t/s" in text


def read(text: str, name: str) -> Reading:
    """The rows of all tables."""
    stated = dict(_SETTINGS.findall(text[:10_000_000]))
    readings = []
    for _, head, rows in markdown(text, lambda cells: "S_TG t/s" in cells and "PP" in cells):
        for line, cells in rows:
            if int(cells[""]) != len(head):
                told = problem("row", name, line, found=int(cells[""]), wanted=len(head))
                readings.append(Reading((), (told,)))
                continue
            fields = {_NAMES.get(key, key): value for key, value in cells.items() if key}
            bad = next((value for value in fields.values() if number(value) is None), None)
            if bad is not None:
                readings.append(Reading((), (problem("cell", name, line, text=shown(bad)),)))
            else:
                readings.append(take(stated | fields, name, line))
    return together(readings)
