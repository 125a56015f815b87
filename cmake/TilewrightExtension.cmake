# SPDX-License-Identifier: Apache-2.0
# The native part of the wheel: tilewright._exact, from the sources beside the Python ones.
# Python works without it, only slower.
file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/python/tilewright/placement/*.cpp")
if(NOT sources)
  return()
endif()

enable_language(CXX)
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module)
find_package(nanobind CONFIG REQUIRED)

nanobind_add_module(_exact NB_STATIC ${sources})
target_compile_features(_exact PRIVATE cxx_std_17)
install(TARGETS _exact LIBRARY DESTINATION tilewright)
