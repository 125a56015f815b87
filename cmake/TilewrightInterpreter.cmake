# SPDX-License-Identifier: Apache-2.0
# The interpreter that runs the tool. The firmware's own find_package(Python) is never touched.
include_guard(GLOBAL)

include("${CMAKE_CURRENT_LIST_DIR}/TilewrightEnvironment.cmake")

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
