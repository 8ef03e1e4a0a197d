"""How many figures of each file were predicted, and for which reasons the others were not."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from core.evidence.memory_predictions import Prediction
from core.evidence.served import rules
from core.words import Words, percent


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Figures of one file; ``file`` is empty for those of all files."""

    file: str
    figures: int
    predicted: int
    no_measurement: dict[str, int]  # by reason: no measurement of what the record says
    left_out: dict[str, int]  # by reason: all others that were not predicted

    @property
    def share_left_out(self) -> float:
        """Of all figures."""
        return sum(self.left_out.values()) / self.figures if self.figures else 0.0


def outcomes_of(predictions: Iterable[Prediction]) -> tuple[Outcomes, ...]:
    """Of each file in their order, and of all where there are several."""
    files: dict[str, list[Prediction]] = {}
    for p in predictions:
        files.setdefault(p.file, []).append(p)
    found = [_outcomes(name, mine) for name, mine in files.items()]
    if len(found) > 1:
        found.append(_outcomes("", [p for mine in files.values() for p in mine]))
    return tuple(found)


def _outcomes(name: str, found: list[Prediction]) -> Outcomes:
    ruled = set(rules()["no_measurement"]["reasons"])
    reasons = Counter(p.skipped for p in found if p.skipped)
    ordered = reasons.most_common()
    return Outcomes(
        name,
        len(found),
        sum(p.predicted is not None for p in found),
        {reason: n for reason, n in ordered if reason in ruled},
        {reason: n for reason, n in ordered if reason not in ruled},
    )


def file_head(words: Words) -> list[str]:
    """The head of the table of files."""
    return [
        words(f"cli.validate.{k}") for k in ("file", "figures", "ruled_out", "left_out", "were_predicted")
    ]


def file_row(one: Outcomes, words: Words) -> list[str]:
    """Figures of a file: all, no measurement, left out with their share, predicted."""
    left = sum(one.left_out.values())
    told = f"{left} ({words.phrase(percent(one.share_left_out, 1))})"
    name = one.file or words("cli.validate.all_files")
    return [name, str(one.figures), str(sum(one.no_measurement.values())), told, str(one.predicted)]


def reason_head(words: Words) -> list[str]:
    """The head of the table of reasons."""
    return [words(f"cli.validate.{key}") for key in ("file", "why", "reason", "n", "share")]


def reason_rows(found: Iterable[Outcomes], words: Words) -> list[list[str]]:
    """Each reason of each file: of which of the two kinds, how many figures, and of all of the file."""
    rows = []
    for one in found:
        for kind, reasons in (("ruled_out", one.no_measurement), ("left_out", one.left_out)):
            for reason, n in reasons.items():
                share = words.phrase(percent(n / one.figures, 1))
                told = (words(f"cli.validate.{kind}"), words(f"cli.validate.reasons.{reason}"))
                rows.append([one.file, *told, str(n), share])
    return rows
