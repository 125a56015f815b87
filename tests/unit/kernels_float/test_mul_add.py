"""MulAdd: the kernel against the reference, whole and in tiles; products and sums become one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from support.float_kernels import Kernels, build
from support.float_nodes import Case, assert_tiling_changes_nothing
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, operators
from support.single_node import random_array
from tilewright.graph import Array, Clamp
from tilewright.kernels.scalar import mul_add

X = random_array(1, (2, 6, 3, 5))
OPERANDS = {
    "channels": ((1, 6, 1, 1), (6, 1, 1)),
    "last axis": ((5,), (1, 1, 1, 5)),
    "numbers": ((), (1,)),
    "tensors": (X.shape, X.shape),
    "uneven": ((), X.shape),
}
BOUNDS = (None, Clamp(0.0, float("inf")), Clamp(-0.1, 0.75))


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    return build(tmp_path_factory.mktemp("mul_add"), ["mul_add_f32.c", "walk.c"])


def case(operands: str, epilogue: Clamp | None = None, *, channels_last: bool = False) -> Case:
    factor, summand = (random_array(2 + number, shape) for number, shape in enumerate(OPERANDS[operands]))
    return Case("MulAdd", (X, factor, summand), {}, X.shape, epilogue=epilogue, channels_last=channels_last)


def result(kernels: Kernels, case: Case) -> Array:
    graph = case.graph()
    (choice,) = mul_add.choices(graph.nodes[0], graph)
    return assert_tiling_changes_nothing(kernels, case, choice)


@pytest.mark.parametrize("operands", ["channels", "tensors", "numbers"])
@pytest.mark.parametrize("epilogue", BOUNDS)
@pytest.mark.parametrize("channels_last", [False, True])
def test_the_kernel(kernels: Kernels, operands: str, epilogue: Clamp | None, channels_last: bool) -> None:
    given = case(operands, epilogue, channels_last=channels_last and operands != "channels")
    np.testing.assert_allclose(result(kernels, given), given.expected(), rtol=1e-5, atol=2e-7)


@pytest.mark.parametrize("operands", ["last axis", "uneven"])
def test_operands_that_broadcast_along_other_axes(kernels: Kernels, operands: str) -> None:
    given = case(operands)
    np.testing.assert_allclose(result(kernels, given), given.expected(), rtol=1e-5, atol=2e-7)


def test_another_summand_is_noticed(kernels: Kernels) -> None:
    given = case("channels")
    x, factor, summand = given.arrays
    assert summand is not None
    other = Case("MulAdd", (x, factor, summand[::-1].copy()), {}, X.shape)
    with pytest.raises(AssertionError, match="Not equal"):
        np.testing.assert_allclose(result(kernels, given), other.expected(), rtol=1e-5, atol=2e-7)


class Network(ModelBuilder):
    """Nodes between an input and a MaxPool, with constants of random numbers."""

    def drawn(self, *shape: int) -> str:
        return self.constant(random_array(len(shape) + sum(shape), shape))

    def counts(self, tmp_path: Path, y: str) -> dict[str, int]:
        self.node("MaxPool", y, output="y", kernel_shape=[2, 2])
        return operators(assert_equal_to_runtime(tmp_path, self.model("y")))


def test_normalization_in_front_of_relu_is_one_layer(tmp_path: Path) -> None:
    net = Network()
    x = net.node("Mul", net.input("x", X.shape), net.drawn(6, 1, 1))
    y = net.node("Relu", net.node("Add", net.drawn(6, 1, 1), x))
    assert net.counts(tmp_path, y) == {"MulAdd": 1, "MaxPool": 1}


def test_a_scaled_branch_and_its_skip_are_one_layer(tmp_path: Path) -> None:
    net = Network()
    x = net.input("x", X.shape)
    branch = net.node("Mul", net.node("Tanh", x), net.drawn(1, 6, 1, 1))
    assert net.counts(tmp_path, net.node("Add", x, branch)) == {"Tanh": 1, "MulAdd": 1, "MaxPool": 1}


def test_a_product_that_is_read_twice_stays(tmp_path: Path) -> None:
    net = Network()
    x = net.node("Mul", net.input("x", X.shape), net.drawn(6, 1, 1))
    assert net.counts(tmp_path, net.node("Add", x, x)) == {"Mul": 1, "Add": 1, "MaxPool": 1}


def test_a_product_with_bounds_stays(tmp_path: Path) -> None:
    net = Network()
    x = net.node("Relu", net.node("Mul", net.input("x", X.shape), net.drawn(6, 1, 1)))
    assert net.counts(tmp_path, net.node("Add", x, net.drawn(6, 1, 1))) == {"Mul": 1, "Add": 1, "MaxPool": 1}


def test_a_product_that_a_sum_repeats_stays(tmp_path: Path) -> None:
    net = Network()
    x = net.node("Mul", net.input("x", (1, 6, 3, 1)), net.drawn(6, 1, 1))
    assert net.counts(tmp_path, net.node("Add", x, net.drawn(1, 6, 3, 5))) == {"Mul": 1, "Add": 1, "MaxPool": 1}
