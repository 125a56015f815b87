"""The operands of a node's kernel at their homes, with the links over which tiles travel from there.

Before:  conv: reads x and its packed weights, writes y
After:   x at home in sram, weights in flash, y in sram; links sram -> l1 and flash -> l1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tilewright.base.errors import not_supported
from tilewright.graph import Graph, Node, Tensor, identity_order
from tilewright.kernels.kernel import ConstantOperand, TensorOperand
from tilewright.plan import BufferKind
from tilewright.platform import Platform
from tilewright.tiling.operand import TILE_ALIGN_BYTES, TileOperand
from tilewright.tiling.paths import path_to


def constant_home(platform: Platform) -> str:
    """The first pool that holds constants. Raises not_supported if there is none."""
    for pool in platform.pools:
        if BufferKind.CONSTANT in pool.holds:
            return pool.name
    raise not_supported(
        "no-constant-pool",
        f"platform '{platform.name}' has no pool that holds constants",
        help="add 'constant' to 'holds' of a pool",
    )


def operand_of(
    graph: Graph,
    node: Node,
    item: TensorOperand | ConstantOperand,
    write: bool,
    platform: Platform,
    homes: Mapping[str, str],
    level: str,
) -> TileOperand:
    """An operand of a node's kernel at its home: ``homes`` gives the pool of each tensor.

    Packed constants live in the first pool that holds constants. ``level`` is the pool in which the kernel is to
    work. Raises not_supported if no link joins the home with the kernel's pool.
    """
    if isinstance(item, ConstantOperand):
        operand = _constant(item, write, constant_home(platform))
    else:
        operand = _tensor(item, graph.tensor(item.tensor), write, homes[item.tensor])
    return rehomed(operand, node, platform, operand.home, level)


def _constant(item: ConstantOperand, write: bool, home: str) -> TileOperand:
    """A packed constant at its home, without links."""
    rank = len(item.data.shape)
    return TileOperand(
        name=item.role,
        write=write,
        axes=item.axes,
        extents=tuple(item.data.shape),
        order=identity_order(rank),
        view=identity_order(rank),
        element_bytes=int(item.data.dtype.itemsize),
        align_bytes=max(item.align_bytes, TILE_ALIGN_BYTES),
        home=home,
        link=None,
        near=home,
        dtype=item.data.dtype.name,
        data=item.data,
    )


def _tensor(item: TensorOperand, tensor: Tensor, write: bool, home: str) -> TileOperand:
    """A tensor at its home, without links."""
    return TileOperand(
        name=item.tensor,
        write=write,
        axes=item.axes,
        extents=tensor.shape,
        order=tensor.order,
        view=item.view,
        element_bytes=tensor.dtype.size_bytes,
        align_bytes=max(TILE_ALIGN_BYTES, tensor.dtype.size_bytes),
        home=home,
        link=None,
        near=home,
        dtype=tensor.dtype.value,
        tensor=item.tensor,
        data=tensor.data,
    )


def rehomed(operand: TileOperand, node: Node, platform: Platform, home: str, level: str) -> TileOperand:
    """An operand of a node's kernel with another home. Raises not_supported if no link joins it with the kernel's pool.

    ``level`` is as for ``operand_of``.
    """
    path = path_to(platform, node, operand.name, home, operand.write, operand.element_bytes, level)
    align = max(operand.align_bytes, path.align_bytes)
    return replace(operand, home=home, link=path.link, near=path.near, far_links=path.far_links, align_bytes=align)
