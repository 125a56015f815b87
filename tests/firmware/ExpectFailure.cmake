# SPDX-License-Identifier: Apache-2.0
# Tests that golden tests and scripts fail where they must.
include_guard(GLOBAL)

# A test that a command ends with status 1 and prints what matches a pattern.
function(expect_failure name pattern)
  add_test(
    NAME failures.${name}
    COMMAND
      "${TILEWRIGHT_TOOL_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/expect_failure.py" "${pattern}"
      ${ARGN}
  )
  set_tests_properties(failures.${name} PROPERTIES LABELS failures)
endfunction()

# A golden test of its own name, and a test that it fails with a text that matches a pattern.
function(expect_golden_failure name pattern)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "MODEL" "")
  get_target_property(platform "${arg_MODEL}" TILEWRIGHT_PLATFORM)
  tilewright_add_golden_test(NAME failures.${name}.golden ${ARGN})
  # WILL_FAIL takes any failure for the right one; expect_failure says which it has to be.
  set_tests_properties(failures.${name}.golden PROPERTIES WILL_FAIL TRUE LABELS failures)
  expect_failure(
    ${name}
    "${pattern}"
    "${TILEWRIGHT_TOOL_PYTHON}"
    -m
    tilewright
    simulate
    --platform
    "${platform}"
    --elf
    $<TARGET_FILE:failures.${name}.golden>
  )
endfunction()

# One byte of the stored outputs, by one.
set(changed "${CMAKE_CURRENT_BINARY_DIR}/changed_byte.npz")
execute_process(
  COMMAND
    "${TILEWRIGHT_TOOL_PYTHON}" "${CMAKE_CURRENT_SOURCE_DIR}/change_byte.py"
    "${CMAKE_CURRENT_LIST_DIR}/models/deeploy_residual/outputs.npz" "${changed}"
  COMMAND_ERROR_IS_FATAL ANY
)
