# SPDX-License-Identifier: Apache-2.0
# The pass in script mode: registering ends the file.
macro(idf_component_register)
  return()
endmacro()
include("${component}/CMakeLists.txt")
