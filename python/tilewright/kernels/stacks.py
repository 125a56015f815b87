"""What kernels take of a core's stack, where that is more than cores with short stacks have."""

from __future__ import annotations

from types import MappingProxyType

from tilewright.kernels.kernel import KernelChoice

CORE_STACK_BYTES = MappingProxyType(
    {
        "conv_f32": 720,
        "conv_integer_rescale": 560,
        "conv_wide_rescale": 560,
        "conv_xpulpv2_rescale": 528,
        "depthwise_f32": 560,
        "dequantize_axis_f32": 544,
        "line_cum_prod_f32": 576,
        "line_cum_sum_f32": 560,
        "line_hardmax_f32": 544,
        "line_log_softmax_f32": 608,
        "line_lp_normalization_f32": 624,
        "line_top_k_f32": 592,
        "line_top_k_i64": 528,
        "map_add_f32": 544,
        "map_cos_f32": 880,
        "map_max_f32": 544,
        "map_min_f32": 544,
        "map_mul_f32": 560,
        "map_pow_i32_f32": 544,
        "map_pow_i64_f32": 560,
        "map_sin_f32": 880,
        "map_tan_f32": 880,
        "matmul_f32": 704,
        "matmul_integer_rescale": 560,
        "matmul_variable_f32": 736,
        "quantize_axis_f32": 544,
        "reduce_arg_max_f32": 576,
        "reduce_arg_min_f32": 576,
        "reduce_l1_f32": 544,
        "reduce_l2_f32": 576,
        "reduce_log_sum_exp_f32": 608,
        "reduce_log_sum_f32": 576,
        "reduce_lp_f32": 608,
        "reduce_max_f32": 576,
        "reduce_mean_f32": 544,
        "reduce_min_f32": 576,
        "reduce_prod_f32": 560,
        "reduce_sum_f32": 544,
        "reduce_sum_square_f32": 560,
    }
)
"""C symbol of a kernel, or of a function that a kernel takes, without ``tilewright_``: bytes on RV32 without an FPU.

Multiples of 16, with the 16 bytes that a port keeps unwritten; test_cluster_stacks.py holds them against the
compiler's frames and those of its libraries.
"""


def core_stack_bytes(kernel: KernelChoice) -> int:
    """Bytes of stack that each core needs for a kernel; 0 if every core has them."""
    taken = (str(value).rpartition("tilewright_")[2] for _, value in kernel.attributes if isinstance(value, str))
    return max(CORE_STACK_BYTES.get(name, 0) for name in (kernel.symbol.removeprefix("tilewright_"), *taken))
