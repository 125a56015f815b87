"""What declarations allow rewrites and importers to do is true of the references and of the kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from support.nodes import node_of
from support.single_node import random_array, run, single_node
from tilewright.catalogue.operators import OPERATORS, attributes_for, declared
from tilewright.graph import Array, Clamp, Graph, Node, constant
from tilewright.kernels.registry import choices
from tilewright.operators.operator import Affine, Multipliers, Operator

WINDOWS = {"kernel": (2, 2), "strides": (1, 1), "dilations": (1, 1), "pads": (0, 0, 1, 1)}
VALUES: dict[str, dict[str, object]] = {
    "Clip": {"minimum": -0.5, "maximum": 0.5},
    "LeakyRelu": {"alpha": 0.1},
    "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
    **{name: {"alpha": 0.3} for name in ("Elu", "Celu", "ThresholdedRelu", "Swish")},
    "Selu": {"alpha": 1.6, "gamma": 1.1},
    "Shrink": {"bias": 0.1, "lambd": 0.5},
    "Concat": {"axis": 1},
    "Gather": {"axis": 2, "batch_dims": 0},
    "GatherElements": {"axis": 2},
    "Slice": {"starts": (0, 1, 0, 2), "steps": (1, 1, 2, -1)},
    "Pad": {"pads": (0, 0, 1, 0, 0, 1, 0, 2), "value": 0.0},
    "Repeat": {"times": (1, 1, 2, 3)},
    "Transpose": {"perm": (0, 2, 1, 3)},
    **{name: {**WINDOWS, "group": 1} for name in ("Conv", "ConvTranspose")},
    "MaxPool": WINDOWS,
    "AveragePool": WINDOWS,
}
SHAPES = {
    "Gather": (1, 3, 2, 5),
    "GatherElements": (1, 3, 2, 5),
    "Concat": (1, 6, 4, 5),
    "Slice": (1, 2, 2, 3),
    "Pad": (1, 4, 5, 7),
    "Repeat": (1, 3, 8, 15),
    "Transpose": (1, 4, 3, 5),
    "Reshape": (3, 20),
    **dict.fromkeys(("Conv", "ConvTranspose"), (1, 2, 4, 5)),
    "MatMul": (1, 3, 4, 2),
}
X = random_array(1, (1, 3, 4, 5))
WEIGHTS = {"Conv": (2, 3, 2, 2), "ConvTranspose": (3, 2, 2, 2), "MatMul": (5, 2)}
INDICES = {"Gather": np.array([3, 0]), "GatherElements": np.array([1, 2] * 15).reshape(1, 3, 2, 5)}


def operands(operator: Operator) -> list[Array]:
    """Inputs for which ``VALUES`` and ``SHAPES`` hold."""
    if operator.weights_axis is not None:
        return [X, random_array(2, WEIGHTS[operator.name])]
    if operator.name in INDICES:
        return [X, INDICES[operator.name]]
    return [X, random_array(2, X.shape)] if operator.affine is not Affine.NONE or operator.name in TWO else [X]


TWO = ("Div", "Concat", "Min", "Max", "FMod", "Pow", "PRelu")


def graph_of(operator: Operator) -> tuple[Graph, list[Array]]:
    arrays = operands(operator)
    shape = SHAPES.get(operator.name, X.shape)
    return single_node(operator.name, arrays, VALUES.get(operator.name, {}), shape), arrays


def having(wanted: Callable[[Operator], object]) -> list[Operator]:
    return [operator for operator in OPERATORS.values() if wanted(operator)]


def function_is_right(operator: Operator) -> bool:
    graph, arrays = graph_of(operator)
    assert operator.function is not None
    wide = [array.astype(np.float64) for array in arrays]
    return np.array_equal(
        operator.function(graph.nodes[0], *wide).astype(np.float32), run(graph, arrays), equal_nan=True
    )


@pytest.mark.parametrize("operator", having(lambda o: o.function), ids=lambda o: o.name)
def test_functions_are_what_references_compute(operator: Operator) -> None:
    assert function_is_right(operator)


def test_another_function_is_noticed() -> None:
    assert not function_is_right(replace(OPERATORS["Tanh"], function=OPERATORS["Sigmoid"].function))


@pytest.mark.parametrize("operator", having(lambda o: o.keeps_values), ids=lambda o: o.name)
def test_values_are_kept(operator: Operator) -> None:
    graph, arrays = graph_of(operator)
    assert set(run(graph, arrays).ravel()) <= {0.0, *(value for array in arrays for value in array.ravel())}


@pytest.mark.parametrize("operator", having(lambda o: o.is_view), ids=lambda o: o.name)
def test_views_have_all_elements(operator: Operator) -> None:
    graph, arrays = graph_of(operator)
    assert sorted(run(graph, arrays).ravel()) == sorted(X.ravel())


@pytest.mark.parametrize("operator", having(lambda o: o.takes_clamp), ids=lambda o: o.name)
def test_kernels_apply_a_clamp(operator: Operator) -> None:
    graph, arrays = graph_of(operator)
    tensors = dict(graph.tensors)
    if operator.weights_axis is not None:
        tensors["i1"] = constant("i1", arrays[1])
    (node,) = graph.nodes
    clamped = replace(graph, nodes=(replace(node, epilogue=Clamp(-0.25, 0.25)),), tensors=tensors, inputs=("i0",))
    assert choices(clamped.nodes[0], clamped)


@pytest.mark.parametrize("operator", having(lambda o: o.weights_axis), ids=lambda o: o.name)
def test_factors_of_channels_go_into_weights(operator: Operator) -> None:
    graph, (x, w) = graph_of(operator)
    assert operator.weights_axis is not None
    plain = run(graph, [x, w])
    factors = np.arange(1, 3, dtype=np.float32)

    def along(rank: int, axis: int) -> Array:
        return factors.reshape([-1 if at == axis % rank else 1 for at in range(rank)])

    axis = operator.weights_axis(graph.nodes[0])
    assert axis is not None
    scaled = run(graph, [x, w * along(w.ndim, axis)])
    np.testing.assert_allclose(scaled, plain * along(plain.ndim, operator.channel_axis), rtol=1e-5, atol=1e-6)


def test_what_goes_together() -> None:
    for operator in OPERATORS.values():
        # ConvTranspose of integers is an operator of its own.
        finishes = operator.multipliers is Multipliers.EACH or operator.name == "ConvTranspose"
        assert operator.weights_axis is None or finishes, operator.name


def test_an_operator_that_nobody_declares_allows_nothing() -> None:
    operator = declared(Node("n", "Unheard", ("x",), ("y",)))
    assert operator.function is None
    assert not any((operator.takes_clamp, operator.keeps_values, operator.is_view))
    with pytest.raises(KeyError, match="Unheard"):
        operator.nest(Node("n", "Unheard", ("x",), ("y",)), Graph("g", (), {}, (), ()))


def test_names_become_attributes_in_one_place() -> None:
    given = attributes_for("Slice", {"starts": [np.int64(1), 0], "steps": np.array([1, 2])})
    assert given == attributes_for("Slice", {"starts": (1, 0), "steps": (1, 2)})
    assert attributes_for("TopK", {"axis": 0, "largest": 1}) == attributes_for("TopK", {"axis": 0, "largest": True})
    with pytest.raises(TypeError, match="there is no attribute 'stepz'; attribute 'steps' is missing"):
        attributes_for("Slice", {"starts": (0,), "stepz": (1,)})


def test_attributes_of_another_operator_are_noticed() -> None:
    node = node_of("cut", "Slice", ("x",), ("y",), {"starts": (0,), "steps": (1,)})
    with pytest.raises(TypeError, match="node 'cut' \\(Slice\\) has SliceAttributes, not PadAttributes"):
        node.given(OPERATORS["Pad"].attributes)
