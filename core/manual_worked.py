"""What the manual works out with the program itself: the steps of an example, caches of well-known models.

The example is the first sample that comes with the program, so a person can follow it in the window.
"""

import argparse
import re
import textwrap
from functools import cache

import resources
from core.catalog.models import load_model
from core.cli import commands_of
from core.estimator import estimate
from core.explain.derivation import Step, derive
from core.explain.derivation_types import markdown_text
from core.files import scenario_file
from core.model.cache import kv_bytes, kv_bytes_per_token, recurrent_state_bytes
from core.results import Estimate
from core.spec.formats import CACHE_FORMATS
from core.units import GIB, three_digits
from core.words import Words

EXAMPLE = "samples/1-llama-8b-on-an-rtx-4090.json"
# One well-known model for each way to keep what was said.
CACHES = (
    ("mha", "Llama-2-7B"),
    ("gqa", "Llama-3.1-8B-Instruct"),
    ("gqa", "Llama-3.3-70B-Instruct"),
    ("mla", "DeepSeek-V3"),
    ("window", "Gemma-3-27B-it"),
    ("window", "gpt-oss-120b"),
    ("state", "Qwen3-Next-80B-A3B-Instruct"),
)
LENGTHS = (8192, 131072)
_WIDE = 84  # letters of a line of code that the window has room for
_MARKED = re.compile(r"([^\W_]+)_(\w+)|\^(\w+)")  # "t_d" and "L^2"


@cache
def example() -> Estimate:
    """The estimate that is worked through."""
    return estimate(scenario_file.loads(resources.read_bytes(EXAMPLE)))


def worked(key: str, words: Words, textbook: bool = False) -> str:
    """The steps to one number of the example as a table; with ``textbook`` those of the plain rule."""
    found = derive(example(), key)
    if found is None:
        raise KeyError(key)
    heads = ("step", "formula", "values", "result")
    lines = [row([words(f"derivation.columns.{name}") for name in heads]), row(["---"] * len(heads))]
    return "\n".join([*lines, *(_of(step, words) for step in (found.textbook if textbook else found.steps))])


def _of(step: Step, words: Words) -> str:
    formula = f"{step.symbol.name} = {step.formula_text}" if step.formula_text else step.symbol.name
    name, result = (markdown_text(text) for text in (words.phrase(step.name), str(step.result)))
    return row([name, _set(formula), _set(step.values_text), result])


def _set(formula: str) -> str:
    """A formula with its indices below and its powers above the line."""
    parts, end = [], 0
    for found in _MARKED.finditer(formula):
        parts.append(markdown_text(formula[end : found.start()]))
        letter, index, power = found.groups()
        parts.append(f"<sup>{power}</sup>" if power else f"{letter}<sub>{index.replace('_', ' ')}</sub>")
        end = found.end()
    return "".join([*parts, markdown_text(formula[end:])])


def row(cells: list[str]) -> str:
    """A row of a table."""
    return "| " + " | ".join(cells) + " |"


def caches(words: Words) -> str:
    """What a token and a request take in the cache of models that keep it differently, 16 bit."""
    heads = [words(f"manual.caches.{name}") for name in ("kind", "model", "token")]
    heads += [words("manual.caches.request", tokens=f"{length // 1024}K") for length in LENGTHS]
    lines = [row(heads), row(["---"] * len(heads))]
    fmt = CACHE_FORMATS["bf16"]
    for kind, name in CACHES:
        arch = load_model(name).architecture
        state = recurrent_state_bytes(arch)
        sizes = [float(kv_bytes(arch, fmt, length)) + state for length in LENGTHS]
        cells = [words(f"manual.caches.kinds.{kind}"), name, f"{kv_bytes_per_token(arch, fmt):,} B"]
        lines.append(row(cells + [f"{three_digits(size / GIB)} GiB" for size in sizes]))
    return "\n".join(lines)


def options(command: str, words: Words) -> str:
    """How a command is called, and each of its options."""
    one = commands_of(words)[command]
    usage = _in_lines(" ".join(one.format_usage().removeprefix(words("arguments.usage")).split()))
    lines = [words("manual.usage"), "", f"```\n{usage}\n```", ""]
    for action in one._actions:  # noqa: SLF001 - argparse offers no other way to list them
        if isinstance(action, argparse._HelpAction):  # noqa: SLF001
            continue
        lines.append(f"- {_named(action)}: {markdown_text(action.help or '')}")
    return "\n".join(lines)


def _in_lines(usage: str) -> str:
    """Broken between arguments, never inside one."""
    whole = re.sub(r"\[[^\]]*\]", lambda found: found[0].replace(" ", "\0"), usage)
    lines = textwrap.wrap(whole, _WIDE, subsequent_indent="    ", break_on_hyphens=False)
    return "\n".join(lines).replace("\0", " ")


def _named(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else _value(action)
    names = ", ".join(action.option_strings)
    return f"`{f'{names} {value}'.strip()}`"


def _value(action: argparse.Action) -> str:
    if action.choices is not None:
        return "|".join(str(choice) for choice in action.choices)
    return action.metavar if isinstance(action.metavar, str) else action.dest.upper()
