# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

#[[
tilewright_check_firmware(<executable>
  [MODELS <target>...]                          the models that the executable links directly, if absent
  [PLATFORM <name|file.toml>]                   whose linker regions the executable has; that of the first model
                                                if absent
  [REGIONS <pool>=0x<base>:<bytes>...]          memory in which a pool must lie, for a linker script of your own
  [POOL_SYMBOLS [<prefix>.]<pool>=<symbol>...]  the arrays that the application passes as pools
  [POOL_SECTIONS [<prefix>.]<pool>=<section>...] the output section of a pool, where the linker script names it
                                                otherwise than the plan
  [BUDGET <what>=<number>...]                   the most bytes of ram, flash, stack, code or constants, or
                                                instructions of a run
  [INSTRUCTIONS]                                also bound the instructions of a run, for any input (RV32)
  [ALLOW <name>...]                             functions and variables that the models may use beside their own)

After each link, compare the executable with the plans of its models: every pool lies where and as
large as the plan says, constants have the plan's bytes, every file was compiled with the plan's
headers, code below <p>_run calls nothing that is not listed, and its stack is bounded. A difference
fails the build with symbol, address, what was expected and what was found. The function is called
in the folder that makes the executable, behind target_link_libraries; the verdict is written to
<executable>.check.json beside it.
#]]
function(tilewright_check_firmware executable)
  set(caller "tilewright_check_firmware(${executable})")
  cmake_parse_arguments(
    PARSE_ARGV 1
    arg
    "INSTRUCTIONS"
    "PLATFORM"
    "MODELS;REGIONS;POOL_SYMBOLS;POOL_SECTIONS;BUDGET;ALLOW"
  )
  set(known "INSTRUCTIONS;MODELS;PLATFORM;REGIONS;POOL_SYMBOLS;POOL_SECTIONS;BUDGET;ALLOW")
  _tilewright_check_arguments("${caller}" "${known}")
  _tilewright_need_plans("${caller}")
  if(NOT TARGET "${executable}")
    message(FATAL_ERROR "${caller}:\n  error[usage]: there is no target '${executable}'")
  endif()
  if(NOT arg_MODELS)
    _tilewright_models_of(arg_MODELS "${executable}")
  endif()
  if(NOT arg_MODELS)
    message(FATAL_ERROR "${caller}:\n  error[usage]: '${executable}' links no model")
  endif()
  if(NOT arg_PLATFORM)
    list(GET arg_MODELS 0 first)
    get_target_property(arg_PLATFORM "${first}" TILEWRIGHT_PLATFORM)
  endif()
  _tilewright_resolve_platform(platform platform_file "${arg_PLATFORM}")
  set(options --platform "${platform}")
  set(plans "")
  foreach(model IN LISTS arg_MODELS)
    get_target_property(plan "${model}" TILEWRIGHT_PLAN)
    list(APPEND plans "${plan}")
    list(APPEND options "--plan=${plan}")
    # The first program that is checked is the one of which the model's report speaks.
    get_target_property(reported "${model}" TILEWRIGHT_REPORT_FIRMWARE)
    if(NOT reported)
      set(verdict "$<TARGET_FILE:${executable}>.check.json")
      set_target_properties("${model}" PROPERTIES TILEWRIGHT_REPORT_FIRMWARE "${verdict}")
      add_dependencies("${model}_report" "${executable}")
    endif()
  endforeach()
  foreach(keyword IN ITEMS REGION POOL_SYMBOL POOL_SECTION)
    string(TOLOWER "--${keyword}" option)
    string(REPLACE "_" "-" option "${option}")
    foreach(value IN LISTS arg_${keyword}S)
      list(APPEND options "${option}=${value}")
    endforeach()
  endforeach()
  foreach(keyword IN ITEMS ALLOW BUDGET)
    string(TOLOWER "--${keyword}" option)
    foreach(value IN LISTS arg_${keyword})
      list(APPEND options "${option}=${value}")
    endforeach()
  endforeach()
  if(arg_INSTRUCTIONS)
    list(APPEND options --instructions)
  endif()
  if(CMAKE_OBJDUMP)
    list(APPEND options "--objdump=${CMAKE_OBJDUMP}")
  endif()
  _tilewright_interpreter(python "${caller}")
  set_property(TARGET "${executable}" APPEND PROPERTY LINK_DEPENDS ${plans})
  add_custom_command(
    TARGET "${executable}"
    POST_BUILD
    COMMAND
      "${python}" -m tilewright check-elf "$<TARGET_FILE:${executable}>" ${options}
      "--json=$<TARGET_FILE:${executable}>.check.json"
    COMMENT "Checking ${executable} against its plans"
    VERBATIM
  )
endfunction()

# The models that a target links directly.
function(_tilewright_models_of result target)
  set(models "")
  get_target_property(libraries "${target}" LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(TARGET "${library}")
      get_target_property(plan "${library}" TILEWRIGHT_PLAN)
      if(plan)
        list(APPEND models "${library}")
      endif()
    endif()
  endforeach()
  set(${result} "${models}" PARENT_SCOPE)
endfunction()
