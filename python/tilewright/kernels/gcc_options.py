"""Options of GCC for the C files of a model's library, besides the options of platform and project.

Other compilers get none of them: their code computes the same, but is slower or larger.
"""

from __future__ import annotations

from types import MappingProxyType

from tilewright.kernels.registry import DECLARATIONS

LIBRARY_OPTIONS = ("-fno-schedule-insns", "-fno-tree-ter")
"""Options for every C file. GCC's first scheduling pass and its expression replacement move loads and sums of
unrolled blocks apart until the accumulators no longer fit the registers: 2.8 instead of 2.0 instructions per product.
"""

COUNTED_LEVEL = ("-O2", "-fno-lto")
"""How ``Declaration.stack_bytes`` were counted, for platforms whose plans reckon with stacks. There it holds whatever
the build asks for: kernels take up to 100 bytes more at -O3, up to 64 more at -Os and with link-time optimisation.
"""

SOURCE_OPTIONS = MappingProxyType(
    {
        f"kernels/{name}": options
        for declarations in DECLARATIONS.values()
        for declared in declarations
        for name, options in declared.gcc_options.items()
    }
)
"""``Declaration.gcc_options`` of all files together, by the source's path in runtime/."""
