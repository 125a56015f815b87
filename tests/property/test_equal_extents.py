"""Chains over tensors whose axes are all of one length, where a constant of one axis looks like that of another.

Rewrites move constants of channels, rows and lines into operators; which axis a constant follows must come from its
shape, never from how many elements it has.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.onnx_models import ModelBuilder, imported, outputs_of, random_feeds, runtime_outputs
from tilewright.graph import Array, Tensor
from tilewright.rewrites import fuse
from tilewright.rewrites.passes import optimise

SAMPLE, THOUSANDS = 60, 2000


@dataclass
class Chain:
    """Operators of float32 behind each other, drawn from a seeded generator."""

    seed: int
    build: ModelBuilder = field(default_factory=lambda: ModelBuilder(18))
    shape: list[int] = field(default_factory=list)
    name: str = ""

    def __post_init__(self) -> None:
        self.chance, self.numbers = random.Random(self.seed), np.random.default_rng(self.seed)
        self.extent = self.chance.choice((2, 3, 4))
        self.shape = [self.chance.choice((1, 2)), *[self.extent] * self.chance.randint(2, 3)]
        self.name = self.build.input("x", self.shape)

    def model(self) -> onnx.ModelProto:
        for _ in range(self.chance.randint(2, 5)):
            self.chance.choice((self.affine, self.affine, self.normalised, self.product, self.convolved, self.moved))()
        return self.build.model(self.build.node("Neg", self.name))

    def weights(self, *shape: int) -> str:
        return self.build.constant(self.numbers.uniform(0.3, 1.5, shape).astype(np.float32))

    def affine(self) -> None:
        """Multiply by, or add, a constant that varies along any of the axes."""
        shape = [self.chance.choice((1, extent)) for extent in self.shape][self.chance.randrange(len(self.shape)) :]
        operands = [self.name, self.weights(*shape)]
        operator = self.chance.choice(("Mul", "Add", "Sub", "Div"))
        self.name = self.build.node(operator, *operands[:: self.chance.choice((1, -1))])

    def normalised(self) -> None:
        channels, last = self.shape[1], self.shape[-1]
        kind = self.chance.choice(("InstanceNormalization", "LayerNormalization", "BatchNormalization"))
        length = last if kind == "LayerNormalization" else channels
        count = 4 if kind == "BatchNormalization" else 2
        self.name = self.build.node(kind, self.name, *(self.weights(length) for _ in range(count)), epsilon=0.1)

    def product(self) -> None:
        self.name = self.build.node("MatMul", self.name, self.weights(self.extent, self.extent))

    def convolved(self) -> None:
        channels, ones = self.shape[1], [1] * (len(self.shape) - 2)
        self.name = self.build.node("Conv", self.name, self.weights(channels, channels, *ones), self.weights(channels))

    def moved(self) -> None:
        """Transpose all axes but the batch."""
        rank = len(self.shape)
        perm = [0, *self.chance.sample(range(1, rank), rank - 1)]
        self.name = self.build.node("Transpose", self.name, perm=perm)


def wrong_chains(seeds: range, folder: Path) -> list[str]:
    """Chains whose optimised graph gives something else than ONNX Runtime, in words."""
    wrong = []
    for seed in seeds:
        model = Chain(seed).model()
        feeds = random_feeds(model, seed)
        (want,) = runtime_outputs(model, feeds).values()
        (got,) = outputs_of(optimise(imported(folder, model)), feeds)
        largest = max(float(np.abs(want).max()), 1.0)
        if got.shape != want.shape or not np.allclose(got, want, rtol=1e-3, atol=1e-4 * largest):
            wrong.append(f"seed {seed}: {' '.join(node.op_type for node in model.graph.node)}")
    return wrong


def test_constants_follow_the_axes_of_their_shapes(tmp_path: Path) -> None:
    assert wrong_chains(range(SAMPLE), tmp_path) == []


@pytest.mark.long
def test_constants_of_thousands_follow_the_axes_of_their_shapes(tmp_path: Path) -> None:
    assert wrong_chains(range(SAMPLE, SAMPLE + THOUSANDS), tmp_path) == []


def test_a_constant_of_another_axis_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def as_many(axis: int, output: Tensor, other: Tensor) -> Array | None:
        fits = other.data is not None and other.elements == output.shape[axis]
        return other.data.reshape(-1).astype(np.float64) if fits and other.data is not None else None

    monkeypatch.setattr(fuse, "per_channel", as_many)
    assert wrong_chains(range(SAMPLE), tmp_path)
