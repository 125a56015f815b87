"""compile_model(): the stages, one line each."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256

from tilewright import __version__
from tilewright.base.c_names import interface_identifiers
from tilewright.base.errors import TilewrightError, bad_input, does_not_fit, not_supported, suggestion
from tilewright.base.inputs import read_content
from tilewright.base.progress import progress
from tilewright.catalogue.macs import macs_of_nodes
from tilewright.check import require_sound
from tilewright.codegen.files import generate_files
from tilewright.graph import Array, DType, Graph
from tilewright.importers.freeze import read_frozen
from tilewright.importers.load import import_model
from tilewright.importers.own import OwnImport, own_name
from tilewright.options import CompileOptions, Weights
from tilewright.own import OwnOperator, load_operators
from tilewright.plan import Access, CopyStart, ExternalWeights, InterfaceTensor, LayerFacts, Plan, kernel_steps
from tilewright.plan.stages import plain_steps
from tilewright.planning.core_stacks import larger_stack_bytes
from tilewright.planning.cut_rows import with_cut_rows
from tilewright.planning.fed_groups import require_feedable
from tilewright.planning.lock import lock_text, locked_plan, read_lock, stale_plan
from tilewright.planning.plan_states import initial_contents, interface_inputs, interface_outputs, plan_states
from tilewright.planning.prepare import prepare
from tilewright.planning.protection import require_protectable, require_regions, with_granules, with_whole_regions
from tilewright.planning.realise import Planned
from tilewright.planning.retries import search
from tilewright.platform import Platform, load_platform, parse_pool_override, with_pool_overrides
from tilewright.rewrites.feed_nodes import fed_axis
from tilewright.rewrites.passes import optimise

_log = logging.getLogger(__name__)

RUNTIME_SOURCES = ("copy.c", "tile.c")
"""Runtime files that tile loops need, relative to the runtime folder."""


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
    platform = sized_platform(options)
    graph = imported_graph(options, platform)
    planned = _planned(graph, platform, options)
    plan = with_whole_regions(assemble_plan(graph, planned, platform, options), platform)
    require_regions(plan, platform)
    _require_good(plan, options)
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
    planned = _planned(graph, platform, options, explains)
    plan = with_whole_regions(assemble_plan(graph, planned, platform, options), platform)
    require_regions(plan, platform)
    _require_good(plan, options)
    return plan


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
    _require_replaceable(platform, options)
    extensions = {own_name(operator.domain, operator.name): operator for operator in own}
    graph = replace(graph, extensions=extensions)
    graph = replace(graph, nominal_macs=macs_of_nodes(graph))
    better = optimise(graph, platform.target.kernels, platform.core, options.feed)
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


def _require_replaceable(platform: Platform, options: CompileOptions) -> None:
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


def _planned(graph: Graph, platform: Platform, options: CompileOptions, explains: bool = True) -> Planned:
    """From the lock if there is one, else by search."""
    _log.info("%s: %d operators to plan for %s", options.name, len(graph.nodes), platform.name)
    if options.plan_lock is not None:
        return locked_plan(graph, platform, options, read_lock(options.plan_lock, options))
    return search(prepare(graph, platform, options), platform, options, explains)


def _require_good(plan: Plan, options: CompileOptions) -> None:
    """Raise TilewrightError for a plan that is not sound, or that takes more than the user's budget."""
    _log.info("%s: %d layers planned; now the checker", options.name, len(plan.layers))
    progress("Checking the plan", 0, 1)
    _require_sound(plan, options)
    _require_budget(plan, options)
    progress("Checking the plan", 1, 1)


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


def assemble_plan(graph: Graph, planned: Planned, platform: Platform, options: CompileOptions) -> Plan:
    """Everything that was decided, as one value."""
    schedule = planned.schedule
    is_external = options.weights is Weights.EXTERNAL and bool(schedule.constants)
    has_check = options.check_constants and bool(schedule.constants)
    extra = {"check.c": has_check or is_external, "guard.c": planned.guards is not None, "weights.c": is_external}
    return Plan(
        name=options.name,
        model=options.model.name,
        model_sha256=sha256(read_content(options.model)).hexdigest(),
        platform=platform.name,
        port=platform.target.port,
        tool_version=__version__,
        pools=platform.pools,
        links=platform.links,
        core=platform.core,
        io_pool=platform.io_pool,
        stack_bytes=options.stack_bytes or platform.target.stack_bytes,
        inputs=_interface(graph, interface_inputs(graph), options),
        outputs=_interface(graph, interface_outputs(graph), options),
        buffers=schedule.buffers,
        relations=planned.relations,
        placements=planned.placements,
        program=schedule.program,
        layers=_with_nominal_macs(schedule.layers, graph),
        pool_use=planned.pool_use,
        kernel_sources=(*_sources(planned, platform), *(source for source, is_needed in extra.items() if is_needed)),
        kernel_headers=_headers(planned),
        static_pools=options.static_pools,
        io_in_pools=options.io_in_pools,
        tiling=planned.tiling,
        front=planned.decisions.front,
        profile=schedule.profile,
        core_stack_bytes=larger_stack_bytes(planned, platform),
        states=plan_states(graph, schedule),
        check_constants=has_check,
        guards=planned.guards,
        external=_external(graph, planned, platform, options),
        protected=options.protect,
        nominal_macs=_nominal_macs(schedule.layers, graph),
    )


def _with_nominal_macs(layers: Sequence[LayerFacts], graph: Graph) -> tuple[LayerFacts, ...]:
    nominal = graph.nominal_macs
    return tuple(
        replace(facts, nominal_macs=nominal[facts.name]) if nominal.get(facts.name, facts.macs) != facts.macs else facts
        for facts in layers
    )


def _nominal_macs(layers: Sequence[LayerFacts], graph: Graph) -> int | None:
    nominal = sum(graph.nominal_macs.values())
    return nominal if nominal != sum(facts.macs for facts in layers) else None


def _external(graph: Graph, planned: Planned, platform: Platform, options: CompileOptions) -> ExternalWeights | None:
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


def _interface(graph: Graph, names: Iterable[str], options: CompileOptions) -> tuple[InterfaceTensor, ...]:
    names = tuple(names)
    identifiers = interface_identifiers(names, dict(options.interface))
    return tuple(
        InterfaceTensor(
            name=name,
            identifier=identifiers[name],
            buffer=name,
            dtype=graph.tensor(name).dtype.value,
            shape=graph.tensor(name).shape,
            quantization=graph.tensor(name).quantization,
            required=graph.tensor(name).required,
            fed_axis=fed_axis(graph) if name == graph.fed else None,
        )
        for name in names
    )


def _sources(planned: Planned, platform: Platform) -> tuple[str, ...]:
    """C files of the runtime that the model needs, in a fixed order."""
    kernels = {f"kernels/{source}" for kernel in planned.kernels for source in kernel.sources}
    moves = any(facts.copies for facts in planned.schedule.layers)
    shared = any(layer.split is not None for layer in kernel_steps(planned.schedule.program))
    forks = shared or platform.core.called_on == "controller"
    measured = planned.schedule.profile is not None
    steps = plain_steps(planned.schedule.program)
    words = any(isinstance(step, CopyStart) and step.words for step in steps)
    parts = (("words.c", words), ("split.c", shared), ("fork.c", forks), ("profile.c", measured))
    needed = (source for source, is_needed in parts if is_needed)
    return (*(RUNTIME_SOURCES if moves else ()), *needed, *sorted(kernels))


def _headers(planned: Planned) -> tuple[str, ...]:
    """The headers that declare the kernels, as they are included."""
    return tuple(sorted({kernel.header for kernel in planned.kernels}))
