"""compile_model(): the stages, one line each."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from tilewright.base.errors import TilewrightError, bad_input, does_not_fit, suggestion
from tilewright.base.lazy_dataclass import dataclass
from tilewright.base.progress import progress
from tilewright.catalogue.macs import macs_of_nodes
from tilewright.check import require_sound
from tilewright.graph import Array, DType, Graph
from tilewright.importers.freeze import read_frozen
from tilewright.importers.load import import_model
from tilewright.importers.own import OwnImport, own_name
from tilewright.options import CompileOptions, Weights
from tilewright.own import OwnOperator, load_operators
from tilewright.plan import Plan
from tilewright.planning.assembling import assemble_plan
from tilewright.planning.cut_rows import with_cut_rows
from tilewright.planning.external_weights import require_replaceable
from tilewright.planning.fed_groups import require_feedable
from tilewright.planning.lock import lock_text, locked_plan, read_lock, stale_plan
from tilewright.planning.plan_states import initial_contents, interface_inputs, interface_outputs
from tilewright.planning.prepare import prepare
from tilewright.planning.protection import require_protectable, require_regions, with_granules, with_whole_regions
from tilewright.planning.realise import Planned
from tilewright.planning.retries import search
from tilewright.platform import Platform, load_platform, parse_pool_override, with_pool_overrides
from tilewright.rewrites.passes import optimise

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Artifacts:
    """What a compilation gives: file name to content, the plan, one line for the user, and the plan's lock.

    ``constants`` has the elements of the plan's constants by their hash.
    """

    files: Mapping[str, bytes]
    plan: Plan
    summary: str
    lock: str = ""
    constants: Mapping[str, Array] = field(default_factory=dict)


def compile_model(options: CompileOptions) -> Artifacts:
    """From model and platform to checked plan and C. Raises TilewrightError; writes nothing."""
    # Commands that only plan start without what writes C.
    from tilewright.codegen.files import generate_files

    platform = sized_platform(options)
    graph = imported_graph(options, platform)
    planned = _planned(graph, platform, options)
    plan = _checked_plan(graph, planned, platform, options)
    constants = {**planned.schedule.constants, **initial_contents(graph)}
    files = generate_files(plan, constants, planned.lifetimes)
    return Artifacts(files, plan, summary(plan), lock_text(planned, platform, options), planned.schedule.constants)


def plan_model(options: CompileOptions, explains: bool = True) -> Plan:
    """From model and platform to checked plan, no C. Raises TilewrightError; writes nothing.

    Where the model does not fit, only an error with ``explains`` names the smallest size that works: up to 32
    plans are made to find it.
    """
    platform = sized_platform(options)
    graph = imported_graph(options, platform)
    return _checked_plan(graph, _planned(graph, platform, options, explains), platform, options)


def sized_platform(options: CompileOptions) -> Platform:
    """The platform, with pools of the sizes that the user gives."""
    platform = with_pool_overrides(
        load_platform(options.platform), [parse_pool_override(text) for text in options.pools]
    )
    return with_granules(platform) if options.protect else platform


def imported_graph(options: CompileOptions, platform: Platform) -> Graph:
    """The graph whose layers are planned: imported, with the user's own operators, and rewritten for the platform.

    Raises bad_input for options that contradict each other, and the errors of ``import_model``.
    """
    require_feedable(options, platform)
    require_protectable(options, platform)
    if options.quantized_io and options.float_io:
        raise bad_input("bad-option", "QUANTIZED_IO and FLOAT_IO contradict each other", help="leave one of them out")
    own = load_operators(options.operators)
    graph = model_graph(options, own)
    _require_known_interface(graph, options)
    require_replaceable(platform, options)
    extensions = {own_name(operator.domain, operator.name): operator for operator in own}
    graph = replace(graph, extensions=extensions)
    graph = replace(graph, nominal_macs=macs_of_nodes(graph))
    better = optimise(graph, platform.target.kernels, platform.core, options.feed, options.slide)
    better = with_cut_rows(better, platform)
    return replace(better, any_weights=options.weights is Weights.EXTERNAL)


def model_graph(options: CompileOptions, own: Sequence[OwnOperator] = ()) -> Graph:
    """The graph of a model as it was imported, not rewritten. Raises the errors of ``import_model``."""
    return import_model(
        options.model,
        types=_types(options),
        dims=dict(options.dims),
        freeze=read_frozen(options.freeze) if options.freeze is not None else None,
        quantized_io=options.quantized_io,
        float_io=options.float_io,
        states=options.state,
        bounds=dict(options.bound),
        own={(item.domain, item.name): OwnImport(item.infer, item.attributes) for item in own},
    )


def _planned(graph: Graph, platform: Platform, options: CompileOptions, explains: bool = True) -> Planned:
    """From the lock if there is one, else by search."""
    _log.info("%s: %d operators to plan for %s", options.name, len(graph.nodes), platform.name)
    if options.plan_lock is not None:
        return locked_plan(graph, platform, options, read_lock(options.plan_lock, options))
    return search(prepare(graph, platform, options), platform, options, explains)


def _checked_plan(graph: Graph, planned: Planned, platform: Platform, options: CompileOptions) -> Plan:
    """The plan as one value. Raises TilewrightError for one that is not sound, or takes more than the budget."""
    plan = with_whole_regions(assemble_plan(graph, planned, platform, options), platform)
    require_regions(plan, platform)
    _log.info("%s: %d layers planned; now the checker", options.name, len(plan.layers))
    progress("Checking the plan", 0, 1)
    _require_sound(plan, options)
    _require_budget(plan, options)
    progress("Checking the plan", 1, 1)
    return plan


def _require_sound(plan: Plan, options: CompileOptions) -> None:
    """Raise TilewrightError for a plan that is not sound: an internal defect, or of a lock a stale file."""
    try:
        require_sound(plan)
    except TilewrightError as error:
        if options.plan_lock is None:
            raise
        raise stale_plan(options, error) from error


def _require_budget(plan: Plan, options: CompileOptions) -> None:
    """Raise does_not_fit for the first pool that takes more than the user's budget."""
    used = {use.pool: use.used_bytes for use in plan.pool_use}
    for pool, budget in options.budget:
        if pool not in used:
            raise bad_input("unknown-pool", f"budget for '{pool}', which is no pool", help=suggestion(pool, used))
        if used[pool] > budget:
            raise does_not_fit(
                "over-budget",
                f"pool '{pool}' uses {used[pool]:,} bytes, its budget is {budget:,} ({used[pool] - budget:,} too many)",
                at=f"budget.{pool}",
                help=f"raise the budget to {used[pool]}, or see where it goes: tilewright diff <old plan> <new plan>",
            )


def summary(plan: Plan) -> str:
    """One line: pools with used bytes and bound, layers, model."""
    pools = ", ".join(
        f"{use.pool} {use.used_bytes:,} ({'optimal' if use.optimal else f'bound {use.lower_bound_bytes:,}'})"
        for use in plan.pool_use
        if use.used_bytes
    )
    return f"{plan.name}: {len(plan.layers)} layers on {plan.platform}; {pools or 'no pools'}"


def _types(options: CompileOptions) -> dict[str, DType]:
    types = {}
    for tensor, name in options.types:
        try:
            types[tensor] = DType(name)
        except ValueError:
            known = ", ".join(dtype.value for dtype in DType)
            raise bad_input("unknown-type", f"TYPES {tensor}={name}: no such type", help=f"one of {known}") from None
    return types


def _require_known_interface(graph: Graph, options: CompileOptions) -> None:
    """Raise bad_input for a name that is no input or output."""
    known = (*interface_inputs(graph), *interface_outputs(graph))
    for name, _ in options.interface:
        if name not in known:
            what = f"INTERFACE names '{name}', which is no input or output of the model"
            raise bad_input("unknown-tensor", what, help=suggestion(name, known))
