# SPDX-License-Identifier: Apache-2.0
set(
  TILEWRIGHT_PORT_SOURCES
  port.c
  console.c
  start.c
  newlib.c
  memory_protection.c
  mpu_v7.c
  mpu_v8.c
  unprivileged.S
  ../common/console.c
  ../common/core_copies.c
  ../common/no_cache.c
  ../common/one_core.c
  ../common/startup.c
)
# Tiled plans spend part of their time in it.
set(TILEWRIGHT_PORT_OPTIMIZED_SOURCES ../common/core_copies.c)
set(TILEWRIGHT_PORT_COMPILE_OPTIONS)
# newlib-nano prints floating-point numbers only if asked to.
set(TILEWRIGHT_PORT_LINK_OPTIONS -nostartfiles -Wl,-u,_printf_float)
