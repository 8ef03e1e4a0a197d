"""Room for LoRA adapters, taken when the server starts."""

from functools import cache

from core.spec.architecture import Architecture, Attention, DenseMlp, LatentAttention, MixtureOfExperts

_ADDED_WORDS = 256


@cache
def lora_bytes(arch: Architecture, tensor_parallel: int, slots: int, rank: int) -> int:
    """Bytes of ``slots`` adapters on one device, 16 bit.

    Each matrix of attention and feed-forward block has A (input × rank), which every device keeps whole,
    and B (rank × output), which is cut like the outputs of the matrix; embedding and output have them as
    well, and room for 256 added words.  75 MiB a slot for Qwen3-4B at rank 16, 77 measured.
    """
    if not slots:
        return 0
    layers = sum(group.count * _widths(group, arch.hidden, tensor_parallel) for group in arch.kinds)
    tables = 2 * arch.vocabulary // tensor_parallel + 2 * arch.hidden
    return 2 * slots * (rank * (layers + tables) + 2 * _ADDED_WORDS * arch.hidden)


def _widths(group: object, hidden: int, tp: int) -> int:
    """Summed input and output widths of the adapted matrices of one layer."""
    mixer, channel = getattr(group, "token_mixer", None), getattr(group, "channel_mixer", None)
    total = 0
    if isinstance(mixer, Attention):
        queries = mixer.heads * mixer.head_dim
        keys = max(1, mixer.kv_heads // tp) * mixer.head_dim
        # One stacked A for each of q, k, v; the output projection's A is cut along its input.
        total += 3 * hidden + queries // tp + 2 * keys + queries // tp + hidden
    elif isinstance(mixer, LatentAttention):
        outputs = mixer.heads * mixer.value_head_dim // tp
        total += 2 * hidden + mixer.kv_rank + (mixer.query_rank or 0) + outputs + hidden
    match channel:
        case DenseMlp():
            inner = channel.intermediate // tp
            total += 2 * hidden + 3 * inner + hidden
        case MixtureOfExperts():
            inner = channel.intermediate // tp
            total += channel.experts * (2 * hidden + 3 * inner + hidden)
    return total
