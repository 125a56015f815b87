"""The rewrites in their order."""

from __future__ import annotations

from collections.abc import Sequence

from tilewright.graph import Graph
from tilewright.kernels.registry import SCALAR, WIDEST
from tilewright.plan import Core
from tilewright.rewrites.activations import name_activations
from tilewright.rewrites.dead_channels import drop_dead_channels
from tilewright.rewrites.feed_nodes import in_rows, with_feed
from tilewright.rewrites.fold import fold_constants
from tilewright.rewrites.fuse import fold_factors_and_biases, fold_pads, fuse_clamps
from tilewright.rewrites.joined_parts import take_parts
from tilewright.rewrites.layout import choose_layout
from tilewright.rewrites.longer_windows import with_slide
from tilewright.rewrites.needed_positions import only_needed_positions
from tilewright.rewrites.normalizations import name_normalizations
from tilewright.rewrites.powers import expand_powers
from tilewright.rewrites.product_sums import join_products_and_sums
from tilewright.rewrites.repeats import name_repeats
from tilewright.rewrites.scaling import fold_scaling
from tilewright.rewrites.upright import upright
from tilewright.rewrites.views import eliminate_views
from tilewright.rewrites.whole_windows import multiply_whole_windows


def optimise(
    graph: Graph,
    families: tuple[str, ...] = (SCALAR,),
    core: Core = WIDEST,
    feed: str = "",
    slide: Sequence[tuple[str, int]] = (),
) -> Graph:
    """An equal graph that is better to plan: folded, fused, without needless views, laid out in memory.

    Integer results do not change; float results change by roundings where BatchNormalization
    and biases are folded, and where chains of operators become one. Nodes that no output needs
    are gone. In the result every Reshape is a view, and no view joins two interface tensors.

    Args:
        families, core: the platform's families of kernels in order of preference, and its core; memory orders are
            those that the kernels like best.
        feed: the input that the caller gives row by row; empty for none.
        slide: the input over which a window slides, and its new rows in each run; empty for none.
    """
    fed = feed or next((name for name, _ in slide), "")
    graph = fold_constants(graph)
    graph = take_parts(graph)
    graph = eliminate_views(graph)
    graph = eliminate_views(name_repeats(graph))
    graph = expand_powers(graph)
    graph = name_activations(graph)
    graph = name_normalizations(graph)
    graph = fold_scaling(graph)
    graph = fold_factors_and_biases(graph)
    graph = fuse_clamps(graph)
    graph = fold_pads(graph)
    graph = eliminate_views(graph)
    graph = drop_dead_channels(graph)
    graph = join_products_and_sums(graph)
    graph = only_needed_positions(graph, fed)
    if not fed:
        return in_rows(choose_layout(eliminate_views(multiply_whole_windows(graph)), families, core))
    return in_rows(choose_layout(with_feed(upright(with_slide(graph, slide)), fed), families, core))
