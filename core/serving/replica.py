"""One replica: the scheduler of its engine, one stretch of like steps after the other.

A stretch ends where something changes: a prompt is read, an answer ends, blocks run out, or a
request comes that can enter.  Between, steps that only decode differ by the growing cache alone, so
their time is summed in closed form and a run costs as much as it has events, however many tokens.
"""

import math
from array import array
from collections import deque
from heapq import heappop, heappush

from core.serving.answer_share import AnswerShare
from core.serving.cache_pool import CachePool
from core.serving.decoding import Decoding
from core.serving.policies import MOST_COUNTED, Settings
from core.serving.requests import Active, Records
from core.serving.step_table import StepTable
from core.serving.timeline import Gaps, Timeline

NEVER = math.inf
_WAITING_STEPS = 64  # after which SGLang's falling share is looked at again while somebody waits


class Replica:
    """A copy of the model with a cache, a queue and a clock of its own.

    ``end`` is when the stretch that runs ends.  Times are given to ``approach``, ``arrive`` and
    ``advance`` in rising order.  ``hands_over``: it reads prompts, the answers decode elsewhere.
    """

    def __init__(
        self,
        number: int,
        table: StepTable,
        pool: CachePool,
        settings: Settings,
        records: Records,
        hands_over: bool = False,
    ) -> None:
        self.number, self.table, self.pool, self.records = number, table, pool, records
        self.settings, self.policy, self.hands_over = settings, settings.policy, hands_over
        self.mixes = not settings.policy.prompts_apart
        self.end = NEVER
        self.waiting: deque[Active] = deque()
        self.reading: list[Active] = []
        self.running: dict[int, Active] = {}  # all inside, in the order they came
        self.decoding = Decoding(pool, settings.policy.admission != "whole")
        self._kept = int(settings.policy.watermark * pool.blocks)
        self._share = AnswerShare()
        self.approaching = 0  # between the client and the queue
        self.timeline = Timeline()
        self.gaps = Gaps()
        self.busy_prompts = self.busy_decodes = 0.0
        self.preempted_at = array("d")  # s
        self.swaps = 0
        self._host_left = settings.swap_blocks
        # The stretch: prompts in its step, or a number of steps that decode.
        self._chunks: list[tuple[Active, int]] = []
        self._length = self._planned = 0
        self._start = self._first = self._last = 0.0
        self._pause = 0.0  # of the next step: caches on their way to and from the host
        self._gap = 0.0  # since the last decode step, of steps that only read prompts
        self._carry = 0.0  # of a token that speculation has gained beside a prompt
        self._entering: list[Active] = []  # whose first token the next decode step gives
        self._on_way: list[tuple[float, int, Active]] = []  # read, their first token on its way: until when
        self._gathering = False
        self._padding = 0  # answers of a static batch that have ended

    @property
    def inside(self) -> int:
        """Requests here: on their way, in the queue and in the engine."""
        return self.approaching + len(self.waiting) + len(self.running)

    @property
    def mean_context(self) -> float:
        """Cached tokens of one that decodes."""
        return self.decoding.context / self.decoding.n if self.decoding.n else 0.0

    def fits(self, prompt: int, output: int) -> bool:
        """Whether the whole pool holds a request."""
        length = prompt + output
        return self.pool.growing(length) + self.pool.constant(length) <= self.pool.blocks

    def approach(self, now: float) -> None:
        """A request is on its way to the queue; ``arrive`` follows."""
        self.approaching += 1
        self._note(now)

    def arrive(self, active: Active, now: float) -> None:
        """A request joins the queue."""
        alone = not self.waiting
        self.approaching -= 1
        self.waiting.append(active)
        if self._gathering:
            if len(self.waiting) >= self.settings.most:
                self._begin(now)
        elif not (self._length or self._chunks):
            self._begin(now)
        elif self._length and now <= self._start:
            self._begin(now)  # with the step that begins at this moment
        elif alone and self._length > 1 and len(self.running) < self.settings.most:
            self._cut(now)

    def advance(self) -> list[Active]:
        """End the stretch at ``end`` and begin the next; the requests that ended, or are handed over."""
        now = self.end
        ended: list[Active] = []
        if self._chunks:
            self._read(now, ended)
        elif self._length:
            self._decoded(self._length)
            self._leave(now, ended)
        self._begin(now)
        return ended

    def _note(self, now: float) -> None:
        running = len(self.running)
        self.timeline.add(now, self.inside - running, running, self.decoding.used)

    # -- planning ----------------------------------------------------------------------------------

    def _begin(self, now: float) -> None:
        self._start, self._length = now, 0
        self._chunks, self._gathering = [], False
        while self._on_way and self._on_way[0][0] <= now:
            active = heappop(self._on_way)[2]
            if active.on_way:  # not preempted since
                active.on_way = False
                self.decoding.join(active)
        if self.waiting or self.reading:
            self._compose(now)
        if self._chunks:
            self._plan_reading(now)
        elif self.decoding.n:
            self._plan_decoding(now)
        elif not self._gathering:
            self.end = self._on_way[0][0] if self._on_way else NEVER
        self._note(now)

    def _plan_reading(self, now: float) -> None:
        tokens, pairs = 0, 0.0
        for active, chunk in self._chunks:
            tokens += chunk
            pairs += chunk * (active.done + 0.5 * chunk)
        depth = pairs / tokens
        n = self.decoding.n if self.mixes else 0
        context = self.mean_context if n else 0.0
        first = self.table.mixed(n, context, tokens, depth)
        steps = self._like_steps(tokens)
        if steps > 1 and self._on_way:
            steps = max(1, min(steps, math.ceil((self._on_way[0][0] - now) / first)))
        self._planned = steps
        seconds = first
        if steps > 1:
            last = self.table.mixed(n, context + steps - 1, tokens, depth + (steps - 1) * tokens)
            seconds = 0.5 * steps * (first + last)
        self._first = seconds / steps
        self.end = now + seconds + self._pause
        self.busy_prompts += seconds + self._pause
        self._pause = 0.0
        if n:
            self._show_entering(self.end)

    def _like_steps(self, chunk: int) -> int:
        """Steps that take as large a chunk of the same prompt and nothing else."""
        active, decoding = self._chunks[0][0], self.decoding
        n = decoding.n if self.mixes else 0
        left = active.target - active.done
        full = chunk >= self.settings.budget - n * self.settings.verified
        if len(self._chunks) > 1 or left <= chunk or not full or (n and self.table.gained != 1.0):
            return 1
        steps = (left - 1) // chunk
        if n:
            steps = min(steps, decoding.next_end() - decoding.step)
        if decoding.grows:
            each = (chunk + n) / decoding.size
            steps = min(steps, int((decoding.room - 2 - n) / each))
        return max(1, steps)

    def _plan_decoding(self, now: float) -> None:
        decoding = self.decoding
        steps = decoding.within_room(decoding.next_end() - decoding.step)
        if steps == 0:
            self._make_room()
            if not decoding.n:
                self._begin(now)
                return
            steps = decoding.within_room(decoding.next_end() - decoding.step)
        if self.waiting and self.policy.admission == "share":
            steps = min(steps, _WAITING_STEPS)
        n, gained, context = decoding.n + self._padding, self.table.gained, decoding.context / decoding.n
        first = self.table.decode(n, context) / gained
        last = self.table.decode(n, context + steps - 1) / gained if steps > 1 else first
        self._first, self._last, self._length, self._planned = first, last, steps, steps
        self._start = now + self._pause
        self.end = self._start + 0.5 * steps * (first + last)
        self._pause = 0.0
        if self._entering:
            self._show_entering(self._start + first)
        if self._on_way and steps > 1:
            self._cut(self._on_way[0][0])

    def _show_entering(self, now: float) -> None:
        """Requests that came with their cache show their first token after their first step."""
        for active in self._entering:
            if not active.started:
                active.started = True
                self.records.first[active.index] = now
        self._entering.clear()

    def _cut(self, now: float) -> None:
        """End the stretch with the step in which a request comes.

        j steps take j (first - h) + h j^2 with h half of what one step takes longer than the one before.
        """
        half = 0.5 * (self._last - self._first) / (self._planned - 1)
        linear, passed = self._first - half, max(0.0, now - self._start)
        root = math.sqrt(max(linear * linear + 4.0 * half * passed, 0.0))
        steps = max(1, math.ceil(2.0 * passed / (linear + root) - 1e-9))
        if steps < self._length:
            self._length = steps
            self.end = self._start + steps * (linear + half * steps)

    # -- prompts -----------------------------------------------------------------------------------

    def _compose(self, now: float) -> None:
        """Choose the prompts of the next step; requests whose cache is there begin to decode."""
        decoding, before = self.decoding, len(self.preempted_at)
        left, reserved = self.settings.budget, 0
        if self.mixes and decoding.n:
            ahead = math.ceil(self.table.gained)
            if decoding.growth(ahead) > decoding.room:
                self._make_room(ahead)
            left -= decoding.n * self.settings.verified
            reserved = decoding.growth(ahead)
        for active in list(self.reading):
            if left > 0 and active.index in self.running:
                left -= self._chunk(active, left, reserved)
        if len(self.preempted_at) > before:
            return  # nobody enters in a step in which somebody had to leave
        waiting = self.waiting
        while waiting and len(self.running) < self.settings.most and (left > 0 or waiting[0].ready):
            taken = self._enter(waiting[0], left, reserved, now)
            if taken < 0:
                break
            left -= taken

    def _chunk(self, active: Active, left: int, reserved: int) -> int:
        """The next chunk of a prompt that is being read; preempts for its blocks."""
        decoding, pool = self.decoding, self.pool
        chunk = min(active.target - active.done, left)
        need = pool.growing(active.done + chunk) - pool.growing(active.done) if decoding.grows else 0
        while need > decoding.room - reserved:
            victim = self._victim()
            self._preempt(victim)
            self._chunks = [c for c in self._chunks if c[0] is not victim]
            if victim is active:
                return 0
        decoding.take(need)
        active.blocks += need
        self._chunks.append((active, chunk))
        return chunk

    def _enter(self, active: Active, left: int, reserved: int, now: float) -> int:
        """Let the first of the queue in: tokens of its chunk, -1 where it has to wait."""
        decoding, pool, cache = self.decoding, self.pool, self.decoding.cache
        links = hit = idle = shared = 0
        if active.chain and not active.ready:
            links, hit = cache.match(active.chain)
            idle = cache.idle_in(active.chain[:links])
            shared = max(0, hit // decoding.size - pool.prefix_blocks)
        done = active.target if active.ready else min(max(self.settings.prefix, hit), active.target - 1)
        chunk = min(active.target - done, left)
        length = active.prompt + active.output
        need = pool.growing(length if self.policy.admission == "whole" else done + chunk) - shared
        need += pool.constant(length)
        room = decoding.room - idle - reserved - (self._kept if self.running else 0)
        if self.policy.admission == "prompt":
            # What is read in later chunks has to have room as well, though it is taken as it is read.
            room -= pool.growing(active.target) - pool.growing(done + chunk)
        if need > room or (self.policy.admission == "share" and not self._has_share(active, room, done)):
            return -1
        self.waiting.popleft()
        if links:
            cache.hold(active.chain[:links])
        decoding.take(need)
        active.blocks, active.held, active.done = need, links, done
        self.running[active.index] = active
        if math.isnan(self.records.admitted[active.index]):
            self.records.admitted[active.index] = now
            self.records.cached[active.index] = 0 if active.ready else done
        if not active.ready:
            self.reading.append(active)
            self._chunks.append((active, chunk))
            return chunk
        if active.swapped:
            self._host_left += active.on_host
            self._pause += active.on_host * self.settings.swap_seconds
        active.ready = active.swapped = False
        decoding.join(active)
        self._entering.append(active)
        return 0

    def _has_share(self, active: Active, room: int, done: int) -> bool:
        """SGLang's budget: the prompt, and of all answers to come a share that falls with the steps."""
        decoding = self.decoding
        if not self.running:
            self._share.begin(decoding.step)
            return True
        share = self._share.at(decoding.step)
        to_come = decoding.ending - decoding.n * decoding.step
        to_come += sum(min(other.output - other.made, MOST_COUNTED) for other in self.reading)
        own = active.target - done + min(active.output - active.made, MOST_COUNTED)
        return own + share * to_come <= room * decoding.size

    # -- preemption --------------------------------------------------------------------------------

    def _make_room(self, steps: int = 1) -> None:
        """Preempt until those who are left can decode ``steps`` more."""
        while self.running and self.decoding.growth(steps) > self.decoding.room:
            self._preempt(self._victim())

    def _victim(self) -> Active:
        if self.policy.victim == "shortest" and self.decoding.n:
            step = self.decoding.step
            decoding = (a for a in self.running.values() if a.finish >= 0)
            return min(decoding, key=lambda a: (a.made + step - a.entry, -a.prompt))
        return self.running[next(reversed(self.running))]

    def _preempt(self, active: Active) -> None:
        """Back to the head of the queue; its cache goes to the host, or is computed anew."""
        decoding = self.decoding
        del self.running[active.index]
        self.preempted_at.append(self._start)
        self.records.preempted[active.index] += 1
        if active.finish >= 0:
            decoding.stop(active)
            active.made += decoding.step - active.entry
            active.swapped = active.ready = self.policy.swaps and active.blocks <= self._host_left
            active.target = active.tokens if active.swapped else active.prompt + active.made
            if active.swapped:
                active.on_host = active.blocks
                self._host_left -= active.blocks
                self._pause += active.blocks * self.settings.swap_seconds
                self.swaps += 1
        elif active.on_way:
            active.on_way, active.target = False, active.prompt + active.made
        else:
            self.reading.remove(active)
        decoding.free += active.blocks
        if active.held:
            decoding.cache.release(active.chain[: active.held])
        active.blocks = active.held = active.done = 0
        self.waiting.appendleft(active)
        if self.policy.admission == "share":
            self._share.retracted(decoding.step, self.running.values())

    # -- booking -----------------------------------------------------------------------------------

    def _decoded(self, steps: int) -> None:
        """Book ``steps`` decode steps of the stretch."""
        decoding, seconds = self.decoding, self.end - self._start
        decoding.go(steps)
        self.busy_decodes += seconds
        self.gaps.add(seconds / steps, (steps - 1 if self._gap else steps) * decoding.n)
        if self._gap:
            self.gaps.add(seconds / steps + self._gap, decoding.n)
            self._gap = 0.0

    def _read(self, now: float, ended: list[Active]) -> None:
        """Book a step, or several, with prompts in it."""
        decoding, steps = self.decoding, self._planned
        if self.mixes and decoding.n:
            self.gaps.add(self._first, steps * decoding.n)
            gained = steps
            if self.table.gained != 1.0:
                self._carry += self.table.gained
                gained = int(self._carry)
                self._carry -= gained
            decoding.go(gained)
        elif decoding.n:
            self._gap += now - self._start
        if steps > 1:
            active, chunk = self._chunks[0]
            reached = active.done + steps * chunk
            if decoding.grows:
                more = self.pool.growing(reached) - self.pool.growing(active.done + chunk)
                decoding.take(more)
                active.blocks += more
            active.done = reached - chunk
        for active, chunk in self._chunks:
            active.done += chunk
            if active.done >= active.target:
                self.reading.remove(active)
                self._read_whole(active, now, ended)
        self._leave(now, ended)

    def _read_whole(self, active: Active, shown: float, ended: list[Active]) -> None:
        """A prompt has been read: its last step gives a token."""
        if active.held < len(active.chain):
            # What was read goes to the prefix cache as far as it is new there.
            taken, active.held = self.decoding.cache.insert(active.chain, active.held)
            active.blocks -= taken
        active.made += 1
        last = active.made >= active.output
        way = 0.0 if self.hands_over and not last else active.way
        if not active.started and (last or not self.hands_over):
            active.started = True
            waited = 0.0 if active.crowded else shown - self.records.arrival[active.index] - active.alone
            late = 0.0 if last else max(0.0, active.collides - waited)
            self.records.first[active.index] = shown + way + late
        if last or self.hands_over:
            if last:
                self.records.finish[active.index] = shown + way
            self._give_back(active)
            ended.append(active)
            return
        if way:
            active.way, active.on_way = 0.0, True
            heappush(self._on_way, (shown + way, active.index, active))
            return
        self.decoding.join(active)

    def _leave(self, now: float, ended: list[Active]) -> None:
        """Those whose last token has come."""
        for active in self.decoding.ended():
            self.records.finish[active.index] = now
            if self.records.first[active.index] > now:
                self.records.first[active.index] = now
            self._give_back(active)
            ended.append(active)

    def _give_back(self, active: Active) -> None:
        del self.running[active.index]
        cache, chain, links, taken = self.decoding.cache, active.chain, active.held, 0
        if active.own is not None and links == len(chain):
            key, tokens = active.own
            # Where answers decode elsewhere the cache ends with the prompt.
            chain = (*chain, (key, active.prompt if self.hands_over else tokens))
            taken, links = cache.insert(chain, links)
        if links:
            cache.release(chain[:links])
        self.decoding.free += active.blocks - taken
        active.blocks = active.held = 0
