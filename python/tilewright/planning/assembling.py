"""The plan as one value: what was decided about a graph, with what platform and options say of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256

from tilewright import __version__
from tilewright.base.c_names import interface_identifiers
from tilewright.base.inputs import read_content
from tilewright.graph import Graph
from tilewright.options import CompileOptions, Weights
from tilewright.plan import CopyStart, InterfaceTensor, LayerFacts, Plan, kernel_steps
from tilewright.plan.stages import plain_steps
from tilewright.planning.core_stacks import larger_stack_bytes
from tilewright.planning.external_weights import external_weights
from tilewright.planning.plan_states import interface_inputs, interface_outputs, plan_states
from tilewright.planning.realise import Planned
from tilewright.planning.sliding_groups import facts_of_a_run, shape_of_a_run, slide_of
from tilewright.platform import Platform
from tilewright.rewrites.feed_nodes import fed_axis

RUNTIME_SOURCES = ("copy.c", "tile.c")
"""Runtime files that tile loops need, relative to the runtime folder."""


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
        layers=_with_nominal_macs(facts_of_a_run(schedule.layers, planned.decisions.groups, graph), graph),
        pool_use=planned.pool_use,
        kernel_sources=(*_sources(planned, platform), *(source for source, is_needed in extra.items() if is_needed)),
        kernel_headers=_headers(planned),
        static_pools=options.static_pools,
        io_in_pools=options.io_in_pools,
        outputs_in_pools=options.outputs_in_pools,
        tiling=planned.tiling,
        front=planned.decisions.front,
        profile=schedule.profile,
        core_stack_bytes=larger_stack_bytes(planned, platform),
        states=plan_states(graph, schedule),
        check_constants=has_check,
        guards=planned.guards,
        external=external_weights(graph, planned, platform, options),
        protected=options.protect,
        nominal_macs=_nominal_macs(schedule.layers, graph),
        slide=slide_of(graph, schedule.position),
    )


def _with_nominal_macs(layers: Sequence[LayerFacts], graph: Graph) -> tuple[LayerFacts, ...]:
    nominal = graph.nominal_macs
    return tuple(
        replace(facts, nominal_macs=nominal[facts.name]) if nominal.get(facts.name, facts.macs) != facts.macs else facts
        for facts in layers
    )


def _nominal_macs(layers: Sequence[LayerFacts], graph: Graph) -> int | None:
    nominal = sum(graph.nominal_macs.values())
    return nominal if graph.nominal_macs and nominal != sum(facts.macs for facts in layers) else None


def _interface(graph: Graph, names: Iterable[str], options: CompileOptions) -> tuple[InterfaceTensor, ...]:
    names = tuple(names)
    identifiers = interface_identifiers(names, dict(options.interface))
    return tuple(
        InterfaceTensor(
            name=name,
            identifier=identifiers[name],
            buffer=name,
            dtype=graph.tensor(name).dtype.value,
            shape=shape_of_a_run(graph, name, _rows_axis(graph, name)),
            quantization=graph.tensor(name).quantization,
            required=graph.tensor(name).required,
            fed_axis=_rows_axis(graph, name),
        )
        for name in names
    )


def _rows_axis(graph: Graph, name: str) -> int | None:
    """The axis of an input or output that the caller gives or gets row by row; None for one that is whole."""
    return fed_axis(graph, name) if name == graph.fed or graph.slide is not None else None


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
