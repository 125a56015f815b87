# SPDX-License-Identifier: Apache-2.0
# The package's own version; before 1.0 another minor version may break a project.
if(CMAKE_VERSION VERSION_LESS 3.22)
  # TilewrightConfig.cmake says which CMake it needs.
  set(PACKAGE_VERSION "${PACKAGE_FIND_VERSION}")
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/TilewrightTool.cmake")

_tilewright_version(PACKAGE_VERSION)
string(REGEX MATCH "^[0-9]+[.][0-9]+" series "${PACKAGE_VERSION}")
if(
  PACKAGE_FIND_VERSION VERSION_LESS_EQUAL PACKAGE_VERSION
  AND PACKAGE_FIND_VERSION VERSION_GREATER_EQUAL series
)
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
endif()
if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
  set(PACKAGE_VERSION_EXACT TRUE)
endif()
