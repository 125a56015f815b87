"""A layer's decisions as an entry of a lock, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import astuple, replace

from tilewright.base.errors import bad_input
from tilewright.plan import KernelOffer
from tilewright.planning.lock_file import LayerEntry
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.tiling.choice import TileChoice
from tilewright.tiling.given import with_given
from tilewright.tiling.kept import kept_dimension
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.staging import Staging, stagings

STALE = "plan-lock"
"""The code of errors about locks."""


def layer_entry(layer: ScheduledLayer, group: str = "", block: int = 0) -> LayerEntry:
    """What a lock says of a layer; one in a group has a block instead of tiles."""
    problem, choice = layer.problem, layer.choice
    names = [operand.name for operand in problem.operands]
    staged = {name: item for number, name in enumerate(names) if (item := choice.staging(number)) is not None}
    return LayerEntry(
        name=problem.node.name,
        kernel=problem.kernel.name,
        variant=problem.variant,
        cycles=choice.predicted_cycles,
        tile={} if group else {name: choice.steps[name] for name in choice.order},
        slots={name: slots for name, slots in zip(names, choice.copies, strict=True) if slots},
        hinted=choice.hinted,
        other_kernels=[list(astuple(offer)) for offer in layer.others],
        kept={name: kept for number, name in enumerate(names) if (kept := choice.kept_along(number))},
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
    staged = {operand.name for operand in problem.operands if operand.far_link is not None}
    if set(entry.slots) != moving or set(entry.staged) != staged:
        raise bad_input(STALE, f"layer '{entry.name}' has other operands")
    steps, order = {**problem.extents, **entry.tile}, tuple(entry.tile)
    larger = tuple(_staging(problem, operand, steps, order, entry) for operand in problem.operands)
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


def _staging(
    problem: TilingProblem, operand: TileOperand, steps: Mapping[str, int], order: tuple[str, ...], entry: LayerEntry
) -> Staging | None:
    """The operand's larger tiles between home and core; None where its tiles come straight from the home."""
    if operand.far_link is None:
        return None
    for item in stagings(operand, steps, order, problem.extents):
        if _groups(item) == entry.staged[operand.name]:
            return replace(item, copies=entry.staged_slots.get(operand.name, 1))
    raise bad_input(STALE, f"layer '{entry.name}' has no such larger tiles of '{operand.name}'")
