"""A profiler's kernels beside the operators of the prediction: shares of the time, by kind of operator.

A trace tells neither how many steps it holds nor of which phase each kernel is, so shares are compared:
those of all kernels with those of a step that decodes and of one that reads a prompt.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from core.evidence.run import Operator
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
KINDS = (*(kind for kind, _ in _KINDS), OTHER)


@dataclass(frozen=True, slots=True)
class OperatorRow:
    """One kind: seconds and calls in the trace, and its share there and in either predicted step."""

    kind: str  # text key below "operator_kinds."
    seconds: float
    calls: int
    measured: float  # share of all kernels
    decode: float | None  # share of the kernels of a step that decodes; None: no prediction
    prefill: float | None


def kind_of(kernel: str) -> str:
    """The kind of a kernel by its name."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(kernel)), OTHER)


def operator_rows(operators: Iterable[Operator], point: Estimate | None) -> tuple[OperatorRow, ...]:
    """Kinds in the trace or in the prediction, those with the largest share first."""
    spent: dict[str, list[float]] = {}
    for operator in operators:
        sums = spent.setdefault(kind_of(operator.name), [0.0, 0.0])
        sums[0] += max(0.0, operator.seconds)
        sums[1] += operator.calls
    total = sum(seconds for seconds, _ in spent.values())
    if total <= 0:
        return ()
    speed = None if point is None else point.speed
    decode = {} if speed is None else _shares(speed.decode)
    prefill = {} if speed is None else _shares(speed.prefill)
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
                decode.get(kind, 0.0) if decode else None,
                prefill.get(kind, 0.0) if prefill else None,
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.measured))


def _shares(phase: Phase) -> dict[str, float]:
    """Shares of a step's kernels, without what runs on no device."""
    found: dict[str, float] = {}
    for operator in phase.operators:
        kind = _OURS.get(operator.key)
        if kind is not None:
            found[kind] = found.get(kind, 0.0) + operator.seconds
    whole = sum(found.values())
    return {kind: seconds / whole for kind, seconds in found.items()} if whole > 0 else {}
