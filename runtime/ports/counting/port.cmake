# SPDX-License-Identifier: Apache-2.0
# A layer: link it beside another port.
set(TILEWRIGHT_PORT_SOURCES counting.c memory.c)
set(TILEWRIGHT_PORT_OPTIMIZED_SOURCES counting.c memory.c)
set(TILEWRIGHT_PORT_COMPILE_OPTIONS)
set(TILEWRIGHT_PORT_LINK_OPTIONS -Wl,--wrap=tilewright_copy_start -Wl,--wrap=tilewright_copy_wait)
