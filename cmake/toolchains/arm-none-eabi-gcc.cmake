# SPDX-License-Identifier: Apache-2.0
# GCC for bare-metal Arm with newlib, as Debian, Ubuntu and Arm package them. Architecture and ABI
# are not chosen here: they come from the platform of each model.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)

set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_ASM_COMPILER arm-none-eabi-gcc)
set(CMAKE_C_FLAGS_INIT "--specs=nano.specs")
set(CMAKE_CXX_FLAGS_INIT "--specs=nano.specs")

# Nothing links before a linker script is known.
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
