# SPDX-License-Identifier: Apache-2.0
# The networks of a corpus: what each is compared with, and how exactly. All of them are tiled at
# 16,000 bytes.

# Integer networks that store integers in float tensors: bit for bit. types.json gives the types.
foreach(
  path
  IN
  ITEMS
    MLPerf/KeywordSpotting
    MLPerf/ImageClassification
    MLPerf/AnomalyDetection
    miniMobileNet
    CNN_Linear1
)
  cmake_path(GET path FILENAME name)
  declare_network(deeploy_${name} FOLDER "${TILEWRIGHT_CORPUS}/deeploy/Models/${path}" L1 16000)
endforeach()
set(NETWORK_deeploy_KeywordSpotting_DOUBLE TRUE)
set(NETWORK_deeploy_ImageClassification_DOUBLE TRUE)
set(NETWORK_deeploy_KeywordSpotting_LEVELS TRUE)
set(NETWORK_deeploy_CNN_Linear1_LEVELS TRUE)
# Bytes over all links: tensors of KeywordSpotting stay near the core, rows of ImageClassification's first five layers
# do, and of AnomalyDetection nearly all bytes are weights.
set(NETWORK_deeploy_KeywordSpotting_MOST 28108)
set(NETWORK_deeploy_ImageClassification_MOST 180706)
set(NETWORK_deeploy_AnomalyDetection_MOST 280230)
set(NETWORK_deeploy_KeywordSpotting_SMALLEST 1200)
set(NETWORK_deeploy_ImageClassification_SMALLEST 2000)
set(NETWORK_deeploy_AnomalyDetection_SMALLEST 1024)

foreach(path IN ITEMS CCT/Int/ICCT CCT/Int/ICCT_8 EEGFormer)
  cmake_path(GET path FILENAME name)
  declare_network(deeploy_${name} FOLDER "${TILEWRIGHT_CORPUS}/deeploy/Models/${path}" L1 64000)
endforeach()
foreach(
  path
  IN
  ITEMS
    Attention
    iNoNorm
    ReduceMean
    ReduceSum
    RMSNorm
    Softmax/Regular
    TrueIntegerDiv
    Hardswish/Regular
)
  cmake_path(GET path FILENAME name)
  if(name STREQUAL "Regular")
    cmake_path(GET path PARENT_PATH name)
  endif()
  declare_network(
    deeploy_${name}
    FOLDER "${TILEWRIGHT_CORPUS}/deeploy/Kernels/Integer/${path}"
    L1 8000
  )
endforeach()

# Standard int8: within one step of the last quantisation, which is 1 where the output is int8 and
# the scale of the last DequantizeLinear (rounded up in the last digit) where it is float.
foreach(name IN ITEMS kws_int8 ic_int8 ad_int8)
  declare_network(${name} FOLDER "${TILEWRIGHT_CORPUS}/onnx/${name}" L1 16000 TOLERANCE 1:0)
endforeach()
foreach(name IN ITEMS kws_qdq_pc kws_qdq_pt ic_qdq_pc micro_kws_m_static_qdq)
  declare_network(${name} FOLDER "${TILEWRIGHT_CORPUS}/onnx/${name}" L1 16000 TOLERANCE 0.00392157:0)
endforeach()
declare_network(
  ad_qdq_pc
  FOLDER "${TILEWRIGHT_CORPUS}/onnx/ad_qdq_pc"
  L1 16000
  TOLERANCE 0.258159:0
)

foreach(name IN ITEMS kws_qop_pc ic_qop_pc micro_kws_m_static_qoperator)
  declare_network(${name} FOLDER "${TILEWRIGHT_CORPUS}/onnx/${name}" L1 16000 TOLERANCE 0.00392157:0)
endforeach()
declare_network(
  ad_qop_pc
  FOLDER "${TILEWRIGHT_CORPUS}/onnx/ad_qop_pc"
  L1 16000
  TOLERANCE 0.258159:0
)

foreach(
  name
  IN
  ITEMS kws_f32 ic_f32 ad_f32 espdl_streaming_tcn onnx2c_mnist
)
  declare_network(
    ${name}
    FOLDER "${TILEWRIGHT_CORPUS}/onnx/${name}"
    L1 16000
    TOLERANCE 1e-5:1e-4
    FLOAT
  )
endforeach()

# LiteRT: bit for bit as TensorFlow Lite Micro; keyword_scrambled_svdf8 and mnist_lstm_int8 remember. op16_tconv1 has an
# input that is compared with the value that the model was made for.
foreach(
  name
  IN
  ITEMS
    hello_world_int8
    ad_int8
    ad_fullint_floatio
    kws_int8
    ic_int8
    cnn_s_kws_int8
    fingerprint_int8
    person_detect_int8
    rps_int8
    te_lenet_int8
    te_vww80_int8
    mbv1_025_128_uint8
    keyword_scrambled_svdf8
    mnist_lstm_int8
    op16_tconv1
)
  set(tolerance "")
  if(name MATCHES "^(ad_fullint_floatio|rps_int8|te_lenet_int8|te_vww80_int8)$")
    set(tolerance TOLERANCE 1e-6:1e-5)
  endif()
  declare_network(lite_${name} FOLDER "${TILEWRIGHT_CORPUS}/tflite/${name}" L1 16000 ${tolerance})
endforeach()

# One or two of each source and kind of layer, always with vectors.
foreach(
  name
  IN
  ITEMS
    deeploy_KeywordSpotting
    deeploy_ImageClassification
    deeploy_ICCT
    deeploy_EEGFormer
    kws_int8
    ic_qdq_pc
    lite_kws_int8
    lite_mbv1_025_128_uint8
    lite_mnist_lstm_int8
    lite_op16_tconv1
)
  set(NETWORK_${name}_VECTORS TRUE)
endforeach()
