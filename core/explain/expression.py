"""Formulas that compute themselves: one tree gives symbols, values, LaTeX, a sheet and the result."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from core.explain.figures import Unit, figure, figure_latex

Operation = Literal["+", "−", "×", "÷", "^", "max", "min", "ceil", "floor"]
_STRENGTH = {"+": 1, "−": 1, "×": 2, "÷": 2, "^": 3}
_NAMES = {"max": "max", "min": "min", "ceil": "⌈⌉", "floor": "⌊⌋"}
_SHEET_NAMES = {"max": "MAX", "min": "MIN"}


class _Operators:
    """Arithmetic on trees; plain numbers become constants."""

    def __add__(self, other: "Term") -> "Op":
        return Op("+", (_tree(self), _tree(other)))

    def __radd__(self, other: "Term") -> "Op":
        return Op("+", (_tree(other), _tree(self)))

    def __sub__(self, other: "Term") -> "Op":
        return Op("−", (_tree(self), _tree(other)))

    def __rsub__(self, other: "Term") -> "Op":
        return Op("−", (_tree(other), _tree(self)))

    def __mul__(self, other: "Term") -> "Op":
        return Op("×", (_tree(self), _tree(other)))

    def __rmul__(self, other: "Term") -> "Op":
        return Op("×", (_tree(other), _tree(self)))

    def __truediv__(self, other: "Term") -> "Op":
        return Op("÷", (_tree(self), _tree(other)))

    def __rtruediv__(self, other: "Term") -> "Op":
        return Op("÷", (_tree(other), _tree(self)))

    def __pow__(self, other: "Term") -> "Op":
        return Op("^", (_tree(self), _tree(other)))


@dataclass(frozen=True, slots=True)
class Sym(_Operators):
    """A symbol with its value in SI units.  ``meaning``: key below "derivation.symbols.".

    Empty where another step works it out.
    """

    name: str
    value: float
    unit: Unit = "count"
    meaning: str = ""
    latex_name: str = ""

    @property
    def latex(self) -> str:
        """The symbol in LaTeX: a letter as it is, t_d with its index, a word upright."""
        if self.latex_name:
            return self.latex_name
        head, _, index = self.name.partition("_")
        shown = head if len(head) == 1 else rf"\mathrm{{{head}}}"
        return f"{shown}_{{\\mathrm{{{index}}}}}" if index else shown


@dataclass(frozen=True, slots=True)
class Num(_Operators):
    """A constant of the formula."""

    value: float


@dataclass(frozen=True, slots=True)
class Op(_Operators):
    """An operation on trees."""

    kind: Operation
    parts: tuple["Expr", ...]


Expr: TypeAlias = Sym | Num | Op
Term: TypeAlias = Expr | float | _Operators


def _tree(value: Term) -> Expr:
    if isinstance(value, Sym | Num | Op):
        return value
    assert isinstance(value, float | int)
    return Num(value)


def largest(*parts: Term) -> Op:
    """The maximum."""
    return Op("max", tuple(map(_tree, parts)))


def least(*parts: Term) -> Op:
    """The minimum."""
    return Op("min", tuple(map(_tree, parts)))


def whole_up(part: Term) -> Op:
    """Rounded up to a whole number."""
    return Op("ceil", (_tree(part),))


def whole_down(part: Term) -> Op:
    """Rounded down to a whole number."""
    return Op("floor", (_tree(part),))


def added(parts: list[Expr]) -> Expr:
    """The sum of any number of parts; 0 of none."""
    if not parts:
        return Num(0)
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def value_of(tree: Expr) -> float:
    """The result; whole numbers stay exact as far as their inputs are."""
    if isinstance(tree, Sym | Num):
        return tree.value
    values = [value_of(part) for part in tree.parts]
    match tree.kind:
        case "+":
            return values[0] + values[1]
        case "−":
            return values[0] - values[1]
        case "×":
            return values[0] * values[1]
        case "÷":
            return values[0] / values[1] if values[1] else math.inf
        case "^":
            return float(values[0] ** values[1])
        case "max":
            return max(values)
        case "min":
            return min(values)
        case "ceil":
            return math.ceil(values[0]) if math.isfinite(values[0]) else values[0]
        case "floor":
            return math.floor(values[0]) if math.isfinite(values[0]) else values[0]


def symbols_of(tree: Expr) -> Iterator[Sym]:
    """The symbols in order of appearance, each once."""
    seen: set[str] = set()

    def walk(node: Expr) -> Iterator[Sym]:
        if isinstance(node, Sym):
            if node.name not in seen:
                seen.add(node.name)
                yield node
        elif isinstance(node, Op):
            for part in node.parts:
                yield from walk(part)

    return walk(tree)


def symbolic(tree: Expr) -> str:
    """The formula in symbols: "2 · N · L ÷ TP"."""
    return _infix(tree, lambda sym: sym.name, " · ")


def with_values(tree: Expr) -> str:
    """The formula with values and units put in: "2 × 32.8 G × 4,096 ÷ 2"."""
    return _infix(tree, lambda sym: figure(sym.value, sym.unit), " × ")


def _constant(value: float) -> str:
    return _plain(value).replace("-", "−")


def _plain(value: float) -> str:
    """Without a power of ten where the digits can be read."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:g}"


def _infix(tree: Expr, shown: Callable[[Sym], str], times: str) -> str:
    if isinstance(tree, Sym):
        return shown(tree)
    if isinstance(tree, Num):
        return _constant(tree.value)
    texts = [_infix(part, shown, times) for part in tree.parts]
    if tree.kind in _NAMES:
        marks = _NAMES[tree.kind]
        if len(marks) == 2:
            return f"{marks[0]}{texts[0]}{marks[1]}"
        return f"{marks}({', '.join(texts)})"
    left, right = (
        _in_brackets(text, part, tree.kind, side)
        for side, (text, part) in enumerate(zip(texts, tree.parts, strict=True))
    )
    sign = {"×": times, "^": "^"}.get(tree.kind, f" {tree.kind} ")
    return f"{left}{sign}{right}"


def _in_brackets(text: str, part: Expr, kind: str, side: int) -> str:
    if not isinstance(part, Op) or part.kind not in _STRENGTH:
        # A figure with a unit is a product: its power needs brackets.
        return f"({text})" if kind == "^" and side == 0 and " " in text else text
    mine, inner = _STRENGTH[kind], _STRENGTH[part.kind]
    weak = inner < mine or (inner == mine and side == 1 and kind in ("−", "÷")) or kind == "^"
    return f"({text})" if weak else text


def latex(tree: Expr, numbers: bool = False) -> str:
    """The formula in LaTeX, in symbols or with ``numbers`` put in."""
    if isinstance(tree, Sym):
        return figure_latex(tree.value, tree.unit) if numbers else tree.latex
    if isinstance(tree, Num):
        return _plain(tree.value)
    texts = [latex(part, numbers) for part in tree.parts]
    match tree.kind:
        case "÷":
            return rf"\frac{{{texts[0]}}}{{{texts[1]}}}"
        case "max" | "min":
            return rf"\{tree.kind}\left({', '.join(texts)}\right)"
        case "ceil":
            return rf"\left\lceil {texts[0]} \right\rceil"
        case "floor":
            return rf"\left\lfloor {texts[0]} \right\rfloor"
    left, right = (
        rf"\left({text}\right)" if _needs_brackets(part, tree.kind, side) else text
        for side, (text, part) in enumerate(zip(texts, tree.parts, strict=True))
    )
    if tree.kind == "^":
        return f"{{{left}}}^{{{texts[1]}}}"
    sign = {"×": r" \times " if numbers else r" \cdot ", "−": " - "}.get(tree.kind, " + ")
    return f"{left}{sign}{right}"


def _needs_brackets(part: Expr, kind: str, side: int) -> bool:
    if not isinstance(part, Op) or part.kind not in ("+", "−", "×", "^"):
        return kind == "^" and side == 0 and isinstance(part, Op)
    if kind == "^":
        return side == 0
    return part.kind in ("+", "−") and (kind == "×" or (kind == "−" and side == 1))


def sheet_formula(tree: Expr, cells: Mapping[str, str]) -> str:
    """The formula of a spreadsheet, without the leading "="; ``cells`` gives the cell of each symbol."""
    if isinstance(tree, Sym):
        return cells[tree.name]
    if isinstance(tree, Num):
        return repr(tree.value)
    texts = [sheet_formula(part, cells) for part in tree.parts]
    match tree.kind:
        case "max" | "min":
            return f"{_SHEET_NAMES[tree.kind]}({','.join(texts)})"
        case "ceil":
            return f"ROUNDUP({texts[0]},0)"
        case "floor":
            return f"INT({texts[0]})"
    sign = {"−": "-", "×": "*", "÷": "/"}.get(tree.kind, tree.kind)
    return f"({texts[0]}{sign}{texts[1]})"
