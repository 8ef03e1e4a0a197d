"""The placing of results as ggml-alloc.c does it, worked out by hand."""

from hypothesis import given
from hypothesis import strategies as st

from core.memory.ggml_heap import ALIGNMENT, Tensor, peak_bytes

A = ALIGNMENT


def test_results_that_nobody_needs_give_their_place_back() -> None:
    """In a → b → c, while c is made only b is needed, so c takes the place of a."""
    a = Tensor(A)
    b = Tensor(A, sources=(a,))
    c = Tensor(A, sources=(b,))
    assert peak_bytes([a, b, c], []) == 2 * A


def test_an_operation_in_place_takes_over_an_input_that_only_it_reads() -> None:
    a = Tensor(A, shape=(1,))
    b = Tensor(A, shape=(1,), sources=(a,), in_place=True)
    assert peak_bytes([a, b], []) == A
    a = Tensor(A, shape=(1,))
    b = Tensor(A, shape=(1,), sources=(a,), in_place=True)
    c = Tensor(A, sources=(a, b))  # a is read once more
    assert peak_bytes([a, b, c], []) == 3 * A
    a = Tensor(A, shape=(1,))
    b = Tensor(A, shape=(2,), sources=(a,), in_place=True)  # another layout
    assert peak_bytes([a, b], []) == 2 * A


def test_a_view_keeps_its_owner_and_was_reused_by_the_first_allocator_only() -> None:
    def graph() -> list[Tensor]:
        a = Tensor(A, shape=(1,))
        view = Tensor(A, (2,), (a,), view_of=a)
        return [a, view, Tensor(A, (2,), (view,), in_place=True)]

    assert peak_bytes(graph(), []) == 2 * A
    assert peak_bytes(graph(), [], reuse_views=True) == A


def test_the_smallest_gap_that_fits_is_taken_and_what_the_gaps_waste_counts() -> None:
    large, kept, small = Tensor(4 * A), Tensor(A), Tensor(2 * A)
    end = Tensor(A, sources=(kept,))
    # large and small are given back around what is kept; 2 A fit into the smaller gap, 5 A into none.
    use = [Tensor(A, sources=(large,)), Tensor(A, sources=(small,))]
    fits, too_large = Tensor(2 * A), Tensor(5 * A)
    last = Tensor(A, sources=(fits, too_large, kept))
    found = peak_bytes([large, kept, small, *use, fits, too_large, end, last], [])
    assert found > 4 * A + A + 2 * A + 2 * A


def test_inputs_of_batches_in_flight_are_never_given_back() -> None:
    copies = [Tensor(A, kept=True) for _ in range(4)]
    a = Tensor(A, sources=(copies[0],))
    b = Tensor(A, sources=(a,))
    assert peak_bytes([a, b], copies) == 6 * A


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30))
def test_a_chain_needs_its_two_largest_neighbours_at_least_and_all_of_it_at_most(sizes: list[int]) -> None:
    nodes: list[Tensor] = []
    for size in sizes:
        nodes.append(Tensor(size, sources=tuple(nodes[-1:])))
    rounded = [-(-size // A) * A for size in sizes]
    least = max(a + b for a, b in zip(rounded, [0, *rounded], strict=False))
    assert least <= peak_bytes(nodes, []) <= sum(rounded)
