"""Plans in which one number is another: every number that decides where bytes lie and when steps run.

Left out is what the plan only reports (facts of layers, costs, bounds), what the platform says (pools, links,
cores) and what only kernels read (attributes, quantisation).
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from tilewright.plan import (
    AxisRange,
    Begin,
    Buffer,
    CoarseIndex,
    CopyStart,
    Dimension,
    End,
    ExternalWeights,
    Guards,
    Index,
    InterfaceTensor,
    Kernel,
    Operand,
    Placement,
    Plan,
    PoolUse,
    Relation,
    Runs,
    Slide,
    Split,
    SplitAxis,
    StateTensor,
    Stores,
    Wait,
)

Path = tuple[str | int, ...]
"""Field names and positions from the plan to a number, a token, or (for marks) a step of a body."""

NUMBERS: dict[type, tuple[str, ...]] = {
    Buffer: ("shape", "strides_bytes", "size_bytes", "align_bytes", "copies", "slot_bytes", "ring_axis"),
    Relation: ("offset_bytes", "starts"),
    Placement: ("offset_bytes",),
    InterfaceTensor: ("shape", "fed_axis"),
    Guards: ("below_bytes", "behind_bytes"),
    Slide: ("rows", "period"),
    PoolUse: ("used_bytes",),
    Index: ("extent", "step", "shift"),
    CoarseIndex: ("tiles",),
    Runs: ("first", "every", "count"),
    AxisRange: ("terms", "first_offset", "last_offset", "divisor", "extent"),
    Operand: ("period",),
    Wait: ("number",),
    SplitAxis: ("operand", "axis"),
    Split: ("extent", "chunk", "cores", "scratch_bytes", "views_bytes"),
    Kernel: ("axes", "scratch_bytes"),
    Dimension: ("extent", "multiple"),
    Stores: ("over", "block"),
}
LEFT_OUT: dict[type, tuple[str, ...]] = {
    Buffer: ("accessed_bytes",),
    PoolUse: ("lower_bound_bytes",),
    StateTensor: ("fill",),
    Slide: ("window",),
    InterfaceTensor: ("required",),
    Kernel: ("attributes",),
    Plan: ("stack_bytes", "core_stack_bytes", "nominal_macs"),
    ExternalWeights: ("inside_cycles", "inside_bytes"),
}
"""Numbers of these types that decide nothing of where bytes lie and when steps run."""

TOKENS = (CopyStart, Wait)
NOT_ENTERED = ("layers", "attributes", "pools", "links", "core", "tiling", "quantization")


@dataclass(frozen=True)
class Mutation:
    """One change of a plan: what stands at a path, and what shall stand there."""

    path: Path
    old: object
    new: object

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))}: {self.old} -> {self.new}"

    def applied(self, plan: Plan) -> Plan:
        """The plan with this change."""
        changed = _at(plan, self.path, self.new)
        assert isinstance(changed, Plan)
        return changed


def mutations(plan: Plan, chance: random.Random) -> list[Mutation]:
    """One change for each place of the plan, in random order; ``chance`` draws what each place becomes."""
    tokens = sorted({step.token for _, step in _steps(plan) if isinstance(step, TOKENS)})
    found = [_drawn(path, value, tokens, chance) for path, value in _places(plan, ())]
    found += list(_marks(plan, chance))
    chance.shuffle(found)
    return [item for item in found if item.new != item.old]


def _places(value: Any, path: Path) -> Iterator[tuple[Path, object]]:
    """Every number and token that may change."""
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _places(item, (*path, number))
    if not is_dataclass(value) or isinstance(value, type):
        return
    for field in fields(value):
        content, at = getattr(value, field.name), (*path, field.name)
        if field.name in NUMBERS.get(type(value), ()):
            yield from _numbers(content, at)
        elif field.name == "token" and isinstance(value, TOKENS):
            yield at, content
        elif field.name not in NOT_ENTERED:
            yield from _places(content, at)


def _numbers(value: Any, path: Path) -> Iterator[tuple[Path, object]]:
    if isinstance(value, int):
        yield path, value
    if isinstance(value, tuple):
        for number, item in enumerate(value):
            yield from _numbers(item, (*path, number))


def _drawn(path: Path, old: object, tokens: list[str], chance: random.Random) -> Mutation:
    if isinstance(old, str):
        return Mutation(path, old, chance.choice(tokens))
    assert isinstance(old, int)
    near = (old + 1, old - 1, old + 4, old - 4, 2 * old, old // 2, 0)
    others = sorted({number for number in near if number != old})
    return Mutation(path, old, chance.choice(others))


def _steps(plan: Plan) -> Iterator[tuple[Path, Any]]:
    pending: list[tuple[Path, Any]] = [(("program", number), step) for number, step in enumerate(plan.program)]
    while pending:
        path, step = pending.pop(0)
        yield path, step
        pending += [((*path, "body", number), item) for number, item in enumerate(getattr(step, "body", ()))]


def _marks(plan: Plan, chance: random.Random) -> Iterator[Mutation]:
    """Every mark one to three places earlier or later in its body; the change is the body."""
    for path, step in _steps(plan):
        if not isinstance(step, (Begin, End)):
            continue
        *above, number = path
        body = plan
        for name in above:
            body = body[name] if isinstance(name, int) else getattr(body, name)
        assert isinstance(body, tuple)
        assert isinstance(number, int)
        target = min(max(number + chance.choice((-3, -2, -1, 1, 2, 3)), 0), len(body) - 1)
        rest = [*body[:number], *body[number + 1 :]]
        yield Mutation(
            tuple(above), _Body(body, step, number), _Body((*rest[:target], step, *rest[target:]), step, target)
        )


@dataclass(frozen=True)
class _Body:
    """A body of steps, named by the mark that moves in it."""

    steps: tuple[Any, ...]
    mark: Begin | End
    place: int

    def __str__(self) -> str:
        return f"{type(self.mark).__name__} {self.mark.buffer} at {self.place}"


def _at(value: Any, path: Path, new: object) -> Any:
    if not path:
        return new.steps if isinstance(new, _Body) else new
    name, *rest = path
    if isinstance(name, int):
        return (*value[:name], _at(value[name], tuple(rest), new), *value[name + 1 :])
    return replace(value, **{name: _at(getattr(value, name), tuple(rest), new)})
