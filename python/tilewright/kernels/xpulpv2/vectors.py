"""Products of few 8-bit vectors with a constant matrix, four at a time (runtime/kernels/vector_xpulpv2.c).

The core of four pixels would compute a single vector four times.
"""

from __future__ import annotations

from types import MappingProxyType

from tilewright.graph import Graph
from tilewright.kernels.integer import BLOCK, steps_product
from tilewright.kernels.kernel import CyclesOf, Declaration, KernelChoice, TileSteps
from tilewright.kernels.requantization import Rule
from tilewright.kernels.scalar.fully_connected_integer import FullyConnectedInteger, one_channel_choice
from tilewright.kernels.scalar.spatial_integer import IntegerConv
from tilewright.kernels.scalar.vector_product import (
    OF_CONV,
    OF_MATMUL,
    VectorProduct,
    kernels_by_names,
    pointwise_product,
)
from tilewright.kernels.xpulpv2 import family as xpulpv2

SOURCES = (
    "fully_connected_integer.c",
    "vector_xpulpv2.c",
    "xpulpv2_vector.c",
    "integer_core.c",
    "integer_finish.c",
)

_PRODUCTS = "tilewright_vector_xpulpv2_"


def vector_choice(product: VectorProduct) -> tuple[KernelChoice, ...]:
    """The kernel for a product whose vectors lie side by side; empty where a vector is not whole words."""
    finish, sign = product.finish, product.sign
    if product.weights.shape[3] % xpulpv2.WORD != 0:
        return ()
    _, channel, reduction = product.names
    by_rule = f"{finish.rule.value}_{sign}" if finish.rule in xpulpv2.FINISHED else sign
    return (
        one_channel_choice(
            product,
            kernel=_KERNELS[product.names],
            called=f"tilewright_fully_connected_xpulpv2_{finish.rule.value}",
            sources=SOURCES,
            constants=xpulpv2.packed_operands(product.weights, finish, product.group, channel, reduction),
            products=f"{_PRODUCTS}{by_rule}",
            multiple=xpulpv2.WORD,
        ),
    )


def pointwise(conv: IntegerConv, graph: Graph) -> tuple[KernelChoice, ...]:
    """The kernel for a 1x1 convolution of 1x1 images."""
    product = pointwise_product(conv, graph)
    return () if product is None else vector_choice(product)


def _cycles(row: str, channel: str, reduction: str) -> CyclesOf:
    """Cycles of a call on a tile; the names are dimensions of the nest."""

    def cycles(choice: KernelChoice, steps: TileSteps) -> float:
        nest, products = choice.nest, choice.given(FullyConnectedInteger).products
        whole = nest.dimension(reduction).extent == steps_product(nest, steps, reduction)
        rule = products.removeprefix(_PRODUCTS).rpartition("_")[0]
        words = steps_product(nest, steps, reduction) // xpulpv2.WORD
        block = 9.0 * words + (_FINISHED_CYCLES[Rule(rule)] if whole and rule else _RETURNED_CYCLES)
        # Some core has the channels behind the last four, whose sums C finishes one by one.
        ends = _SINGLES_CYCLES if nest.dimension(channel).extent % BLOCK else 0.0
        rows = steps_product(nest, steps, row)
        return 300.0 + rows * (xpulpv2.channel_blocks(nest, steps, channel) * block + ends)

    return cycles


_FINISHED_CYCLES = MappingProxyType({Rule.FOLDED: 45.0, Rule.LAYER: 45.0, Rule.HIGH: 45.0, Rule.AWAY: 120.0})
"""Cycles for four channels beside their products, where assembler finishes the sums."""

_SINGLES_CYCLES = 1200.0
"""Cycles that fewer than four channels take more than four."""

_RETURNED_CYCLES = 200.0
"""Cycles for four channels beside their products, where the rule's C function finishes the sums."""

_KERNELS = kernels_by_names(
    "tilewright_fully_connected_integer",
    FullyConnectedInteger,
    {names: _cycles(*names) for names in (OF_MATMUL, OF_CONV)},
)

DECLARATION = Declaration(
    kernels=tuple(_KERNELS.values()),
    pointed={
        "tilewright_vector_products": (
            "vector_xpulpv2_signed",
            "vector_xpulpv2_unsigned",
            *(f"vector_xpulpv2_{rule.value}_{sign}" for rule in xpulpv2.FINISHED for sign in ("signed", "unsigned")),
        )
    },
)
