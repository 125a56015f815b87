"""One set of pools for several models: a header with the pools' sizes, and functions that give each model its part.

Before:  kws needs sram 16,000, vad needs sram 4,000
After:   EXCLUSIVE   sram 16,000: both from offset 0
         CONCURRENT  sram 20,000: kws from 0, vad from 16,000
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from enum import Enum
from itertools import combinations
from math import lcm

from tilewright import __version__
from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.buffers import storage_of
from tilewright.codegen.pools import default_section
from tilewright.codegen.render import render
from tilewright.plan import Plan, Pool
from tilewright.tools.manifest import sha256_hex


class Sharing(Enum):
    """EXCLUSIVE: one model runs at a time, and all models have the same bytes. CONCURRENT: each has its own bytes."""

    EXCLUSIVE = "exclusive"
    CONCURRENT = "concurrent"


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a shared pool that one model uses: ``size_bytes`` from ``offset_bytes`` on."""

    model: str
    offset_bytes: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class SharedPool:
    """A pool that models share; ``parts`` has one entry for each model that uses the pool."""

    name: str
    size_bytes: int
    align_bytes: int
    section: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class _Use:
    """The bytes of a pool that one model uses."""

    plan: Plan
    pool: Pool
    size_bytes: int


def workspace_files(name: str, plans: Sequence[Plan], sharing: Sharing) -> dict[str, bytes]:
    """Contents of ``<name>.h`` and ``<name>_manifest.json``. Raises bad_input ``workspace`` as ``shared_pools``."""
    pools = shared_pools(name, plans, sharing)
    members = {plan.name: [pool.name for pool in storage_of(plan).pools] for plan in plans}
    header = render(
        "workspace.h.j2",
        tool_version=__version__,
        prefix=name,
        macro=name.upper(),
        guard=f"{name}_H".upper(),
        sharing=sharing.value,
        models=[plan.name for plan in plans],
        members=members,
        pools=pools,
    ).encode()
    manifest = {
        "name": name,
        "sharing": sharing.value,
        "models": [plan.name for plan in plans],
        "pools": {pool.name: pool.size_bytes for pool in pools},
        "files": {f"{name}.h": sha256_hex(header)},
    }
    return {f"{name}.h": header, f"{name}_manifest.json": (json.dumps(manifest, indent=2) + "\n").encode()}


def shared_pools(name: str, plans: Sequence[Plan], sharing: Sharing) -> tuple[SharedPool, ...]:
    """The pools that the application provides, in the order in which the models name them.

    A pool's size is the largest of the models' sizes if EXCLUSIVE, their sum if CONCURRENT, with padding for
    alignment and granules between two parts. Raises bad_input ``workspace`` for models that cannot share.
    """
    _check_names(name, plans)
    uses: dict[str, list[_Use]] = {}
    for plan in plans:
        used = {use.pool: use.used_bytes for use in plan.pool_use}
        for pool in storage_of(plan).pools:
            uses.setdefault(pool.name, []).append(_Use(plan, pool, used[pool.name]))
    if sharing is Sharing.CONCURRENT:
        _check_pinned(plans)
    elif len(plans) > 1:
        _check_states(plans)
    return tuple(_shared(found, sharing) for found in uses.values())


def _shared(uses: Sequence[_Use], sharing: Sharing) -> SharedPool:
    first = uses[0]
    for use in uses:
        if use.pool.section != first.pool.section:
            raise _refused(
                f"pool '{use.pool.name}' is in section '{first.pool.section}' for model '{first.plan.name}' "
                f"and in '{use.pool.section}' for '{use.plan.name}'",
                "give both models the same platform, or the same section by POOLS",
            )
    parts = _side_by_side(uses) if sharing is Sharing.CONCURRENT else _on_each_other(uses)
    return SharedPool(
        name=first.pool.name,
        size_bytes=max(part.offset_bytes + part.size_bytes for part in parts),
        align_bytes=max(use.pool.align_bytes for use in uses),
        section=first.pool.section or default_section(first.pool.name),
        parts=parts,
    )


def _on_each_other(uses: Sequence[_Use]) -> tuple[Part, ...]:
    return tuple(Part(use.plan.name, 0, use.size_bytes) for use in uses)


def _side_by_side(uses: Sequence[_Use]) -> tuple[Part, ...]:
    """Parts in the models' order, except that the part that would need most padding behind it goes last."""
    step = lcm(*(use.pool.align_bytes for use in uses), *(use.pool.granule_bytes for use in uses))
    last = max(reversed(uses), key=lambda use: -use.size_bytes % step)
    offset = 0
    parts = []
    for use in (*(use for use in uses if use is not last), last):
        parts.append(Part(use.plan.name, offset, use.size_bytes))
        offset += -(-use.size_bytes // step) * step
    return tuple(parts)


def _check_names(name: str, plans: Sequence[Plan]) -> None:
    names = [plan.name for plan in plans]
    for model in names:
        if names.count(model) > 1:
            raise _refused(f"two models have the C prefix '{model}'", "give one of them another NAME")
        if model.upper() == name.upper():
            raise _refused(f"the workspace and a model have the same C prefix '{name}'", "rename the workspace")
    for plan in plans:
        if plan.static_pools:
            raise _refused(f"model '{plan.name}' has pools of its own", "leave STATIC_POOLS out")


def _check_states(plans: Sequence[Plan]) -> None:
    """Raise bad_input if another model's run would end what a model remembers."""
    for plan in plans:
        kept = f"state '{plan.states[0].input}'" if plan.states else "its window" if plan.slide is not None else ""
        if kept:
            raise _refused(
                f"model '{plan.name}' keeps {kept} between runs, and EXCLUSIVE models have the same bytes",
                "share CONCURRENT, or leave the model out of the workspace",
            )


def _check_pinned(plans: Sequence[Plan]) -> None:
    """Raise bad_input if two models use the same bytes through pools with a base address."""
    ranges = []
    for plan in plans:
        used = {use.pool: use.used_bytes for use in plan.pool_use}
        for pool in storage_of(plan).pinned_pools:
            assert pool.base is not None
            ranges.append((plan.name, pool.name, pool.base, pool.base + used[pool.name]))
    for (model, pool_name, begin, end), (other, _, other_begin, other_end) in combinations(ranges, 2):
        if model != other and begin < other_end and other_begin < end:
            raise _refused(
                f"pool '{pool_name}' is at address 0x{begin:x} for model '{model}', on bytes of '{other}'",
                "give the models different addresses by POOLS, or share EXCLUSIVE",
            )


def _refused(what: str, remedy: str) -> TilewrightError:
    return bad_input("workspace", what, help=remedy)
