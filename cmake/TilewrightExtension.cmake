# SPDX-License-Identifier: Apache-2.0
# The native part of the wheel: the exact search, from the sources beside the Python ones.
# Python works without it, only slower.
if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/python/tilewright/placement/CMakeLists.txt")
  return()
endif()

enable_language(CXX)
find_package(
  Python
  3.10
  REQUIRED
  COMPONENTS Interpreter Development.Module ${SKBUILD_SABI_COMPONENT}
)
find_package(nanobind CONFIG REQUIRED)
add_subdirectory(python/tilewright/placement)
