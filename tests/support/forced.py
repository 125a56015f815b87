"""Operators with tiles of any shape at every level, run on this machine beside the untiled operator."""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from conformance.build import Generated, build
from tilewright.base.errors import TilewrightError
from tilewright.check import require_sound
from tilewright.codegen.files import generate_files
from tilewright.graph import Array, Graph
from tilewright.kernels.registry import choices
from tilewright.options import Buffering, LayerBuffers, Objective, TileSteps
from tilewright.plan import Access, BufferKind, Core, Iteration, Pool
from tilewright.planning.realise import Planned
from tilewright.platform.target import Target
from tilewright.platform.types import Platform
from tilewright.rewrites.rows import without_skipped_rows
from tilewright.tiling.problem import TilingProblem, tiling_problem

from support.objects import sanitized
from support.planned import HOME_KINDS, NEAR_KINDS, link, near_platform, plan_of, planned

RUNTIME = Path(__file__).parents[2] / "runtime"
HOST_TILED = Path(__file__).parents[1] / "conformance" / "host-tiled.toml"
PLATFORMS = Path(__file__).parents[2] / "platforms"
FLAGS = "-std=c11 -g1 -O0 -ffp-contract=off -fsanitize=address,undefined -fno-sanitize-recover=all".split()
"""Generated code is compiled once and run for milliseconds; the runtime's objects are optimised."""
PORTS = RUNTIME / "ports"
LATE_PORT = (
    Path(__file__).with_name("late_port.c"),
    PORTS / "common" / "no_cache.c",
    PORTS / "common" / "one_core.c",
    PORTS / "host" / "port.c",
)

MOST_SECONDS = 3600
WAIT = re.compile(r"tilewright_copy_wait\((\w+), ([^;{]*?\])\)")


@dataclass(frozen=True)
class Forced:
    """A graph with the tiles that were forced upon it, tiled and untiled."""

    graph: Graph
    tiles: TileSteps
    tiled: Generated
    untiled: Generated
    exact: bool
    """Whether no float sum is cut, so that the bits must be the same."""

    @property
    def tile_count(self) -> int:
        return self.tiled.plan.layers[0].tiles


def levels_platform(*, asynchronous: bool, homes: str = "l2") -> Platform:
    """A platform whose core addresses l1; activations live in ``homes``, constants in l3 or in l4 behind l3.

    The pools stand in a chain: what lives in l4 travels through l3 and l2.
    """
    last = max(int(homes[1:]), 3)
    between = tuple(
        Pool(f"l{number}", None, 16, 1, 0, Access.READ_WRITE, (BufferKind.TILE,)) for number in range(2, last)
    )
    homes_at = Pool(homes, None, 16, 1, 0, Access.READ_WRITE, (*HOME_KINDS, BufferKind.TILE))
    constants = "l3" if homes == "l2" else "constants"
    pools = (
        Pool("l1", None, 16, 1, 0, Access.READ_WRITE, NEAR_KINDS),
        *(pool for pool in between if pool.name != homes),
        homes_at,
        Pool(constants, None, 16, 1, 0, Access.READ_ONLY, (BufferKind.CONSTANT,)),
    )
    chain = [f"l{number}" for number in range(1, int(homes[1:]) + 1)]
    steps = [*pairwise(chain), *pairwise(reversed(chain)), (constants, "l2" if homes == "l2" else f"l{last - 1}")]
    links = tuple(link(source, target, asynchronous=asynchronous) for source, target in steps)
    target = Target(("scalar",))
    return Platform("levels", target, Core(1, (("l1", 1),)), homes, pools, links, None, None)


def late_platform(folder: Path) -> Path:
    """A platform file: qemu-virt-rv32 with asynchronous links, over which second slots pay."""
    synchronous = "asynchronous = false"
    text = (PLATFORMS / "qemu-virt-rv32.toml").read_text(encoding="utf-8")
    assert text.count(synchronous) == 2
    target = folder / "late.toml"
    target.write_text(text.replace(synchronous, "asynchronous = true"), encoding="utf-8")
    return target


def late_tiles(folder: Path, cores: int = 1, *, near: bool = False) -> Path:
    """A platform file: this machine with a small l1 and asynchronous links.

    With ``near`` tensors between layers may stay in l1.
    """
    text = HOST_TILED.read_text(encoding="utf-8").replace("dimensions = 2", "dimensions = 2\nasynchronous = true")
    text = text.replace("count = 1", f"count = {cores}")
    tiles = 'holds = ["tile", "scratch"'
    assert text.count(tiles) == 1
    text = text.replace(tiles, f'{tiles}, "intermediate"') if near else text
    target = folder / f"late{cores}{'near' * near}.toml"
    target.write_text(text, encoding="utf-8")
    return target


def wait_count(model: Generated) -> int:
    """The number of waits in the generated C."""
    return len(WAIT.findall(model.files[f"{model.prefix}.c"].decode()))


def without_wait(model: Generated, number: int) -> Generated:
    """The model without one of the waits in its generated C."""
    name = f"{model.prefix}.c"
    source = model.files[name].decode()
    found = list(WAIT.finditer(source))[number]
    edited = f"{source[: found.start()]}((void){found[2]}, TILEWRIGHT_PORT_OK){source[found.end() :]}"
    return replace(model, files={**model.files, name: edited.encode()})


def forced(graph: Graph, number: int, seed: int) -> Forced:
    """The graph with random tiles near the core and in l2, wherever operator and kernel allow them."""
    chance = random.Random(seed)
    platform = levels_platform(asynchronous=chance.random() < 0.5, homes=chance.choice(("l2", "l3", "l4")))
    buffering, objective = chance.choice(list(Buffering)), chance.choice(list(Objective))
    name = graph.nodes[0].name
    slots = forced_slots(graph, platform, chance)
    for tiles in _attempts(graph, chance):
        try:
            given = ((name, tiles),) if tiles else ()
            how = {"buffering": buffering, "objective": objective, "buffers": ((name, slots),)}
            found = planned(graph, platform, tiles=given, **how)
        except TilewrightError as error:
            if error.code != "tile-override":
                raise
            continue
        reduces = any(set(layer.choice.order) & sums_of(layer.problem) for layer in found.layers)
        inexact = reduces and graph.tensor(graph.nodes[0].inputs[0]).dtype.value == "float32"
        tiled = generated(graph, platform, found, f"t{number}")
        near = near_platform()
        return Forced(graph, tiles, tiled, generated(graph, near, planned(graph, near), f"u{number}"), not inexact)
    raise AssertionError("not even free tiles are possible")


def sums_of(problem: TilingProblem) -> frozenset[str]:
    """The dimensions along which sums are cut."""
    return problem.reductions - set(problem.sequence)


def forced_slots(graph: Graph, platform: Platform, chance: random.Random) -> LayerBuffers:
    """One slot, several or either for some operands, near the core and in l2."""
    graph, _ = without_skipped_rows(graph)
    node = graph.nodes[-1]
    homes = dict.fromkeys(graph.tensors, platform.io_pool)
    given: list[tuple[str, str, str | int]] = []
    problems = [tiling_problem(graph, node, kernel, platform, homes) for kernel in choices(node, graph)]
    for operand in problems[0].operands:
        if not all(operand.name in {item.name for item in problem.operands} for problem in problems):
            continue
        for pool in ("", *operand.between):
            if chance.random() < 0.5:
                given.append((operand.name, pool, chance.choice([*(how.value for how in Buffering), 3, 4])))
    return tuple(given)


def generated(graph: Graph, platform: Platform, found: Planned, name: str) -> Generated:
    """The C of a planned graph, with pools of its own."""
    sources = tuple(sorted({source for kernel in found.kernels for source in kernel.sources}))
    heads = sorted({kernel.header for kernel in found.kernels})
    plan = replace(
        plan_of(graph, platform, found),
        name=name,
        static_pools=True,
        kernel_sources=tuple(f"kernels/{source}" for source in sources),
        kernel_headers=tuple(heads),
    )
    require_sound(plan)
    return Generated(name, plan, dict(generate_files(plan, found.schedule.constants, found.lifetimes)))


def _attempts(graph: Graph, chance: random.Random) -> list[TileSteps]:
    """Random steps for one of the kernels, of blocks here and there, then fewer and fewer of them, at last none."""
    kernel = chance.choice(choices(graph.nodes[0], graph))
    near: list[tuple[str, int]] = []
    far: list[tuple[str, int]] = []
    for dimension in kernel.nest.dimensions:
        if dimension.extent == 1 or chance.random() < 0.2:
            continue
        multiple = kernel.multiples.get(dimension.name, 1)
        extent = dimension.extent
        blocks = [block for block in range(2, extent) if extent % block == 0 and block % multiple == 0]
        if blocks and dimension.iteration is Iteration.PARALLEL and chance.random() < 0.25:
            extent = chance.choice(blocks)
            near.append((f"{dimension.name}_by_{extent}", 1))
        step = min(chance.randint(1, extent), chance.randint(1, extent))
        step = min(-(-step // multiple) * multiple, extent)
        near.append((dimension.name, step))
        tiles = -(-extent // step)
        group = chance.choice([number for number in range(1, tiles + 1) if tiles % number == 0])
        far.append((f"l2.{dimension.name}", min(step * group, extent)))
    chance.shuffle(near)
    chance.shuffle(far)
    both: list[TileSteps] = [(item, *near) for item in far]
    return [*both, *(tuple(near[gone:]) for gone in range(len(near))), *((item,) for item in near), ()]


def late_library(folder: Path, models: Sequence[Generated]) -> Path:
    """What the models need of the runtime for this machine, with the late port, as a library in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    names = sorted({name for model in models for name in model.plan.kernel_sources} | {"copy.c", "tile.c"})
    objects = sanitized([*LATE_PORT, *(RUNTIME / name for name in names)])
    library = folder / "liblate.a"
    library.unlink(missing_ok=True)
    subprocess.run(["ar", "rcs", str(library), *objects], check=True)
    return library


def run(executable: Path, model: Generated, inputs: Sequence[Array], folder: Path) -> bytes:
    """The outputs of the model for some inputs; a sanitizer's complaint is an AssertionError."""
    (found,) = run_each(executable, [(model, inputs)], folder)
    assert isinstance(found, bytes), (model.prefix, found)
    return found


def run_each(executable: Path, runs: Sequence[tuple[Generated, Sequence[Array]]], folder: Path) -> list[bytes | str]:
    """What each model writes for its inputs, or what a sanitizer or the program itself complained of.

    All run in one process, as starting one costs more than a small model; if that fails, each has its own.
    """
    words: list[list[str]] = []
    for number, (model, inputs) in enumerate(runs):
        given, got = folder / f"inputs_{number}", folder / f"outputs_{number}"
        given.write_bytes(b"".join(np.ascontiguousarray(array).tobytes() for array in inputs))
        words.append([model.prefix, str(given), str(got)])
    if _complaint(executable, [word for triple in words for word in triple]) is None:
        return [Path(triple[2]).read_bytes() for triple in words]
    complaints = [_complaint(executable, triple) for triple in words]
    if not any(complaints):
        return [f"{executable} fails when its models run one after the other"] * len(words)
    return [complaint or Path(triple[2]).read_bytes() for complaint, triple in zip(complaints, words, strict=True)]


def _complaint(executable: Path, words: Sequence[str]) -> str | None:
    try:
        done = subprocess.run([executable, *words], capture_output=True, text=True, check=False, timeout=MOST_SECONDS)
    except subprocess.TimeoutExpired:
        return f"error: does not end in {MOST_SECONDS} s"
    return None if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr[-2000:]}"


def random_inputs(graph: Graph, seed: int) -> list[Array]:
    """Values for the inputs of a graph, in memory order."""
    generator = np.random.default_rng(seed)
    arrays = []
    for name in graph.inputs:
        tensor = graph.tensor(name)
        dtype = np.dtype(tensor.dtype.value)
        if dtype.kind == "f":
            arrays.append(generator.standard_normal(tensor.shape).astype(dtype))
        else:
            limits = np.iinfo(dtype)
            arrays.append(generator.integers(limits.min, limits.max, tensor.shape, dtype=dtype, endpoint=True))
    return arrays


def differences(cases: Sequence[Forced], folder: Path, objects: Path, seed: int) -> list[str]:
    """In words, the cases whose tiled output differs from the untiled one; ``objects`` is for compiled kernels."""
    models = [model for case in cases for model in (case.tiled, case.untiled)]
    executable = build(folder, models, late_library(objects, models))
    inputs = [random_inputs(case.graph, seed) for case in cases]
    runs = [(model, given) for case, given in zip(cases, inputs, strict=True) for model in (case.tiled, case.untiled)]
    found = run_each(executable, runs, folder)
    wrong = []
    for case, tiled, untiled in zip(cases, found[::2], found[1::2], strict=True):
        difference = _difference(case, tiled, untiled)
        if difference is not None:
            wrong.append(f"{case.tiled.prefix}: {case.graph.nodes[0]} with {case.tiles}: {difference}")
    return wrong


def _difference(case: Forced, tiled: bytes | str, untiled: bytes | str) -> str | None:
    for output in (tiled, untiled):
        if isinstance(output, str):
            return output
    if tiled == untiled:
        return None
    if case.exact:
        return "other bits"
    got, want = (np.frombuffer(content, np.float32) for content in (tiled, untiled) if isinstance(content, bytes))
    return None if np.allclose(got, want, rtol=1e-5, atol=2e-6, equal_nan=True) else "other numbers"
