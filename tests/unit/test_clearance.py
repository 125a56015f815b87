"""How near outputs may lie to inputs: the formula against single bytes, kernels in C, the checker."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.integer_nodes import integers, node_graph, requantize
from support.mutants import subject
from support.overlapped import check_over, clearances, run_over, ways
from tilewright.check import Rule, check
from tilewright.kernels.kernel import Backward, KernelChoice
from tilewright.kernels.registry import choices
from tilewright.operators.nest import AxisMap, Interval, along, axis_range, clipped
from tilewright.plan import Kernel, Plan, Relation, RelationKind, Stores, WriteOrder, kernel_steps
from tilewright.storage.clearance import Clearance, Placed, clearance

CASES = 200


def case(seed: int) -> tuple[Placed, Placed, Stores, dict[str, int]]:
    """A window over rows and columns of pixels, read and written as some kernel might."""
    chance = random.Random(seed)
    axes, extents, sizes = [], {}, []
    for name in ("oh", "ow"):
        extents[name], stride, window = chance.randint(1, 5), chance.randint(1, 3), chance.randint(1, 4)
        pad = chance.randint(-1, 2)
        axes.append(along(name, stride, -pad, window))
        sizes.append(max(1, (extents[name] - 1) * stride + window - pad - chance.randint(0, 2)))
    read, write = (chance.choice([1, 2, 4]) for _ in range(2))
    gap = chance.choice([0, 0, 3])
    strides = (sizes[1] * read + gap, read)
    stores = Stores(
        WriteOrder.RASTER, (0,), ("oh", "ow"), chance.choice([1, 2, 4]), rereads=chance.choice([True, False])
    )
    source = Placed(tuple(axes), tuple(sizes), strides, read)
    shape = (extents["oh"], extents["ow"])
    return source, Placed((along("oh"), along("ow")), shape, (shape[1] * write, write), write), stores, extents


def found(read: Placed, write: Placed, stores: Stores, extents: dict[str, int]) -> Clearance | None:
    dimensions = tuple(SimpleNamespace(name=name, extent=extent) for name, extent in extents.items())
    turned = SimpleNamespace(stores=replace(stores, backward=("oh",)))
    kernel = SimpleNamespace(
        stores=stores,
        nest=SimpleNamespace(dimensions=dimensions),
        kernel=SimpleNamespace(backward=Backward("oh", lambda *_: None)),
        backward=lambda extent: turned,
    )
    return clearance(kernel, read, write)


def touched(item: Placed, box: dict[str, Interval]) -> set[int]:
    """The bytes of an operand that a box touches, from its first byte."""
    bounds = [clipped(axis_range(axis, extent, {}), box) for axis, extent in zip(item.axes, item.shape, strict=True)]
    first = (
        sum(at * pitch for at, pitch in zip(spot, item.strides_bytes, strict=True))
        for spot in product(*(range(*pair) for pair in bounds))
    )
    return {byte + offset for byte in first for offset in range(item.element_bytes)}


def points(stores: Stores, extents: dict[str, int]) -> Iterator[dict[str, Interval]]:
    """The points of a walk in its order."""
    ranges = [range(extents[name])[:: -1 if name in stores.backward else 1] for name in stores.walk]
    for spot in product(*ranges):
        yield {name: (at, at + 1) for name, at in zip(stores.walk, spot, strict=True)}


def is_harmless(read: Placed, write: Placed, stores: Stores, extents: dict[str, int], below: int) -> bool:
    """Whether each block of the walk stores only bytes that are no longer to be read."""
    walk = list(points(stores, extents))
    blocks = [walk[at : at + stores.block] for at in range(0, len(walk), stores.block)]
    reads = [set().union(*(touched(read, point) for point in block)) for block in blocks]
    for number, block in enumerate(blocks):
        written = {byte - below for point in block for byte in touched(write, point)}
        later = reads[number if stores.rereads else number + 1 :]
        if any(written & unread for unread in later):
            return False
    return True


@pytest.mark.parametrize("backward", [False, True])
def test_the_distance_is_the_least_that_is_harmless(backward: bool) -> None:
    tight = 0
    for seed in range(CASES):
        read, write, stores, extents = case(seed)
        by = found(read, write, stores, extents)
        assert by is not None
        turned = replace(stores, backward=("oh",)) if backward else stores
        if backward:
            assert by.above_bytes is not None or by.least_bytes <= 0
            if by.above_bytes is None:
                continue
        below, step = (-(by.above_bytes or 0), -1) if backward else (by.least_bytes, 1)
        for further in (0, 1, 5, 64):
            assert is_harmless(read, write, turned, extents, below + step * further), seed
        tight += not is_harmless(read, write, turned, extents, below - step)
    assert tight > CASES // 2, "distances that are larger than needed"


def test_shared_bytes_are_those_of_the_best_allowed_place() -> None:
    assert Clearance(0, 0).shared_bytes(8, 8) == 8
    assert Clearance(2, None).shared_bytes(8, 8) == 6
    assert Clearance(2, None, 0).shared_bytes(16, 8) == 8
    assert Clearance(20, None, 18).shared_bytes(8, 16) == 0
    assert Clearance(-4, None).shared_bytes(4, 8) == 4


def convolution(group: int = 1) -> tuple[KernelChoice, object, dict, np.ndarray]:
    """A 3x3 convolution of int8 data whose neighbouring elements differ."""
    rng = np.random.default_rng(3)
    channels = 5 if group == 1 else group
    data = integers(rng, "int8", (1, channels, 7, 6))
    weights = integers(rng, "int8", (channels, channels // group, 3, 3))
    values = {
        "strides": (1, 1),
        "dilations": (1, 1),
        "pads": (1, 1, 1, 1),
        "group": group,
        "x_zero_point": 0,
        "w_zero_point": (0,),
    }
    epilogue = requantize([0.01] * channels)
    graph, feeds = node_graph("Conv", (data, weights, None), (1,), data.shape, "int8", values, epilogue, True)
    choice = next(item for item in choices(graph.nodes[0], graph) if item.stores.order is WriteOrder.RASTER)
    return choice, graph, feeds, run_over(choice, graph, feeds, 0, 10_000)


@pytest.mark.parametrize("group", [1, 5])
def test_a_declaration_that_is_too_small_by_a_byte_is_caught(group: int) -> None:
    choice, graph, feeds, wanted = convolution(group)
    assert check_over(choice, graph, feeds) == (2 if group == 1 else 1)
    ((position, by),) = clearances(choice, graph)
    for below, walking in ways(choice, graph, position, by):
        closer = below + 1 if walking.stores.backward else below - 1
        assert not np.array_equal(run_over(walking, graph, feeds, 0, closer), wanted)


def test_channels_side_by_side_stay_apart_only_at_multiples_of_a_pixel() -> None:
    pixel = (AxisMap((("c", 1),)), along("p"))
    one, other = (Placed(pixel, (3, 5), (1, pitch), 1) for pitch in (3, 4))
    stores = Stores(WriteOrder.RASTER, (0,), ("n",), apart=("c",))
    extents = {"n": 1, "c": 3, "p": 5}
    assert found(one, one, stores, extents) == Clearance(0, 0)
    assert found(one, other, stores, extents) is None


FIRMWARE = Path(__file__).parents[1] / "firmware" / "models"
FAR = 1 << 16


def nearer(plan: Plan, relation: Relation, by: int) -> list[Rule]:
    """What the checker says of a trail whose two buffers, behind all others, are ``by`` bytes too near."""
    spots = {relation.second: FAR, relation.first: FAR - relation.offset_bytes + by}
    views = [item for item in plan.relations if item.kind is RelationKind.AT_OFFSET and item.second in spots]
    spots |= {item.first: spots[item.second] + item.offset_bytes for item in views}
    placements = (
        replace(item, offset_bytes=spots[item.buffer]) if item.buffer in spots else item for item in plan.placements
    )
    buffers = (replace(item, align_bytes=1) if item.name in spots else item for item in plan.buffers)
    related = tuple(item for item in plan.relations if item is not relation)
    nearer = replace(relation, offset_bytes=relation.offset_bytes - by)
    use = tuple(replace(item, used_bytes=2 * FAR, optimal=False) for item in plan.pool_use)
    moved = replace(plan, placements=tuple(placements), buffers=tuple(buffers), pool_use=use)
    moved = replace(moved, relations=(*related, nearer))
    return [violation.rule for violation in check(moved)]


@pytest.mark.parametrize(("name", "backward"), [("qdq_residual", False), ("deeploy_residual", True)])
def test_the_checker_refuses_a_byte_less(name: str, backward: bool, tmp_path: Path) -> None:
    types = json.loads(text.read_text()) if (text := FIRMWARE / name / "types.json").exists() else {}
    plan = subject(FIRMWARE / name / "network.onnx", "host", tmp_path, types=tuple(types.items())).plan
    tried = 0
    for relation in plan.relations:
        kernel = next((item for item in kernel_steps(plan.program) if touches(item, relation)), None)
        if relation.kind is not RelationKind.TRAILS or kernel is None or bool(kernel.stores.backward) != backward:
            continue
        assert Rule.WRITE_ORDER not in nearer(plan, relation, 0)
        assert Rule.WRITE_ORDER in nearer(plan, relation, 1)
        tried += 1
    assert tried


def touches(kernel: Kernel, relation: Relation) -> bool:
    """Whether a kernel that stores in raster order has both buffers of a trail as operands."""
    names = {operand.buffer for operand in (*kernel.reads, *kernel.writes)}
    return kernel.stores.order is WriteOrder.RASTER and {relation.first, relation.second} <= names
