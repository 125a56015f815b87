# SPDX-License-Identifier: Apache-2.0
# What docs/how-to/zephyr-and-esp-idf.md needs of ESP-IDF: project() first reads each component's
# file in script mode for its requirements, then adds it.
set(_esp_idf_folder "${CMAKE_CURRENT_LIST_DIR}")

macro(project name)
  _project(${name} LANGUAGES C)
  execute_process(
    COMMAND
      "${CMAKE_COMMAND}" -DCMAKE_BUILD_EARLY_EXPANSION=1
      "-Dcomponent=${CMAKE_CURRENT_SOURCE_DIR}/main" -P "${_esp_idf_folder}/requirements.cmake"
    COMMAND_ERROR_IS_FATAL ANY
  )
  add_subdirectory(main)
  file(WRITE "${CMAKE_BINARY_DIR}/nothing.c" "")
  add_executable(${name}.elf "${CMAKE_BINARY_DIR}/nothing.c")
  target_link_libraries(${name}.elf PRIVATE -Wl,--whole-archive __idf_main -Wl,--no-whole-archive)
endmacro()

macro(idf_component_register)
  cmake_parse_arguments(component "" "" "SRCS;INCLUDE_DIRS;REQUIRES" ${ARGN})
  set(COMPONENT_LIB __idf_main)
  add_library(__idf_main STATIC ${component_SRCS})
  target_include_directories(__idf_main PUBLIC ${component_INCLUDE_DIRS})
endmacro()
