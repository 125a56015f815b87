# SPDX-License-Identifier: Apache-2.0
#[[
Python environments that a configure makes where no interpreter has this Tilewright:

  <cache>/packages-<key>/        what Tilewright needs from others, for one interpreter and one set
                                 of requirements (cmake/requirements); some 150 MB
  <cache>/tool-<version>-<key>/  this Tilewright over those packages; 14 MB
    users/                       a file for each source tree that uses the folder, which names it

A folder that no source tree uses any more is removed when the next one is made.
#]]
include_guard(GLOBAL)

# Sets <result> to the interpreter of an environment with this Tilewright. Configures at the same
# time wait for each other.
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
  file(MAKE_DIRECTORY "${cache}")
  file(LOCK "${cache}/lock" GUARD FUNCTION TIMEOUT 1800)
  _tilewright_packages(packages "${caller}" "${cache}" "${problem}")
  _tilewright_tool(tool "${caller}" "${cache}" "${packages}")
  _tilewright_remove_unused("${cache}" "${packages}" "${tool}")
  _tilewright_program(python "${tool}")
  set(${result} "${python}" PARENT_SCOPE)
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

# The interpreter of an environment.
function(_tilewright_program result environment)
  if(CMAKE_HOST_WIN32)
    set(${result} "${environment}/Scripts/python.exe" PARENT_SCOPE)
  else()
    set(${result} "${environment}/bin/python" PARENT_SCOPE)
  endif()
endfunction()

# Sets <result> to the folder of the packages that Tilewright needs, which is made if it is not there.
function(_tilewright_packages result caller cache problem)
  execute_process(
    COMMAND
      "${TILEWRIGHT_PYTHON}" -c
      "import sys; print(sys.implementation.cache_tag, sys.version_info[:3], sys.base_prefix)"
    OUTPUT_VARIABLE key
  )
  foreach(name IN ITEMS generation extension solver)
    file(SHA256 "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/requirements/${name}.txt" hash)
    string(APPEND key " ${hash}")
  endforeach()
  string(SHA256 key "${TILEWRIGHT_PYTHON} ${key} ${TILEWRIGHT_WHEELS}")
  string(SUBSTRING "${key}" 0 12 key)
  set(folder "${cache}/packages-${key}")
  _tilewright_program(python "${folder}")
  if(NOT EXISTS "${folder}/complete")
    message(STATUS "${TILEWRIGHT_PYTHON} ${problem}")
    message(STATUS "Making an environment for Tilewright in ${folder} (once)")
    file(REMOVE_RECURSE "${folder}")
    _tilewright_bootstrap_step("${caller}" "${TILEWRIGHT_PYTHON}" -m venv "${folder}")
    _tilewright_pip(command "${python}" generation "${folder}")
    _tilewright_bootstrap_step("${caller}" ${command})
    file(WRITE "${folder}/complete" "")
  endif()
  if(TILEWRIGHT_SOLVER AND NOT EXISTS "${folder}/solver")
    _tilewright_pip(command "${python}" solver "${folder}")
    _tilewright_bootstrap_step("${caller}" ${command})
    file(WRITE "${folder}/solver" "")
  endif()
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# Sets <result> to the command that installs a set of requirements: by hash, or what a folder of
# wheels has of it. <folder> keeps a copy of the requirements, since sources may move.
function(_tilewright_pip result python requirements folder)
  set(
    command
    "${python}"
    -m
    pip
    install
    --disable-pip-version-check
    --quiet
  )
  if(TILEWRIGHT_WHEELS)
    cmake_path(
      ABSOLUTE_PATH TILEWRIGHT_WHEELS
      BASE_DIRECTORY "${CMAKE_SOURCE_DIR}"
      OUTPUT_VARIABLE wheels
    )
    list(APPEND command --no-index --find-links "${wheels}")
    set(file "${requirements}.in")
  else()
    list(APPEND command --only-binary :all: --require-hashes)
    set(file "${requirements}.txt")
  endif()
  configure_file(
    "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/requirements/${file}"
    "${folder}/${file}"
    COPYONLY
  )
  list(APPEND command -r "${folder}/${file}")
  set(${result} "${command}" PARENT_SCOPE)
endfunction()

# Sets <result> to an environment with this Tilewright over <packages>, and notes its user.
function(_tilewright_tool result caller cache packages)
  _tilewright_layout(tool)
  _tilewright_version(version)
  _tilewright_tool_hash(tool_hash)
  string(SHA256 key "${packages} ${tool_hash}")
  string(SUBSTRING "${key}" 0 12 key)
  set(folder "${cache}/tool-${version}-${key}")
  _tilewright_program(python "${folder}")
  if(NOT EXISTS "${folder}/complete")
    message(STATUS "Installing Tilewright ${version} into ${folder}")
    file(REMOVE_RECURSE "${folder}")
    _tilewright_bootstrap_step(
      "${caller}"
      "${TILEWRIGHT_PYTHON}"
      -m
      venv
      --without-pip
      "${folder}"
    )
    _tilewright_site(above "${packages}")
    _tilewright_site(site "${folder}")
    file(WRITE "${site}/tilewright_packages.pth" "${above}\n")
    _tilewright_write_solver("${folder}" "${packages}" "${cache}")
    _tilewright_install("${caller}" "${folder}" "${site}" "${packages}")
    _tilewright_check_python(remaining "${python}")
    if(remaining)
      message(FATAL_ERROR "${caller}:\n  error[bootstrap]: ${python} ${remaining}")
    endif()
    file(WRITE "${folder}/complete" "${packages}\n")
  endif()
  string(SHA256 user "${tool_root}")
  file(WRITE "${folder}/users/${user}" "${tool_root}\n")
  set(${result} "${folder}" PARENT_SCOPE)
endfunction()

# The folder of an environment in which packages lie.
function(_tilewright_site result environment)
  _tilewright_program(python "${environment}")
  execute_process(
    COMMAND "${python}" -c "import sysconfig; print(sysconfig.get_path('purelib'))"
    OUTPUT_VARIABLE site
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY
  )
  file(TO_CMAKE_PATH "${site}" site)
  set(${result} "${site}" PARENT_SCOPE)
endfunction()

# How the tool brings CP-SAT when a model needs it (base/solver.py reads the file).
function(_tilewright_write_solver folder packages cache)
  _tilewright_program(python "${packages}")
  _tilewright_pip(command "${python}" solver "${packages}")
  set(words "")
  foreach(word IN LISTS command)
    string(REGEX REPLACE "([\\\\\"])" "\\\\\\1" word "${word}")
    list(APPEND words "\"${word}\"")
  endforeach()
  list(JOIN words ", " words)
  file(
    WRITE "${folder}/tilewright-solver.json"
    "{\"command\": [${words}], \"done\": \"${packages}/solver\", \"lock\": \"${cache}/lock\"}\n"
  )
endfunction()

# This Tilewright into <site>: a wheel of TILEWRIGHT_WHEELS, the source tree, or, inside of an
# installed package, a copy of that. Never a package that is known by its name only.
function(_tilewright_install caller folder site packages)
  _tilewright_layout(tool)
  _tilewright_version(version)
  _tilewright_program(python "${packages}")
  set(
    pip
    "${python}"
    -m
    pip
    install
    --disable-pip-version-check
    --quiet
    --no-deps
    --no-index
    --target
    "${site}"
  )
  file(GLOB wheels "${TILEWRIGHT_WHEELS}/tilewright-${version}-*.whl")
  if(TILEWRIGHT_WHEELS AND wheels)
    list(APPEND pip --find-links "${TILEWRIGHT_WHEELS}" "tilewright==${version}")
    _tilewright_bootstrap_step("${caller}" ${pip})
    return()
  endif()
  if(NOT tool_is_source)
    file(COPY "${tool_package}" DESTINATION "${site}" PATTERN "__pycache__" EXCLUDE)
    return()
  endif()
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
  _tilewright_pip(command "${python}" extension "${packages}")
  _tilewright_bootstrap_step("${caller}" ${command})
  # An installed copy may be read-only, and other configures may build from the same sources.
  list(APPEND pip --no-build-isolation "--config-settings=build-dir=${folder}/build" "${tool_root}")
  _tilewright_bootstrap_step("${caller}" "CMAKE_EXECUTABLE=${CMAKE_COMMAND}" ${pip})
  file(REMOVE_RECURSE "${folder}/build")
endfunction()

# Removes folders that no source tree uses any more: environments of other states of this tree or of
# trees that are gone, packages below no environment that is left, and environments of versions that
# held their packages themselves.
function(_tilewright_remove_unused cache packages tool)
  _tilewright_layout(here)
  string(SHA256 user "${here_root}")
  file(GLOB folders "${cache}/tool-*")
  set(needed "${packages}")
  foreach(folder IN LISTS folders)
    _tilewright_read_users(users "${folder}")
    if(NOT folder STREQUAL tool)
      file(REMOVE "${folder}/users/${user}")
      list(REMOVE_ITEM users "${here_root}")
    endif()
    if(NOT users)
      file(REMOVE_RECURSE "${folder}")
    elseif(EXISTS "${folder}/complete")
      file(STRINGS "${folder}/complete" below)
      list(APPEND needed "${below}")
    endif()
  endforeach()
  file(GLOB unneeded "${cache}/packages-*")
  list(REMOVE_ITEM unneeded ${needed})
  file(GLOB earlier "${cache}/[0-9]*/complete")
  list(TRANSFORM earlier REPLACE "/complete$" "")
  set(locks "${earlier}")
  list(TRANSFORM locks APPEND ".lock")
  set(removed ${unneeded} ${earlier} ${locks})
  if(removed)
    file(REMOVE_RECURSE ${removed})
  endif()
endfunction()

# The source trees that use an environment and still exist.
function(_tilewright_read_users result folder)
  set(users "")
  file(GLOB notes "${folder}/users/*")
  foreach(note IN LISTS notes)
    file(STRINGS "${note}" user)
    if(EXISTS "${user}")
      list(APPEND users "${user}")
    endif()
  endforeach()
  set(${result} "${users}" PARENT_SCOPE)
endfunction()

# Runs a command of the set-up without the variables that name the firmware's compiler.
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
