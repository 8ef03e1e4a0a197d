"""The operators of many steps at once, in powers.

    (c^p + m^p)^(1/p) = (a t^p + b u^p)^(1/p)

Compute c and memory m of all operators are multiples of a few terms t, u: those are raised, and not what
each operator takes.  Operators whose sides stand in one proportion are one; one whose sides are multiples of
the same term, or that has but one side, is a multiple itself.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.quantities import FloatArray

MANY = 500  # steps from which it is quicker
_SAME = 1e-14  # of a proportion
_READ, _PROMPTS, _REST = range(3)  # what reads the cache for decoding, what reads prompts, what is left
_MEMORY = _PROMPTS  # in its place, where bytes take other times
_Row = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Powers:
    """D terms of K features; G operators that are no multiples of a term."""

    terms: FloatArray  # (D + 3, K) s per unit of a feature; the last three are sums of multiples
    computed: int  # terms that bytes have no part in; they come first
    weights: FloatArray  # (G, D) of the powers of the terms
    doublings: int  # of the power
    read: tuple[int, ...]  # what reads the cache for decoding, among the operators and then the sums
    prompts: int | None  # what reads prompts

    def seconds(self, work: FloatArray, reading: FloatArray | None) -> tuple[FloatArray, FloatArray | None]:
        """Seconds of N steps by their features ``work`` (K, N): of operators and what is fixed, and of the
        shorter one of what reads the cache and what reads prompts.

        ``reading`` (N,): times of a byte over those of the plan.
        """
        terms = self.terms @ work
        if reading is not None:
            terms[self.computed : -1] *= reading
        powers, sums = terms[:-3], terms[-3:]
        if self.doublings:
            np.abs(sums[_PROMPTS], out=sums[_PROMPTS])  # as powers are, of which none is below zero
        for _ in range(self.doublings):
            np.multiply(powers, powers, out=powers)
        each = self.weights @ powers
        for _ in range(self.doublings):
            np.sqrt(each, out=each)
        total = np.add.reduce(each, axis=0)
        total += np.add.reduce(sums, axis=0)
        if self.prompts is None or not self.read:
            return total, None

        def seconds_of(at: int) -> FloatArray:
            return np.asarray(each[at] if at < len(each) else sums[at - len(each)])

        read = seconds_of(self.read[0])
        for at in self.read[1:]:
            read = read + seconds_of(at)
        return total, np.minimum(read, seconds_of(self.prompts))


def powers_of(
    seconds_per: FloatArray,
    fixed: FloatArray,
    p: int,
    decode_rows: Sequence[int],
    prefill_row: int | None,
    alike: bool,
) -> Powers:
    """From the coefficients of a plan (2 O, K), compute rows before memory rows, and (K,).

    ``alike``: a byte takes what it takes in the plan.
    """
    count, rows = len(seconds_per) // 2, [tuple(row) for row in seconds_per.tolist()]
    sums = np.zeros((3, len(fixed)))
    sums[_REST] = fixed
    compute = _Terms()
    found = _Operators(compute, compute if alike else _Terms())
    plain = set()
    for row in range(count):
        kind = _READ if row in decode_rows else _PROMPTS if row == prefill_row else _REST
        c, m = rows[row], rows[count + row]
        times = _multiple(m, c) if alike and any(c) else 0.0
        if (times or not (any(c) and any(m))) and (alike or kind == _REST):
            place = kind if alike else _REST if any(c) else _MEMORY
            sums[place] += np.multiply(c, (1.0 + times**p) ** (1.0 / p)) if any(c) else m
            plain.add(place)
        else:
            found.add(kind, c, m)
    weights, places = found.weights(p)
    count = len(weights)
    places += [(kind, count + kind) for kind in plain if alike]
    read = tuple(at for kind, at in places if kind == _READ)
    prompts = next((at for kind, at in places if kind == _PROMPTS), None)
    terms = np.array([*found.terms(), *sums.tolist()])
    return Powers(terms, len(compute.rows), weights, p.bit_length() - 1, read, prompts)


def _multiple(row: _Row, of: _Row) -> float:
    """The factor between two rows; 0 where there is none."""
    if [value == 0.0 for value in row] != [value == 0.0 for value in of]:
        return 0.0
    factors = [value / other for value, other in zip(row, of, strict=True) if other]
    return factors[0] if factors and max(factors) - min(factors) <= _SAME * factors[0] else 0.0


@dataclass(slots=True)
class _Terms:
    """Rows that are no multiples of each other."""

    rows: list[_Row] = field(default_factory=list)

    def place(self, row: _Row) -> tuple[int, float]:
        """Which of them ``row`` is a multiple of, and the factor; nothing of none."""
        if not any(row):
            return -1, 0.0
        for at, known in enumerate(self.rows):
            if factor := _multiple(row, known):
                return at, factor
        self.rows.append(row)
        return len(self.rows) - 1, 1.0


@dataclass(slots=True)
class _Operators:
    """Operators of two sides: kind, terms of both, factors of these, and how many operators they are."""

    compute: _Terms
    memory: _Terms
    found: list[tuple[int, int, int, float, float, float]] = field(default_factory=list)

    def add(self, kind: int, c: _Row, m: _Row) -> None:
        """One more, or more of one in the same proportion."""
        (at_c, by_c), (at_m, by_m) = self.compute.place(c), self.memory.place(m)
        for place, (*same, own_c, own_m, times) in enumerate(self.found):
            apart = abs(by_c * own_m - by_m * own_c)
            if same == [kind, at_c, at_m] and apart <= _SAME * by_c * own_m:
                more = by_c / own_c if own_c else by_m / own_m
                self.found[place] = (kind, at_c, at_m, own_c, own_m, times + more)
                return
        self.found.append((kind, at_c, at_m, by_c, by_m, 1.0))

    def terms(self) -> list[_Row]:
        """All of them."""
        return self.compute.rows + ([] if self.memory is self.compute else self.memory.rows)

    def weights(self, p: int) -> tuple[FloatArray, list[tuple[int, int]]]:
        """Weights (G, D) of the terms' powers; kind and place of each operator."""
        weights = np.zeros((len(self.found), len(self.terms())))
        first = 0 if self.memory is self.compute else len(self.compute.rows)
        for place, (_, at_c, at_m, by_c, by_m, times) in enumerate(self.found):
            if by_c:
                weights[place, at_c] = (times * by_c) ** p
            if by_m:
                weights[place, first + at_m] = (times * by_m) ** p
        return weights, [(one[0], place) for place, one in enumerate(self.found)]
