# SPDX-License-Identifier: Apache-2.0
# A user's own toolchain that looks for everything below its root path only. Programs that stand
# there are the target's: the interpreter and the simulator come from PATH.
include("${CMAKE_CURRENT_LIST_DIR}/Project.cmake")

write_readme_project("${folder}")
set(decoy "#!/bin/sh\necho started a program of the target >&2\nexit 1\n")
foreach(program IN ITEMS python3 python qemu-system-riscv32 c++)
  file(WRITE "${folder}/sysroot/usr/bin/${program}" "${decoy}")
  file(CHMOD "${folder}/sysroot/usr/bin/${program}" PERMISSIONS OWNER_READ OWNER_EXECUTE)
endforeach()
find_program(compiler riscv64-unknown-elf-gcc REQUIRED)
find_program(ar riscv64-unknown-elf-ar REQUIRED)
find_program(ninja ninja REQUIRED)
file(
  WRITE "${folder}/own.cmake"
  "set(CMAKE_C_COMPILER [[${compiler}]])\nset(CMAKE_AR [[${ar}]])\n"
  [[
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)
set(CMAKE_C_FLAGS_INIT --specs=picolibc.specs)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_FIND_ROOT_PATH "${CMAKE_CURRENT_LIST_DIR}/sysroot")
foreach(kind IN ITEMS PROGRAM LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${kind} ONLY)
endforeach()
]]
)
set(toolchain "${folder}/own.cmake")
cmake_path(GET python PARENT_PATH programs)
set(python "")
set(ENV{PATH} "${programs}:$ENV{PATH}")

message("=== add_subdirectory")
set(options -DPLATFORM=qemu-virt-rv32 -DTILEWRIGHT_BOOTSTRAP=OFF "-DCMAKE_MAKE_PROGRAM=${ninja}")
configure_project("${folder}" "${folder}/build")
build_project("${folder}/build")
test_project("${folder}/build")
expect_match("${output}" "status 0, first score 0")

message("=== find_package")
file(READ "${folder}/CMakeLists.txt" lists)
string(
  REPLACE "add_subdirectory(tilewright)"
  "find_package(Tilewright 0.1 REQUIRED)"
  lists
  "${lists}"
)
file(WRITE "${folder}/CMakeLists.txt" "${lists}")
list(APPEND options "-DTilewright_DIR=${root}/cmake")
configure_project("${folder}" "${folder}/build-package")
build_project("${folder}/build-package")
