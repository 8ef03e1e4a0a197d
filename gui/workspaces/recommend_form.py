"""What is searched for: model or hardware, load, targets, and the limits of the search."""

from collections.abc import Callable

from PySide6.QtCore import Signal

from core.catalog.accelerators import all_accelerators
from core.spec.formats import CACHE_FORMATS, WEIGHT_FORMATS
from core.spec.scenario import Scenario
from core.spec.support import cache_formats_of, weight_formats_of
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.choice_edit import Choice
from gui.fields.multi_edit import Group, MultiEdit
from gui.fields.row import FieldRow
from gui.fields.segmented import Segmented
from gui.forms import choices, hardware, model
from gui.forms.row_group import Item, RowGroup
from gui.workspaces.settings_form import SettingsForm

Groups = Callable[[Scenario, Words], list[Group]]


class RecommendForm(SettingsForm):
    """``direction_chosen`` carries "hardware" or "models"."""

    direction_chosen = Signal(str)

    def __init__(self, document: Document, words: Words, catalogue: Catalogue) -> None:
        super().__init__(words("recommending.title"))
        self._document, self._words, self._catalogue = document, words, catalogue
        self.direction = Segmented(
            [Choice(key, words(f"recommending.{key}")) for key in ("hardware", "models")]
        )
        self.direction.setAccessibleName(words("recommending.direction"))
        self.direction.set_value("hardware")
        self.direction.chosen.connect(self._choose)
        self.add_widget(self.direction)
        self._subject = self.add_title(words("recommending.find_for"))
        self.add_group(RowGroup(self._what()))
        self.add_title(words("recommending.targets"))
        self.add_group(RowGroup(self._targets()))
        self.add_title(words("recommending.search"))
        self.add_group(RowGroup(self._search()))

    @property
    def for_models(self) -> bool:
        """Whether models are searched for given hardware."""
        return self.direction.value == "models"

    def turn(self, for_models: bool) -> None:
        """Search for models, or for hardware, without telling anyone."""
        self.direction.set_value("models" if for_models else "hardware")
        self._subject.setText(
            self._words("recommending.what_runs" if for_models else "recommending.find_for")
        )
        self.refresh(self._document.scenario)

    def _choose(self, value: object) -> None:
        self.turn(value == "models")
        self.direction_chosen.emit(str(value))

    # -- rows ------------------------------------------------------------------------------------

    def _item(self, path: str, when: Callable[[Scenario], bool] | None = None, **options: object) -> Item:
        def make() -> FieldRow:
            return bind(self._document, path, self._words, **options)  # type: ignore[arg-type]

        return Item(path, make, when or (lambda _s: True), dot=path.startswith("search."))

    def _what(self) -> list[Item]:
        document, words = self._document, self._words

        def model_row() -> FieldRow:
            return model.build(document, words, self._catalogue).rows[0]  # type: ignore[return-value]

        def hardware_row(number: int) -> FieldRow:
            return hardware.build(document, words, self._catalogue, lambda: None).rows[number]  # type: ignore[return-value]

        return [
            Item("model", model_row, lambda _s: not self.for_models, False),
            Item("accelerator", lambda: hardware_row(0), lambda _s: self.for_models, False),
            Item("deployment.accelerators", lambda: hardware_row(1), lambda _s: self.for_models, False),
            self._item("workload.load", choices=choices.loads, segmented=True),
            self._item("workload.users", lambda s: s.workload.load == "users"),
            self._item("workload.request_rate", lambda s: s.workload.load == "requests"),
            self._item("workload.prompt_tokens"),
            self._item("workload.output_tokens"),
        ]

    def _targets(self) -> list[Item]:
        none = self._words("forms.no_target")
        return [
            self._item("targets.time_to_first_token_s", prefix="≤", placeholder=none),
            self._item("targets.time_per_output_token_ms", prefix="≤", placeholder=none),
            self._item("targets.users", prefix="≥", placeholder=none),
        ]

    def _search(self) -> list[Item]:
        words = self._words

        def for_hardware(_scenario: Scenario) -> bool:
            return not self.for_models

        def many(scenario: Scenario) -> bool:
            return for_hardware(scenario) and scenario.search.most_accelerators > 8

        unlimited = words("recommending.no_limit")
        return [
            Item(
                "search.vendors",
                lambda: self._several("search.vendors", "all", _vendors),
                for_hardware,
                False,
            ),
            Item(
                "search.devices",
                lambda: self._several("search.devices", "any_device", _devices),
                for_hardware,
                False,
            ),
            self._item("search.most_accelerators", for_hardware, prefix="≤"),
            self._item("search.most_nodes", many, prefix="≤"),
            Item(
                "search.weight_formats",
                lambda: self._several("search.weight_formats", "any_format", _weights),
                dot=False,
            ),
            Item(
                "search.cache_formats",
                lambda: self._several("search.cache_formats", "any_format", _caches),
                dot=False,
            ),
            self._item("search.quality", choices=_qualities),
            self._item("search.budget_usd", for_hardware, prefix="≤", placeholder=unlimited),
            self._item("search.budget_usd_per_hour", for_hardware, prefix="≤", placeholder=unlimited),
            self._item("search.rank", for_hardware, choices=_ranks),
        ]

    def _several(self, path: str, everything: str, groups: Groups) -> FieldRow:
        words = self._words
        several = words("recommending.chosen", n="{n}")
        editor = MultiEdit(words(f"recommending.{everything}"), several)
        part, name = path.split(".")

        def show(scenario: Scenario) -> None:
            editor.set_groups(groups(scenario, words))
            editor.set_value(getattr(getattr(scenario, part), name))

        row = FieldRow(self._document, path, words, editor, show)
        editor.chosen.connect(row.commit)
        return row


def _vendors(_scenario: Scenario, _words: Words) -> list[Group]:
    names = sorted({device.vendor for device in all_accelerators()}, key=str.lower)
    return [("", [Choice(name, name) for name in names])]


def _devices(scenario: Scenario, _words: Words) -> list[Group]:
    wanted = {vendor.lower() for vendor in scenario.search.vendors}
    found: dict[str, list[Choice]] = {}
    for device in all_accelerators():
        if not wanted or device.vendor.lower() in wanted or device.name in scenario.search.devices:
            found.setdefault(device.vendor, []).append(Choice(device.name, device.name))
    return sorted(found.items())


def _weights(scenario: Scenario, _words: Words) -> list[Group]:
    offered = set(weight_formats_of(scenario.engine.name)) | set(scenario.search.weight_formats)
    return [("", [Choice(k, f.label) for k, f in WEIGHT_FORMATS.items() if k in offered])]


def _caches(scenario: Scenario, _words: Words) -> list[Group]:
    engine, weights = scenario.engine.name, scenario.precision.weights
    offered = set(cache_formats_of(engine, weights)) | set(scenario.search.cache_formats)
    return [("", [Choice(k, f.label) for k, f in CACHE_FORMATS.items() if k in offered])]


def _qualities(_scenario: Scenario, words: Words) -> list[Choice]:
    return [Choice(key, words(f"choices.qualities.{key}")) for key in ("any", "careful", "lossless")]


def _ranks(_scenario: Scenario, words: Words) -> list[Choice]:
    return [
        Choice(key, words(f"recommending.rank_by.{key}")) for key in ("price", "speed", "energy", "devices")
    ]
