"""The plan lock: kernels, tiles, loop orders, slots and addresses, to be repeated without any search.

A lock is a small JSON file with a line for each layer and each buffer, for version control. It
says for which platform and options it was made. Weights may change; where layers, sizes or
lifetimes do, it no longer fits, and the error names the command that makes a new one.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import astuple, fields, is_dataclass, replace
from enum import Enum
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from tilewright.base.errors import TilewrightError, bad_input
from tilewright.base.inputs import read_utf8
from tilewright.graph import Graph, Node
from tilewright.options import CompileOptions
from tilewright.options.arguments import words_of
from tilewright.options.lock_entries import locked_options
from tilewright.placement import Item, PoolLimit, Result
from tilewright.plan import Guards, TilingProof, Tradeoff
from tilewright.planning.decisions import Decisions
from tilewright.planning.given_homes import with_given_homes
from tilewright.planning.grouping import with_locked_groups
from tilewright.planning.guard_room import used_bytes
from tilewright.planning.lock_file import LayerEntry, Lock, format_lock, parse_lock
from tilewright.planning.lock_layers import STALE, layer_entry, restored_layer
from tilewright.planning.prepare import Prepared, prepare_as
from tilewright.planning.realise import Planned, placement_items, realise, schedule_of
from tilewright.planning.spill import travellers, travelling, with_homes
from tilewright.platform import Platform
from tilewright.rewrites.strips import Strips
from tilewright.storage.homes import near_home
from tilewright.storage.joining import Stored, layer_nodes


def lock_text(planned: Planned, platform: Platform, options: CompileOptions) -> str:
    """The lock of a plan, with a trailing newline; a pure function of its arguments."""
    items = placement_items(planned.schedule, planned.lifetimes, options)
    sizes = {item.name: item.size_bytes for item in items}
    by_address = sorted(planned.placements, key=lambda item: (item.pool, item.offset_bytes, item.buffer))
    return format_lock(
        Lock(
            platform=platform.name,
            platform_sha256=_platform_digest(platform),
            options=locked_options(options),
            layers=_layer_entries(planned.decisions),
            tiling=list(astuple(planned.tiling)) if planned.tiling is not None else [],
            problem_sha256=_problem_digest(items),
            pools={use.pool: [use.used_bytes, use.lower_bound_bytes, use.optimal] for use in planned.pool_use},
            addresses={item.buffer: [item.pool, item.offset_bytes, sizes[item.buffer]] for item in by_address},
            handed_over=planned.schedule.handed_over,
            strips=[list(astuple(item)) for item in planned.decisions.strips],
            front=[list(astuple(item)) for item in planned.decisions.front],
        )
    )


def _layer_entries(decisions: Decisions) -> tuple[LayerEntry, ...]:
    """An entry for each layer; layers of a group name the group's first layer."""
    names = [layer.problem.node.name for layer in decisions.layers]
    groups = {
        number: (names[group.first], timed.step)
        for group in decisions.groups
        for number, timed in zip(group.layers, group.stages, strict=True)
    }
    return tuple(layer_entry(layer, *groups.get(number, ())) for number, layer in enumerate(decisions.layers))


def read_lock(path: Path, options: CompileOptions) -> Lock:
    """A lock from its file. Raises bad_input ``plan-lock`` for one that is missing or damaged."""
    try:
        return parse_lock(read_utf8(path))
    except OSError as error:
        raise _stale(options, f"cannot read the plan lock: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise _stale(options, f"the plan lock is damaged: {error}") from error


def locked_plan(graph: Graph, platform: Platform, options: CompileOptions, lock: Lock) -> Planned:
    """The plan that a lock describes; nothing is searched, and the checker verifies the addresses.

    Raises bad_input ``plan-lock`` where the lock does not fit model, platform or options.
    """
    _check_origin(platform, options, lock)
    wanted = [entry.name for entry in lock.layers]
    strips = tuple(Strips(*item) for item in lock.strips)
    prepared = prepare_as(graph, platform, options, wanted, lambda stored: _locked_order(stored, options, lock), strips)
    prepared = with_given_homes(prepared, platform, dict(options.homes))
    prepared = _in_locked_homes(prepared, platform, options, lock)
    decisions = _locked_decisions(prepared, options, lock)
    schedule = schedule_of(prepared, decisions, platform, options)
    return realise(schedule, decisions, platform, options, partial(_addresses, options=options, lock=lock))


def _in_locked_homes(prepared: Prepared, platform: Platform, options: CompileOptions, lock: Lock) -> Prepared:
    """The prepared graph with tensors that travel, or stay near the core, in the pools of the lock's addresses."""
    pools = [item.root for item in travellers(prepared, platform)]
    near = [item.root for item in travelling(prepared)] if near_home(platform) is not None else []
    known = {root: lock.addresses[root][0] for root in (*pools, *near) if root in lock.addresses}
    try:
        return with_homes(prepared, platform, known)
    except TilewrightError as error:
        raise _stale(options, error.what, error.at) from error


def _locked_order(stored: Stored, options: CompileOptions, lock: Lock) -> list[Node]:
    """The layers as they stand in the lock."""
    nodes = {node.name: node for node in layer_nodes(stored.graph, stored.homes)}
    names = [entry.name for entry in lock.layers]
    for name in (*nodes, *names):
        if names.count(name) != (name in nodes):
            where = "the model" if name in nodes else "the lock"
            raise _stale(options, f"the layers differ: only {where} has '{name}'")
    return [nodes[name] for name in names]


def _locked_decisions(prepared: Prepared, options: CompileOptions, lock: Lock) -> Decisions:
    try:
        layers = tuple(map(restored_layer, prepared.problems, lock.layers))
    except TilewrightError as error:
        raise _stale(options, error.what, error.at) from error
    front = tuple(Tradeoff(*item) for item in lock.front)
    tiling = TilingProof(*lock.tiling) if lock.tiling else None
    decisions = Decisions(layers, lock.handed_over, tiling, front=front, strips=prepared.strips)
    try:
        return with_locked_groups(decisions, lock.layers, prepared)
    except TilewrightError as error:
        raise _stale(options, error.what, error.at) from error


def stale_plan(options: CompileOptions, error: TilewrightError) -> TilewrightError:
    """The error for locked addresses that the checker refuses."""
    return _stale(options, f"its plan is not sound: {error.what}", error.at)


def update_command(options: CompileOptions) -> str:
    """The command that makes the lock anew, as one would type it."""
    assert options.plan_lock is not None
    words = ["tilewright", "plan", "--update", "--plan-lock", str(options.plan_lock)]
    return shlex.join([*words, *words_of(replace(options, plan_lock=None))])


def _stale(options: CompileOptions, what: str, at: Sequence[str] = ()) -> TilewrightError:
    where = (str(options.plan_lock), *at)
    return bad_input(STALE, what, at="; ".join(where), help=update_command(options))


def _platform_digest(platform: Platform) -> str:
    facts = (platform.pools, platform.links, platform.core, platform.io_pool, platform.target.kernels)
    return sha256(repr(_facts(facts)).encode()).hexdigest()


def _facts(value: Any) -> Any:
    """The values of a dataclass's fields without those that are defaults, so that new fields keep old locks valid."""
    if isinstance(value, tuple):
        return tuple(_facts(item) for item in value)
    if isinstance(value, Enum):
        return value.value
    if not is_dataclass(value):
        return value
    pairs = [(field, getattr(value, field.name)) for field in fields(value)]
    return tuple((field.name, _facts(content)) for field, content in pairs if content != field.default)


def _problem_digest(items: Sequence[Item]) -> str:
    """SHA-256 of everything that decides where buffers may lie."""
    facts = [
        (item.name, item.size_bytes, item.align_bytes, item.pools, item.lifetime, item.at_offset, item.trails)
        for item in items
    ]
    return sha256(repr(facts).encode()).hexdigest()


def _check_origin(platform: Platform, options: CompileOptions, lock: Lock) -> None:
    """Platform and options are those for which the lock was made."""
    given = locked_options(options)
    for key in dict.fromkeys((*given, *lock.options)):
        if given.get(key) != lock.options.get(key):
            shown = [json.dumps(values[key]) if key in values else "the default" for values in (given, lock.options)]
            raise _stale(options, f"option '{key}' is {shown[0]}; the lock was made with {shown[1]}")
    if platform.name != lock.platform:
        raise _stale(options, f"platform '{platform.name}'; the lock was made for '{lock.platform}'")
    if _platform_digest(platform) != lock.platform_sha256:
        raise _stale(options, f"platform '{platform.name}' or its POOLS have changed since the lock was made")


def _check_buffers(items: Sequence[Item], options: CompileOptions, lock: Lock) -> None:
    """Buffers, sizes and lifetimes are those for which addresses were found."""
    sizes = {item.name: item.size_bytes for item in items}
    for name in (*sizes, *lock.addresses):
        locked = lock.addresses[name][2] if name in lock.addresses else None
        if sizes.get(name) != locked:
            mine, theirs = (f"{size:,} bytes" if size is not None else "absent" for size in (sizes.get(name), locked))
            raise _stale(options, f"buffer '{name}' is {mine}; in the lock {theirs}")
    if _problem_digest(items) != lock.problem_sha256:
        raise _stale(options, "buffers live at other times, or may lie in other pools, than when the lock was made")


def _addresses(
    items: Sequence[Item], pools: Sequence[PoolLimit], guards: Guards | None, options: CompileOptions, lock: Lock
) -> Result:
    """The lock's addresses as a result of placement.

    Raises bad_input if the lock's bytes used are not those of its addresses, since reports would show a wrong bound.
    """
    _check_buffers(items, options, lock)
    placements = {item.name: (lock.addresses[item.name][0], lock.addresses[item.name][1]) for item in items}
    stated = {pool.name: lock.pools.get(pool.name, (-1, 0, False)) for pool in pools}
    for pool in pools:
        ends = [placements[item.name][1] + item.size_bytes for item in items if placements[item.name][0] == pool.name]
        end = max(ends, default=0)
        if stated[pool.name][0] != used_bytes(end, pool, guards):
            what = f"the addresses in pool '{pool.name}' end at {end:,}; the lock says {stated[pool.name][0]:,}"
            raise _stale(options, what)
    used, bounds, optimal = ({name: entry[part] for name, entry in stated.items()} for part in range(3))
    return Result(placements, used, bounds, optimal)
