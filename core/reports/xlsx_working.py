"""The working of the ledger as cells: every number that depends on an input is a formula.

The formulas are written from the trees of the derivations, so the sheet says what the program says; the
results are stored beside them for readers that do not compute.  What another block works out is taken from
there, so a change of an input reaches everything that follows from it.
"""

from typing import Any

from core.explain.derivation import derive
from core.explain.derivation_memory import budget_steps, outside_steps, spare_steps
from core.explain.derivation_types import Derivation, Step
from core.explain.expression import Sym, sheet_formula, symbolic, symbols_of
from core.explain.figures import shown
from core.explain.ledger_names import budget_key, of_device, title_of
from core.memory.build import plan_memory
from core.memory.ledger import LINE_ORDER, LineKey
from core.results import Estimate
from core.words import Phrase, Words

WIDE, NARROW = 34, 16
_OF_BUDGET = ("M_d", "u")
CEILINGS: tuple[str, ...] = ("concurrent_users", "kv_tokens")
_LEFT: tuple[LineKey, ...] = ("kv_cache_spare", "outside")  # what the other lines leave


class Working:
    """Inputs first, then each line's working, one block below the other.

    ``totals``: the cell of each line's result, of "budget", "device" and of the ceilings.
    """

    def __init__(self, sheet: Any, name: str, formats: dict[str, Any], words: Words) -> None:
        self.sheet, self.name, self.formats, self.words = sheet, name, formats, words
        self.row = 0
        self.totals: dict[str, str] = {}
        self._shared: dict[str, tuple[str, float]] = {}  # symbol → cell and value

    def write(self, point: Estimate) -> None:
        """Write all blocks."""
        for column, width in enumerate((WIDE, 14, 22, NARROW, 44, 44)):
            self.sheet.set_column(column, column, width)
        self.sheet.write_string(0, 0, self.words("reports.input_cells"), self.formats["title"])
        self.sheet.write_string(1, 0, self.words("reports.ledger_note"))
        self.row = 2
        lines = _lines(point)
        limit = budget_key(point)
        word = of_device(point.scenario.accelerator, limit) if limit == "device" else limit
        budget = Derivation("budget", Phrase(f"derivation.steps.{word}"), budget_steps(point))
        self._inputs(point, [*lines.values(), budget])
        for key, working in lines.items():
            self._block(key, working)
            for name in (f"M_{key}", *(("M_g",) if key == "graphs" else ())):
                self._shared[name] = (self.totals[key], float(point.ledger.bytes_of(key)))
        self._block("budget", budget)
        symbol = "M_d" if limit == "device" else "M_b"
        self._shared[symbol] = (self.totals["budget"], float(point.ledger.budget_bytes))
        if "M_d" not in self._shared:  # a plain number, as the budget is one
            self._plain("M_d", point.ledger.device_bytes)
        self.totals["device"] = self._shared["M_d"][0]
        for key, steps in zip(_LEFT, (spare_steps(point), outside_steps(point)), strict=True):
            name = Phrase("derivation.titles.ledger", {"line": title_of(point, key)})
            self._block(key, Derivation(key, name, steps))
        for ceiling in CEILINGS:
            found = derive(point, ceiling)
            if found is not None:
                self._block(ceiling, found)

    def cell(self, key: str) -> str:
        """The cell of a result, to be used on another sheet."""
        return f"'{self.name}'!{self.totals[key]}"

    def _inputs(self, point: Estimate, workings: list[Derivation]) -> None:
        found: dict[str, Sym] = {}
        for working in workings:
            for symbol in (one for step in working.steps for one in symbols_of(step.formula)):
                if symbol.name in _open(point) and not _is_result(working, symbol.name):
                    found.setdefault(symbol.name, symbol)
        for name in ("C", "C_1", "L", "M_d", "u"):
            if name in found:
                symbol = found[name]
                self._line(self.words(f"derivation.symbols.{symbol.meaning}"), symbol, None, "input")
                self._shared[name] = (self._at(self.row - 1), float(symbol.value))
        self.row += 1

    def _plain(self, name: str, value: float) -> None:
        self._line(self.words(f"derivation.symbols.{name}"), Sym(name, value, "GiB", name), None, "number")
        self._shared[name] = (self._at(self.row - 1), float(value))
        self.row += 1

    def _at(self, row: int) -> str:
        return f"$C${row + 1}"

    def _block(self, key: str, working: Derivation) -> None:
        self.sheet.write_string(self.row, 0, self.words.phrase(working.title), self.formats["head"])
        for column, head in ((1, "symbol"), (2, "value"), (4, "formula"), (5, "source")):
            said = "reports.symbol" if head == "symbol" else f"derivation.columns.{head}"
            text = self.words("reports.columns.value") if head == "value" else self.words(said)
            self.sheet.write_string(self.row, column, text, self.formats["head"])
        self.row += 1
        cells: dict[str, str] = {}
        results = {step.symbol.name for step in working.steps}
        for step in working.steps:
            for symbol in symbols_of(step.formula):
                if symbol.name not in cells and (symbol.name not in results or symbol is not step.symbol):
                    self._symbol(symbol, cells)
            self._step(step, cells)
        self.row += 1
        self.totals[key] = cells[working.total.symbol.name]

    def _symbol(self, symbol: Sym, cells: dict[str, str]) -> None:
        """A figure that a formula takes: the cell that has it already, where there is one."""
        known = self._shared.get(symbol.name)
        if known is not None and known[1] == symbol.value:
            cells[symbol.name] = known[0]
            return
        meaning = self.words(f"derivation.symbols.{symbol.meaning}") if symbol.meaning else symbol.name
        self._line(meaning, symbol, None, "number")
        cells[symbol.name] = self._at(self.row - 1)

    def _step(self, step: Step, cells: dict[str, str]) -> None:
        name = step.symbol.name
        if isinstance(step.formula, Sym):
            if name not in cells:
                self._symbol(step.symbol, cells)
            return
        if name == "M_b" and name in self._shared:
            cells[name] = self._shared[name][0]
            return
        formula = sheet_formula(step.formula, cells)
        formula = f"=MAX(0,{formula})" if name == "M_s" else f"={formula}"  # nothing is left, never less
        self._line(self.words.phrase(step.name), step.symbol, formula, "number", step)
        cells[name] = self._at(self.row - 1)

    def _line(
        self, name: str, symbol: Sym, formula: str | None, style: str, step: Step | None = None
    ) -> None:
        sheet, row = self.sheet, self.row
        sheet.write_string(row, 0, name)
        sheet.write_string(row, 1, symbol.name)
        value = float(symbol.value)
        if formula is None:
            sheet.write_number(row, 2, value, self.formats[style])
            # Said beside the number only where it stays: an input and what follows from it may change.
            if style != "input":
                sheet.write_string(row, 3, str(shown(value, symbol.unit)))
        else:
            value = max(0.0, value) if symbol.name == "M_s" else value
            sheet.write_formula(row, 2, formula, self.formats["number"], value)
        if step is not None:
            sheet.write_string(row, 4, symbolic(step.formula), self.formats["italic"])
            sheet.write_string(row, 5, self.words.phrase(step.source))
        self.row += 1


def _lines(point: Estimate) -> dict[LineKey, Derivation]:
    """The workings of the lines that the engine takes, in order."""
    found: dict[LineKey, Derivation] = {}
    for key in LINE_ORDER:
        if key not in _LEFT and point.ledger.bytes_of(key):
            working = derive(point, f"ledger.{key}")
            if working is not None:
                found[key] = working
    return found


def _open(point: Estimate) -> tuple[str, ...]:
    """Symbols that may be changed: those of which everything that depends on them is a formula.

    Not those of a budget that the engine's rule gives as one figure, and not the length where pages of
    windows are shared by all requests.
    """
    free = ["C", "C_1"]
    plan, work = plan_memory(point.scenario), point.scenario.workload
    windows = any(group.window is not None for group in plan.demand.groups)
    if not (windows and work.shared_prefix_tokens):
        free.append("L")
    if not isinstance(budget_steps(point)[-1].formula, Sym):
        free += _OF_BUDGET
    return tuple(free)


def _is_result(working: Derivation, name: str) -> bool:
    """Whether a step of the working computes the symbol."""
    return any(step.symbol.name == name and not isinstance(step.formula, Sym) for step in working.steps)
