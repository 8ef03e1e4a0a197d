"""How long prompts and answers are: seeded streams of whole numbers of tokens, one at least."""

import math
from collections.abc import Iterator

import numpy as np

from core.quantities import FloatArray
from core.spec.simulation import LengthKind

_PORTION = 4096


def length_stream(
    kind: LengthKind,
    mean: float,
    spread: float,
    generator: np.random.Generator,
    rows: FloatArray | None = None,
) -> Iterator[int]:
    """Endless lengths of a mean and a relative standard deviation.

    uniform: mean (1 +- sqrt(3) spread); lognormal: sigma^2 = ln(1 + spread^2); file: one of ``rows``
    (n,) each, fixed where there are none.
    """
    while True:
        if kind == "uniform":
            reach = min(1.0, math.sqrt(3.0) * spread)
            values = generator.uniform(mean * (1.0 - reach), mean * (1.0 + reach), _PORTION)
        elif kind == "lognormal" and spread > 0:
            variance = math.log1p(spread * spread)
            values = generator.lognormal(math.log(mean) - 0.5 * variance, math.sqrt(variance), _PORTION)
        elif kind == "file" and rows is not None and len(rows):
            values = generator.choice(rows, _PORTION)
        else:
            values = np.full(_PORTION, mean)
        yield from np.maximum(np.rint(values), 1.0).astype(np.int64).tolist()
