"""All-reduce inside a tensor-parallel group.

    t = alpha + alpha_r (n - 2) + min((n-1) B / (one_shot link), r n + 2 (n-1)/n B / (ring link (2/n)^decay))

One-shot kernels send everything to everybody and win for small messages; rings win for large ones.
Small and middle messages follow this form, where one alpha-beta line is two to three times off.
"""

from dataclasses import dataclass

from core.latency.efficiency import LinkFit
from core.latency.machine import Link

# In place of infinity, which times no bytes at all would be no number: a step may have no tokens.
UNUSED = 1e30  # s/B


@dataclass(frozen=True, slots=True)
class AllReduce:
    """Coefficients of one all-reduce: seconds for a message of B bytes on each device."""

    start: float  # s
    direct: float  # s/B, one shot; UNUSED: not used
    ring_start: float  # s
    ring: float  # s/B


def all_reduce(fit: LinkFit, link: Link, devices: int, slower: float = 1.0) -> AllReduce:
    """The cost among ``devices``; ``slower`` multiplies all of it, never beyond the link's own rate."""
    others = devices - 1
    fraction = min(1.0, fit.ring * (2 / devices) ** fit.decay / slower)
    direct = UNUSED
    if fit.one_shot is not None:
        direct = others / (min(1.0, fit.one_shot / slower) * link.bytes_per_second)
    return AllReduce(
        start=slower * 1e-6 * (fit.alpha_us + fit.alpha_per_rank_us * (devices - 2)),
        direct=direct,
        ring_start=slower * 1e-6 * fit.ring_us_per_rank * devices,
        ring=2 * others / devices / (fraction * link.bytes_per_second),
    )


def bound(link: Link) -> AllReduce:
    """The least any algorithm takes: each device sends its message once."""
    return AllReduce(0.0, 1 / link.bytes_per_second, 0.0, 1 / link.bytes_per_second)
