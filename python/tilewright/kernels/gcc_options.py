"""Options of GCC for the C files of a model's library, besides the options of platform and project.

Other compilers get none of them: their code computes the same, but is slower or larger.
"""

from __future__ import annotations

from types import MappingProxyType

LIBRARY_OPTIONS = ("-fno-schedule-insns", "-fno-tree-ter")
"""Options for every C file. GCC's first scheduling pass and its expression replacement move loads and sums of
unrolled blocks apart until the accumulators no longer fit the registers: 2.8 instead of 2.0 instructions per product.
"""

SOURCE_OPTIONS = MappingProxyType(
    {
        "kernels/conv_integer.c": ("-Os",),
        "kernels/conv_xpulpv2.c": ("-Os",),
        "kernels/integer_finish.c": ("-fno-ssa-phiopt",),
        "kernels/pool_integer.c": ("-fno-inline-small-functions", "-fno-ivopts"),
        "kernels/softmax_integer.c": ("-Os",),
    }
)
"""Options for single files, by their path in runtime/; they follow all other options.

``-Os``: the loops that matter are in other files, or are as fast with ``-Os``. ``-fno-ssa-phiopt``: as a minimum and a
maximum, a clamp is compiled to two more moves than as two branches. ``-fno-inline-small-functions`` and
``-fno-ivopts``: smaller glue around loops that run as fast; with ``-Os`` these loops take a third more instructions.
"""
