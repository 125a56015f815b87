# SPDX-License-Identifier: Apache-2.0
# For tests of the ways to get Tilewright: a folder outside the source tree with copies of the
# examples, and of the source tree where one is called for.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

# A new folder among the temporary ones of the system, with a space in its name.
function(make_outside_folder result)
  execute_process(
    COMMAND
      "${python}" -c "import tempfile; print(tempfile.mkdtemp(prefix='tilewright way '), end='')"
    OUTPUT_VARIABLE outside
    COMMAND_ERROR_IS_FATAL ANY
  )
  foreach(example IN ITEMS digits scons ways-in)
    file(COPY "${root}/examples/${example}" DESTINATION "${outside}")
  endforeach()
  set(${result} "${outside}" PARENT_SCOPE)
endfunction()

# A copy of what a release has of the source tree, the state of the work tree included.
function(copy_sources folder)
  file(
    COPY
      "${root}/CMakeLists.txt"
      "${root}/LICENSE"
      "${root}/README.md"
      "${root}/cmake"
      "${root}/examples"
      "${root}/platforms"
      "${root}/pyproject.toml"
      "${root}/python"
      "${root}/runtime"
      "${root}/templates"
    DESTINATION "${folder}"
    PATTERN "__pycache__"
    EXCLUDE
    PATTERN "*.so"
    EXCLUDE
  )
endfunction()

# A command that must succeed; sets `output`.
function(run_or_fail)
  run_step(status output ${ARGN})
  finish_step("${status}" "${output}")
  set(output "${output}" PARENT_SCOPE)
endfunction()

# Configure, build and test one of the ways; `options` say where Tilewright is.
function(check_way folder)
  configure_project("${folder}" "${folder}/build")
  build_project("${folder}/build")
  test_project("${folder}/build")
  expect_match("${output}" "360 images, onnxruntime")
endfunction()

# A version that is not there is refused.
function(check_version_is_checked folder version)
  file(READ "${folder}/CMakeLists.txt" lists)
  string(REPLACE "Tilewright 0.1" "Tilewright ${version}" lists "${lists}")
  file(WRITE "${folder}/CMakeLists.txt" "${lists}")
  configure_project("${folder}" "${folder}/build-${version}" may_fail)
  if(status EQUAL 0)
    message(FATAL_ERROR "find_package accepted version ${version}")
  endif()
  expect_match("${output}" "requested[ \n]+version \"${version}\"")
endfunction()
