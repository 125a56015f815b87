"""Options of GCC for the C files of a model's library, besides the options of platform and project.

Other compilers get none of them: their code computes the same, but is slower or larger.
"""

from __future__ import annotations

from tilewright.kernels import index
from tilewright.kernels.registry import declaration

LIBRARY_OPTIONS = ("-fno-schedule-insns", "-fno-tree-ter")
"""Options for every C file. GCC's first scheduling pass and its expression replacement move loads and sums of
unrolled blocks apart until the accumulators no longer fit the registers: 2.8 instead of 2.0 instructions per product.
"""

COUNTED_LEVEL = ("-O2", "-fno-lto")
"""How ``Declaration.stack_bytes`` were counted, for platforms whose plans reckon with stacks. There it holds whatever
the build asks for: kernels take up to 100 bytes more at -O3, up to 64 more at -Os and with link-time optimisation.
"""

FOLDER = "kernels/"
"""Where the sources of kernels lie in runtime/."""


def options_of_source(path: str) -> tuple[str, ...]:
    """``Declaration.gcc_options`` of one C file, by its path in runtime/; empty for a file that has none."""
    name = path.removeprefix(FOLDER)
    own = (file for file, sources in index.SOURCES.items() if name in sources)
    return next((declaration(file).gcc_options[name] for file in own), ())
