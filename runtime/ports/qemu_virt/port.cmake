# SPDX-License-Identifier: Apache-2.0
set(
  TILEWRIGHT_PORT_SOURCES
  port.c
  console.c
  crt0.S
  protect.c
  user_mode.S
  ../common/console.c
  ../common/core_copies.c
  ../common/no_cache.c
  ../common/one_core.c
  ../common/startup.c
  ../common/stdio.c
)
# Tiled plans spend part of their time in it.
set(TILEWRIGHT_PORT_OPTIMIZED_SOURCES ../common/core_copies.c)
set(TILEWRIGHT_PORT_COMPILE_OPTIONS)
set(TILEWRIGHT_PORT_LINK_OPTIONS -nostartfiles)
