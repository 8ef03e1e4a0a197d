"""What a simulation runs over: load, lengths, duration, trace, limits of the engine."""

from collections.abc import Callable, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QPushButton, QSizePolicy

from core.spec.scenario import Scenario
from core.words import Words
from gui import icons
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.choice_edit import Choice, draw_opener
from gui.fields.row import FieldRow
from gui.fields.segmented import Segmented
from gui.forms import choices
from gui.forms.row_group import Item, MoreRows, RowGroup
from gui.forms.stands_for import stands_for
from gui.theme import theme
from gui.workspaces.settings_form import SettingsForm

_LOADS = ("users", "requests", "trace")
_OPEN_ARRIVALS = ("poisson", "constant", "gamma", "diurnal")
_LENGTHS = ("fixed", "uniform", "lognormal", "file")


class TraceEdit(QAbstractButton):
    """The name of the trace; a click asks for another."""

    def __init__(self, nothing: str) -> None:
        super().__init__()
        self._nothing = nothing
        self._marked = self._warned = False
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def marked(self) -> bool:
        """Whether it is shown as refused."""
        return self._marked

    def mark(self, reason: str) -> None:
        """Show it as refused."""
        self._marked = bool(reason)
        self.update()

    def warn(self, reason: str) -> None:
        """Show it as doubtful."""
        self._warned = bool(reason)
        self.update()

    def sizeHint(self) -> QSize:
        """28 px high."""
        return QSize(160, theme().px(28))

    def paintEvent(self, event: QPaintEvent) -> None:
        """Name, and the sign for opening."""
        t = theme()
        said, colour = (self.text(), t.ink) if self.text() else (self._nothing, t.ink3)
        draw_opener(self, said, colour, "open", invalid=self._marked, warned=self._warned)


class SimulateForm(SettingsForm):
    """``trace_asked``: a trace is to be opened; ``run_asked``: the button was pressed."""

    trace_asked = Signal()
    run_asked = Signal()

    def __init__(self, document: Document, words: Words) -> None:
        super().__init__(words("simulating.title"))
        self._document, self._words = document, words
        self.add_title(words("simulating.load"))
        self.add_group(RowGroup(self._load()))
        self.add_title(words("simulating.lengths"))
        self.add_group(RowGroup(self._lengths()))
        self.add_title(words("simulating.limits"))
        self.add_group(RowGroup(self._limits()))
        self.add_title(words("simulating.targets"))
        self.add_group(RowGroup(self._targets()))
        more = MoreRows(
            words("simulating.more"),
            lambda: [RowGroup(self._more())],
            lambda n: words("simulating.changed", n=n) if n else "",
        )
        self.add_group(more)
        self.run = QPushButton(words("simulating.run"))
        self.run.setProperty("kind", "primary")
        self.run.clicked.connect(self.run_asked)
        self.set_foot(self.run)
        self.set_run_icon()

    def set_run_icon(self) -> None:
        """In the colour that the theme has on its accent."""
        self.run.setIcon(icons.beside("play", theme().on_accent))
        self.run.setIconSize(icons.beside_size(14))

    # -- rows ------------------------------------------------------------------------------------

    def _item(self, path: str, when: Callable[[Scenario], bool] | None = None, **options: object) -> Item:
        def make() -> FieldRow:
            return bind(self._document, path, self._words, **options)  # type: ignore[arg-type]

        return Item(path, make) if when is None else Item(path, make, when)

    def _pick(
        self, path: str, name: str, values: Sequence[str], when: Callable[[Scenario], bool] | None = None
    ) -> Item:
        def offered(scenario: Scenario, words: Words) -> list[Choice]:
            return [
                Choice(v, words(f"choices.{name}.{v}")) for v in values if v != "file" or _has_trace(scenario)
            ]

        return self._item(path, when, choices=offered)

    def _switch(self, path: str, when: Callable[[Scenario], bool] | None = None) -> Item:
        return self._item(path, when, choices=choices.on_off)

    def _load(self) -> list[Item]:
        return [
            Item("workload.load", self._load_row, dot=False),
            Item(
                "workload.users",
                lambda: bind(self._document, "workload.users", self._words),
                _by_users,
                False,
            ),
            self._item("simulation.think_time_s", _by_users),
            Item(
                "workload.request_rate",
                lambda: bind(self._document, "workload.request_rate", self._words),
                _by_rate,
                False,
            ),
            self._pick("simulation.arrivals", "arrivals", _OPEN_ARRIVALS, _by_rate),
            self._item(
                "simulation.burstiness", lambda s: _by_rate(s) and s.simulation.arrivals == "gamma", unit=""
            ),
            self._item("simulation.period_s", lambda s: _by_rate(s) and s.simulation.arrivals == "diurnal"),
            self._item(
                "simulation.swing",
                lambda s: _by_rate(s) and s.simulation.arrivals == "diurnal",
                unit=self._words("simulating.of_mean"),
            ),
            Item("simulation.trace", self._trace_row, needs_trace, False),
            self._item("simulation.duration_s", lambda s: not _by_trace(s)),
            self._item("simulation.requests", placeholder=self._words("recommending.no_limit")),
            self._item("simulation.seed"),
        ]

    def _lengths(self) -> list[Item]:
        spread = {name: self._spread(name) for name in ("prompt", "output")}
        return [
            self._item("workload.prompt_tokens", lambda s: not _by_trace(s)),
            self._pick("simulation.prompt_lengths", "length_kinds", _LENGTHS, lambda s: not _by_trace(s)),
            spread["prompt"],
            self._item("workload.output_tokens", lambda s: not _by_trace(s)),
            self._pick("simulation.output_lengths", "length_kinds", _LENGTHS, lambda s: not _by_trace(s)),
            spread["output"],
            self._item("simulation.turns", lambda s: not _by_trace(s)),
            self._item("workload.shared_prefix_tokens", lambda s: not _by_trace(s)),
            self._switch("simulation.prefix_caching"),
        ]

    def _spread(self, name: str) -> Item:
        def when(scenario: Scenario) -> bool:
            kind = getattr(scenario.simulation, f"{name}_lengths")
            return not _by_trace(scenario) and kind in ("uniform", "lognormal")

        return self._item(f"simulation.{name}_spread", when, unit="")

    def _limits(self) -> list[Item]:
        names = ("max_num_seqs", "max_num_batched_tokens", "chunked_prefill_size", "max_batch_size")
        return [
            *(
                self._item(path, placeholder=stands_for(path, self._words))
                for path in (f"engine.{name}" for name in (*names, "n_parallel"))
            ),
            self._item("simulation.static_batch"),
            self._item("simulation.batch_wait_s"),
            self._item("engine.max_model_len", lambda s: s.engine.name != "textbook"),
        ]

    def _targets(self) -> list[Item]:
        none = self._words("forms.no_target")
        return [
            self._item("targets.time_to_first_token_s", prefix="≤", placeholder=none),
            self._item("targets.time_per_output_token_ms", prefix="≤", placeholder=none),
        ]

    def _more(self) -> list[Item]:
        return [
            self._item("simulation.warm_up", unit=""),
            self._item("simulation.percentile", unit=""),
            self._pick(
                "simulation.routing",
                "routings",
                ("round_robin", "least_loaded", "prefix_aware"),
                lambda s: s.deployment.replicas > 1,
            ),
            self._pick("simulation.preemption", "preemptions", ("recompute", "swap")),
            self._item("simulation.swap_space_gib", lambda s: s.simulation.preemption == "swap"),
            self._pick("simulation.batching", "batchings", ("guaranteed_no_evict", "max_utilization")),
        ]

    def _load_row(self) -> FieldRow:
        words = self._words
        editor = Segmented([Choice(value, words(f"choices.load.{value}")) for value in _LOADS])
        row = FieldRow(
            self._document,
            "workload.load",
            words,
            editor,
            lambda s: editor.set_value("trace" if _by_trace(s) else s.workload.load),
            _load_changes,
            "",
        )
        editor.chosen.connect(row.commit)
        return row

    def _trace_row(self) -> FieldRow:
        editor = TraceEdit(self._words("simulating.open_trace"))

        def show(scenario: Scenario) -> None:
            editor.setText(scenario.simulation.trace)
            editor.update()

        row = FieldRow(self._document, "simulation.trace", self._words, editor, show)
        editor.clicked.connect(self.trace_asked)
        return row

    def tell_trace(self, note: str) -> None:
        """Say below the trace what is in it."""
        for row in self.rows:
            if row.path == "simulation.trace":
                row.show_note(note)


def _load_changes(scenario: Scenario, value: object) -> list[tuple[str, object]]:
    if value == "trace":
        return [("simulation.arrivals", "trace")]
    changes: list[tuple[str, object]] = [("workload.load", value)]
    if _by_trace(scenario):
        changes.append(("simulation.arrivals", "poisson"))
    return changes


def _by_trace(scenario: Scenario) -> bool:
    return scenario.simulation.arrivals == "trace"


def _by_users(scenario: Scenario) -> bool:
    return not _by_trace(scenario) and scenario.workload.load == "users"


def _by_rate(scenario: Scenario) -> bool:
    return not _by_trace(scenario) and scenario.workload.load == "requests"


def needs_trace(scenario: Scenario) -> bool:
    """Whether anything is to come from a trace."""
    return scenario.simulation.reads_trace


def _has_trace(scenario: Scenario) -> bool:
    return bool(scenario.simulation.trace) or needs_trace(scenario)
