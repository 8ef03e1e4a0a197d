"""Requests of a simulation: what each is, and what became of it, in columns."""

import math
from array import array
from dataclasses import dataclass, field

from core.serving.prefix_cache import Link


@dataclass(slots=True)
class Records:
    """One entry a request in each column; times in s from the start, NaN until they have happened."""

    arrival: "array[float]" = field(default_factory=lambda: array("d"))
    admitted: "array[float]" = field(default_factory=lambda: array("d"))  # left the queue
    first: "array[float]" = field(default_factory=lambda: array("d"))  # first token
    finish: "array[float]" = field(default_factory=lambda: array("d"))
    prompt: "array[int]" = field(default_factory=lambda: array("q"))
    output: "array[int]" = field(default_factory=lambda: array("q"))
    cached: "array[int]" = field(default_factory=lambda: array("q"))  # tokens of the prompt that were cached
    preempted: "array[int]" = field(default_factory=lambda: array("i"))  # times
    replica: "array[int]" = field(default_factory=lambda: array("i"))  # -1: refused, longer than the cache

    def add(self, arrival: float, prompt: int, output: int) -> int:
        """The number of a new request."""
        self.arrival.append(arrival)
        self.admitted.append(math.nan)
        self.first.append(math.nan)
        self.finish.append(math.nan)
        self.prompt.append(prompt)
        self.output.append(output)
        self.cached.append(0)
        self.preempted.append(0)
        self.replica.append(-1)
        return len(self.arrival) - 1

    def __len__(self) -> int:
        return len(self.arrival)


class Active:
    """A request on its way: what is in the cache, and what is left to do."""

    __slots__ = (
        "alone",
        "blocks",
        "chain",
        "collides",
        "crowded",
        "done",
        "entry",
        "finish",
        "held",
        "index",
        "made",
        "on_host",
        "on_way",
        "output",
        "own",
        "prompt",
        "ready",
        "started",
        "swapped",
        "target",
        "tokens",
        "user",
        "way",
    )

    def __init__(self, index: int, prompt: int, output: int) -> None:
        self.index, self.prompt, self.output = index, prompt, output
        self.target = prompt  # tokens to be read before the next one is made
        self.done = 0  # of them in the cache
        self.made = 0  # tokens of the answer when it last began to decode
        self.blocks = 0  # of the cache, the own ones
        self.on_host = 0  # blocks of the host's memory while it is swapped out
        self.entry = 0  # the step at which it began to decode
        self.tokens = 0  # in the cache then
        self.finish = -1  # the step at which it ends
        self.held = 0  # links of the chain that it reads from the prefix cache
        self.chain: tuple[Link, ...] = ()  # of the prompt
        self.own: Link | None = None  # what the answer adds to the chain
        self.user = -1  # whose next question follows the answer
        self.ready = False  # the whole cache is there already: swapped back in, or sent by another device
        self.swapped = False
        self.started = False  # the first token is out
        self.way = 0.0  # s that its first token takes through the server
        self.on_way = False  # the prompt is read, the first token is on its way
        self.collides = 0.0  # s that users who start together wait for each other's prompts at least
        self.alone = 0.0  # s that its prompt takes to read
        self.crowded = False  # and for room besides
