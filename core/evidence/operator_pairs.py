"""A profiler's kernels beside the operators of the prediction: shares of the time, by kind of operator.

A trace does not tell of which phase each kernel is, so shares are compared: those of all kernels with those
of a step that decodes and of one that reads a prompt.  Where the trace has the shapes of the matrices, they
are parted into the operators of a layer; where it has marked steps, the seconds of one stand beside the
predicted ones.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.evidence.operator_shapes import Shape, parts_by_shape, shape_of
from core.evidence.run import Operator, Run
from core.results import Estimate
from core.serving.load import Phase

# What a kernel's name holds → kind; the first that is found.
_KINDS: tuple[tuple[str, str], ...] = (
    (
        "exchange",
        r"nccl|allreduce|all_reduce|allgather|all_gather|reducescatter|alltoall|all_to_all|cross_device",
    ),
    ("cache", r"reshape_and_cache|copy_blocks|swap_blocks|kv_cache|kvcache|concat_and_cache"),
    ("attention", r"flash|attention|attn|fmha|paged|mla_|mmha|sdpa"),
    ("experts", r"moe|grouped_?gemm|expert|topk_?gating|topk_?softmax|align_block"),
    ("sampling", r"sampl|top_?k|top_?p|argmax|multinomial|log_?softmax|sort|gather_logits"),
    ("recurrent", r"mamba|selective_scan|causal_conv|gated_delta|ssm|chunk_scan"),
    ("copies", r"memcpy|memset|copy_kernel|catarray"),
    (
        "matrices",
        r"gemm|gemv|matmul|cutlass|cublas|xmma|marlin|nvjet|splitk|sgemm|hgemm|wmma|mul_mat|dequant",
    ),
    (
        "elementwise",
        r"norm|silu|gelu|act_and_mul|rotary|rope|elementwise|vectorized|fused_add|triton|embedding|reduce",
    ),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
OTHER = "other"
# Our operators → kinds; those without a kernel of their own are left out.
_OURS = {
    "projections": "matrices",
    "mlp": "matrices",
    "head": "matrices",
    "weights": "matrices",
    "draft": "matrices",
    "experts": "experts",
    "shared_experts": "experts",
    "router": "experts",
    "attention_decode": "attention",
    "attention_prefill": "attention",
    "recurrent": "recurrent",
    "elementwise": "elementwise",
    "sampler": "sampling",
    "all_reduce": "exchange",
    "all_to_all": "exchange",
    "send": "exchange",
}
# Operators that shapes tell apart, and the least share of the matrices' time that must have known ones.
_PARTS = ("projections", "mlp", "shared_experts", "router", "head")
_TOLD_BY_SHAPE = 0.5
KINDS = (*(kind for kind, _ in _KINDS[:-2]), *_PARTS, *(kind for kind, _ in _KINDS[-2:]), OTHER)


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One kind: seconds and calls in the trace, and its share there and in either predicted step."""

    kind: str  # text key below "operator_kinds.", or "operators." for one that its shape tells
    seconds: float
    calls: int
    measured: float  # share of all kernels
    decode: float | None  # share of the kernels of a step that decodes; None: no prediction
    prefill: float | None
    step_seconds: float | None = None  # of one marked step of the trace, on one device; None: none is marked
    decode_seconds: float | None = None  # of a predicted step
    prefill_seconds: float | None = None

    @property
    def text_key(self) -> str:
        """What it is called."""
        return f"operators.{self.kind}" if self.kind in _PARTS else f"operator_kinds.{self.kind}"


def kind_of(kernel: str) -> str:
    """The kind of a kernel by its name."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(kernel)), OTHER)


def operator_rows(
    operators: Iterable[Operator], point: Estimate | None, steps: int = 0, devices: int = 1
) -> tuple[OperatorRow, ...]:
    """Kinds in the trace or in the prediction, those with the largest share first.

    ``steps`` and ``devices``: that the trace holds; 0 steps: not marked.
    """
    every = tuple(operators)
    parts = {} if point is None else _known_parts(every, point)
    spent: dict[str, list[float]] = {}
    for operator in every:
        shape = shape_of(operator.name)
        kind = (parts.get(shape) if shape is not None else None) or kind_of(operator.name)
        sums = spent.setdefault(kind, [0.0, 0.0])
        sums[0] += max(0.0, operator.seconds)
        sums[1] += operator.calls
    total = sum(seconds for seconds, _ in spent.values())
    if total <= 0:
        return ()
    speed = None if point is None else point.speed
    decode = {} if speed is None else _seconds(speed.decode, parted=bool(parts))
    prefill = {} if speed is None else _seconds(speed.prefill, parted=bool(parts))
    rows = []
    for kind in KINDS:
        seconds, calls = spent.get(kind, (0.0, 0.0))
        if not seconds and not decode.get(kind) and not prefill.get(kind):
            continue
        rows.append(
            OperatorRow(
                kind,
                seconds,
                int(calls),
                seconds / total,
                _share(kind, decode),
                _share(kind, prefill),
                seconds / steps / max(1, devices) if steps > 0 else None,
                decode.get(kind, 0.0) if decode else None,
                prefill.get(kind, 0.0) if prefill else None,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.measured))


def rows_of_run(run: Run, point: Estimate | None) -> tuple[OperatorRow, ...]:
    """The rows of a profile's run."""
    steps = run.rest.get("profiler_steps")
    return operator_rows(run.operators, point, steps if isinstance(steps, int) else 0)


def _known_parts(operators: tuple[Operator, ...], point: Estimate) -> dict[Shape, str]:
    """Operators by shape, where most of the matrices' time has a shape of the model; else none."""
    scenario = point.scenario
    parts = parts_by_shape(scenario.model.architecture, scenario.deployment.attention_tensor_parallel)
    matrices = [one for one in operators if kind_of(one.name) == "matrices"]
    told = sum(one.seconds for one in matrices if shape_of(one.name) in parts)
    return parts if told > _TOLD_BY_SHAPE * sum(one.seconds for one in matrices) else {}


def _share(kind: str, phase: dict[str, float]) -> float | None:
    whole = sum(phase.values())
    return phase.get(kind, 0.0) / whole if whole > 0 else None


def _seconds(phase: Phase, *, parted: bool) -> dict[str, float]:
    """Seconds of a step's kernels, without what runs on no device."""
    found: dict[str, float] = {}
    for operator in phase.operators:
        kind = operator.key if parted and operator.key in _PARTS else _OURS.get(operator.key)
        if kind is not None:
            found[kind] = found.get(kind, 0.0) + operator.seconds
    return found
