# SPDX-License-Identifier: Apache-2.0
# The interpreter that runs the tool. The firmware's own find_package(Python) is never touched.
include_guard(GLOBAL)

# Sets <result> to an interpreter that has this very Tilewright. Looks once per interpreter and
# tool; a re-configure starts nothing.
function(_tilewright_interpreter result caller)
  _tilewright_find_python("${caller}")
  _tilewright_tool_hash(tool_hash)
  file(TIMESTAMP "${TILEWRIGHT_PYTHON}" changed)
  string(SHA256 key "${TILEWRIGHT_PYTHON} ${changed} ${tool_hash}")
  if(NOT TILEWRIGHT_TOOL_KEY STREQUAL key OR NOT EXISTS "${TILEWRIGHT_TOOL_PYTHON}")
    _tilewright_check_python(problem "${TILEWRIGHT_PYTHON}")
    set(python "${TILEWRIGHT_PYTHON}")
    if(problem)
      _tilewright_environment(python "${caller}" "${problem}")
    endif()
    set(TILEWRIGHT_TOOL_PYTHON "${python}" CACHE INTERNAL "Interpreter that has Tilewright")
    set(TILEWRIGHT_TOOL_KEY "${key}" CACHE INTERNAL "What TILEWRIGHT_TOOL_PYTHON was found for")
  endif()
  set(${result} "${TILEWRIGHT_TOOL_PYTHON}" PARENT_SCOPE)
endfunction()

# TILEWRIGHT_PYTHON, by the user's choice or from PATH. Root paths of a toolchain hold programs
# of the target, so they are not searched. A wheel's own interpreter stands above its files;
# scikit-build-core says which one builds a package.
function(_tilewright_find_python caller)
  _tilewright_layout(tool)
  set(beside "")
  if(SKBUILD AND Python_EXECUTABLE AND NOT TILEWRIGHT_PYTHON)
    set(TILEWRIGHT_PYTHON "${Python_EXECUTABLE}" CACHE FILEPATH "Python 3.10 or newer")
  endif()
  if(NOT tool_is_source)
    set(beside "${tool_root}/../../../../../bin")
  endif()
  find_program(
    TILEWRIGHT_PYTHON
    NAMES python3 python python3.14 python3.13 python3.12 python3.11 python3.10
    HINTS "${beside}"
    DOC "Python 3.10 or newer; an environment is made from it if it lacks Tilewright"
    NO_CMAKE_FIND_ROOT_PATH
    NO_CMAKE_PATH
    NO_CMAKE_SYSTEM_PATH
  )
  if(NOT TILEWRIGHT_PYTHON)
    message(
      FATAL_ERROR
      "${caller}:\n  error[no-python]: no Python interpreter was found on PATH\n"
      "  help: install Python 3.10 or newer, or set TILEWRIGHT_PYTHON to one"
    )
  endif()
  if(NOT EXISTS "${TILEWRIGHT_PYTHON}")
    message(
      FATAL_ERROR
      "${caller}:\n  error[no-python]: TILEWRIGHT_PYTHON is '${TILEWRIGHT_PYTHON}', which is no file\n"
      "  help: give the full path of Python 3.10 or newer"
    )
  endif()
endfunction()

# Sets <result> to what keeps an interpreter from running this Tilewright, or to nothing.
function(_tilewright_check_python result python)
  _tilewright_layout(tool)
  get_property(hash GLOBAL PROPERTY TILEWRIGHT_PACKAGE_HASH)
  execute_process(
    COMMAND "${python}" "${tool_root}/cmake/TilewrightCheck.py" "${tool_package}" "${hash}"
    RESULT_VARIABLE status
    OUTPUT_VARIABLE problem
    ERROR_VARIABLE errors
    OUTPUT_STRIP_TRAILING_WHITESPACE
  )
  if(NOT status EQUAL 0 AND problem STREQUAL "")
    string(STRIP "cannot be run: ${errors}" problem)
  endif()
  set(${result} "${problem}" PARENT_SCOPE)
endfunction()

function(_tilewright_cache_dir result)
  if(NOT TILEWRIGHT_CACHE_DIR)
    if(DEFINED ENV{XDG_CACHE_HOME} AND NOT "$ENV{XDG_CACHE_HOME}" STREQUAL "")
      set(base "$ENV{XDG_CACHE_HOME}")
    elseif(CMAKE_HOST_WIN32)
      set(base "$ENV{LOCALAPPDATA}")
    elseif(CMAKE_HOST_APPLE)
      set(base "$ENV{HOME}/Library/Caches")
    else()
      set(base "$ENV{HOME}/.cache")
    endif()
    set(TILEWRIGHT_CACHE_DIR "${base}/tilewright" CACHE PATH "Folder of Python environments")
  endif()
  set(${result} "${TILEWRIGHT_CACHE_DIR}" PARENT_SCOPE)
endfunction()

# An environment with this Tilewright, made once per tool and interpreter. Two configures at the
# same time wait for each other.
function(_tilewright_environment result caller problem)
  _tilewright_version(version)
  if(DEFINED TILEWRIGHT_BOOTSTRAP AND NOT TILEWRIGHT_BOOTSTRAP)
    message(
      FATAL_ERROR
      "${caller}:\n  error[no-tool]: ${TILEWRIGHT_PYTHON} ${problem}\n"
      "  help: TILEWRIGHT_BOOTSTRAP is OFF; install tilewright ${version} there with pip, "
      "or point TILEWRIGHT_PYTHON to an interpreter that has it"
    )
  endif()
  _tilewright_cache_dir(cache)
  _tilewright_tool_hash(tool_hash)
  string(SHA256 key "${TILEWRIGHT_PYTHON} ${tool_hash}")
  string(SUBSTRING "${key}" 0 12 key)
  set(environment "${cache}/${version}-${key}")
  if(CMAKE_HOST_WIN32)
    set(python "${environment}/Scripts/python.exe")
  else()
    set(python "${environment}/bin/python")
  endif()
  file(MAKE_DIRECTORY "${cache}")
  file(LOCK "${environment}.lock" GUARD FUNCTION TIMEOUT 1800)
  if(NOT EXISTS "${environment}/complete")
    message(STATUS "${TILEWRIGHT_PYTHON} ${problem}")
    message(STATUS "Making an environment for Tilewright ${version} in ${environment} (once)")
    file(REMOVE_RECURSE "${environment}")
    _tilewright_install("${caller}" "${environment}" "${python}")
    _tilewright_check_python(remaining "${python}")
    if(remaining)
      message(FATAL_ERROR "${caller}:\n  error[bootstrap]: ${python} ${remaining}")
    endif()
    file(WRITE "${environment}/complete" "")
  endif()
  set(${result} "${python}" PARENT_SCOPE)
endfunction()

function(_tilewright_install caller environment python)
  _tilewright_layout(tool)
  _tilewright_version(version)
  set(
    pip
    "${python}"
    -m
    pip
    install
    --disable-pip-version-check
    --quiet
  )
  set(what "tilewright==${version}")
  if(tool_is_source)
    set(what "${tool_root}")
    # An installed copy may be read-only, and other configures may build from the same sources.
    list(APPEND pip "--config-settings=build-dir=${environment}/build")
  endif()
  if(TILEWRIGHT_WHEELS)
    list(APPEND pip --no-index --find-links "${TILEWRIGHT_WHEELS}")
    file(GLOB wheels "${TILEWRIGHT_WHEELS}/tilewright-${version}-*.whl")
    if(wheels)
      set(what "tilewright==${version}")
    endif()
  endif()
  _tilewright_bootstrap_step("${caller}" "${TILEWRIGHT_PYTHON}" -m venv "${environment}")
  if(what STREQUAL "${tool_root}")
    find_program(
      TILEWRIGHT_HOST_CXX
      NAMES c++ g++ clang++
      DOC "C++ compiler of this machine"
      NO_CMAKE_FIND_ROOT_PATH
      NO_CMAKE_PATH
      NO_CMAKE_SYSTEM_PATH
    )
    mark_as_advanced(TILEWRIGHT_HOST_CXX)
    if(NOT TILEWRIGHT_HOST_CXX)
      message(WARNING "${caller}: no C++ compiler for this machine; searches run in Python, slower")
      list(PREPEND pip TILEWRIGHT_PURE=true)
    endif()
  endif()
  _tilewright_bootstrap_step("${caller}" ${pip} "${what}")
  file(REMOVE_RECURSE "${environment}/build")
endfunction()

# Without the variables that speak of the cross compiler.
function(_tilewright_bootstrap_step caller)
  set(unset "")
  foreach(
    name
    CC
    CXX
    CFLAGS
    CXXFLAGS
    CPPFLAGS
    LDFLAGS
    CMAKE_TOOLCHAIN_FILE
    CMAKE_GENERATOR
  )
    list(APPEND unset "--unset=${name}")
  endforeach()
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E env ${unset} ${ARGN}
    RESULT_VARIABLE status
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output
  )
  if(NOT status EQUAL 0)
    _tilewright_quote(shown ${ARGN})
    string(STRIP "${output}" output)
    string(REPLACE "\n" "\n    " output "${output}")
    message(
      FATAL_ERROR
      "${caller}:\n  error[bootstrap]: the environment for Tilewright could not be made\n"
      "    ${output}\n"
      "  help: install Tilewright yourself and set TILEWRIGHT_PYTHON to its interpreter, or set "
      "TILEWRIGHT_WHEELS to a folder with all wheels\n"
      "  to repeat: ${shown}"
    )
  endif()
endfunction()
