"""Which sheet lies over the plots: one at a time."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import shiboken6
from PySide6.QtCore import QObject, Qt
from PySide6.QtWidgets import QApplication, QWidget

from core.catalog.calibrations import calibration_problems
from core.errors import InferometerError, Problem
from core.model.numbers import NUMBERS, values_of
from core.spec.change import get_value
from core.words import Words
from gui.catalogue import Catalogue
from gui.document import Document
from gui.frame.messages import Link, MessageArea
from gui.sheets.sheet import Place, Sheet

if TYPE_CHECKING:  # at run time each comes with its first opening
    from gui.sheets.device_sheet import DeviceSheet
    from gui.sheets.model_sheet import ModelSheet
    from gui.sheets.notes_sheet import NotesSheet


class Sheets(QObject):
    """Opens and closes sheets; each is made when it is first asked for."""

    def __init__(
        self,
        workspace: QWidget,
        above: QWidget,
        document: Document,
        words: Words,
        catalogue: Catalogue,
        messages: MessageArea,
    ) -> None:
        super().__init__(workspace)
        self._workspace = workspace
        self._document = document
        self._words = words
        self._catalogue = catalogue
        self._messages = messages
        self._place = Place(workspace, above)
        self._made: dict[str, Sheet] = {}
        self._before: QWidget | None = None  # had the focus before a sheet was opened
        self._told: set[tuple[str, ...]] = set()  # files of calibrations that were complained of

    def open_model(self) -> "ModelSheet":
        """The model, or its sheet away again."""
        from gui.sheets.model_sheet import ModelSheet

        sheet = self._made.get("model")
        if not isinstance(sheet, ModelSheet):
            sheet = ModelSheet(self._document, self._words, self._catalogue, self._workspace)
            sheet.save_asked.connect(self._save_model)
            self._add("model", sheet)
        self._show(sheet)
        sheet.open_sheet()
        return sheet

    def open_device(self) -> "DeviceSheet":
        """The device."""
        from gui.sheets.device_sheet import DeviceSheet

        sheet = self._made.get("device")
        if not isinstance(sheet, DeviceSheet):
            sheet = DeviceSheet(self._document, self._words, self._catalogue, self._workspace)
            sheet.save_asked.connect(self._save_device)
            self._add("device", sheet)
        self._show(sheet)
        sheet.open_sheet()
        return sheet

    def open_notes(self, title: str, notes: Sequence[tuple[str, str]]) -> "NotesSheet":
        """Sentences behind a message."""
        from gui.sheets.notes_sheet import NotesSheet

        sheet = self._made.get("notes")
        if not isinstance(sheet, NotesSheet):
            sheet = NotesSheet(self._words, self._workspace)
            self._add("notes", sheet)
        sheet.show_notes(title, notes)
        self._show(sheet)
        sheet.show()
        return sheet

    def open_for(self, what: str) -> None:
        """The sheet of a form's "Details"; a second press closes it."""
        key = "model" if what == "model" else "device"
        open_one = self.shown()
        if open_one is not None and open_one is self._made.get(key):
            open_one.close_sheet()
        elif key == "model":
            self.open_model()
        else:
            self.open_device()

    def shown(self) -> Sheet | None:
        """The sheet that is open."""
        return next((sheet for sheet in self._made.values() if not sheet.isHidden()), None)

    def close(self) -> None:
        """Give the plots back."""
        sheet = self.shown()
        if sheet is not None:
            sheet.close_sheet()

    def forget(self) -> None:
        """Close the sheet and make each anew when it is asked for: another language is spoken."""
        self.close()
        for sheet in self._made.values():
            self._place.remove(sheet)
            sheet.deleteLater()
        self._made.clear()

    def close_notes(self) -> None:
        """The sentences belonged to a message that is gone."""
        sheet = self._made.get("notes")
        if sheet is not None and not sheet.isHidden():
            sheet.close_sheet()

    def _add(self, key: str, sheet: Sheet) -> None:
        self._made[key] = sheet
        sheet.hide()
        sheet.closed.connect(self._give_focus_back)
        self._place.add(sheet)

    def _give_focus_back(self) -> None:
        """To where it was when the sheet was opened."""
        before, self._before = self._before, None
        if before is not None and shiboken6.isValid(before) and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)

    def _show(self, wanted: Sheet) -> None:
        for sheet in self._made.values():
            if sheet is not wanted:
                sheet.hide()
        if wanted.isHidden():
            self._before = QApplication.focusWidget()
            wanted.show()
            wanted.setFocus(Qt.FocusReason.OtherFocusReason)
        self._place.settle()

    # -- fields ----------------------------------------------------------------------------------

    def has_field(self, path: str) -> bool:
        """Whether a sheet edits the field and no form does."""
        return path.startswith(("numbers.", "accelerator.", "model."))

    def go_to(self, path: str) -> None:
        """Open the sheet of a field and put the focus there."""
        sheet = self.open_device() if path.startswith("accelerator.") else self.open_model()
        row = sheet.row_of(path)
        if row is not None:
            row.editor.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def value_of(self, path: str) -> Any:
        """The value of a field of the document, or of a number that its layers share."""
        name = path.removeprefix("numbers.")
        if name in NUMBERS:
            values = values_of(self._document.scenario.model.architecture, name)
            return values[0] if values else 0
        return get_value(self._document.scenario, path)

    # -- saving ----------------------------------------------------------------------------------

    def _save_model(self) -> None:
        model = self._document.scenario.model
        try:
            self._catalogue.save_model(model)
        except InferometerError as error:
            self._tell_failure(error)
            return
        self._tell_saved(model.name)
        self.open_model()

    def _save_device(self) -> None:
        device = self._document.scenario.accelerator
        try:
            self._catalogue.save_accelerator(device)
        except InferometerError as error:
            self._tell_failure(error)
            return
        self._tell_saved(device.name)
        self.open_device()

    def _tell_saved(self, name: str) -> None:
        text = self._words("sheet.saved", name=name)
        self._messages.tell("catalogue", "good", text, [self._dismiss()])

    def _tell_failure(self, error: InferometerError) -> None:
        reason = self._words.problem(error.problems[0])
        self._messages.tell(
            "catalogue", "bad", self._words("sheet.not_saved", reason=reason), [self._dismiss()]
        )

    def _dismiss(self, subject: str = "catalogue") -> Link:
        return self._words("window.dismiss"), lambda: self._messages.drop(subject)

    def tell_problems(self) -> None:
        """What is wrong with the user's own files; the rest of them is listed."""
        self._tell_left_out("catalogue", "user_files", self._catalogue.problems())
        self.tell_calibrations()

    def tell_calibrations(self) -> None:
        """Calibrations that cannot be used, each file once."""
        found = [problem for problem in calibration_problems() if problem.paths not in self._told]
        self._told.update(problem.paths for problem in found)
        self._tell_left_out("calibrations", "calibration_files", found)

    def _tell_left_out(self, subject: str, key: str, found: Sequence[Problem]) -> None:
        if not found:
            return
        sentences = [("warning", self._words.located(problem)) for problem in found]
        text = self._words(f"sheet.{key}", count=len(found), first=sentences[0][1])
        shown = self._words(f"sheet.{key}_one", first=sentences[0][1]) if len(found) == 1 else text
        links: list[Link] = [self._dismiss(subject)]
        if len(found) > 1:
            title = self._words(f"sheet.{key}_title")
            links.insert(0, (self._words("intake.show"), lambda: self.open_notes(title, sentences)))
        self._messages.tell(subject, "warn", shown, links)
