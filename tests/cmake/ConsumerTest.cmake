# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

# An interpreter for tests that start Tilewright many times: the fixture's process has imported it.
set(TILEWRIGHT_WARM_PYTHON "${CMAKE_BINARY_DIR}/warm/python" CACHE INTERNAL "")
foreach(action IN ITEMS start end)
  add_test(
    NAME warm-${action}
    COMMAND
      "${TILEWRIGHT_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/../support/warm_tool.py" ${action}
      "${CMAKE_BINARY_DIR}/warm"
  )
endforeach()
set_tests_properties(warm-start PROPERTIES FIXTURES_SETUP warm)
set_tests_properties(warm-end PROPERTIES FIXTURES_CLEANUP warm)

#[[
add_consumer_test(<test> SOURCE <folder> [GENERATOR <name>] [TOOLCHAIN <name>] [COLD] [OPTIONS -D...])

A test that configures, builds and tests a project in a fresh folder. COLD starts the tool as users do.
#]]
function(add_consumer_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "COLD" "SOURCE;GENERATOR;TOOLCHAIN" "OPTIONS")
  if(NOT arg_GENERATOR)
    set(arg_GENERATOR Ninja)
  endif()
  if(arg_TOOLCHAIN)
    set(arg_TOOLCHAIN "${tilewright_SOURCE_DIR}/cmake/toolchains/${arg_TOOLCHAIN}.cmake")
  endif()
  set(python "${TILEWRIGHT_WARM_PYTHON}")
  if(arg_COLD)
    set(python "${TILEWRIGHT_PYTHON}")
  endif()
  add_test(
    NAME "${name}"
    COMMAND
      "${CMAKE_COMMAND}" "-Dsource=${arg_SOURCE}" "-Dbinary=${CMAKE_CURRENT_BINARY_DIR}/${name}"
      "-Dgenerator=${arg_GENERATOR}" "-Dtoolchain=${arg_TOOLCHAIN}" "-Dpython=${python}"
      "-Doptions=${arg_OPTIONS}" -P "${tilewright_SOURCE_DIR}/tests/cmake/run_consumer.cmake"
  )
  set_tests_properties("${name}" PROPERTIES TIMEOUT 900)
  if(NOT arg_COLD)
    set_tests_properties("${name}" PROPERTIES FIXTURES_REQUIRED warm)
  endif()
endfunction()
