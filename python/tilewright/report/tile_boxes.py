"""The tiles of a layer as numbers, from which the report's page computes any tile's rectangle in its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from tilewright.plan import Kernel, Layer, Loop, Operand, Plan, Step
from tilewright.report.labels import LONGEST_OWN, buffer_labels


def layer_geometry(plan: Plan) -> list[list[dict[str, Any]]]:
    """For each stage its kernels, each with the loop indices that it runs over and the axes of its operands.

    An index has the fields of ``plan.Index``: [name, extent, step, shift], outermost first; tiles are counted in
    lexicographic order. A group is a coarse index, [name, index, tiles]. An axis has the fields of
    ``plan.AxisRange``: [terms, first offset, last offset, divisor, extent]. An operand with a long name has a label.
    """
    labels = buffer_labels(plan)
    tensors = {buffer.name: buffer.tensor or buffer.name for buffer in plan.buffers}
    return [
        [
            _kernel(kernel, loop, tensors, labels)
            for kernel, loop in _kernels(layer.body, None)
            if kernel.name == stage.kernel
        ]
        for layer in plan.program
        if isinstance(layer, Layer)
        for stage in layer.stages
    ]


def _kernel(kernel: Kernel, loop: Loop | None, tensors: dict[str, str], labels: dict[str, str]) -> dict[str, Any]:
    indices = [index for index in loop.indices if index.name in kernel.runs.over] if loop else []
    sides = [("read", operand) for operand in kernel.reads] + [("written", operand) for operand in kernel.writes]
    return {
        "name": kernel.name,
        "symbol": kernel.symbol,
        "indices": [[index.name, index.extent, index.step, index.shift] for index in indices],
        "groups": _groups(loop) if loop else [],
        "operands": [_operand(side, operand, tensors, labels) for side, operand in sides],
    }


def _groups(loop: Loop) -> list[list[Any]]:
    """For each coarse index of a loop: its name, the plain index of which it is made, and how many of its tiles."""
    found: dict[str, tuple[str, int]] = {}
    for coarse in loop.coarse:
        index, tiles = found.get(coarse.of, (coarse.of, 1))
        found[coarse.name] = index, tiles * coarse.tiles
    return [[name, index, tiles] for name, (index, tiles) in found.items()]


def _operand(side: str, operand: Operand, tensors: dict[str, str], labels: dict[str, str]) -> dict[str, Any]:
    tensor = tensors[operand.buffer]
    label = labels.get(tensor, labels.get(operand.buffer)) if len(tensor) > LONGEST_OWN else None
    return {
        "side": side,
        "tensor": tensor,
        **({"label": label} if label is not None else {}),
        "axes": [
            [list(map(list, axis.terms)), axis.first_offset, axis.last_offset, axis.divisor, axis.extent]
            for axis in operand.rectangle
        ],
    }


def _kernels(body: Sequence[Step], loop: Loop | None) -> Iterator[tuple[Kernel, Loop | None]]:
    for step in body:
        if isinstance(step, Kernel):
            yield step, loop
        elif isinstance(step, Loop):
            yield from _kernels(step.body, step)
        elif isinstance(step, Layer):
            yield from _kernels(step.body, loop)
