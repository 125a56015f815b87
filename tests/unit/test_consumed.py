"""How near homes may lie that a layer copies tile by tile, against every byte of every copy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from support.mutants import subject
from support.walk import events, rectangle
from tilewright.plan import Buffer, BufferKind, CopyStart, Layer, Operand, Plan, Wait
from tilewright.schedule.consumed import consumed_clearance
from tilewright.storage.clearance import Clearance

ROOT = Path(__file__).parents[1]
SAMPLE = {"qdq_residual": "l1=3072", "float_mixture": "l1=12288"}


def touched(operand: Operand, bounds: dict[str, tuple[int, int]], buffer: Buffer) -> frozenset[int]:
    size = np.dtype(buffer.dtype).itemsize
    spots = product(*(range(*pair) for pair in rectangle(operand, bounds)))
    first = (sum(at * step for at, step in zip(spot, buffer.strides_bytes, strict=True)) for spot in spots)
    return frozenset(byte + offset for byte in first for offset in range(size))


def pairs(layer: Layer, given: Buffer, made: Buffer) -> Iterator[tuple[frozenset[int], frozenset[int]]]:
    """Bytes of ``made`` that a copy writes, each with bytes of ``given`` that are read later or at the same time."""
    reads: list[tuple[str, int, frozenset[int]]] = []
    writes: list[tuple[int, frozenset[int]]] = []
    ends: dict[tuple[str, int], int] = {}
    for place, (step, block, bounds) in enumerate(events(layer.body)):
        if isinstance(step, Wait):
            ends[step.token, step.number + block] = place
        elif isinstance(step, CopyStart) and step.source.buffer == given.name:
            reads.append((step.token, block, touched(step.source, bounds, given)))
        elif isinstance(step, CopyStart) and step.destination.buffer == made.name:
            writes.append((place, touched(step.destination, bounds, made)))
    for token, block, read in reads:
        yield from ((written, read) for place, written in writes if place < ends[token, block])


def is_harmless(conflicts: list[tuple[frozenset[int], frozenset[int]]], below: int) -> bool:
    return not any({byte - below for byte in written} & read for written, read in conflicts)


def cases(plan: Plan) -> Iterator[tuple[Layer, Buffer, Buffer]]:
    """Each layer that copies tiles of one input and of its output, with their homes."""
    homes = {item.name: item for item in plan.buffers if item.kind not in (BufferKind.TILE, BufferKind.CONSTANT)}
    for layer in plan.program:
        if isinstance(layer, Layer):
            copies = {step for step, _, _ in events(layer.body) if isinstance(step, CopyStart)}
            sources = sorted({step.source.buffer for step in copies} & homes.keys())
            targets = sorted({step.destination.buffer for step in copies} & homes.keys())
            yield from ((layer, homes[one], homes[other]) for one, other in product(sources, targets))


@pytest.mark.parametrize("name", SAMPLE)
def test_the_distance_is_the_least_that_is_harmless(name: str, tmp_path: Path) -> None:
    text = (ROOT / "conformance" / "host-tiled.toml").read_text(encoding="utf-8")
    platform = tmp_path / "late.toml"
    platform.write_text(text.replace("dimensions = 2", "dimensions = 2\nasynchronous = true"), encoding="utf-8")
    model = ROOT / "firmware" / "models" / name / "network.onnx"
    plan, tight, tried = subject(model, platform, tmp_path, (SAMPLE[name],)).plan, 0, 0
    for layer, given, made in cases(plan):
        by = consumed_clearance(layer.body, given, made)
        assert by is not None
        conflicts = list(pairs(layer, given, made))
        if by == Clearance(0, 0):
            assert is_harmless(conflicts, 0)
            continue
        assert all(is_harmless(conflicts, by.least_bytes + further) for further in (0, 1, 16, given.size_bytes))
        tried += bool(conflicts)
        tight += bool(conflicts) and not is_harmless(conflicts, by.least_bytes - 1)
    assert tried
    assert tight == tried, "distances that are larger than needed"
