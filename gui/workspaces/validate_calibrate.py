"""Calibrate: factors before and after with the error that is left, or why not and what to measure next."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QBoxLayout, QHBoxLayout, QLineEdit, QPushButton, QVBoxLayout, QWidget

from core.catalog.calibrations import calibration_named
from core.errors import InferometerError, Problem
from core.evidence.kept_runs import Entry
from core.explain.calibration_state import calibration_status
from core.files import calibration_file
from core.files.user_folders import home_folder
from core.spec.scenario import Scenario
from core.words import counted
from gui.contents import calibrate as content
from gui.exporting.exports import plain_name
from gui.frame.sizes import COLUMN_GAP
from gui.sheets.sheet import Text
from gui.theme import manager, theme
from gui.widgets.grid_table import GridTable
from gui.work.background import Work
from gui.work.validation import calibrated
from gui.workspaces.parts import Ground

if TYPE_CHECKING:
    from core.evidence.calibrate import CalibrationResult
    from gui.workspaces.registry import Context

_LONGEST_NAME = 60
_FITTED = 54  # % of the width that what was fitted has in a large window


class CalibratePage(Ground):
    """``saved`` after a calibration was written or taken in: predictions may be others."""

    saved = Signal()

    def __init__(self, context: "Context", data: Path | None, parent: QWidget | None = None) -> None:
        super().__init__("canvas", parent=parent)
        self._context, self._words, self._data = context, context.words, data
        self.result: CalibrationResult | None = None
        self._wide = False
        self.work = Work(self)
        self.work.news.connect(self._on_result)
        self.work.failed.connect(self._on_failed)
        words = self._words
        self.title = Text("body_semibold", "ink", wrap=True)
        self.about = Text("body", "ink2", words("validating.calibrate.about"), wrap=True)
        self.table = GridTable(words("validating.calibrate.factors"), selects=False)
        self.table.fix_height()
        self.remarks = Text("caption", "ink3", wrap=True)
        self.plan_title = Text("body_semibold", "ink", words("validating.calibrate.plan"))
        self.plan = Text("body", "ink2", wrap=True)
        self.in_use = Text("caption", "ink3")
        self._build()
        context.document.changed.connect(self._tell_use)
        manager.changed.connect(self._restyle)
        self._restyle()
        self._show(None)
        self._tell_use(context.document.scenario)

    def _build(self) -> None:
        words = self._words
        self.name = QLineEdit()
        self.name.setMaxLength(_LONGEST_NAME)
        self.name.setAccessibleName(words("validating.calibrate.name"))
        self.name.setPlaceholderText(words("validating.calibrate.name"))
        self.name.textChanged.connect(lambda _text: self._enable())
        self.use = self._button("save_and_use", self._save_and_use)
        self.use.setProperty("kind", "primary")
        self.save = self._button("save", self.keep)
        self.export = self._button("export", self._export)
        self.import_ = self._button("import", self._import)
        self.drop = self._button("use_none", lambda: self.put_in_use(""))
        self._name_row = QWidget()
        row = QHBoxLayout(self._name_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self.name, 1)
        for button in (self.use, self.save, self.export):
            row.addWidget(button)
        use = QHBoxLayout()
        use.setSpacing(8)
        use.addWidget(self.in_use, 1)
        use.addWidget(self.drop)
        use.addWidget(self.import_)
        self._parts = QVBoxLayout(), QVBoxLayout()  # what was fitted, what to measure next
        for part, widgets in zip(
            self._parts,
            (
                (self.title, self.about, self.table, self.remarks, self._name_row),
                (self.plan_title, self.plan),
            ),
            strict=True,
        ):
            for widget in widgets:
                part.addWidget(widget)
            part.addStretch(1)
        self._body = QBoxLayout(QBoxLayout.Direction.TopToBottom)
        for part in self._parts:
            self._body.addLayout(part)
        column = self._column = QVBoxLayout(self)
        column.addLayout(self._body)
        column.addStretch(1)
        column.addLayout(use)

    def _button(self, key: str, run: object) -> QPushButton:
        button = QPushButton(self._words(f"validating.calibrate.{key}"))
        button.clicked.connect(lambda _=False: run())  # type: ignore[operator]
        return button

    def _restyle(self) -> None:
        t = theme()
        self._column.setContentsMargins(24, t.px(12), 24, t.px(12))
        for layout in (self._column, *self._parts):
            layout.setSpacing(t.px(10))
        self._arrange()
        for widget in (self.table, self._name_row, self.about):
            widget.setMaximumWidth(t.px(760))

    def set_wide(self, wide: bool) -> None:
        """In a large window what to measure next stands beside what was fitted."""
        self._wide = wide
        self._arrange()

    def _arrange(self) -> None:
        beside = QBoxLayout.Direction.LeftToRight if self._wide else QBoxLayout.Direction.TopToBottom
        self._body.setDirection(beside)
        self._body.setSpacing(COLUMN_GAP if self._wide else theme().px(10))
        for index, share in enumerate((_FITTED, 100 - _FITTED)):
            self._body.setStretch(index, share if self._wide else 0)

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, entries: Sequence[Entry]) -> None:
        """Fit to these runs."""
        scenario, data = self._context.document.scenario, self._data
        folder = data / "catalogue" if data is not None else None
        chosen = tuple(entries)
        self._show(None)
        self.title.setText(self._words.phrase(counted("validating.calibrate.working", len(chosen))))
        self.work.start(lambda: calibrated(chosen, scenario, folder))

    def _on_result(self, result: "CalibrationResult") -> None:
        self._show(result)

    def _on_failed(self, problems: Sequence[Problem]) -> None:
        self._show(None)
        self.title.setText(self._words.problem(problems[0]) if problems else "")

    def _show(self, result: "CalibrationResult | None") -> None:
        self.result, words = result, self._words
        fitted = result.calibration if result is not None else None
        self.title.setText(
            content.calibration_headline(result, words)
            if result is not None
            else words("validating.calibrate.nothing")
        )
        self.about.setVisible(fitted is None)
        columns, rows = content.factor_table(result, words) if fitted is not None and result else ([], [])
        self.table.most_rows = max(1, len(rows))
        self.table.show_table(columns, rows)
        self.table.setVisible(bool(rows))
        self.table.updateGeometry()
        said: list[str] = []
        if result is not None and fitted is not None:
            errors = fitted.errors
            said.append(words("validating.calibrate.fitted_to", figures=errors.figures, runs=errors.runs))
            if fitted.setups:
                said.append(words("cli.calibrate.setups", n=len(fitted.setups)))
            said += [words.phrase(remark) for remark in result.remarks]
        self.remarks.setText(words.sentences(said))
        self.remarks.setVisible(bool(said))
        self._name_row.setVisible(fitted is not None)
        if fitted is not None:
            self.name.setText(fitted.name)
        lines = content.plan(result, words) if result is not None else []
        self.plan.setText("\n".join(f"{number}.  {line}" for number, line in enumerate(lines, 1)))
        for widget in (self.plan_title, self.plan):
            widget.setVisible(bool(lines))
        self._enable()

    def _enable(self) -> None:
        named = bool(self.name.text().strip())
        for button in (self.use, self.save):
            button.setEnabled(named and self._data is not None)
        self.export.setEnabled(named)

    def _tell_use(self, scenario: Scenario) -> None:
        self.in_use.setText(self._words.phrase(calibration_status(scenario)))
        self.drop.setVisible(bool(scenario.engine.calibration))

    # -- keeping ---------------------------------------------------------------------------------

    def keep(self) -> bool:
        """Write the profile into the user's folder; False when that is refused, and it is said why."""
        if self._data is None or self.result is None or self.result.calibration is None:
            return False
        named = self.result.calibration.model_copy(update={"name": self.name.text().strip()})
        try:
            calibration_file.save_in(self._data / "calibrations", named)
        except InferometerError as error:
            self._tell("bad", self._words.problem(error.problems[0]))
            return False
        self._tell("good", self._words("validating.calibrate.saved", name=named.name))
        self._changed()
        return True

    def _save_and_use(self) -> None:
        if self.keep():
            self.put_in_use(self.name.text().strip())

    def put_in_use(self, name: str) -> None:
        """Name it in the scenario, as one undoable edit; "" for none."""
        document = self._context.document
        document.end_merge()
        document.set_values([("engine.calibration", name)], "engine.calibration")
        document.end_merge()

    def _changed(self) -> None:
        """Estimates may rest on another calibration of the same name."""
        self._context.estimation.start()
        self._tell_use(self._context.document.scenario)
        self.saved.emit()

    def _export(self) -> None:
        if self.result is None or self.result.calibration is None:
            return
        named = self.result.calibration.model_copy(update={"name": self.name.text().strip()})
        path = self._context.document.path
        home = path.parent if path is not None else home_folder()
        suggested = home / f"{plain_name(named.name)}.calibration.json"

        def chosen(path: Path | None) -> None:
            if path is None:
                return
            try:
                calibration_file.save(path, named)
            except InferometerError as error:
                self._tell("bad", self._words.problem(error.problems[0]))
            else:
                self._tell("good", self._words("simulating.saved", name=path.name))

        self._context.dialogs.save_file(self, suggested, chosen)

    def _import(self) -> None:
        path = self._context.document.path
        self._context.dialogs.open_file(self, path.parent if path is not None else home_folder(), self.take)

    def take(self, path: Path | None) -> None:
        """Take a profile file into the user's folder."""
        if path is None or self._data is None:
            return
        words = self._words
        try:
            found = calibration_file.load(path)
            known = calibration_named(found.name)
            calibration_file.save_in(self._data / "calibrations", found)
        except InferometerError as error:
            reason = words.problem(error.problems[0])
            self._tell("bad", words("window.file_problem", name=path.name, reason=reason))
            return
        replaced = known is not None and known != found
        key = "validating.calibrate.replaced" if replaced else "validating.calibrate.taken"
        use = (words("validating.calibrate.use"), lambda: self.put_in_use(found.name))
        self._tell("good", words(key, name=found.name), [use])
        self._changed()

    def _tell(self, kind: str, text: str, links: Sequence[tuple[str, object]] = ()) -> None:
        messages = self._context.messages
        dismiss = (self._words("window.dismiss"), lambda: messages.drop("saved"))
        messages.tell("saved", kind, text, [*links, dismiss])  # type: ignore[list-item]
