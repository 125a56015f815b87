# SPDX-License-Identifier: Apache-2.0
# `cmake --install` puts a copy of the source tree's working parts where find_package looks; the
# environment of the first configure is made from it.
include(CMakePackageConfigHelpers)

set(destination share/tilewright)
write_basic_package_version_file(
  "${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfigVersion.cmake"
  VERSION "${PROJECT_VERSION}"
  COMPATIBILITY SameMinorVersion
  ARCH_INDEPENDENT
)
configure_package_config_file(
  cmake/TilewrightConfig.cmake.in
  "${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfig.cmake"
  INSTALL_DESTINATION "${destination}/cmake"
  NO_SET_AND_CHECK_MACRO
  NO_CHECK_REQUIRED_COMPONENTS_MACRO
)
install(
  DIRECTORY cmake platforms python runtime templates
  DESTINATION "${destination}"
  PATTERN "__pycache__" EXCLUDE
  PATTERN "*.so" EXCLUDE
  PATTERN "*.in" EXCLUDE
)
install(FILES CMakeLists.txt LICENSE README.md pyproject.toml DESTINATION "${destination}")
install(
  FILES
    "${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfig.cmake"
    "${CMAKE_CURRENT_BINARY_DIR}/TilewrightConfigVersion.cmake"
  DESTINATION "${destination}/cmake"
)
