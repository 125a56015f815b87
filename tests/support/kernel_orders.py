"""Every kernel of a node with its tensors in any memory order, in tiles of any steps, compared with the reference.

Kernels promise to take any strides. Which orders a network's tensors get, layouts and views decide: a caller's
channels-first image, channels-last tensors, and whatever order is left where a Transpose became strides.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from kernel_harness import RUNTIME, Ring, run_kernel
from tilewright.catalogue.evaluate import evaluate
from tilewright.catalogue.operators import declared
from tilewright.graph import Array, Graph, Node, channels_last_order, identity_order
from tilewright.kernels.kernel import KernelChoice, TensorOperand
from tilewright.operators.nest import Iteration, axis_range, is_exact

from support.integer_nodes import choices_of

SOURCES = tuple(sorted(path.name for path in (RUNTIME / "kernels").glob("*.c")))
_MOST_TILES = 24
_FLOATS = 1e-4


def wrong_kernels(graph: Graph, feeds: Mapping[str, Array], chance: random.Random) -> tuple[int, list[str]]:
    """Run the kernels of each node once, in drawn memory orders: how many ran, and in words which were wrong."""
    values = evaluate(graph, feeds)
    tried, wrong = 0, []
    for node in graph.nodes:
        if declared(node, graph.extensions).is_view:
            continue
        alone = _alone(node, graph, chance)
        given = {name: values[name] for name in alone.inputs}
        for choice in choices_of(alone):
            tried += 1
            steps, in_place, rings = _drawn(choice, alone, chance)
            try:
                found = run_kernel(choice, alone, given, steps, in_place=in_place, rings=rings, sources=SOURCES)
                problem = _differences(node, found, values)
            except AssertionError as error:
                problem = str(error)
            if problem:
                orders = {name: (tensor.shape, tensor.order) for name, tensor in alone.tensors.items()}
                wrong.append(f"{choice.name} {steps} {rings} in place {in_place} {orders}: {problem}")
    return tried, wrong


def _alone(node: Node, graph: Graph, chance: random.Random) -> Graph:
    """A graph of one node, each of whose tensors has a drawn memory order."""
    tensors = {name: graph.tensor(name) for name in (*node.inputs, *node.outputs) if name}
    for name, tensor in tensors.items():
        if tensor.data is None:
            tensors[name] = replace(tensor, order=_order(len(tensor.shape), chance))
    inputs = tuple(name for name in dict.fromkeys(node.inputs) if name and tensors[name].data is None)
    return replace(graph, nodes=(node,), tensors=tensors, inputs=inputs, outputs=tuple(filter(None, node.outputs)))


def _order(rank: int, chance: random.Random) -> tuple[int, ...]:
    drawn = chance.random()
    if drawn < 0.25:
        return identity_order(rank)
    if drawn < 0.5 and rank > 2:
        return channels_last_order(rank)
    return tuple(chance.sample(range(rank), rank))


def _drawn(choice: KernelChoice, graph: Graph, chance: random.Random) -> tuple[dict[str, int], bool, list[Ring]]:
    """Steps of tiles, whether tiles lie in the whole tensors, and at times a ring for the first read."""
    steps = _steps(choice, chance) if chance.random() < 0.8 else {}
    if not _is_exact(choice, steps, graph):
        steps = {}
    read = choice.reads[0] if choice.reads else None
    if choice.ring_axes and isinstance(read, TensorOperand) and chance.random() < 0.5:
        axis = chance.choice(sorted(choice.ring_axes))
        extent = graph.tensor(read.tensor).shape[read.view[axis]] if read.view[axis] >= 0 else 1
        if extent > 1:
            return steps, False, [Ring(0, axis, extent + chance.randint(0, 3))]
    return steps, chance.random() < 0.5, []


def _steps(choice: KernelChoice, chance: random.Random) -> dict[str, int]:
    """Steps that the kernel allows, for not too many tiles."""
    steps, tiles = {}, 1
    for dimension in chance.sample(choice.nest.dimensions, len(choice.nest.dimensions)):
        name, extent = dimension.name, dimension.extent
        whole = name in choice.uncut or dimension.iteration is Iteration.WHOLE
        if whole or (dimension.iteration is Iteration.REDUCTION and not choice.partial_bytes):
            continue
        multiple = choice.multiples.get(name, 1)
        step = -(-chance.randint(1, extent) // multiple) * multiple
        if step < extent and tiles * -(-extent // step) <= _MOST_TILES:
            steps[name] = step
            tiles *= -(-extent // step)
    return _in_sequence(choice, steps)


def _in_sequence(choice: KernelChoice, steps: Mapping[str, int]) -> dict[str, int]:
    """The steps, with one point at a time of each sequential dimension outside of one that is cut."""
    taken, is_cut = dict(steps), False
    for dimension in reversed(choice.nest.dimensions):
        if dimension.iteration is Iteration.SEQUENTIAL:
            if is_cut:
                taken[dimension.name] = 1
            is_cut = is_cut or taken.get(dimension.name, dimension.extent) < dimension.extent
    return taken


def _is_exact(choice: KernelChoice, steps: Mapping[str, int], graph: Graph) -> bool:
    """Whether tiles of these steps write each element once."""
    taken = {item.name: min(steps.get(item.name, item.extent), item.extent) for item in choice.nest.dimensions}
    return all(
        is_exact(axis_range(axis, extent, {}), taken)
        for write in choice.writes
        for axis, extent in zip(write.axes, graph.tensor(write.tensor).shape, strict=True)
    )


def _differences(node: Node, found: list[Array], values: Mapping[str, Array]) -> str:
    """In words; a requantised integer may be one step off, where its exact value lies next to a tie."""
    for name, got in zip(filter(None, node.outputs), found, strict=True):
        want = values[name]
        if want.dtype.kind == "f":
            largest = max(float(np.abs(want).max(initial=0.0)), 1.0)
            different = ~(np.abs(got - want) <= _FLOATS * np.abs(want) + _FLOATS / 10 * largest)
            different &= ~((got == want) | (np.isnan(got) & np.isnan(want)))
        else:
            step = int(node.epilogue is not None and want.dtype.itemsize < 4)
            different = np.abs(got.astype(np.int64) - want.astype(np.int64)) > step
        if different.any():
            first = tuple(map(int, np.argwhere(different)[0]))
            return f"{int(different.sum())} of {got.size} differ, first at {first}: {got[first]} for {want[first]}"
    return ""
