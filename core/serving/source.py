"""Where the requests of a simulation come from: an open stream, users, conversations or a trace."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from core.serving.arrivals import arrival_times
from core.serving.prefix_cache import Link
from core.serving.request_lengths import length_stream
from core.serving.trace import Trace
from core.spec.scenario import Scenario

_FIRST_LIFE = 0.8  # of a life, over which users begin


@dataclass(frozen=True, slots=True)
class Asked:
    """A request before it has a number."""

    time: float
    prompt: int
    output: int
    chain: tuple[Link, ...] = ()
    own: Link | None = None  # what the answer adds to the chain, for the next question
    user: int = -1  # who asks again after the answer


class Source:
    """Requests by time, ``opening`` by themselves and ``following`` after an answer.

    Lengths are drawn in the order in which requests are asked, so a seed means the same requests.
    """

    def __init__(self, scenario: Scenario, trace: Trace | None, life: float) -> None:
        settings, work = scenario.simulation, scenario.workload
        self._settings, self._trace = settings, trace
        seeds = np.random.SeedSequence(settings.seed).spawn(5)
        arrivals, prompts, outputs, thinking, starts = (np.random.default_rng(seed) for seed in seeds)
        self._prefix = min(work.shared_prefix_tokens, work.prompt_tokens - 1)
        rows = None if trace is None else trace.prompt
        self._prompts = length_stream(
            settings.prompt_lengths,
            work.prompt_tokens - self._prefix,
            settings.prompt_spread,
            prompts,
            rows if rows is None else np.maximum(rows - self._prefix, 1.0),
        )
        answers = None if trace is None else trace.output
        self._outputs = length_stream(
            settings.output_lengths, work.output_tokens, settings.output_spread, outputs, answers
        )
        self._longest = scenario.engine.longest_request if scenario.engine.name != "textbook" else 10**9
        self._caching = settings.prefix_caching
        self._users = work.users if work.load == "users" else 0
        self._thinking = thinking
        # Of each user or conversation: number of the next turn, tokens and links said so far.
        self._said: dict[int, tuple[int, int, tuple[Link, ...]]] = {}
        self._conversations = self._links = 0
        # Evenly, the first one anywhere in its part: where all answers are of one length, those who meet
        # once meet ever after.  The first lives are shorter than those in a full engine.
        places = (np.arange(self._users) + starts.uniform()) / max(1, self._users)
        self._starts = (_FIRST_LIFE * max(life, 1e-9) * places).tolist()
        self._arrivals = arrival_times(settings, work.request_rate / settings.turns, arrivals)
        self.from_trace = settings.arrivals == "trace" and trace is not None

    def opening(self) -> Iterator[Asked]:
        """Requests that come by themselves, endless without a trace or users."""
        if self.from_trace and self._trace is not None:
            yield from self._rows(self._trace)
        elif self._users:
            begins = [(start + self._think(), user) for user, start in enumerate(self._starts)]
            for time, user in sorted(begins):
                yield self._ask(time, user)
        else:
            for time in self._arrivals:
                self._conversations += 1
                yield self._ask(time, self._conversations)

    def following(self, user: int, now: float) -> Asked | None:
        """What a user asks after an answer at ``now``; None: the conversation is over."""
        if user not in self._said and not self._users:
            return None
        return self._ask(now + self._think(), user)

    def _think(self) -> float:
        mean = self._settings.think_time_s
        return float(self._thinking.exponential(mean)) if mean else 0.0

    def _rows(self, trace: Trace) -> Iterator[Asked]:
        lengths = zip(trace.arrival.tolist(), trace.prompt.tolist(), trace.output.tolist(), strict=True)
        if not trace.chains or not self._caching:
            for time, prompt, output in lengths:
                yield Asked(time, int(prompt), int(output))
            return
        for (time, prompt, output), chain in zip(lengths, trace.chains, strict=True):
            yield Asked(time, int(prompt), int(output), chain)

    def _ask(self, time: float, user: int) -> Asked:
        turn, said, chain = self._said.get(user, (0, self._prefix, ()))
        own, output = next(self._prompts), next(self._outputs)
        if turn and said + own + output > self._longest:
            said, chain = self._prefix, ()  # it has become too long: what was said is forgotten
        prompt = min(said + own, max(1, self._longest - 1))
        output = max(1, min(output, self._longest - prompt))
        last = turn + 1 >= self._settings.turns
        added: Link | None = None
        if self._caching and not last:
            self._links += 1
            # The last token of an answer is never read, so it is not in the cache.
            added = (self._links, prompt + output - 1)
        if last:
            self._said.pop(user, None)
        else:
            longer = (*chain, added) if added is not None else ()
            self._said[user] = (turn + 1, prompt + output, longer)
        asks_again = bool(self._users) or not last
        return Asked(time, prompt, output, chain, added, user if asks_again else -1)
