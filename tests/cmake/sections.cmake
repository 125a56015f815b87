# SPDX-License-Identifier: Apache-2.0
# A section that POOLS give to a pool: the shipped linker script places it with the pool, whether the
# model is linked before or behind tilewright_use_port; models that give other sections do not agree.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
set(platform qemu-virt-rv32f)
make_model("${folder}/one.onnx")
file(
  WRITE "${folder}/main.c"
  [[
#include "one.h"

extern uint8_t one_pool_l1[], tilewright_pool_l1_start[], tilewright_pool_l1_end[];

static _Alignas(16) float audio[ONE_INPUT_AUDIO_COUNT];
static _Alignas(16) float scores[ONE_OUTPUT_SCORES_COUNT];

int main(void)
{
    const struct one_inputs in = {.audio = audio};
    const struct one_outputs out = {.scores = scores};
    if (one_run(&in, &out) != ONE_OK) {
        return 1;
    }
    return one_pool_l1 >= tilewright_pool_l1_start &&
                   one_pool_l1 + ONE_POOL_L1_SIZE <= tilewright_pool_l1_end
               ? 0
               : 2;
}
]]
)
file(
  WRITE "${folder}/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
enable_testing()
add_subdirectory([[${root}]] tilewright)
tilewright_add_model(one MODEL one.onnx PLATFORM ${platform} STATIC_POOLS POOLS l1=8192@.bss.tight)
add_executable(before main.c)
target_link_libraries(before PRIVATE one)
tilewright_use_port(before PLATFORM ${platform})
add_executable(behind main.c)
tilewright_use_port(behind PLATFORM ${platform})
target_link_libraries(behind PRIVATE one)
tilewright_add_simulation_test(NAME before TARGET before SIMULATOR ${platform})
tilewright_add_simulation_test(NAME behind TARGET behind SIMULATOR ${platform})
"
)
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")
test_project("${folder}/build")
expect_match("${output}" "before [.]+ +Passed.*behind [.]+ +Passed")

message("=== another model gives the pool another section")
file(
  APPEND "${folder}/CMakeLists.txt"
  "tilewright_add_model(two MODEL one.onnx PLATFORM ${platform} STATIC_POOLS POOLS l1=8192@.other)
target_link_libraries(behind PRIVATE two)
"
)
configure_project("${folder}" "${folder}/build" may_fail)
if(status EQUAL 0)
  message(FATAL_ERROR "two linker scripts were taken for one firmware")
endif()
expect_match("${output}" "TILEWRIGHT_LINKER_SCRIPT")
