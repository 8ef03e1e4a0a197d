"""What may be recommended, and what is best."""

from typing import Literal

from core.spec.base import Spec, declared

# any: as few bits as the engines know; careful: 8 bits a weight or more; lossless: 16 bits or more.
Quality = Literal["any", "careful", "lossless"]
Rank = Literal["price", "speed", "energy", "devices"]


class Search(Spec):
    """Limits of the search for hardware; empty lists: everything.

    Model, engine, load and targets are those of the scenario.
    """

    vendors: tuple[str, ...] = declared((), kind="choice", choices="vendors")
    devices: tuple[str, ...] = declared((), kind="choice", choices="accelerators")
    most_accelerators: int = declared(8, kind="count", step=1, ge=1, le=4096)
    most_nodes: int = declared(1, kind="count", step=1, ge=1, le=512)  # of eight devices
    budget_usd: float | None = declared(None, unit="USD", step=1000, ge=0, le=10**12)
    budget_usd_per_hour: float | None = declared(None, unit="USD/h", step=1, ge=0, le=10**9)
    weight_formats: tuple[str, ...] = declared((), kind="choice", choices="weight_formats")
    cache_formats: tuple[str, ...] = declared((), kind="choice", choices="cache_formats")
    quality: Quality = declared("any", kind="choice", choices="qualities")
    rank: Rank = declared("price", kind="choice", choices="ranks")
