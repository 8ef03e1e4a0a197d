"""What a derivation is made of, and its forms as text."""

from collections.abc import Sequence
from dataclasses import dataclass

from core.explain.expression import Expr, Sym, latex, symbolic, symbols_of, value_of, with_values
from core.explain.figures import Unit, figure, figure_latex, shown
from core.quantities import Range
from core.units import Shown
from core.words import Phrase, Words


@dataclass(frozen=True, slots=True)
class Step:
    """One line of the working: ``symbol`` = ``formula``.

    ``source`` says where the rule or the figure comes from; ``glossary`` is a key of the glossary,
    ``more`` the key of the derivation that unfolds the result further.
    """

    name: Phrase
    symbol: Sym
    formula: Expr
    source: Phrase
    glossary: str = ""
    more: str = ""

    @property
    def value(self) -> float:
        """The result in SI units."""
        return value_of(self.formula)

    @property
    def result(self) -> Shown:
        """The result as number and unit."""
        return shown(self.value, self.symbol.unit)

    @property
    def formula_text(self) -> str:
        """The formula in symbols; "" for a figure that is given."""
        return "" if isinstance(self.formula, Sym) else symbolic(self.formula)

    @property
    def values_text(self) -> str:
        """The formula with its values; "" for a figure that is given."""
        return "" if isinstance(self.formula, Sym) else with_values(self.formula)

    @property
    def formula_latex(self) -> str:
        """Symbol = formula = values = result, in LaTeX."""
        result = figure_latex(self.value, self.symbol.unit)
        if isinstance(self.formula, Sym):
            return f"{self.symbol.latex} = {result}"
        return f"{self.symbol.latex} = {latex(self.formula)} = {latex(self.formula, True)} = {result}"


@dataclass(frozen=True, slots=True)
class Derivation:
    """The working of one number.  The last step is the number; the ones before are what it is made of."""

    key: str
    title: Phrase
    steps: tuple[Step, ...]
    range: Range | None = None  # SI units
    range_source: Phrase | None = None
    textbook: tuple[Step, ...] = ()
    why: tuple[Phrase, ...] = ()  # why the textbook rule says something else

    @property
    def total(self) -> Step:
        """The number itself."""
        return self.steps[-1]

    def symbols(self) -> tuple[Sym, ...]:
        """The symbols that no step works out, each once, in order; those have a meaning in words."""
        found: dict[str, Sym] = {}
        for step in (*self.steps, *self.textbook):
            for symbol in symbols_of(step.formula):
                if symbol.meaning:
                    found.setdefault(symbol.name, symbol)
        return tuple(found.values())


def given(name: str, symbol: Sym, source: str, glossary: str = "", more: str = "", **values: object) -> Step:
    """A figure that is given here; ``more`` is where it is worked out."""
    return Step(Phrase(f"derivation.steps.{name}", values), symbol, symbol, Phrase(source), glossary, more)


def worked(
    name: str, symbol: str, formula: Expr, unit: Unit, source: Phrase, glossary: str = "", **values: object
) -> Step:
    """A step that is worked out; its symbol carries the result to later steps."""
    result = Sym(symbol, value_of(formula), unit)
    return Step(Phrase(f"derivation.steps.{name}", values), result, formula, source, glossary)


def range_text(found: Range, unit: Unit) -> str:
    """A range in the unit of its middle."""
    return f"{figure(found.low, unit)} – {figure(found.high, unit)}"


def _ends(derivation: Derivation, words: Words) -> list[str]:
    lines = []
    if derivation.range is not None:
        values = {"range": range_text(derivation.range, derivation.total.symbol.unit)}
        source = "" if derivation.range_source is None else words.phrase(derivation.range_source)
        lines.append(words("derivation.range", **values, source=source))
    return lines


def as_text(derivation: Derivation, words: Words) -> str:
    """The working as plain text."""
    lines = [words.phrase(derivation.title)]

    def write(steps: Sequence[Step]) -> None:
        for step in steps:
            lines.append(f"{words.phrase(step.name)}: {step.symbol.name} = {step.result}")
            if step.formula_text:
                lines.append(f"    {step.formula_text}")
                lines.append(f"    {step.values_text}")
            lines.append(f"    [{words.phrase(step.source)}]")

    write(derivation.steps)
    lines += _ends(derivation, words)
    if derivation.textbook:
        lines += ["", words("derivation.textbook")]
        write(derivation.textbook)
    lines += [words.phrase(reason) for reason in derivation.why]
    return "\n".join(lines) + "\n"


def as_markdown(derivation: Derivation, words: Words, level: int = 3) -> str:
    """The working as a Markdown table a rule."""
    heads = [
        words(f"derivation.columns.{name}") for name in ("step", "formula", "values", "result", "source")
    ]

    def table(steps: Sequence[Step]) -> list[str]:
        rows = ["| " + " | ".join(heads) + " |", "|---|---|---|---:|---|"]
        for step in steps:
            cells = [
                words.phrase(step.name),
                f"{step.symbol.name} = {step.formula_text}" if step.formula_text else step.symbol.name,
                step.values_text,
                str(step.result),
                words.phrase(step.source),
            ]
            rows.append("| " + " | ".join(markdown_text(cell) for cell in cells) + " |")
        return rows

    lines = [
        f"{'#' * level} {markdown_text(words.phrase(derivation.title))}",
        "",
        *table(derivation.steps),
        "",
    ]
    lines += [markdown_text(line) for line in _ends(derivation, words)]
    if derivation.textbook:
        lines += [
            "",
            f"{'#' * (level + 1)} {words('derivation.textbook')}",
            "",
            *table(derivation.textbook),
            "",
        ]
    lines += [markdown_text(words.phrase(reason)) for reason in derivation.why]
    return "\n".join(lines) + "\n"


_MARKDOWN = str.maketrans({c: f"\\{c}" for c in "\\`*_{}[]<>#|~$&"} | {"\n": " ", "\r": " "})


def markdown_text(text: str) -> str:
    """A text in which Markdown sees no marks."""
    return text.translate(_MARKDOWN)


_LATEX = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "×": r"$\times$",
    "·": r"$\cdot$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "−": "$-$",
    "–": "--",
    "÷": r"$\div$",
    "µ": r"$\mu$",
    **{c: f"\\{c}" for c in "#$%&_{}"},
}


def latex_text(text: str) -> str:
    """A text in which LaTeX sees no commands."""
    return "".join(_LATEX.get(c, c) for c in text).replace("\n", " ")


def as_latex(derivation: Derivation, words: Words) -> str:
    """The working as aligned equations."""

    def block(steps: Sequence[Step]) -> list[str]:
        rows = []
        for step in steps:
            left, _, right = step.formula_latex.partition(" = ")
            rows.append(rf"  {left} &= {right} && \text{{{latex_text(words.phrase(step.name))}}} \\")
        return [r"\begin{align*}", *rows, r"\end{align*}"]

    lines = [rf"\paragraph{{{latex_text(words.phrase(derivation.title))}}}", *block(derivation.steps)]
    lines += [latex_text(line) for line in _ends(derivation, words)]
    if derivation.textbook:
        lines += [rf"\paragraph{{{latex_text(words('derivation.textbook'))}}}", *block(derivation.textbook)]
    lines += [latex_text(words.phrase(reason)) for reason in derivation.why]
    return "\n".join(lines) + "\n"
