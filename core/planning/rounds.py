"""Who asks for estimates one after the other is served together with others who do, in rounds.

An asker is a generator: it yields what it wants estimated and is sent the answer, and returns what it makes
of them.  In a round the next question of each is answered in one call; askers of the same key have to
wait for each other.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from core.pauses import pause
from core.planning.estimates import Answer, Question, estimating

T = TypeVar("T")
Asker = Generator[Question, Answer, T]
_FIRST = 4  # askers in the first round: rows come at once


@dataclass(frozen=True, slots=True)
class Round(Generic[T]):
    """What was returned, by the place of the asker; of those before ``settled`` all is known."""

    done: dict[int, T]
    settled: int


@dataclass(slots=True)
class _Turn(Generic[T]):
    place: int
    key: str
    asker: Asker[T]
    question: Question


def in_rounds(
    askers: Sequence[tuple[str, Callable[[], Asker[T]]]], widest: int, is_row: Callable[[T], bool]
) -> Iterator[Round[T] | None]:
    """What askers returned in each round; None after every few milliseconds in one.

    ``widest``: askers in one round.  There are few at first, and twice as many once the first in order has
    what it wants: whatever comes first is known soon.  Until the first row is, nobody begins while the first
    in order still asks: it would only wait for the others.
    """
    waiting, running = dict(enumerate(askers)), list[_Turn[T]]()
    width, settled, begun = min(_FIRST, widest), 0, -1
    first_row = len(askers)
    while waiting or running:
        done: dict[int, T] = {}
        busy = {turn.key for turn in running}
        begins, begun = first_row < settled or settled > begun or not running, settled
        for place, (key, begin) in list(waiting.items()):
            if len(running) >= width or not begins:
                break
            if key in busy:
                continue
            del waiting[place]
            pause()
            asker = begin()
            try:
                running.append(_Turn(place, key, asker, next(asker)))
                busy.add(key)
            except StopIteration as end:
                done[place] = end.value
        answers = yield from estimating([turn.question for turn in running])
        going = []
        for turn, answer in zip(running, answers, strict=True):
            pause()
            try:
                turn.question = turn.asker.send(answer)
                going.append(turn)
            except StopIteration as end:
                done[turn.place] = end.value
        running = going
        first = min((*(turn.place for turn in running), next(iter(waiting), len(askers))))
        if first > settled:
            width, settled = min(2 * width, widest), first
        first_row = min((first_row, *(place for place, found in done.items() if is_row(found))))
        yield Round(done, settled)
