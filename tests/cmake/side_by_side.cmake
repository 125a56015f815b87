# SPDX-License-Identifier: Apache-2.0
# Models of a folder that are planned at one time: the same files as one after the other, an unchanged
# configure starts nothing, a change plans one model again, failures are told together with their places.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}/sub" "${folder}/tests")
make_model("${folder}/one.onnx" good "${folder}/inputs.npz" "${folder}/outputs.npz")
make_model("${folder}/two.onnx" wide)
make_model("${folder}/unknown.onnx" unknown)
set(
  head
  "cmake_minimum_required(VERSION 3.22)
project(p LANGUAGES C)
enable_testing()
add_subdirectory([[${root}]] tilewright)
"
)
set(
  models
  "tilewright_add_model(one MODEL one.onnx PLATFORM host STATIC_POOLS)
tilewright_add_model(
  two MODEL two.onnx PLATFORM host)
add_subdirectory(sub)
"
)
file(
  WRITE "${folder}/main.c"
  "#include \"one.h\"\n#include \"two.h\"\n#include \"three.h\"\n"
  "int main(void) { return ONE_POOL_FLASH_SIZE == 0 || TWO_POOL_FLASH_SIZE == 0 || THREE_POOL_FLASH_SIZE == 0; }\n"
)
set(
  program
  "add_executable(program main.c)
target_link_libraries(program PRIVATE one two three)
tilewright_add_simulation_test(NAME runs TARGET program SIMULATOR host)
"
)
file(
  WRITE "${folder}/sub/CMakeLists.txt"
  "tilewright_add_model(three MODEL ../two.onnx PLATFORM host)\n"
)

# expect_refused(<pattern> <text>): configure fails with a text that matches.
function(expect_refused pattern text)
  file(WRITE "${folder}/CMakeLists.txt" "${head}${text}")
  configure_project("${folder}" "${folder}/refused" may_fail)
  if(status EQUAL 0)
    message(FATAL_ERROR "configure did not fail for:\n${text}")
  endif()
  expect_match("${output}" "${pattern}")
endfunction()

# Sets the names of all generated files of a build with their hashes, but for what names the build.
function(hashes result build)
  set(text "")
  foreach(part IN ITEMS tilewright/one tilewright/two sub/tilewright/three)
    file(
      GLOB files
      RELATIVE "${build}"
      "${build}/${part}/*.c"
      "${build}/${part}/*.h"
      "${build}/${part}/*.json"
    )
    list(LENGTH files count)
    if(count LESS 6)
      message(FATAL_ERROR "${part} has ${count} files")
    endif()
    foreach(file IN LISTS files)
      file(SHA256 "${build}/${file}" hash)
      string(APPEND text "${file} ${hash}\n")
    endforeach()
  endforeach()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

message("=== the same files as one after the other")
file(WRITE "${folder}/CMakeLists.txt" "${head}${models}${program}")
configure_project("${folder}" "${folder}/apart")
foreach(way IN ITEMS ON 1 3)
  set(options "-DTILEWRIGHT_SIDE_BY_SIDE=${way}")
  configure_project("${folder}" "${folder}/beside-${way}")
  foreach(model IN ITEMS one two three)
    expect_match("${output}" "-- ${model}: [0-9]+ layers on host[^\n]*\n")
  endforeach()
  expect_no_match("${output}" "unchanged")
  hashes(wanted "${folder}/apart")
  hashes(got "${folder}/beside-${way}")
  if(NOT got STREQUAL wanted)
    message(FATAL_ERROR "side by side (${way}):\n${got}one after the other:\n${wanted}")
  endif()
endforeach()
set(options -DTILEWRIGHT_SIDE_BY_SIDE=ON)
build_project("${folder}/beside-ON")
test_project("${folder}/beside-ON")

message("=== unchanged: nothing is planned, and no process started")
file(REMOVE "${folder}/beside-ON/tilewright/two/two_manifest.json.status")
configure_project("${folder}" "${folder}/beside-ON")
expect_match("${output}" "-- one: [^\n]* \\(unchanged\\)\n(.*\n)?-- two: [^\n]* \\(unchanged\\)\n")
if(EXISTS "${folder}/beside-ON/tilewright/two/two_manifest.json.status")
  message(FATAL_ERROR "two.onnx was planned again")
endif()

message("=== one changed: it alone is planned again")
make_model("${folder}/one.onnx" wide)
configure_project("${folder}" "${folder}/beside-ON")
expect_match("${output}" "-- one: [^\n]* [(]optimal[)]\n(.*\n)?-- two: [^\n]* \\(unchanged\\)\n")

message("=== failures are told together, with the places of the calls")
expect_refused(
  "tilewright_add_model\\(bad\\) at CMakeLists.txt:6:[\n ]*error\\[.*unknown.onnx.*tilewright_add_model\\(late\\) at CMakeLists.txt:7:[\n ]*error\\[.*to repeat:"
  "tilewright_add_model(one MODEL one.onnx PLATFORM host)
tilewright_add_model(bad MODEL unknown.onnx PLATFORM host)
tilewright_add_model(
late
MODEL absent.onnx PLATFORM host)
"
)
if(EXISTS "${folder}/refused/tilewright/one/one_manifest.json.stamp")
  message(FATAL_ERROR "a model of a failed configuration counts as planned")
endif()

message("=== properties behind tilewright_plan_models, and other functions")
file(
  WRITE "${folder}/CMakeLists.txt"
  "${head}
tilewright_add_model(one MODEL one.onnx PLATFORM host)
tilewright_add_model(two MODEL two.onnx PLATFORM host)
get_target_property(early one TILEWRIGHT_POOLS)
tilewright_plan_models()
get_target_property(pools one TILEWRIGHT_POOLS)
message(STATUS \"pools early '\${early}', then '\${pools}'\")
tilewright_add_model(five MODEL two.onnx PLATFORM host)
tilewright_add_workspace(both MODELS one five)
add_subdirectory(tests)
"
)
file(
  WRITE "${folder}/tests/CMakeLists.txt"
  "tilewright_add_golden_test(NAME g MODEL two INPUTS ../wide_in.npz OUTPUTS ../wide_out.npz TOLERANCE 1e-5:1e-5)\n"
)
make_model("${folder}/wide.onnx" wide "${folder}/wide_in.npz" "${folder}/wide_out.npz")
configure_project("${folder}" "${folder}/properties")
expect_match("${output}" "pools early 'early-NOTFOUND', then '[a-z0-9]+=[0-9]+")
expect_match("${output}" "-- both: ")
build_project("${folder}/properties")
test_project("${folder}/properties")

message("=== a folder cannot make the plans of one around it")
expect_refused(
  "tilewright_add_golden_test\\(g\\):[\n ]*error\\[usage\\]: models of .* are not planned yet: two[\n ]*help: tilewright_plan_models\\(\\) there"
  "tilewright_add_model(two MODEL two.onnx PLATFORM host)\nadd_subdirectory(tests)\n"
)
