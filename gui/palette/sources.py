"""What the palette finds: commands, fields, models, GPUs, samples, files opened last."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from PySide6.QtGui import QKeySequence

import resources
from core.errors import InferometerError
from core.words import LANGUAGES, Words
from gui.actions import COMMANDS
from gui.exporting.exports import REPORTS
from gui.fields.row import FieldRow
from gui.forms import choices
from gui.forms.hardware import memory_text
from gui.forms.model import size_text
from gui.forms.named import format_label, named
from gui.palette.question import question_of
from gui.samples import samples, title_of
from gui.widgets.copy_button import CopyButton
from gui.workspaces.plot_tabs import TABS_IN_ORDER

if TYPE_CHECKING:
    from gui.frame.window import MainWindow

Kind = Literal["command", "field", "engine", "model", "gpu", "sample", "file", "unread"]
_PARTS = ("deployment", "precision", "engine", "workload", "targets", "speculative", "host")
_NOT_LISTED = ("search", "open_recent")
_MOST_HITS = 12
# Names of programs and files that find a command.
_ALSO = {
    "paste": "config.json vllm sglang trtllm-serve llama-server ollama docker",
    "open": "config.json gguf safetensors json",
    "open_folder": "config.json gguf safetensors",
}
_STARTERS = frozenset(
    ("vllm", "sglang", "trtllm-serve", "llama-server", "llama-cli", "ollama", "mlx_lm", "docker")
)
_VERBS = frozenset(("serve", "run", "launch_server", "api_server", "trtllm-serve"))
# How much a kind is liked where texts fit equally well.
_LIKED: dict[Kind, float] = {
    "command": 3.0,
    "field": 2.0,
    "engine": 1.8,
    "model": 1.5,
    "gpu": 1.5,
    "file": 0.5,
    "sample": -1.5,
    "unread": 0.0,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing to find.  ``context`` stands before the name in grey, ``detail`` at the right."""

    kind: Kind
    name: str
    run: Callable[[], object]
    context: str = ""
    detail: str = ""
    also: str = ""  # further words that find it
    words: str = ""  # the same, of which only starts count: what else people call it, in every language
    enabled: bool = True

    @property
    def liked(self) -> float:
        """What its kind adds to a match."""
        return _LIKED[self.kind]


class Sources:
    """Gathers entries for one window."""

    def __init__(self, window: "MainWindow") -> None:
        self._window = window

    def entries(self) -> list[Entry]:
        """All but the catalogue, which is searched and not listed."""
        found = [*self.commands(), *self.presets(), *self.fields(), *self.engines()]
        return [*found, *self.files(), *self.samples()]

    def presets(self) -> list[Entry]:
        """A person's own presets."""
        habits, words = self._window.habits, self._window.words
        if habits is None:
            return []
        return [
            Entry(
                "command",
                preset.name,
                lambda preset=preset: habits.use_preset(preset),  # type: ignore[misc]
                words("palette.use_preset"),
            )
            for preset in habits.presets.all()
        ]

    def pasted(self, text: str) -> Entry | None:
        """An engine's command or a configuration that was typed or pasted whole; None for other texts."""
        # The box shows line ends as it likes; a backslash before one only joins the lines.
        bare = re.sub(r"\\\s+", " ", text).strip()
        words = re.split(r"[\s/.]+", bare.lower())
        verb = " -" in bare or not _VERBS.isdisjoint(words)
        command = verb and not _STARTERS.isdisjoint(words)
        if not command and not (bare.startswith("{") and ":" in bare):
            return None
        name = self._window.words("palette.paste_command" if command else "palette.paste_config")
        intake = self._window.files.intake
        return Entry("command", name, lambda: intake.take_text(bare), "", bare)

    def stated(self, text: str) -> Entry | None:
        """A model's name that states its format, taken as it is when pasted; None for other texts."""
        found, intake = named(text), self._window.files.intake
        if found is None:
            return None
        name, use = text.strip(), self._window.words("palette.use_model")
        label = format_label(found)
        return Entry("model", found.model.name, lambda: intake.take_text(name), use, label)

    def asked(self, text: str) -> list[Entry]:
        """A whole question, "qwen3-32b 4 bit 2x3090 16 users 16k", as one edit; none for other texts.

        With it goes what it leaves as it was, and the way there; words that say nothing known or that
        contradict others are named.
        """
        window, words = self._window, self._window.words
        document, shelf = window.document, window.workspace.forms.catalogue
        question = question_of(text, document.scenario, shelf, words)
        if question is None:
            return []

        def set_up() -> None:
            try:
                changes = question.changes(document.scenario)
            except InferometerError as error:
                document.refuse(
                    error.problems[0].paths[0] if error.problems[0].paths else "model", error.problems[0]
                )
                return
            document.end_merge()
            document.set_values(changes, "palette.edit")
            document.end_merge()

        found = [Entry("command", " · ".join(question.parts), set_up, words("palette.set_up"))]
        try:
            kept = question.kept(document.scenario, words)
        except InferometerError:  # it is told when it is asked for
            kept = {}
        if kept:
            first, names = next(iter(kept)), " · ".join(kept.values())
            found.append(Entry("field", names, lambda: window.go_to(first), words("palette.keeps")))
        for said, why in ((question.twice, "palette.not_both"), (question.unknown, "palette.unknown")):
            if said:
                again = lambda: window.shell.open_palette(text)  # noqa: E731
                found.append(Entry("unread", " · ".join(said), again, words(why)))
        return found

    def engines(self) -> list[Entry]:
        """Engines and their releases."""
        window, words = self._window, self._window.words
        return [
            Entry(
                "engine",
                choice.label,
                lambda value=choice.value: self._take("engine.name", lambda: value),  # type: ignore[misc]
                words("palette.use_engine"),
            )
            for choice in choices.engines(window.document.scenario, words)
        ]

    def first(self) -> list[Entry]:
        """What is offered before anything is typed."""
        wanted = (
            "show_estimate",
            "show_compare",
            "show_explore",
            "show_recommend",
            "show_simulate",
            "show_validate",
            "pin",
            "open",
            "save",
            "shortcuts",
        )
        by_id = {key: entry for key, entry in self._by_id() if entry.enabled}
        return [*(by_id[key] for key in wanted if key in by_id), *self.files()[:4], *self.samples()]

    def _by_id(self) -> list[tuple[str, Entry]]:
        window = self._window
        found: list[tuple[str, Entry]] = []
        for command in COMMANDS:
            if command.id in _NOT_LISTED:
                continue
            action = window.actions_[command.id]
            keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            group = window.words(f"actions.{command.group}") if command.group else ""
            entry = Entry(
                "command",
                action.text().rstrip("…"),
                action.trigger,
                group,
                keys,
                f"{command.id} {_ALSO.get(command.id, '')}".strip(),
                _also(command.id, f"actions.{command.id}"),
                action.isEnabled(),
            )
            found.append((command.id, entry))
        return found

    def commands(self) -> list[Entry]:
        """Every action, and the tabs of plots."""
        words = self._window.words
        tabs = [
            Entry(
                "command",
                words(f"window.tabs.{key}"),
                lambda key=key: self._show_tab(key),  # type: ignore[misc]
                words("window.workspaces.estimate"),
            )
            for key in TABS_IN_ORDER
        ]
        exports = [
            Entry(
                "command",
                words(f"export.kinds.{kind}").rstrip("…"),
                lambda kind=kind: self._window.exports.report(kind),  # type: ignore[misc]
                words("export.title"),
                also=kind,
                words=f"{_also('export', 'export.title')} {_also('', 'export.report')}",
            )
            for kind in REPORTS
        ]
        return [*(entry for _, entry in self._by_id()), *tabs, *exports, *self._copying()]

    def _copying(self) -> list[Entry]:
        """The command that starts the engine, as the link in its section copies it."""
        window = self._window
        section = window.workspace.forms.sections["engine"]
        link = section.action
        if not isinstance(link, CopyButton):
            return []

        def copy() -> None:
            if not link.isVisible():
                window.go_to("engine.name")  # the link says that it was done
            link.click()

        title, name = section.head.title, window.words("forms.copy_command")
        also = _also("copy_command", "forms.copy_command")
        return [Entry("command", name, copy, title, words=also, enabled=link.isEnabled())]

    def _show_tab(self, key: str) -> None:
        self._window.stack.show_key("estimate")
        self._window.workspace.show_tab(key)

    def fields(self) -> list[Entry]:
        """Every field that the forms edit now."""
        window, words = self._window, self._window.words
        forms = window.workspace.forms
        paths = ["model", "accelerator"]
        scenario = window.document.scenario
        for part in _PARTS:
            paths += [f"{part}.{name}" for name in type(getattr(scenario, part)).model_fields]
        found = []
        for path in paths:
            if not forms.edits(path) or words.field(path) == path:
                continue
            row = forms.row_of(path)
            title = _section_of(window, row) or words("palette.go_to")
            found.append(
                Entry(
                    "field",
                    words.field(path),
                    lambda path=path: window.go_to(path),  # type: ignore[misc]
                    title,
                    forms.shown_value(path),
                    path.rpartition(".")[2],
                    _also(path, f"fields.{path}.label"),
                )
            )
        return found

    def files(self) -> list[Entry]:
        """Files opened last that are still there."""
        files = self._window.files
        return [
            Entry(
                "file",
                file.name,
                lambda file=file: files.open_path(file),  # type: ignore[misc]
                "",
                str(file.parent),
            )
            for file in self._window.recent.files()
            if file.is_file()
        ]

    def samples(self) -> list[Entry]:
        """Scenarios to begin with."""
        files, words = self._window.files, self._window.words
        found = []
        for sample in samples():
            run = lambda sample=sample: files.new_from(sample)  # noqa: E731
            found.append(Entry("sample", title_of(sample, words), run, words("palette.new_from")))
        return found

    def hits(self, query: str) -> list[Entry]:
        """Models and GPUs of the catalogue that answer."""
        catalogue, words = self._window.workspace.forms.catalogue, self._window.words
        # A word that names devices is no mistyped model, and the other way round.
        of_models = bool(catalogue.search_models(query, mend=False))
        of_devices = bool(catalogue.search_accelerators(query, mend=False))
        models = [
            Entry(
                "model",
                hit.name,
                lambda hit=hit: self._take("model", lambda: catalogue.model(hit.id)),  # type: ignore[misc]
                words("palette.use_model"),
                size_text(hit.parameters) if hit.parameters else "",
            )
            for hit in catalogue.search_models(query, of_models or not of_devices)[:_MOST_HITS]
        ]
        devices = [
            Entry(
                "gpu",
                device.name,
                lambda device=device: self._take("accelerator", lambda: device),  # type: ignore[misc]
                words("palette.use_gpu"),
                memory_text(device),
            )
            for device in catalogue.search_accelerators(query, of_devices or not of_models)[:_MOST_HITS]
        ]
        return [*models, *devices]

    def _take(self, path: str, load: Callable[[], object]) -> None:
        """Set the model, the GPU or the engine as the form would, with everything that follows from it."""
        row = self._window.workspace.forms.row_of(path)
        if row is None:
            return
        try:
            row.commit(load())
        except InferometerError as error:
            row.refuse(error.problems[0])


@cache
def _also(key: str, text: str) -> str:
    """Its name in every language of the program, and what else people call it: a Chinese word finds a thing
    in an English window.
    """
    names = (words(text) for words in _languages() if words.has(text))
    return " ".join((*names, _other_words().get(key, "")))


@cache
def _languages() -> tuple[Words, ...]:
    return tuple(Words(language) for language in LANGUAGES)


@cache
def _other_words() -> dict[str, str]:
    """Words of both languages by command or field; nobody reads them."""
    found: dict[str, str] = json.loads(resources.read_text("data/other_words.json"))
    return found


def _section_of(window: "MainWindow", row: FieldRow | None) -> str:
    sections = window.workspace.forms.sections.values()
    return next((s.head.title for s in sections if row is not None and s.isAncestorOf(row)), "")
