"""Bytes of a core's stack that kernels need, where cores with short stacks have fewer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from tilewright.kernels.c_structs import PREFIX
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.registry import all_declarations


@cache
def declared_stack_bytes() -> Mapping[str, int]:
    """``Declaration.stack_bytes`` of all files together."""
    everything = (declared for family in all_declarations().values() for declared in family)
    return MappingProxyType({name: size for declared in everything for name, size in declared.stack_bytes.items()})


def core_stack_bytes(kernel: KernelChoice) -> int:
    """Bytes of stack that a kernel needs on each core; 0 if every core has enough."""
    taken = (str(value).rpartition(PREFIX)[2] for _, value in kernel.fields if isinstance(value, str))
    own = (kernel.name.removeprefix(PREFIX), kernel.symbol.removeprefix(PREFIX))
    return max(declared_stack_bytes().get(name, 0) for name in (*own, *taken))
