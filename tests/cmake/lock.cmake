# SPDX-License-Identifier: Apache-2.0
# PLAN_LOCK: the error without a lock names the command that makes one; with it nothing is planned
# anew; a lock that changes or no longer fits is noticed at the next build.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

# Configure, which fails, and run the command that the error names.
function(expect_stale pattern)
  configure_project("${folder}" "${folder}/build" may_fail)
  if(status EQUAL 0)
    message(FATAL_ERROR "a lock that does not fit was accepted")
  endif()
  expect_match("${output}" "tilewright_add_model\\(m\\):[\n ]*error\\[plan-lock\\]: ${pattern}")
  string(REGEX MATCH "help: tilewright ([^\n]*)" found "${output}")
  separate_arguments(words UNIX_COMMAND "${CMAKE_MATCH_1}")
  execute_process(COMMAND "${python}" -m tilewright ${words} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(write_lists)
  file(
    WRITE "${folder}/CMakeLists.txt"
    "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C)\n"
    "add_subdirectory([[${root}]] tilewright)\n"
    "tilewright_add_model(m MODEL good.onnx PLATFORM host PLAN_LOCK m.lock.json ${ARGN})\n"
  )
endfunction()

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
make_model("${folder}/good.onnx")

message("=== no lock yet")
write_lists()
expect_stale("cannot read the plan lock")
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")
file(READ "${folder}/m.lock.json" lock)

message("=== configured again: unchanged")
configure_project("${folder}" "${folder}/build")
expect_match("${output}" "unchanged")

message("=== a damaged lock is noticed by a build")
execute_process(COMMAND "${CMAKE_COMMAND}" -E sleep 1.1)
file(WRITE "${folder}/m.lock.json" "{}")
run_step(status output "${CMAKE_COMMAND}" --build "${folder}/build")
if(status EQUAL 0)
  message(FATAL_ERROR "a damaged lock was accepted")
endif()
expect_match("${output}" "error\\[plan-lock\\]")
file(WRITE "${folder}/m.lock.json" "${lock}")
configure_project("${folder}" "${folder}/build")

message("=== another option")
write_lists(POOLS sram=100000)
expect_stale("platform 'host' or its POOLS have changed")
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")

message("=== a pool over its budget fails the build, one within it does not")
file(READ "${folder}/CMakeLists.txt" lists)
string(REPLACE "PLAN_LOCK m.lock.json" "BUDGET flash=1200" lists "${lists}")
file(WRITE "${folder}/CMakeLists.txt" "${lists}")
build_project("${folder}/build")
execute_process(COMMAND "${CMAKE_COMMAND}" -E sleep 1.1)
string(REPLACE "flash=1200" "flash=1199" lists "${lists}")
file(WRITE "${folder}/CMakeLists.txt" "${lists}")
run_step(status output "${CMAKE_COMMAND}" --build "${folder}/build")
if(status EQUAL 0)
  message(FATAL_ERROR "a pool over its budget was accepted")
endif()
expect_match(
  "${output}"
  "error\\[over-budget\\]: pool 'flash' uses 1,200 bytes, its budget is 1,199 \\(1 too many\\)"
)
