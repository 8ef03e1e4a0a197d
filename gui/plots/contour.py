"""Lines of one level through a grid, as connected points."""

import numpy as np

from core.quantities import FloatArray

Line = list[tuple[float, float]]


def smoothed(mask: FloatArray, rows: bool, columns: bool) -> FloatArray:
    """A field of 0 and 1 softened along the axes that have an order, so that its edge is no staircase."""
    field = np.asarray(mask, dtype=np.float64)
    for axis, wanted in ((0, rows), (1, columns)):
        if wanted and field.shape[axis] > 8:
            for _ in range(2):
                field = _blur(field, axis)
    return field


def _blur(field: FloatArray, axis: int) -> FloatArray:
    padded = np.concatenate(
        [np.take(field, [0], axis), field, np.take(field, [field.shape[axis] - 1], axis)], axis
    )
    count = field.shape[axis]
    parts = [np.take(padded, np.arange(count) + shift, axis) for shift in (0, 1, 2)]
    return 0.25 * parts[0] + 0.5 * parts[1] + 0.25 * parts[2]


def contours(field: FloatArray, xs: FloatArray, ys: FloatArray, level: float) -> list[Line]:
    """Where a field (rows at ``ys``, columns at ``xs``) crosses a level."""
    above = field >= level
    flat = np.flatnonzero(
        ~(
            (above[:-1, :-1] == above[:-1, 1:])
            & (above[:-1, :-1] == above[1:, :-1])
            & (above[:-1, :-1] == above[1:, 1:])
        )
    )
    width = field.shape[1] - 1
    links: dict[tuple[int, int, int], list[tuple[int, int, int]]] = {}
    points: dict[tuple[int, int, int], tuple[float, float]] = {}

    def crossing(edge: tuple[int, int, int]) -> None:
        if edge in points:
            return
        row, column, upright = edge
        other = (row + 1, column) if upright else (row, column + 1)
        a, b = float(field[row, column]), float(field[other])
        share = (level - a) / (b - a) if b != a else 0.5
        x, y = float(xs[column]), float(ys[row])
        points[edge] = (x + share * (float(xs[other[1]]) - x), y + share * (float(ys[other[0]]) - y))

    for index in flat.tolist():
        row, column = divmod(index, width)
        edges = [(row, column, 0), (row, column + 1, 1), (row + 1, column, 0), (row, column, 1)]
        ends = [((row, column), (row, column + 1)), ((row, column + 1), (row + 1, column + 1))]
        ends += [((row + 1, column), (row + 1, column + 1)), ((row, column), (row + 1, column))]
        cut = [edge for edge, (a, b) in zip(edges, ends, strict=True) if above[a] != above[b]]
        for first, second in zip(cut[::2], cut[1::2], strict=False):
            crossing(first)
            crossing(second)
            links.setdefault(first, []).append(second)
            links.setdefault(second, []).append(first)
    return _chained(links, points)


def _chained(
    links: dict[tuple[int, int, int], list[tuple[int, int, int]]],
    points: dict[tuple[int, int, int], tuple[float, float]],
) -> list[Line]:
    """Pieces joined to lines, open ones from their ends."""
    lines: list[Line] = []
    left = {edge: list(others) for edge, others in links.items()}
    for start in sorted(left, key=lambda edge: len(links[edge])):
        while left[start]:
            line, here = [points[start]], start
            while left[here]:
                there = left[here].pop()
                left[there].remove(here)
                line.append(points[there])
                here = there
            lines.append(line)
    return lines


def eased(line: Line, passes: int = 4) -> Line:
    """A line without the small steps of the grid; its ends stay where they are."""
    points = np.array(line)
    for _ in range(passes if len(line) > 4 else 0):
        points[1:-1] = 0.25 * points[:-2] + 0.5 * points[1:-1] + 0.25 * points[2:]
    return [(float(x), float(y)) for x, y in points]


__all__ = ["Line", "contours", "eased", "smoothed"]
