"""What each value of the servers' overheads rests on: rows, models, devices and sources that move with it.

A value is moved a little, and the rows whose prediction follows are counted.  What a profile states
counts for its own engine and for all that take it from there.  ``core.evidence.fit`` stores the counts
beside the values.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import resources
from core.evidence.served import Case
from core.latency.efficiency import SERVER_ENGINES, stored_eras
from core.latency.factors import Factor
from core.quantities import FloatArray

MOVES = 0.01  # slope of a logarithm by a logarithm from which a row has a say in a value
_FOLDER = Path(resources.__file__ or "").parent / "data" / "efficiency"
_BASE_ENGINE = "vllm"
# The kinds of model whose server terms are one value.
_SHARED_KINDS = "latent+recurrent"

# Engine of the file (empty: all), and term and format of a factor that multiplies the value.
Value = tuple[str, str, str]


def counted(cases: Iterable[Case]) -> dict[str, int]:
    """Rows, models, devices and sources of cases."""
    found = list(cases)
    return {
        "rows": len(found),
        "models": len({case.model for case in found}),
        "devices": len({case.gpu for case in found}),
        "sources": len({case.source for case in found}),
    }


def file_of(engine: str) -> dict[str, Any]:
    """The generic profile of an engine; the eras of all for none."""
    tree: dict[str, Any] = json.loads(_path(engine).read_text(encoding="utf-8"))
    return tree


def overheads_of(engine: str) -> dict[str, Any]:
    """The overheads that an engine's generic profile states."""
    tree: dict[str, Any] = file_of(engine)["overheads"]
    return tree


def value_of(tree: dict[str, Any], key: str) -> float:
    """The value that a key of ``fitted_on`` names."""
    term, _, fmt = key.partition("/")
    if term.startswith("eras."):
        return float(next(era for era in tree["eras"] if era["name"] == fmt)[term.removeprefix("eras.")])
    found = tree["overheads"][term]
    return float(found[fmt.partition("+")[0]] if fmt else found)


def values_of(engine: str) -> Iterator[Value]:
    """The numbers among them; those of latent and recurrent models are one."""
    for name, value in overheads_of(engine).items():
        if isinstance(value, dict):
            shared = _SHARED_KINDS.split("+")
            plain = [
                k for k, v in value.items() if k not in shared and (v != 1 or not name.endswith("_kinds"))
            ]
            yield from ((engine, name, kind) for kind in (*plain, _SHARED_KINDS))
        elif _is_number(value) and name != "p":  # of measured kernels
            yield engine, name, ""


def values_of_eras() -> Iterator[Value]:
    """The numbers of eras, one for all engines each."""
    for era in stored_eras():
        yield from (("", f"eras.{name}", era["name"]) for name, value in era.items() if _is_number(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def probes(values: Sequence[Value]) -> list[tuple[int, Factor]]:
    """Factors of 1 that move each value (by its place) where it counts."""
    return [
        (place, Factor(term=term, engine=user, format=fmt, value=1, start=1, spread=1))
        for place, (engine, term, fmt) in enumerate(values)
        for user in SERVER_ENGINES
        if user == engine or not engine or (engine == _BASE_ENGINE and term not in overheads_of(user))
    ]


def grounds(
    cases: Sequence[Case], values: Sequence[Value], owners: Sequence[int], slope: FloatArray
) -> list[dict[str, int]]:
    """What each value rests on, from the slopes of the probes (n, p), of which ``owners`` names the value."""
    moves = np.abs(slope) >= MOVES
    out = []
    for place in range(len(values)):
        mine = [column for column, owner in enumerate(owners) if owner == place]
        out.append(counted(cases[i] for i in np.flatnonzero(moves[:, mine].any(axis=1)).tolist()))
    return out


def key_of(value: Value) -> str:
    """As it is named in the file: term, and format where there is one."""
    return "/".join(part for part in value[1:] if part)


def store(values: Sequence[Value], found: Sequence[dict[str, int]]) -> None:
    """Write the counts beside the values."""
    for engine in ("", *SERVER_ENGINES):
        tree = file_of(engine)
        pairs = zip(values, found, strict=True)
        tree["fitted_on"] = {key_of(value): count for value, count in pairs if value[0] == engine}
        _path(engine).write_text(json.dumps(tree, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _path(engine: str) -> Path:
    return _FOLDER / (f"{engine}_generic.json" if engine else "eras.json")
