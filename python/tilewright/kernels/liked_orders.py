"""The memory orders that kernels like best to read and write."""

from __future__ import annotations

from enum import Enum

from tilewright.base.lazy_dataclass import dataclass


class Layout(Enum):
    """A memory order of a tensor's axes.

    ANY: the order of the inputs. ROW_MAJOR: the last axis innermost. CHANNELS_LAST: axis 1 innermost.
    """

    ANY = "any"
    ROW_MAJOR = "row_major"
    CHANNELS_LAST = "channels_last"


@dataclass(frozen=True, slots=True)
class LikedOrder:
    """The memory order that a kernel likes best.

    ``misread_cost`` is the cost of each element that is read in another order; writing one so costs 1.
    """

    layout: Layout
    misread_cost: int


ANY_ORDER = LikedOrder(Layout.ANY, 0)
"""The order of kernels that are as fast on any order."""

CONVOLUTION_ORDER = LikedOrder(Layout.CHANNELS_LAST, 16)
"""The order of convolutions, which read each element for each tap of a window."""

POOLING_ORDER = LikedOrder(Layout.CHANNELS_LAST, 4)
"""The order of pooling."""

MATRIX_ORDER = LikedOrder(Layout.ROW_MAJOR, 4)
"""The order of matrix products."""
