"""The life of a request inside the engine, from its place in the batch to its last token, solved.

The equations are in ``core.serving.life``; the methods here are named as their terms.
"""

import numpy as np

from core.latency.protocol import BOUND, StepPlan, over_points
from core.quantities import EXPECTED, HIGH, LOW, FloatArray
from core.serving.life import Lengths, Life, Reading, Steps, Waits
from core.serving.load import Terms

Quantiles = tuple[int, ...]
EVERY: Quantiles = (LOW, EXPECTED, HIGH)
ONE: Quantiles = (EXPECTED,)
_SHARE = 0.9  # the first guess
_NO_OTHERS = 1e-9  # in the place of none, where a share of each is asked for
_LEAST_SLOPE = 0.2  # of what is left of the share's equation; less would overshoot
_BUSIEST = 0.95  # share of time with prompts beyond which the burst term stays as it is


def live(
    plan: StepPlan,
    lengths: Lengths,
    inside: FloatArray,
    together: bool,
    near: FloatArray | None = None,
    quantiles: Quantiles = EVERY,
) -> Life:
    """Solve for ``inside`` (n,) requests in the engine, at least one each.

    ``together``: a closed loop, whose users start at the same moments, as those of a benchmark do.
    ``near``: shares close to the solution, if known.  ``quantiles``: of the life.
    """
    loop = (_Closed if together else _Open)(plan, lengths, inside)
    return loop.life(_solved(loop, near), quantiles)


def lasting(plan: StepPlan, lengths: Lengths, inside: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Seconds of the expected life of ``live`` in an open loop, and its share (n,): nothing else of it."""
    loop = _Open(plan, lengths, inside)
    return loop.lasting(_solved(loop, None))


def _solved(loop: "_Loop", near: FloatArray | None) -> FloatArray:
    """The share (n,) that follows from itself."""
    # Secant steps; far prompts need more than damping.
    last, last_off = loop.ones, -0.1 * loop.ones
    share = _SHARE * loop.several * last if near is None else near
    for _ in range(loop.rounds if near is None else 1):
        off, moved = loop.following(share) - share, share - last
        moved[moved == 0.0] = 1.0
        slope = np.minimum((off - last_off) / moved, -_LEAST_SLOPE)
        last, last_off = share, off
        share = np.minimum(np.maximum(share - off / slope, 0.0), 1.0)
    return share


class _Loop:
    """The equations of n points.  A ``share`` (n,) is the part of a life that a request decodes."""

    burst = 0.0
    rounds = 4  # of the iteration

    def __init__(self, plan: StepPlan, lengths: Lengths, inside: FloatArray) -> None:
        self.plan, self.lengths, self.inside = plan, lengths, inside
        self.n, over, kind = len(inside), plan.overheads, plan.kind
        self.over, self.others = over, inside - 1.0
        self.stages = over_points(plan.stages, self.n)
        self.single = np.ndim(plan.stages) == 0 and plan.stages == 1
        self.more_prefill = over_points(over.own_prefill, self.n) - 1.0
        self.each_waits = 1e-3 * over_points(over.waiting_request_ms[kind], self.n)  # s
        self.gained = over_points(plan.tokens_per_step, self.n)
        self.steps = np.maximum(lengths.output - 1.0, 0.0) / self.gained
        self.several, self.reading = np.sign(self.steps), lengths.reading
        self.shared = 0.0 if over.separate_prompts else 1.0  # whether decodes go on beside a prompt
        self.ones = self.share = self.full_steps = self.room = self.fits = np.ones(self.n)
        self.base = 1e-3 * over_points(over.alone_ms[kind], self.n) * self.ones
        self.elsewhere = (self.stages - 1.0) / self.stages  # of a step with a prompt: what other stages take
        # n columns of steps that only decode and n that carry a chunk of a prompt.
        self._columns = np.zeros((4, 2 * self.n))
        self._decoding, self._context, self._prefill, self._history = self._columns.reshape(4, 2, self.n)
        self._context[:] = lengths.mean_context

    def following(self, share: FloatArray) -> FloatArray:
        """The share that follows from ``share``."""
        raise NotImplementedError

    def beside(self, running: FloatArray) -> FloatArray:
        """Requests that decode in a step which carries a prompt."""
        return running if self.shared else np.zeros(self.n)

    def waiting(self) -> FloatArray:
        """The share of the others whose prompts are there to be read at the same time as one's own."""
        raise NotImplementedError

    def waits(self, read: Reading) -> Waits:
        """What a request waits for."""
        raise NotImplementedError

    def fill(self, share: FloatArray) -> Steps:
        """Put the kinds of step into the columns."""
        self.share, lengths, reading = share, self.lengths, self.reading
        running = np.multiply(self.inside, share, out=self._decoding[0])
        if not self.single:
            # A step holds at least one request, however many stages stand idle.
            np.maximum(running / self.stages, np.minimum(running, 1.0), out=running)
        self._decoding[1] = self.beside(running)
        self.room = room = lengths.room(self._decoding[1])
        self.full_steps = full = np.maximum(reading / room, 1.0)
        self.fits = np.maximum(room / reading, 1.0)
        together = np.minimum(1.0 + self.others * self.waiting(), self.fits)
        chunk = np.minimum(room, together * reading, out=self._prefill[1])
        # Prompts side by side see themselves only: the pairs of one mean prompt a token.
        before = np.subtract(lengths.prompt, chunk, out=self._history[1])
        before *= 0.5
        before += lengths.prefix
        each = full / together
        return Steps(full, together, each, each if self.single else each / self.stages)

    def seconds(self, rows: slice | int) -> FloatArray:
        """Times ([q,] 2, n) of the steps in the columns."""
        found = self.plan.seconds(rows, *self._columns)
        return np.asarray(found.reshape(*found.shape[:-1], 2, self.n))

    def added(self, seconds: FloatArray, steps: Steps) -> FloatArray:
        """Seconds that one prompt adds to the steps it shares."""
        mixed = seconds[..., 1, :]
        longer = np.maximum(mixed - seconds[..., 0, :] if self.shared else mixed, 0.0)
        return np.asarray(steps.occupied * longer)

    def own(self, seconds: FloatArray, steps: Steps, added: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Seconds of the steps that carry one prompt, and those from the queue to the first token: what a
        prompt takes beyond steps that only decode is longer than the kernels alone say.
        """
        work = added if self.single else added + self.elsewhere * seconds[..., 1, :]
        own = work
        if self.shared:
            own = (
                work + (steps.carriers if self.single else steps.carriers / self.stages) * seconds[..., 0, :]
            )
        return own, own + self.more_prefill * work

    def read(self, share: FloatArray) -> Reading:
        """How prompts are read, expected quantile."""
        steps = self.fill(share)
        seconds = self.seconds(EXPECTED)
        added = self.added(seconds, steps)
        return Reading(steps, seconds[0], added, *self.own(seconds, steps, added))

    def decode(self, step: FloatArray, added: FloatArray, beside: FloatArray) -> FloatArray:
        """Seconds from the first token to the last."""
        return np.asarray(self.steps * step + self.others * beside * added)

    def start(self, read: Reading) -> FloatArray:
        """Seconds to the first token where nobody is ahead."""
        return np.asarray(self.base + 0.5 * read.step + read.reads)

    def ahead(self, read: Reading, waits: Waits) -> FloatArray:
        """Seconds of waiting before the own prompt."""
        for_others = self.others * (waits.before * read.added + self.server_wait(waits.before))
        return np.asarray(for_others + waits.full * read.step + waits.busy * read.own)

    def server_wait(self, before: FloatArray) -> FloatArray:
        """Seconds that the server takes for each other request."""
        return np.asarray(np.minimum(before * (self.each_waits / self.burst), self.each_waits))

    def life(self, share: FloatArray, of: Quantiles) -> Life:
        """The life at the solution."""
        steps = self.fill(share)
        # All of them, or the expected one and the bound.
        every = self.seconds(slice(of[0], BOUND + 1, 1 if len(of) > 1 else BOUND - EXPECTED))
        quantiles, middle = every[:-1], of.index(EXPECTED)
        step, added = quantiles[:, 0], self.added(quantiles, steps)
        own, reads = self.own(quantiles, steps, added)
        read = Reading(steps, step[middle], added[middle], own[middle], reads[middle])
        waits = self.waits(read)
        decode = self.decode(step, added, waits.beside)
        band = np.ones((3, self.n))
        band[LOW], band[HIGH] = (over_points(value, self.n) for value in self.plan.first_token_band)
        band = band[of[0] : of[-1] + 1]
        start = self.base + 0.5 * read.step
        ahead, several = self.ahead(read, waits), self.steps > 0
        inside = decode + own
        total = decode[middle] + start + read.reads + ahead
        held_up = self.others * waits.beside * read.added
        return Life(
            share=decode[middle] / total,
            base=band * start,
            own=np.maximum(band * read.reads, self.added(every[-1], steps)),
            others=band * ahead,
            per_token=np.where(
                several,
                decode / np.maximum(self.lengths.output - 1.0, 1e-9),
                step / self.gained,
            ),
            total=inside / inside[middle] * total,
            prefill_share=np.where(several, held_up / np.maximum(decode[middle], 1e-12), 0.0),
            terms=self.terms(share, read, waits, every[middle]),
        )

    def terms(self, share: FloatArray, read: Reading, waits: Waits, seconds: FloatArray) -> Terms:
        """What the times follow from."""
        running = self._decoding[0]
        return Terms(
            inside=self.inside,
            share=share,
            decoding=running,
            step=read.step,
            mixed=seconds[1],
            room=self.room,
            carriers=read.steps.carriers,
            together=read.steps.together,
            added=read.added,
            own=read.own,
            before=waits.before,
            beside=waits.beside,
            full=waits.full,
            wait=self.server_wait(waits.before),
            busy=waits.busy,
            server=self.base,
            again=self.lengths.anew * self.ones,
        )


class _Open(_Loop):
    """Arrivals that know nothing of the engine: they meet it as it is on average in time."""

    def __init__(self, plan: StepPlan, lengths: Lengths, inside: FloatArray) -> None:
        super().__init__(plan, lengths, inside)
        self._nothing = np.zeros(self.n)
        self._each_step = self.others / np.maximum(self.steps * self.stages, 1.0)  # others for each step

    def waiting(self) -> FloatArray:
        """Those that do not decode."""
        return np.asarray(1.0 - self.share)

    def server_wait(self, before: FloatArray) -> FloatArray:
        """As often as somebody waits: nobody starts together with everybody else."""
        return np.asarray(before * self.each_waits)

    def waits(self, read: Reading) -> Waits:
        """What is being read, and what stands before it."""
        decode = self.decode(read.step, read.added, self.share)
        return self._waits(read, decode + self.start(read))[0]

    def _waits(self, read: Reading, life: FloatArray) -> tuple[Waits, FloatArray]:
        """M/D/1 where a prompt fills a step, less where all that have come are read side by side in the next
        one; ``life``: seconds without it.  And of the others the share that have come when this one is read.
        """
        own, each = read.own, 1.0 / self.fits
        inside, met = own * self.inside, life
        for _ in range(2):
            reading = np.minimum(inside / met, _BUSIEST)
            busy = 0.5 * reading / (1.0 - reading * each)
            way = busy * own
            met = life + way
        # Of those that wait meanwhile, what has room beside the own prompt is read in the same steps.
        before = way / met * (1.0 - each)
        late = self._late(read, (own + way) / met - before)
        return Waits(before, self.share + late, self._nothing, busy), late

    def _late(self, read: Reading, came: FloatArray) -> FloatArray:
        """Those that came while this one waited and was read (a share of the others) are read beside its
        answer.  As many would wait when it ends, but it ends in a step with a prompt no more often than
        such steps are among all: hardly ever, where prompts take few and long ones.
        """
        carrying = self._each_step * self.share * read.steps.each
        return np.asarray(self.several * came * np.maximum(1.0 - carrying, 0.0))

    def ahead(self, read: Reading, waits: Waits) -> FloatArray:
        """No step passes by."""
        return np.asarray(self.others * waits.before * (read.added + self.each_waits) + waits.busy * read.own)

    def lasting(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Seconds of the life at the solution, expected quantile, and the share of it: ``life`` in short."""
        read = self.read(share)
        decode, start = self.decode(read.step, read.added, share), self.start(read)
        waits, late = self._waits(read, decode + start)
        decode += self.others * late * read.added
        total = decode + start
        total += self.ahead(read, waits)
        return total, decode / total

    def following(self, share: FloatArray) -> FloatArray:
        """Of the time."""
        return self.lasting(share)[1]


class _Closed(_Loop):
    """Users who ask again when a step has ended: what they meet is counted in steps.

    ``share`` is that of the steps of a life.
    """

    rounds = 3

    def __init__(self, plan: StepPlan, lengths: Lengths, inside: FloatArray) -> None:
        super().__init__(plan, lengths, inside)
        self.burst = over_points(self.over.burst, self.n)
        later = self.over.together_ms[plan.kind] - self.over.alone_ms[plan.kind]
        self.base += 1e-3 * over_points(later, self.n) * self.others / inside
        self._full = np.zeros(self.n)  # steps of waiting, of the last round
        # What stays the same in all rounds: steps, one at least, those of the others that come in the same
        # step, those that decode beside a prompt, and seconds in the server before the first step.
        self._least, self._fellows = np.maximum(self.steps, 1.0), np.maximum(self.others, _NO_OTHERS)
        self._same_step = 1.0 / self._least
        self._beside = self.shared * self.others / inside
        self._server = self.base + self.others * self.server_wait(self.burst * self.ones)

    def beside(self, running: FloatArray) -> FloatArray:
        """One of the users reads."""
        return np.asarray(running * self._beside)

    def waiting(self) -> FloatArray:
        """Those that come in the same step, or stand in the queue of prompts."""
        queue = self._full / (self.full_steps * self._fellows)
        return np.asarray(np.minimum(self._same_step + queue, 1.0))

    def _way(self, read: Reading) -> FloatArray:
        """Seconds that a request spends in the server, where it hinders nobody and nobody hinders it."""
        return np.asarray(self._server + 0.5 * read.step + (read.reads - read.own))

    def _cycle(self, read: Reading, way: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Steps of a life by itself, and those that it takes longer because all are full of prompts."""
        reading = self.shared * self.inside * read.steps.occupied
        # On its way a request does not take part in the steps, which are longer where they carry prompts.
        mean = read.step + self.inside * read.added / np.maximum(self._least, reading)
        alone = self.steps + self.shared * read.steps.each + way / mean
        return alone, np.maximum(reading - alone, 0.0)

    def following(self, share: FloatArray) -> FloatArray:
        """Of the steps."""
        read = self.read(share)
        alone, self._full = self._cycle(read, self._way(read))
        return np.asarray(self.steps / (alone + self._full))

    def waits(self, read: Reading) -> Waits:
        """Each other prompt is read once in every life, before the own one or while this one decodes."""
        way, reads = self._way(read), self.others * read.added
        _, full = self._cycle(read, way)
        queue = np.minimum(full / (read.steps.occupied * self._fellows), 1.0)
        before = np.maximum(queue, self.burst)
        # A life without what is read meanwhile, x = life: x = most - others D way / x.
        most = self.steps * read.step + reads + full * read.step + read.own + way
        life = 0.5 * (most + np.sqrt(np.maximum(most**2 - 4.0 * reads * way, 0.0)))
        beside = self.several * np.maximum(1.0 - before - way / life, 0.0)
        return Waits(before, beside, full, np.zeros(self.n))
