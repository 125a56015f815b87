"""Normalisations and onnxruntime's fused float operators against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators, outputs_of
from tilewright.base.errors import TilewrightError

GENERATOR = np.random.default_rng(7)
SHAPE = (2, 3, 4, 6)


def values(*shape):
    return GENERATOR.normal(size=shape).astype(np.float32)


def one_node(operator, *constants, opset=17, inputs=1, outputs=1, domain="", **attributes):
    build = ModelBuilder(opset)
    names = [build.input(f"x{number}", SHAPE) for number in range(inputs)]
    names += ["" if array is None else build.constant(array) for array in constants]
    result = build.node(operator, *names, outputs=outputs, output="y", domain=domain, **attributes)
    return build.model(*([result] if outputs == 1 else [name for name in result if name]))


@pytest.mark.parametrize("opset", [13, 17])
@pytest.mark.parametrize("axis", [-1, 1, 2])
@pytest.mark.parametrize("biased", [True, False])
def test_layer_normalization_in_any_opset(tmp_path, opset, axis, biased):
    shape = SHAPE[axis:]
    constants = (values(*shape), values(*shape)) if biased else (values(*shape),)
    model = one_node("LayerNormalization", *constants, opset=opset, axis=axis, epsilon=1e-3)
    graph = assert_equal_to_runtime(tmp_path, model)
    assert operators(graph)["LayerNormalization"] == 1
    assert not {"ReduceMean", "Mul", "Add"} & set(operators(graph))


def test_scales_that_follow_other_axes_are_applied_afterwards(tmp_path):
    model = one_node("LayerNormalization", values(3, 1, 1), values(1, 6), axis=-1)
    graph = imported(tmp_path, model)
    assert operators(graph) == {"LayerNormalization": 1, "Mul": 1, "Add": 1}
    x = values(*SHAPE)
    scale, bias = (constant for constant in map(_array, model.graph.initializer))
    centred = x - x.mean(-1, keepdims=True)
    wanted = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale + bias
    np.testing.assert_allclose(outputs_of(graph, {"x0": x})[0], wanted, rtol=5e-6, atol=1e-6)


def _array(tensor):
    return np.frombuffer(tensor.raw_data, np.float32).reshape(tuple(tensor.dims))


def test_mean_and_deviation_are_outputs_when_asked_for(tmp_path):
    model = one_node("LayerNormalization", values(4, 6), values(4, 6), outputs=3, axis=2)
    assert_equal_to_runtime(tmp_path, model)


@pytest.mark.parametrize("operator", ["RMSNormalization", "SimplifiedLayerNormalization"])
def test_root_mean_square(tmp_path, operator):
    opset = 23 if operator == "RMSNormalization" else 17
    model = one_node(operator, values(6), opset=opset, axis=-1, epsilon=1e-2)
    graph = imported(tmp_path, model)
    assert operators(graph) == {"RMSNormalization": 1}
    x = values(*SHAPE)
    wanted = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-2) * _array(model.graph.initializer[0])
    np.testing.assert_allclose(outputs_of(graph, {"x0": x})[0], wanted, rtol=5e-6, atol=1e-6)


def test_deeploys_norm_takes_its_own_epsilon_and_makes_softmax_run_over_the_last_axis(tmp_path):
    build = ModelBuilder(10)
    scale = build.constant(values(6))
    normal = build.node("RMSNorm", build.input("x", SHAPE), scale)
    graph = imported(tmp_path, build.model(build.node("Softmax", normal, output="y")))
    x = values(*SHAPE)
    normal = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * _array(build.constants[0])
    powers = np.exp(normal - normal.max(-1, keepdims=True))
    wanted = powers / powers.sum(-1, keepdims=True)
    np.testing.assert_allclose(outputs_of(graph, {"x": x})[0], wanted, rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("operator", "inputs", "constants"),
    [
        ("Gelu", 1, ()),
        ("BiasGelu", 1, (values(6),)),
        ("FastGelu", 1, (values(6),)),
        ("FastGelu", 1, ()),
        ("QuickGelu", 1, ()),
    ],
)
def test_activations_of_com_microsoft(tmp_path, operator, inputs, constants):
    assert_equal_to_runtime(tmp_path, one_node(operator, *constants, domain="com.microsoft", inputs=inputs))


@pytest.mark.parametrize("bias", [None, values(6)])
@pytest.mark.parametrize("operator", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
@pytest.mark.parametrize("asked", [True, False])
def test_skip_normalisations(tmp_path, operator, bias, asked):
    build = ModelBuilder(17)
    names = [build.input(name, (2, 4, 6)) for name in ("x", "skip")]
    names.append(build.constant(values(6)))
    if operator == "SkipLayerNormalization":
        names.append(build.constant(values(6)))
    if bias is not None:
        names.append(build.constant(bias))
    first = build.node(operator, *names, output="y", domain="com.microsoft", epsilon=1e-3)
    if asked:
        build.nodes[-1].output.extend(["", "", "total"])
    assert_equal_to_runtime(tmp_path, build.model(first, *(["total"] if asked else [])))


def test_a_parameter_of_integers_is_refused(tmp_path):
    with pytest.raises(TilewrightError, match="type int32"):
        imported(tmp_path, one_node("LayerNormalization", np.ones(6, np.int32)))


@pytest.mark.parametrize("columns", [1, 5])
@pytest.mark.parametrize("biased", [True, False])
@pytest.mark.parametrize("constant", [True, False])
def test_products_that_are_quantised_at_run_time(tmp_path, columns, biased, constant):
    build = ModelBuilder(17)
    x = build.input("x", (3, 6))
    integers = GENERATOR.integers(-128, 128, (6, 5)).astype(np.int8)
    b = build.constant(integers) if constant else build.input("b", (6, 5), np.int8)
    scale = build.constant(np.abs(values(columns)) + 0.1 if columns > 1 else np.float32(0.3))
    points = build.constant(np.zeros(columns, np.int8) if columns > 1 else np.int8(3))
    bias = [build.constant(values(5))] if biased else []
    y = build.node("DynamicQuantizeMatMul", x, b, scale, points, *bias, output="y", domain="com.microsoft")
    assert_equal_to_runtime(tmp_path, build.model(y))


@pytest.mark.parametrize("biased", [True, False])
def test_integer_products_that_give_floats(tmp_path, biased):
    build = ModelBuilder(17)
    names = [build.input("a", (3, 6), np.uint8), build.constant(GENERATOR.integers(0, 256, (6, 5)).astype(np.uint8))]
    names += [build.constant(np.float32(value)) for value in (0.1, 0.02)]
    names += [build.constant(np.uint8(value)) for value in (120, 100)]
    names += [build.constant(values(5))] if biased else []
    y = build.node("MatMulIntegerToFloat", *names, output="y", domain="com.microsoft")
    assert_equal_to_runtime(tmp_path, build.model(y))


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 3)])
def test_batch_normalization_by_statistics_that_run_time_gives(tmp_path, shape):
    build = ModelBuilder(15)
    names = [build.input("x", shape), *(build.input(name, (3,)) for name in ("scale", "shift", "mean"))]
    names.append(build.constant(np.abs(values(3)) + 0.5))
    model = build.model(build.node("BatchNormalization", *names, output="y", epsilon=1e-2))
    assert_equal_to_runtime(tmp_path, model)
