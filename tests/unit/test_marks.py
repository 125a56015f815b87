"""Live and dead marks of whole tensors, with the caller's buffers and with inputs and outputs in pools."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.nodes import node_of
from support.planned import far_platform, near_platform, plan_of, planned
from tilewright.check import Rule, check
from tilewright.graph import DType, Graph, variable
from tilewright.plan import INTERFACE, Begin, BufferKind, End, Plan
from tilewright.schedule import building
from tilewright.schedule.marks import home_marks
from tilewright.storage.homes import Homes

KINDS = {
    "x": BufferKind.INPUT,
    "late": BufferKind.INPUT,
    "unread": BufferKind.INPUT,
    "a": BufferKind.INTERMEDIATE,
    "w": BufferKind.CONSTANT,
    "y": BufferKind.OUTPUT,
    "s": BufferKind.STATE,
    "n": BufferKind.STATE,
}
ROOTS = {**{name: name for name in KINDS}, "view": "a"}
TOUCHED = [("x", "a"), ("view", "late", "y"), ("y", "s", "n")]


Marks = tuple[tuple[str, ...], tuple[str, ...], dict[int, list[str]], dict[int, list[str]]]


def marks_of(callers: tuple[BufferKind, ...]) -> Marks:
    homes = Homes(ROOTS, KINDS, dict.fromkeys(ROOTS, ("sram",)), callers, groups=ROOTS, left={"n": "s"})
    marks = home_marks(TOUCHED, homes)
    return marks.start, marks.finish, dict(marks.begins), dict(marks.ends)


def test_what_the_caller_owns_lives_throughout() -> None:
    interface = ("x", "late", "unread", "y")
    start, finish, begins, ends = marks_of(INTERFACE)
    assert (start, finish) == ((*interface, "s"), (*interface, "n"))
    assert begins == {0: ["a", "view"], 2: ["n"]}
    assert ends == {1: ["view", "a"], 2: ["s"]}


def test_in_pools_an_input_dies_behind_its_last_reader_and_an_output_begins_with_its_writer() -> None:
    start, finish, begins, ends = marks_of(())
    assert start == ("x", "late", "unread", "s")
    assert finish == ("y", "n")
    assert begins == {0: ["a", "view"], 1: ["y"], 2: ["n"]}
    assert ends == {-1: ["unread"], 0: ["x"], 1: ["view", "late", "a"], 2: ["s"]}


def test_outputs_in_pools_leave_inputs_alive_throughout() -> None:
    start, finish, begins, ends = marks_of((BufferKind.INPUT,))
    assert start == ("x", "late", "unread", "s")
    assert finish == ("x", "late", "unread", "y", "n")
    assert begins == {0: ["a", "view"], 1: ["y"], 2: ["n"]}
    assert ends == {1: ["view", "a"], 2: ["s"]}


CLIP = {"minimum": 0.0, "maximum": 6.0}
POOL = {"kernel": (3, 3), "strides": (1, 1), "dilations": (1, 1), "pads": (1, 1, 1, 1)}


def chain(layers: int, operator: str = "MaxPool") -> Graph:
    """x -> MaxPool -> MaxPool ... -> y, all of 1,024 bytes."""
    attributes = CLIP if operator == "Clip" else POOL
    names = ["x", *(f"t{number}" for number in range(layers - 1)), "y"]
    nodes = [
        node_of(f"n{number}", operator, (names[number],), (names[number + 1],), attributes) for number in range(layers)
    ]
    tensors = {name: variable(name, DType.FLOAT32, (1, 4, 8, 8)) for name in names}
    return Graph("chain", tuple(nodes), tensors, ("x",), ("y",))


def in_pools(graph: Graph, tiled: bool) -> Plan:
    platform = far_platform(1 << 12) if tiled else near_platform()
    plan = plan_of(graph, platform, planned(graph, platform, io_in_pools=True))
    return replace(plan, io_in_pools=True)


def used(plan: Plan) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == "sram")


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_inputs_and_outputs_share_bytes_with_what_lies_between(
    layers: int, tiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two tensors are alive at a time, however long the chain is: without overlaps no output lies over its input."""
    monkeypatch.setattr(building, "find_overlaps", lambda *_: ())
    plan = in_pools(chain(layers), tiled)
    assert check(plan) == []
    assert used(plan) == 2048
    assert {"x", "y"} <= {placement.buffer for placement in plan.placements}


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
def test_an_output_in_pools_takes_the_place_of_an_input_that_is_copied_whole(layers: int) -> None:
    """Each layer reads all of its input into l1 before it stores anything."""
    plan = in_pools(chain(layers), True)
    assert check(plan) == []
    assert used(plan) == 1024
    assert {item.offset_bytes for item in plan.placements if item.pool == "sram"} == {0}


def test_an_output_in_pools_overlaps_the_input_that_its_kernel_consumes() -> None:
    """The last channel of a point is stored while the first is still to be read a row and a column before."""
    plan = in_pools(chain(1), False)
    assert check(plan) == []
    offsets = {item.buffer: item.offset_bytes for item in plan.placements}
    behind = 4 * (3 * 8 * 8 + 8 + 1 + 1)
    assert offsets["x"] - offsets["y"] == behind
    assert used(plan) == 1024 + behind
    nearer = tuple(
        replace(item, offset_bytes=item.offset_bytes - 4) if item.buffer == "x" else item for item in plan.placements
    )
    assert {violation.rule for violation in check(replace(plan, placements=nearer))} == {Rule.TRAILS}


@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("layers", [1, 4])
def test_elementwise_chains_run_in_place_from_input_to_output(layers: int, tiled: bool) -> None:
    plan = in_pools(chain(layers, "Clip"), tiled)
    assert check(plan) == []
    assert used(plan) == 1024


def test_the_checker_wants_inputs_from_the_start_and_outputs_to_the_end() -> None:
    """An input that begins late would be placed over something that is written before."""
    plan = in_pools(chain(3), False)
    offsets = {item.buffer: item.offset_bytes for item in plan.placements}
    on_input = tuple(
        replace(item, offset_bytes=offsets["x"]) if item.buffer == "t0" else item for item in plan.placements
    )
    assert {violation.rule for violation in check(replace(plan, placements=on_input))} == {Rule.OVERLAP}
    late = tuple(step for step in plan.program if step not in (Begin("x"), End("x")))
    assert check(replace(plan, program=late, placements=on_input))
    on_output = tuple(
        replace(item, offset_bytes=offsets["t1"]) if item.buffer == "y" else item for item in plan.placements
    )
    assert {violation.rule for violation in check(replace(plan, placements=on_output))} == {Rule.OVERLAP}
