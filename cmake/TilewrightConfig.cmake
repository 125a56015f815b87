# SPDX-License-Identifier: Apache-2.0
# For find_package(Tilewright), from an install, a wheel (`tilewright --cmake-dir`) or the source.
if(CMAKE_VERSION VERSION_LESS 3.22)
  set(Tilewright_FOUND FALSE)
  set(
    Tilewright_NOT_FOUND_MESSAGE
    "Tilewright needs CMake 3.22 or newer, this is ${CMAKE_VERSION}; pip install cmake brings a newer one"
  )
  return()
endif()
include("${CMAKE_CURRENT_LIST_DIR}/Tilewright.cmake")
