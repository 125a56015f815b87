"""Float transposed convolution in C against the reference, whole and in tiles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.float_kernels import Kernels, Ring
from support.float_nodes import Case, assert_tiling_changes_nothing, same_bits, terms
from support.single_node import random_array
from support.tolerance import assert_sums_close
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, packed_array
from tilewright.kernels.scalar import conv_transpose_float
from tilewright.kernels.scalar.conv_transpose_float import ConvTransposeRowsF32


def transposed(
    x: tuple[int, ...],
    w: tuple[int, ...],
    strides: tuple[int, ...] = (1, 1),
    dilations: tuple[int, ...] = (1, 1),
    pads: tuple[int, ...] = (0, 0, 0, 0),
    more: int = 0,
    bias: bool = True,
    group: int = 1,
    channels_last: bool = True,
) -> Case:
    """``more``: output_padding on each axis."""
    spatial = len(w) - 2
    outputs = tuple(
        strides[i] * (x[2 + i] - 1) + more + dilations[i] * (w[2 + i] - 1) + 1 - pads[i] - pads[spatial + i]
        for i in range(spatial)
    )
    return Case(
        "ConvTranspose",
        (random_array(1, x), random_array(2, w), random_array(3, (w[1] * group,)) if bias else None),
        {
            "kernel": w[2:],
            "strides": strides[:spatial],
            "dilations": dilations[:spatial],
            "pads": pads[: 2 * spatial],
            "group": group,
        },
        (x[0], w[1] * group, *outputs),
        constants=(1, 2),
        channels_last=channels_last,
    )


CASES = {
    "2x2, stride 2": transposed((1, 5, 4, 6), (5, 6, 2, 2), strides=(2, 2)),
    "3x3, padded": transposed((1, 4, 5, 7), (4, 9, 3, 3), strides=(2, 2), pads=(1, 1, 1, 1), more=1),
    "stride 1": transposed((2, 3, 6, 5), (3, 4, 3, 2), pads=(1, 0, 1, 1)),
    "kernel below stride": transposed((1, 3, 4, 4), (3, 5, 1, 2), strides=(2, 3), bias=False),
    "dilated": transposed((1, 2, 5, 6), (2, 3, 3, 3), strides=(3, 2), dilations=(2, 3), pads=(2, 1, 0, 3)),
    "1-D": transposed((1, 4, 11), (4, 5, 4), strides=(2,), pads=(1, 1)),
}


def preferred(case: Case) -> KernelChoice:
    graph = case.graph()
    (choice,) = conv_transpose_float.choices(graph.nodes[0], graph)
    return choice


@pytest.mark.parametrize("name", CASES)
def test_equals_the_reference_however_it_is_cut(kernels: Kernels, name: str) -> None:
    case = CASES[name]
    whole = assert_tiling_changes_nothing(kernels, case, preferred(case))
    assert_sums_close(whole, case.expected(), terms(preferred(case)))


@pytest.mark.parametrize("name", ["2x2, stride 2", "3x3, padded", "dilated"])
@pytest.mark.parametrize("axis", [2, 3])
def test_rows_may_live_in_rings(kernels: Kernels, name: str, axis: int) -> None:
    case = CASES[name]
    choice = preferred(case)
    x, y = case.graph().tensor("i0").shape[axis], case.shape[axis]
    steps = {"oh" if axis == 2 else "ow": 2}
    rings = (Ring(0, axis, x), Ring(len(choice.reads), axis, min(3, y)))
    assert same_bits(case.result(kernels, choice, steps, rings=rings), case.result(kernels, choice))


def test_leaves_other_layouts_and_groups_to_the_general_kernel() -> None:
    planes = transposed((1, 4, 4, 6), (4, 6, 2, 2), strides=(2, 2), channels_last=False)
    groups = transposed((1, 4, 4, 6), (4, 3, 2, 2), strides=(2, 2), group=2)
    for case in (planes, groups):
        graph = case.graph()
        assert conv_transpose_float.choices(graph.nodes[0], graph) == ()


def test_a_wrong_tap_is_noticed(kernels: Kernels) -> None:
    case = CASES["3x3, padded"]
    choice = preferred(case)
    given = choice.given(ConvTransposeRowsF32)
    shifted = replace(choice, attributes=replace(given, windows=replace(given.windows, pads=(1, 0))))
    result = case.result(kernels, shifted)
    with pytest.raises(AssertionError):
        assert_sums_close(result, case.expected(), terms(choice))


def test_the_sanitizer_sees_a_table_that_is_too_small(kernels: Kernels) -> None:
    case = CASES["2x2, stride 2"]
    choice = preferred(case)
    small = replace(choice.kernel, scratch=lambda _, steps: {"runs": choice.scratch_bytes(steps) - 4})
    with pytest.raises(AssertionError, match="AddressSanitizer"):
        case.result(kernels, replace(choice, kernel=small))


def test_weights_are_packed_by_tap() -> None:
    case = CASES["2x2, stride 2"]
    weights = preferred(case).reads[1]
    assert isinstance(weights, ConstantOperand)
    packed = packed_array(weights.data, {})
    assert packed.shape == (1, 2, 4, 5, 4)
    written = case.arrays[1]
    assert written is not None
    np.testing.assert_array_equal(packed[0, 1, 3, :, 1], written[:, 5, 1, 1])
