# SPDX-License-Identifier: Apache-2.0
# Two models that need the same kernels, linked into one firmware; each with kernels of its own,
# and with kernels that are compiled once. Another firmware has the same port.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
choose_platform(platform)
make_model("${folder}/one.onnx")
make_model("${folder}/two.onnx" wide)
file(
  WRITE "${folder}/main.c"
  [[
#include "one.h"
#include "two.h"

static _Alignas(16) float audio[ONE_INPUT_AUDIO_COUNT];
static _Alignas(16) float first[ONE_OUTPUT_SCORES_COUNT];
static _Alignas(16) float second[TWO_OUTPUT_SCORES_COUNT];

int main(void)
{
    audio[0] = 1.0f;
    const struct one_inputs one_in = {.audio = audio};
    const struct one_outputs one_out = {.scores = first};
    const struct two_inputs two_in = {.audio = audio};
    const struct two_outputs two_out = {.scores = second};
    int failed = one_run(&one_in, &one_out) != ONE_OK || two_run(&two_in, &two_out) != TWO_OK;
    return failed;
}
]]
)
file(
  WRITE "${folder}/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
enable_testing()
add_subdirectory([[${root}]] tilewright)
tilewright_add_model(one MODEL one.onnx PLATFORM ${platform} STATIC_POOLS)
tilewright_add_model(two MODEL two.onnx PLATFORM ${platform} STATIC_POOLS)
foreach(program IN ITEMS firmware other)
  add_executable(\${program} main.c)
  target_link_libraries(\${program} PRIVATE one two)
  tilewright_use_port(\${program} PLATFORM ${platform})
endforeach()
tilewright_add_simulation_test(NAME both TARGET firmware)
get_target_property(pools one TILEWRIGHT_POOLS)
get_target_property(prefix one TILEWRIGHT_C_PREFIX)
message(STATUS \"pools \${pools}, prefix \${prefix}\")
foreach(property PLAN MANIFEST REPORT)
  get_target_property(file one TILEWRIGHT_\${property})
  if(NOT EXISTS \"\${file}\")
    message(FATAL_ERROR \"TILEWRIGHT_\${property} is '\${file}', which is no file\")
  endif()
endforeach()
"
)
# How often a source was compiled in the build that ran last.
function(expect_compiled pattern wanted)
  string(REGEX MATCHALL "Building C object [^\n]*${pattern}" compiled "${output}")
  list(LENGTH compiled count)
  if(NOT count EQUAL wanted)
    message(FATAL_ERROR "${pattern} was compiled ${count} times instead of ${wanted}")
  endif()
endfunction()

configure_project("${folder}" "${folder}/build")
expect_match("${output}" "pools [a-z0-9]+=[0-9]+;.*, prefix one")
build_project("${folder}/build")
expect_compiled("matmul_f32[.]c" 2)
expect_compiled("/port[.]c" 2)
test_project("${folder}/build")
expect_match("${output}" "both [.]+ +Passed")

message("=== kernels and ports compiled once")
set(options -DTILEWRIGHT_SHARE_KERNELS=ON)
configure_project("${folder}" "${folder}/build-shared")
build_project("${folder}/build-shared")
expect_compiled("matmul_f32[.]c" 1)
expect_compiled("/port[.]c" 1)
expect_compiled("crt0[.]S" 1)
test_project("${folder}/build-shared")

message("=== other options for one model's folder: kernels of its own")
file(READ "${folder}/CMakeLists.txt" lists)
string(
  REPLACE "tilewright_add_model(two"
  "add_compile_options(-g3)\ntilewright_add_model(two"
  lists
  "${lists}"
)
file(WRITE "${folder}/CMakeLists.txt" "${lists}")
build_project("${folder}/build-shared")
expect_match("${output}" "Building C object [^\n]*matmul_f32[.]c")
test_project("${folder}/build-shared")
