# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

#[[
tilewright_use_port(<executable> PLATFORM <name|file.toml> [PORT <port>] [MAP])

Give an executable what the platform's port supplies: start-up code, console, the functions of
tilewright/port.h, and the linker script made from the platform's regions. PORT takes another
port than the platform names; MAP writes <executable>.map. Firmware with a start-up and a
linker script of its own does without this function.
#]]
function(tilewright_use_port executable)
  set(caller "tilewright_use_port(${executable})")
  cmake_parse_arguments(PARSE_ARGV 1 arg "MAP" "PLATFORM;PORT" "")
  _tilewright_check_arguments("${caller}" "MAP;PLATFORM;PORT" PLATFORM)
  if(NOT TARGET "${executable}")
    message(FATAL_ERROR "${caller}:\n  error[usage]: there is no target '${executable}'")
  endif()
  _tilewright_platform_facts(facts "${caller}" "${arg_PLATFORM}")
  if(NOT arg_PORT)
    set(arg_PORT "${facts_PORT}")
  endif()
  target_compile_options("${executable}" PRIVATE ${facts_COMPILE_OPTIONS})
  target_link_options("${executable}" PRIVATE ${facts_COMPILE_OPTIONS})
  if(arg_PORT)
    _tilewright_port_sources("${caller}" "${executable}" "${arg_PORT}" "${facts_COMPILE_OPTIONS}")
  endif()
  if(facts_LINKER_SCRIPT)
    # A linked model has a script of its own where its POOLS name sections.
    set(own "$<TARGET_PROPERTY:${executable},TILEWRIGHT_LINKER_SCRIPT>")
    set(script "$<IF:$<BOOL:${own}>,${own},${facts_LINKER_SCRIPT}>")
    # The linker would put a section that the script does not name into some memory, and say nothing.
    target_link_options(
      "${executable}"
      PRIVATE "-T${script}" -Wl,--gc-sections -Wl,--orphan-handling=error
    )
    set_property(TARGET "${executable}" APPEND PROPERTY LINK_DEPENDS "${facts_LINKER_SCRIPT}")
  endif()
  if(arg_MAP)
    target_link_options("${executable}" PRIVATE "-Wl,-Map=$<TARGET_FILE:${executable}>.map")
  endif()
endfunction()

# runtime/ports/<port>/port.cmake names the port's sources and options, and the sources that are
# optimised whatever the project does.
function(_tilewright_port_sources caller executable port compile_options)
  _tilewright_layout(tool)
  set(folder "${tool_root}/runtime/ports/${port}")
  if(NOT EXISTS "${folder}/port.cmake")
    file(GLOB known RELATIVE "${tool_root}/runtime/ports" "${tool_root}/runtime/ports/*/port.cmake")
    list(TRANSFORM known REPLACE "/port.cmake" "")
    list(JOIN known ", " known)
    message(
      FATAL_ERROR
      "${caller}:\n  error[unknown-port]: there is no port '${port}'\n  help: known: ${known}"
    )
  endif()
  include("${folder}/port.cmake")
  list(APPEND compile_options ${TILEWRIGHT_PORT_COMPILE_OPTIONS})
  foreach(source IN LISTS TILEWRIGHT_PORT_SOURCES)
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}" NORMALIZE OUTPUT_VARIABLE path)
    if(NOT source IN_LIST TILEWRIGHT_PORT_OPTIMIZED_SOURCES)
      _tilewright_runtime_sources("${executable}" "${compile_options}" "${path}")
      continue()
    endif()
    # The executable's own, since it may depend on the stacks of the models in it. Its frames are
    # counted without link-time optimisation.
    target_sources("${executable}" PRIVATE "${path}")
    set_source_files_properties(
      "${path}"
      TARGET_DIRECTORY "${executable}"
      PROPERTIES COMPILE_OPTIONS "-O2;$<$<C_COMPILER_ID:GNU,Clang>:-fno-lto>"
    )
  endforeach()
  target_include_directories("${executable}" PRIVATE "${folder}" "${tool_root}/runtime/include")
  target_compile_options("${executable}" PRIVATE ${TILEWRIGHT_PORT_COMPILE_OPTIONS})
  # The most that a linked model says, if any does.
  set(stack "$<TARGET_PROPERTY:${executable},TILEWRIGHT_CORE_STACK_BYTES>")
  target_compile_definitions(
    "${executable}"
    PRIVATE "$<$<BOOL:${stack}>:TILEWRIGHT_CORE_STACK_BYTES=${stack}>"
  )
  target_link_options("${executable}" PRIVATE ${TILEWRIGHT_PORT_LINK_OPTIONS})
endfunction()

# Sets <prefix>_COMPILE_OPTIONS, _PORT, _SIMULATOR and _LINKER_SCRIPT in the caller's scope.
function(_tilewright_platform_facts prefix caller platform)
  _tilewright_resolve_platform(platform file "${platform}")
  cmake_path(GET file STEM LAST_ONLY name)
  set(manifest "${CMAKE_CURRENT_BINARY_DIR}/tilewright/platforms/${name}/${name}_platform.json")
  _tilewright_generate(
    "${caller}"
    MANIFEST "${manifest}"
    INPUTS "${file}"
    COMMAND platform --platform "${platform}" --name "${name}"
  )
  file(READ "${manifest}" json)
  cmake_path(GET manifest PARENT_PATH folder)
  _tilewright_json_list(compile_options "${json}" platform compile_options)
  _tilewright_json_list(simulator "${json}" platform simulator)
  string(JSON port GET "${json}" platform port)
  string(JSON script GET "${json}" linker_script)
  if(script)
    set(script "${folder}/${script}")
  endif()
  set(${prefix}_COMPILE_OPTIONS "${compile_options}" PARENT_SCOPE)
  set(${prefix}_SIMULATOR "${simulator}" PARENT_SCOPE)
  set(${prefix}_PORT "${port}" PARENT_SCOPE)
  set(${prefix}_LINKER_SCRIPT "${script}" PARENT_SCOPE)
endfunction()
