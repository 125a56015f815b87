"""WEIGHTS external: whether a model's constants can lie in a file beside its program, and what that costs."""

from __future__ import annotations

from dataclasses import replace

from tilewright.base.errors import bad_input, not_supported
from tilewright.graph import Graph
from tilewright.options import CompileOptions, Weights
from tilewright.plan import Access, ExternalWeights
from tilewright.planning.prepare import prepare
from tilewright.planning.realise import Planned
from tilewright.planning.retries import search
from tilewright.platform import Platform


def require_replaceable(platform: Platform, options: CompileOptions) -> None:
    """Raise TilewrightError if the platform or other options do not allow WEIGHTS external."""
    if options.weights is Weights.INSIDE:
        return
    if options.check_constants:
        what = "CHECK_CONSTANTS knows the constants' CRC-32, which WEIGHTS external leaves to the file"
        raise bad_input(
            "bad-option", what, help="leave CHECK_CONSTANTS out; <p>_set_weights checks the file, and again"
        )
    if options.operators:
        what = "WEIGHTS external with operators of the project: the file cannot have their attributes"
        raise not_supported("external-weights", what, help="leave WEIGHTS external out")
    if platform.core.count > 1 or platform.core.called_on == "controller":
        what = f"WEIGHTS external on platform '{platform.name}', whose cores share attributes"
        raise not_supported("external-weights", what, help="leave WEIGHTS external out")


def external_weights(
    graph: Graph, planned: Planned, platform: Platform, options: CompileOptions
) -> ExternalWeights | None:
    """The file with the constants, and bytes and cycles with constants in the program; None where they are there."""
    if options.weights is Weights.INSIDE or not planned.schedule.constants:
        return None
    pools = {item.pool for item in planned.placements if platform.pool(item.pool).access is Access.READ_ONLY}
    if len(pools) > 1:
        what = f"WEIGHTS external with constants in several pools: {', '.join(sorted(pools))}"
        raise not_supported("external-weights", what, help="give one of them room for all constants with POOLS")
    (pool,) = pools
    inside = replace(options, weights=Weights.INSIDE, plan_lock=None)
    other = search(prepare(replace(graph, any_weights=False), platform, inside), platform, inside)
    cycles = sum(facts.predicted_cycles for facts in other.schedule.layers)
    return ExternalWeights(pool, cycles, next(use.used_bytes for use in other.pool_use if use.pool == pool))
