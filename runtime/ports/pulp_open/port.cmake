# SPDX-License-Identifier: Apache-2.0
set(
  TILEWRIGHT_PORT_SOURCES
  port.c
  cluster.c
  dma.c
  hyper.c
  load.c
  console.c
  crt0.S
  zfinx.S
  ../common/console.c
  ../common/no_cache.c
  ../common/startup.c
  ../common/stdio.c
)
# The frames of the first lie on the cores' stacks, below those of kernels; the second starts copies.
set(TILEWRIGHT_PORT_OPTIMIZED_SOURCES cluster.c dma.c)
set(TILEWRIGHT_PORT_COMPILE_OPTIONS)
set(TILEWRIGHT_PORT_LINK_OPTIONS -nostartfiles)
