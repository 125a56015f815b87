# SPDX-License-Identifier: Apache-2.0
# Called by add_consumer_test: configure, build and test a project in a fresh folder.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

file(REMOVE_RECURSE "${binary}")
configure_project("${source}" "${binary}")
build_project("${binary}")
test_project("${binary}")
