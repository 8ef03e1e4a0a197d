"""Whatever is dropped, pasted or opened: recognised, taken over as one undoable edit, and told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QMimeData, QObject, Signal
from PySide6.QtGui import QGuiApplication

from core.errors import InferometerError, InvalidScenario, Problem
from core.files.opening import Opened, opened
from core.spec.checks import check
from core.spec.formats import WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.words import Words
from gui.document import Document
from gui.forms.choices import engine_label, layout_label
from gui.forms.consequences import settled
from gui.forms.layouts import layout_of
from gui.frame.messages import Link, MessageArea
from gui.work.local_devices import LocalDevices
from gui.work.measurements import Measurements, is_plausible, may_be_trace, may_hold_runs

# The readers are imported when something is brought in, not at the start.
if TYPE_CHECKING:
    from core.evidence.readers.common import Reading
    from core.importers.local_hardware import LocalHardware
    from core.importers.recognise import Imported

OpenDocument = Callable[[Path], object]
Source = Callable[[], str]  # what something was taken from, in the language that is spoken
Said = tuple[str, Sequence[Link]]
ShowNotes = Callable[[str, Sequence[tuple[str, str]]], object]
_SUBJECT, _TRACE = "file", "trace"  # a trace is opened too: the last of both is spoken of
_OF_MODELS = (".gguf", ".safetensors")
_CALIBRATION = ".calibration.json"
# Remarks that have words of their own in the message of a command.
_SAID_APART = ("importer.command_ignored", "importer.command_hardware")
_OF_NO_KIND = ("file.too_large", "file.unknown_kind", "importer.text_unknown")


class Intake(QObject):
    """Takes things in.

    ``open_document`` opens a scenario's file in place of what is here, ``begin`` a pasted scenario.
    Measurements are read in the background: ``runs.found`` carries them.
    """

    taken = Signal(object)  # the path of a file or folder that was taken over
    calibration = Signal(object)  # the path of a calibration's file
    trace = Signal(object)  # the path of a file with requests to simulate
    told = Signal()  # a message has taken the place of the one before

    def __init__(
        self,
        document: Document,
        words: Words,
        messages: MessageArea,
        open_document: OpenDocument,
        begin: Callable[[Opened], object],
        show_notes: ShowNotes,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._words = words
        self._messages = messages
        self._open_document = open_document
        self._begin = begin
        self._show_notes = show_notes
        self._pasted = 0  # texts with runs
        self._devices = LocalDevices(self)
        self._devices.found.connect(self._on_devices)
        self.runs = Measurements(self)
        self.runs.begun.connect(lambda: self._tell("info", self._text("intake.reading"), dismiss=False))
        self.wants_runs: Callable[[], bool] = lambda: False  # where the person is, runs are looked for first

    # -- ways in ---------------------------------------------------------------------------------

    def take_path(self, path: Path) -> bool:
        """A file or folder; False when nothing could be made of it, and then nothing changes."""
        if path.name.lower().endswith(_CALIBRATION):
            self.calibration.emit(path)
            return True
        runs = may_hold_runs(path)
        if not runs and may_be_trace(path):
            self.trace.emit(path)
            return True
        if runs and self.wants_runs():
            self._measure([path], "", lambda: self._take_path(path, False))
            return True
        return self._take_path(path, runs)

    def _take_path(self, path: Path, may_hold_runs: bool) -> bool:
        from core.importers.recognise import recognise

        try:
            found = recognise(path)
        except InferometerError as error:
            reason = error
            if may_hold_runs:
                self._measure([path], "", lambda: self._refuse(reason, lambda: path.name))
                return True
            self._refuse(error, lambda: path.name)
            return False
        if found.kind == "command" and may_hold_runs:  # the command line above what it printed
            self._measure([path], "", lambda: self._take_path(path, False))
            return True
        if found.kind == "document":
            self._open_document(path)
            return True
        if not self._take(found, lambda: path.name or str(path)):
            return False
        self.taken.emit(path)
        return True

    def take_text(self, text: str) -> bool:
        """A pasted text: a command, a configuration, a scenario, a model's name, a path."""
        path = _as_path(text)
        if path is not None:
            return self.take_path(path)
        runs = is_plausible(text.encode("utf-8", "replace"))
        if runs and self.wants_runs():
            self._measure([], text, lambda: self._take_text(text, False))
            return True
        return self._take_text(text, runs)

    def _take_text(self, text: str, may_hold_runs: bool) -> bool:
        from core.importers.recognise import recognise

        def title() -> str:
            return self._words("intake.pasted_title")

        try:
            found = recognise(text)
            if found.kind == "document":
                self._begin(opened(found))
                return True
        except InferometerError as error:
            reason = error
            if may_hold_runs:
                self._measure([], text, lambda: self._refuse(reason, title))
                return True
            self._refuse(error, title)
            return False
        if found.kind == "command" and may_hold_runs and "\n" in text.strip():
            self._measure([], text, lambda: self._take_text(text, False))
            return True
        return self._take(found, lambda: self._words("intake.pasted"))

    def _measure(self, paths: Sequence[Path], text: str, otherwise: Callable[[], object]) -> None:
        """Look for runs; a reason that a reader has goes before the one of ``otherwise``."""

        def none(reading: Reading | None) -> None:
            self._messages.drop(_SUBJECT)
            self._pasted -= bool(text)
            told = [p for p in reading.problems if p.code != "reading.unknown"] if reading is not None else []
            if otherwise() or not told or (len(paths) < 2 and not self.wants_runs()):
                return
            self._tell("bad", lambda: self._unread(told))

        name = self._words("intake.pasted")
        if text:
            self._pasted += 1  # the second text needs another name than the first
            name = name if self._pasted == 1 else f"{name} {self._pasted}"
        self.runs.read(paths, text, name, none)

    def _unread(self, problems: Sequence[Problem]) -> Said:
        listed = [(p.severity, self._words.located(p)) for p in problems]
        links: list[Link] = []
        if len(listed) > 1:
            title = self._words("intake.not_read")
            links = [(self._words("intake.show"), lambda: self._show_notes(title, listed))]
        return listed[0][1], links

    def paste(self) -> None:
        """What is on the clipboard."""
        data: QMimeData | None = QGuiApplication.clipboard().mimeData()  # None: whoever copied is gone
        if data is None or not self.take_mime(data):
            self._tell("warn", self._text("intake.nothing_to_paste"))

    def take_mime(self, data: QMimeData) -> bool:
        """What a clipboard or a drop carries; False when there is nothing in it to take."""
        paths = local_paths(data)
        if paths:
            self.take_paths(paths)
            return True
        text = data.text() if data.hasText() and not data.hasUrls() else ""
        if not text.strip():
            return False
        self.take_text(text)
        return True

    def take_paths(self, paths: Sequence[Path]) -> bool:
        """Files of one model, or one file or folder."""
        if len(paths) > 1:
            folders = {path.parent for path in paths}
            kinds = {path.suffix.lower() for path in paths}
            if len(folders) > 1 or len(kinds) > 1 or not kinds <= set(_OF_MODELS):
                refused = self._text("intake.one_at_a_time", count=len(paths))
                if any(map(may_hold_runs, paths)):
                    self._measure(paths, "", lambda: self._tell("bad", refused))
                    return True
                self._tell("bad", refused)
                return False
        return self.take_path(min(paths))

    def take_runs(self, paths: Sequence[Path]) -> None:
        """Files that hold measurements: a person said so."""
        unknown = self._text("intake.no_runs", name=paths[0].name)
        self._measure(paths, "", lambda: self._tell("bad", unknown))

    def ask_computer(self) -> None:
        """Read this computer's devices, in the background."""
        if self._devices.ask():
            self._tell("info", self._text("intake.asking"), dismiss=False)

    # -- taking ----------------------------------------------------------------------------------

    def _on_devices(self, hardware: LocalHardware) -> None:
        from core.importers.recognise import Imported

        if not any(one.accelerator is not None for one in hardware.devices):
            names = [one.device.name for one in hardware.devices]
            key = "intake.unknown_devices" if names else "intake.no_devices"
            self._tell("warn", lambda: (self._words(key, names=self._words.listed(names)), ()))
            return
        found = Imported("hardware", hardware.notes, hardware=hardware)
        self._take(found, lambda: self._words("forms.this_computer"))

    def _take(self, found: Imported, source: Source) -> bool:
        from core.importers.recognise import apply_import

        before = self._document.scenario
        try:
            applied, notes = apply_import(found, before)
            scenario, settlements = settled(applied, before)
        except InferometerError as error:
            self._refuse(error, lambda: self._as_title(source))
            return False
        wrong = [p for p in check(scenario) if p.severity == "error"]
        if wrong:
            doubts = [n for n in notes if n.severity == "warning"]  # what may be at the bottom of it
            self._refuse(InvalidScenario(*doubts, *wrong), lambda: self._as_title(source), every=True)
            return False
        if scenario == before:

            def nothing_new() -> str:
                return self._words("intake.nothing_new", source=self._as_title(source))

            self._tell_taken(found, nothing_new, notes, "info")
            return True
        self._document.replace(scenario, f"intake.edit.{found.kind}")

        def taken() -> str:
            figures = _figures(scenario, before, self._words)
            return self._words(f"intake.{found.kind}", source=source(), **figures)

        self._tell_taken(found, taken, (*notes, *settlements), "good")
        return True

    # -- telling ---------------------------------------------------------------------------------

    def _tell_taken(
        self, found: Imported, sentence: Callable[[], str], notes: Sequence[Problem], kind: str
    ) -> None:
        """``sentence`` with how much there is to remark; ``kind`` where none of it is a warning.

        What was taken ("good") can be undone.
        """
        remarks = [note for note in notes if note.code not in _SAID_APART]
        ignored = list(found.command.ignored) if found.command is not None else []
        warned = any(note.severity != "note" for note in remarks)

        def said() -> Said:
            words, told = self._words, sentence()
            listed = [(note.severity, words.problem(note)) for note in remarks]
            listed += [("note", words("intake.ignored_option", option=option)) for option in ignored]
            links: list[Link] = []
            if listed:
                links.append((words("intake.show"), lambda: self._show_notes(told, listed)))
            if kind == "good":
                links.append((words("intake.undo"), self._undo))
            return self._with_counts(told, len(remarks), len(ignored)), links

        self._tell("warn" if warned else kind, said)

    def _with_counts(self, sentence: str, remarks: int, ignored: int) -> str:
        words, said = self._words, []
        if remarks:
            said.append(words("intake.remarks" if remarks > 1 else "intake.one_remark", count=remarks))
        if ignored:
            said.append(words("intake.ignored" if ignored > 1 else "intake.one_ignored", count=ignored))
        if not said:
            return sentence
        return words("intake.with", sentence=sentence.rstrip(".。"), rest=words.listed(said))

    def _as_title(self, source: Source) -> str:
        """The source at the head of a sentence."""
        name = source()
        return self._words("intake.pasted_title") if name == self._words("intake.pasted") else name

    def _undo(self) -> None:
        self._document.undo()
        self.dismiss()

    def dismiss(self) -> None:
        """Take the message away, and the list behind it."""
        self._messages.drop(_SUBJECT)
        self.told.emit()

    def _refuse(self, error: InferometerError, source: Source, every: bool = False) -> None:
        first, *others = error.problems

        def said() -> Said:
            told = [self._reason(first, source()), *(self._words.problem(p) for p in others if every)]
            return self._words.sentences(told), ()

        self._tell("bad", said)

    def _reason(self, problem: Problem, source: str) -> str:
        if self.wants_runs() and _is_of_no_kind(problem):
            problem = Problem("reading.unknown")
        reason = self._words.problem(problem)
        return reason if source in reason else self._words("window.file_problem", name=source, reason=reason)

    def _text(self, key: str, **values: object) -> Callable[[], Said]:
        """A message without links, in whatever language is spoken when it is told."""
        return lambda: (self._words(key, **values), ())

    def _tell(self, kind: str, said: Callable[[], Said], dismiss: bool = True) -> None:
        text, links = said()
        own: Link = (self._words("window.dismiss"), self.dismiss)
        self.told.emit()
        self._messages.drop(_TRACE)
        ways = [*links, own] if dismiss else list(links)
        self._messages.tell(
            _SUBJECT, kind, text, ways, passing=True, again=lambda: self._tell(kind, said, dismiss)
        )


def _is_of_no_kind(problem: Problem) -> bool:
    """Whether something was refused since nothing is known of it, or since it is too large for a scenario."""
    if problem.code == "file.not_json":  # it begins with something else, or has an object a line
        return problem.values.get("line") in (1, 2) and problem.values.get("column") == 1
    return problem.code in _OF_NO_KIND


def _figures(scenario: Scenario, before: Scenario, words: Words) -> dict[str, object]:
    """What was taken, and what of the hardware was kept."""
    weights, count = scenario.precision.weights, scenario.deployment.accelerators
    key = "intake.kept" if count <= before.deployment.accelerators else "intake.kept_more"
    return {
        "kept": words(key, count=count, device=scenario.accelerator.name),
        "model": scenario.model.name,
        "format": WEIGHT_FORMATS[weights].label if weights in WEIGHT_FORMATS else weights,
        "engine": engine_label(scenario.engine.name, scenario.engine.version, words),
        "layout": layout_label(layout_of(scenario), words),
        "count": count,
        "device": scenario.accelerator.name,
    }


def local_paths(data: QMimeData) -> list[Path]:
    """Files and folders that a drop or a clipboard names; none when any is elsewhere."""
    urls = data.urls() if data.hasUrls() else []
    return [Path(url.toLocalFile()) for url in urls] if all(url.isLocalFile() for url in urls) else []


def _as_path(text: str) -> Path | None:
    """A text that is nothing but the full path of something that exists."""
    bare = text.strip().strip("\"'")
    if not bare or len(bare) > 4096 or "\n" in bare or "\0" in bare:
        return None
    try:
        path = Path(bare).expanduser()
        return path if path.is_absolute() and path.exists() else None
    except (OSError, RuntimeError, ValueError):
        return None
