"""What a kernel step needs: the iteration space of its operator, and the order in which it stores.

Before:  y[oc, oh] += w[oc, ic] * x[ic, oh] with 8 x 16 outputs and 4 input channels
After:   dimensions oc 8 parallel, oh 16 parallel, ic 4 whole; x[ic, oh], w[oc, ic], y[oc, oh] as maps
"""

from __future__ import annotations

from enum import Enum

from tilewright.base.lazy_dataclass import dataclass


class Iteration(Enum):
    """What may be done with an iteration dimension.

    PARALLEL: cut, reordered, split over cores. REDUCTION: cut with partial results kept.
    SEQUENTIAL: not split over cores, state carried from tile to tile in partial results; the points of all sequential
    dimensions of an operator come in lexicographic order. WHOLE: never cut.
    """

    PARALLEL = "parallel"
    REDUCTION = "reduction"
    SEQUENTIAL = "sequential"
    WHOLE = "whole"


@dataclass(frozen=True, slots=True)
class Dimension:
    """A named iteration dimension. Where it is cut, tiles begin at multiples of ``multiple``."""

    name: str
    extent: int
    iteration: Iteration = Iteration.PARALLEL
    multiple: int = 1


class WriteOrder(Enum):
    """Which elements of its reads a kernel no longer needs when it stores an element.

    UNKNOWN: it may read anything after its first store. ELEMENTWISE: it has loaded the elements at
    the position of the stored one, and loads none of them again. RASTER: it walks over the points of
    ``Stores.walk`` in blocks, and reads nothing of earlier blocks again but what later ones need. PERMUTED: where
    result and read are the same bytes, it puts their elements into another order.
    """

    UNKNOWN = "unknown"
    ELEMENTWISE = "elementwise"
    RASTER = "raster"
    PERMUTED = "permuted"


@dataclass(frozen=True, slots=True)
class Stores:
    """The order in which a kernel stores, and over which of its reads that allows to write.

    ``over`` are positions among the kernel's reads; of all others nothing is known. The other fields are those of
    RASTER: for each point of the dimensions ``apart``, in any order, the kernel walks over ``walk`` in lexicographic
    order, the last dimension fastest, ``block`` points at a time, and over the dimensions ``backward`` from their
    last value to the first. It has read what a block needs before it stores the block's results; with ``rereads``
    it also reads between these stores. Dimensions that stand nowhere are whole in each point.

    Example: a depthwise convolution that copies a channel's plane, and then stores the channel, is
    RASTER with ``apart`` ("group",) and ``walk`` ("n",).
    """

    order: WriteOrder = WriteOrder.UNKNOWN
    over: tuple[int, ...] = ()
    walk: tuple[str, ...] = ()
    block: int = 1
    backward: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    rereads: bool = False


UNKNOWN_STORES = Stores()
"""Stores that hold for every kernel: nothing is known of them."""
