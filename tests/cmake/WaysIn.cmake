# SPDX-License-Identifier: Apache-2.0
# The ways to get Tilewright: each once, and one each with the oldest CMake that is supported and
# with the newest, with other generators. Among the long tests each way with both and with every
# generator, and the wheel with every Python of the machine.
include_guard(GLOBAL)

# add_way(<test> <way> [GENERATOR <name>] [CMAKE <program>] [PYTHON <program>] [FIXTURE <name>] [LONG])
function(add_way name way)
  cmake_parse_arguments(PARSE_ARGV 2 arg "LONG" "GENERATOR;CMAKE;PYTHON;FIXTURE" "")
  if(NOT arg_CMAKE)
    set(arg_CMAKE "${CMAKE_COMMAND}")
  endif()
  if(NOT arg_PYTHON)
    set(arg_PYTHON "${TILEWRIGHT_PYTHON}")
  endif()
  if(NOT arg_GENERATOR)
    set(arg_GENERATOR Ninja)
  endif()
  add_test(
    NAME "way-${name}"
    COMMAND
      "${CMAKE_COMMAND}" -E env "${arg_CMAKE}" "-Droot=${tilewright_SOURCE_DIR}"
      "-Dgenerator=${arg_GENERATOR}"
      "-Dtoolchain=${tilewright_SOURCE_DIR}/cmake/toolchains/riscv64-unknown-elf-gcc.cmake"
      "-Dpython=${TILEWRIGHT_PYTHON}" "-Dinstalled_into=${arg_PYTHON}" -P
      "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/way_${way}.cmake"
  )
  set_tests_properties("way-${name}" PROPERTIES TIMEOUT 1200)
  if(arg_LONG)
    set_tests_properties("way-${name}" PROPERTIES LABELS long)
  endif()
  if(arg_FIXTURE)
    set_tests_properties("way-${name}" PROPERTIES FIXTURES_REQUIRED "${arg_FIXTURE}")
  endif()
endfunction()

add_way(add-subdirectory add_subdirectory)
add_way(fetch-content fetch_content)
add_way(find-package find_package)
add_way(wheel wheel)
# The longest test: begun last, it would run alone for minutes.
set_tests_properties(way-wheel PROPERTIES COST 1000)
add_way(editable editable LONG)

# CMake from PyPI.
set(always add-subdirectory-cmake-3.22-unix-makefiles find-package-cmake-newest-ninja-multi-config)
foreach(version IN ITEMS 3.22 newest)
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/cmake-${version}")
  set(requirement "cmake==${version}.*")
  if(version STREQUAL newest)
    set(requirement cmake)
  endif()
  add_test(
    NAME cmake-${version}-from-pypi
    COMMAND
      "${TILEWRIGHT_PYTHON}" -m pip install --quiet --disable-pip-version-check --upgrade --target
      "${folder}" "${requirement}"
  )
  set_tests_properties(cmake-${version}-from-pypi PROPERTIES FIXTURES_SETUP cmake-${version})
  foreach(way IN ITEMS add_subdirectory fetch_content find_package wheel)
    foreach(generator IN ITEMS "Ninja" "Unix Makefiles" "Ninja Multi-Config")
      string(MAKE_C_IDENTIFIER "${generator}" generator_name)
      string(TOLOWER "${generator_name}" generator_name)
      string(REPLACE "_" "-" name "${way}-cmake-${version}-${generator_name}")
      set(long LONG)
      if(name IN_LIST always)
        set(long "")
      endif()
      add_way(
        ${name}
        ${way}
        GENERATOR "${generator}"
        CMAKE "${folder}/cmake/data/bin/cmake"
        FIXTURE cmake-${version}
        ${long}
      )
    endforeach()
  endforeach()
endforeach()

# Every Python of this machine that is supported: on PATH, or beside the others of pyenv.
file(GLOB pythons "$ENV{HOME}/.pyenv/versions/3.*/bin/python3.1[0-9]" "/usr/bin/python3.1[0-9]")
foreach(program IN LISTS pythons)
  execute_process(
    COMMAND "${program}" -c "import ensurepip, sys; print(sys.version.split()[0], end='')"
    RESULT_VARIABLE status
    OUTPUT_VARIABLE version
    ERROR_QUIET
  )
  if(status EQUAL 0 AND NOT TEST way-wheel-python-${version})
    add_way(wheel-python-${version} wheel PYTHON "${program}" LONG)
  endif()
endforeach()
