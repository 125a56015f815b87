"""ONNX operators that give as many elements as they find: NonMaxSuppression, NonZero, Unique, Compress.

Their outputs get the extent that the user declares with ``BOUND``, and a count beside them (``operators/found.py``).
"""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.graph import Bounded, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.remedies import to_freeze
from tilewright.importers.onnx.source import SourceNode

Emitted = list[tuple[tuple[int, ...], DType]]
"""Shape and element type of each output of an operator."""


def non_zero(call: Call, steps: Steps) -> None:
    """The positions of elements that are not 0, one column for each. Their number is bounded by ``BOUND``."""
    x = call.input(0)
    if not x.shape:
        raise Unsupported("a scalar input", "give it one axis")
    name = call.node.outputs[0]
    bound = _bound(call, (name,), x.elements)
    found = _non_zero(call, steps, steps.cast(x.name, DType.BOOL), bound, name)
    steps.finish(found)


def compress(call: Call, steps: Steps) -> None:
    """Keeps the slices for which the condition is true. If it is computed, ``BOUND`` says how many there can be."""
    if call.known(1) is not None:
        steps.known["Compress"](call)
        return
    x, condition, name = call.input(0), call.input(1), call.node.outputs[0]
    axis = call.attribute("axis")
    rows = x.name if axis is not None else steps.reshape(x.name, x.elements)
    number = call.axis(int(axis), len(x.shape)) if axis is not None else 0
    shape = steps.tensor(rows).shape
    if condition.elements > shape[number]:
        what = f"a condition of {condition.elements} elements for extent {shape[number]}"
        raise Unsupported(what, "export the model again")
    flags = steps.reshape(condition.name, condition.elements)
    bound = _bound(call, (name,), condition.elements)
    positions = steps.reshape(_non_zero(call, steps, flags, bound, name), bound)
    taken = steps("Gather", rows, positions, axis=number)
    missing = steps("Less", positions, steps.constant(0, np.int64))
    beside = steps.reshape(missing, *(bound if at == number else 1 for at in range(len(shape))))
    steps.finish(steps("Where", beside, steps.constant(0, x.dtype.numpy.type), taken))


def _non_zero(call: Call, steps: Steps, flags: str, bound: int, name: str) -> str:
    rank = len(steps.tensor(flags).shape)
    emitted: Emitted = [((rank, bound), DType.INT64), ((1,), DType.INT32)]
    return _emit(call, "NonZero", [flags], emitted, {}, name, (1,))[0]


def unique(call: Call, steps: Steps) -> None:
    """The different elements, or slices along an axis. Their number is bounded by ``BOUND``."""
    x, axis = call.input(0), call.attribute("axis")
    number = call.axis(int(axis), len(x.shape)) if axis is not None else 0
    perm = [number, *(other for other in range(len(x.shape)) if other != number)]
    turned = x.name if axis is None or number == 0 else steps("Transpose", x.name, perm=perm)
    rows = x.elements if axis is None else x.shape[number]
    rest = () if axis is None else tuple(x.shape[other] for other in perm[1:])
    names = [name for position, name in enumerate(call.node.outputs) if name and position != 2]
    bound = _bound(call, names, rows)
    emitted: Emitted = [
        ((bound, prod(rest)), x.dtype),
        ((bound,), DType.INT64),
        ((rows,), DType.INT64),
        ((bound,), DType.INT64),
        ((1,), DType.INT32),
    ]
    given = {"is_sorted": bool(call.attribute("sorted", 1))}
    declared = next(name for name in names if name in call.build.bounds)
    found = _emit(call, "Unique", [steps.reshape(turned, rows, prod(rest))], emitted, given, declared, (0, 0, None, 0))
    values = steps.reshape(found[0], bound, *rest)
    back = [perm.index(position) for position in range(len(perm))]
    steps.finish(values if turned == x.name else steps("Transpose", values, perm=back))
    for position in (1, 2, 3):
        steps.finish(found[position], position)


def non_max_suppression(call: Call, steps: Steps) -> None:
    """The boxes that no better box overlaps. Their number is bounded by ``BOUND``. NaN is no candidate's score."""
    boxes, scores = call.input(0), call.input(1)
    if not call.has(2) or (call.known(2) is not None and call.constant(2, "the limit").max(initial=0) <= 0):
        raise Unsupported("max_output_boxes_per_class is 0, so that no box is ever kept", "give it a value")
    batches, classes, count = scores.shape
    limit = call.known(2)
    most = count if limit is None else min(count, int(limit.reshape(-1)[0]))
    name = call.node.outputs[0]
    bound = _bound(call, (name,), batches * classes * most)
    zero = steps.constant([0.0])
    inputs = [
        boxes.name,
        scores.name,
        steps.reshape(call.operand(2), 1),
        steps.reshape(call.operand(3), 1) if call.has(3) else zero,
        steps.reshape(call.operand(4), 1) if call.has(4) else zero,
    ]
    given = {"by_center": bool(call.attribute("center_point_box", 0)), "has_threshold": call.has(4)}
    emitted: Emitted = [((bound, 3), DType.INT64), ((1,), DType.INT32)]
    steps.finish(_emit(call, "NonMaxSuppression", inputs, emitted, given, name, (0,))[0])


def _emit(
    call: Call,
    operator: str,
    inputs: list[str],
    outputs: Emitted,
    given: dict[str, bool],
    declared: str,
    axes: tuple[int | None, ...],
) -> tuple[str, ...]:
    """Emit an operator whose last output is the count; ``axes`` are those of the other outputs that are bounded."""
    build = call.build
    names = tuple(build.fresh(f"{declared}/found{number}") for number in range(len(axes)))
    count = build.fresh(f"{declared}_count")
    node = SourceNode(call.node.name, operator, "", tuple(inputs), (*names, count), {})
    Call(node, build).emit_all(operator, inputs, outputs, given)
    build.counts.append(count)
    build.bounded.update(
        {name: Bounded(axis, count) for name, axis in zip(names, axes, strict=True) if axis is not None}
    )
    return names


def _bound(call: Call, names: tuple[str, ...] | list[str], most: int) -> int:
    """The bound that the user declares for one of the tensors; Unsupported without one, or beyond ``most``."""
    build, operator = call.build, call.node.operator
    declared = [name for name in names if name in build.bounds]
    if not declared:
        remedy = to_freeze(build.nodes, build.tensors, call.node.inputs)
        wanted = f"say how many are enough: BOUND {names[0]}=<n>, at most {most}"
        what = f"how many elements {operator} gives is known at run time only"
        raise Unsupported(what, f"{wanted}; or {remedy}; or end the model before it, and call it in C")
    bound = build.bounds[declared[0]]
    if any(build.bounds[other] != bound for other in declared):
        raise Unsupported(f"two bounds for as many elements: {', '.join(declared)}", "declare one of them")
    if bound > most:
        raise Unsupported(f"a bound of {bound} where at most {most} can be found", f"BOUND {declared[0]}={most}")
    return bound


def found(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the operators that they consist of."""
    table = {
        "Compress": compress,
        "NonMaxSuppression": non_max_suppression,
        "NonZero": non_zero,
        "Unique": unique,
    }
    return with_steps(earlier, table)
