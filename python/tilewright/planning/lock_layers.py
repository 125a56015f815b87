"""A layer's decisions as an entry of a lock, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace

from tilewright.base.errors import bad_input
from tilewright.plan import KernelOffer
from tilewright.planning.lock_file import LayerEntry
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.tiling.given import with_given
from tilewright.tiling.kept import kept_dimension
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.staging import Staging, contains, stagings
from tilewright.tiling.tile_choice import TileChoice

STALE = "plan-lock"
"""The code of errors about locks."""


def layer_entry(layer: ScheduledLayer, group: str = "", block: int = 0) -> LayerEntry:
    """The entry of a layer in a lock; a layer in a group has a block instead of tiles."""
    problem, choice = layer.problem, layer.choice
    names = [operand.name for operand in problem.operands]
    staged = {
        key: item
        for number, operand in enumerate(problem.operands)
        for key, item in zip(_keys(operand), choice.staging(number), strict=True)
    }
    return LayerEntry(
        name=problem.node.name,
        kernel=problem.kernel.name,
        variant=problem.variant,
        cycles=choice.predicted_cycles,
        tile={} if group else {name: choice.steps[name] for name in choice.order},
        slots={name: slots for name, slots in zip(names, choice.copies, strict=True) if slots},
        hinted=choice.hinted,
        other_kernels=[list(astuple(offer)) for offer in layer.others],
        kept={} if group else {name: kept for number, name in enumerate(names) if (kept := choice.kept_along(number))},
        staged_slots={name: item.copies for name, item in staged.items() if item.copies > 1},
        staged={name: _groups(item) for name, item in staged.items()},
        group=group,
        block=block,
    )


def restored_layer(problems: Sequence[TilingProblem], entry: LayerEntry) -> ScheduledLayer:
    """The layer that an entry describes, of the kernels that can run it.

    Raises bad_input ``plan-lock`` where they cannot, ``tile-override`` where the kernel does not allow the steps.
    """
    wanted = (entry.kernel, entry.variant)
    problem = next((problem for problem in problems if (problem.kernel.name, problem.variant) == wanted), None)
    if problem is None:
        raise bad_input(STALE, f"layer '{entry.name}' cannot be run by kernel '{entry.kernel}'")
    problem = with_given(problem, tuple(entry.tile.items()))
    moving = {operand.name for operand in problem.operands if operand.link is not None}
    staged = {key for operand in problem.operands for key in _keys(operand)}
    if set(entry.slots) != moving or set(entry.staged) != staged:
        raise bad_input(STALE, f"layer '{entry.name}' has other operands")
    steps, order = {**problem.extents, **entry.tile}, tuple(entry.tile)
    larger = tuple(_stagings(problem, position, steps, order, entry) for position in range(len(problem.operands)))
    kept = tuple(_kept(problem, operand, steps, order, entry) for operand in problem.operands)
    choice = TileChoice(
        steps,
        order,
        tuple(entry.slots.get(operand.name, 0) for operand in problem.operands),
        {},
        entry.cycles,
        stagings=larger if staged else (),
        kept=kept if any(kept) else (),
        hinted=entry.hinted,
    )
    return ScheduledLayer(problem, choice, tuple(KernelOffer(*item) for item in entry.other_kernels))


def _groups(staging: Staging) -> dict[str, int]:
    return {staging.index: staging.tiles} if staging.index else {}


def _kept(
    problem: TilingProblem, operand: TileOperand, steps: Mapping[str, int], order: tuple[str, ...], entry: LayerEntry
) -> str:
    """The index along which rows of the operand are kept; empty for none."""
    along = entry.kept.get(operand.name, "")
    if along and kept_dimension(problem, operand, steps, order) != along:
        raise bad_input(STALE, f"layer '{entry.name}' cannot keep rows of '{operand.name}' along {along}")
    return along


def _keys(operand: TileOperand) -> list[str]:
    """Names of an operand's larger tiles in a lock: ``x`` in the pool nearest to the core, ``x@l2`` in others."""
    return [f"{operand.name}@{pool}" if number else operand.name for number, pool in enumerate(operand.between)]


def _stagings(
    problem: TilingProblem, position: int, steps: Mapping[str, int], order: tuple[str, ...], entry: LayerEntry
) -> tuple[Staging, ...]:
    """The larger tiles of operand ``position`` between home and core; () where tiles travel straight."""
    operand = problem.operands[position]
    found: list[Staging] = []
    for number, key in enumerate(_keys(operand)):
        inner = found[-1] if found else None
        ways = stagings(operand, number, steps, order, problem.extents)
        item = next((way for way in ways if _groups(way) == entry.staged[key] and contains(way, inner, order)), None)
        if item is None:
            raise bad_input(STALE, f"layer '{entry.name}' has no such larger tiles of '{key}'")
        moved = item.repeats * problem.moved_bytes(position, item.steps)
        found.append(replace(item, copies=entry.staged_slots.get(key, 1), link_bytes=moved))
    return tuple(found)
