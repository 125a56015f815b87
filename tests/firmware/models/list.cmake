# SPDX-License-Identifier: Apache-2.0
# Small networks made by make_models.py, lite_residual by scripts/lite_network.py; each with every variant.
foreach(name IN ITEMS qdq_residual float_mixture deeploy_residual lite_residual)
  set(folder "${CMAKE_CURRENT_LIST_DIR}/${name}")
  if(name STREQUAL "float_mixture")
    declare_network(${name} FOLDER "${folder}" L1 12288 TOLERANCE 1e-5:1e-4 FLOAT DOUBLE)
  elseif(name STREQUAL "qdq_residual")
    declare_network(${name} FOLDER "${folder}" L1 3072 TOLERANCE 0.00392157:0 DOUBLE)
  else()
    declare_network(${name} FOLDER "${folder}" L1 3072 DOUBLE LEVELS)
  endif()
  set(NETWORK_${name}_VECTORS TRUE)
endforeach()
