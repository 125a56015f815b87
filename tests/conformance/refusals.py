"""ONNX's node cases that are refused, and why; docs/reference/judges.md lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

REFUSED: Mapping[str, str] = {
    "test_image_decoder_": "compressed images: a task for the firmware's own decoder",
    "test_sce_NCd1d2d3d4d5_": "tensors of seven axes; kernels take six",
    "test_nllloss_NCd1d2d3d4d5_": "tensors of seven axes; kernels take six",
    "test_training_dropout": "random numbers",
    "test_bernoulli_seed": "random numbers",
    "test_batchnorm_example_training_mode": "training",
    "test_batchnorm_epsilon_training_mode": "training",
    "test_momentum": "training",
    "test_nesterov_momentum": "training",
    "test_adagrad": "training",
    "test_adam": "training",
    "test_scan_sum": "Scan of opset 8 has a batch axis; a converter gives Scan of opset 9",
    "test_constantofshape_int_shape_zero": "an output without elements",
    "test_shape_start_greater_than_end": "an output without elements",
    "test_split_zero_size_splits": "an output without elements",
    "test_reduce_sum_empty_set_non_reduced_axis_zero": "an output without elements",
    "test_reshape_allowzero_reordered": "an output without elements",
    "test_slice_start_out_of_bounds": "an output without elements",
    "test_triu_zero": "an output without elements",
    "test_tril_zero": "an output without elements",
    "test_causal_conv_with_state_kernel_size_one": "an output without elements",
}
"""Beginnings of names of cases, and the reason."""


def without_reason(names: Iterable[str]) -> list[str]:
    """Refused cases of which the list says nothing."""
    return [name for name in names if not name.startswith(tuple(REFUSED))]
