"""Rules on the form of a kernel step's iteration space, maps and order of stores."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tilewright.plan import Kernel, WriteOrder

Demand = Callable[[bool, str], None]


def check_kernel_nest(kernel: Kernel, ranks: Sequence[int], demand: Demand) -> None:
    """Dimensions, maps and order of stores of a kernel step fit each other and its operands.

    ``ranks`` are the ranks of the buffers of reads, then writes; ``demand`` reports what is not true.
    """
    names = [dimension.name for dimension in kernel.dimensions]
    demand(bool(names), "a kernel without an iteration space")
    demand(len(set(names)) == len(names), f"two dimensions of one name among {', '.join(names)}")
    for dimension in kernel.dimensions:
        good = dimension.extent >= 1 and dimension.multiple >= 1
        demand(good, f"dimension {dimension.name}: extent {dimension.extent}, multiple {dimension.multiple}")
    demand(len(kernel.maps) == len(ranks), f"{len(kernel.maps)} maps for {len(ranks)} operands")
    for maps, rank in zip(kernel.maps, ranks, strict=False):
        demand(len(maps) == rank, f"a map of {len(maps)} axes for an operand that has {rank}")
        for axis in maps:
            demand(axis.divisor >= 1 and axis.extent >= 0, f"a map with divisor {axis.divisor}, extent {axis.extent}")
            demand({name for name, _ in axis.terms} <= set(names), f"a map of {axis.terms}, which are no dimensions")
            demand(len(dict(axis.terms)) == len(axis.terms), f"a map names a dimension twice: {axis.terms}")
    for axes, maps in zip(kernel.axes, kernel.maps, strict=False):
        seen = [axis for axis in axes if axis >= 0]
        demand(len(set(seen)) == len(seen), f"a view {axes} that has an axis twice")
        long = {number for number, axis in enumerate(maps) if axis.extent > 1}
        demand(long <= set(seen), f"a view {axes} that lacks one of the axes {sorted(long)}")
    _check_stores(kernel, names, demand)
    sizes = kernel.scratch_bytes
    demand(len(sizes) == len(kernel.scratch), f"{len(sizes)} sizes for {len(kernel.scratch)} scratch buffers")
    demand(min(sizes, default=0) >= 0, "a negative size of scratch")


def _check_stores(kernel: Kernel, names: Sequence[str], demand: Demand) -> None:
    stores = kernel.stores
    demand(all(0 <= read < len(kernel.reads) for read in stores.over), f"stores over {stores.over}, which are no reads")
    walks, walked = stores.order is WriteOrder.RASTER, (*stores.apart, *stores.walk)
    demand(walks == bool(stores.walk), f"order {stores.order.value} with a walk over {stores.walk}")
    demand(walks or not (stores.apart or stores.backward or stores.rereads), "a walk without the order raster")
    demand(set(walked) <= set(names), f"a walk over {walked}, which are no dimensions")
    demand(len(set(walked)) == len(walked), f"a walk that names a dimension twice: {walked}")
    demand(set(stores.backward) <= set(stores.walk), f"a walk backward over {stores.backward}, which it does not have")
    demand(stores.block >= 1, f"blocks of {stores.block} points")
    demand(stores.order is not WriteOrder.UNKNOWN or not stores.over, "an unknown order allows no store over a read")
