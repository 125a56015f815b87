"""Networks of the corpus on which cluster.py judges the cost model of pulp-open, and what they are to reach."""

from __future__ import annotations

NETWORKS = {
    "deeploy/Models/MLPerf/ImageClassification": {60_000: 15.5, 16_000: 14.0},
    "deeploy/Models/MLPerf/KeywordSpotting": {60_000: 10.0, 16_000: 8.8},
    "deeploy/Models/MLPerf/AnomalyDetection": {60_000: 4.0, 16_000: 3.2},
    "onnx/mcunet_vww1_80_int8": {60_000: 7.5, 16_000: 6.5},
    "onnx/mbv2_035_144_int8": {60_000: 7.5, 16_000: 6.5},
}
"""By network: multiply-accumulates per cycle that eight cores are to reach, by bytes of l1."""

SIZES = (60_000, 16_000)
"""Bytes of l1 in which layers are judged."""

JUDGED = (*NETWORKS, "deeploy/Models/CNN_Linear1")
"""Networks on which predictions are judged; none of their layers is measured to calibrate."""

FURTHER = (
    *(f"onnx/{name}_{how}" for name in ("kws", "ic", "ad") for how in ("int8", "qdq_pc", "qop_pc")),
    "onnx/kws_qdq_pt",
    "onnx/micro_kws_m_static_qdq",
    "onnx/micro_kws_m_static_qoperator",
    "onnx/dscnn_l_kws_int8",
    "onnx/resnet18s_64_int8",
    "onnx/squeeze_incep_56_int8",
    "onnx/tcn_causal_128_int8",
    "onnx/fpn_det_96_int8",
    "onnx/unet48_int8",
    "deeploy/Models/CNN_Linear1",
    "deeploy/Models/miniMobileNet",
)
"""Quantised networks on whose layers predictions are judged besides, where ``--further`` asks for them."""

IN_EXTERNAL_RAM = {"onnx/mbv2_100_224_int8": (60_000, 400_000)}
"""Besides, with bytes of l1 and l2: a network whose large tensors lie behind l2."""

FLOAT_NETWORKS = (
    *(f"onnx/{name}" for name in ("kws_f32", "ic_f32", "ad_f32", "micro_kws_m_static_fp32", "onnx2c_mnist")),
    *(f"onnx/{name}" for name in ("tinyvit28", "tcn_har", "lstm_har")),
    "deeploy/Models/CCT/FP32/CCT_1_16_16_8",
    "deeploy/Models/CCT/FP32/CCT_1_16_16_64",
)
"""Networks of float32 whose predictions are shown with ``--floats``."""

FLOAT_SIZES = (56_000, 16_000)
"""Bytes of l1 for them: their kernels need larger stacks beside it."""

LITE_NETWORKS = (
    *(f"tflite/{name}_int8" for name in ("kws", "ic", "ad", "cnn_s_kws", "fingerprint", "person_detect", "rps")),
    *(f"tflite/{name}_int8" for name in ("mnist_lstm", "te_lenet", "te_vww80", "hello_world")),
    *(f"tflite/{name}" for name in ("ad_hybrid", "kws_hybrid", "ad_fullint_floatio", "ic_f32", "hello_world_f32")),
    *(f"tflite/op16_{name}" for name in ("conv0", "conv10", "tconv1", "add0", "sub0", "leaky0", "quant_i16_i32")),
    *(f"tflite/{name}" for name in ("mbv1_025_128_uint8", "okay_nabu_v2_stream", "keyword_scrambled_svdf8")),
)
"""Networks that are .tflite files, whose predictions are shown with ``--lite``."""

ASKED_FOR = {"further": (FURTHER, SIZES), "floats": (FLOAT_NETWORKS, FLOAT_SIZES), "lite": (LITE_NETWORKS, (56_000,))}
"""By option of the command line: networks on whose layers predictions are judged, and bytes of l1."""
