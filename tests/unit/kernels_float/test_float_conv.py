"""Float convolution in C against the reference, whole and in tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.float_kernels import Kernels, Ring
from support.float_nodes import Case, assert_tiling_changes_nothing, same_bits, terms
from support.single_node import random_array
from support.tolerance import assert_sums_close
from tilewright.graph import Clamp, Requantize
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.scalar import conv_float
from tilewright.kernels.scalar.conv_float import ConvF32


def conv(
    x: tuple[int, ...],
    w: tuple[int, ...],
    strides: tuple[int, ...] = (1, 1),
    dilations: tuple[int, ...] = (1, 1),
    pads: tuple[int, ...] = (0, 0, 0, 0),
    group: int = 1,
    bias: bool = True,
    channels_last: bool = True,
    clamp: Clamp | None = None,
) -> Case:
    spatial = len(w) - 2
    outputs = tuple(
        (x[2 + i] + pads[i] + pads[spatial + i] - dilations[i] * (w[2 + i] - 1) - 1) // strides[i] + 1
        for i in range(spatial)
    )
    return Case(
        "Conv",
        (random_array(1, x), random_array(2, w), random_array(3, w[:1]) if bias else None),
        {"strides": strides[:spatial], "dilations": dilations[:spatial], "pads": pads, "group": group},
        (x[0], w[0], *outputs),
        epilogue=clamp,
        constants=(1, 2),
        channels_last=channels_last,
    )


def preferred(case: Case) -> KernelChoice:
    graph = case.graph()
    return conv_float.choices(graph.nodes[0], graph)[0]


def alternatives(case: Case) -> tuple[KernelChoice, ...]:
    graph = case.graph()
    return conv_float.choices(graph.nodes[0], graph)


CASES = {
    "3x3": conv((1, 5, 9, 7), (6, 5, 3, 3), pads=(1, 1, 1, 1)),
    "channels first": conv((1, 5, 9, 7), (6, 5, 3, 3), pads=(1, 1, 1, 1), channels_last=False),
    "pointwise": conv((2, 8, 5, 5), (12, 8, 1, 1), clamp=Clamp(0.0, 6.0)),
    "pointwise strided": conv((1, 3, 7, 6), (5, 3, 1, 1), strides=(2, 3)),
    "pointwise padded": conv((1, 3, 4, 4), (5, 3, 1, 1), pads=(1, 0, 2, 1)),
    "first layer": conv((1, 1, 12, 10), (8, 1, 5, 3), strides=(2, 2), pads=(2, 1, 1, 0), bias=False),
    "dilated": conv((1, 2, 11, 12), (3, 2, 3, 3), dilations=(2, 3), pads=(0, 2, 3, 4)),
    "grouped": conv((2, 6, 6, 5), (9, 2, 3, 2), group=3, pads=(1, 0, 0, 1)),
    "grouped wide": conv((1, 4, 4, 4), (12, 2, 2, 2), group=2),
    "1-D": conv((1, 4, 17), (5, 4, 3), strides=(2,), dilations=(2,), pads=(4, 0)),
    "kernel over everything": conv((1, 3, 4, 5), (7, 3, 4, 5)),
    "only padding": conv((1, 1, 1, 1), (2, 1, 3, 3), pads=(4, 4, 4, 4)),
    "depthwise": conv((1, 8, 9, 12), (8, 1, 3, 3), group=8, pads=(1, 1, 1, 1), clamp=Clamp(0.0, np.inf)),
    "depthwise odd channels": conv((2, 7, 5, 6), (7, 1, 3, 2), group=7, strides=(2, 1), pads=(1, 0, 2, 1)),
    "depthwise channels first": conv((1, 8, 6, 9), (8, 1, 3, 3), group=8, dilations=(1, 2), channels_last=False),
    "depthwise no pads": conv((2, 3, 7, 6), (3, 1, 3, 3), group=3),
    "depthwise of one inside": conv((1, 4, 3, 3), (4, 1, 3, 3), group=4, pads=(1, 1, 1, 1)),
    "depthwise one pad": conv((1, 5, 6, 8), (5, 1, 3, 3), group=5, pads=(0, 1, 0, 0)),
    "depthwise other pad": conv((1, 5, 6, 8), (5, 1, 3, 3), group=5, pads=(2, 0, 1, 1)),
    "depthwise wide pads": conv((1, 4, 5, 5), (4, 1, 3, 3), group=4, pads=(2, 2, 2, 2)),
    "depthwise tall steps": conv(
        (1, 6, 11, 7), (6, 1, 3, 3), group=6, strides=(2, 1), dilations=(2, 1), pads=(2, 1, 1, 1)
    ),
    "depthwise planes": conv((1, 6, 6, 9), (6, 1, 3, 3), group=6, pads=(1, 1, 1, 1), channels_last=False),
    "depthwise 1-D": conv((1, 4, 15), (4, 1, 5), group=4, dilations=(2,), pads=(8, 0)),
    "depthwise multiplier": conv((1, 4, 6, 6), (8, 1, 3, 3), group=4, pads=(1, 1, 1, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference_however_it_is_cut(kernels: Kernels, name: str) -> None:
    case = CASES[name]
    untiled = [assert_tiling_changes_nothing(kernels, case, choice) for choice in alternatives(case)]
    assert_sums_close(untiled[0], case.expected(), terms(alternatives(case)[0]))
    for other in untiled[1:]:
        assert same_bits(other, untiled[0])


@pytest.mark.parametrize("name", ["3x3", "channels first", "pointwise", "dilated"])
@pytest.mark.parametrize("step", [1, 4])
def test_input_channels_may_be_cut(kernels: Kernels, name: str, step: int) -> None:
    case = CASES[name]
    choice = next(choice for choice in alternatives(case) if choice.partial_bytes is not None)
    steps = {"ic": step, "oh": 4, "oc": 4}
    assert_sums_close(case.result(kernels, choice, steps), case.expected(), terms(choice))
    in_place = case.result(kernels, choice, steps, in_place=True)
    assert same_bits(in_place, case.result(kernels, choice, steps))


def test_sums_stay_whole_where_they_fit() -> None:
    assert [choice.partial_bytes is not None for choice in alternatives(CASES["3x3"])] == [False, False, True, True]
    assert [choice.partial_bytes is not None for choice in alternatives(CASES["pointwise"])] == [True]
    assert not any(choice.partial_bytes for choice in alternatives(CASES["grouped"]))


@pytest.mark.parametrize("name", ["3x3", "channels first", "pointwise"])
def test_positions_left_over_from_a_block_cost_more(name: str) -> None:
    choice = preferred(CASES[name])
    four, five = (choice.kernel.cycles(choice, {"n": 1, "oh": 1, "ow": columns}) for columns in (4, 5))
    assert five - four > four / 4 * 1.1


def test_partial_results_that_are_lost_are_noticed(kernels: Kernels) -> None:
    case = CASES["pointwise"]
    choice = preferred(case)
    assert choice.partial_bytes is not None
    bytes_needed = choice.partial_bytes
    short = replace(choice, partial_bytes=lambda steps: bytes_needed(steps) - 4)
    with pytest.raises(AssertionError, match="AddressSanitizer"):
        case.result(kernels, short, {"ic": 4})


@pytest.mark.parametrize(
    "name",
    ["3x3", "pointwise", "first layer", "depthwise", "depthwise tall steps", "dilated", "depthwise odd channels"],
)
@pytest.mark.parametrize("axis", [2, 3])
def test_rows_may_live_in_rings(kernels: Kernels, name: str, axis: int) -> None:
    case = CASES[name]
    for choice in alternatives(case)[:2]:
        rings_change_nothing(kernels, case, choice, axis)


def rings_change_nothing(kernels: Kernels, case: Case, choice: KernelChoice, axis: int) -> None:
    x, y = case.graph().tensor("i0").shape[axis], case.shape[axis]
    steps = {"oh" if axis == 2 else "ow": 2}
    rings = (Ring(0, axis, x - 1 if case is not CASES["dilated"] else x), Ring(len(choice.reads), axis, min(3, y)))
    assert same_bits(case.result(kernels, choice, steps, rings=rings), case.result(kernels, choice))


def test_uses_the_depthwise_kernel_only_for_one_channel_per_group() -> None:
    assert preferred(CASES["depthwise"]).symbol == "tilewright_depthwise_f32"
    assert preferred(CASES["depthwise multiplier"]).symbol == "tilewright_conv_rows_f32"


def test_gathers_taps_where_channels_do_not_lie_side_by_side() -> None:
    def names(case: str) -> list[str]:
        return [choice.symbol.removeprefix("tilewright_") for choice in alternatives(CASES[case])]

    assert {case: names(case) for case in ("3x3", "first layer", "channels first")} == {
        "3x3": ["conv_rows_f32", "conv_f32", "conv_rows_f32", "conv_f32_taps"],
        "first layer": ["conv_rows_f32", "conv_f32", "conv_rows_f32", "conv_f32_taps"],
        "channels first": ["conv_f32", "conv_f32", "conv_f32", "conv_f32_taps"],
    }


def test_needs_no_scratch_for_a_plain_pointwise_convolution() -> None:
    assert preferred(CASES["pointwise"]).scratch_bytes({}) == 0
    rows, gathers, *_ = alternatives(CASES["3x3"])
    assert rows.scratch_bytes({}) == 20 * 3 * 3 + 4 * 5
    assert gathers.scratch_bytes({}) == 16 * 3 * 3 * 5


def test_declines_what_it_cannot_do() -> None:
    case = CASES["3x3"]
    variable = Case(case.operator, case.arrays, case.attributes, case.shape)
    requantized = Case(
        case.operator,
        case.arrays,
        case.attributes,
        case.shape,
        epilogue=Requantize((1.0,), 0, -128, 127),
        constants=(1, 2),
    )
    for other in (variable, requantized):
        graph = other.graph()
        assert conv_float.choices(graph.nodes[0], graph) == ()


def test_a_wrong_weight_is_noticed(kernels: Kernels) -> None:
    case = CASES["3x3"]
    result = case.result(kernels, preferred(case))
    wrong = case.arrays[1].copy()  # type: ignore[union-attr]
    wrong[0, 0, 1, 1] += 0.01
    expected = Case(case.operator, (case.arrays[0], wrong, case.arrays[2]), case.attributes, case.shape).expected()
    with pytest.raises(AssertionError):
        assert_sums_close(result, expected, terms(preferred(case)))


def test_the_sanitizer_sees_a_tile_that_is_too_small(kernels: Kernels) -> None:
    case = CASES["3x3"]
    choice = preferred(case)
    given = choice.given(ConvF32)
    larger = replace(given, windows=replace(given.windows, kernel=(5, 3)), group_inputs=50)
    scratch = replace(choice.kernel, scratch=lambda _, steps: choice.kernel.scratch(choice, steps))
    broken = replace(choice, kernel=scratch, attributes=larger)
    with pytest.raises(AssertionError, match="AddressSanitizer"):
        case.result(kernels, broken)
