# SPDX-License-Identifier: Apache-2.0
# Two models and their workspace are installed with an export set; another project, which has no
# Tilewright, finds, links and runs them, as docs/how-to/ship-it.md says. What cannot be installed is told.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}/models")
choose_platform(platform)
make_model("${folder}/models/one.onnx")
make_model("${folder}/models/two.onnx" wide)
set(
  lists
  "cmake_minimum_required(VERSION 3.22)
project(models LANGUAGES C)
add_subdirectory([[${root}]] tilewright)
tilewright_add_model(one MODEL one.onnx PLATFORM ${platform} STATIC_POOLS)
tilewright_add_model(two MODEL two.onnx PLATFORM ${platform})
tilewright_add_workspace(shared MODELS two)
tilewright_install_models(one two shared EXPORT models)
install(EXPORT models DESTINATION lib/cmake/models FILE modelsConfig.cmake NAMESPACE models::)
"
)
file(WRITE "${folder}/models/CMakeLists.txt" "${lists}")
set(options "-DCMAKE_INSTALL_PREFIX=${folder}/prefix")
configure_project("${folder}/models" "${folder}/build models")
build_project("${folder}/build models")
run_step(status output "${CMAKE_COMMAND}" --install "${folder}/build models")
finish_step("${status}" "${output}")
file(REMOVE_RECURSE "${folder}/models" "${folder}/build models")

message("=== another project")
file(GLOB_RECURSE texts "${folder}/prefix/*.cmake")
foreach(text IN LISTS texts)
  file(READ "${text}" content)
  expect_no_match("${content}" "${root}")
endforeach()
file(MAKE_DIRECTORY "${folder}/program")
file(
  WRITE "${folder}/program/main.c"
  [[
#include "one.h"
#include "shared.h"
#include "two.h"

static _Alignas(16) float audio[ONE_INPUT_AUDIO_COUNT];
static _Alignas(16) float scores[ONE_OUTPUT_SCORES_COUNT];

int main(void)
{
    audio[0] = 1.0f;
    const struct one_inputs in = {.audio = audio};
    const struct one_outputs out = {.scores = scores};
    return one_run(&in, &out) == ONE_OK ? 0 : 1;
}
]]
)
file(
  WRITE "${folder}/program/CMakeLists.txt"
  [[
cmake_minimum_required(VERSION 3.22)
project(program LANGUAGES C)
enable_testing()
find_package(models REQUIRED)
add_executable(program main.c)
target_link_libraries(program PRIVATE models::one models::shared)
add_test(NAME program COMMAND program)
get_target_property(prefix models::one TILEWRIGHT_C_PREFIX)
get_target_property(pools models::two TILEWRIGHT_POOLS)
message(STATUS "prefix ${prefix}, pools ${pools}")
]]
)
set(python "")
set(options "-DCMAKE_PREFIX_PATH=${folder}/prefix")
configure_project("${folder}/program" "${folder}/build program")
expect_match("${output}" "prefix one, pools [a-z0-9]+=[0-9]+")
build_project("${folder}/build program")
test_project("${folder}/build program")

message("=== what cannot be installed")
file(MAKE_DIRECTORY "${folder}/wrong")
foreach(
  wrong
  IN
  ITEMS
    "main EXPORT x|'main' is no target of tilewright_add_model"
    "main|EXPORT is missing"
    "HEADER y EXPORT x|.HEADER. is no target"
)
  string(REPLACE "|" ";" wrong "${wrong}")
  list(GET wrong 0 words)
  list(GET wrong 1 told)
  file(
    WRITE "${folder}/wrong/CMakeLists.txt"
    "cmake_minimum_required(VERSION 3.22)
project(wrong LANGUAGES C)
add_subdirectory([[${root}]] tilewright)
add_library(main INTERFACE)
tilewright_install_models(${words})
"
  )
  configure_project("${folder}/wrong" "${folder}/build wrong" may_fail)
  expect_match("${output}" "${told}")
  if(status EQUAL 0)
    message(FATAL_ERROR "accepted: ${words}")
  endif()
endforeach()
