"""ONNX Runtime's products of uint8 and int8, made exact on every processor."""

import numpy as np
import pytest
from onnx import numpy_helper
from support.onnx_models import ModelBuilder, runtime_outputs
from tilewright.judges.exact_products import with_exact_products

LARGE_X = np.full((1, 64), 255, np.uint8)
LARGE_W = np.full((64, 2), 127, np.int8)


def product(weights, x=np.uint8):
    build = ModelBuilder(13)
    a = build.input("a", (1, 64), x)
    w = build.constant(weights) if isinstance(weights, np.ndarray) else build.input("w", (64, 2), np.int8)
    y = build.node("MatMulInteger", a, w, output="y")
    return build.model(y, dtypes={"y": np.int32})


@pytest.mark.parametrize("weights", [LARGE_W, "computed"])
def test_sums_that_would_saturate_are_exact(weights):
    model = product(weights)
    feeds = {"a": LARGE_X} | ({} if isinstance(weights, np.ndarray) else {"w": LARGE_W})
    assert runtime_outputs(model, feeds)["y"].tolist() == [[64 * 255 * 127] * 2]


def test_weights_are_shifted_and_other_models_stay():
    exact = with_exact_products(product(LARGE_W))
    constants = [numpy_helper.to_array(tensor) for tensor in exact.graph.initializer]
    assert {array.dtype.name for array in constants} == {"int8", "uint8"}
    assert any(array.dtype == np.uint8 and array.shape == (64, 2) and (array == 255).all() for array in constants)
    signed = product(LARGE_W, np.int8)
    assert with_exact_products(signed) is signed
