# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

#[[
tilewright_install_models(<target>... EXPORT <name> [HEADERS <dir>])

Install libraries of models, and workspaces, with the headers that they need, as part of an export
set: `install(EXPORT <name> ...)` then makes the file by which another project links them, which
needs no Tilewright. Archives go where the project's archives go, headers into HEADERS or the
project's folder of headers.
#]]
function(tilewright_install_models)
  set(caller "tilewright_install_models")
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "EXPORT;HEADERS" "")
  set(models "${arg_UNPARSED_ARGUMENTS}")
  unset(arg_UNPARSED_ARGUMENTS)
  _tilewright_check_arguments("${caller}" "EXPORT;HEADERS" EXPORT)
  _tilewright_need_plans("${caller}")
  include(GNUInstallDirs)
  if(NOT arg_HEADERS)
    set(arg_HEADERS "${CMAKE_INSTALL_INCLUDEDIR}")
  endif()
  foreach(model IN LISTS models)
    _tilewright_check_installable("${caller}" "${model}")
    get_target_property(headers "${model}" TILEWRIGHT_HEADERS)
    set_property(
      TARGET "${model}"
      APPEND
      PROPERTY EXPORT_PROPERTIES TILEWRIGHT_C_PREFIX TILEWRIGHT_POOLS
    )
    install(FILES ${headers} DESTINATION "${arg_HEADERS}")
  endforeach()
  install(
    TARGETS ${models}
    EXPORT "${arg_EXPORT}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    INCLUDES DESTINATION "${arg_HEADERS}"
  )
  _tilewright_layout(tool)
  install(
    DIRECTORY "${tool_root}/runtime/include/tilewright"
    DESTINATION "${arg_HEADERS}"
    FILES_MATCHING
    PATTERN "*.h"
  )
endfunction()

function(_tilewright_check_installable caller model)
  set(headers "")
  set(script "")
  if(TARGET "${model}")
    get_target_property(headers "${model}" TILEWRIGHT_HEADERS)
    get_target_property(script "${model}" INTERFACE_TILEWRIGHT_LINKER_SCRIPT)
  endif()
  if(NOT headers)
    message(
      FATAL_ERROR
      "${caller}:\n  error[usage]: '${model}' is no target of tilewright_add_model or "
      "tilewright_add_workspace"
    )
  endif()
  if(script)
    message(
      FATAL_ERROR
      "${caller}:\n  error[usage]: POOLS of '${model}' name sections, which stand in a linker script "
      "of this build\n  help: name the sections in the platform file"
    )
  endif()
endfunction()
