# SPDX-License-Identifier: Apache-2.0
# GCC for bare-metal RISC-V with picolibc, as Debian and Ubuntu package them. Architecture and
# ABI are not chosen here: they come from the platform of each model.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR riscv)

set(CMAKE_C_COMPILER riscv64-unknown-elf-gcc)
set(CMAKE_CXX_COMPILER riscv64-unknown-elf-g++)
set(CMAKE_ASM_COMPILER riscv64-unknown-elf-gcc)
# The compiler comes without a C library; this is the one that stands beside it.
set(CMAKE_C_FLAGS_INIT "--specs=picolibc.specs")
set(CMAKE_CXX_FLAGS_INIT "--specs=picolibc.specs")

# Nothing links before a linker script is known.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
