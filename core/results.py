"""What an estimate says: speeds, the verdict, and the whole."""

from dataclasses import dataclass

from core.errors import Problem
from core.memory.capacity import Capacity
from core.memory.ledger import Ledger
from core.quantities import Range
from core.serving.load import Phase
from core.spec.scenario import Scenario
from core.words import Phrase


@dataclass(frozen=True, slots=True)
class Speed:
    """Speeds at the operating point; present only when the model fits."""

    time_to_first_token: Range  # s
    # "queue", "prefill", "other_prefills", "base", with prompts read apart also "transfer" → s, expected
    first_token_parts: dict[str, float]
    time_per_output_token: Range  # s
    output_throughput: Range  # tok/s, all replicas
    request_throughput: Range  # 1/s
    users: float  # requests in the system
    running: float  # of them being decoded
    stable: bool  # False: requests arrive faster than they are answered
    prefill_share: float  # share of a decoding request's time spent on other users' prompts
    prefill: Phase
    decode: Phase


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sentence and one explaining line; ``Words.phrase`` gives the text."""

    state: str  # "good": meets every target, "warn": runs but misses one, "bad": cannot run
    headline: Phrase
    detail: Phrase
    missed: tuple[str, ...]  # keys of the quantities that miss their target


@dataclass(frozen=True, slots=True)
class Estimate:
    """Everything about one scenario.  ``speed`` is None when it does not start."""

    scenario: Scenario
    ledger: Ledger
    capacity: Capacity
    speed: Speed | None
    verdict: Verdict
    notes: tuple[Problem, ...]
    calibration: str = ""  # name of the one that the numbers rest on; "": the measured profile alone
