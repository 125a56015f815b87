# SPDX-License-Identifier: Apache-2.0
# Golden and simulation tests pass when they should, and fail when they should.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
choose_platform(platform)
make_model("${folder}/kws.onnx" good "${folder}/inputs.npz" "${folder}/outputs.npz")
# One element, one bit of its top byte: the smallest lie that a file can tell.
execute_process(
  COMMAND
    "${python}" -c
    "import sys, numpy as np\nz = dict(np.load(sys.argv[1]))\nz['scores'].view(np.uint8)[0, 3] ^= 0x40\nnp.savez(sys.argv[2], **z)"
    "${folder}/outputs.npz" "${folder}/changed.npz"
  COMMAND_ERROR_IS_FATAL ANY
)
execute_process(
  COMMAND
    "${python}" -c
    "import sys, numpy as np\nfor p in sys.argv[1:]:\n    z = np.load(p); np.savez(p[:-4] + '3.npz', *[np.stack([z[k]] * 3) for k in z.files])"
    "${folder}/inputs.npz" "${folder}/outputs.npz"
  COMMAND_ERROR_IS_FATAL ANY
)
file(WRITE "${folder}/fail.c" "int main(void)\n{\n    return 3;\n}\n")
file(WRITE "${folder}/hang.c" "int main(void)\n{\n    for (;;) {\n    }\n}\n")
file(
  WRITE "${folder}/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
enable_testing()
add_subdirectory([[${root}]] tilewright)
tilewright_add_model(kws MODEL kws.onnx PLATFORM ${platform})
tilewright_add_golden_test(NAME right MODEL kws INPUTS inputs.npz OUTPUTS outputs.npz TOLERANCE 1e-5:1e-4)
tilewright_add_golden_test(NAME timed MODEL kws INPUTS inputs.npz OUTPUTS outputs.npz TOLERANCE 1e-5:1e-4 UNWATCHED)
tilewright_add_golden_test(NAME three-runs MODEL kws INPUTS inputs3.npz OUTPUTS outputs3.npz TOLERANCE 1e-5:1e-4)
tilewright_add_golden_test(NAME layers MODEL kws INPUTS inputs3.npz OUTPUTS outputs3.npz TOLERANCE 1e-5:1e-4 COMPARE_LAYERS 2)
tilewright_add_golden_test(NAME wrong MODEL kws INPUTS inputs.npz OUTPUTS changed.npz TOLERANCE 1e-5:1e-4)
tilewright_add_model(measured MODEL kws.onnx PLATFORM ${platform} PROFILE)
tilewright_add_golden_test(NAME profiled MODEL measured INPUTS inputs.npz OUTPUTS outputs.npz TOLERANCE 1e-5:1e-4)
file(WRITE \${CMAKE_BINARY_DIR}/silent.c \"int main(void)\\n{\\n    return 0;\\n}\\n\")
add_executable(silent \${CMAKE_BINARY_DIR}/silent.c)
target_link_libraries(silent PRIVATE measured)
tilewright_use_port(silent PLATFORM ${platform})
tilewright_add_simulation_test(NAME silent TARGET silent)
foreach(program fail hang)
  add_executable(\${program} \${program}.c)
  tilewright_use_port(\${program} PLATFORM ${platform})
  tilewright_add_simulation_test(NAME \${program} TARGET \${program} SIMULATOR ${platform} TIMEOUT 2)
endforeach()
"
)
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")
test_project("${folder}/build" may_fail)
expect_match("${output}" "right [.]+ +Passed")
expect_match("${output}" "three-runs [.]+ +Passed")
execute_process(
  COMMAND ctest -V -R "^timed$"
  WORKING_DIRECTORY "${folder}/build"
  OUTPUT_VARIABLE timed
  COMMAND_ERROR_IS_FATAL ANY
)
expect_match("${timed}" "golden net: pass|golden kws: pass")
if(timed MATCHES "watched run")
  message(FATAL_ERROR "UNWATCHED was watched:\n${timed}")
endif()
if(toolchain)
  expect_match("${output}" "watched run: kept the rules")
endif()
expect_match("${output}" "run 2: scores: 0 of 10 beyond tolerance")
expect_match("${output}" "layers [.]+ +Passed")
expect_match("${output}" "run 1: ([0-9]+) of [0-9]+ tensors between layers are as they should be")
expect_match("${output}" "wrong [.]+[* ]+Failed")
expect_match("${output}" "run 0: scores.0.: got [^\n]*, want")
expect_match("${output}" "fail [.]+[* ]+Failed")
expect_match("${output}" "hang [.]+[* ]+Failed")
expect_match("${output}" "killed after 2 s")
expect_match("${output}" "profiled [.]+ +Passed")
expect_match("${output}" "silent [.]+[* ]+Failed")
expect_match("${output}" "profile-lines.: the program printed no profile of .measured.")
file(READ "${folder}/build/profiled_profile.json" profile)
string(JSON layers LENGTH "${profile}" layers)
string(JSON spent GET "${profile}" cycles)
if(layers LESS 1 OR spent LESS 1)
  message(FATAL_ERROR "profiled_profile.json has ${layers} layers and ${spent} units of time")
endif()
if(toolchain)
  expect_match("${output}" "profile measured +instructions +in kernels")
  expect_match("${output}" "link sram->l1: [1-9][0-9]* bytes")
  expect_match("${output}" "watched run: kept the rules")
endif()
