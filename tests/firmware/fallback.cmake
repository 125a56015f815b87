# SPDX-License-Identifier: Apache-2.0
# Activations in a fast memory that is too small for them, the rest in the one behind it, with each
# placement algorithm that has a name of its own in other systems, too.

# 60 % of the bound of the small networks, 9,028 bytes; tests/unit/test_fallback.py works it out.
set(tcm_bytes 5416)

foreach(name IN ITEMS qdq_residual deeploy_residual)
  set(types "")
  if(NETWORK_${name}_TYPES)
    set(types TYPES ${NETWORK_${name}_TYPES})
  endif()
  foreach(algorithm IN ITEMS exact greedy_by_size hill_climb)
    set(model fallback_${name}_${algorithm})
    tilewright_add_model(
      ${model}
      MODEL "${NETWORK_${name}_FOLDER}/network.onnx"
      PLATFORM fallback.toml
      POOLS tcm=${tcm_bytes}
      ALGORITHM ${algorithm}
      GROUPS off
      ${types}
    )
    get_target_property(pools ${model} TILEWRIGHT_POOLS)
    if(NOT pools MATCHES "tcm=[1-9]" OR NOT pools MATCHES "sram=[1-9]")
      message(FATAL_ERROR "${model} does not use both memories: ${pools}")
    endif()
    set(tolerance "${NETWORK_${name}_TOLERANCE}")
    if(NOT tolerance)
      set(tolerance 0:0)
    endif()
    tilewright_add_golden_test(
      NAME ${name}.fallback-${algorithm}
      MODEL ${model}
      INPUTS "${NETWORK_${name}_FOLDER}/inputs.npz"
      OUTPUTS "${NETWORK_${name}_FOLDER}/outputs.npz"
      TOLERANCE ${tolerance}
    )
  endforeach()
endforeach()
