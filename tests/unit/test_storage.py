"""Parts inside their whole, outputs over inputs: when they share bytes, when not, and what that saves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.machine import Machine
from support.networks import Network
from support.planned import far_platform, near_platform, plan_of, planned, with_cores
from tilewright.catalogue.evaluate import evaluate
from tilewright.check import Rule, check
from tilewright.graph import DType, Graph, constant, packed_strides_bytes
from tilewright.kernels.registry import choices
from tilewright.options import Order
from tilewright.plan import Placement, Plan, RelationKind, kernel_steps
from tilewright.plan.copies import copy_commands
from tilewright.platform.types import Platform
from tilewright.rewrites.passes import optimise
from tilewright.storage.joining import plan_storage
from tilewright.storage.overlaps import Overlap
from tilewright.storage.places import reshaped_strides
from tilewright.storage.pressure import pressure_bytes
from tilewright.tiling.cost import load_cycles
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import tiling_problem

SHAPE = (1, 4, 6, 5)


def graph_of(net: Network, *outputs: str) -> Graph:
    return optimise(Graph("graph", tuple(net.nodes), net.tensors, tuple(net.inputs), outputs))


def operators(graph: Graph) -> list[str]:
    """Operators that need code."""
    return [layer.problem.node.operator for layer in planned(graph, near_platform()).layers]


def sound_plan(graph: Graph, **how: object) -> Plan:
    platform = near_platform()
    plan = plan_of(graph, platform, planned(graph, platform, **how))
    assert check(plan) == []
    return plan


def overlaps(graph: Graph, **how: object) -> list[tuple[str, str]]:
    plan = sound_plan(graph, **how)
    return [(item.first, item.second) for item in plan.relations if item.kind is RelationKind.TRAILS]


def used_bytes(plan: Plan) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == "sram")


def concat(net: Network, axis: int, *names: str) -> str:
    shape = list(net.shape(names[0]))
    shape[axis] = sum(net.shape(name)[axis] for name in names)
    return net.add("Concat", list(names), tuple(shape), axis=axis)


@given(st.data())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_strides_of_a_reshape_are_those_of_numpy(data: st.DataObject) -> None:
    source = data.draw(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=4))
    array = np.zeros([2 * extent for extent in source], np.int8)[tuple(slice(0, extent) for extent in source)]
    if data.draw(st.booleans()):
        array = np.zeros(source, np.int8)
    array = array.transpose(data.draw(st.permutations(range(len(source)))))
    factors = [factor for extent in array.shape for factor in ([2, 2] if extent == 4 else [extent])]
    target: list[int] = []
    for factor in factors:
        if target and data.draw(st.booleans()):
            target[-1] *= factor
        else:
            target.append(factor)
    found = reshaped_strides(array.shape, array.strides, tuple(target))
    view = array.view()
    try:
        view.shape = tuple(target)
    except AttributeError:
        assert found is None
        return
    assert found is not None
    assert [a for a, extent in zip(found, target, strict=True) if extent > 1] == [
        a for a, extent in zip(view.strides, target, strict=True) if extent > 1
    ]


@pytest.mark.parametrize("axis", [1, 2, 3])
def test_inputs_of_a_concat_are_computed_inside_its_output(axis: int) -> None:
    net = Network(DType.INT8)
    x = net.input(SHAPE)
    joined = concat(net, axis, net.pooled(x), net.pooled(net.pooled(x)))
    graph = graph_of(net, joined)
    assert operators(graph) == ["MaxPool", "MaxPool", "MaxPool"]
    plan = sound_plan(graph)
    parts = {item.first: item.offset_bytes for item in plan.relations if item.second == joined}
    assert sorted(parts.values()) == [0, {1: 120, 2: 30, 3: 5}[axis]]


def test_what_cannot_lie_inside_is_copied_there() -> None:
    net = Network(DType.INT8)
    x = net.input(SHAPE)
    table = constant("table", np.ones(SHAPE, np.int8))
    net.tensors["table"] = table
    pooled = net.pooled(x)
    graph = graph_of(net, net.pooled(concat(net, 1, x, pooled, "table", pooled)))
    assert sorted(operators(graph)) == ["Copy", "Copy", "Copy", "MaxPool", "MaxPool"]
    sound_plan(graph)


def test_a_concat_of_inputs_alone_stays_one() -> None:
    net = Network(DType.INT8)
    graph = graph_of(net, concat(net, 1, net.input(SHAPE), net.input(SHAPE)))
    assert operators(graph) == ["Concat"]


def test_slices_of_one_tensor_are_parts_of_it_unless_they_run_backwards() -> None:
    net = Network(DType.INT8)
    x = net.pooled(net.input(SHAPE))
    forward, strided, backward = net.sliced(x, 2, 1, 1, 3), net.sliced(x, 2, 0, 2, 3), net.sliced(x, 2, 3, -1, 3)
    graph = graph_of(net, *(net.pooled(part) for part in (forward, strided, backward)))
    assert sorted(operators(graph)) == ["MaxPool", "MaxPool", "MaxPool", "MaxPool", "Slice"]
    sound_plan(graph)


def test_a_part_does_not_join_where_that_raises_the_peak() -> None:
    net = Network(DType.INT8)
    x = net.input((1, 8, 8, 8))
    thin = net.pooled(net.sliced(x, 1, 0, 1, 1))
    # Rows of the thin part would keep gaps of seven eighths free while the long chain runs.
    chain = net.pooled(net.pooled(net.pooled(x)))
    long = net.sliced(chain, 1, 0, 1, 7)
    graph = graph_of(net, net.pooled(concat(net, 1, thin, net.pooled(long))))
    apart = plan_storage(graph, near_platform())
    assert "Concat" in {node.operator for node in apart.graph.nodes if node.name not in apart.homes.views}


def residual() -> tuple[Network, str]:
    net = Network(DType.FLOAT32)
    x = net.pooled(net.input(SHAPE))
    return net, net.add("Add", [x, net.pooled(x)], SHAPE)


def test_a_sum_is_written_over_an_input_that_dies() -> None:
    net, total = residual()
    graph = graph_of(net, net.pooled(total))
    ((first, second),) = overlaps(graph)
    assert (first, second) == (total, "t0")
    plan = sound_plan(graph)
    places = {item.buffer: item.offset_bytes for item in plan.placements}
    assert places[first] == places[second]
    assert used_bytes(plan) == 2 * 4 * 120


def test_an_input_that_is_read_later_is_kept() -> None:
    net, total = residual()
    graph = graph_of(net, net.pooled(total), net.pooled("t0"))
    assert overlaps(graph) == [(total, "t1")]
    both = graph_of(net, net.pooled(total), net.pooled("t0"), net.pooled("t1"))
    assert overlaps(both, order=Order.MODEL.value) == []


def test_one_tensor_read_twice_and_broadcast_inputs_are_kept() -> None:
    net = Network(DType.FLOAT32)
    x = net.pooled(net.input(SHAPE))
    assert overlaps(graph_of(net, net.pooled(net.add("Add", [x, x], SHAPE)))) == []
    net = Network(DType.FLOAT32)
    wide, thin = net.pooled(net.input(SHAPE)), net.pooled(net.input((1, 1, 6, 5)))
    total = net.add("Add", [thin, wide], SHAPE)
    assert overlaps(graph_of(net, net.pooled(total))) == [(total, wide)]


def test_a_chain_of_elementwise_operators_needs_one_place() -> None:
    net = Network(DType.INT8)
    x = net.pooled(net.input(SHAPE))
    last = x
    for _ in range(4):
        last = net.mapped(last)
    graph = graph_of(net, net.pooled(last))
    assert len(overlaps(graph)) == 4
    assert used_bytes(sound_plan(graph)) == 120


def test_the_callers_buffers_are_not_written_over() -> None:
    net = Network(DType.INT8)
    x = net.input(SHAPE)
    graph = graph_of(net, net.mapped(net.mapped(x)))
    assert overlaps(graph) == []
    assert len(overlaps(graph, io_in_pools=True)) == 2


def test_an_output_over_a_part_leaves_the_other_parts() -> None:
    net = Network(DType.INT8)
    x = net.pooled(net.input(SHAPE))
    left, right = net.sliced(x, 1, 0, 1, 2), net.sliced(x, 1, 2, 1, 2)
    graph = graph_of(net, net.pooled(net.mapped(left)), net.pooled(net.mapped(right)))
    sound_plan(graph)


@pytest.mark.parametrize("l1_bytes", [200, 400, 2000])
def test_tiled_layers_run_in_place_at_home(l1_bytes: int) -> None:
    net, total = residual()
    graph = graph_of(net, net.pooled(total))
    platform = far_platform(l1_bytes, asynchronous=True)
    plan = plan_of(graph, platform, planned(graph, platform))
    assert check(plan) == []
    assert [item.first for item in plan.relations if item.kind is RelationKind.TRAILS] == [total]
    assert used_bytes(plan) == 2 * 4 * 120


@pytest.mark.parametrize("platform", [near_platform(), far_platform(2000, asynchronous=True)])
def test_shared_calls_write_over_homes_of_tiles_only(platform: Platform) -> None:
    net, total = residual()
    graph = graph_of(net, net.pooled(total))
    platform = with_cores(platform, 8)
    plan = plan_of(graph, platform, planned(graph, platform))
    assert check(plan) == []
    (shared,) = [step.split for step in kernel_steps(plan.program) if step.writes[0].buffer.startswith(("n2", total))]
    assert shared is not None
    over = [item.first for item in plan.relations if item.kind is RelationKind.TRAILS]
    assert over == ([] if platform.name == "near" else [total])


@given(st.data())
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_cost_model_sees_the_gaps_of_parts(data: st.DataObject) -> None:
    operand, tile = part_operand(data)
    strides = operand.home_strides
    assert strides is not None
    packed = packed_strides_bytes(tile, operand.order, 1)
    commands, lines, _ = copy_commands(tile, strides, packed, 1)
    steps = {f"d{axis}": np.asarray(extent) for axis, extent in enumerate(tile)}
    assert int(load_cycles(operand, steps)) == commands * 20 + commands * lines * 4


def part_operand(data: st.DataObject) -> tuple[TileOperand, tuple[int, ...]]:
    """An input of int8 elementwise code with the strides of a part, and the extents of a tile."""
    shape = tuple(data.draw(st.lists(st.integers(1, 4), min_size=3, max_size=3)))
    net = Network(DType.INT8)
    graph = graph_of(net, net.mapped(net.input(shape)))
    platform = far_platform(1 << 16)
    whole = [extent * data.draw(st.sampled_from([1, 1, 2])) for extent in shape]
    strides = packed_strides_bytes(tuple(whole), (0, 1, 2), 1)
    homes = dict.fromkeys(graph.tensors, "sram")
    (node,) = graph.nodes
    problem = tiling_problem(graph, node, choices(node, graph)[0], platform, homes, {node.inputs[0]: strides})
    return problem.operands[0], tuple(data.draw(st.integers(1, extent)) for extent in shape)


def test_bytes_that_buffers_share_are_no_pressure() -> None:
    spans = {"a": (0, 8), "view": (2, 6), "over": (12, 20), "c": (8, 12)}
    alive = {"a": (0, 4), "view": (1, 3), "over": (3, 7), "c": (2, 9)}
    assert pressure_bytes(spans, alive, {"over": {"c": 4, "a": 8}}) == 12
    assert pressure_bytes(spans, alive, {"over": {"c": 4}}) == 16
    assert pressure_bytes(spans, alive, {}) == 20
    assert pressure_bytes({"a": (4, 8), "b": (0, 4)}, {"a": (0, 2), "b": (2, 4)}, {}) == 4
    assert pressure_bytes({}, {}, {}) == 0


def test_the_checker_sees_an_output_over_an_input_that_is_read_later(monkeypatch: pytest.MonkeyPatch) -> None:
    net, total = residual()
    graph = graph_of(net, net.pooled(total), net.pooled("t0"), net.pooled("t1"))
    spoilt = (Overlap(total, "t0", firsts=(total,), seconds=("t0",)),)
    monkeypatch.setattr("tilewright.schedule.building.find_overlaps", lambda *_: spoilt)
    platform = near_platform()
    found = plan_of(graph, platform, planned(graph, platform, order=Order.MODEL.value))
    assert check(found)[0].rule is Rule.UNWRITTEN_READ


def two_parts() -> tuple[Graph, Plan]:
    net = Network(DType.INT8)
    x = net.input(SHAPE)
    graph = graph_of(net, net.pooled(concat(net, 1, net.pooled(x), net.pooled(net.pooled(x)))))
    return graph, sound_plan(graph)


def test_the_checker_sees_parts_in_wrong_places() -> None:
    _, plan = two_parts()
    views = [item for item in plan.relations if item.kind is RelationKind.AT_OFFSET]
    first, second = sorted(views, key=lambda item: item.offset_bytes)
    others = tuple(item for item in plan.relations if item is not first)
    start = next(item.offset_bytes for item in plan.placements if item.buffer == first.second)

    def moved(name: str, offset: int) -> tuple[Placement, ...]:
        spot = Placement(name, "sram", start + offset)
        return tuple(spot if item.buffer == name else item for item in plan.placements)

    assert check(replace(plan, placements=moved(first.first, 1)))[0].rule is Rule.AT_OFFSET
    onto_the_other = (*others, replace(first, offset_bytes=second.offset_bytes, starts=second.starts))
    spoilt = replace(plan, placements=moved(first.first, second.offset_bytes), relations=onto_the_other)
    assert check(spoilt)[0].rule is Rule.WRITTEN_TWICE
    assert check(replace(plan, relations=others))[0].rule is Rule.OVERLAP


def test_the_machine_of_these_tests_sees_wrong_strides() -> None:
    graph, plan = two_parts()
    inputs = {"x0": np.arange(120, dtype=np.int8).reshape(SHAPE)}
    stored = plan_storage(graph, near_platform()).graph
    wanted = evaluate(graph, inputs)
    (name,) = graph.outputs
    np.testing.assert_array_equal(Machine(plan, stored).run(inputs)[name], wanted[name])
    part = plan.relations[0].first

    def turned(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (*strides[:2], strides[3], strides[2])

    buffers = tuple(
        replace(item, strides_bytes=turned(item.strides_bytes)) if item.name == part else item for item in plan.buffers
    )
    got = Machine(replace(plan, buffers=buffers), stored).run(inputs)
    assert (got[name] != wanted[name]).any()
