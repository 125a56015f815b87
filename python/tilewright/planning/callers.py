"""Which inputs and outputs lie with the caller, by the user's options."""

from __future__ import annotations

from tilewright.options import CompileOptions
from tilewright.plan import BufferKind, callers_kinds


def callers_of(options: CompileOptions) -> tuple[BufferKind, ...]:
    """Kinds of buffers that the caller owns and the plan does not place."""
    return callers_kinds(io_in_pools=options.io_in_pools, outputs_in_pools=options.outputs_in_pools)
