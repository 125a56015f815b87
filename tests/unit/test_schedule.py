"""The program of small graphs: loops, marks, views, constants, names."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import numpy as np
import pytest
from support.nodes import node_of
from support.planned import far_platform, near_platform, plan_of, planned
from support.small_nodes import conv
from support.walk import events
from tilewright.check import check
from tilewright.check.rules import Rule
from tilewright.graph import DType, Graph, Node, Tensor, constant, variable
from tilewright.kernels.registry import choices
from tilewright.options import Buffering
from tilewright.plan import (
    Begin,
    Buffer,
    BufferKind,
    CopyStart,
    End,
    Kernel,
    Layer,
    Loop,
    RelationKind,
    Runs,
    Step,
    Wait,
)
from tilewright.schedule.building import Schedule, build_schedule
from tilewright.schedule.tile_loops import ScheduledLayer
from tilewright.storage.homes import assign_homes
from tilewright.storage.joining import layer_nodes
from tilewright.tiling.choice import TilingOptions, choose_tiles
from tilewright.tiling.hashed import HashedArrays
from tilewright.tiling.problem import TilingProblem, tiling_problem
from tilewright.tiling.tile_choice import TileChoice

CLIP = {"minimum": 0.0, "maximum": 6.0}


def graph_of(nodes: list[Node], tensors: list[Tensor], inputs: tuple[str, ...], outputs: tuple[str, ...]) -> Graph:
    return Graph("graph", tuple(nodes), {tensor.name: tensor for tensor in tensors}, inputs, outputs)


def chain(output: str = "y", extra: tuple[str, ...] = ()) -> Graph:
    """a = Conv(x), v = Reshape(a), y = Clip(v)."""
    single = conv((1, 4, 10, 10), (8, 4, 3, 3), (8, 8))
    tensors = [replace(tensor, name="a") if name == "y" else tensor for name, tensor in single.tensors.items()]
    tensors.append(replace(variable("v", DType.FLOAT32, (1, 8, 64)), order=(0, 2, 1)))
    tensors.append(replace(variable("y", DType.FLOAT32, (1, 8, 64)), order=(0, 2, 1)))
    nodes = [
        replace(single.nodes[0], outputs=("a",)),
        node_of("view", "Reshape", ("a",), ("v",)),
        node_of("clip", "Clip", ("v",), ("y",), CLIP),
    ]
    kept = 2 if output == "v" else 3
    names = {"y"} if output == "v" else set()
    return graph_of(nodes[:kept], [t for t in tensors if t.name not in names], ("x",), (output, *extra))


def schedule_of(graph: Graph, l1_bytes: int | None = 1800, **changes: object) -> Schedule:
    return planned(graph, far_platform(l1_bytes), **changes).schedule


def position(program: tuple[Step, ...], wanted: Step) -> int:
    return program.index(wanted)


def layer(schedule: Schedule, name: str) -> int:
    return next(i for i, step in enumerate(schedule.program) if isinstance(step, Layer) and step.name == name)


def loop_of(schedule: Schedule, name: str) -> Loop:
    body = schedule.program[layer(schedule, name)]
    assert isinstance(body, Layer)
    (loop,) = body.body
    assert isinstance(loop, Loop)
    return loop


def buffers(schedule: Schedule) -> dict[str, Buffer]:
    named = {buffer.name: buffer for buffer in schedule.buffers}
    assert len(named) == len(schedule.buffers)
    return named


def test_a_loop_with_two_slots_has_a_prologue_and_an_epilogue() -> None:
    loop = loop_of(schedule_of(chain(), buffering=Buffering.DOUBLE), "clip")
    kinds = [type(step).__name__ for step in loop.body]
    assert kinds == ["CopyStart", "Wait", "Wait", "Kernel", "CopyStart"]
    load, ready, free, kernel, store = loop.body
    assert isinstance(load, CopyStart)
    assert isinstance(ready, Wait)
    assert isinstance(free, Wait)
    assert isinstance(kernel, Kernel)
    assert isinstance(store, CopyStart)
    assert kernel.runs == store.runs == Runs(0, 1, kernel.runs.count, tuple(index.name for index in loop.indices))
    assert kernel.runs.count == prod(index.count for index in loop.indices) > 2
    assert load.runs == replace(kernel.runs, first=-1)
    assert (ready.runs, free.runs) == (Runs(0, 1, kernel.runs.count), Runs(2, 1, kernel.runs.count))
    assert loop.iterations == range(-1, kernel.runs.count + 2)
    assert load.token == ready.token != free.token == store.token


def test_a_loop_with_one_slot_waits_for_its_last_store() -> None:
    loop = loop_of(schedule_of(chain(), buffering=Buffering.SINGLE), "clip")
    tiles = prod(index.count for index in loop.indices)
    assert loop.iterations == range(tiles + 1)
    assert [step.runs for step in loop.body if isinstance(step, Wait)] == [Runs(0, 1, tiles), Runs(1, 1, tiles)]


def test_an_operand_that_stays_is_loaded_once_per_period() -> None:
    loop = loop_of(schedule_of(conv((1, 4, 12, 12), (16, 4, 3, 3), (10, 10))), "conv")
    assert loop.indices[0].name == "oc"
    kernel = next(step for step in loop.body if isinstance(step, Kernel))
    inside = kernel.runs.count // loop.indices[0].count
    weights = kernel.reads[1]
    assert weights.period == inside > 1
    load = next(s for s in loop.body if isinstance(s, CopyStart) and s.destination.buffer == weights.buffer)
    assert (load.runs.every, load.runs.over, load.destination.period) == (inside, ("oc",), 1)
    assert kernel.reads[0].period == kernel.writes[0].period == 1


@pytest.mark.parametrize("copies", [1, 2])
def test_a_cut_reduction_stores_each_result_once(copies: int) -> None:
    graph, platform = conv((1, 6, 4, 4), (8, 6, 1, 1), (4, 4)), far_platform(None)
    homes = assign_homes(graph, platform)
    kernel = choices(graph.nodes[0], graph)[0]
    kernel = replace(kernel, uncut=kernel.uncut - {"ic"}, partial_bytes=lambda steps: 64)
    problem = tiling_problem(graph, graph.nodes[0], kernel, platform, homes.homes)
    steps = {**problem.extents, "oh": 2, "ic": 2}
    choice = TileChoice(steps, ("oh", "ic"), (copies, 1, 1, copies), {}, 0)
    schedule = build_schedule(graph, [ScheduledLayer(problem, choice)], homes, platform, HashedArrays())
    loop = loop_of(schedule, "conv")
    call = next(step for step in loop.body if isinstance(step, Kernel))
    assert call.reduction == ("ic",)
    assert call.writes[0].period == 3
    assert call.scratch[-1] == "conv.partial"
    happened = [(type(step).__name__, block) for step, block, _ in events(schedule.program) if acts_on(step, "conv.y")]
    assert [block for name, block in happened if name == "CopyStart"] == [0, 1]
    assert [block for name, block in happened if name == "Wait"] == [0, 1]
    assert happened.index(("Kernel", 2)) < happened.index(("CopyStart", 0)) < happened.index(("Kernel", 3))
    free = happened.index(("Wait", 0))
    assert free > happened.index(("CopyStart", 0))
    assert free < happened.index(("Kernel", 3)) or copies == 2


def acts_on(step: Step, token: str) -> bool:
    return isinstance(step, Kernel) or (isinstance(step, (CopyStart, Wait)) and step.token == token)


def test_one_tile_needs_no_loop() -> None:
    schedule = schedule_of(chain(), None)
    body = schedule.program[layer(schedule, "clip")]
    assert isinstance(body, Layer)
    assert [type(step).__name__ for step in body.body] == ["CopyStart", "Wait", "Kernel", "CopyStart", "Wait"]
    assert all(step.runs == Runs() for step in body.body if isinstance(step, (CopyStart, Wait, Kernel)))


def test_marks_stand_around_the_layers_that_use_a_buffer() -> None:
    schedule = schedule_of(chain())
    program = schedule.program
    first, second = layer(schedule, "conv"), layer(schedule, "clip")
    root, view = (position(program, Begin(name)) for name in ("a", "v"))
    assert root < view < first
    assert second < position(program, End("v")) < position(program, End("a"))
    for name, buffer in buffers(schedule).items():
        begin, end = position(program, Begin(name)), position(program, End(name))
        assert program.count(Begin(name)) == program.count(End(name)) == 1
        if buffer.kind in (BufferKind.TILE, BufferKind.SCRATCH):
            owner = first if name.startswith("conv.") else second
            assert [step for step in program[begin:end] if isinstance(step, Layer)] == [program[owner]]
        if buffer.kind in (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.CONSTANT):
            assert begin < first
            assert end > second


def test_a_view_shares_the_bytes_of_its_root() -> None:
    (relation,) = schedule_of(chain()).relations
    assert (relation.kind, relation.first, relation.second) == (RelationKind.AT_OFFSET, "v", "a")
    (relation,) = schedule_of(chain("v")).relations
    assert (relation.first, relation.second) == ("a", "v")
    written = buffers(schedule_of(chain("v")))
    assert written["a"].kind is written["v"].kind is BufferKind.OUTPUT
    homes = assign_homes(chain("v"), far_platform(None))
    assert [node.name for node in layer_nodes(chain("v"), homes)] == ["conv"]


def test_an_output_may_be_read_by_later_nodes() -> None:
    graph, platform = chain("y", ("a",)), far_platform(1800)
    found = planned(graph, platform)
    made = buffers(found.schedule)
    assert made["a"].kind is BufferKind.OUTPUT
    assert {relation.second for relation in found.schedule.relations} == {"a"}
    assert check(plan_of(graph, platform, found)) == []


def twice() -> Graph:
    """y = x + x."""
    tensors = [variable(name, DType.FLOAT32, (4, 12)) for name in ("x", "y")]
    return graph_of([node_of("add", "Add", ("x", "x"), ("y",))], tensors, ("x",), ("y",))


@pytest.mark.parametrize("l1_bytes", [None, 100])
def test_a_tensor_that_is_read_twice_has_a_tile_for_each_use(l1_bytes: int | None) -> None:
    platform = far_platform(l1_bytes)
    found = planned(twice(), platform)
    tiles = [buffer for buffer in found.schedule.buffers if buffer.kind is BufferKind.TILE]
    assert [tile.tensor for tile in tiles] == ["x", "x", "y"]
    assert len({tile.name for tile in tiles}) == 3
    assert check(plan_of(twice(), platform, found)) == []


def shared_weights(other: np.ndarray | None = None) -> Graph:
    """Two convolutions, one after the other, with equal (or ``other``) weights."""
    single = conv((1, 4, 6, 6), (4, 4, 1, 1), (6, 6))
    weights = single.tensor("w").data
    assert weights is not None
    second = replace(constant("w2", weights if other is None else other))
    named = dict(single.tensors)
    middle = replace(named["y"], name="m")
    bias = constant("b2", named["b"].data)
    nodes = [
        replace(single.nodes[0], outputs=("m",)),
        replace(single.nodes[0], name="conv2", inputs=("m", "w2", "b2")),
    ]
    return graph_of(nodes, [*named.values(), middle, second, bias], ("x",), ("y",))


def constants_of(schedule: Schedule) -> list[Buffer]:
    """Weights; biases are constants of their own."""
    constants = [buffer for buffer in schedule.buffers if buffer.kind is BufferKind.CONSTANT]
    return [buffer for buffer in constants if not buffer.name.endswith(".bias")]


def test_equal_constants_are_stored_once() -> None:
    once = schedule_of(shared_weights(), None)
    (stored,) = constants_of(once)
    assert len(once.constants) == 2
    assert stored.sha256 in once.constants
    other = shared_weights(np.ones((4, 4, 1, 1), np.float32))
    assert len(constants_of(schedule_of(other, None))) == 2


def scheduled(problems: list[TilingProblem], graph: Graph) -> Schedule:
    platform = near_platform()
    layers = [ScheduledLayer(problem, choose_tiles(problem, {}, TilingOptions())) for problem in problems]
    return build_schedule(graph, layers, assign_homes(graph, platform), platform, HashedArrays())


def with_constant(problem: TilingProblem, data: np.ndarray, **changes: object) -> TilingProblem:
    """The problem with another constant in place of its second operand."""
    read, held, *rest = problem.operands
    held = replace(held, data=data, extents=data.shape, dtype=data.dtype.name, **changes)
    return replace(problem, operands=(read, held, *rest))


def test_constants_that_c_sees_differently_are_stored_apart() -> None:
    graph, platform = shared_weights(), near_platform()
    homes = assign_homes(graph, platform).homes
    first, second = (tiling_problem(graph, node, choices(node, graph)[0], platform, homes) for node in graph.nodes)
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    axes = first.operands[1].axes[:2]
    plain = {"axes": axes, "order": (0, 1), "view": (0, 1)}
    packed = with_constant(first, data, **plain)
    assert len(constants_of(scheduled([packed, with_constant(second, data, **plain)], graph))) == 1
    tensor = with_constant(second, data, **plain, tensor="w2")
    assert [item.tensor for item in constants_of(scheduled([packed, tensor], graph))] == [None, "w2"]
    turned = {**plain, "order": (1, 0)}
    transposed = with_constant(second, np.ascontiguousarray(data.T).reshape(3, 2).T, **turned)
    assert len(constants_of(scheduled([packed, transposed], graph))) == 2
    # The same bytes in memory, read with other strides.
    same_bytes = with_constant(second, data.reshape(3, 2).T.copy(), **turned)
    both = constants_of(scheduled([packed, same_bytes], graph))
    assert len(both) == 2
    assert both[0].sha256 == both[1].sha256


def test_a_shared_constant_has_the_strictest_alignment() -> None:
    graph, platform = shared_weights(), near_platform()
    homes = assign_homes(graph, platform).homes
    first, second = (tiling_problem(graph, node, choices(node, graph)[0], platform, homes) for node in graph.nodes)
    read, held, *rest = second.operands
    strict = replace(second, operands=(read, replace(held, align_bytes=16), *rest))
    (stored,) = constants_of(scheduled([first, strict], graph))
    assert stored.align_bytes == 16


@pytest.mark.parametrize("name", ["conv.x.tile", "conv.weights", "conv.scratch", "conv.weights.tile"])
def test_names_of_the_model_come_first(name: str) -> None:
    single = conv((1, 4, 10, 10), (8, 4, 3, 3), (8, 8))
    tensors = [replace(tensor, name=name) if key == "y" else tensor for key, tensor in single.tensors.items()]
    graph = graph_of([replace(single.nodes[0], outputs=(name,))], tensors, ("x",), (name,))
    platform = far_platform(1800)
    found = planned(graph, platform)
    assert buffers(found.schedule)[name].kind is BufferKind.OUTPUT
    assert check(plan_of(graph, platform, found)) == []


def test_the_checker_sees_a_wait_that_is_missing_and_an_end_that_is_early() -> None:
    graph, platform = chain(), far_platform(1800)
    found = planned(graph, platform)
    plan = plan_of(graph, platform, found)
    assert check(plan) == []
    number = layer(found.schedule, "clip")
    loop = loop_of(found.schedule, "clip")
    unawaited = replace(loop, body=tuple(step for step in loop.body if not isinstance(step, Wait)))
    program = list(plan.program)
    program[number] = Layer("clip", (), (unawaited,))
    assert check(replace(plan, program=tuple(program)))
    early = [step for step in plan.program if step != End("v")]
    early.insert(number, End("v"))
    broken = check(replace(plan, program=tuple(early)))
    assert {violation.rule for violation in broken} & {Rule.OUTSIDE_LIFETIME, Rule.OVERLAP, Rule.UNWRITTEN_READ}
