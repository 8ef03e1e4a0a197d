"""Where long work may pause: whoever runs it in a thread of its own says what happens there.

The core says only that this is a good moment.  By itself nothing happens, so results never depend on it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_now: ContextVar[Callable[[], None] | None] = ContextVar("pause", default=None)


@contextmanager
def pausing(what: Callable[[], None]) -> Iterator[None]:
    """Call ``what`` wherever the work of this thread may pause; what it raises ends the work."""
    token = _now.set(what)
    try:
        yield
    finally:
        _now.reset(token)


def pause() -> None:
    """A good moment to let others go first: called every millisecond or so of long work."""
    what = _now.get()
    if what is not None:
        what()
