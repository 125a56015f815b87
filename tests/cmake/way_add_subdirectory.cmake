# SPDX-License-Identifier: Apache-2.0
# add_subdirectory of the source tree, from a project outside of it.
include("${CMAKE_CURRENT_LIST_DIR}/Ways.cmake")

make_outside_folder(outside)
set(options "-DTILEWRIGHT_SOURCE=${root}")
check_way("${outside}/ways-in/add-subdirectory")
file(REMOVE_RECURSE "${outside}")
