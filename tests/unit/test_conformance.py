"""A sample of ONNX's node cases through C under sanitizers, whole and in tiles of 1 KiB."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conformance.__main__ import main
from conformance.build import runtime_library
from conformance.cases import node_cases
from conformance.run import Verdict, compare, run_batch

TILED = str(Path(__file__).parents[1] / "conformance" / "host-tiled.toml")
# One case of each kernel and of each way in which it is reached.
SAMPLE = """
test_abs test_add_int8 test_and_bcast4v3d test_argmax_keepdims_random_select_last_index
test_averagepool_3d_dilations_small test_bitshift_left_uint8 test_identity
test_clip_default_int8_inbounds test_conv_with_strides_padding test_convtranspose_group_2
test_cumsum_1d_int32_exclusive test_depthtospace_example test_dequantizelinear_blocked test_edge_pad
test_expand_dim_changed test_gather_elements_1 test_gathernd_example_int32
test_gru_with_initial_bias test_hardmax_axis_1 test_isinf test_layer_normalization_4d_axis2
test_logsoftmax_axis_2 test_lstm_with_peepholes test_maxpool_with_argmax_2d_precomputed_pads
test_maxunpool_export_with_output_shape test_mod_mixed_sign_int32 test_onehot_with_negative_axis
test_pow_types_float32_int64 test_quantizelinear_axis test_logsoftmax_axis_0
test_reduce_max_keepdims_example test_resize_downsample_scales_cubic
test_resize_upsample_scales_nearest test_reversesequence_time
test_scatter_elements_with_reduction_max test_scatternd_add test_sce_mean test_softmax_axis_1
test_bitcast_int8_to_uint8 test_deform_conv_with_multiple_offset_groups test_roialign_mode_max
test_tfidfvectorizer_tf_uniandbigrams_skip5 test_linear_attention_gated_delta
test_attention_4d_gqa test_tile test_top_k_smallest test_tril_neg test_where_example
""".split()


@pytest.fixture(scope="module")
def sample():
    chosen = [case for case in node_cases() if case.name in SAMPLE]
    assert len(chosen) == len(SAMPLE)
    return chosen


@pytest.fixture(scope="module")
def library():
    return runtime_library(Path(__file__).parents[2] / "build" / "sanitized")


@pytest.mark.parametrize("platform", ["host", TILED], ids=["whole", "tiled"])
def test_the_sample_passes(sample, library, tmp_path, platform):
    outcomes = run_batch(sample, library, platform, tmp_path / "batch")
    assert [outcome for outcome in outcomes if outcome.verdict is Verdict.WRONG] == []
    refused = [outcome for outcome in outcomes if outcome.verdict is Verdict.REFUSED]
    # What needs more than 1 KiB at once is refused, and says so.
    assert all(platform == TILED and "tile-overflow" in outcome.reason for outcome in refused), refused
    assert len(refused) <= 4


def test_a_wrong_expectation_is_found(sample, library, tmp_path):
    case = next(case for case in sample if case.name == "test_abs")
    wrong = replace(case, outputs={name: array + 1 for name, array in case.outputs.items()})
    (outcome,) = run_batch([wrong], library, "host", tmp_path / "batch")
    assert outcome.verdict is Verdict.WRONG
    assert "differ, first at" in outcome.reason


def test_shapes_and_types_count(sample):
    case = next(case for case in sample if case.name == "test_abs")
    (expected,) = case.outputs.values()
    assert compare(expected, expected, 0.0, 0.0) == ""
    assert "1 of" in compare(expected + (expected == expected.max()), expected, 1e-3, 1e-7)


def test_the_count_ends_with_a_status(sample, tmp_path, monkeypatch, capsys):
    case = next(case for case in sample if case.name == "test_abs")
    wrong = replace(case, name="test_wrong", outputs={name: array + 1 for name, array in case.outputs.items()})
    refused = replace(next(case for case in node_cases() if case.name == "test_nonzero_example"), bounds={})
    monkeypatch.setattr("conformance.__main__.node_cases", lambda: (case, wrong, refused))
    build = ["--build", str(Path(__file__).parents[2] / "build" / "sanitized")]
    assert main([*build, "--least", "1"]) == 1
    told = capsys.readouterr().out
    assert "wrong test_wrong: y: 60 of 60 differ" in told
    assert "passed 1, refused 1, wrong 1 (of the passed, 0 with operands that decide shapes frozen)" in told
    assert "1  [unsupported-model] how many elements NonZero gives is known at run time only" in told
    assert main([*build, "--only", "^test_abs$", "--least", "1"]) == 0
    assert main([*build, "--only", "^test_abs$", "--least", "2"]) == 1
