# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

#[[
add_consumer_test(<test> SOURCE <folder> [GENERATOR <name>] [TOOLCHAIN <name>] [OPTIONS -D...])

A test that configures, builds and tests a project in a fresh folder.
#]]
function(add_consumer_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;GENERATOR;TOOLCHAIN" "OPTIONS")
  if(NOT arg_GENERATOR)
    set(arg_GENERATOR Ninja)
  endif()
  if(arg_TOOLCHAIN)
    set(arg_TOOLCHAIN "${tilewright_SOURCE_DIR}/cmake/toolchains/${arg_TOOLCHAIN}.cmake")
  endif()
  add_test(
    NAME "${name}"
    COMMAND
      "${CMAKE_COMMAND}" "-Dsource=${arg_SOURCE}" "-Dbinary=${CMAKE_CURRENT_BINARY_DIR}/${name}"
      "-Dgenerator=${arg_GENERATOR}" "-Dtoolchain=${arg_TOOLCHAIN}" "-Dpython=${TILEWRIGHT_PYTHON}"
      "-Doptions=${arg_OPTIONS}" -P "${tilewright_SOURCE_DIR}/tests/cmake/run_consumer.cmake"
  )
  set_tests_properties("${name}" PROPERTIES TIMEOUT 900)
endfunction()
