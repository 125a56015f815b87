# SPDX-License-Identifier: Apache-2.0
include_guard(GLOBAL)

define_property(
  TARGET
  PROPERTY TILEWRIGHT_POOLS
  BRIEF_DOCS "Pools as <name>=<bytes used>"
  FULL_DOCS "-"
)
define_property(TARGET PROPERTY TILEWRIGHT_PLAN BRIEF_DOCS "The plan, a JSON file" FULL_DOCS "-")
define_property(
  TARGET
  PROPERTY TILEWRIGHT_MANIFEST
  BRIEF_DOCS "The list of generated files"
  FULL_DOCS "-"
)
define_property(
  TARGET
  PROPERTY TILEWRIGHT_REPORT
  BRIEF_DOCS "The report, a JSON file"
  FULL_DOCS "-"
)
define_property(
  TARGET
  PROPERTY TILEWRIGHT_REPORT_PROFILE
  BRIEF_DOCS "A profile whose cycles <target>_report shows"
  FULL_DOCS "-"
)
define_property(
  TARGET
  PROPERTY TILEWRIGHT_C_PREFIX
  BRIEF_DOCS "What C names begin with"
  FULL_DOCS "-"
)
define_property(
  TARGET
  PROPERTY TILEWRIGHT_COMMAND
  BRIEF_DOCS "The arguments that generated the model"
  FULL_DOCS "-"
)
define_property(TARGET PROPERTY TILEWRIGHT_INPUTS BRIEF_DOCS "The files among them" FULL_DOCS "-")
define_property(
  TARGET
  PROPERTY TILEWRIGHT_PLATFORM
  BRIEF_DOCS "Name or file of the platform"
  FULL_DOCS "-"
)
define_property(
  TARGET
  PROPERTY TILEWRIGHT_PROFILE
  BRIEF_DOCS "Whether the model measures itself"
  FULL_DOCS "-"
)

#[[
tilewright_add_model(<target>
  MODEL <file.onnx>            PLATFORM <name|file.toml>
  [NAME <c_prefix>]            the target's name if absent
  [POOLS <pool>=<bytes>[@<section>|@0x<address>]...]
  [EFFORT fast|normal|thorough] [BUFFERING auto|single|double] [ALGORITHM <placement algorithm>]
  [PLAN_LOCK <file.json>]      take tiles and addresses from this file, search nothing
  [OPTIONS <file.toml>]        what is rarely needed; the call wins
  [BUDGET <pool>=<bytes>...]   fail where a pool takes more than this; plans as if it were not there
  [TYPES <tensor>=<dtype>...]  [DIMS <symbol>=<n>...]
  [OPERATORS <file.py|name>... OPERATOR_SOURCES <file.c>...]  operators of the project's own
  [STATIC_POOLS] [IO_IN_POOLS] [QUANTIZED_IO]
  [PROFILE]                    the program measures itself, layer by layer
  [PORT <target>]              a library that implements tilewright/port.h
  [OUTPUT_DIRECTORY <dir>])

The model becomes a static library with its headers; `<target>_report` prints where the memory
goes. The platform's compile options are PUBLIC. Files are generated at configure time, and only
when model, platform, options or Tilewright have changed.
#]]
function(tilewright_add_model target)
  set(caller "tilewright_add_model(${target})")
  cmake_parse_arguments(
    PARSE_ARGV 1
    arg
    "STATIC_POOLS;IO_IN_POOLS;QUANTIZED_IO;PROFILE"
    "MODEL;PLATFORM;NAME;EFFORT;BUFFERING;ALGORITHM;PLAN_LOCK;OPTIONS;PORT;OUTPUT_DIRECTORY"
    "POOLS;BUDGET;TYPES;DIMS;OPERATORS;OPERATOR_SOURCES"
  )
  _tilewright_check_arguments("${caller}" MODEL PLATFORM)
  _tilewright_check_target("${caller}" "${target}")
  if(NOT arg_NAME)
    _tilewright_c_prefix(arg_NAME "${target}")
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}/tilewright/${target}")
  endif()
  cmake_path(
    ABSOLUTE_PATH arg_OUTPUT_DIRECTORY
    BASE_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    NORMALIZE
  )
  cmake_path(ABSOLUTE_PATH arg_MODEL BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
  _tilewright_resolve_platform(platform platform_file "${arg_PLATFORM}")

  set(manifest "${arg_OUTPUT_DIRECTORY}/${arg_NAME}_manifest.json")
  set(inputs "${arg_MODEL}" "${platform_file}")
  set(
    command
    generate
    --model
    "${arg_MODEL}"
    --platform
    "${platform}"
    --name
    "${arg_NAME}"
  )
  if(arg_OPTIONS)
    cmake_path(ABSOLUTE_PATH arg_OPTIONS BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    _tilewright_files_of_options(named "${arg_OPTIONS}")
    list(APPEND inputs "${arg_OPTIONS}" ${named})
    list(APPEND command --options "${arg_OPTIONS}")
  endif()
  if(arg_PLAN_LOCK)
    cmake_path(ABSOLUTE_PATH arg_PLAN_LOCK BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    list(APPEND inputs "${arg_PLAN_LOCK}")
    list(APPEND command --plan-lock "${arg_PLAN_LOCK}")
  endif()
  foreach(operators IN LISTS arg_OPERATORS)
    if(operators MATCHES "\\.py$")
      cmake_path(ABSOLUTE_PATH operators BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
      list(APPEND inputs "${operators}")
    endif()
    list(APPEND command --operators "${operators}")
  endforeach()
  _tilewright_model_arguments(options)
  list(APPEND command ${options})
  _tilewright_generate("${caller}" MANIFEST "${manifest}" INPUTS ${inputs} COMMAND ${command})
  _tilewright_model_library("${target}" "${manifest}")
  _tilewright_operator_sources("${target}" ${arg_OPERATOR_SOURCES})
  set_target_properties(
    "${target}"
    PROPERTIES
      TILEWRIGHT_PLATFORM "${platform}"
      TILEWRIGHT_PROFILE "${arg_PROFILE}"
      TILEWRIGHT_COMMAND "${command}"
      TILEWRIGHT_INPUTS "${inputs}"
  )
  if(arg_PORT)
    target_link_libraries("${target}" PUBLIC "${arg_PORT}")
  endif()

  file(READ "${manifest}" json)
  string(JSON summary GET "${json}" summary)
  if(TILEWRIGHT_RAN)
    message(STATUS "${summary}")
  else()
    message(STATUS "${summary} (unchanged)")
  endif()
endfunction()

# What C names begin with for a target.
function(_tilewright_c_prefix result target)
  string(MAKE_C_IDENTIFIER "${target}" name)
  string(REGEX REPLACE "_+" "_" name "${name}")
  string(REGEX REPLACE "^_|_$" "" name "${name}")
  set(${result} "${name}" PARENT_SCOPE)
endfunction()

# The part of the command line that passes values on, from the caller's arg_ variables.
function(_tilewright_model_arguments result)
  set(options "")
  foreach(word EFFORT BUFFERING ALGORITHM)
    if(arg_${word})
      string(TOLOWER "${word}" option)
      list(APPEND options "--${option}" "${arg_${word}}")
    endif()
  endforeach()
  foreach(word POOLS BUDGET TYPES DIMS)
    string(TOLOWER "${word}" option)
    string(REGEX REPLACE "s$" "" option "${option}")
    foreach(value IN LISTS arg_${word})
      list(APPEND options "--${option}=${value}")
    endforeach()
  endforeach()
  foreach(word STATIC_POOLS IO_IN_POOLS QUANTIZED_IO PROFILE)
    if(arg_${word})
      string(TOLOWER "${word}" option)
      string(REPLACE "_" "-" option "${option}")
      list(APPEND options "--${option}")
    endif()
  endforeach()
  set(${result} "${options}" PARENT_SCOPE)
endfunction()

# The library of what a manifest lists. Kernels are part of it: two models in one program share
# them all the same, since a linker takes a member for a symbol from the first archive.
function(_tilewright_model_library target manifest)
  _tilewright_layout(tool)
  file(READ "${manifest}" json)
  cmake_path(GET manifest PARENT_PATH folder)
  string(JSON name GET "${json}" name)
  _tilewright_json_list(sources "${json}" sources)
  _tilewright_json_list(headers "${json}" headers)
  _tilewright_json_list(kernels "${json}" kernel_sources)
  _tilewright_json_list(compile_options "${json}" platform compile_options)
  list(TRANSFORM sources PREPEND "${folder}/")
  list(TRANSFORM headers PREPEND "${folder}/")
  list(TRANSFORM kernels PREPEND "${tool_root}/runtime/")

  _tilewright_json_list(gcc_options "${json}" gcc_options library)
  set(gcc_options "$<$<C_COMPILER_ID:GNU>:${gcc_options}>")
  _tilewright_gcc_options_of_sources("${json}")

  set(compiled "${kernels}")
  if(TILEWRIGHT_SHARE_KERNELS)
    _tilewright_shared_objects(compiled "${compile_options};${gcc_options}" ${kernels})
  endif()
  add_library("${target}" STATIC ${sources} ${headers} ${compiled})
  target_include_directories("${target}" PUBLIC "${folder}" "${tool_root}/runtime/include")
  target_compile_options("${target}" PUBLIC ${compile_options})
  target_link_options("${target}" PUBLIC ${compile_options})
  target_compile_options("${target}" PRIVATE "${gcc_options}")
  _tilewright_target_options("${target}")
  _tilewright_needs_libm(needs_libm ${kernels})
  if(needs_libm)
    target_link_libraries("${target}" PUBLIC -lm)
  endif()

  _tilewright_json_keys(pool_names "${json}" pools)
  set(pools "")
  foreach(pool IN LISTS pool_names)
    string(JSON bytes GET "${json}" pools "${pool}")
    list(APPEND pools "${pool}=${bytes}")
  endforeach()
  string(JSON plan GET "${json}" plan)
  string(JSON report GET "${json}" report)
  set_target_properties(
    "${target}"
    PROPERTIES
      TILEWRIGHT_POOLS "${pools}"
      TILEWRIGHT_PLAN "${folder}/${plan}"
      TILEWRIGHT_MANIFEST "${manifest}"
      TILEWRIGHT_REPORT "${folder}/${report}"
      TILEWRIGHT_C_PREFIX "${name}"
  )
  _tilewright_core_stacks("${target}" "${json}")
  _tilewright_interpreter(python "tilewright_add_model(${target})")
  set(profile "$<TARGET_PROPERTY:${target},TILEWRIGHT_REPORT_PROFILE>")
  set(profile "$<$<BOOL:${profile}>:--profile;${profile}>")
  add_custom_target(
    "${target}_report"
    COMMAND "${python}" -m tilewright report "${folder}/${plan}" "${profile}"
    COMMAND
      "${python}" -m tilewright report "${folder}/${plan}" "${profile}" --format html --output
      "${folder}/${name}_report.html"
    COMMAND_EXPAND_LISTS
    USES_TERMINAL
    VERBATIM
  )
endfunction()

# What each core's stack must hold where kernels need more than a port gives. An executable has the
# largest value of all models that it is linked with; tilewright_use_port tells the port.
function(_tilewright_core_stacks target json)
  string(JSON bytes ERROR_VARIABLE absent GET "${json}" core_stack_bytes)
  if(absent)
    return()
  endif()
  set_property(
    TARGET "${target}"
    APPEND
    PROPERTY COMPATIBLE_INTERFACE_NUMBER_MAX TILEWRIGHT_CORE_STACK_BYTES
  )
  set_property(TARGET "${target}" PROPERTY INTERFACE_TILEWRIGHT_CORE_STACK_BYTES ${bytes})
endfunction()

# Sets the path of a platform's file, and what the tool is given: the file, or a shipped name.
function(_tilewright_resolve_platform result file_result platform)
  if(platform MATCHES "[.]toml$" OR platform MATCHES "/")
    cmake_path(ABSOLUTE_PATH platform BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    set(file "${platform}")
  else()
    _tilewright_layout(tool)
    set(file "${tool_root}/platforms/${platform}.toml")
  endif()
  set(${result} "${platform}" PARENT_SCOPE)
  set(${file_result} "${file}" PARENT_SCOPE)
endfunction()

# Unknown keywords, keywords without a value, and missing ones are fatal.
function(_tilewright_check_arguments caller)
  if(arg_UNPARSED_ARGUMENTS)
    list(GET arg_UNPARSED_ARGUMENTS 0 first)
    message(FATAL_ERROR "${caller}:\n  error[usage]: unknown keyword or value '${first}'")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    list(GET arg_KEYWORDS_MISSING_VALUES 0 first)
    message(FATAL_ERROR "${caller}:\n  error[usage]: ${first} has no value")
  endif()
  foreach(keyword IN LISTS ARGN)
    if("${arg_${keyword}}" STREQUAL "")
      message(FATAL_ERROR "${caller}:\n  error[usage]: ${keyword} is missing")
    endif()
  endforeach()
endfunction()

function(_tilewright_check_target caller target)
  if(TARGET "${target}")
    message(FATAL_ERROR "${caller}:\n  error[usage]: there is a target '${target}' already")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT "C" IN_LIST languages)
    message(
      FATAL_ERROR
      "${caller}:\n  error[usage]: the language C is not enabled\n  help: project(<name> LANGUAGES C)"
    )
  endif()
endfunction()
