# SPDX-License-Identifier: Apache-2.0
# `cmake --install` puts a copy of the source tree's working parts where find_package looks; the
# environment of the first configure is made from it.
set(destination share/tilewright)
install(
  DIRECTORY cmake examples platforms python runtime templates
  DESTINATION "${destination}"
  PATTERN "__pycache__" EXCLUDE
  PATTERN "*.so" EXCLUDE
)
install(FILES CMakeLists.txt LICENSE README.md pyproject.toml DESTINATION "${destination}")
