"""Levels that the user gives for layers: the pool in which a layer's kernel works.

Before:  kernels address l1 and l2, tensors live in l3; levels = {conv_2 = "l2"}
After:   tiles of conv_2 stay in l2, those of all other layers in l1
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.graph import Node
from tilewright.plan import Access, BufferKind
from tilewright.platform import Platform
from tilewright.storage.joining import Stored
from tilewright.tiling.given import given_by_layer

LEVEL_OVERRIDE = "level-override"
"""The code of errors about levels that the user gives."""


def given_levels(layers: Sequence[Node], levels: Sequence[tuple[str, str]], platform: Platform) -> dict[str, str]:
    """The pool in which the kernel of each layer works, where the user gives it.

    Raises bad_input ``level-override`` for a name that no layer has, and a pool where kernels cannot work.
    """
    named = given_by_layer(layers, [(layer, (pool,)) for layer, pool in levels], "levels")
    possible = [pool.name for pool in platform.pools if _may_work_in(pool.name, platform)]
    for layer, pools in named.items():
        for pool in pools:
            if pool not in possible:
                what = f"kernels cannot work in pool '{pool}'"
                raise _refused(layer, what, f"one of {', '.join(possible)}, which kernels address and which hold tiles")
        if len(set(pools)) > 1:
            raise _refused(layer, f"it has two levels, '{pools[0]}' and '{pools[1]}'", "give one of them")
    return {layer: pools[0] for layer, pools in named.items()}


def _may_work_in(name: str, platform: Platform) -> bool:
    pool = platform.pool(name)
    addressed = platform.access_cycles(name) is not None and pool.access is Access.READ_WRITE
    return addressed and BufferKind.TILE in pool.holds


def with_known_pools(stored: Stored, layers: Sequence[Node], levels: Mapping[str, str]) -> Stored:
    """The storage in which tensors of layers with a level have one pool, their first: it decides what is copied."""
    homes = stored.homes
    used = {name for node in layers if node.name in levels for name in (*node.inputs, *node.outputs) if name}
    roots = {homes.roots[name] for name in used}
    known = {name: homes.pools[name][:1] for name, root in homes.roots.items() if root in roots}
    return replace(stored, homes=replace(homes, pools={**homes.pools, **known})) if known else stored


def _refused(layer: str, what: str, remedy: str) -> TilewrightError:
    return bad_input(LEVEL_OVERRIDE, f"a level is given for '{layer}': {what}", at=f"levels.{layer}", help=remedy)
