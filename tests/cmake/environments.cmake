# SPDX-License-Identifier: Apache-2.0
# Which environments are removed when one is made: other states of the same source tree, those of
# trees that are gone, packages below none of the rest, and those of versions that kept one for each
# state of the sources.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")
include("${root}/cmake/TilewrightTool.cmake")
include("${root}/cmake/TilewrightInterpreter.cmake")

set(cache "${folder}/cache")
file(REMOVE_RECURSE "${folder}")
file(MAKE_DIRECTORY "${folder}/another tree")

# add_environment(<name> <packages> <source tree>...)
function(add_environment name packages)
  file(WRITE "${cache}/${packages}/complete" "")
  file(WRITE "${cache}/tool-${name}/complete" "${cache}/${packages}\n")
  foreach(tree IN LISTS ARGN)
    string(SHA256 user "${tree}")
    file(WRITE "${cache}/tool-${name}/users/${user}" "${tree}\n")
  endforeach()
endfunction()

add_environment(now packages-1 "${root}")
add_environment(before packages-2 "${root}")
add_environment(shared packages-3 "${root}" "${folder}/another tree")
add_environment(gone packages-4 "${folder}/no such tree")
file(WRITE "${cache}/0.1.0-0123456789ab/complete" "")
file(WRITE "${cache}/0.1.0-0123456789ab.lock" "")
file(WRITE "${cache}/a file of the user" "")
_tilewright_remove_unused("${cache}" "${cache}/packages-1" "${cache}/tool-now")

file(GLOB left RELATIVE "${cache}" "${cache}/*")
set(expected "a file of the user;packages-1;packages-3;tool-now;tool-shared")
if(NOT left STREQUAL expected)
  message(FATAL_ERROR "left are ${left}, not ${expected}")
endif()
file(GLOB users "${cache}/tool-shared/users/*")
list(LENGTH users count)
if(NOT count EQUAL 1)
  message(FATAL_ERROR "${count} trees use what one uses")
endif()
