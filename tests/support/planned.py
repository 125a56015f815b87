"""Graphs planned for small hand-made platforms, as plans that the checker reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tilewright.graph import Graph
from tilewright.options import CompileOptions, Groups
from tilewright.plan import Access, BufferKind, Core, InterfaceTensor, Layer, Link, Plan, Pool
from tilewright.planning.prepare import prepare
from tilewright.planning.realise import Planned
from tilewright.planning.retries import search
from tilewright.platform.costs import Costs
from tilewright.platform.target import Target
from tilewright.platform.types import Platform

HOME_KINDS = (BufferKind.INPUT, BufferKind.OUTPUT, BufferKind.INTERMEDIATE, BufferKind.STATE)
NEAR_KINDS = (BufferKind.TILE, BufferKind.SCRATCH)


def link(source: str, target: str, *, asynchronous: bool = False, bytes_per_cycle: float = 4.0) -> Link:
    return Link(f"{source}->{target}", source, target, bytes_per_cycle, 20, 4, 2, 0, 1, 1, 1, asynchronous, "core")


def far_platform(
    l1_bytes: int | None,
    sram_bytes: int | None = 1 << 22,
    *,
    asynchronous: bool = False,
    reach: tuple[str, ...] = ("l1",),
) -> Platform:
    """A platform whose core addresses the pools ``reach``; links join sram and flash with l1."""
    pools = (
        Pool("l1", l1_bytes, 16, 1, 0, Access.READ_WRITE, NEAR_KINDS),
        Pool("sram", sram_bytes, 16, 1, 0, Access.READ_WRITE, HOME_KINDS),
        Pool("flash", None, 16, 1, 0, Access.READ_ONLY, (BufferKind.CONSTANT,)),
    )
    links = (
        link("sram", "l1", asynchronous=asynchronous),
        link("l1", "sram", asynchronous=asynchronous),
        link("flash", "l1", asynchronous=asynchronous),
    )
    core = Core(1, tuple((name, 1) for name in reach))
    return Platform("far", Target(("scalar",)), core, "sram", pools, links, None, None)


def near_platform(sram_bytes: int | None = 1 << 22) -> Platform:
    """A platform without links, whose core addresses sram and flash."""
    platform = far_platform(None, sram_bytes, reach=("sram", "flash"))
    sram = replace(platform.pools[1], holds=HOME_KINDS + NEAR_KINDS)
    return replace(platform, name="near", pools=(sram, platform.pools[2]), links=())


def with_cores(platform: Platform, count: int) -> Platform:
    """The platform with ``count`` cores and a fork of one cycle, so that every call that can be split is split."""
    return replace(platform, core=replace(platform.core, count=count), costs=Costs(fork_cycles=1.0))


def options(**changes: object) -> CompileOptions:
    return replace(CompileOptions(Path("model.onnx"), "far", "net", groups=Groups.OFF), **changes)


def planned(graph: Graph, platform: Platform, **changes: object) -> Planned:
    """The graph with homes, tiles, program and places; raises TilewrightError."""
    chosen = options(**changes)
    return search(prepare(graph, platform, chosen), platform, chosen)


def plan_of(graph: Graph, platform: Platform, found: Planned) -> Plan:
    """The plan of a planned graph; its fields about the model file are made up."""
    schedule = found.schedule

    def interface(names: tuple[str, ...]) -> tuple[InterfaceTensor, ...]:
        tensors = [graph.tensor(name) for name in names]
        return tuple(InterfaceTensor(t.name, t.name, t.name, t.dtype.value, t.shape) for t in tensors)

    return Plan(
        name="net",
        model="model.onnx",
        model_sha256="0" * 64,
        platform=platform.name,
        port=None,
        tool_version="0",
        pools=platform.pools,
        links=platform.links,
        core=platform.core,
        io_pool=platform.io_pool,
        stack_bytes=4096,
        inputs=interface(graph.inputs),
        outputs=interface(graph.outputs),
        buffers=schedule.buffers,
        relations=found.relations,
        placements=found.placements,
        program=schedule.program,
        layers=schedule.layers,
        pool_use=found.pool_use,
        kernel_sources=(),
        io_in_pools=any(item.buffer in graph.inputs for item in found.placements),
        outputs_in_pools=any(item.buffer in graph.outputs for item in found.placements),
        profile=schedule.profile,
    )


def groups(plan: Plan) -> list[Layer]:
    """The layers of several stages."""
    return [step for step in plan.program if isinstance(step, Layer) and len(step.stages) > 1]
