"""Where ggml's graph allocator lays the results of a graph, and how much that takes.

The rules of ggml-alloc.c: results are placed in the order of execution into the smallest gap that
holds them, else at the end; an operation that may work in place takes over its input where nobody
else needs that; what nobody needs any more is given back.  The peak includes what the gaps waste.
"""

from bisect import bisect_left
from dataclasses import dataclass, field

ALIGNMENT = 128  # bytes, of CUDA buffers
_ENDLESS = 1 << 62


@dataclass(slots=True, eq=False)
class Tensor:
    """A result of a graph.  ``shape`` tells which inputs have the same layout.

    ``view_of``: lies inside another one and takes no memory; ``kept``: is never given back.
    """

    bytes: int
    shape: tuple[object, ...] = ()
    sources: tuple["Tensor", ...] = ()
    view_of: "Tensor | None" = None
    in_place: bool = False
    kept: bool = False
    readers: int = 0
    views: int = 0
    place: int = -1  # -1: not placed yet
    held: bool = False  # owns its memory at the moment


@dataclass(slots=True)
class _Heap:
    gaps: list[list[int]] = field(default_factory=lambda: [[0, _ENDLESS]])  # start and size, by start
    peak: int = 0

    def take(self, size: int) -> int:
        gaps = self.gaps
        best, least = len(gaps) - 1, _ENDLESS
        for index in range(best):
            room = gaps[index][1]
            if size <= room <= least:
                best, least = index, room
        gap = gaps[best]
        start = gap[0]
        gap[0] += size
        gap[1] -= size
        if not gap[1]:
            gaps.pop(best)
        self.peak = max(self.peak, start + size)
        return start

    def give(self, start: int, size: int) -> None:
        gaps = self.gaps
        at = bisect_left(gaps, [start])
        before, after = gaps[at - 1] if at else None, gaps[at]
        end = start + size
        if before is not None and before[0] + before[1] == start:
            before[1] += size
            if end == after[0]:
                before[1] += gaps.pop(at)[1]
        elif end == after[0]:
            after[0] = start
            after[1] += size
        else:
            gaps.insert(at, [start, size])


def peak_bytes(nodes: list[Tensor], inputs: list[Tensor], reuse_views: bool = False) -> int:
    """Bytes of the buffer that holds ``nodes``, in the order of execution, and ``inputs`` before them.

    ``reuse_views``: the first allocator also took over what an input is a view of.
    """
    heap = _Heap()
    for tensor in inputs:
        _place(tensor, heap, reuse_views)
    for node in nodes:
        if node.view_of is not None:
            node.view_of.views += 1
        for source in node.sources:
            source.readers += 1
    for node in nodes:
        for source in node.sources:
            if source.place < 0:
                _place(source, heap, reuse_views)
        _place(node, heap, reuse_views)
        for source in node.sources:
            source.readers -= 1
            if not source.readers and not source.views:
                _release(source, heap)
    return heap.peak


def _size(tensor: Tensor) -> int:
    return -(-tensor.bytes // ALIGNMENT) * ALIGNMENT


def _place(tensor: Tensor, heap: _Heap, reuse_views: bool) -> None:
    if tensor.place >= 0 or tensor.view_of is not None:
        return
    if tensor.in_place:
        for source in tensor.sources:
            owner = _owner(source, tensor, reuse_views)
            if owner is not None:
                owner.held, tensor.held, tensor.place = False, True, owner.place
                return
    if tensor.bytes:
        tensor.place, tensor.held = heap.take(_size(tensor)), True


def _owner(source: Tensor, tensor: Tensor, reuse_views: bool) -> Tensor | None:
    """Whose memory ``tensor`` may take over from an input that only it reads; None: nobody's."""
    if source.readers != 1 or source.views or source.shape != tensor.shape:
        return None
    whole = source.view_of
    if whole is None:
        return source if source.held and not source.kept else None
    alone = whole.views == 1 and not whole.readers and whole.bytes == source.bytes
    return whole if reuse_views and whole.held and not whole.kept and alone else None


def _release(tensor: Tensor, heap: _Heap) -> None:
    owner = tensor
    if tensor.view_of is not None:
        owner = tensor.view_of
        owner.views -= 1
        if owner.views or owner.readers:
            return
    if owner.held and not owner.kept:
        owner.held = False
        heap.give(owner.place, _size(owner))
