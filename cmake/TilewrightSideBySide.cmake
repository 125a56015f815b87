# SPDX-License-Identifier: Apache-2.0
# Models of a folder that are planned at one time, each by a process of its own.
include_guard(GLOBAL)

#[[
tilewright_plan_models()

With TILEWRIGHT_SIDE_BY_SIDE on, tilewright_add_model makes the library but leaves its plan for later:
those of a folder are made at its end, as many at one time as the machine has cores, or as the
variable's number says. This function makes them here: behind it, the properties of the targets can be
read, and folders that are added know the models. Other functions of Tilewright that are given models of
their own folder call it first. Without that variable it does nothing.
#]]
function(tilewright_plan_models)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "")
  _tilewright_check_arguments("tilewright_plan_models()" "")
  get_property(targets DIRECTORY PROPERTY TILEWRIGHT_NOTED_MODELS)
  set_property(DIRECTORY PROPERTY TILEWRIGHT_NOTED_MODELS "")
  set(stale "")
  foreach(target IN LISTS targets)
    _tilewright_noted("${target}")
    _tilewright_fingerprint(fingerprint "${inputs}" "${command}")
    _tilewright_is_fresh(fresh "${manifest}" "${fingerprint}")
    if(NOT fresh)
      list(APPEND stale "${target}")
    endif()
  endforeach()
  _tilewright_run_side_by_side(${stale})
  foreach(target IN LISTS targets)
    set(outcome "")
    if(target IN_LIST stale)
      set(outcome OUTCOME)
    endif()
    _tilewright_finish_model("${target}" ${outcome})
  endforeach()
endfunction()

# Leaves a model for tilewright_plan_models, which says of a failure where the model was added.
function(_tilewright_note_model target)
  get_property(caller TARGET "${target}" PROPERTY TILEWRIGHT_NOTED_CALLER)
  _tilewright_place_of_call(place "${CMAKE_CURRENT_LIST_FILE}" "${target}")
  set_property(TARGET "${target}" PROPERTY TILEWRIGHT_NOTED_CALLER "${caller} at ${place}")
  get_property(deferred DIRECTORY PROPERTY TILEWRIGHT_DEFERRED)
  if(NOT deferred)
    set_property(DIRECTORY PROPERTY TILEWRIGHT_DEFERRED TRUE)
    cmake_language(DEFER CALL tilewright_plan_models)
  endif()
  set_property(DIRECTORY APPEND PROPERTY TILEWRIGHT_NOTED_MODELS "${target}")
endfunction()

# Sets, in the caller's scope, what tilewright_add_model noted of its target.
function(_tilewright_noted target)
  foreach(fact IN ITEMS PLATFORM INPUTS COMMAND)
    get_property(value TARGET "${target}" PROPERTY TILEWRIGHT_${fact})
    string(TOLOWER "${fact}" name)
    set(${name} "${value}" PARENT_SCOPE)
  endforeach()
  foreach(
    fact
    IN
    ITEMS CALLER MANIFEST PLATFORM_FILE POOLS SOURCES PORT
  )
    get_property(value TARGET "${target}" PROPERTY TILEWRIGHT_NOTED_${fact})
    string(TOLOWER "${fact}" name)
    set(${name} "${value}" PARENT_SCOPE)
  endforeach()
endfunction()

# Makes the plans of this folder before something reads them. Those of a folder around it can only be made
# there, since a folder's own options count for its libraries.
function(_tilewright_need_plans caller)
  tilewright_plan_models()
  get_property(folder DIRECTORY PROPERTY PARENT_DIRECTORY)
  while(folder)
    get_property(targets DIRECTORY "${folder}" PROPERTY TILEWRIGHT_NOTED_MODELS)
    if(targets)
      list(JOIN targets ", " shown)
      message(
        FATAL_ERROR
        "${caller}:\n  error[usage]: models of ${folder} are not planned yet: ${shown}\n"
        "  help: tilewright_plan_models() there, before the folder ${CMAKE_CURRENT_SOURCE_DIR} is added"
      )
    endif()
    get_property(folder DIRECTORY "${folder}" PROPERTY PARENT_DIRECTORY)
  endwhile()
endfunction()

# Generates the files of targets, several at one time; what each process said is left beside its manifest.
# All failures are told together.
function(_tilewright_run_side_by_side)
  if(NOT ARGN)
    return()
  endif()
  set(stems "")
  foreach(target IN LISTS ARGN)
    _tilewright_noted("${target}")
    _tilewright_interpreter(python "${caller}")
    cmake_path(GET manifest PARENT_PATH folder)
    set(
      words
      "${python}"
      -m
      tilewright
      ${command}
      --output-dir
      "${folder}"
      --progress
      none
    )
    list(JOIN words "\n" lines)
    file(WRITE "${manifest}.command" "${lines}\n")
    list(APPEND stems "${manifest}")
  endforeach()
  _tilewright_layout(tool)
  _tilewright_jobs(jobs)
  execute_process(
    COMMAND "${python}" "${tool_root}/cmake/TilewrightSideBySide.py" "${jobs}" ${stems}
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}"
    COMMAND_ERROR_IS_FATAL ANY
  )
  set(failures "")
  foreach(target IN LISTS ARGN)
    _tilewright_noted("${target}")
    file(READ "${manifest}.errors" errors)
    file(STRINGS "${manifest}.status" status)
    if(NOT status EQUAL 0)
      cmake_path(GET manifest PARENT_PATH folder)
      _tilewright_failure(text "${caller}" "${errors}" ${command} --output-dir "${folder}")
      string(APPEND failures "${text}\n")
    endif()
  endforeach()
  if(failures)
    message(FATAL_ERROR "${failures}")
  endif()
endfunction()

# How many processes run at one time.
function(_tilewright_jobs result)
  set(jobs "${TILEWRIGHT_SIDE_BY_SIDE}")
  if(NOT jobs MATCHES "^[1-9][0-9]*$")
    cmake_host_system_information(RESULT jobs QUERY NUMBER_OF_LOGICAL_CORES)
  endif()
  set(${result} "${jobs}" PARENT_SCOPE)
endfunction()

# File and line of the call that adds a target; only the file where the call does not spell the name.
function(_tilewright_place_of_call result file target)
  file(READ "${file}" text)
  string(REGEX REPLACE "([][+.*?()^$\\])" "\\\\\\1" name "${target}")
  string(
    REGEX MATCH "tilewright_add_model[ \t\r\n]*\\([ \t\r\n]*\"?${name}[\" \t\r\n)]"
    call
    "${text}"
  )
  cmake_path(RELATIVE_PATH file BASE_DIRECTORY "${CMAKE_SOURCE_DIR}" OUTPUT_VARIABLE place)
  if(call)
    string(FIND "${text}" "${call}" position)
    string(SUBSTRING "${text}" 0 ${position} before)
    string(REGEX REPLACE "[^\n]" "" newlines "${before}")
    string(LENGTH "${newlines}" line)
    math(EXPR line "${line} + 1")
    string(APPEND place ":${line}")
  endif()
  set(${result} "${place}" PARENT_SCOPE)
endfunction()
