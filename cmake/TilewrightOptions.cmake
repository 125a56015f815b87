# SPDX-License-Identifier: Apache-2.0
# Written by scripts/reference_pages.py, from the options that python/tilewright/options declares.
include_guard(GLOBAL)

# Sets in the caller's scope the keywords of options by what they take: <prefix>_FLAG, _VALUE, _FILE
# and _LIST; those that every call has, <prefix>_REQUIRED; their arguments on the command line,
# <prefix>_ARGUMENT_<keyword>; how values end that are files, <prefix>_SUFFIX_<keyword>; and the keys of
# an options file that name files, <prefix>_FILE_KEYS.
function(_tilewright_option_keywords prefix)
  set(
    ${prefix}_FLAG
    "QUANTIZED_IO;FLOAT_IO;STATIC_POOLS;IO_IN_POOLS;OUTPUTS_IN_POOLS;CHECK_CONSTANTS;GUARDS;PROTECT;PROFILE"
    PARENT_SCOPE
  )
  set(
    ${prefix}_VALUE
    "PLATFORM;NAME;BUFFERING;EFFORT;ALGORITHM;GROUPS;FEED;STACK_BYTES;WEIGHTS"
    PARENT_SCOPE
  )
  set(${prefix}_FILE "MODEL;PLAN_LOCK" PARENT_SCOPE)
  set(${prefix}_LIST "POOLS;BUDGET;TYPES;DIMS;BOUND;STATE;SLIDE;OPERATORS;INTERFACE" PARENT_SCOPE)
  set(${prefix}_REQUIRED "MODEL;PLATFORM" PARENT_SCOPE)
  set(${prefix}_ARGUMENT_MODEL --model PARENT_SCOPE)
  set(${prefix}_ARGUMENT_PLATFORM --platform PARENT_SCOPE)
  set(${prefix}_ARGUMENT_NAME --name PARENT_SCOPE)
  set(${prefix}_ARGUMENT_POOLS --pool PARENT_SCOPE)
  set(${prefix}_ARGUMENT_BUDGET --budget PARENT_SCOPE)
  set(${prefix}_ARGUMENT_BUFFERING --buffering PARENT_SCOPE)
  set(${prefix}_ARGUMENT_EFFORT --effort PARENT_SCOPE)
  set(${prefix}_ARGUMENT_ALGORITHM --algorithm PARENT_SCOPE)
  set(${prefix}_ARGUMENT_GROUPS --groups PARENT_SCOPE)
  set(${prefix}_ARGUMENT_TYPES --type PARENT_SCOPE)
  set(${prefix}_ARGUMENT_DIMS --dim PARENT_SCOPE)
  set(${prefix}_ARGUMENT_BOUND --bound PARENT_SCOPE)
  set(${prefix}_ARGUMENT_STATE --state PARENT_SCOPE)
  set(${prefix}_ARGUMENT_FEED --feed PARENT_SCOPE)
  set(${prefix}_ARGUMENT_SLIDE --slide PARENT_SCOPE)
  set(${prefix}_ARGUMENT_OPERATORS --operators PARENT_SCOPE)
  set(${prefix}_ARGUMENT_QUANTIZED_IO --quantized-io PARENT_SCOPE)
  set(${prefix}_ARGUMENT_FLOAT_IO --float-io PARENT_SCOPE)
  set(${prefix}_ARGUMENT_INTERFACE --interface PARENT_SCOPE)
  set(${prefix}_ARGUMENT_STATIC_POOLS --static-pools PARENT_SCOPE)
  set(${prefix}_ARGUMENT_IO_IN_POOLS --io-in-pools PARENT_SCOPE)
  set(${prefix}_ARGUMENT_OUTPUTS_IN_POOLS --outputs-in-pools PARENT_SCOPE)
  set(${prefix}_ARGUMENT_STACK_BYTES --stack-bytes PARENT_SCOPE)
  set(${prefix}_ARGUMENT_CHECK_CONSTANTS --check-constants PARENT_SCOPE)
  set(${prefix}_ARGUMENT_WEIGHTS --weights PARENT_SCOPE)
  set(${prefix}_ARGUMENT_GUARDS --guards PARENT_SCOPE)
  set(${prefix}_ARGUMENT_PROTECT --protect PARENT_SCOPE)
  set(${prefix}_ARGUMENT_PROFILE --profile PARENT_SCOPE)
  set(${prefix}_ARGUMENT_PLAN_LOCK --plan-lock PARENT_SCOPE)
  set(${prefix}_SUFFIX_PLATFORM .toml PARENT_SCOPE)
  set(${prefix}_SUFFIX_OPERATORS .py PARENT_SCOPE)
  set(${prefix}_FILE_KEYS "freeze;operators;plan_lock" PARENT_SCOPE)
endfunction()
