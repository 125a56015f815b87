# SPDX-License-Identifier: Apache-2.0
# How generated code and kernels are compiled.
include_guard(GLOBAL)

# Kernel sources that GCC compiles with options of their own, behind those of the target.
function(_tilewright_gcc_options_of_sources json)
  _tilewright_layout(tool)
  _tilewright_json_keys(names "${json}" gcc_options sources)
  foreach(name IN LISTS names)
    _tilewright_json_list(options "${json}" gcc_options sources "${name}")
    set_property(
      SOURCE "${tool_root}/runtime/${name}"
      PROPERTY COMPILE_OPTIONS "$<$<C_COMPILER_ID:GNU>:${options}>"
    )
  endforeach()
endfunction()

# The objects of files of the runtime, each compiled once for all models and executables whose
# platform and folder have the same options. What is set on a target later does not reach them.
function(_tilewright_shared_objects result compile_options)
  _tilewright_layout(tool)
  set(settings "${compile_options}")
  foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS INCLUDE_DIRECTORIES)
    get_property(value DIRECTORY PROPERTY ${property})
    string(APPEND settings "\n${value}")
  endforeach()
  foreach(
    variable
    CMAKE_C_FLAGS
    CMAKE_BUILD_TYPE
    CMAKE_POSITION_INDEPENDENT_CODE
    CMAKE_INTERPROCEDURAL_OPTIMIZATION
    CMAKE_C_VISIBILITY_PRESET
    TILEWRIGHT_OPTIMIZE
  )
    string(APPEND settings "\n${${variable}}")
  endforeach()
  string(SHA256 key "${settings}")
  string(SUBSTRING "${key}" 0 8 key)
  set(objects "")
  foreach(source IN LISTS ARGN)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${tool_root}/runtime" OUTPUT_VARIABLE name)
    string(MAKE_C_IDENTIFIER "tilewright_${name}_${key}" object)
    if(NOT TARGET ${object})
      add_library(${object} OBJECT EXCLUDE_FROM_ALL "${source}")
      _tilewright_as_c(${object} "${source}")
      target_include_directories(${object} PRIVATE "${tool_root}/runtime/include")
      target_compile_options(${object} PRIVATE "${compile_options}")
      _tilewright_target_options(${object})
    endif()
    list(APPEND objects $<TARGET_OBJECTS:${object}>)
  endforeach()
  set(${result} "${objects}" PARENT_SCOPE)
endfunction()

# Files of the runtime in an executable: compiled with it, or shared with others.
function(_tilewright_runtime_sources executable compile_options)
  if(TILEWRIGHT_SHARE_KERNELS)
    _tilewright_shared_objects(objects "${compile_options}" ${ARGN})
    target_sources("${executable}" PRIVATE ${objects})
    return()
  endif()
  target_sources("${executable}" PRIVATE ${ARGN})
  _tilewright_as_c("${executable}" ${ARGN})
endfunction()

# The C compiler's driver assembles, so that projects need not enable ASM.
function(_tilewright_as_c target)
  set(assembler "${ARGN}")
  list(FILTER assembler INCLUDE REGEX "[.]S$")
  if(assembler)
    set_source_files_properties(
      ${assembler}
      TARGET_DIRECTORY "${target}"
      PROPERTIES LANGUAGE C COMPILE_OPTIONS -xassembler-with-cpp
    )
  endif()
endfunction()

# Whether one of some C files uses the mathematical library.
function(_tilewright_needs_libm result)
  set(${result} FALSE PARENT_SCOPE)
  foreach(source IN LISTS ARGN)
    file(STRINGS "${source}" lines REGEX "^#include <math[.]h>" LIMIT_COUNT 1)
    if(lines)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# How generated code and kernels are compiled, whatever the project does.
function(_tilewright_target_options target)
  set_target_properties(
    "${target}"
    PROPERTIES C_STANDARD 11 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF LINKER_LANGUAGE C
  )
  target_compile_options("${target}" PRIVATE -ffp-contract=off -ffunction-sections -fdata-sections)
  if(NOT DEFINED TILEWRIGHT_OPTIMIZE)
    set(TILEWRIGHT_OPTIMIZE -O2)
  endif()
  if(TILEWRIGHT_OPTIMIZE STREQUAL "")
    return()
  endif()
  get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
  set(configurations "${CMAKE_BUILD_TYPE}")
  if(is_multi_config)
    set(configurations "${CMAKE_CONFIGURATION_TYPES}")
  endif()
  if(configurations STREQUAL "")
    set(configurations "-")
  endif()
  get_property(directory_options DIRECTORY PROPERTY COMPILE_OPTIONS)
  foreach(configuration IN LISTS configurations)
    string(REPLACE "-" "" configuration "${configuration}")
    string(TOUPPER "${configuration}" upper)
    set(flags "${CMAKE_C_FLAGS} ${CMAKE_C_FLAGS_${upper}} ${directory_options}")
    if(NOT flags MATCHES "-O([1-9sz]|fast)")
      target_compile_options(
        "${target}"
        PRIVATE "$<$<CONFIG:${configuration}>:${TILEWRIGHT_OPTIMIZE}>"
      )
    endif()
  endforeach()
endfunction()

# Warns, once for each set of options, if the C compiler does not take a platform's options: mostly a toolchain
# file is missing. The code is generated all the same, so that reports can be made without a compiler.
function(_tilewright_check_compiler caller compile_options)
  get_property(checked GLOBAL PROPERTY _TILEWRIGHT_CHECKED_COMPILE_OPTIONS)
  string(JOIN " " shown ${compile_options})
  if(NOT compile_options OR shown IN_LIST checked OR NOT CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY _TILEWRIGHT_CHECKED_COMPILE_OPTIONS "${shown}")
  separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_COMPILER_ARG1} ${CMAKE_C_FLAGS}")
  if(CMAKE_C_COMPILER_TARGET)
    list(APPEND flags "${CMAKE_C_COMPILE_OPTIONS_TARGET}${CMAKE_C_COMPILER_TARGET}")
  endif()
  execute_process(
    COMMAND "${CMAKE_C_COMPILER}" ${flags} ${compile_options} -fsyntax-only -x c /dev/null
    RESULT_VARIABLE failed
    OUTPUT_QUIET
    ERROR_QUIET
  )
  if(failed)
    _tilewright_layout(tool)
    set(file riscv64-unknown-elf-gcc)
    if(shown MATCHES "-mcpu=cortex|-mthumb")
      set(file arm-none-eabi-gcc)
    endif()
    message(
      WARNING
      "${caller}:\n  warning[compiler]: ${CMAKE_C_COMPILER} does not take the platform's options ${shown}\n"
      "  help: configure a new build folder with a toolchain file for the platform, for example "
      "-DCMAKE_TOOLCHAIN_FILE=${tool_root}/cmake/toolchains/${file}.cmake"
    )
  endif()
endfunction()
