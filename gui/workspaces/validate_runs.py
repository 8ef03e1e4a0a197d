"""Runs into the log and out of it: taken in, removed with a way back, written to files."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

import resources
from core.errors import InferometerError, Problem
from core.evidence.kept_runs import Entry
from core.evidence.readers.common import Reading, together
from core.evidence.run_files import runs_csv, runs_jsonl
from core.files.atomic import write_atomic
from core.files.user_folders import home_folder
from core.words import counted
from gui.frame.messages import Link

if TYPE_CHECKING:
    from gui.workspaces.registry import Context

EXAMPLES = ("example-vllm-bench.jsonl", "example-vllm-start.log")
_SUBJECT = "file"
Said = tuple[str, Sequence[Link]]  # in the language that is spoken


class RunsInOut(QObject):
    """``show_unread`` lists what was not read."""

    def __init__(
        self, context: "Context", parent: QWidget, show_unread: Callable[[Sequence[Problem]], object]
    ) -> None:
        super().__init__(parent)
        self._context, self._words, self._widget = context, context.words, parent
        self._show_unread = show_unread
        self._store = context.shell().runs
        self._store.added.connect(self._tell_added)
        self._store.removed.connect(self._tell_removed)
        self._store.failed.connect(self.tell_problems)

    def take(self, reading: Reading) -> None:
        """Keep what was read, and list what could not be."""
        self._show_unread(reading.problems)
        self._store.add(reading)

    def add(self) -> None:
        """Let the user choose files of measurements."""
        path = self._context.document.path
        home = path.parent if path else home_folder()
        self._context.dialogs.open_runs(self._widget, home, self._context.shell().bring)

    def show_example(self) -> None:
        """Take the examples in, as what they are."""
        from core.evidence.readers.detect import read_text  # the workspace opens without the readers

        read = (read_text(resources.read_bytes(f"data/evidence/{name}"), name) for name in EXAMPLES)
        self.take(together(read))

    def remove(self, entries: Sequence[Entry]) -> None:
        """Take runs out of the log."""
        if entries:
            self._store.remove(entries)

    def export(self, entries: Iterable[Entry], kind: str) -> None:
        """Write runs to a file; its form follows the ending of the name that is chosen."""
        document, words = self._context.document, self._words
        home = document.path.parent if document.path else home_folder()
        name = words("validating.export_file", name=Path(document.title).stem)
        runs = [entry.run for entry in entries]

        def chosen(path: Path | None) -> None:
            if path is None:
                return
            as_csv = path.suffix.lower() == ".csv"
            text = runs_csv(runs) if as_csv else runs_jsonl(runs)
            try:
                write_atomic(path, text.encode("utf-8-sig" if as_csv else "utf-8", "replace"))
            except InferometerError as error:
                self.tell("bad", self._problem(error.problems[0]))
            else:
                self.tell("good", lambda: (words("simulating.saved", name=path.name), ()))

        self._context.dialogs.save_file(self._widget, home / f"{name}.{kind}", chosen)

    def _tell_added(self, fresh: tuple[Entry, ...], known: int, reading: Reading) -> None:
        context, store, unread = self._context, self._store, len(reading.problems)

        def said() -> Said:
            words = context.words
            told = [words.phrase(counted("validating.added", len(fresh)))]
            links: list[Link] = []
            if known:
                told.append(words.phrase(counted("validating.known", known)))
            if unread:
                told.append(words.phrase(counted("validating.remarks", unread)))
                links.append((words("intake.show"), context.shell().show_unread))
            if fresh:
                links.append((words("intake.undo"), lambda: store.remove(fresh)))
            return words.sentences(told), links

        self.tell("warn" if unread else "good", said)

    def _tell_removed(self, gone: tuple[Entry, ...]) -> None:
        context, store = self._context, self._store

        def back() -> None:
            store.bring_back(gone)
            context.messages.drop(_SUBJECT)

        def said() -> Said:
            text = context.words.phrase(counted("validating.removed", len(gone)))
            return text, [(context.words("intake.undo"), back)]

        self.tell("good", said)

    def tell_problems(self, problems: Sequence[Problem]) -> None:
        """What the log had to say."""
        if problems:
            self.tell("warn" if problems[0].severity == "warning" else "bad", self._problem(problems[0]))

    def _problem(self, problem: Problem) -> Callable[[], Said]:
        words = self._words
        return lambda: (words.problem(problem), ())

    def tell(self, kind: str, said: Callable[[], Said], *, passing: bool = False) -> None:
        """A message above the workspace; a passing one goes with the next edit."""
        tell_of_runs(self._context, kind, said, passing=passing)


def tell_of_runs(context: "Context", kind: str, said: Callable[[], Said], *, passing: bool) -> None:
    """Tell it, and once more in another language: then the workspace that told it is gone."""
    messages = context.messages
    text, links = said()
    dismiss: Link = (context.words("window.dismiss"), lambda: messages.drop(_SUBJECT))
    messages.tell(
        _SUBJECT,
        kind,
        text,
        [*links, dismiss],
        passing=passing,
        again=lambda: tell_of_runs(context, kind, said, passing=passing),
    )
