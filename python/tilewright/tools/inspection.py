"""What a model is, before a platform is chosen: its interface, its operators, its work, and the memory it needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from math import prod
from typing import Any

import numpy as np

from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Graph
from tilewright.plan import Access, InterfaceTensor, Plan
from tilewright.report.text import macs_text, table

UNTILED = "host"
"""The platform whose one memory holds everything: its plan has each layer whole."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """Facts of a model.

    Attributes:
        inputs, outputs: the tensors that an application sees.
        operators: how many layers have each operator, the commonest first.
        macs: multiply-accumulates of one inference.
        nominal_macs: those of the model as written, before rewrites leave out what no result needs.
        parameters: elements of all constants that the model's operators read: weights, biases, initial states.
        constant_bytes: bytes of weights, biases and tables.
        activation_bytes: the least memory in which the layers run one after the other, whole, without inputs and
            outputs.
        activation_bound_bytes: what no order and no placement of whole layers can undercut.
        io_bytes: bytes of inputs and outputs.
    """

    model: str
    inputs: tuple[InterfaceTensor, ...]
    outputs: tuple[InterfaceTensor, ...]
    operators: tuple[tuple[str, int], ...]
    macs: int
    nominal_macs: int
    parameters: int
    constant_bytes: int
    activation_bytes: int
    activation_bound_bytes: int
    io_bytes: int


def inspection_of(plan: Plan, graph: Graph) -> Inspection:
    """The facts of a model from its plan for ``UNTILED``, and from its graph as it was imported."""
    access = {pool.name: pool.access for pool in plan.pools}
    constant = [use for use in plan.pool_use if access[use.pool] is Access.READ_ONLY]
    working = [use for use in plan.pool_use if access[use.pool] is not Access.READ_ONLY]
    macs = sum(layer.macs for layer in plan.layers)
    counts = Counter(layer.operator for layer in plan.layers)
    return Inspection(
        model=plan.model,
        inputs=plan.inputs,
        outputs=plan.outputs,
        operators=tuple(sorted(counts.items(), key=lambda item: (-item[1], item[0]))),
        macs=macs,
        nominal_macs=macs if plan.nominal_macs is None else plan.nominal_macs,
        parameters=_parameters(graph),
        constant_bytes=sum(use.used_bytes for use in constant),
        activation_bytes=sum(use.used_bytes for use in working),
        activation_bound_bytes=sum(use.lower_bound_bytes for use in working),
        io_bytes=sum(_size_bytes(item) for item in (*plan.inputs, *plan.outputs)),
    )


def _parameters(graph: Graph) -> int:
    read = {name for node in graph.nodes for name in node.inputs if name}
    constants = (graph.tensor(name).data for name in sorted(read))
    return sum(int(data.size) for data in constants if data is not None)


def inspection_data(found: Inspection) -> dict[str, Any]:
    """The facts as JSON."""
    data = asdict(found)
    data["operators"] = dict(found.operators)
    return data


def inspection_text(found: Inspection) -> str:
    """The facts as text, with a trailing newline."""
    layers = sum(count for _, count in found.operators)
    macs = macs_text(found.macs, found.nominal_macs, "multiply-accumulates")
    rows = [("input", item) for item in found.inputs] + [("output", item) for item in found.outputs]
    memory = [
        ("weights and tables", "read-only", f"{found.constant_bytes:,}"),
        ("between layers", _bound(found), f"{found.activation_bytes:,}"),
        ("inputs and outputs", "the caller's, or in pools with IO_IN_POOLS or OUTPUTS_IN_POOLS", f"{found.io_bytes:,}"),
    ]
    parts = [
        f"{found.model}: {layers} layers, {macs}, {found.parameters:,} parameters",
        "Interface\n" + table(("", "tensor", "type", "shape", "scale", "zero point"), [_row(*row) for row in rows], 4),
        "Layers\n" + table(("operator", "layers"), [(name, str(count)) for name, count in found.operators]),
        "Memory, layer by layer (bytes)\n" + table(("what", "", "bytes"), memory, 2),
    ]
    return "\n\n".join(parts) + "\n"


def _bound(found: Inspection) -> str:
    if found.activation_bytes == found.activation_bound_bytes:
        return "the least for whole layers; tiles and groups of layers need less"
    return f"at least {found.activation_bound_bytes:,} for whole layers; tiles and groups of layers need less"


def _row(direction: str, item: InterfaceTensor) -> Sequence[str]:
    shape = "x".join(map(str, item.shape)) or "scalar"
    given = item.quantization
    if given is None:
        return (direction, item.name, item.dtype, shape, "-", "-")
    if len(given.scale) > 1:
        return (direction, item.name, item.dtype, shape, "per channel", "per channel")
    return (direction, item.name, item.dtype, shape, f"{given.scale[0]:.9g}", str(given.zero_point[0]))


def _size_bytes(item: InterfaceTensor) -> int:
    return prod(item.shape) * int(np.dtype(item.dtype).itemsize)
