"""Products with weights of a few bits in blocks, as ONNX Runtime's quantiser of weights writes them."""

from __future__ import annotations

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, assert_equal_to_runtime, imported, operators
from tilewright.base.errors import TilewrightError


def of_few_bits(width, block, points, depth=20, bias=False):
    """MatMulNBits as ONNX Runtime's quantiser of weights writes it; ``points``: none, packed or float."""
    random, columns = np.random.default_rng(width + block), 6
    build = ModelBuilder(13)
    build.input("x", [2, 3, depth])
    blocks = -(-depth // block)
    stored = random.integers(0, 256, (columns, blocks, block * width // 8), dtype=np.uint8)
    scales = random.uniform(0.01, 0.1, columns * blocks).astype(np.float32)
    names = [build.constant(stored), build.constant(scales)]
    if points == "packed":
        names.append(build.constant(random.integers(0, 256, columns * -(-blocks * width // 8), dtype=np.uint8)))
    elif points == "float":
        names.append(build.constant(random.uniform(3, 9, columns * blocks).astype(np.float32)))
    if bias:
        names += [""] * (4 - len(names)) + [build.constant(random.normal(size=columns).astype(np.float32))]
    given = {"K": depth, "N": columns, "bits": width, "block_size": block}
    build.node("MatMulNBits", "x", *names, output="y", domain="com.microsoft", **given)
    return build.model("y")


@pytest.mark.parametrize("points", ["none", "packed", "float"])
@pytest.mark.parametrize("depth", [32, 40])
def test_product_with_weights_of_four_bits(tmp_path, points, depth):
    model = of_few_bits(4, 16, points, depth, bias=points == "none")
    graph = assert_equal_to_runtime(tmp_path, model, absolute=2e-4)
    assert operators(graph)["MatMul"] == 1


def test_weights_of_few_bits_that_do_not_fit_are_refused(tmp_path):
    model = of_few_bits(4, 16, "none", 32)
    model.graph.node[0].attribute[0].i = 64
    with pytest.raises(TilewrightError, match="weights of shape"):
        imported(tmp_path, model)
