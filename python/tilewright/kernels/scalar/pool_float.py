"""Float32 pooling, largest and average; global pools are pools over the whole extent."""

from __future__ import annotations

from math import prod

from tilewright.graph import Graph, Node, Tensor
from tilewright.kernels.float_common import CALL_CYCLES, all_float, clamp_attributes, clamp_of, points
from tilewright.kernels.kernel import HEIGHT, WIDTH, KernelChoice, TensorOperand, TileSteps
from tilewright.kernels.scalar.geometry import PLANE, Fields, filled, geometry, plane_view
from tilewright.operators.pooling import AveragePoolAttributes
from tilewright.operators.registry import OPERATORS
from tilewright.operators.spatial import Windows

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
    windows = node.given(Windows)
    counting = _counting(windows, graph.tensor(node.inputs[0])) if isinstance(windows, AveragePoolAttributes) else ()
    view, taps = plane_view(windows.rank + 2), prod(windows.kernel)

    def cycles(steps: TileSteps) -> float:
        positions = points(nest, steps, ("n", "oh", "ow"))
        outputs = positions * points(nest, steps, ("c",))
        return CALL_CYCLES + positions * _POSITION_CYCLES + outputs * (taps * _TAP_CYCLES + _OUTPUT_CYCLES)

    return (
        KernelChoice(
            symbol=f"tilewright_{stem}",
            sources=(f"{stem}.c",),
            nest=nest,
            reads=(TensorOperand(node.inputs[0], nest.reads[0], view),),
            writes=(TensorOperand(node.outputs[0], nest.writes[0], view),),
            attributes=(*geometry(windows), *counting, *clamp_attributes(clamp)),
            cycles=cycles,
            uncut=frozenset({"kh", "kw"}),
            ring_axes=frozenset({HEIGHT, WIDTH}),
        ),
    )


def _counting(given: AveragePoolAttributes, x: Tensor) -> Fields:
    """Whether padding counts, and the first input position behind what counts."""
    limits = [extent + end for extent, end in zip(x.shape[2:], given.pads_end, strict=True)]
    return (("include_pads", int(given.count_include_pad)), ("limits", filled(limits, PLANE, 1)))
