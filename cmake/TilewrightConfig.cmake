# SPDX-License-Identifier: Apache-2.0
# For find_package(Tilewright), from an install, a wheel (`tilewright --cmake-dir`) or the source.
include("${CMAKE_CURRENT_LIST_DIR}/Tilewright.cmake")
