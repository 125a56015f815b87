# SPDX-License-Identifier: Apache-2.0
# What docs/how-to/zephyr-and-esp-idf.md needs of Zephyr: modules are added, then the application's
# library `app` exists, and `zephyr_interface` carries the kernel's options.
enable_language(C)
add_library(zephyr_interface INTERFACE)
target_compile_options(zephyr_interface INTERFACE -DZEPHYR_STAND_IN)
foreach(module IN LISTS ZEPHYR_EXTRA_MODULES)
  file(STRINGS "${module}/zephyr/module.yml" line REGEX "^  cmake: ")
  string(REGEX REPLACE "^  cmake: " "" folder "${line}")
  add_subdirectory("${module}/${folder}" "${CMAKE_BINARY_DIR}/modules/${module}")
endforeach()
file(WRITE "${CMAKE_BINARY_DIR}/nothing.c" "")
add_library(app STATIC "${CMAKE_BINARY_DIR}/nothing.c")
target_link_libraries(app PUBLIC zephyr_interface)
add_executable(zephyr_final "${CMAKE_BINARY_DIR}/nothing.c")
target_link_libraries(zephyr_final PRIVATE -Wl,--whole-archive app -Wl,--no-whole-archive)
