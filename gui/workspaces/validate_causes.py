"""Likely causes of a difference: looked for beside the window, shown on the plot, tried in the scenario."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from core.errors import InferometerError
from core.evidence.pairing import Pair
from core.evidence.run import Run
from core.memory.capacity import Change
from core.spec.scenario import Scenario
from gui.contents import validate as content
from gui.work.background import Work
from gui.work.boards import Board, Suggestion, View
from gui.work.validation import follows, suggestions, with_cause
from gui.workspaces.validate_pages import ValidatePages
from gui.workspaces.validate_runs import RunsInOut, Said

if TYPE_CHECKING:
    from gui.workspaces.registry import Context

Told = Callable[[], str]  # in the language that is spoken


class CauseFinder(QObject):
    """``found`` are the causes of what was chosen last."""

    def __init__(self, context: "Context", pages: ValidatePages, runs: RunsInOut, parent: QObject) -> None:
        super().__init__(parent)
        self._context, self._words = context, context.words
        self._pages, self._runs = pages, runs
        self._board: Board | None = None
        self._view: View | None = None
        self._chosen: list[int] = []
        self.found: tuple[Suggestion, ...] = ()
        self.work = Work(self)
        self.work.news.connect(self._on_found)
        pages.beside.tried.connect(self.try_cause)
        pages.beside.pointed.connect(self.show_moves)

    def look(self, board: Board, view: View, chosen: list[int], name: str) -> None:
        """Look for what explains these runs; ``name`` is what they are called."""
        self._board, self._view, self._chosen = board, view, chosen
        self._pages.beside.set_causes_of(name)
        self.found = ()
        self._show(working=True)
        self.work.start(lambda: suggestions(board, chosen))

    def _on_found(self, found: tuple[Suggestion, ...]) -> None:
        self.found = found
        self._show()

    @property
    def _figure(self) -> str:
        return self._view.figure if self._view is not None else ""

    def _show(self, working: bool = False) -> None:
        words = self._words
        texts = [content.cause_text(self._board, self._figure, one, words) for one in self.found]
        empty = words("validating.causes.working")
        if not working:
            empty = content.causes_empty(self._board, self._chosen, words)
        self._pages.causes.show_causes(texts, empty)
        self._pages.plot.show_moves(())

    def show_moves(self, number: int) -> None:
        """Where the points would stand with a cause."""
        board = self._board
        known = board is not None and 0 <= number < len(self.found)
        moves = content.moves(board, self._figure, self.found[number]) if known and board else ()
        self._pages.plot.show_moves(moves)

    def try_cause(self, number: int) -> None:
        """Put a likely cause into the scenario, as one undoable edit."""
        if not 0 <= number < len(self.found) or self._board is None:
            return
        one, board, figure, words = self.found[number], self._board, self._figure, self._words

        def effect() -> str:
            return content.cause_effect(board, figure, one, words) or content.cause_note(one, words)

        pair = board.pairs[one.pairs[0]]
        self.put_found(one.cause.changes, lambda: words.phrase(one.cause.text), effect, pair)

    def put_found(self, changes: Sequence[Change], text: Told, effect: Told, pair: Pair | None) -> None:
        """Change the scenario; ``pair`` is the run whose difference that explains, as ``effect`` tells."""
        own = pair.scenario if pair is not None else None
        self.put(changes, text, own, effect, pair.run if pair is not None else None)

    def put(
        self,
        changes: Sequence[Change],
        text: Told,
        own: Scenario | None = None,
        effect: Told = str,
        run: Run | None = None,
    ) -> None:
        """Change the scenario, and say so with what comes of it and a way back."""
        document, words = self._context.document, self._words
        try:
            scenario = with_cause(document.scenario, changes, own)
        except InferometerError as error:
            self._runs.tell_problems(error.problems)
            return
        if scenario == document.scenario:
            self._runs.tell("info", lambda: (words("validating.tried_already", text=text()), ()))
            return
        document.replace(scenario, "validating.edit")
        data = self._context.shell().data
        folder = data / "catalogue" if data is not None else None
        stays = run is not None and not follows(run, scenario, changes, folder)

        def said() -> Said:
            outcome = words("validating.run_stays") if stays else effect()
            told = words.sentences(filter(None, (words("validating.tried", text=text()), outcome)))
            return told, [(words("intake.undo"), document.undo)]

        # After another edit, or the undoing of this one, the link would undo something else: it goes.
        self._runs.tell("good", said, passing=True)
