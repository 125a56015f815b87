# SPDX-License-Identifier: Apache-2.0
# Activations in a fast memory that is too small for them, the rest in the one behind it, with each
# placement algorithm that has a name of its own in other systems, too.

# 60 % of the bound of the small networks, 8,516 bytes; tests/unit/test_fallback.py works it out.
set(tcm_bytes 5109)

set(algorithms exact greedy_by_size hill_climb)
foreach(name IN ITEMS qdq_residual deeploy_residual)
  foreach(algorithm IN LISTS algorithms)
    declare_variant(
      ${name}
      fallback-${algorithm}
      PLATFORM fallback.toml
      POOLS tcm=${tcm_bytes}
      ALGORITHM ${algorithm}
      GROUPS off
    )
  endforeach()
endforeach()
add_variants()
set(VARIANTS "")
foreach(name IN ITEMS qdq_residual deeploy_residual)
  foreach(algorithm IN LISTS algorithms)
    get_target_property(pools ${name}_fallback-${algorithm} TILEWRIGHT_POOLS)
    if(NOT pools MATCHES "tcm=[1-9]" OR NOT pools MATCHES "sram=[1-9]")
      message(FATAL_ERROR "${name} with ${algorithm} does not use both memories: ${pools}")
    endif()
  endforeach()
endforeach()
