# SPDX-License-Identifier: Apache-2.0
# Networks are declared first, then turned into tests, so that the smallest sizes of all of them
# are searched for at once.
include_guard(GLOBAL)
include(CheckCSourceCompiles)

#[[
declare_network(<name> FOLDER <folder> L1 <bytes> [TOLERANCE <abs>:<rel>] [FLOAT] [DOUBLE] [LEVELS])

The folder has network.onnx or model.tflite, inputs.npz, outputs.npz (or outputs_tflm.npz, which counts
then), and types.json where TYPES are needed. L1
is the size of the tiled variant, DOUBLE adds a double-buffered one, LEVELS one with constants in
a third level of memory, whose links carry little more than they must, and one with everything in the
third level and twice L1 between (chain). FLOAT takes a core with FPU. Without it, the network
runs on a core with vectors too: with NETWORK_<name>_VECTORS always, else in the long tests.
A network whose folder is absent is reported and left out.
#]]
function(declare_network name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "FLOAT;DOUBLE;LEVELS" "FOLDER;L1;TOLERANCE" "")
  set(model "${arg_FOLDER}/network.onnx")
  if(NOT EXISTS "${model}")
    set(model "${arg_FOLDER}/model.tflite")
  endif()
  if(NOT EXISTS "${model}")
    message(WARNING "network ${name} is left out: no model in ${arg_FOLDER}")
    return()
  endif()
  set(outputs "${arg_FOLDER}/outputs.npz")
  if(EXISTS "${arg_FOLDER}/outputs_tflm.npz")
    set(outputs "${arg_FOLDER}/outputs_tflm.npz")
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
  set(NETWORK_${name}_MODEL "${model}" PARENT_SCOPE)
  set(NETWORK_${name}_OUTPUTS "${outputs}" PARENT_SCOPE)
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
    declare_variant(${name} host PLATFORM host)
  endforeach()
  add_variants()
endfunction()

# Every declared network in QEMU: untiled, tiled at its size of l1 and at the smallest that
# works, and a test that all of them give the same bits.
function(add_networks_in_qemu)
  find_smallest_sizes()
  foreach(name IN LISTS NETWORKS)
    set(platform "${NETWORK_${name}_PLATFORM}")
    set(l1 "${NETWORK_${name}_L1}")
    declare_variant(${name} untiled PLATFORM ${platform}-single)
    declare_variant(${name} tiled PLATFORM ${platform} POOLS l1=${l1})
    declare_variant(${name} smallest PLATFORM ${platform} POOLS l1=${SMALLEST_${name}})
    if((NETWORK_${name}_VECTORS OR TILEWRIGHT_LONG_TESTS) AND NOT platform MATCHES "f$")
      declare_variant(${name} rvv PLATFORM rv32-rvv)
    endif()
    if(NETWORK_${name}_DOUBLE)
      declare_variant(${name} double PLATFORM ${platform} POOLS l1=${l1} BUFFERING double)
    endif()
    if(NETWORK_${name}_LEVELS)
      declare_variant(
        ${name}
        levels
        PLATFORM qemu-virt-rv32-l3
        OPTIONS "${CMAKE_CURRENT_SOURCE_DIR}/bytes_moved.toml"
      )
      math(EXPR l2 "2 * ${l1}")
      declare_variant(${name} chain PLATFORM l3-chain POOLS l1=${l1} l2=${l2})
    endif()
  endforeach()
  add_network_tests()
endfunction()

# Networks on Cortex-M in QEMU: untiled and tiled with the kernels of every core, with those of the DSP extension and of
# Helium, and a test that all of them give the same bits.
function(add_networks_on_arm)
  set(NETWORKS ${ARGN})
  foreach(name IN LISTS NETWORKS)
    declare_variant(${name} untiled PLATFORM mps2-an385-single)
    declare_variant(${name} tiled PLATFORM mps2-an385 POOLS l1=${NETWORK_${name}_L1})
    declare_variant(${name} dsp PLATFORM cortex-m4)
    declare_variant(${name} mve PLATFORM cortex-m55)
  endforeach()
  add_network_tests()
endfunction()

# All declared variants of NETWORKS, and a test for each network.
function(add_network_tests)
  add_variants(add_golden_program)
  foreach(name IN LISTS NETWORKS)
    add_network_test(${name})
  endforeach()
endfunction()

# A model and its golden test, both with the same name up to the dot, for add_variants.
macro(declare_variant name variant)
  list(APPEND VARIANTS ${name}.${variant})
  set(VARIANT_${name}.${variant} "${ARGN}")
endmacro()

# Adds all declared variants: each with a test of its own, or without tests if called with add_golden_program.
# One process generates for all of it: the tool's start takes longer than the generation of a small
# model.
function(add_variants)
  set(add_model tilewright_add_model)
  set(add_golden tilewright_add_golden_test)
  if(ARGN)
    set(add_golden ${ARGN})
  endif()
  foreach(step IN ITEMS model golden)
    set(REQUESTS "")
    foreach(variant IN LISTS VARIANTS)
      call_for_variant(request_${step} ${step} ${variant})
    endforeach()
    generate_together("${REQUESTS}")
    foreach(variant IN LISTS VARIANTS)
      call_for_variant(${add_${step}} ${step} ${variant})
    endforeach()
  endforeach()
  foreach(variant IN LISTS VARIANTS)
    if(TEST ${variant})
      string(REGEX REPLACE "^.*[.]" "" kind "${variant}")
      set_tests_properties(${variant} PROPERTIES LABELS "networks;${kind}")
    endif()
  endforeach()
endfunction()

# Declares and adds one variant.
function(add_variant name variant)
  declare_variant(${name} ${variant} ${ARGN})
  add_variants()
endfunction()

# A function with the arguments of tilewright_add_model or tilewright_add_golden_test for a variant.
macro(call_for_variant function step variant)
  string(REGEX REPLACE "[.].*$" "" name "${variant}")
  string(REPLACE "." "_" target "${variant}")
  set(folder "${NETWORK_${name}_FOLDER}")
  if("${step}" STREQUAL "model")
    set(
      arguments
      ${target}
      MODEL
      "${NETWORK_${name}_MODEL}"
      NAME
      net
      ${VARIANT_${variant}}
    )
    if(NETWORK_${name}_TYPES)
      list(APPEND arguments TYPES ${NETWORK_${name}_TYPES})
    endif()
  else()
    set(arguments NAME ${variant} MODEL ${target})
    list(APPEND arguments INPUTS "${folder}/inputs.npz" OUTPUTS "${NETWORK_${name}_OUTPUTS}")
    if(NETWORK_${name}_TOLERANCE)
      list(APPEND arguments TOLERANCE ${NETWORK_${name}_TOLERANCE})
    endif()
  endif()
  cmake_language(CALL ${function} ${arguments})
endmacro()

# The program of tilewright_add_golden_test, without its test.
function(add_golden_program)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;MODEL;INPUTS;OUTPUTS;TOLERANCE" "")
  _tilewright_read_golden()
  _tilewright_generate("${caller}" MANIFEST "${manifest}" INPUTS ${inputs} COMMAND ${command})
  _tilewright_golden_executable("${arg_NAME}" "${arg_MODEL}" "${manifest}" FALSE)
  tilewright_use_port("${arg_NAME}" PLATFORM "${platform}" MAP)
endfunction()

# One test of all variants of a network, each of which runs once: a process for each of them and
# for each comparison would take longer than QEMU. Their outputs have the same checksums; floats
# where sums keep their order.
function(add_network_test name)
  set(programs "")
  foreach(
    variant
    IN
    ITEMS untiled rvv dsp mve tiled double levels chain smallest
  )
    if(NOT TARGET ${name}.${variant})
      continue()
    endif()
    get_target_property(plan ${name}_${variant} TILEWRIGHT_PLAN)
    get_target_property(platform ${name}_${variant} TILEWRIGHT_PLATFORM)
    list(
      APPEND programs
      --variant
      ${variant}
      "${platform}"
      $<TARGET_FILE:${name}.${variant}>
      "${plan}"
    )
  endforeach()
  set(options "")
  if(NETWORK_${name}_PLATFORM MATCHES "f$")
    list(APPEND options --float --fused mve)
  endif()
  # The bytes are those that the costs of qemu-virt-rv32 lead to.
  if(NETWORK_${name}_MOST AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL "arm")
    list(APPEND options --most ${NETWORK_${name}_MOST})
  endif()
  add_test(
    NAME ${name}
    COMMAND
      "${TILEWRIGHT_TOOL_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/run_network.py" ${programs} --l1
      ${NETWORK_${name}_L1} ${options}
  )
  set_tests_properties(${name} PROPERTIES LABELS networks TIMEOUT 600)
endfunction()

# What tilewright_add_model would generate, as a line of REQUESTS.
function(request_model target)
  set(caller "request_model(${target})")
  cmake_parse_arguments(
    PARSE_ARGV 1
    arg
    "PROFILE"
    "MODEL;PLATFORM;NAME;BUFFERING;ALGORITHM;GROUPS;OPTIONS"
    "POOLS;TYPES"
  )
  _tilewright_read_model()
  request_command()
endfunction()

# What tilewright_add_golden_test would generate, as a line of REQUESTS.
function(request_golden)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;MODEL;INPUTS;OUTPUTS;TOLERANCE" "")
  _tilewright_read_golden()
  request_command()
endfunction()

# Adds what _tilewright_read_... found to REQUESTS of the caller's caller.
macro(request_command)
  _tilewright_fingerprint(fingerprint "${inputs}" "${command}")
  _tilewright_is_fresh(fresh "${manifest}" "${fingerprint}")
  if(NOT fresh)
    list(JOIN command "\t" words)
    set(REQUESTS "${REQUESTS}${manifest}\t${fingerprint}\t${words}\n" PARENT_SCOPE)
  endif()
endmacro()

# Generates in one process what the following calls would each start the tool for.
function(generate_together requests)
  if(NOT requests MATCHES "\n.+\n")
    return()
  endif()
  set(file "${CMAKE_CURRENT_BINARY_DIR}/together.request")
  file(WRITE "${file}" "${requests}")
  _tilewright_interpreter(python "generate_together()")
  execute_process(
    COMMAND "${python}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/generate_together.py" "${file}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMAND_ERROR_IS_FATAL ANY
  )
endfunction()

# Sets SMALLEST_<name> to the smallest l1 in bytes with which each network can be tiled.
function(find_smallest_sizes)
  set(requests "")
  foreach(name IN LISTS NETWORKS)
    list(JOIN NETWORK_${name}_TYPES " " types)
    set(model "${NETWORK_${name}_MODEL}")
    string(APPEND requests "${name}\t${model}\t${NETWORK_${name}_PLATFORM}\t${types}\n")
  endforeach()
  file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/smallest.request" "${requests}")
  _tilewright_interpreter(python "find_smallest_sizes()")
  execute_process(
    COMMAND
      "${python}" "${CMAKE_CURRENT_SOURCE_DIR}/smallest_sizes.py"
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
