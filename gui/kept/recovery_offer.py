"""Offers what a crash left behind, above the verdict."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject

from core.files.atomic import in_the_way
from core.words import Words
from gui.document import Document
from gui.frame.messages import MessageArea
from gui.kept.crash import CrashLog
from gui.kept.recovery import Found, Recovery

AfterSaving = Callable[[Callable[[], object]], None]


class RecoveryOffer(QObject):
    """One scenario at a time, the newest first."""

    def __init__(
        self,
        recovery: Recovery | None,
        document: Document,
        messages: MessageArea,
        words: Words,
        after_saving: AfterSaving,
        parent: QObject,
    ) -> None:
        super().__init__(parent)
        self._recovery = recovery
        self._document = document
        self._messages = messages
        self._words = words
        self._after_saving = after_saving
        self._told_refused = False
        self._reports: dict[str, Callable[[], None]] = {}  # how each was told, for another language
        if recovery is not None:
            recovery.refused.connect(self.tell_refused)
            recovery.kept.connect(self._on_kept)
            document.clean_changed.connect(self._on_clean_changed)

    def offer(self) -> None:
        """Look for the newest and offer it; with none left the strip goes."""
        found = self._recovery.orphans() if self._recovery else []
        if not found:
            self._messages.drop("recovery")
            return
        item = found[0]
        self._messages.tell(
            "recovery",
            "info",
            self._words("window.recovery", name=item.origin.title),
            [
                (self._words("window.restore"), lambda: self._after_saving(lambda: self._restore(item))),
                (self._words("window.discard"), lambda: self._discard(item)),
            ],
        )

    def say_anew(self, subjects: Collection[str]) -> None:
        """What of ``subjects`` is about the state of things holds in another language too."""
        self.offer()
        if "unkept" in subjects:
            self._say_refused()
        for subject, say in self._reports.items():
            if subject in subjects:
                say()

    def tell_refused(self) -> None:
        """What is not saved would not outlive a crash: said once, until the disk takes it again."""
        if not self._told_refused:
            self._told_refused = True
            self._say_refused()

    def _say_refused(self) -> None:
        if self._recovery is None:
            return
        links = [(self._words("window.dismiss"), lambda: self._messages.drop("unkept"))]
        text = self._words("window.not_kept", folder=str(self._recovery.folder))
        reason = in_the_way(self._recovery.folder)
        if reason is not None:
            text = self._words.sentences([text, self._words.problem(reason)])
        self._messages.tell("unkept", "warn", text, links)

    def _on_kept(self) -> None:
        """The disk has taken the state: what was said of it is no longer so."""
        self._messages.drop("unkept")
        self._told_refused = False

    def _on_clean_changed(self, clean: bool) -> None:
        """With everything saved nothing would be lost; who has not waved it away is told the next time."""
        if clean and self._messages.text_of("unkept"):
            self._on_kept()

    def tell_fault(self, crash: CrashLog) -> None:
        """Something went wrong inside; the scenario is kept."""
        if self._recovery is not None:
            self._recovery.keep()
        self._tell_report("fault", "fault", crash, crash.report())

    def tell_crash(self, crash: CrashLog) -> None:
        """Something went wrong before this start that nobody has looked at yet."""
        if crash.left_behind:
            self._tell_report("crash", "crashed", crash, crash.left_behind)

    def _tell_report(self, subject: str, key: str, crash: CrashLog, report: str) -> None:
        self._reports[subject] = partial(self._tell_report, subject, key, crash, report)
        text = self._words(f"window.{key}", file=str(crash.path))

        def dismiss() -> None:
            crash.mark_seen()
            self._messages.drop(subject)

        def show() -> None:
            from gui.dialogs.crash_report import CrashReport  # not at a start that has none to show

            dismiss()
            CrashReport(report, crash.path, self._words, self._messages.window()).show()

        links = [(self._words("crash_report.show"), show), (self._words("window.dismiss"), dismiss)]
        self._messages.tell(subject, "warn", text, links if report else links[1:])

    def _restore(self, found: Found) -> None:
        from core.reports.title import in_language

        title = in_language(found.origin.title, found.scenario, self._words)  # it may have been another then
        self._document.restore(found.scenario, replace(found.origin, title=title))
        if self._recovery is not None:
            self._recovery.restore_pins(found)
        if self._recovery is not None and self._recovery.keep():
            self._recovery.discard(found)
        self.offer()

    def _discard(self, found: Found) -> None:
        if self._recovery is not None:
            self._recovery.discard(found)
        self.offer()
