"""Plans run on bytes: copies move them, kernels are the operators' references on what the bytes say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from tilewright.catalogue.evaluate import evaluate_node
from tilewright.graph import Array, Graph, Node
from tilewright.plan import Buffer, BufferKind, CopyStart, Kernel, Operand, Plan, RelationKind

from support.walk import Bounds, Rectangle, copied, events, rectangle


@dataclass(slots=True)
class Machine:
    """Memories by name (pools, and the caller's buffers): constants, inputs, and rubbish everywhere else."""

    plan: Plan
    graph: Graph
    memories: dict[str, np.ndarray] = field(default_factory=dict)
    starts: dict[str, tuple[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rubbish = np.random.default_rng(0)
        places = {item.buffer: (item.pool, item.offset_bytes) for item in self.plan.placements}
        parents = {
            item.first: (item.second, item.offset_bytes)
            for item in self.plan.relations
            if item.kind is RelationKind.AT_OFFSET
        }
        for buffer in self.plan.buffers:
            name, distance = buffer.name, 0
            while name not in places and name in parents:
                name, distance = parents[name][0], distance + parents[name][1]
            memory, start = places.get(name, (f"caller's {name}", 0))
            self.starts[buffer.name] = (memory, start + distance)
        for buffer in self.plan.buffers:
            memory, start = self.starts[buffer.name]
            need = max(start + buffer.size_bytes, len(self.memories.get(memory, ())))
            self.memories[memory] = rubbish.integers(0, 256, need, dtype=np.uint8)

    def run(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The outputs for these inputs."""
        buffers = {buffer.name: buffer for buffer in self.plan.buffers}
        for item in self.plan.inputs:
            self.home(buffers[item.buffer])[...] = inputs[item.name]
        nodes = {node.name: node for node in self.graph.nodes}
        brought = copied(self.plan.program)
        for step, tile, bounds in events(self.plan.program):
            if isinstance(step, CopyStart) and step.kept:
                _, area = next(brought)
                ring, place = self._ring(buffers[step.destination.buffer], area)
                source = self.home(buffers[step.source.buffer])
                ring[place] = source[tuple(slice(begin, end) for begin, end in area)]
            elif isinstance(step, CopyStart):
                next(brought)
                target = self.view(buffers[step.destination.buffer], step.destination, tile, bounds)
                source = buffers[step.source.buffer]
                if source.kind is BufferKind.CONSTANT:
                    continue
                target[...] = self.view(source, step.source, tile, bounds)
            elif isinstance(step, Kernel):
                self.kernel(nodes[step.name], step, buffers, tile, bounds)
        return {item.name: self.home(buffers[item.buffer]).copy() for item in self.plan.outputs}

    def kernel(self, node: Node, step: Kernel, buffers: Mapping[str, Buffer], tile: int, bounds: Bounds) -> None:
        """Compute a kernel call by the operator's reference.

        The reference gets whole tensors, with rubbish around what the operands hold; of its result only the rectangles
        of the writes are stored.
        """
        arrays: dict[str, Array] = {}
        for operand in step.reads:
            buffer = buffers[operand.buffer]
            if buffer.tensor is None or self.graph.tensor(buffer.tensor).is_constant:
                continue
            array = arrays.setdefault(buffer.tensor, self._rubbish(buffer.tensor))
            array[_slices(operand, bounds)] = self.view(buffer, operand, tile, bounds)
        constants = {name: self.graph.tensor(name).data for name in node.inputs if name and name not in arrays}
        with np.errstate(all="ignore"):
            results = evaluate_node(node, self.graph, {**constants, **arrays})
        for operand, name in zip(step.writes, node.outputs, strict=True):
            written = results[name][_slices(operand, bounds)]
            self.view(buffers[operand.buffer], operand, tile, bounds)[...] = written

    def _rubbish(self, tensor: str) -> Array:
        found = self.graph.tensor(tensor)
        return np.full(found.shape, np.nan if found.dtype.numpy.kind == "f" else 77, found.dtype.numpy)

    def home(self, buffer: Buffer) -> Array:
        """A whole buffer as an array on its bytes."""
        return self._array(buffer, 0, buffer.shape)

    def view(self, buffer: Buffer, operand: Operand, tile: int, bounds: Bounds) -> Array:
        """The operand's rectangle as an array on its bytes."""
        area = rectangle(operand, bounds)
        if buffer.ring_axis is not None:
            ring, place = self._ring(buffer, area)
            return ring[place]
        shape = tuple(end - begin for begin, end in area)
        first, origin = 0, [0] * len(area)
        if buffer.kind is BufferKind.TILE:
            first = tile // operand.period % buffer.copies * buffer.slot_bytes
            origin = [begin for begin, _ in area]
        first += sum(
            (begin - at) * stride for (begin, _), at, stride in zip(area, origin, buffer.strides_bytes, strict=True)
        )
        return self._array(buffer, first, shape)

    def _ring(self, buffer: Buffer, area: Rectangle) -> tuple[Array, tuple[slice | Array, ...]]:
        """A ring as an array, and where in it the rectangle lies."""
        assert buffer.ring_axis is not None
        place: list[slice | Array] = [slice(0, end - begin) for begin, end in area]
        place[buffer.ring_axis] = np.arange(*area[buffer.ring_axis]) % buffer.shape[buffer.ring_axis]
        return self.home(buffer), tuple(place)

    def _array(self, buffer: Buffer, first: int, shape: tuple[int, ...]) -> Array:
        memory, start = self.starts[buffer.name]
        held = self.memories[memory]
        return np.ndarray(shape, np.dtype(buffer.dtype), held, start + first, buffer.strides_bytes)


def _slices(operand: Operand, bounds: Bounds) -> tuple[slice, ...]:
    return tuple(slice(begin, end) for begin, end in rectangle(operand, bounds))
