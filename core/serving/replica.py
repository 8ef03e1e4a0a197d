"""One replica: the scheduler of its engine, one stretch of like steps after the other.

A stretch ends where something changes: a prompt is read, an answer ends, blocks run out, or a
request comes that can enter.  Between, steps that only decode differ by the growing cache alone, so
their time is summed in closed form and a run costs as much as it has events, however many tokens.
"""

import math
from collections import deque
from heapq import heappop, heappush

from core.serving.cache_pool import CachePool
from core.serving.policies import FIRST_SHARE, LAST_SHARE, MOST_COUNTED, SHARE_STEPS, Policy
from core.serving.prefix_cache import PrefixCache
from core.serving.requests import Active, Records
from core.serving.step_table import StepTable
from core.serving.timeline import Gaps, Timeline

NEVER = math.inf


class Replica:
    """A copy of the model with a cache, a queue and a clock of its own.

    ``end`` is when the stretch that runs ends.  ``arrive`` and ``advance`` are called in the order of time.
    """

    def __init__(
        self,
        number: int,
        table: StepTable,
        pool: CachePool,
        policy: Policy,
        records: Records,
        most: int,
        budget: int,
        prefix: int,
        verified: int = 1,
        swap: tuple[int, float] = (0, 0.0),
        hands_over: bool = False,
        batch_wait: float = 0.0,
    ) -> None:
        self.number, self.table, self.pool, self.policy, self.records = number, table, pool, policy, records
        self.most, self.budget, self.prefix, self.verified = most, max(budget, 1), prefix, verified
        self.hands_over, self.batch_wait = hands_over, batch_wait  # hands_over: the answers decode elsewhere
        self.swap_left, self.swap_seconds = swap  # blocks of host memory, s a block
        self.end = NEVER
        self.waiting: deque[Active] = deque()
        self.reading: list[Active] = []
        self.running: dict[int, Active] = {}  # all inside, in the order they came
        self.n = 0  # that decode
        self.approaching = 0  # between the client and the queue
        self.cache = PrefixCache(pool.block_tokens, pool.prefix_blocks)
        self.free = pool.blocks
        self.timeline = Timeline()
        self.gaps = Gaps()
        self.busy_prompts = self.busy_decodes = 0.0
        self.preemptions = self.swaps = 0
        self._grows = pool.grows and policy.admission != "whole"
        self._ends: list[tuple[int, int, Active]] = []
        self._phases = [0] * (pool.block_tokens if self._grows else 1)
        self._step = 0
        self._context = 0  # cached tokens of all that decode
        self._carry = 0.0
        self._chunks: list[tuple[Active, int]] = []
        self._repeat = self._length = 0
        self._start = self._first = self._last = 0.0
        self._pause = 0.0  # of the next step: caches on their way to and from the host
        self._gap = 0.0  # since the last decode step, of steps that only read prompts
        self._entering: list[Active] = []  # whose first token the next decode step gives
        self._padding = 0  # answers of a static batch that have ended
        self._kept = 0  # their blocks
        self._mixed = not policy.prompts_apart
        self._gathering = False
        self._last_step = 0  # sum over those who decode of the steps at which they end

    # -- from outside -----------------------------------------------------------------------------

    @property
    def inside(self) -> int:
        """Requests here: on their way, in the queue and in the engine."""
        return self.approaching + len(self.waiting) + len(self.running)

    @property
    def used(self) -> int:
        """Blocks that requests hold."""
        return self.pool.blocks - self.free - self.cache.idle_blocks

    @property
    def mixes(self) -> bool:
        """Whether steps carry prompts beside decodes."""
        return self._mixed

    @property
    def mean_context(self) -> float:
        """Cached tokens of one that decodes."""
        return self._context / self.n if self.n else 0.0

    def fits(self, prompt: int, output: int) -> bool:
        """Whether the whole pool holds a request."""
        length = prompt + output
        return self.pool.growing(length) + self.pool.constant(length) <= self.pool.blocks

    def arrive(self, active: Active, now: float) -> None:
        """A request joins the queue."""
        alone = not self.waiting
        self.approaching -= 1
        self.waiting.append(active)
        if self.end == NEVER or (self._gathering and len(self.waiting) >= self.most):
            self._begin(now)
        elif alone and self._length > 1 and len(self.running) < self.most and not self.policy.static:
            self._cut(now)

    def approach(self, now: float) -> None:
        """A request is on its way to the queue; ``arrive`` follows."""
        self.approaching += 1
        running = len(self.running)
        self.timeline.add(now, self.inside - running, running, self.used)

    def advance(self) -> list[Active]:
        """End the stretch at ``end`` and begin the next; the requests that ended, or are handed over."""
        now, ended = self.end, []
        if self._chunks:
            self._read(now, ended)
        elif self._length:
            self._decoded(self._length)
            self._leave(now, ended)
        self._begin(now)
        return ended

    # -- stretches ---------------------------------------------------------------------------------

    def _begin(self, now: float) -> None:
        self._start, self._length, self._repeat = now, 0, 0
        self._chunks, self._gathering = [], False
        if self.waiting or self.reading:
            self._compose(now)
        if self._chunks:
            self._plan_reading(now)
        elif self.n:
            self._plan_decoding(now)
        elif not self._gathering:
            self.end = NEVER
        self.timeline.add(now, self.inside - len(self.running), len(self.running), self.used)

    def _plan_reading(self, now: float) -> None:
        tokens, depth = 0, 0.0
        for active, chunk in self._chunks:
            tokens += chunk
            depth += chunk * (active.done + 0.5 * chunk)
        depth /= tokens
        n = self.n if self._mixed else 0
        context = self._context / n if n else 0.0
        first = self.table.mixed(n, context, tokens, depth)
        self._repeat = self._repeats(tokens) if len(self._chunks) == 1 else 1
        if self._repeat > 1:
            further = self._repeat - 1
            last = self.table.mixed(n, context + further, tokens, depth + further * tokens)
            seconds = 0.5 * self._repeat * (first + last)
        else:
            seconds = first
        self._first = seconds / self._repeat
        self._last = self.table.lag(n, context, tokens, depth) if self.table.stages > 1 else 0.0
        seconds += self._pause
        self._pause = 0.0
        self.end = now + seconds
        self.busy_prompts += seconds
        if self._mixed:
            self._show_entering(self.end)

    def _repeats(self, chunk: int) -> int:
        """Further steps that take a chunk of the same prompt and nothing else."""
        active = self._chunks[0][0]
        left = active.target - active.done
        decoding = self.n * self.verified if self._mixed else 0
        if left <= chunk or chunk < self.budget - decoding or self.policy.static:
            return 1
        steps = (left - 1) // chunk
        if self.n and self._mixed:
            if self.table.gained != 1.0:
                return 1
            steps = min(steps, self._next_end() - self._step)
        if self._grows:
            each = chunk / self.pool.block_tokens + self.n / self.pool.block_tokens
            room = self.free + self.cache.idle_blocks - 2 - self.n
            steps = min(steps, int(room / each))
        return max(1, steps)

    def _plan_decoding(self, now: float) -> None:
        steps = self._next_end() - self._step
        if self._grows:
            steps = self._within_blocks(steps)
            if steps == 0:
                self._make_room(self._growth(1))
                if not self.n:
                    self._begin(now)
                    return
                steps = self._within_blocks(self._next_end() - self._step)
        elif self.policy.admission == "share" and self.waiting:
            steps = min(steps, 64)
        n, gained = self.n + self._padding, self.table.gained
        context = self._context / self.n
        first = self.table.decode(n, context) / gained
        last = self.table.decode(n, context + steps - 1) / gained if steps > 1 else first
        self._first, self._last, self._length = first, last, steps
        self._repeat = steps
        self._show_entering(now + self._pause + first)
        self._start = now + self._pause
        self.end = self._start + 0.5 * steps * (first + last)
        self._pause = 0.0

    def _show_entering(self, now: float) -> None:
        """Requests that came with their cache show their first token after their first step."""
        for active in self._entering:
            if not active.started:
                active.started = True
                self.records.first[active.index] = now
        self._entering.clear()

    def _cut(self, now: float) -> None:
        """End the stretch with the step in which a request comes."""
        steps, first, passed = self._length, self._first, max(0.0, now - self._start)
        half = 0.5 * (self._last - first) / (self._repeat - 1)
        linear = first - half
        root = linear * linear + 4.0 * half * passed
        done = math.ceil(2.0 * passed / (linear + math.sqrt(max(root, 0.0))) - 1e-9)
        done = max(1, done)
        if done < steps:
            self._length = done
            self.end = self._start + done * (linear + half * done)

    def _decoded(self, steps: int) -> None:
        """Book ``steps`` decode steps of the stretch."""
        if self._grows:
            self._take(self._growth(steps))
        self._step += steps
        self._context += steps * self.n
        seconds = self.end - self._start
        self.busy_decodes += seconds
        self.gaps.add(seconds / steps, steps * self.n)
        if self._gap:
            self.gaps.add(seconds / steps + self._gap, self.n)
            self._gap = 0.0

    # -- the cache ---------------------------------------------------------------------------------

    def _growth(self, steps: int) -> int:
        """Blocks that those who decode take in the next ``steps``."""
        size, phases, step = self.pool.block_tokens, self._phases, self._step
        rounds, rest = divmod(steps, size)
        total = rounds * self.n
        for j in range(step, step + rest):
            total += phases[-j % size]
        return total

    def _within_blocks(self, steps: int) -> int:
        """As many of ``steps`` as there are blocks for."""
        room, size, n = self.free + self.cache.idle_blocks, self.pool.block_tokens, self.n
        if (steps // size + 1) * n <= room:
            return steps
        rounds = room // n
        done, left = rounds * size, room - rounds * n
        phases = self._phases
        while done < steps:
            left -= phases[-(self._step + done) % size]
            if left < 0:
                break
            done += 1
        return min(steps, done)

    def _take(self, blocks: int) -> None:
        if blocks > self.free:
            self.free += self.cache.evict(blocks - self.free)
        self.free -= blocks

    def _make_room(self, blocks: int) -> bool:
        """Preempt until ``blocks`` are free beside what decodes then needs; False: nobody is left."""
        while blocks > self.free + self.cache.idle_blocks:
            if not self.running:
                return False
            self._preempt(self._victim())
            blocks = self._growth(1)
        return True

    def _victim(self) -> Active:
        if self.policy.victim == "shortest" and self.n:
            step = self._step
            decoding = (a for a in self.running.values() if a.finish >= 0)
            return min(decoding, key=lambda a: (a.made + step - a.entry, -a.prompt))
        return self.running[next(reversed(self.running))]

    def _preempt(self, active: Active) -> None:
        """Back to the head of the queue; its cache goes to the host, or is computed anew."""
        del self.running[active.index]
        self.preemptions += 1
        self.records.preempted[active.index] += 1
        if active.finish >= 0:
            self._stop_decoding(active)
            active.made += self._step - active.entry
            fits = self.policy.swaps and active.blocks <= self.swap_left
            active.target = active.tokens if fits else active.prompt + active.made
            if fits:
                active.ready = active.swapped = True
                self.swap_left -= active.blocks
                self._pause += active.blocks * self.swap_seconds
                self.swaps += 1
        else:
            self.reading.remove(active)
        self.free += active.blocks
        if active.held:
            self.cache.release(active.chain[: active.held])
        active.blocks = active.held = active.done = 0
        self.waiting.appendleft(active)

    def _stop_decoding(self, active: Active) -> None:
        """Take a request out of the sums; its tokens and blocks are those of now."""
        if self._grows:
            self._phases[(active.tokens - active.entry) % self.pool.block_tokens] -= 1
        passed = self._step - active.entry
        tokens = active.tokens + passed
        if self._grows:
            active.blocks += self.pool.growing(tokens) - self.pool.growing(active.tokens)
        self._last_step -= active.finish
        active.tokens, active.finish = tokens, -1
        self._context -= tokens
        self.n -= 1

    # -- requests in and out ------------------------------------------------------------------------

    def _compose(self, now: float) -> None:
        """Choose the prompts of the next step; requests whose cache is there begin to decode."""
        if self.policy.static:
            self._gather(now)
            return
        left = self.budget
        reserved, preempted = 0, self.preemptions
        if self._mixed and self.n:
            left -= self.n * self.verified
            if self._grows:
                reserved = self._growth(math.ceil(self.table.gained))
                if reserved > self.free + self.cache.idle_blocks:
                    self._make_room(reserved)
                    left = self.budget - self.n * self.verified
                    reserved = self._growth(math.ceil(self.table.gained)) if self.n else 0
        for active in list(self.reading):
            if left <= 0 or active.index not in self.running:
                continue
            left -= self._chunk(active, left, reserved)
        if self.preemptions > preempted:
            return  # nobody enters in a step in which somebody had to leave
        waiting = self.waiting
        while waiting and len(self.running) < self.most and (left > 0 or waiting[0].ready):
            taken = self._enter(waiting[0], left, reserved, now)
            if taken < 0:
                break
            left -= taken

    def _chunk(self, active: Active, left: int, reserved: int) -> int:
        """The next chunk of a prompt that is being read; preempts for its blocks."""
        chunk = min(active.target - active.done, left)
        need = self.pool.growing(active.done + chunk) - self.pool.growing(active.done) if self._grows else 0
        while need > self.free + self.cache.idle_blocks - reserved:
            victim = self._victim()
            self._preempt(victim)
            self._chunks = [c for c in self._chunks if c[0] is not victim]
            if victim is active:
                return 0
        self._take(need)
        active.blocks += need
        self._chunks.append((active, chunk))
        return chunk

    def _enter(self, active: Active, left: int, reserved: int, now: float) -> int:
        """Let the first of the queue in: tokens of its chunk, -1 where it has to wait."""
        links = hit = idle = 0
        if active.chain and not active.ready:
            links, hit = self.cache.match(active.chain)
            idle = self.cache.idle_in(active.chain[:links])
        shared = max(0, hit // self.pool.block_tokens - self.pool.prefix_blocks) if links else 0
        done = active.target if active.ready else min(max(self.prefix, hit), active.target - 1)
        chunk = 0 if active.ready else min(active.target - done, left)
        length = active.prompt + active.output
        constant = self.pool.constant(length)
        whole = self.policy.admission == "whole"
        need = self.pool.growing(length if whole else done + chunk) + constant - shared
        room = self.free + self.cache.idle_blocks - idle - reserved
        if need > room or (self.policy.admission == "share" and not self._has_share(active, room, done)):
            return -1
        self.waiting.popleft()
        if links:
            self.cache.hold(active.chain[:links])
        self._take(need)
        active.blocks, active.held, active.done = need, links, done
        self.running[active.index] = active
        records = self.records
        if records.admitted[active.index] != records.admitted[active.index]:
            records.admitted[active.index] = now
            records.cached[active.index] = max(0, done) if not active.ready else 0
        if active.ready:
            if active.swapped:
                self.swap_left += need
                self._pause += need * self.swap_seconds
            active.ready = active.swapped = False
            self._join(active)
            self._entering.append(active)
            return 0
        self.reading.append(active)
        self._chunks.append((active, chunk))
        return chunk

    def _has_share(self, active: Active, room: int, done: int) -> bool:
        """SGLang's budget: the prompt, and of all answers to come a share that falls with the steps."""
        if not self.running:
            return True
        share = max(LAST_SHARE, FIRST_SHARE - (FIRST_SHARE - LAST_SHARE) * self._step / SHARE_STEPS)
        to_come = self._last_step - self.n * self._step
        to_come += sum(min(other.output - other.made, MOST_COUNTED) for other in self.reading)
        own = active.target - done + min(active.output - active.made, MOST_COUNTED)
        return own + share * to_come <= room * self.pool.block_tokens

    def _gather(self, now: float) -> None:
        """A static batch: as many as there are and have room, when the last one is over."""
        if self.reading or self.n or self.running:
            if self.reading:
                self._chunks = [(a, a.target - a.done) for a in self.reading]
            return
        waiting = self.waiting
        due = self.records.arrival[waiting[0].index] + self.batch_wait
        if len(waiting) < self.most and now < due - 1e-12:
            self.end, self._gathering = due, True
            return
        batch: list[Active] = []
        prompt = output = 0
        while waiting and len(batch) < self.most:
            longer = max(prompt, waiting[0].prompt), max(output, waiting[0].output)
            each = self.pool.growing(sum(longer)) + self.pool.constant(sum(longer))
            if each * (len(batch) + 1) > self.free and batch:
                break
            prompt, output = longer
            batch.append(waiting.popleft())
        for active in batch:
            # Shorter prompts are padded to the longest one.
            active.target, active.done = prompt, min(self.prefix, prompt - 1)
            active.blocks = self.pool.growing(prompt + output) + self.pool.constant(prompt + output)
            self.free -= active.blocks
            self.running[active.index] = active
            self.records.admitted[active.index] = now
            self.reading.append(active)
            self._chunks.append((active, active.target - active.done))

    def _join(self, active: Active) -> None:
        """Begin to decode."""
        step = self._step
        active.entry, active.tokens = step, active.target
        active.finish = step + active.output - active.made
        self.n += 1
        self._context += active.tokens
        self._last_step += active.finish
        if self._grows:
            self._phases[(active.tokens - step) % self.pool.block_tokens] += 1
        heappush(self._ends, (active.finish, active.index, active))

    def _next_end(self) -> int:
        ends = self._ends
        while ends[0][2].finish != ends[0][0]:
            heappop(ends)
        return ends[0][0]

    def _read(self, now: float, ended: list[Active]) -> None:
        """Book a step, or several, with prompts in it."""
        repeat = self._repeat
        beside = self.n if self._mixed else 0
        if beside:
            steps = repeat
            if self.table.gained != 1.0:
                self._carry += self.table.gained
                steps = int(self._carry)
                self._carry -= steps
            if self._grows:
                self._take(self._growth(steps))
            self._step += steps
            self._context += steps * beside
            self.gaps.add(self._first, repeat * beside)
        elif self.n:
            self._gap += now - self._start
        if repeat > 1:
            active, chunk = self._chunks[0]
            further = (repeat - 1) * chunk
            if self._grows:
                grown = self.pool.growing(active.done + chunk + further)
                more = grown - self.pool.growing(active.done + chunk)
                self._take(more)
                active.blocks += more
            active.done += further
        for active, chunk in self._chunks:
            active.done += chunk
            if active.done >= active.target:
                self.reading.remove(active)
                self._read_whole(active, now + self._last, now, ended)
        self._leave(now, ended)

    def _read_whole(self, active: Active, shown: float, now: float, ended: list[Active]) -> None:
        """A prompt has been read: its last step gives a token."""
        if active.held < len(active.chain):
            self._share(active)
        active.made += 1
        if self.hands_over:
            self._give_back(active)
            ended.append(active)
            return
        if not active.started:
            active.started = True
            self.records.first[active.index] = shown
        if active.made >= active.output:
            active.tokens = active.target
            self.records.finish[active.index] = shown
            self._give_back(active)
            ended.append(active)
            return
        self._join(active)

    def _share(self, active: Active) -> None:
        """What was read goes to the prefix cache as far as it is new there."""
        taken, active.held = self.cache.insert(active.chain, active.held)
        active.blocks -= taken

    def _leave(self, now: float, ended: list[Active]) -> None:
        """Those whose last token has come."""
        ends, step = self._ends, self._step
        while ends and ends[0][0] <= step:
            finish, _, active = heappop(ends)
            if active.finish != finish:
                continue
            self._stop_decoding(active)
            self.records.finish[active.index] = now
            if self.policy.static:
                self._padding += 1
                self._kept += active.blocks
                active.blocks = 0
            self._give_back(active)
            ended.append(active)
        if self._padding and not self.n and not self.reading:
            self.free += self._kept
            self._padding = self._kept = 0

    def _give_back(self, active: Active) -> None:
        del self.running[active.index]
        taken, links = 0, active.held
        chain = active.chain
        if active.own is not None and links == len(chain):
            chain = (*chain, active.own)
            taken, links = self.cache.insert(chain, links)
        if links:
            self.cache.release(chain[:links])
        self.free += active.blocks - taken
        active.blocks = active.held = 0
