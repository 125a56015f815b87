# SPDX-License-Identifier: Apache-2.0
# DIMS and an input that an options file freezes decide shapes; another value of it in its file is
# noticed at the next build. A model without any input is compared with vectors too.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

# write_shape(<extent>...): the npz file that the options file names.
function(write_shape)
  list(JOIN ARGN "," extents)
  execute_process(
    COMMAND
      "${python}" -c
      "import numpy, sys; numpy.savez(sys.argv[1], shape=numpy.array([${extents}], numpy.int64))"
      "${folder}/frozen.npz"
    COMMAND_ERROR_IS_FATAL ANY
  )
endfunction()

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
foreach(variant IN ITEMS shaped still)
  make_model(
    "${folder}/${variant}.onnx"
    ${variant}
    "${folder}/${variant}_inputs.npz"
    "${folder}/${variant}_outputs.npz"
  )
endforeach()
file(WRITE "${folder}/options.toml" "freeze = 'frozen.npz'\n")
file(
  WRITE "${folder}/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.22)\nproject(p LANGUAGES C)\nenable_testing()\n"
  "add_subdirectory([[${root}]] tilewright)\n"
  "tilewright_add_model(shaped MODEL shaped.onnx PLATFORM host DIMS batch=2 OPTIONS options.toml)\n"
  "tilewright_add_model(still MODEL still.onnx PLATFORM host)\n"
  "foreach(model IN ITEMS shaped still)\n"
  "  tilewright_add_golden_test(NAME \${model}.golden MODEL \${model} TOLERANCE 1e-5:1e-5\n"
  "    INPUTS \${model}_inputs.npz OUTPUTS \${model}_outputs.npz)\nendforeach()\n"
)
write_shape(5 2 2)
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")
test_project("${folder}/build")
# CTest 4 counts no failures where there are none.
expect_match("${output}" "100% tests passed(, 0 tests failed)? out of 2")

message("=== another shape in the npz file: generated again")
execute_process(COMMAND "${CMAKE_COMMAND}" -E sleep 1.1)
write_shape(4 5 1)
build_project("${folder}/build")
file(STRINGS "${folder}/build/tilewright/shaped/shaped.h" lines REGEX "[[]4[]][[]5[]][[]1[]]")
if(NOT lines)
  message(FATAL_ERROR "the outputs have the earlier shape")
endif()
