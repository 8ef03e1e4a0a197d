"""The combinations of a search by device and count: there are thousands, each is made when it is needed."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from core.pauses import pause
from core.planning.cost import FALLBACK_TDP_W
from core.planning.search_space import Combination, Part
from core.spec.accelerator import Accelerator
from core.spec.engine import SERVERS
from core.spec.scenario import Scenario
from core.spec.search import Rank


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One device and count, with the layouts and pairs of formats that no rule rules out."""

    device: Accelerator
    count: int
    price: float | None  # US dollars, all devices
    parts: tuple[Part, ...]
    index: int  # of the device among those of the parts

    def combinations(self) -> list[Combination]:
        """One of each part."""
        return [part.at(self.index) for part in self.parts]

    def only(self, wanted: Callable[[Part], bool]) -> "Group":
        """With some of the parts."""
        return replace(self, parts=tuple(filter(wanted, self.parts)))

    def has_room(self, wanted: float, part: Part) -> bool:
        """Whether the engine runs so many requests at once, whatever the memory holds."""
        return bool(part.rooms[self.index] >= wanted)


@dataclass(frozen=True, slots=True)
class Short:
    """A group in which the engine runs fewer requests at once than are asked for."""

    nearest: Combination
    others: int  # combinations beside it


def grouped(parts: Sequence[Part], rank: Rank) -> list[Group]:
    """All devices and counts of the parts on which any is allowed, the most promising first."""
    by_count: dict[int, list[Part]] = {}
    for part in parts:
        by_count.setdefault(part.place.accelerators, []).append(part)
    groups = [group for same in by_count.values() for group in _of_a_count(same)]
    return sorted(groups, key=_order(rank))


def _of_a_count(parts: list[Part]) -> Iterator[Group]:
    allowed, one = np.array([part.allowed for part in parts]), parts[0]
    for i in np.flatnonzero(allowed.any(axis=0)).tolist():
        pause()
        mine = tuple(parts[j] for j in np.flatnonzero(allowed[:, i]).tolist())
        yield Group(one.field.devices[i], one.place.accelerators, one.price_at(i), mine, i)


def by_room(
    base: Scenario, groups: list[Group], ruled_out: Callable[[int, Combination], None]
) -> tuple[list[Group], list[Short]]:
    """Groups with what runs as many requests at once as are asked for, and the others.

    ``ruled_out`` is told of what runs too few beside others that run enough: how many, and the nearest.
    """
    wanted, able, short = float(base.targets.users or 0), list[Group](), list[Short]()
    if wanted <= 0 or base.engine.name in (*SERVERS, "textbook"):
        return groups, short
    for group in groups:
        pause()
        rooms = [float(part.rooms[group.index]) for part in group.parts]
        few = [pair for pair in zip(rooms, group.parts, strict=True) if pair[0] < wanted]
        if few:
            most = max(room for room, _ in few)
            nearest = max(
                (part.at(group.index) for room, part in few if room == most), key=lambda one: one.guess
            )
            nearest = replace(nearest, reason="users", value=most, limit=wanted)
            if len(few) == len(rooms):
                short.append(Short(nearest, len(few) - 1))
                continue
            ruled_out(len(few), nearest)
        able.append(group.only(partial(group.has_room, wanted)) if few else group)
    return able, short


def _order(rank: Rank) -> Callable[[Group], tuple[Any, ...]]:
    """Groups in the order in which they are worth estimating."""

    def key(group: Group) -> tuple[Any, ...]:
        device, count = group.device, group.count
        price = math.inf if group.price is None else group.price
        lead: tuple[float, ...] = (price,)
        if rank == "speed":
            lead = (-device.memory_bandwidth_gbps * count, price)
        elif rank == "energy":
            lead = ((device.tdp_w or FALLBACK_TDP_W) / device.memory_bandwidth_gbps, price)
        elif rank == "devices":
            lead = (count, price)
        return (*lead, device.name, count)

    return key
