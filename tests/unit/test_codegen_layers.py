"""Layers in C where kernels read homes directly, cut into tiles."""

from __future__ import annotations

import re
from dataclasses import replace

from support.planned import far_platform, plan_of, planned
from support.small_nodes import conv
from support.walk import events, rectangle
from tilewright.codegen.buffers import storage_of
from tilewright.codegen.layer_function import Surroundings
from tilewright.codegen.layer_scope import ModelScope
from tilewright.codegen.layers import layer_text
from tilewright.codegen.template_lines import LayerText
from tilewright.plan import AxisRange, BufferKind, Kernel, Layer, Loop, Operand, Plan


def text_of(plan: Plan) -> LayerText:
    """The first layer of a plan as C."""
    layer = next(step for step in plan.program if isinstance(step, Layer))
    numbers = {link.name: number for number, link in enumerate(plan.links)}
    around = Surroundings("net", "const struct net_context *context", ("context",), None)
    return layer_text(ModelScope(storage_of(plan), around, numbers, {}, {}), 0, layer, plan.layers[:1])


def operands_of(text: LayerText) -> list[str]:
    """Base and shape of each operand of the kernel call as C; "moves to" is followed by the base that tiles assign."""
    lines = text.functions[-1].lines
    start = lines.index("struct tilewright_view operands[] = {") + 1
    operands = [line.strip() for line in lines[start : lines.index("};", start)]]
    for line in map(str.strip, lines):
        if found := re.fullmatch(r"operands\[(\d+)\]\.base = (.*);", line):
            operands[int(found[1])] += f" moves to {found[2]}"
    return operands


def with_kernel(plan: Plan, old: Kernel, new: Kernel) -> Plan:
    """The plan with another kernel call in its first layer."""
    (layer,) = (step for step in plan.program if isinstance(step, Layer))
    (loop,) = (step for step in layer.body if isinstance(step, Loop))
    changed = replace(loop, body=tuple(new if step is old else step for step in loop.body))
    program = tuple(replace(layer, body=(changed,)) if step is layer else step for step in plan.program)
    return replace(plan, program=program)


def half_reached() -> tuple[Plan, Kernel]:
    """A cut convolution's plan and kernel; the core reads the weights from flash, their home."""
    graph = conv((1, 4, 10, 10), (8, 4, 3, 3), (8, 8))
    platform = far_platform(1600, reach=("l1", "flash"))
    plan = plan_of(graph, platform, planned(graph, platform))
    kernel = next(step for step, _, _ in events(plan.program) if isinstance(step, Kernel))
    return plan, kernel


def test_a_home_read_twice_has_a_tile_function_for_each_use() -> None:
    plan, kernel = half_reached()
    x = Operand("x", tuple(AxisRange((), 0, extent - 1, 1, extent) for extent in (1, 4, 10, 10)))
    index = next(step for step in plan.program if isinstance(step, Layer)).body[0]
    assert isinstance(index, Loop)
    name = index.indices[0].name
    upper, lower = (
        replace(x, rectangle=(*x.rectangle[:2], AxisRange(((name, 1),), first, first, 1, 10), x.rectangle[3]))
        for first in (0, 2)
    )
    direct = replace(kernel, reads=(upper, lower), axes=((0, 1, 2, 3), (0, 1, 2, 3), kernel.axes[-1]))
    loads_nothing = replace(index, body=tuple(step for step in index.body if isinstance(step, Kernel)))
    (layer,) = (step for step in plan.program if isinstance(step, Layer))
    program = tuple(replace(layer, body=(loads_nothing,)) if step is layer else step for step in plan.program)
    text = text_of(with_kernel(replace(plan, program=program), kernel, direct))
    bounds = {function.name: function.lines for function in text.functions[:-1]}
    called = [re.fullmatch(r"(\w+)\(t, &shape_\d\);", line.strip()) for line in text.functions[-1].lines]
    functions = [found[1] for found in called if found]
    assert len(set(functions)) == len(functions) == 3
    assert set(bounds) == set(functions)
    assert bounds[functions[0]] != bounds[functions[1]]
    operands = operands_of(text)
    assert all(f"tilewright_bytes(context->inputs->x) + shape_{n}.origin[2] * " in operands[n] for n in (0, 1))


def test_weights_at_home_advance_with_the_tiles() -> None:
    plan, kernel = half_reached()
    weights = next(b for b in plan.buffers if b.kind is BufferKind.CONSTANT)
    assert weights.tensor is None
    cut = next(axis for axis, extent in enumerate(weights.shape) if extent > 1)
    terms = AxisRange((("oh", 1),), 0, 0, 4, weights.shape[cut])
    (operand,) = (read for read in kernel.reads if read.buffer == weights.name)
    whole = operands_of(text_of(plan))[1]
    assert whole.endswith(", NULL},")
    moved = replace(operand, rectangle=(*operand.rectangle[:cut], terms, *operand.rectangle[cut + 1 :]))
    areas = {rectangle(moved, {"oh": (low, low + 1)}) for low in range(8)}
    assert len(areas) > 1
    changed = with_kernel(plan, kernel, replace(kernel, reads=(kernel.reads[0], moved, *kernel.reads[2:])))
    assert re.search(r"moves to .* \+ shape_1\.origin\[\d\] \* \d+", operands_of(text_of(changed))[1])


def test_copies_of_a_layer_without_a_loop_start_first() -> None:
    graph = conv((1, 4, 6, 6), (8, 4, 3, 3), (8, 4))
    platform = far_platform(20_000)
    text = text_of(plan_of(graph, platform, planned(graph, platform)))
    lines = text.functions[-1].lines
    copies = [number for number, line in enumerate(lines) if "tilewright_copy_" in line and "wait" not in line]
    assert not any(line.startswith("for (int32_t t") for line in lines)
    assert copies
    assert copies[0] < lines.index("struct tilewright_view operands[] = {")
