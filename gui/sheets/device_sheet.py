"""The device on one sheet: memory, bandwidth and peaks to edit, with the source of each figure."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QPushButton, QWidget

from core.catalog.remarks import own_notes, remarks_of
from core.errors import InferometerError
from core.spec.accelerator import Accelerator, PeakTflops
from core.spec.edited import EDITED
from core.spec.scenario import Scenario
from core.units import show_count, three_digits
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.fields.binder import build as bind
from gui.fields.row import FieldRow
from gui.forms.consequences import Changes
from gui.sheets.fact_table import Fact, FactTable
from gui.sheets.marks import bare_name
from gui.sheets.rows import LABEL, Block, Labelled, NameEdit, plain
from gui.sheets.sheet import Sheet
from gui.theme import theme

_EDITORS = 264
_PEAKS = tuple(PeakTflops.model_fields)
_SIZES = ("memory_gb_nominal", "memory_bandwidth_gbps")
_COSTS = ("tdp_w", "price_usd", "cloud_usd_per_hour")
_PRICES = frozenset(_COSTS[1:])  # a device stays the same at another price


def is_edited(device: Accelerator) -> bool:
    """Whether a person has changed one of its figures."""
    return EDITED in device.sources.values()


class DeviceSheet(Sheet):
    """Follows the document's device while it is shown."""

    save_asked = Signal()

    def __init__(self, document: Document, words: Words, catalogue: Catalogue, parent: QWidget) -> None:
        super().__init__(words, parent)
        self._document = document
        self._catalogue = catalogue
        self.badge.setText(words("sheet.edited"))
        self.save = QPushButton(words("sheet.save"))
        self.save.setProperty("kind", "small")
        self.save.setToolTip(words("sheet.save_device_help"))
        self.save.clicked.connect(self.save_asked)
        self.add_action(self.save)
        self.name = NameEdit(words("sheet.name"), self._rename, 200)
        memory = [self._figure(f"accelerator.{name}") for name in _SIZES]
        peaks = [self._figure(f"accelerator.peak_tflops.{name}") for name in _PEAKS]
        costs = [self._figure(f"accelerator.{name}") for name in _COSTS]
        self.rows = [*memory, *peaks, *costs]
        self._notes = plain("")
        self.facts = FactTable(words("sheet.device_facts"))
        self.sources = FactTable(words("sheet.sources"), two_lines=True)
        named = Labelled(words("sheet.name"), self.name)
        self.set_columns(
            [
                [
                    Block(words("sheet.memory"), [named, *memory], _EDITORS),
                    Block(words("sheet.peaks"), peaks, _EDITORS),
                    Block(words("sheet.cost"), costs, _EDITORS),
                ],
                [self.facts, self._notes],
                [self.sources],
            ]
        )
        document.changed.connect(self._on_changed)

    def _figure(self, path: str) -> FieldRow:
        words = self.words
        peak = path.startswith("accelerator.peak_tflops.")

        def changes(scenario: Scenario, value: object) -> Changes:
            return [(path, value), *self._marks(scenario.accelerator, path.split(".")[1])]

        unit = words("sheet.tflops") if peak else None
        none = words("sheet.lacks" if peak else "sheet.unknown")
        row = bind(self._document, path, words, changes=changes, unit=unit, placeholder=none)
        row.set_label_width(theme().px(LABEL))
        return row

    def _marks(self, device: Accelerator, figure: str) -> Changes:
        """The mark of an edited figure; what the driver says of another size is dropped, and so is what
        the device costs that was sold with the figure of before.
        """
        changes: Changes = [("accelerator.sources", {**device.sources, figure: EDITED})]
        if figure == "memory_gb_nominal":
            changes += [("accelerator.memory_mib_reported", None), ("accelerator.memory_gib_driver", None)]
        if figure in _SIZES or figure == "peak_tflops":
            own = (name for name in _PRICES if device.sources.get(name) != EDITED)
            changes += [(f"accelerator.{name}", None) for name in sorted(own)]
        renamed = any(s == EDITED for key, s in device.sources.items() if key not in _PRICES)
        if figure not in _PRICES and not renamed:
            changes.append(("accelerator.name", self.words("sheet.edited_name", name=device.name)[:200]))
        return changes

    def _rename(self, name: str) -> None:
        self._document.end_merge()
        self._document.set_value("accelerator.name", name)
        self._document.end_merge()

    def open_sheet(self) -> None:
        """Show the device as it stands."""
        self.show()
        self.refresh(self._document.scenario)

    def _on_changed(self, scenario: Scenario, _revision: int) -> None:
        if not self.isHidden():
            self.refresh(scenario)

    def refresh(self, scenario: Scenario) -> None:
        """Show a scenario's device."""
        device, words = scenario.accelerator, self.words
        self.title.setText(bare_name(device.name, words))
        self.badge.setVisible(is_edited(device))
        shown = (device.vendor, device.architecture, str(device.year or ""))
        self.caption.setText(" · ".join(part for part in shown if part))
        self.name.show_name(device.name)
        for row in self.rows:
            row.refresh(scenario)
        self.facts.show_facts(_facts(device, words))
        self.sources.show_facts(_sources(device, words))
        notes = "\n".join(filter(None, [*map(words.phrase, remarks_of(device)), own_notes(device)]))
        self._notes.setText(notes)
        self._notes.setVisible(bool(notes))
        self.save.setVisible(self._catalogue.can_save)
        self.save.setEnabled(not self._known(device))

    def _known(self, device: Accelerator) -> bool:
        try:
            return self._catalogue.accelerator(device.name) == device
        except InferometerError:
            return False

    def row_of(self, path: str) -> FieldRow | None:
        """The row that edits a path."""
        return next((row for row in self.rows if row.path == path), None)


def _facts(device: Accelerator, words: Words) -> list[Fact]:
    def fact(key: str, value: object, unit: str = "") -> Fact | None:
        if value in (None, "", 0):
            return None
        text = three_digits(value) if isinstance(value, float) else str(value)
        text = show_count(value) if isinstance(value, int) else text
        return Fact(words(f"sheet.device.{key}"), f"{text} {unit}".strip())

    link = device.scale_up
    pcie = f"{device.pcie.gen}.0 × {device.pcie.lanes or 16}" if device.pcie.gen else ""
    found = (
        fact("memory_type", device.memory_type),
        fact("reported", device.memory_mib_reported, "MiB"),
        fact("l2", device.l2_cache_mb, "MB"),
        fact("sms", device.sm_count),
        fact("boost", device.boost_mhz, "MHz"),
        fact("pcie", pcie),
        fact("link", link.gbps_per_direction, "GB/s"),
        fact("link_devices", link.max_devices if link.gbps_per_direction else None),
        fact("form", device.form_factor),
    )
    return [one for one in found if one is not None]


def _sources(device: Accelerator, words: Words) -> list[Fact]:
    shown = []
    for key, source in device.sources.items():
        told = words("sheet.source_edited") if source == EDITED else source
        label = f"sheet.figures.{key}"
        shown.append(Fact(words(label) if words.has(label) else key.replace("_", " "), "", told))
    return shown
