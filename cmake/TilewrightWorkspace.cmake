# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

#[[
tilewright_add_workspace(<target> MODELS <target>... [EXCLUSIVE | CONCURRENT])

One set of pools for several models, which the application provides. The library <target> brings
<target>.h (characters that C names lack become underscores), with the size and alignment of each pool and a function for each model that gives its
part, and links the models. EXCLUSIVE, the default: one model runs at a time, and a pool is as
large as the largest that a model needs. CONCURRENT: each model has bytes of its own.
#]]
function(tilewright_add_workspace target)
  set(caller "tilewright_add_workspace(${target})")
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXCLUSIVE;CONCURRENT" "" "MODELS")
  _tilewright_check_arguments("${caller}" "EXCLUSIVE;CONCURRENT;MODELS" MODELS)
  _tilewright_need_plans("${caller}")
  _tilewright_check_target("${caller}" "${target}")
  if(arg_EXCLUSIVE AND arg_CONCURRENT)
    message(FATAL_ERROR "${caller}:\n  error[usage]: EXCLUSIVE or CONCURRENT, not both")
  endif()
  set(plans "")
  set(platforms "")
  foreach(model IN LISTS arg_MODELS)
    set(plan "")
    if(TARGET "${model}")
      get_target_property(plan "${model}" TILEWRIGHT_PLAN)
      get_target_property(platform "${model}" TILEWRIGHT_PLATFORM)
    endif()
    if(NOT plan)
      message(
        FATAL_ERROR
        "${caller}:\n  error[usage]: '${model}' is no target of tilewright_add_model"
      )
    endif()
    list(APPEND plans "${plan}")
    list(APPEND platforms "${platform}")
  endforeach()

  _tilewright_c_prefix(name "${target}")
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/tilewright/${target}")
  set(manifest "${folder}/${name}_manifest.json")
  set(command workspace --name "${name}")
  foreach(plan IN LISTS plans)
    list(APPEND command --plan "${plan}")
  endforeach()
  if(arg_CONCURRENT)
    list(APPEND command --concurrent)
  endif()
  _tilewright_generate("${caller}" MANIFEST "${manifest}" INPUTS ${plans} COMMAND ${command})

  file(READ "${manifest}" json)
  _tilewright_json_keys(pool_names "${json}" pools)
  set(pools "")
  foreach(pool IN LISTS pool_names)
    string(JSON bytes GET "${json}" pools "${pool}")
    list(APPEND pools "${pool}=${bytes}")
  endforeach()
  add_library("${target}" INTERFACE)
  target_include_directories("${target}" INTERFACE "$<BUILD_INTERFACE:${folder}>")
  target_link_libraries("${target}" INTERFACE ${arg_MODELS})
  list(GET platforms 0 platform)
  set_target_properties(
    "${target}"
    PROPERTIES
      TILEWRIGHT_POOLS "${pools}"
      TILEWRIGHT_C_PREFIX "${name}"
      TILEWRIGHT_PLATFORM "${platform}"
      TILEWRIGHT_HEADERS "${folder}/${name}.h"
  )
  list(JOIN pools ", " shown)
  message(STATUS "${target}: ${shown}")
endfunction()
