# SPDX-License-Identifier: Apache-2.0
# An interpreter without Tilewright: an environment is made from it, once for two configures at the
# same time, whatever the cross compiler's variables say; and from a folder of wheels without a
# network, as docs/how-to/install.md says. An environment that is cut short is made again. It takes
# at most 200 MB, and brings the solver when a model needs it.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

write_readme_project("${folder}")
execute_process(COMMAND "${python}" -m venv "${folder}/empty" COMMAND_ERROR_IS_FATAL ANY)
set(with_tool "${python}")
set(python "${folder}/empty/bin/python")
set(ENV{CC} no-such-compiler)
set(ENV{CXX} no-such-compiler)
set(ENV{CFLAGS} -march=nonsense)
set(ENV{CXXFLAGS} -march=nonsense)
set(ENV{LDFLAGS} -Wl,--no-such-option)
set(ENV{CMAKE_GENERATOR} "No Such Generator")
set(
  options
  -DPLATFORM=qemu-virt-rv32
  "-DCMAKE_C_FLAGS=--specs=picolibc.specs"
  -DCMAKE_EXE_LINKER_FLAGS=
)

function(count_environments expected)
  file(GLOB environments "${cache}/tool-*/complete")
  list(LENGTH environments count)
  if(NOT count EQUAL expected)
    message(FATAL_ERROR "${count} environments were made, not ${expected}")
  endif()
endfunction()

message("=== two configures at the same time, from sources")
set(cache "${folder}/cache")
set(
  configure
  "${CMAKE_COMMAND}"
  -S
  "${folder}"
  -G
  "${generator}"
  "-DCMAKE_TOOLCHAIN_FILE=${toolchain}"
  "-DTILEWRIGHT_PYTHON=${python}"
  "-DTILEWRIGHT_CACHE_DIR=${cache}"
  ${options}
)
file(MAKE_DIRECTORY "${folder}/build")
# Commands of one call run at the same time, but each writes into the next.
set(into_a_file sh -c "log=\"$1\" && shift && exec \"$@\" >\"$log\" 2>&1" sh)
execute_process(
  COMMAND ${into_a_file} "${folder}/one.log" ${configure} -B "${folder}/build/one"
  COMMAND ${into_a_file} "${folder}/two.log" ${configure} -B "${folder}/build/two"
  RESULTS_VARIABLE statuses
)
foreach(build IN ITEMS one two)
  file(READ "${folder}/${build}.log" output)
  message("${output}")
endforeach()
if(NOT statuses STREQUAL "0;0")
  message(FATAL_ERROR "exit statuses ${statuses}")
endif()
count_environments(1)
foreach(build IN ITEMS one two)
  build_project("${folder}/build/${build}")
endforeach()
test_project("${folder}/build/two")
expect_match("${output}" "status 0, first score 0")

message("=== its size, and the solver")
file(GLOB_RECURSE files "${cache}/*")
set(bytes 0)
foreach(file IN LISTS files)
  if(NOT IS_SYMLINK "${file}" AND NOT IS_DIRECTORY "${file}")
    file(SIZE "${file}" size)
    math(EXPR bytes "${bytes} + ${size}")
  endif()
endforeach()
message("${bytes} bytes")
if(bytes GREATER 200000000)
  message(FATAL_ERROR "an environment takes at most 200 MB")
endif()
file(GLOB tool "${cache}/tool-*/bin/python")
foreach(run IN ITEMS brings has of_the_test)
  set(program "${tool}")
  if(run STREQUAL of_the_test)
    set(program "${with_tool}")
  endif()
  execute_process(
    COMMAND
      "${program}" -m tilewright plan --model "${folder}/kws.onnx" --platform qemu-virt-rv32 --name
      kws --algorithm cp_sat --format json
    OUTPUT_VARIABLE plan_${run}
    ERROR_VARIABLE errors_${run}
    COMMAND_ERROR_IS_FATAL ANY
  )
endforeach()
expect_match("${errors_brings}" "installing the solver CP-SAT")
expect_no_match("${errors_has}" "solver")
if(NOT plan_brings STREQUAL plan_has OR NOT plan_brings STREQUAL plan_of_the_test)
  message(FATAL_ERROR "a plan depends on whether the solver was there")
endif()

message("=== an environment that is not complete is made again, from wheels, without a network")
set(cache "${folder}/cache from wheels")
foreach(
  name
  IN
  ITEMS CC CXX CFLAGS CXXFLAGS LDFLAGS CMAKE_GENERATOR
)
  set(kept_${name} "$ENV{${name}}")
  unset(ENV{${name}})
endforeach()
execute_process(
  COMMAND
    "${with_tool}" -m pip wheel --quiet --disable-pip-version-check --wheel-dir "${folder}/wheels"
    "--config-settings=build-dir=${folder}/wheel-build" "${root}"
  COMMAND_ERROR_IS_FATAL ANY
)
foreach(
  name
  IN
  ITEMS CC CXX CFLAGS CXXFLAGS LDFLAGS CMAKE_GENERATOR
)
  set(ENV{${name}} "${kept_${name}}")
endforeach()
set(ENV{PIP_INDEX_URL} "http://localhost:9/nothing")
list(APPEND options "-DTILEWRIGHT_CACHE_DIR=${cache}" "-DTILEWRIGHT_WHEELS=${folder}/wheels")
configure_project("${folder}" "${folder}/build/three")
expect_match("${output}" "Making an environment")
file(GLOB complete "${cache}/*/complete")
file(REMOVE ${complete} "${folder}/build/three/CMakeCache.txt")
configure_project("${folder}" "${folder}/build/three")
expect_match("${output}" "Making an environment")
count_environments(1)
configure_project("${folder}" "${folder}/build/four")
expect_no_match("${output}" "Making an environment")
