# SPDX-License-Identifier: Apache-2.0
# Networks are declared first, then turned into tests, so that the smallest sizes of all of them
# are searched for at once.
include_guard(GLOBAL)
include(CheckCSourceCompiles)

#[[
declare_network(<name> FOLDER <folder> L1 <bytes> [TOLERANCE <abs>:<rel>] [FLOAT] [DOUBLE] [LEVELS])

The folder has network.onnx, inputs.npz, outputs.npz, and types.json where TYPES are needed. L1
is the size of the tiled variant, DOUBLE adds a double-buffered one, LEVELS one with constants in
a third level of memory, whose links carry little more than they must. FLOAT takes a core with FPU.
A network whose folder is absent is reported and left out.
#]]
function(declare_network name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FLOAT;DOUBLE;LEVELS" "FOLDER;L1;TOLERANCE" "")
  if(NOT EXISTS "${arg_FOLDER}/network.onnx")
    message(WARNING "network ${name} is left out: no ${arg_FOLDER}/network.onnx")
    return()
  endif()
  set(types "")
  if(EXISTS "${arg_FOLDER}/types.json")
    file(READ "${arg_FOLDER}/types.json" json)
    string(JSON count LENGTH "${json}")
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON tensor MEMBER "${json}" ${i})
      string(JSON type GET "${json}" "${tensor}")
      list(APPEND types "${tensor}=${type}")
    endforeach()
  endif()
  set(suffix "")
  if(arg_FLOAT)
    set(suffix f)
  endif()
  set(NETWORKS ${NETWORKS} ${name} PARENT_SCOPE)
  set(NETWORK_${name}_FOLDER "${arg_FOLDER}" PARENT_SCOPE)
  set(NETWORK_${name}_L1 "${arg_L1}" PARENT_SCOPE)
  set(NETWORK_${name}_TOLERANCE "${arg_TOLERANCE}" PARENT_SCOPE)
  set(NETWORK_${name}_TYPES "${types}" PARENT_SCOPE)
  set(NETWORK_${name}_PLATFORM "qemu-virt-rv32${suffix}" PARENT_SCOPE)
  set(NETWORK_${name}_DOUBLE "${arg_DOUBLE}" PARENT_SCOPE)
  set(NETWORK_${name}_LEVELS "${arg_LEVELS}" PARENT_SCOPE)
endfunction()

# Every declared network on this machine, untiled, with sanitizers where the compiler has them.
function(add_networks_on_host)
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
  set(CMAKE_REQUIRED_FLAGS "-fsanitize=address,undefined -fno-sanitize-recover=all")
  check_c_source_compiles("int main(void) { return 0; }" TILEWRIGHT_HOST_SANITIZERS)
  if(TILEWRIGHT_HOST_SANITIZERS)
    add_compile_options(${sanitize})
    add_link_options(${sanitize})
  endif()
  foreach(name IN LISTS NETWORKS)
    add_variant(${name} host PLATFORM host)
  endforeach()
endfunction()

# Every declared network in QEMU: untiled, tiled at its size of l1 and at the smallest that
# works, and a test that all of them give the same bits.
function(add_networks_in_qemu)
  foreach(name IN LISTS NETWORKS)
    set(platform "${NETWORK_${name}_PLATFORM}")
    set(l1 "${NETWORK_${name}_L1}")
    add_variant(${name} untiled PLATFORM ${platform}-single)
    add_variant(${name} tiled PLATFORM ${platform} POOLS l1=${l1})
    if(NETWORK_${name}_DOUBLE)
      add_variant(${name} double PLATFORM ${platform} POOLS l1=${l1} BUFFERING double)
    endif()
    add_tiles_test(${name} ${l1})
    set(most "")
    if(NETWORK_${name}_MOST)
      set(most --most ${NETWORK_${name}_MOST})
    endif()
    add_link_bytes_test(${name} tiled ${most})
    if(NETWORK_${name}_LEVELS)
      add_variant(
        ${name}
        levels
        PLATFORM qemu-virt-rv32-l3
        OPTIONS "${CMAKE_CURRENT_SOURCE_DIR}/bytes_moved.toml"
      )
      add_link_bytes_test(${name} levels --within 1.15)
    endif()
  endforeach()
  find_smallest_sizes()
  foreach(name IN LISTS NETWORKS)
    add_variant(
      ${name}
      smallest
      PLATFORM ${NETWORK_${name}_PLATFORM}
      POOLS l1=${SMALLEST_${name}}
    )
    add_same_bits_test(${name})
  endforeach()
endfunction()

# One model and its golden test, both with the same name up to the dot.
function(add_variant name variant)
  set(folder "${NETWORK_${name}_FOLDER}")
  set(types "")
  if(NETWORK_${name}_TYPES)
    set(types TYPES ${NETWORK_${name}_TYPES})
  endif()
  set(tolerance "")
  if(NETWORK_${name}_TOLERANCE)
    set(tolerance TOLERANCE ${NETWORK_${name}_TOLERANCE})
  endif()
  tilewright_add_model(${name}_${variant} MODEL "${folder}/network.onnx" NAME net ${types} ${ARGN})
  tilewright_add_golden_test(
    NAME ${name}.${variant}
    MODEL ${name}_${variant}
    INPUTS "${folder}/inputs.npz"
    OUTPUTS "${folder}/outputs.npz"
    ${tolerance}
  )
  set_tests_properties(${name}.${variant} PROPERTIES LABELS "networks;${variant}")
endfunction()

# Layers whose operands exceed l1 have several tiles.
function(add_tiles_test name l1)
  get_target_property(plan ${name}_tiled TILEWRIGHT_PLAN)
  add_test(
    NAME ${name}.tiles
    COMMAND
      "${TILEWRIGHT_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/several_tiles.py" "${plan}" --bytes ${l1}
  )
  set_tests_properties(${name}.tiles PROPERTIES LABELS networks)
endfunction()

# What the port counts on each link is what the plan says.
function(add_link_bytes_test name variant)
  get_target_property(plan ${name}_${variant} TILEWRIGHT_PLAN)
  get_target_property(platform ${name}_${variant} TILEWRIGHT_PLATFORM)
  add_test(
    NAME ${name}.${variant}_link_bytes
    COMMAND
      "${TILEWRIGHT_TOOL_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/link_bytes.py" "${plan}" --platform
      "${platform}" --elf "$<TARGET_FILE:${name}.${variant}>" ${ARGN}
  )
  set_tests_properties(${name}.${variant}_link_bytes PROPERTIES LABELS networks)
endfunction()

# The outputs of all variants have the same checksums; floats where no reduction is cut.
function(add_same_bits_test name)
  set(programs "")
  foreach(
    variant
    IN
    ITEMS untiled tiled double levels smallest
  )
    if(NOT TARGET ${name}.${variant})
      continue()
    endif()
    get_target_property(plan ${name}_${variant} TILEWRIGHT_PLAN)
    file(READ "${plan}" json)
    if(NETWORK_${name}_PLATFORM MATCHES "f$" AND json MATCHES "\"reduction\": *\\[[^]]")
      message(
        STATUS
        "${name}.${variant}: a reduction is cut, so that float sums have another order"
      )
    else()
      get_target_property(platform ${name}_${variant} TILEWRIGHT_PLATFORM)
      list(APPEND programs "${platform}=$<TARGET_FILE:${name}.${variant}>")
    endif()
  endforeach()
  add_test(
    NAME ${name}.same_bits
    COMMAND "${TILEWRIGHT_TOOL_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/same_bits.py" ${programs}
  )
  set_tests_properties(${name}.same_bits PROPERTIES LABELS networks TIMEOUT 600)
endfunction()

# Sets SMALLEST_<name> to the smallest l1 in bytes with which each network can be tiled.
function(find_smallest_sizes)
  set(requests "")
  foreach(name IN LISTS NETWORKS)
    list(JOIN NETWORK_${name}_TYPES " " types)
    set(model "${NETWORK_${name}_FOLDER}/network.onnx")
    string(APPEND requests "${name}\t${model}\t${NETWORK_${name}_PLATFORM}\t${types}\n")
  endforeach()
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/smallest.request" "${requests}")
  execute_process(
    COMMAND
      "${TILEWRIGHT_TOOL_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/smallest_sizes.py"
      "${CMAKE_CURRENT_BINARY_DIR}/smallest.request" "${CMAKE_CURRENT_BINARY_DIR}/smallest.json"
    RESULT_VARIABLE status
  )
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the smallest sizes of l1 could not be found")
  endif()
  file(READ "${CMAKE_CURRENT_BINARY_DIR}/smallest.json" json)
  foreach(name IN LISTS NETWORKS)
    string(JSON bytes GET "${json}" sizes ${name})
    message(STATUS "${name}: smallest l1 ${bytes}")
    if(NETWORK_${name}_SMALLEST AND bytes GREATER NETWORK_${name}_SMALLEST)
      message(SEND_ERROR "${name}: smallest l1 ${bytes}, at most ${NETWORK_${name}_SMALLEST}")
    endif()
    set(SMALLEST_${name} ${bytes} PARENT_SCOPE)
  endforeach()
endfunction()
