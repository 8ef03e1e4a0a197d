"""What a service does under load: the shape of every steady-state and simulated result."""

from dataclasses import dataclass, fields

from core.quantities import FloatArray


@dataclass(frozen=True, slots=True)
class LoadCurve:
    """Speeds of one replica set over a load axis of n points.

    Arrays have the shape (3, n): axis 0 holds the optimistic, expected and pessimistic efficiency
    quantile (``core.quantities.LOW, EXPECTED, HIGH``), so times rise and throughputs fall along it.
    ``users`` and ``running`` count over all replicas.
    """

    users: FloatArray  # (n,) requests in the system, waiting ones included
    running: FloatArray  # (3, n) requests being decoded
    time_to_first_token: FloatArray  # (3, n) s, mean
    queue_seconds: FloatArray  # (3, n) part of it: waiting for room in the cache or the batch
    prefill_seconds: FloatArray  # (3, n) part of it: reading the own prompt
    other_prefills_seconds: FloatArray  # (3, n) part of it: other prompts read first
    base_seconds: FloatArray  # (3, n) part of it: server, first decode step
    transfer_seconds: FloatArray  # (3, n) part of it: the cache goes from device to device
    time_per_output_token: FloatArray  # (3, n) s, (end to end - TTFT) / (output - 1)
    output_tokens_per_second: FloatArray  # (3, n) all replicas together
    requests_per_second: FloatArray  # (3, n)
    prefill_share: FloatArray  # (3, n) share of a decoding request's time spent on others' prompts
    stable: FloatArray  # (n,) 1 where the load can be carried, 0 where the queue grows for ever
    terms: "Terms | None" = None  # what the times follow from; None by the textbook rules, and of pools


@dataclass(frozen=True, slots=True)
class Terms:
    """What times follow from, expected quantile, (n,) each; see ``core.serving.life``."""

    inside: FloatArray  # requests in one replica, the one that is asked about included
    share: FloatArray  # of their time inside that they decode; of users: of their steps
    decoding: FloatArray  # requests in a decode step
    step: FloatArray  # s, a step that only decodes
    mixed: FloatArray  # s, a step that carries a part of a prompt
    room: FloatArray  # prompt tokens that a step has room for
    carriers: FloatArray  # steps that carry one prompt
    together: FloatArray  # prompts that share a step
    added: FloatArray  # s that one prompt adds to the steps it shares
    own: FloatArray  # s of the steps that carry a prompt
    before: FloatArray  # of each other request's prompt, the share that is read first
    beside: FloatArray  # and the share that is read while the answer is decoded
    full: FloatArray  # decode steps that pass first because every step is full of prompts
    wait: FloatArray  # s for each other request, beside its prompt
    busy: FloatArray  # prompts' worth of waiting for what is being read
    server: FloatArray  # s before the first step
    again: FloatArray  # tokens that are read again after preemptions, beside each prompt

    def part(self, points: slice) -> "Terms":
        """The terms of some of the points."""
        return Terms(*(getattr(self, f.name)[points] for f in fields(self)))


@dataclass(frozen=True, slots=True)
class OperatorTime:
    """Time of one kind of operator in one step of one device, expected quantile."""

    key: str  # text key below "operators."
    seconds: float
    flops: float
    bytes: float
    bound: str  # "compute", "bandwidth", "link" or "launch"


@dataclass(frozen=True, slots=True)
class Phase:
    """One step of a phase at the operating point: who takes what, and what limits it."""

    seconds: float
    shares: dict[str, float]  # "compute", "bandwidth", "link", "launch" → share of the time
    operators: tuple[OperatorTime, ...]
    compute_format: str  # the format that the matrices are multiplied in
    native: bool  # False: weights are expanded first
    requests: float = 0.0  # that the step decodes, a mean
    prompt_tokens: float = 0.0  # that the step reads

    @property
    def bottleneck(self) -> str:
        """The bound with the largest share."""
        return max(self.shares, key=lambda key: self.shares[key])
