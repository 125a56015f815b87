# SPDX-License-Identifier: Apache-2.0
# Clang for bare-metal RISC-V, with the C library, libgcc and linker of the GCC toolchain beside
# it. Architecture and ABI are not chosen here: they come from the platform of each model.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)

set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
set(CMAKE_ASM_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET riscv32-unknown-elf)
set(CMAKE_CXX_COMPILER_TARGET riscv32-unknown-elf)
set(CMAKE_ASM_COMPILER_TARGET riscv32-unknown-elf)

# GCC knows which build of the C library fits an architecture, so it links.
set(CMAKE_C_FLAGS_INIT "-isystem /usr/lib/picolibc/riscv64-unknown-elf/include")
set(CMAKE_CXX_FLAGS_INIT "${CMAKE_C_FLAGS_INIT}")
set(
  link
  "riscv64-unknown-elf-gcc --specs=picolibc.specs <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>"
)
set(CMAKE_C_LINK_EXECUTABLE "${link}")
set(CMAKE_CXX_LINK_EXECUTABLE "${link}")

# Nothing links before a linker script is known.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
