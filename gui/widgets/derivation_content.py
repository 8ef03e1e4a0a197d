"""What a derivation says, as texts; no painting here."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QMenu

from core.memory.ledger import LINE_ORDER
from core.units import Shown
from core.words import Phrase, Words
from gui.widgets.card_content import CARD_KEYS

if TYPE_CHECKING:  # at run time they come with the first derivation, after the first paint
    from core.explain.derivation import Derivation, Step

# The numbers that can be chosen by name; everything else is reached by a click on it.
CHOICES: tuple[tuple[str, ...], ...] = (
    (*CARD_KEYS,),
    ("request_throughput", "kv_tokens", "kv_bytes_per_token", "max_users_at_model_length", "max_length"),
    ("step.prefill", "step.decode"),
    ("energy_per_token", "cost_per_million_tokens"),
)


@dataclass(frozen=True)
class StepText:
    """One step.  ``formula`` and ``values`` are empty for a figure that is given."""

    name: str
    symbol: str
    formula: str
    values: str
    result: Shown
    glossary: str = ""
    more: str = ""
    tip: str = ""
    spoken: str = ""
    total: bool = False


@dataclass(frozen=True)
class DerivationText:
    """The whole working of one number."""

    key: str
    title: str
    steps: tuple[StepText, ...]
    range: str = ""
    textbook: tuple[StepText, ...] = ()
    why: tuple[str, ...] = ()


def title_of(key: str, words: Words, full: str = "") -> str:
    """The short name of a number, the same as everywhere else in the window."""
    if key in CARD_KEYS:
        return words(f"cards.{key}.name")
    head, _, rest = key.partition(".")
    if head == "ledger":
        return words(f"ledger.{rest}")
    return full or words(f"derivation.titles.{key.replace('.', '_')}")


def choose_in(
    menu: QMenu, there: Sequence[str], shown: str, words: Words, choose: Callable[[str], object]
) -> None:
    """A menu of the numbers that can be chosen by name, as far as they are there."""
    lines = tuple(f"ledger.{key}" for key in LINE_ORDER)
    for group in (*CHOICES[:2], lines, *CHOICES[2:]):
        for key in group:
            if key in there:
                action = menu.addAction(title_of(key, words))
                action.setCheckable(True)
                action.setChecked(key == shown)
                action.triggered.connect(lambda _=False, key=key: choose(key))
        menu.addSeparator()


def written(derivation: "Derivation", form: str, words: Words) -> str:
    """A derivation to paste elsewhere: as "text", "markdown" or "latex"."""
    from core.explain import derivation_types as forms

    write = {"text": forms.as_text, "markdown": forms.as_markdown, "latex": forms.as_latex}[form]
    return write(derivation, words)


def derivation_text(derivation: "Derivation", words: Words) -> DerivationText:
    """A derivation in a language."""
    from core.explain.derivation_types import range_text

    found = derivation.range
    source = "" if derivation.range_source is None else words.phrase(derivation.range_source)
    span = ""
    if found is not None:
        unit = derivation.total.symbol.unit
        span = words("derivation.range", range=range_text(found, unit), source=source)
    return DerivationText(
        derivation.key,
        _title(derivation, words),
        _steps(derivation.steps, words),
        span,
        _steps(derivation.textbook, words),
        tuple(words.phrase(reason) for reason in derivation.why),
    )


def _title(derivation: "Derivation", words: Words) -> str:
    """The short name; a line of the ledger is called as the ledger calls it."""
    line = derivation.title.values.get("line")
    if isinstance(line, Phrase):
        return words.phrase(line)
    return title_of(derivation.key, words, words.phrase(derivation.title))


def _steps(steps: "Sequence[Step]", words: Words) -> tuple[StepText, ...]:
    return tuple(_step(step, words, step is steps[-1]) for step in steps)


def _step(step: "Step", words: Words, total: bool) -> StepText:
    from core.explain.expression import Sym, symbols_of

    name, source = words.phrase(step.name), words.phrase(step.source)
    given = isinstance(step.formula, Sym)
    formula = "" if given else f"{step.symbol.name} = {step.formula_text}"
    meanings = []
    for symbol in symbols_of(step.formula):
        if symbol.meaning:
            meaning = words(f"derivation.symbols.{symbol.meaning}")
            meanings.append(words("side.meaning", symbol=symbol.name, meaning=meaning))
    spoken = words("side.step", name=name, result=step.result)
    if formula:
        spoken = words(
            "side.step_worked", name=name, result=step.result, formula=formula, values=step.values_text
        )
    return StepText(
        name,
        step.symbol.name,
        formula,
        step.values_text,
        step.result,
        step.glossary,
        step.more,
        "\n".join([words("side.source", source=source), *meanings]),
        spoken,
        total,
    )
