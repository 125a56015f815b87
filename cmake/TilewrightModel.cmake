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
define_property(TARGET PROPERTY TILEWRIGHT_HEADERS BRIEF_DOCS "The generated headers" FULL_DOCS "-")
define_property(
  TARGET
  PROPERTY TILEWRIGHT_REPORT_PROFILE
  BRIEF_DOCS "A profile whose cycles <target>_report shows"
  FULL_DOCS "-"
)
define_property(
  TARGET
  PROPERTY TILEWRIGHT_REPORT_FIRMWARE
  BRIEF_DOCS "A verdict on a program, of which <target>_report shows the memory"
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
  MODEL <file.onnx>               the ONNX or .tflite file
  PLATFORM <name|file.toml>       name of a shipped platform, or a TOML file
  [NAME <c_prefix>]               prefix of every C name
  [POOLS <pool>=<bytes>[@<section>|@0x<address>]...] size of a pool, and where it lies, instead of what the platform file says
  [BUDGET <pool>=<bytes>...]      the most bytes that the plan may take of a pool; a larger plan is an error. The search does not look at the budget
  [BUFFERING auto|single|double]  slots of each tile buffer: one, two (the next tile is copied while kernels work on this one), or what costs fewer cycles
  [EFFORT fast|normal|thorough]   how many nodes and rounds a search may take
  [ALGORITHM <algorithm>]         placement algorithm
  [GROUPS auto|off]               layers that run together block by block, to need less memory
  [TYPES <tensor>=<dtype>...]     element type of an input
  [DIMS <symbol>=<n>...]          extent of a symbolic dimension; `*` is each that has none
  [BOUND <tensor>=<n>...]         how many entries an output of NonMaxSuppression, NonZero, Unique or Compress has room for; another output, `<tensor>_count`, says how many there were
  [STATE <input>=<output>...]     the input holds what the run before left in the output; both are the plan's and not the caller's
  [FEED <input>]                  the caller gives this input some rows at a time, so that it never exists as a whole
  [SLIDE <input>=<frames>...]     a run gets so many new frames of this input, and computes only what they change in the outputs
  [OPERATORS <file.py|name>...]   operators that the firmware project defines itself
  [QUANTIZED_IO]                  inputs and outputs are the stored integers: QuantizeLinear of inputs and DequantizeLinear of outputs are dropped
  [FLOAT_IO]                      inputs and outputs are real numbers: what stores quantised integers is converted by the model
  [INTERFACE <tensor>=<identifier>...] C name of an input or output, instead of what follows from its name in the model
  [STATIC_POOLS]                  the generated code defines pools as arrays; else the caller passes their addresses
  [IO_IN_POOLS]                   inputs and outputs lie in pools, at addresses of the plan; else the caller passes their addresses
  [OUTPUTS_IN_POOLS]              outputs lie in pools, at addresses of the plan; the caller passes the addresses of inputs
  [STACK_BYTES <n>]               the most stack that a run may take: the header says it, and tilewright_check_firmware holds the program to it; 0 is what the platform's file says
  [CHECK_CONSTANTS]               the generated code has `<p>_check_constants`, which compares the constants with their CRC-32 in slices
  [WEIGHTS inside|external]       constants are part of the program, or lie in `<p>_weights.bin`, which `<p>_set_weights` takes at run time
  [GUARDS]                        every buffer gets room for canaries on both sides, which a run checks behind each layer
  [PROTECT]                       each layer may touch only the memory that the plan gives the model; a stray access ends the run, and names the layer
  [PROFILE]                       the generated code measures the cycles of each layer
  [PLAN_LOCK <file.lock.json>]    take tiles and addresses from this file instead of searching for them
  [OPTIONS <file.toml>]           what is rarely needed; the call wins
  [OPERATOR_SOURCES <file.c>...]  what OPERATORS call
  [PORT <target>]                 a library that implements tilewright/port.h
  [OUTPUT_DIRECTORY <dir>])

The model becomes a static library with its headers; `<target>_report` prints where the memory
goes. The platform's compile options are PUBLIC. Files are generated at configure time, and only
when model, platform, options or Tilewright have changed. NAME is the target's name if absent.
#]]
function(tilewright_add_model target)
  set(caller "tilewright_add_model(${target})")
  cmake_parse_arguments(
    PARSE_ARGV 1
    arg
    "QUANTIZED_IO;FLOAT_IO;STATIC_POOLS;IO_IN_POOLS;OUTPUTS_IN_POOLS;CHECK_CONSTANTS;GUARDS;PROTECT;PROFILE"
    "PLATFORM;NAME;BUFFERING;EFFORT;ALGORITHM;GROUPS;FEED;STACK_BYTES;WEIGHTS;MODEL;PLAN_LOCK;OPTIONS;PORT;OUTPUT_DIRECTORY"
    "POOLS;BUDGET;TYPES;DIMS;BOUND;STATE;SLIDE;OPERATORS;INTERFACE;OPERATOR_SOURCES"
  )
  _tilewright_read_model()
  add_library("${target}" STATIC)
  set_target_properties(
    "${target}"
    PROPERTIES
      TILEWRIGHT_PLATFORM "${platform}"
      TILEWRIGHT_PROFILE "${arg_PROFILE}"
      TILEWRIGHT_COMMAND "${command}"
      TILEWRIGHT_INPUTS "${inputs}"
      TILEWRIGHT_NOTED_CALLER "${caller}"
      TILEWRIGHT_NOTED_MANIFEST "${manifest}"
      TILEWRIGHT_NOTED_PLATFORM_FILE "${platform_file}"
      TILEWRIGHT_NOTED_POOLS "${arg_POOLS}"
      TILEWRIGHT_NOTED_SOURCES "${arg_OPERATOR_SOURCES}"
      TILEWRIGHT_NOTED_PORT "${arg_PORT}"
  )
  if(TILEWRIGHT_SIDE_BY_SIDE)
    _tilewright_note_model("${target}")
  else()
    _tilewright_finish_model("${target}")
  endif()
endfunction()

# Generates the files of a model's target, or takes what a process beside others generated (OUTCOME), and makes
# the library of them.
function(_tilewright_finish_model target)
  _tilewright_noted("${target}")
  _tilewright_generate(
    "${caller}"
    MANIFEST "${manifest}"
    INPUTS ${inputs}
    COMMAND ${command} ${ARGN}
  )
  _tilewright_model_library("${target}" "${manifest}")
  _tilewright_operator_sources("${target}" ${sources})
  if(port)
    target_link_libraries("${target}" PUBLIC "${port}")
  endif()
  _tilewright_pool_sections("${caller}" "${target}" "${platform}" "${platform_file}" "${pools}")

  file(READ "${manifest}" json)
  string(JSON summary GET "${json}" summary)
  if(TILEWRIGHT_RAN)
    message(STATUS "${summary}")
  else()
    message(STATUS "${summary} (unchanged)")
  endif()
endfunction()

# Sets, from arg_<keyword> of tilewright_add_model, the platform, and the manifest, inputs and
# command of the generation.
macro(_tilewright_read_model)
  _tilewright_option_keywords(options)
  set(known "${options_FLAG}" "${options_VALUE}" "${options_FILE}" "${options_LIST}")
  list(APPEND known OPTIONS OPERATOR_SOURCES PORT OUTPUT_DIRECTORY)
  _tilewright_check_arguments("${caller}" "${known}" ${options_REQUIRED})
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
  _tilewright_resolve_platform(platform platform_file "${arg_PLATFORM}")
  set(arg_PLATFORM "${platform}")

  set(manifest "${arg_OUTPUT_DIRECTORY}/${arg_NAME}_manifest.json")
  _tilewright_option_arguments(arguments files)
  set(inputs "${platform_file}" ${files})
  set(command generate ${arguments})
  if(arg_OPTIONS)
    cmake_path(ABSOLUTE_PATH arg_OPTIONS BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
    _tilewright_files_of_options(named "${arg_OPTIONS}")
    list(APPEND inputs "${arg_OPTIONS}" ${named})
    list(APPEND command --options "${arg_OPTIONS}")
  endif()
  list(REMOVE_DUPLICATES inputs)
endmacro()

# Sets the prefix of a target's C names.
function(_tilewright_c_prefix result target)
  string(MAKE_C_IDENTIFIER "${target}" name)
  string(REGEX REPLACE "_+" "_" name "${name}")
  string(REGEX REPLACE "^_|_$" "" name "${name}")
  set(${result} "${name}" PARENT_SCOPE)
endfunction()

# The command line for the keywords of options in the caller's arg_ variables, and the files in it, by
# their whole paths. A file is a word of its own, so that its place does not count in fingerprints.
function(_tilewright_option_arguments result files_result)
  _tilewright_option_keywords(options)
  set(words "")
  set(files "")
  foreach(keyword IN LISTS options_FILE options_VALUE options_LIST)
    set(suffix "${options_SUFFIX_${keyword}}")
    foreach(value IN LISTS arg_${keyword})
      cmake_path(GET value EXTENSION LAST_ONLY extension)
      if(keyword IN_LIST options_FILE OR (suffix AND extension STREQUAL suffix))
        cmake_path(ABSOLUTE_PATH value BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}" NORMALIZE)
        list(APPEND files "${value}")
        list(APPEND words "${options_ARGUMENT_${keyword}}" "${value}")
      elseif(keyword IN_LIST options_LIST)
        list(APPEND words "${options_ARGUMENT_${keyword}}=${value}")
      else()
        list(APPEND words "${options_ARGUMENT_${keyword}}" "${value}")
      endif()
    endforeach()
  endforeach()
  foreach(keyword IN LISTS options_FLAG)
    if(arg_${keyword})
      list(APPEND words "${options_ARGUMENT_${keyword}}")
    endif()
  endforeach()
  set(${result} "${words}" PARENT_SCOPE)
  set(${files_result} "${files}" PARENT_SCOPE)
endfunction()

# The library of the files that a manifest lists. Kernels are part of it; two models in one program
# share kernels all the same, since a linker takes each symbol from the first archive that has it.
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
  target_sources("${target}" PRIVATE ${sources} ${headers} ${compiled})
  target_include_directories(
    "${target}"
    PUBLIC "$<BUILD_INTERFACE:${folder}>" "$<BUILD_INTERFACE:${tool_root}/runtime/include>"
  )
  _tilewright_check_compiler("tilewright_add_model(${target})" "${compile_options}")
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
      TILEWRIGHT_HEADERS "${headers}"
      TILEWRIGHT_C_PREFIX "${name}"
  )
  _tilewright_core_stacks("${target}" "${json}")
  _tilewright_interpreter(python "tilewright_add_model(${target})")
  set(profile "$<TARGET_PROPERTY:${target},TILEWRIGHT_REPORT_PROFILE>")
  set(profile "$<$<BOOL:${profile}>:--profile;${profile}>")
  set(firmware "$<TARGET_PROPERTY:${target},TILEWRIGHT_REPORT_FIRMWARE>")
  set(firmware "$<$<BOOL:${firmware}>:--firmware;${firmware}>")
  add_custom_target(
    "${target}_report"
    COMMAND "${python}" -m tilewright report "${folder}/${plan}" "${profile}" "${firmware}"
    COMMAND
      "${python}" -m tilewright report "${folder}/${plan}" "${profile}" "${firmware}" --format html
      --output "${folder}/${name}_report.html"
    COMMAND_EXPAND_LISTS
    USES_TERMINAL
    VERBATIM
  )
endfunction()

# The bytes that each core's stack must have, where kernels need more than a port gives. An executable
# has the largest value of all models that it is linked with; tilewright_use_port tells the port.
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

# Sections that POOLS name are in a linker script of the model, which tilewright_use_port takes in
# place of the platform's. Models with other sections do not agree on it, which CMake tells.
function(
  _tilewright_pool_sections
  caller
  target
  platform
  platform_file
  pools
)
  if(NOT pools MATCHES "@[^0]")
    return()
  endif()
  set(folder "${CMAKE_CURRENT_BINARY_DIR}/tilewright/sections")
  set(manifest "${folder}/${target}_platform.json")
  list(TRANSFORM pools PREPEND "--pool=")
  _tilewright_generate(
    "${caller}"
    MANIFEST "${manifest}"
    INPUTS "${platform_file}"
    COMMAND platform --platform "${platform}" --name "${target}" ${pools}
  )
  file(READ "${manifest}" json)
  string(JSON script GET "${json}" linker_script)
  if(NOT script)
    return()
  endif()
  # Equal scripts of several models have one name.
  file(SHA256 "${folder}/${script}" hash)
  set(shared "${CMAKE_BINARY_DIR}/tilewright/sections/${hash}.ld")
  configure_file("${folder}/${script}" "${shared}" COPYONLY)
  set_property(
    TARGET "${target}"
    APPEND
    PROPERTY COMPATIBLE_INTERFACE_STRING TILEWRIGHT_LINKER_SCRIPT
  )
  set_property(TARGET "${target}" PROPERTY INTERFACE_TILEWRIGHT_LINKER_SCRIPT "${shared}")
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
