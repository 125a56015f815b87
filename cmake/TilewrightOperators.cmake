# SPDX-License-Identifier: Apache-2.0
# Files that a project brings along beside the model: its own operators, and files that options name.
include_guard(GLOBAL)

# Sets the files that an options file names: the generated code changes with them.
function(_tilewright_files_of_options result options)
  set(${result} "" PARENT_SCOPE)
  if(NOT EXISTS "${options}")
    return()
  endif()
  cmake_path(GET options PARENT_PATH folder)
  _tilewright_option_keywords(options)
  list(JOIN options_FILE_KEYS "|" keys)
  file(STRINGS "${options}" lines REGEX "^[ \t]*(${keys})[ \t]*=")
  set(files "")
  foreach(line IN LISTS lines)
    string(REGEX MATCHALL "[\"'][^\"']+[\"']" names "${line}")
    foreach(name IN LISTS names)
      string(REGEX REPLACE "[\"']" "" name "${name}")
      cmake_path(ABSOLUTE_PATH name BASE_DIRECTORY "${folder}" NORMALIZE)
      if(EXISTS "${name}")
        list(APPEND files "${name}")
      endif()
    endforeach()
  endforeach()
  set(${result} "${files}" PARENT_SCOPE)
endfunction()

# The C files of the project's own operators; generated code includes the headers beside them.
function(_tilewright_operator_sources target)
  foreach(source IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    if(NOT EXISTS "${source}")
      message(
        FATAL_ERROR
        "tilewright_add_model(${target}): there is no file ${source} (OPERATOR_SOURCES)"
      )
    endif()
    cmake_path(GET source PARENT_PATH folder)
    target_sources("${target}" PRIVATE "${source}")
    target_include_directories("${target}" PRIVATE "${folder}")
    _tilewright_needs_libm(needs_libm "${source}")
    if(needs_libm)
      target_link_libraries("${target}" PUBLIC -lm)
    endif()
  endforeach()
endfunction()
