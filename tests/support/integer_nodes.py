"""Random integer nodes for kernel tests, and the comparison of a kernel with the reference."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from kernel_harness import Memory, Ring, run_kernel
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import (
    Array,
    DType,
    Epilogue,
    Graph,
    Requantize,
    RequantizeShift,
    channels_last_order,
    constant,
    variable,
)
from tilewright.kernels.kernel import KernelChoice
from tilewright.kernels.registry import choices
from tilewright.kernels.scalar.conv_packed import CORE_SOURCES
from tilewright.operators.nest import Iteration
from tilewright.plan import Core

from support.interpreted import MISSING
from support.interpreted_calls import Machine
from support.interpreted_kernels import XPULPV2, InterpretedMemory
from support.nodes import node_of
from support.overlapped import check_over

SOURCES = (
    "integer_core.c",
    "integer_finish.c",
    "integer_line.c",
    "conv_integer.c",
    "conv_halves.c",
    "conv_halves_block.c",
    "depthwise_halves.c",
    "conv_packed.c",
    *CORE_SOURCES,
    "depthwise_beside.c",
    "depthwise_integer.c",
    "depthwise_slide.c",
    "depthwise_tall.c",
    "fully_connected_integer.c",
    "fully_connected_packed.c",
    "matmul_integer.c",
    "binary_integer.c",
    "mul_bytes.c",
    "pool_integer.c",
    "lookup.c",
    "requantize.c",
    "softmax_integer.c",
    "norm_integer.c",
    "no_norm_integer.c",
    "softmax_dialect.c",
    "reduce_integer.c",
    "divide_integer.c",
    "walk.c",
    "add_xpulpv2.c",
    "matmul_xpulpv2.c",
    "max_pool_xpulpv2.c",
    "xpulpv2_core.c",
    "xpulpv2_block.c",
    "xpulpv2_block_c.c",
    "conv_xpulpv2.c",
    "xpulpv2_taps.c",
    "xpulpv2_taps_copied.c",
    "xpulpv2_taps_planar.c",
    "xpulpv2_marked.c",
    "xpulpv2_plane.c",
    "xpulpv2_spread.c",
    "xpulpv2_vector.c",
    "vector_xpulpv2.c",
    "depthwise_xpulpv2.c",
    "conv_runs.c",
    "gather_runs.c",
    "interpolate_integer.c",
    "rvv_block_c.c",
    "add_split.c",
    "add_scaled.c",
    "dsp_block.c",
    "depthwise_dsp.c",
    "mve_block.c",
    "mve_finish.c",
    "depthwise_mve.c",
)

FAMILIES = ("scalar", "xpulpv2", "rvv", "dsp", "mve")
"""Whose kernels are compared with the reference; on this machine the cores of the others are plain C."""


def integers(
    rng: np.random.Generator, dtype: str, shape: Sequence[int], low: int | None = None, high: int | None = None
) -> Array:
    """Random elements of an integer dtype, over its whole range or [low, high]."""
    limits = np.iinfo(dtype)
    return rng.integers(
        limits.min if low is None else low, limits.max if high is None else high, shape, endpoint=True
    ).astype(dtype)


def limits_of(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def requantize(multipliers: Sequence[float], zero_point: int = 3, dtype: str = "int8") -> Requantize:
    low, high = limits_of(dtype)
    return Requantize(tuple(float(m) for m in multipliers), zero_point, low, high)


def shifted(rng: np.random.Generator, channels: int, shift: int, largest: int, dtype: str = "int8") -> RequantizeShift:
    low, high = limits_of(dtype)
    multipliers = tuple(int(v) for v in rng.integers(1, largest, channels))
    addends = tuple(int(v) for v in rng.integers(-5000, 5000, channels))
    return RequantizeShift(multipliers, addends, shift, low, high)


def node_graph(
    operator: str,
    inputs: Sequence[Array | None],
    constants: Sequence[int],
    shape: Sequence[int],
    dtype: str,
    attributes: Mapping[str, Any],
    epilogue: Epilogue | None = None,
    channels_last: bool = False,
) -> tuple[Graph, dict[str, Array]]:
    """A graph of one node; the inputs whose numbers are in ``constants`` are constants of the graph."""
    names = tuple("" if array is None else f"i{number}" for number, array in enumerate(inputs))
    tensors, feeds = {}, {}
    for number, (name, array) in enumerate(zip(names, inputs, strict=True)):
        if array is None:
            continue
        if number in constants:
            tensors[name] = constant(name, array)
            continue
        tensors[name] = variable(name, DType(array.dtype.name), array.shape)
        feeds[name] = array
    tensors["out"] = variable("out", DType(dtype), shape)
    if channels_last:
        for name in ("i0", "out"):
            tensors[name] = replace(tensors[name], order=channels_last_order(len(tensors[name].shape)))
    weights = inputs[1] if len(inputs) > 1 else None
    node = node_of("node", operator, names, ("out",), attributes, epilogue, weights=weights)
    return Graph("graph", (node,), tensors, tuple(feeds), ("out",)), feeds


def choices_of(graph: Graph, pointer_bytes: int = 8) -> tuple[KernelChoice, ...]:
    return choices(graph.nodes[0], graph, FAMILIES, Core(1, (), pointer_bytes=pointer_bytes))


def check(
    graph: Graph,
    feeds: Mapping[str, Array],
    steps: Mapping[str, int] | None = None,
    *,
    prefix: str = "",
    in_place: bool = False,
    rings: Sequence[Ring] = (),
    tolerance: float = 0.0,
) -> tuple[KernelChoice, ...]:
    """Every kernel of the node (whose symbol starts with ``prefix``) gives the reference's elements.

    So does the kernel that writes over an input, where its declaration allows that, as near as it may.
    """
    wanted = evaluate(graph, feeds)["out"]
    by_pointer = {Memory.pointer_bytes: choices_of(graph)}
    offered = by_pointer[Memory.pointer_bytes]
    found = {number: choice for number, choice in enumerate(offered) if choice.name.startswith(f"tilewright_{prefix}")}
    assert found, "no kernel"
    for number, choice in found.items():
        allowed = fitting(choice, steps or {})
        shared = SOURCES if set(choice.sources) <= set(SOURCES) else ()
        for place in places_of(choice):
            if place.pointer_bytes not in by_pointer:
                by_pointer[place.pointer_bytes] = choices_of(graph, place.pointer_bytes)
            same = by_pointer[place.pointer_bytes][number]
            (got,) = run_kernel(
                same, graph, feeds, allowed, in_place=in_place, rings=rings, sources=shared, place=place
            )
            if place is Memory:
                check_over(same, graph, feeds, shared)
            difference = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
            worst = float((difference - tolerance * np.abs(wanted)).max(initial=0.0))
            assert worst <= 0.0, (
                f"{choice.name}: {int((difference > 0).sum())} of {got.size} differ, by up to {difference.max()}"
            )
    return tuple(found.values())


def places_of(choice: KernelChoice) -> tuple[type[Memory], ...]:
    """Where a kernel is tried: here, and those of xpulpv2, whose core is assembler there, in the interpreter."""
    is_interpreted = XPULPV2 in choice.name and not MISSING
    return (Memory, InterpretedMemory) if is_interpreted else (Memory,)


def fitting(choice: KernelChoice, steps: Mapping[str, int]) -> dict[str, int]:
    """The steps as far as the kernel allows them: multiples rounded up, uncut dimensions whole."""
    allowed = {}
    known = {dimension.name for dimension in choice.nest.dimensions}
    reductions = {item.name for item in choice.nest.dimensions if item.iteration is Iteration.REDUCTION}
    for name, step in steps.items():
        multiple = choice.multiples.get(name, 1)
        if name in known and name not in choice.uncut and (choice.partial_bytes or name not in reductions):
            allowed[name] = -(-step // multiple) * multiple
    return allowed


def wrong_elements(
    choice: KernelChoice,
    graph: Graph,
    feeds: dict[str, Array],
    tiles: Iterable[dict[str, int]],
    machine: Machine | None = None,
) -> int:
    """How many elements differ in the interpreter from those of the family's C on this machine, over all ``tiles``."""
    count = 0
    for steps in tiles:
        taken = fitting(choice, steps)
        (wanted,) = run_kernel(choice, graph, feeds, taken, sources=SOURCES)
        (got,) = run_kernel(choice, graph, feeds, taken, place=lambda: InterpretedMemory(machine))
        count += int((got != wanted).sum())
    return count
