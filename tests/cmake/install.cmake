# SPDX-License-Identifier: Apache-2.0
# `cmake --install`, then find_package from a project that knows nothing of the source tree.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}")
set(
  options
  -DTILEWRIGHT_TESTS=OFF
  -DTILEWRIGHT_EXAMPLES=OFF
  "-DCMAKE_INSTALL_PREFIX=${folder}/prefix"
)
configure_project("${root}" "${folder}/tilewright")
run_step(status output "${CMAKE_COMMAND}" --install "${folder}/tilewright")
finish_step("${status}" "${output}")

make_model("${folder}/kws.onnx")
file(
  WRITE "${folder}/CMakeLists.txt"
  "cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
find_package(Tilewright 0.1 REQUIRED)
tilewright_add_model(kws MODEL kws.onnx PLATFORM host)
"
)
set(options "-DCMAKE_PREFIX_PATH=${folder}/prefix")
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")

# The next version is another matter.
file(READ "${folder}/CMakeLists.txt" lists)
string(REPLACE "Tilewright 0.1" "Tilewright 9.9" lists "${lists}")
file(WRITE "${folder}/CMakeLists.txt" "${lists}")
configure_project("${folder}" "${folder}/build" may_fail)
if(status EQUAL 0)
  message(FATAL_ERROR "find_package accepted another version")
endif()
