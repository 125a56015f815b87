# SPDX-License-Identifier: Apache-2.0
# Steps that a user takes, for scripts of tests. They read `generator`, `toolchain`, `python` and
# `options`; a step that fails ends the script, unless an output variable takes the result.
cmake_minimum_required(VERSION 3.22...3.31)

# configure_project(<source> <binary> [<status> <output>])
function(configure_project source binary)
  set(
    arguments
    -S
    "${source}"
    -B
    "${binary}"
    -G
    "${generator}"
  )
  if(python)
    list(APPEND arguments "-DTILEWRIGHT_PYTHON=${python}")
  endif()
  if(toolchain)
    list(APPEND arguments "-DCMAKE_TOOLCHAIN_FILE=${toolchain}")
  endif()
  run_step(status output "${CMAKE_COMMAND}" ${arguments} ${options})
  finish_step("${status}" "${output}" ${ARGN})
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# build_project(<binary> [<status> <output>])
function(build_project binary)
  set(configuration "")
  if(generator STREQUAL "Ninja Multi-Config")
    set(configuration --config Debug)
  endif()
  run_step(
    status
    output
    "${CMAKE_COMMAND}"
    --build
    "${binary}"
    ${configuration}
    -j
    2
  )
  finish_step("${status}" "${output}" ${ARGN})
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

# test_project(<binary> [<status> <output>])
function(test_project binary)
  cmake_path(GET CMAKE_COMMAND PARENT_PATH programs)
  run_step(
    status
    output
    "${programs}/ctest"
    --test-dir
    "${binary}"
    -C
    Debug
    --no-tests=error
    --verbose
  )
  finish_step("${status}" "${output}" ${ARGN})
  set(status "${status}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(run_step status_result output_result)
  execute_process(
    COMMAND ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
  )
  set(${status_result} "${status}" PARENT_SCOPE)
  set(${output_result} "${output}" PARENT_SCOPE)
endfunction()

# Shows the output of a step; a failure is fatal unless 'may_fail' is given.
function(finish_step status output)
  message("${output}")
  if(NOT status EQUAL 0 AND NOT "may_fail" IN_LIST ARGN)
    message(FATAL_ERROR "exit status ${status}")
  endif()
endfunction()

# Sets <variable> to whether a text matches, as it stands or with every run of white space as one
# blank: where CMake breaks the lines of a message depends on the lengths of the paths in it.
function(text_matches variable text pattern)
  string(REGEX REPLACE "[ \t\r\n]+" " " unbroken "${text}")
  set("${variable}" FALSE PARENT_SCOPE)
  if(text MATCHES "${pattern}" OR unbroken MATCHES "${pattern}")
    set("${variable}" TRUE PARENT_SCOPE)
  endif()
endfunction()

# Fatal unless a text matches.
function(expect_match text pattern)
  text_matches(found "${text}" "${pattern}")
  if(NOT found)
    message(FATAL_ERROR "expected to find '${pattern}' in:\n${text}")
  endif()
endfunction()

# Fatal if a text matches.
function(expect_no_match text pattern)
  text_matches(found "${text}" "${pattern}")
  if(found)
    message(FATAL_ERROR "expected not to find '${pattern}' in:\n${text}")
  endif()
endfunction()

# make_model(<file> [<variant> [<inputs.npz> <outputs.npz>]])
function(make_model)
  execute_process(
    COMMAND "${python}" "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/make_model.py" ${ARGN}
    COMMAND_ERROR_IS_FATAL ANY
  )
endfunction()

# Sets <result> to the platform for the toolchain of the test: host without one, else qemu-virt-rv32.
function(choose_platform result)
  set(platform host)
  if(toolchain)
    set(platform qemu-virt-rv32)
  endif()
  set(${result} "${platform}" PARENT_SCOPE)
endfunction()

# Sets <result> to the first block of a language in a Markdown file.
function(read_snippet result file language)
  file(READ "${file}" text)
  if(NOT text MATCHES "```${language}\n([^`]*)```")
    message(FATAL_ERROR "${file} has no block of ${language}")
  endif()
  set(${result} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

# Writes README.md's project into an empty folder: CMakeLists.txt, main.c, kws.onnx, and Tilewright.
function(write_readme_project folder)
  file(REMOVE_RECURSE "${folder}")
  file(MAKE_DIRECTORY "${folder}")
  read_snippet(lists "${root}/README.md" cmake)
  read_snippet(main "${root}/README.md" c)
  file(WRITE "${folder}/CMakeLists.txt" "${lists}")
  file(WRITE "${folder}/main.c" "${main}")
  file(CREATE_LINK "${root}" "${folder}/tilewright" SYMBOLIC)
  make_model("${folder}/kws.onnx")
endfunction()
