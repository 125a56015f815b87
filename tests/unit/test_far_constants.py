"""Constants that reach the core over two links: where they live, and room for what a link rounds up."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.chains import conv_chain
from support.nodes import node_of
from support.planned import plan_of, planned
from support.small_nodes import conv, graph_of, kernel_of, nodes
from tilewright.base.errors import TilewrightError
from tilewright.check import Rule, check
from tilewright.graph import DType, Graph, constant, variable
from tilewright.kernels.kernel import packed_array
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model
from tilewright.plan import Buffer, BufferKind, CopyStart, Layer, Plan
from tilewright.platform import Platform, load_platform, with_pool_overrides
from tilewright.tiling.constant_homes import with_constant_homes
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.problem import tiling_problem

UNIT = 16


def rounding_platform(unit: int, l1_bytes: int = 1 << 12, l2_bytes: int = 1 << 16) -> Platform:
    """Constants in l3, over a link to l2 that rounds lines up."""
    platform = with_pool_overrides(load_platform("qemu-virt-rv32-l3"), [f"l1={l1_bytes}", f"l2={l2_bytes}"])
    links = tuple(replace(link, round_up_bytes=unit if link.source == "l3" else 1) for link in platform.links)
    return replace(platform, links=links)


def copies_of(plan: Plan) -> list[CopyStart]:
    layers = [step for step in plan.program if isinstance(step, Layer)]
    bodies = [inner for layer in layers for step in layer.body for inner in getattr(step, "body", (step,))]
    return [step for step in bodies if isinstance(step, CopyStart)]


def is_packed(buffer: Buffer) -> bool:
    item = np.dtype(buffer.dtype).itemsize
    long = sorted(
        (stride, extent) for stride, extent in zip(buffer.strides_bytes, buffer.shape, strict=True) if extent > 1
    )
    reaches = [(item, 1), *long]
    return all(stride == before * extent for (before, extent), (stride, _) in pairwise(reaches))


def test_lines_have_room_to_be_rounded_up() -> None:
    checked = 0

    @settings(max_examples=20, deadline=None)
    @given(graph=nodes(), l1=st.sampled_from([600, 1200, 4096]), l2=st.sampled_from([1500, 4096, 1 << 16]))
    def draw(graph: Graph, l1: int, l2: int) -> None:
        nonlocal checked
        platform = rounding_platform(UNIT, l1, l2)
        try:
            found = planned(graph, platform)
        except TilewrightError:
            return
        assert check(plan_of(graph, platform, found)) == []
        checked += 1

    draw()
    assert checked > 0


def strided_plan(unit: int) -> Plan:
    """Columns of a constant are cut in l2: lines of three floats."""
    x, y = (variable(name, DType.FLOAT32, (5, 12)) for name in ("x", "y"))
    z = constant("z", np.ones((5, 12), np.float32))
    graph = graph_of(node_of("add", "Add", ("x", "z"), ("y",), {}), [x, z, y])
    platform = rounding_platform(unit)
    tiles = (("add", (("d1", 3), ("l2.d1", 3))),)
    return plan_of(graph, platform, planned(graph, platform, tiles=tiles))


def test_lines_of_a_strided_copy_are_padded() -> None:
    exact, padded = strided_plan(1), strided_plan(UNIT)
    assert check(padded) == []
    for plan, packed in ((exact, True), (padded, False)):
        far = {copy.destination.buffer for copy in copies_of(plan) if copy.link == "l3->l2"}
        staged = [buffer for buffer in plan.buffers if buffer.name in far and len(buffer.shape) == 2]
        assert [is_packed(buffer) for buffer in staged] == [packed]


def test_checker_refuses_lines_without_room() -> None:
    plan = strided_plan(1)
    assert check(plan) == []
    links = tuple(replace(link, round_up_bytes=UNIT if link.source == "l3" else 1) for link in plan.links)
    assert Rule.LINK_ROUND_UP in {found.rule for found in check(replace(plan, links=links))}


def model(folder: Path) -> Path:
    file = folder / "net.onnx"
    file.write_bytes(conv_chain(layers=4, channels=6))
    return file


def homes_of(plan: Plan) -> dict[str, tuple[str, int]]:
    sizes = {buffer.name: buffer.size_bytes for buffer in plan.buffers if buffer.kind is BufferKind.CONSTANT}
    return {item.buffer: (item.pool, sizes[item.buffer]) for item in plan.placements if item.buffer in sizes}


@pytest.mark.parametrize("room", [1, 40, 700, 1 << 16])
def test_the_smallest_constants_stay_near(tmp_path: Path, room: int) -> None:
    options = CompileOptions(model(tmp_path), "pulp-open", "net", pools=(f"l2_constants={room}",))
    homes = homes_of(compile_model(options).plan)
    near = [size for pool, size in homes.values() if pool == "l2_constants"]
    far = [size for pool, size in homes.values() if pool == "l3"]
    assert len(near) + len(far) == len(homes)
    assert sum(near) <= room
    assert max(near, default=0) <= min(far, default=1 << 16)
    assert not far or sum(near) + min(far) > room
    assert bool(near) == (room > 1)
    assert bool(far) == (room < 1 << 16)


def test_constants_of_a_kernel_that_may_be_taken_leave_the_first_one_its_room() -> None:
    graph = conv((1, 4, 6, 6), (8, 4, 1, 1), (6, 6))
    platform = load_platform("pulp-open")
    homes = {name: "l2" for name, tensor in graph.tensors.items() if not tensor.is_constant}
    first = tiling_problem(graph, graph.nodes[0], kernel_of(graph), platform, homes)
    # As if another kernel packed its weights more loosely.
    loose = tuple(
        item if item.data is None else replace(item, data=np.repeat(packed_array(item.data, {}), 2, axis=-1))
        for item in first.operands
    )
    loose = tuple(item if item.data is None else replace(item, extents=item.data.shape) for item in loose)
    other = replace(first, operands=loose)
    room = sum(item.size_bytes for item in first.operands if item.data is not None)
    sized = with_pool_overrides(platform, [f"l2_constants={room}"])
    ((kept, away),) = with_constant_homes([[first, other]], sized, HashedArrays())
    assert {item.home for item in kept.operands if item.data is not None} == {"l2_constants"}
    assert {item.home for item in away.operands if item.data is not None} == {"l3"}
    assert with_constant_homes([[first]], sized, HashedArrays()) == [[first]]
