"""Batches that start together and end with their longest answer: nobody joins, shorter ones are padded."""

from core.serving.replica import Replica
from core.serving.requests import Active


class StaticReplica(Replica):
    """A replica of Transformers or MLX."""

    _kept = 0  # blocks of answers that have ended

    def _compose(self, now: float) -> None:
        """As many as there are and have room, when the last batch is over."""
        if self.running:
            return
        waiting, most = self.waiting, self.settings.most
        due = self.records.arrival[waiting[0].index] + self.settings.batch_wait
        if len(waiting) < most and now < due - 1e-12:
            self.end, self._gathering = due, True
            return
        batch: list[Active] = []
        prompt = output = 0
        while waiting and len(batch) < most:
            longer = max(prompt, waiting[0].prompt), max(output, waiting[0].output)
            if batch and self._blocks(*longer) * (len(batch) + 1) > self.decoding.free:
                break
            prompt, output = longer
            batch.append(waiting.popleft())
        for active in batch:
            active.target, active.done = prompt, min(self.settings.prefix, prompt - 1)
            active.chain, active.own = (), None  # nothing is kept from one batch to the next
            active.blocks = self._blocks(prompt, output)
            self.decoding.take(active.blocks)
            self.running[active.index] = active
            self.records.admitted[active.index] = now
            self.reading.append(active)
            self._chunks.append((active, prompt - active.done))

    def _blocks(self, prompt: int, output: int) -> int:
        return self.pool.growing(prompt + output) + self.pool.constant(prompt + output)

    def _cut(self, now: float) -> None:
        """Nobody joins a batch."""

    def _give_back(self, active: Active) -> None:
        """Its place stays taken until the batch is over."""
        del self.running[active.index]
        self._kept += active.blocks
        self._padding += 1
        if not self.running:
            self.decoding.free += self._kept
            self._kept = self._padding = 0
