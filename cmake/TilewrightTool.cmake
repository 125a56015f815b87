# SPDX-License-Identifier: Apache-2.0
# Where the tool's files are, and how it is run: only when something that it reads has changed.
include_guard(GLOBAL)

# Sets <prefix>_root (templates, cmake, runtime, platforms), <prefix>_package (Python) and
# <prefix>_is_source, for a source tree or its installed copy and for the inside of a wheel.
function(_tilewright_layout prefix)
  cmake_path(GET CMAKE_CURRENT_FUNCTION_LIST_DIR PARENT_PATH root)
  set(${prefix}_root "${root}" PARENT_SCOPE)
  if(EXISTS "${root}/python/tilewright/__init__.py")
    set(${prefix}_package "${root}/python/tilewright" PARENT_SCOPE)
    set(${prefix}_is_source TRUE PARENT_SCOPE)
  else()
    cmake_path(GET root PARENT_PATH package)
    set(${prefix}_package "${package}" PARENT_SCOPE)
    set(${prefix}_is_source FALSE PARENT_SCOPE)
  endif()
endfunction()

# The version, from the package.
function(_tilewright_version result)
  _tilewright_layout(tool)
  file(STRINGS "${tool_package}/__init__.py" line REGEX "^__version__ = ")
  string(REGEX MATCH "[0-9][^\"]*" version "${line}")
  set(${result} "${version}" PARENT_SCOPE)
endfunction()

# SHA-256 over the files that decide what is generated, and the list of them; worked out once
# per configure. TilewrightCheck.py computes the part over the package in the same way.
function(_tilewright_tool_hash result)
  get_property(hash GLOBAL PROPERTY TILEWRIGHT_TOOL_HASH)
  if(NOT hash)
    _tilewright_layout(tool)
    _tilewright_files_hash(package_hash package_files "${tool_package}" py cpp hpp)
    _tilewright_files_hash(template_hash template_files "${tool_root}/templates" j2)
    string(SHA256 hash "${package_hash}${template_hash}")
    set_property(GLOBAL PROPERTY TILEWRIGHT_TOOL_HASH "${hash}")
    set_property(GLOBAL PROPERTY TILEWRIGHT_PACKAGE_HASH "${package_hash}")
    set_property(GLOBAL PROPERTY TILEWRIGHT_TOOL_FILES "${package_files};${template_files}")
  endif()
  set(${result} "${hash}" PARENT_SCOPE)
endfunction()

# SHA-256 of the lines '<name> <sha256>' for all files below a folder with these suffixes.
function(_tilewright_files_hash hash_result files_result folder)
  set(patterns ${ARGN})
  list(TRANSFORM patterns PREPEND "${folder}/*.")
  file(GLOB_RECURSE names RELATIVE "${folder}" ${patterns})
  list(FILTER names EXCLUDE REGEX "^_data/")
  list(SORT names COMPARE STRING)
  set(text "")
  foreach(name IN LISTS names)
    file(SHA256 "${folder}/${name}" hash)
    string(APPEND text "${name} ${hash}\n")
  endforeach()
  string(SHA256 hash "${text}")
  set(${hash_result} "${hash}" PARENT_SCOPE)
  set(files "${names}")
  list(TRANSFORM files PREPEND "${folder}/")
  set(${files_result} "${files}" PARENT_SCOPE)
endfunction()

# The name of a file with the hash of its content, for fingerprints.
function(_tilewright_describe_file result path)
  cmake_path(GET path FILENAME name)
  if(EXISTS "${path}" AND NOT IS_DIRECTORY "${path}")
    file(SHA256 "${path}" hash)
    set(${result} "${name} ${hash}" PARENT_SCOPE)
  else()
    set(${result} "${name} absent" PARENT_SCOPE)
  endif()
endfunction()

#[[
_tilewright_generate(<caller> MANIFEST <file.json> INPUTS <file>... COMMAND <argument>... [OUTCOME])

Run the tool, which writes the manifest and the files that the manifest lists beside it, unless
the fingerprint of tool, inputs and command is the one that is stored there and every file has
its content. Arguments that are the path of an input count by name and content. <caller> begins
every message. Sets TILEWRIGHT_RAN in the caller's scope. With OUTCOME the tool has run already, beside
others, without a fault: what it said stands beside the manifest.
#]]
function(_tilewright_generate caller)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OUTCOME" "MANIFEST" "INPUTS;COMMAND")
  cmake_path(GET arg_MANIFEST PARENT_PATH folder)
  _tilewright_fingerprint(fingerprint "${arg_INPUTS}" "${arg_COMMAND}")
  _tilewright_is_fresh(fresh "${arg_MANIFEST}" "${fingerprint}")
  if(NOT fresh)
    if(arg_OUTCOME)
      file(READ "${arg_MANIFEST}.errors" errors)
      _tilewright_tell("${caller}" "${errors}")
    else()
      _tilewright_run("${caller}" ${arg_COMMAND} --output-dir "${folder}")
    endif()
    file(SHA256 "${arg_MANIFEST}" manifest_hash)
    file(WRITE "${arg_MANIFEST}.stamp" "${fingerprint}\n${manifest_hash}\n")
  endif()
  _tilewright_depend_on("${arg_MANIFEST}" ${arg_INPUTS})
  if(fresh)
    set(TILEWRIGHT_RAN FALSE PARENT_SCOPE)
  else()
    set(TILEWRIGHT_RAN TRUE PARENT_SCOPE)
  endif()
endfunction()

# A hash of all that decides what a command generates.
function(_tilewright_fingerprint result inputs command)
  _tilewright_tool_hash(tool_hash)
  set(described "${tool_hash}")
  foreach(input IN LISTS inputs)
    _tilewright_describe_file(description "${input}")
    string(APPEND described "\n${description}")
  endforeach()
  foreach(word IN LISTS command)
    if(NOT word IN_LIST inputs)
      string(APPEND described "\n${word}")
    endif()
  endforeach()
  string(SHA256 fingerprint "${described}")
  set(${result} "${fingerprint}" PARENT_SCOPE)
endfunction()

# Whether the stamp beside a manifest has this fingerprint and all files are as they were written.
function(_tilewright_is_fresh result manifest fingerprint)
  set(${result} FALSE PARENT_SCOPE)
  if(NOT EXISTS "${manifest}.stamp" OR NOT EXISTS "${manifest}")
    return()
  endif()
  file(SHA256 "${manifest}" manifest_hash)
  file(READ "${manifest}.stamp" stamp)
  if(NOT stamp STREQUAL "${fingerprint}\n${manifest_hash}\n")
    return()
  endif()
  file(READ "${manifest}" json)
  cmake_path(GET manifest PARENT_PATH folder)
  _tilewright_json_keys(names "${json}" files)
  foreach(name IN LISTS names)
    if(NOT EXISTS "${folder}/${name}")
      return()
    endif()
    file(SHA256 "${folder}/${name}" hash)
    string(JSON expected GET "${json}" files "${name}")
    if(NOT hash STREQUAL expected)
      return()
    endif()
  endforeach()
  set(${result} TRUE PARENT_SCOPE)
endfunction()

# Configure again when a generated file, an input or the tool itself changes or vanishes.
function(_tilewright_depend_on manifest)
  file(READ "${manifest}" json)
  cmake_path(GET manifest PARENT_PATH folder)
  _tilewright_json_keys(names "${json}" files)
  list(TRANSFORM names PREPEND "${folder}/")
  get_property(tool_files GLOBAL PROPERTY TILEWRIGHT_TOOL_FILES)
  get_property(known DIRECTORY PROPERTY CMAKE_CONFIGURE_DEPENDS)
  list(APPEND known ${ARGN} "${manifest}" ${names} ${tool_files})
  list(REMOVE_DUPLICATES known)
  set_property(DIRECTORY PROPERTY CMAKE_CONFIGURE_DEPENDS ${known})
endfunction()

# Run `tilewright <argument>...`; a failure is fatal.
function(_tilewright_run caller)
  _tilewright_interpreter(python "${caller}")
  execute_process(
    COMMAND "${python}" -m tilewright ${ARGN} --progress caller
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE errors
    ENCODING UTF-8
  )
  if(NOT status EQUAL 0)
    _tilewright_failure(text "${caller}" "${errors}" ${ARGN})
    message(FATAL_ERROR "${text}")
  endif()
  _tilewright_tell("${caller}" "${errors}")
endfunction()

# The message about a failure: the tool's text, indented because CMake wraps other lines, and the command that
# shows it again.
function(_tilewright_failure result caller errors)
  _tilewright_interpreter(python "${caller}")
  _tilewright_quote(shown "${python}" -m tilewright ${ARGN})
  string(STRIP "${errors}" errors)
  string(REPLACE "\n" "\n  " errors "${errors}")
  set(${result} "${caller}:\n  ${errors}\n  to repeat: ${shown}" PARENT_SCOPE)
endfunction()

# Shows what the tool said although it did its work.
function(_tilewright_tell caller errors)
  if(NOT errors STREQUAL "")
    string(STRIP "${errors}" errors)
    message(STATUS "${caller}: ${errors}")
  endif()
endfunction()

# A command as one would type it.
function(_tilewright_quote result)
  set(text "")
  foreach(word IN LISTS ARGN)
    if(word MATCHES "[^A-Za-z0-9_./=:,@+-]")
      string(REPLACE "'" "'\\''" word "${word}")
      set(word "'${word}'")
    endif()
    string(APPEND text " ${word}")
  endforeach()
  string(STRIP "${text}" text)
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

# The keys of a JSON object at a path.
function(_tilewright_json_keys result json)
  set(keys "")
  string(JSON count LENGTH "${json}" ${ARGN})
  if(count GREATER 0)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON key MEMBER "${json}" ${ARGN} ${i})
      list(APPEND keys "${key}")
    endforeach()
  endif()
  set(${result} "${keys}" PARENT_SCOPE)
endfunction()

# The elements of a JSON array at a path.
function(_tilewright_json_list result json)
  set(items "")
  string(JSON count LENGTH "${json}" ${ARGN})
  if(count GREATER 0)
    math(EXPR last "${count} - 1")
    foreach(i RANGE ${last})
      string(JSON item GET "${json}" ${ARGN} ${i})
      list(APPEND items "${item}")
    endforeach()
  endif()
  set(${result} "${items}" PARENT_SCOPE)
endfunction()
