"""Random networks of windows, sums and elementwise operators: what groups of layers are made of."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from support import random_float, random_int8
from support.random_int8 import QuantizedModel
from support.random_model import RandomModel, grown

INT8 = (
    *(random_int8.convolution,) * 4,
    random_int8.pooling,
    *(random_int8.binary,) * 2,
    random_int8.looked_up,
)
FLOAT = (*(random_float.convolution,) * 4, random_float.pooling, *(random_float.binary,) * 2, random_float.unary)

MOSTLY = 0.85
"""How often the youngest tensor is taken."""


class _Chain(RandomModel):
    """A model that mostly grows at its end."""

    def pick(self, fits: Callable[[str], bool]) -> str:
        name = super().pick(fits)
        last = [other for other in self.values if other not in self.constants and fits(other)][-1]
        return last if self.chance.random() < MOSTLY else name


class _QuantizedChain(_Chain, QuantizedModel):
    """The same, quantised."""


def random_columns(seed: int) -> RandomModel:
    """``random_rows`` on images of 10 to 24 columns."""
    return random_rows(seed, (10, 24))


def random_rows(seed: int, columns: tuple[int, int] = (2, 8)) -> RandomModel:
    """Always the same model for the same seed: int8 or float32, 4 to 10 operators on images of 8 to 20 rows.

    Many quantised ones end in a mean. ``columns`` are the fewest and the most columns of the images.
    """
    chance = random.Random(seed)
    numbers = np.random.default_rng(seed)
    shape = (1, chance.randint(1, 6), chance.randint(8, 20), chance.randint(*columns))
    if chance.random() < 0.4:
        model = _Chain(chance, numbers)
        model.input(model.normal(shape))
        return grown(model, FLOAT, chance.randint(4, 10))
    quantized = _QuantizedChain(chance, numbers, dtype=chance.choice(("int8", "int8", "uint8")))
    name = quantized.input(quantized.whole_range(shape))
    quantized.known(name, np.float32(2.0 ** -chance.randint(3, 7)), quantized.zero_point())
    found = grown(quantized, INT8, chance.randint(4, 10))
    if chance.random() < 0.6:
        _averaged(quantized)
    return found


def _averaged(model: QuantizedModel) -> None:
    """Add a mean over the rows and columns of the youngest image."""
    name = [other for other in model.parameters if other in model.values and len(model.shape(other)) == 4][-1]
    result = model.quantized(model.add("GlobalAveragePool", model.real(name)))
    model.outputs = [*(other for other in model.outputs if other != name), result]
