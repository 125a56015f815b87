# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

#[[
tilewright_add_simulation_test(NAME <test> TARGET <executable>
  [SIMULATOR <platform>]  the platform of the first model that the executable links, if absent
  [ARGS <argument>...] [TIMEOUT <seconds>])

A test that runs a program in a platform's simulator and passes if it exits with 0. It is
disabled, and says so, if the simulator is not installed. Where the program links models with
PROFILE and prints their tables, it writes <test>_profile.json into the binary folder, or
<test>_<prefix>_profile.json for each of several models.
#]]
function(tilewright_add_simulation_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;TARGET;SIMULATOR;TIMEOUT" "ARGS")
  set(caller "tilewright_add_simulation_test(${arg_NAME})")
  _tilewright_check_arguments("${caller}" "NAME;TARGET;SIMULATOR;TIMEOUT;ARGS" NAME TARGET)
  _tilewright_need_plans("${caller}")
  if(NOT TARGET "${arg_TARGET}")
    message(FATAL_ERROR "${caller}:\n  error[usage]: there is no target '${arg_TARGET}'")
  endif()
  if(NOT arg_SIMULATOR)
    _tilewright_platform_of(arg_SIMULATOR "${arg_TARGET}")
  endif()
  if(NOT arg_SIMULATOR)
    message(
      FATAL_ERROR
      "${caller}:\n  error[usage]: SIMULATOR is missing, and '${arg_TARGET}' links no model"
    )
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  _tilewright_resolve_platform(platform platform_file "${arg_SIMULATOR}")
  _tilewright_platform_facts(facts "${caller}" "${arg_SIMULATOR}")
  _tilewright_interpreter(python "${caller}")
  set(options "")
  foreach(argument IN LISTS arg_ARGS)
    list(APPEND options "--argument=${argument}")
  endforeach()
  _tilewright_profile_options(profiles "${arg_TARGET}" "${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}")
  list(APPEND options ${profiles})
  add_test(
    NAME "${arg_NAME}"
    COMMAND
      "${python}" -m tilewright simulate --platform "${platform}" --elf
      "$<TARGET_FILE:${arg_TARGET}>" --timeout "${arg_TIMEOUT}" ${options}
  )
  math(EXPR limit "${arg_TIMEOUT} + 30")
  set_tests_properties("${arg_NAME}" PROPERTIES TIMEOUT "${limit}")
  _tilewright_simulator_problem(problem environment "${platform}" ${facts_SIMULATOR})
  if(environment)
    set_tests_properties("${arg_NAME}" PROPERTIES ENVIRONMENT "${environment}")
  endif()
  if(problem)
    message(STATUS "Test ${arg_NAME} is disabled: ${problem}")
    set_tests_properties("${arg_NAME}" PROPERTIES DISABLED TRUE)
  endif()
endfunction()

#[[
tilewright_add_golden_test(NAME <test> MODEL <target> [INPUTS <npz>] [OUTPUTS <npz>]
  [TOLERANCE <abs>:<rel>]  |got - want| <= abs + rel * |want|; exact if absent
  [SIMULATOR <platform>]   the model's platform if absent
  [COMPARE_LAYERS <runs>]  in the first <runs> runs compare what every layer writes with the
                           operators' references, and name the first layer that differs
  [UNWATCHED]              no further run that watches copies and hides far memory: without it
                           measured copies pass through the watch, some 25 cycles for each call
  [PORT <port>] [TIMEOUT <seconds>])

A test of a model against stored vectors: they are linked into a firmware that runs the model and
compares on the target. Arrays are matched by tensor name, else by order, and converted by value;
an array with one more leading dimension than its tensor is a list of runs. Without OUTPUTS they are
what the best judge that is installed computes (ONNX Runtime, TensorFlow Lite Micro, else
Tilewright's own references), which the configuration names; without INPUTS they are random.
#]]
function(tilewright_add_golden_test)
  cmake_parse_arguments(
    PARSE_ARGV 0
    arg
    "UNWATCHED"
    "NAME;MODEL;INPUTS;OUTPUTS;TOLERANCE;SIMULATOR;COMPARE_LAYERS;PORT;TIMEOUT"
    ""
  )
  _tilewright_read_golden()
  _tilewright_generate("${caller}" MANIFEST "${manifest}" INPUTS ${inputs} COMMAND ${command})
  _tilewright_golden_executable("${arg_NAME}" "${arg_MODEL}" "${manifest}" "${arg_UNWATCHED}")
  file(READ "${manifest}" json)
  string(JSON judge GET "${json}" judge)
  if(judge)
    message(STATUS "${arg_NAME}: vectors by ${judge}")
  endif()
  set(port "")
  if(arg_PORT)
    set(port PORT "${arg_PORT}")
  endif()
  tilewright_use_port("${arg_NAME}" PLATFORM "${platform}" ${port} MAP)
  set(timeout "")
  if(arg_TIMEOUT)
    set(timeout TIMEOUT "${arg_TIMEOUT}")
  endif()
  tilewright_add_simulation_test(
    NAME "${arg_NAME}"
    TARGET "${arg_NAME}"
    SIMULATOR "${arg_SIMULATOR}"
    ${timeout}
  )
endfunction()

# Sets, from arg_<keyword> of tilewright_add_golden_test, the platform, and the manifest, inputs and
# command of the generation.
macro(_tilewright_read_golden)
  set(caller "tilewright_add_golden_test(${arg_NAME})")
  _tilewright_check_arguments(
    "${caller}"
    "NAME;MODEL;INPUTS;OUTPUTS;TOLERANCE;SIMULATOR;COMPARE_LAYERS;PORT;TIMEOUT;UNWATCHED"
    NAME
    MODEL
  )
  _tilewright_check_target("${caller}" "${arg_NAME}")
  _tilewright_need_plans("${caller}")
  if(TARGET "${arg_MODEL}")
    get_target_property(plan "${arg_MODEL}" TILEWRIGHT_PLAN)
    get_target_property(platform "${arg_MODEL}" TILEWRIGHT_PLATFORM)
  endif()
  if(NOT plan)
    message(
      FATAL_ERROR
      "${caller}:\n  error[usage]: '${arg_MODEL}' is no target of tilewright_add_model"
    )
  endif()
  set(vectors "")
  set(vector_files "")
  foreach(side IN ITEMS INPUTS OUTPUTS)
    if(arg_${side})
      cmake_path(ABSOLUTE_PATH arg_${side} BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
      string(TOLOWER "--${side}" argument)
      list(APPEND vectors "${argument}" "${arg_${side}}")
      list(APPEND vector_files "${arg_${side}}")
    endif()
  endforeach()
  if(NOT arg_TOLERANCE)
    set(arg_TOLERANCE 0:0)
  endif()
  if(NOT arg_SIMULATOR)
    set(arg_SIMULATOR "${platform}")
  endif()

  _tilewright_resolve_platform(arg_SIMULATOR simulator_file "${arg_SIMULATOR}")
  set(model_files "")
  set(comparing "")
  if(arg_COMPARE_LAYERS OR NOT (arg_INPUTS AND arg_OUTPUTS))
    get_target_property(model_files "${arg_MODEL}" TILEWRIGHT_INPUTS)
    get_target_property(comparing "${arg_MODEL}" TILEWRIGHT_COMMAND)
    list(POP_FRONT comparing)
    list(TRANSFORM comparing PREPEND "--generate=")
  endif()
  if(arg_COMPARE_LAYERS)
    list(PREPEND comparing --compare-layers "${arg_COMPARE_LAYERS}")
  endif()
  set(manifest "${CMAKE_CURRENT_BINARY_DIR}/tilewright/golden/${arg_NAME}/golden_manifest.json")
  set(inputs "${plan}" ${vector_files} "${simulator_file}" ${model_files})
  set(
    command
    golden
    --plan
    "${plan}"
    ${vectors}
    --tolerance
    "${arg_TOLERANCE}"
    --platform
    "${arg_SIMULATOR}"
    ${comparing}
  )
endmacro()

function(_tilewright_golden_executable name model manifest unwatched)
  _tilewright_layout(tool)
  file(READ "${manifest}" json)
  cmake_path(GET manifest PARENT_PATH folder)
  _tilewright_json_list(sources "${json}" sources)
  list(TRANSFORM sources PREPEND "${folder}/")
  add_executable("${name}" ${sources})
  get_target_property(compile_options "${model}" INTERFACE_COMPILE_OPTIONS)
  if(NOT compile_options)
    set(compile_options "")
  endif()
  set(support "${tool_root}/runtime/test_support")
  _tilewright_runtime_sources("${name}" "${compile_options}" "${support}/golden.c")
  target_include_directories("${name}" PRIVATE "${folder}" "${support}")
  target_link_libraries("${name}" PRIVATE "${model}")
  _tilewright_target_options("${name}")
  string(JSON compared GET "${json}" compared_layers)
  if(compared)
    _tilewright_compare_layers("${name}" "${model}")
  endif()
  string(JSON watched GET "${json}" watched)
  if(watched AND NOT unwatched)
    _tilewright_runtime_sources("${name}" "${compile_options}" "${support}/golden_watch.c")
    _tilewright_port_sources(
      "tilewright_add_golden_test(${name})"
      "${name}"
      counting
      "${compile_options}"
    )
  endif()
endfunction()

# The model's code once more, in the executable itself, where it calls the hook behind each layer;
# the linker then does not take it from the library.
function(_tilewright_compare_layers name model)
  _tilewright_layout(tool)
  get_target_property(plan "${model}" TILEWRIGHT_PLAN)
  get_target_property(prefix "${model}" TILEWRIGHT_C_PREFIX)
  cmake_path(GET plan PARENT_PATH folder)
  add_library("${name}_hooked" OBJECT "${folder}/${prefix}.c")
  target_link_libraries("${name}_hooked" PRIVATE "${model}")
  target_compile_definitions(
    "${name}_hooked"
    PRIVATE TILEWRIGHT_LAYER_HOOK=golden_layer_done $<TARGET_PROPERTY:${model},COMPILE_DEFINITIONS>
  )
  _tilewright_target_options("${name}_hooked")
  target_sources(
    "${name}"
    PRIVATE $<TARGET_OBJECTS:${name}_hooked> "${tool_root}/runtime/test_support/golden_layers.c"
  )
endfunction()

# The platform of the first model among the libraries that a target links directly.
function(_tilewright_platform_of result target)
  set(${result} "" PARENT_SCOPE)
  get_target_property(libraries "${target}" LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(TARGET "${library}")
      get_target_property(platform "${library}" TILEWRIGHT_PLATFORM)
      if(platform)
        set(${result} "${platform}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
endfunction()

# Sets the files for the profiles of the models with PROFILE that a target links directly.
function(_tilewright_profile_options result target stem)
  set(models "")
  get_target_property(libraries "${target}" LINK_LIBRARIES)
  foreach(library IN LISTS libraries)
    if(TARGET "${library}")
      get_target_property(profiled "${library}" TILEWRIGHT_PROFILE)
      if(profiled)
        list(APPEND models "${library}")
      endif()
    endif()
  endforeach()
  list(LENGTH models count)
  set(options "")
  foreach(model IN LISTS models)
    get_target_property(plan "${model}" TILEWRIGHT_PLAN)
    get_target_property(prefix "${model}" TILEWRIGHT_C_PREFIX)
    if(count EQUAL 1)
      list(APPEND options "--plan=${plan}" "--profile=${stem}_profile.json")
    else()
      list(APPEND options "--plan=${plan}" "--profile=${stem}_${prefix}_profile.json")
    endif()
  endforeach()
  set(${result} "${options}" PARENT_SCOPE)
endfunction()

# Sets the reason why a simulator's programs cannot be run, or nothing, and the environment that they
# need.
function(_tilewright_simulator_problem result environment platform)
  set(${result} "" PARENT_SCOPE)
  set(${environment} "" PARENT_SCOPE)
  if(NOT ARGN)
    set(${result} "platform '${platform}' has no simulator" PARENT_SCOPE)
    return()
  endif()
  if("gvsoc" IN_LIST ARGN)
    _tilewright_layout(tool)
    list(PREPEND CMAKE_MODULE_PATH "${tool_root}/cmake")
    find_package(GVSoC MODULE QUIET)
    set(${result} "${GVSOC_PROBLEM}" PARENT_SCOPE)
    set(${environment} "GVSOC_INSTALL_DIR=${GVSOC_DIR}" PARENT_SCOPE)
    return()
  endif()
  foreach(program IN LISTS ARGN)
    if(program MATCHES "{")
      continue()
    endif()
    find_program(
      found
      "${program}"
      NO_CACHE
      NO_CMAKE_FIND_ROOT_PATH
      NO_CMAKE_PATH
      NO_CMAKE_SYSTEM_PATH
    )
    if(NOT found)
      set(${result} "simulator '${program}' is not installed" PARENT_SCOPE)
      return()
    endif()
    unset(found)
  endforeach()
endfunction()
