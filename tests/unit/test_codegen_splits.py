"""Parts of shared kernel calls: what expressions say of a core's part is what the plan means."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.c_expressions import evaluated
from tilewright.codegen.kernel_calls import SplitText
from tilewright.codegen.splits import SplitOperand, split_text
from tilewright.operators.nest import clipped
from tilewright.plan import AxisRange, Index, Kernel, Loop, Operand, Split, SplitAxis

EXTENT, ELEMENTS, STRIDE = 12, 9, 40


def shared(axis: AxisRange, *, is_packed: bool, chunk: int, loop: Loop | None = None) -> SplitText:
    """A call whose operand 0 follows dimension ``n``; 48 bytes of scratch for each core behind it."""
    split = Split("n", EXTENT, chunk, 3, (SplitAxis(0, 1, axis),), (48,), "views", 96)
    rectangle = (AxisRange((), 0, 0, 1, 1), axis)
    kernel = Kernel("k", "symbol", (Operand("x", rectangle),), (), ("scratch",), ((1, 0),), (), split=split)
    return split_text("k_part", kernel, [SplitOperand((360, STRIDE), (1, 0), is_packed)], "context->l1 + 8", loop)


def names_of(text: SplitText, members: dict[str, int]) -> dict[str, int]:
    """Values, for a part with these members, of the names that the C declares."""
    split = (line.removeprefix("const int32_t ").rstrip(";").split(" = part->") for line in text.bounds)
    return {name: members[member] for name, member in split}


@given(
    stride=st.sampled_from([-2, -1, 1, 2, 3]),
    first=st.integers(-3, 3),
    reach=st.integers(0, 3),
    divisor=st.sampled_from([1, 2, 4]),
    chunk=st.integers(1, 5),
    call=st.sampled_from([(0, 12), (4, 12), (8, 11)]),
)
@settings(max_examples=300, deadline=None)
def test_parts_are_what_the_plan_means(
    stride: int, first: int, reach: int, divisor: int, chunk: int, call: tuple[int, int]
) -> None:
    offset = first - min(stride, 0) * (EXTENT - 1)
    axis = AxisRange((("n", stride),), offset, offset + reach, divisor, ELEMENTS)
    shaped = shared(axis, is_packed=False, chunk=chunk)
    packed = shared(axis, is_packed=True, chunk=chunk)
    ((operand, view_axis, low, high),) = shaped.cuts
    ((moved, distance),) = packed.moves
    assert (operand, view_axis, moved) == (0, 0, 0)
    start, _ = clipped(axis, {"n": call})
    for lower in range(*call, chunk):
        upper = min(lower + chunk, call[1])
        members = {"lower": lower, "upper": upper, "call_lower": call[0], "call_upper": call[1]}
        want = clipped(axis, {"n": (lower, upper)})
        names = names_of(shaped, members)
        assert (evaluated(low, names), evaluated(high, names)) == want
        assert evaluated(distance, names_of(packed, members)) == (want[0] - start) * STRIDE


def test_only_bounds_that_are_used_are_declared() -> None:
    axis = AxisRange((("n", 1),), 0, 0, 4, 3)
    assert shared(axis, is_packed=False, chunk=4).bounds == (
        "const int32_t n_lower = part->lower;",
        "const int32_t n_upper = part->upper;",
    )
    text = shared(axis, is_packed=True, chunk=4)
    assert text.moves == ((0, "((tilewright_floor(n_lower, 4)) - (tilewright_floor(call_lower, 4))) * 40"),)
    assert text.bounds == (
        "const int32_t n_lower = part->lower;",
        "const int32_t call_lower = part->call_lower;",
    )


@pytest.mark.parametrize("cut", [False, True])
def test_a_call_gets_the_bounds_of_its_tile(*, cut: bool) -> None:
    loop = Loop((Index("n" if cut else "m", EXTENT, 4),), ())
    text = shared(AxisRange((("n", 1),), 0, 0, 1, EXTENT), is_packed=False, chunk=2, loop=loop)
    assert (text.lower, text.upper) == (("n_lower", "n_upper") if cut else ("0", "12"))
    assert bool(text.lines) == cut
    assert (text.scratch, text.operands, text.views_bytes) == (((1, 48),), 2, 96)
