"""Kernels that write over what they read, as near as their declarations allow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from kernel_harness import FIRST, LAST, Memory, View, content_of, operand_of, taken_steps
from tilewright.graph import Array, Graph, packed_strides_bytes
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, TensorOperand
from tilewright.storage.clearance import Clearance, Placed, backward_choice, clearance


def operand(item: TensorOperand, graph: Graph) -> Placed:
    """An operand that is a whole tensor without gaps."""
    tensor = graph.tensor(item.tensor)
    strides = packed_strides_bytes(tensor.shape, tensor.order, tensor.dtype.size_bytes)
    return Placed(item.axes, tensor.shape, strides, tensor.dtype.size_bytes)


def clearances(choice: KernelChoice, graph: Graph) -> Iterator[tuple[int, Clearance]]:
    """The reads over which a kernel may write in raster order, by position, each with its clearance."""
    for position in choice.stores.over:
        read = choice.reads[position]
        if isinstance(read, TensorOperand) and len(choice.writes) == 1:
            found = clearance(choice, operand(read, graph), operand(choice.writes[0], graph))
            if found is not None:
                yield position, found


def tensors(choice: KernelChoice) -> Iterator[TensorOperand]:
    """The operands of a kernel that are tensors of the graph."""
    return (item for item in (*choice.reads, *choice.writes) if isinstance(item, TensorOperand))


def check_over(choice: KernelChoice, graph: Graph, feeds: Mapping[str, Array], sources: tuple[str, ...] = ()) -> int:
    """Assert that a kernel gives the same bits with its output as near as allowed to each read as with both apart.

    Returns how many distances were tried.
    """
    tried, sizes = 0, [graph.tensor(item.tensor).dtype.size_bytes for item in tensors(choice)]
    for position, by in clearances(choice, graph):
        wanted = run_over(
            choice, graph, feeds, position, graph.tensor(choice.writes[0].tensor).size_bytes + 64, sources
        )
        for below, walking in ways(choice, graph, position, by, max(sizes)):
            got = run_over(walking, graph, feeds, position, below, sources)
            assert got.tobytes() == wanted.tobytes(), (
                f"{choice.name} differs {below} bytes below its input, walking {walking.stores}"
            )
            tried += 1
    return tried


def ways(
    choice: KernelChoice, graph: Graph, position: int, by: Clearance, align: int = 1
) -> Iterator[tuple[int, KernelChoice]]:
    """The least distance in bytes below a read, a multiple of ``align``, with the kernel as it walks forward.

    Then the same for the kernel as it walks backward, if it may.
    """
    yield -(-by.least_bytes // align) * align, choice
    if by.above_bytes is not None:
        read = choice.reads[position]
        assert isinstance(read, TensorOperand)
        turned = backward_choice(choice, read.axes, graph.tensor(read.tensor).shape)
        assert turned is not None
        yield -by.above_bytes // align * align, turned


def run_over(
    choice: KernelChoice,
    graph: Graph,
    arrays: Mapping[str, Array],
    read: int,
    below_bytes: int,
    sources: tuple[str, ...] = (),
) -> Array:
    """The only output of one call of a kernel that writes it over one of its reads.

    Args:
        read: the position of that read.
        below_bytes: by how much the output begins below the read; above it, if negative.
    """
    memory = Memory()
    box = {dimension.name: (0, dimension.extent) for dimension in choice.nest.dimensions}
    steps = taken_steps(choice, {})
    contents = [content_of(item, graph, arrays, steps) for item in choice.reads]
    tensor = graph.tensor(choice.writes[0].tensor)
    output = np.zeros(tensor.shape, tensor.dtype.numpy)
    start = memory.allocate(max(contents[read].nbytes, output.nbytes - below_bytes) + max(below_bytes, 0))
    spots = {read: start + max(below_bytes, 0), len(contents): start + max(-below_bytes, 0)}
    operands = [
        operand_of(item, array, graph, box, memory, False, None, spots.get(number))
        for number, (item, array) in enumerate(zip((*choice.reads, *choice.writes), (*contents, output), strict=True))
    ]
    for operand, array in zip(operands, contents, strict=False):
        operand.store(array)
    for operand, item, array in zip(operands, (*choice.reads, *choice.writes), (*contents, output), strict=True):
        for dimension in choice.stores.backward:
            _turn(operand.view, item, array.shape, dimension)
    views = [operand.view for operand in operands]
    scratch_bytes = choice.scratch_bytes(steps)
    views += [View(memory.allocate(scratch_bytes), None)] if scratch_bytes else []
    memory.call(choice.for_tiles(steps), sources, views, FIRST | LAST)
    operands[-1].load(output)
    memory.release()
    return output


def _turn(view: View, item: TensorOperand | ConstantOperand, extents: Sequence[int], dimension: str) -> None:
    """Let the axes that follow a dimension run from the last element to the first."""
    if isinstance(item, ConstantOperand):
        return
    shape = view.shape.contents
    for position, axis in enumerate(item.view):
        if axis >= 0 and dimension in dict(item.axes[axis].terms):
            view.base += (shape.extent[position] - 1) * shape.stride[position]
            shape.stride[position] *= -1
            shape.origin[position] = extents[axis] - shape.origin[position] - shape.extent[position]
