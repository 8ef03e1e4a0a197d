"""How many copies carry the scenario's rate, in a sentence, with a way to take them."""

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from core.planning.capacity_search import ReplicasFound
from core.units import show_count, show_time, three_digits
from core.words import Words
from gui.sheets.sheet import Text
from gui.work.simulation import Study


class CopiesLine(QWidget):
    """``asked`` carries the number of devices to be taken over.  Hidden where no rate is given."""

    asked = Signal(int)

    def __init__(self, words: Words, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._words = words
        self._found: ReplicasFound | None = None
        self.text = Text("body", "ink2")
        self.text.setWordWrap(True)
        self.use = QPushButton()
        self.use.clicked.connect(self._ask)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(12)
        row.addWidget(self.text, 1)
        row.addWidget(self.use)
        self.hide()

    def show_study(self, study: Study | None) -> None:
        """Say what was found so far."""
        found = self._found = study.replicas if study is not None else None
        self.setVisible(found is not None)
        if study is None or found is None:
            return
        words, work = self._words, study.scenario.workload
        rate = three_digits(work.request_rate)
        own = study.scenario.deployment.accelerators
        self.use.setVisible(found.finished and found.replicas > 0 and found.accelerators != own)
        self.use.setText(words("simulating.copies.use", n=show_count(found.accelerators)))
        if not found.finished:
            self.text.setText(words("simulating.copies.working", rate=rate, n=show_count(found.replicas)))
        elif not found.replicas:
            self.text.setText(words("simulating.copies.none", rate=rate))
        else:
            values = {"n": show_count(found.replicas), "devices": show_count(found.accelerators)}
            said = [
                words(f"simulating.copies.{'one' if found.replicas == 1 else 'found'}", rate=rate, **values)
            ]
            if found.trial is not None:
                first, each = found.trial.time_to_first_token, found.trial.time_per_output_token
                share = f"{100 * study.found.percentile:g}"
                said.append(
                    words(
                        "simulating.copies.times",
                        p=share,
                        first=show_time(first.expected),
                        each=show_time(each.expected),
                    )
                )
            self.text.setText(words.sentences(said))

    def _ask(self) -> None:
        if self._found is not None:
            self.asked.emit(self._found.accelerators)
