"""The words of the field, explained in a sentence or two each; derivations and tooltips link here."""

from dataclasses import dataclass

from core.words import Phrase, Words


@dataclass(frozen=True, slots=True)
class Entry:
    """One word.  ``see``: keys of related words."""

    key: str
    see: tuple[str, ...] = ()

    @property
    def name(self) -> Phrase:
        """The word."""
        return Phrase(f"glossary.{self.key}.name")

    @property
    def text(self) -> Phrase:
        """What it means."""
        return Phrase(f"glossary.{self.key}.text")


_ENTRIES: tuple[tuple[str, str], ...] = (
    ("prefill", "decode ttft chunked_prefill"),
    ("decode", "prefill tpot memory_bandwidth"),
    ("ttft", "prefill queueing"),
    ("tpot", "decode itl"),
    ("itl", "tpot prefill_interference"),
    ("latency", "ttft tpot"),
    ("throughput", "batching littles_law"),
    ("goodput", "throughput"),
    ("littles_law", "throughput concurrency"),
    ("concurrency", "kv_cache queueing"),
    ("queueing", "concurrency ttft"),
    ("batching", "continuous_batching"),
    ("continuous_batching", "batching static_batching"),
    ("static_batching", "continuous_batching"),
    ("chunked_prefill", "prefill prefill_interference"),
    ("prefill_interference", "chunked_prefill itl"),
    ("step", "decode prefill"),
    ("token", "context"),
    ("context", "token max_model_len kv_cache"),
    ("max_model_len", "context"),
    ("memory_ledger", "weights kv_cache activations cuda_graphs runtime_memory"),
    ("weights", "quantisation"),
    ("kv_cache", "paged_attention gqa mla prefix_cache"),
    ("paged_attention", "kv_cache"),
    ("slot", "kv_cache context"),
    ("prefix_cache", "kv_cache"),
    ("preemption", "kv_cache queueing"),
    ("activations", "memory_ledger"),
    ("cuda_graphs", "kernel_launch"),
    ("kernel_launch", "cuda_graphs"),
    ("runtime_memory", "memory_ledger"),
    ("gpu_memory_utilization", "memory_ledger"),
    ("gib", ""),
    ("mha", "gqa mla"),
    ("gqa", "mha kv_cache"),
    ("mla", "gqa kv_cache"),
    ("sliding_window", "kv_cache"),
    ("recurrent", "kv_cache"),
    ("moe", "expert_parallel"),
    ("quantisation", "weights fp8 int4 native_format"),
    ("fp8", "quantisation"),
    ("int4", "quantisation"),
    ("native_format", "quantisation"),
    ("flop", "roofline"),
    ("memory_bandwidth", "roofline"),
    ("roofline", "memory_bandwidth flop"),
    ("efficiency", "roofline"),
    ("tensor_parallel", "pipeline_parallel all_reduce replica"),
    ("pipeline_parallel", "tensor_parallel"),
    ("expert_parallel", "moe tensor_parallel dp_attention"),
    ("dp_attention", "mla expert_parallel replica"),
    ("replica", "tensor_parallel"),
    ("all_reduce", "tensor_parallel"),
    ("speculative_decoding", "decode"),
    ("offload", "memory_bandwidth"),
    ("closed_loop", "open_loop"),
    ("open_loop", "closed_loop littles_law"),
    ("percentile", "latency"),
)
ENTRIES: dict[str, Entry] = {key: Entry(key, tuple(see.split())) for key, see in _ENTRIES}


def entry(key: str) -> Entry | None:
    """The entry of a key."""
    return ENTRIES.get(key)


def alphabetical(words: Words) -> tuple[Entry, ...]:
    """All entries by their names in a language."""
    return tuple(sorted(ENTRIES.values(), key=lambda e: words.phrase(e.name).casefold()))
