"""Float32 pooling, largest and average; global pools are pools over the whole extent."""

from __future__ import annotations

from math import prod

from tilewright.graph import Graph, Node
from tilewright.kernels.float_common import CALL_CYCLES, all_float, clamp_attributes, clamp_of, points
from tilewright.kernels.kernel import HEIGHT, WIDTH, KernelChoice, TensorOperand, TileSteps
from tilewright.kernels.scalar.spatial_float import geometry, pair, spatial_view
from tilewright.operators.registry import OPERATORS
from tilewright.plan import AttributeValue

_TAP_CYCLES = 4.4
_OUTPUT_CYCLES = 40.0
_POSITION_CYCLES = 60.0

_SYMBOLS = {"MaxPool": "max_pool_f32", "AveragePool": "average_pool_f32"}


def choices(node: Node, graph: Graph) -> tuple[KernelChoice, ...]:
    """Kernels for float32 MaxPool and AveragePool over one or two spatial axes."""
    clamp = clamp_of(node)
    stem = _SYMBOLS.get(node.operator)
    if clamp is None or stem is None or not all_float(graph, (*node.inputs, *node.outputs)):
        return ()
    nest = OPERATORS[node.operator].nest(node, graph)
    kernel = tuple(int(extent) for extent in node.attributes["kernel"])
    counting = _counting(node, graph) if node.operator == "AveragePool" else ()

    def cycles(steps: TileSteps) -> float:
        positions = points(nest, steps, ("n", "oh", "ow"))
        outputs = positions * points(nest, steps, ("c",))
        return CALL_CYCLES + positions * _POSITION_CYCLES + outputs * (prod(kernel) * _TAP_CYCLES + _OUTPUT_CYCLES)

    return (
        KernelChoice(
            symbol=f"tilewright_{stem}",
            sources=(f"{stem}.c",),
            nest=nest,
            reads=(TensorOperand(node.inputs[0], nest.reads[0], spatial_view(node)),),
            writes=(TensorOperand(node.outputs[0], nest.writes[0], spatial_view(node)),),
            attributes=(*geometry(node, kernel), *counting, *clamp_attributes(clamp)),
            cycles=cycles,
            uncut=frozenset({"kh", "kw"}),
            ring_axes=frozenset({HEIGHT, WIDTH}),
        ),
    )


def _counting(node: Node, graph: Graph) -> tuple[tuple[str, AttributeValue], ...]:
    """Whether padding counts, and the first input position behind what counts."""
    extents = graph.tensor(node.inputs[0]).shape[2:]
    ends = node.attributes["pads"][len(extents) :]
    limits = [extent + end for extent, end in zip(extents, ends, strict=True)]
    return (("include_pads", int(bool(node.attributes["count_include_pad"]))), ("limits", pair(limits, 1)))
