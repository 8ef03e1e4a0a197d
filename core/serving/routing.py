"""Which replica a request goes to."""

from collections.abc import Hashable, Sequence

from core.serving.prefix_cache import Link
from core.serving.replica import Replica
from core.spec.simulation import Routing

_MORE = 1.25  # times the mean load, and two requests, that a replica may have and still be preferred


class Router:
    """Round robin; the replica with the fewest requests; or the one that knows the prompt's beginning,
    as long as it is not much busier than the others.
    """

    def __init__(self, kind: Routing, replicas: Sequence[Replica]) -> None:
        self._kind, self._replicas = kind, replicas
        self._next = 0
        self._home: dict[Hashable, int] = {}  # of the last known link of a chain

    def choose(self, chain: Sequence[Link], own: Link | None) -> Replica:
        """The replica of the next request."""
        replicas = self._replicas
        if len(replicas) == 1:
            return replicas[0]
        if self._kind == "round_robin":
            self._next += 1
            return replicas[(self._next - 1) % len(replicas)]
        least = min(replicas, key=lambda r: (r.inside, r.number))
        if self._kind == "least_loaded":
            return least
        found = least
        for key, _ in reversed(chain):
            home = self._home.get(key)
            if home is not None:
                mean = sum(r.inside for r in replicas) / len(replicas)
                if replicas[home].inside <= _MORE * mean + 2:
                    found = replicas[home]
                break
        for key, _ in chain:
            self._home[key] = found.number
        if own is not None:
            self._home[own[0]] = found.number
        return found
