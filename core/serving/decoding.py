"""Those who decode side by side, and the blocks of the cache, kept as sums.

Each of them gains a token in every step and a block whenever its last one is full.  Which step that
is repeats every block, so a count for each residue tells what any number of steps will take.
"""

from heapq import heappop, heappush

from core.serving.cache_pool import CachePool
from core.serving.prefix_cache import PrefixCache
from core.serving.requests import Active


class Decoding:
    """``n`` requests after ``step`` steps, on ``context`` cached tokens together; ``free`` blocks.

    ``grows``: False where a request holds all its blocks from the beginning.
    """

    __slots__ = (
        "_ends",
        "_phases",
        "cache",
        "context",
        "ending",
        "free",
        "grows",
        "n",
        "pool",
        "size",
        "step",
    )

    def __init__(self, pool: CachePool, grows: bool) -> None:
        self.pool, self.size, self.free = pool, pool.block_tokens, pool.blocks
        self.grows = grows and pool.grows
        self.cache = PrefixCache(pool.block_tokens, pool.prefix_blocks)
        self.n = self.step = self.context = 0
        self.ending = 0  # sum of the steps at which they end
        self._ends: list[tuple[int, int, Active]] = []
        self._phases = [0] * (pool.block_tokens if self.grows else 1)

    @property
    def room(self) -> int:
        """Blocks that can be had: free ones, and cached prompts that nobody reads."""
        return self.free + self.cache.idle_blocks

    @property
    def used(self) -> int:
        """Blocks that requests hold."""
        return self.pool.blocks - self.free - self.cache.idle_blocks

    def take(self, blocks: int) -> None:
        """Make blocks those of a request; there is room for them."""
        if blocks > self.free:
            self.free += self.cache.evict(blocks - self.free)
        self.free -= blocks

    def growth(self, steps: int) -> int:
        """Blocks that those who decode take in the next ``steps``."""
        if not self.grows:
            return 0
        size, phases, step = self.size, self._phases, self.step
        rounds, rest = divmod(steps, size)
        total = rounds * self.n
        for j in range(step, step + rest):
            total += phases[-j % size]
        return total

    def within_room(self, steps: int) -> int:
        """As many of ``steps`` as there are blocks for."""
        if not self.grows:
            return steps
        room, size, n = self.free + self.cache.idle_blocks, self.size, self.n
        if (steps // size + 1) * n <= room:
            return steps
        rounds = room // n
        done, left = rounds * size, room - rounds * n
        phases = self._phases
        while done < steps:
            left -= phases[-(self.step + done) % size]
            if left < 0:
                break
            done += 1
        return min(steps, done)

    def go(self, steps: int) -> None:
        """Decode ``steps`` tokens each."""
        if self.grows:
            self.take(self.growth(steps))
        self.step += steps
        self.context += steps * self.n

    def join(self, active: Active) -> None:
        """A request whose prompt is read begins to decode."""
        step = self.step
        active.entry, active.tokens = step, active.target
        active.finish = step + active.output - active.made
        self.n += 1
        self.context += active.tokens
        self.ending += active.finish
        if self.grows:
            self._phases[(active.tokens - step) % self.size] += 1
        heappush(self._ends, (active.finish, active.index, active))

    def stop(self, active: Active) -> None:
        """A request decodes no longer; its tokens and blocks are those of now."""
        tokens = active.tokens + self.step - active.entry
        if self.grows:
            self._phases[(active.tokens - active.entry) % self.size] -= 1
            active.blocks += self.pool.growing(tokens) - self.pool.growing(active.tokens)
        self.ending -= active.finish
        active.tokens, active.finish = tokens, -1
        self.context -= tokens
        self.n -= 1

    def next_end(self) -> int:
        """The step at which the next one ends; somebody decodes."""
        ends = self._ends
        while ends[0][2].finish != ends[0][0]:  # preempted since
            heappop(ends)
        return ends[0][0]

    def ended(self) -> list[Active]:
        """Those whose last token has come; they decode no longer."""
        found, ends, step = [], self._ends, self.step
        while ends and ends[0][0] <= step:
            finish, _, active = heappop(ends)
            # One that was preempted may stand here twice with the same end.
            if active.finish == finish:
                self.stop(active)
                found.append(active)
        return found
