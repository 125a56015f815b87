"""The float, quantisation and movement kernels, built once under sanitizers."""

from __future__ import annotations

import pytest
from support.float_kernels import Kernels, build

SOURCES = (
    "conv_f32 conv_rows_f32 conv_transpose_rows_f32 depthwise_f32 matmul_f32 matmul_variable_f32"
    " add_f32 sub_f32 mul_f32 div_f32 clip_f32 leaky_relu_f32 hard_sigmoid_f32 hard_swish_f32"
    " sigmoid_f32 tanh_f32 max_pool_f32 average_pool_f32 softmax_f32 norm_f32 interpolate_f32"
    " copy concat pad repeat reshape quantize_f32 quantize_axis_f32 dequantize_f32 dequantize_axis_f32 walk move_row"
).split()


@pytest.fixture(scope="session")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> Kernels:
    """The driver with every kernel of this folder's tests."""
    return build(tmp_path_factory.mktemp("kernels_float"), [f"{name}.c" for name in SOURCES])
