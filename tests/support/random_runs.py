"""Random models in random tiles, run on this machine under sanitizers and compared with ONNX's reference."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conformance.build import Generated, build, runtime_library
from tilewright.base.errors import TilewrightError
from tilewright.graph import Array, Graph
from tilewright.importers.load import import_model
from tilewright.kernels.registry import choices
from tilewright.options import TileSteps, build_options
from tilewright.pipeline import compile_model
from tilewright.rewrites.passes import optimise

from support.onnx_models import runtime_outputs
from support.random_model import RandomModel

PLATFORM = Path(__file__).parents[1] / "conformance" / "host-tiled.toml"
BATCH = 40
"""Models of one program; compiling costs more than running."""

_L1_BYTES = (256, 512, 1024, 2048, 4096, 16384, 65536, 1 << 20)
Compare = Callable[[Array, Array], str]
"""What differs between what is wanted and what came, in words; empty if nothing does."""


@dataclass(frozen=True)
class RandomCase:
    """A model with the tiles that were drawn for it."""

    seed: int
    model: RandomModel
    l1_bytes: int
    tiles: tuple[tuple[str, TileSteps], ...]
    generated: Generated

    @property
    def tile_count(self) -> int:
        return sum(layer.tiles for layer in self.generated.plan.layers)

    def __str__(self) -> str:
        operators = " ".join(node.op_type for node in self.model.nodes)
        return f"seed {self.seed} ({operators}) with l1={self.l1_bytes} and {self.tiles}"


def random_cases(seed: int, model: RandomModel, prefix: str, folder: Path) -> list[RandomCase]:
    """The model in C three times: as drawn, in the smallest l1 that it fits, and in one that holds everything."""
    sizes = ((), _L1_BYTES, _L1_BYTES[-1:])
    return [random_case(seed, model, f"{prefix}_{number}", folder, some) for number, some in enumerate(sizes)]


def random_case(
    seed: int, model: RandomModel, prefix: str, folder: Path, given_sizes: Sequence[int] = ()
) -> RandomCase:
    """The model in C: tiles of random steps in a large l1, or what a random size of l1 makes necessary.

    With ``given_sizes`` l1 has the first of these sizes that the model fits, and no tiles are drawn. For every second
    seed whole tensors may stay in l1.
    """
    chance = random.Random(seed)
    path = folder / f"{prefix}.onnx"
    path.write_bytes(model.proto().SerializeToString())
    platform = str(_platform(seed, folder))
    values: dict[str, object] = {"model": path, "platform": platform, "name": prefix, "static_pools": True}
    values["buffering"] = chance.choice(("auto", "single", "double"))
    sizes = list(_L1_BYTES[chance.randrange(len(_L1_BYTES)) :])
    tiles = _drawn(optimise(import_model(path)), chance) if chance.random() < 0.6 else {}
    if given_sizes:
        sizes, tiles = list(given_sizes), {}
    while True:
        values["pools"] = [f"l1={sizes[0]}"]
        values["tiles"] = {name: dict(steps) for name, steps in tiles.items()}
        try:
            artifacts = compile_model(build_options(("random", values)))
        except TilewrightError as error:
            _relax(error, sizes, tiles)
            continue
        generated = Generated(prefix, artifacts.plan, dict(artifacts.files))
        return RandomCase(seed, model, sizes[0], tuple(tiles.items()), generated)


def _platform(seed: int, folder: Path) -> Path:
    """The platform whose l1 is for tiles alone, or for every second seed one on which tensors may stay there whole."""
    if seed % 2 == 0:
        return PLATFORM
    text, tiles = PLATFORM.read_text(encoding="utf-8"), 'holds = ["tile", "scratch"]'
    assert text.count(tiles) == 1
    path = folder / "host-near.toml"
    path.write_text(text.replace(tiles, f'{tiles[:-1]}, "intermediate"]'), encoding="utf-8")
    return path


def _drawn(graph: Graph, chance: random.Random) -> dict[str, TileSteps]:
    """Random steps for some dimensions of every layer."""
    tiles = {}
    for node in graph.nodes:
        kernel = choices(node, graph)[0]
        steps = []
        for dimension in kernel.nest.dimensions:
            if dimension.extent == 1 or chance.random() < 0.3:
                continue
            multiple = kernel.multiples.get(dimension.name, 1)
            step = chance.randint(1, dimension.extent)
            steps.append((dimension.name, min(-(-step // multiple) * multiple, dimension.extent)))
        if steps:
            tiles[node.name] = tuple(steps)
    return tiles


def _relax(error: TilewrightError, sizes: list[int], tiles: dict[str, TileSteps]) -> None:
    """Drop a drawn step of the layer that the error names, or take a larger l1; else raises the error."""
    if error.code == "tile-override" and tiles:
        layer = error.at[0].partition(" (")[0]
        name = layer if layer in tiles else next(reversed(tiles))
        tiles[name] = tiles[name][1:]
        if not tiles[name]:
            del tiles[name]
        return
    if error.status.name == "DOES_NOT_FIT" and len(sizes) > 1:
        del sizes[0]
        return
    raise error


def wrong_ones(
    make: Callable[[int], RandomModel], seeds: Sequence[int], compare: Compare, folder: Path, objects: Path
) -> list[str]:
    """Models whose outputs are not those of the reference, or that are not compiled, in words."""
    library = runtime_library(objects)
    wrong = []
    for first in range(0, len(seeds), BATCH):
        batch = folder / f"batch_{first}"
        batch.mkdir(parents=True)
        cases = []
        for number, seed in enumerate(seeds[first : first + BATCH]):
            model = make(seed)
            try:
                cases += random_cases(seed, model, f"m{number}", batch)
            except TilewrightError as error:
                operators = " ".join(node.op_type for node in model.nodes)
                wrong.append(f"seed {seed} ({operators}): {error}")
        wrong += differences(cases, batch, library, compare)
    return wrong


def differences(cases: Sequence[RandomCase], folder: Path, library: Path, compare: Compare) -> list[str]:
    """Cases whose outputs are not those of the reference, in words."""
    executable = build(folder, [case.generated for case in cases], library)
    found = []
    for case in cases:
        problem = _problem(case, executable, folder, compare)
        if problem:
            found.append(f"{case}: {problem}")
    return found


def _problem(case: RandomCase, executable: Path, folder: Path, compare: Compare) -> str:
    plan, given, got = case.generated.plan, folder / "inputs", folder / "outputs"
    arrays = (np.ascontiguousarray(case.model.values[item.name]) for item in plan.inputs)
    given.write_bytes(b"".join(array.tobytes() for array in arrays))
    command = [executable, case.generated.prefix, given, got]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        return f"status {done.returncode}: {done.stderr[-1500:]}"
    content, position = got.read_bytes(), 0
    for item in plan.outputs:
        wanted = case.model.values[item.name]
        if (item.dtype, item.shape) != (wanted.dtype.name, wanted.shape):
            return f"{item.name}: {item.dtype}{list(item.shape)}, wanted {wanted.dtype.name}{list(wanted.shape)}"
        array = np.frombuffer(content[position : position + wanted.nbytes], wanted.dtype).reshape(wanted.shape)
        position += wanted.nbytes
        problem = compare(wanted, array)
        judged = _by_runtime(case.model, item.name, array, compare)
        # One of both is enough only where docs/reference/judges.md says so: the reference's pooling is known to err.
        if problem and judged != "":
            return f"{item.name}: {problem}"
        if judged:
            return f"{item.name}: like ONNX's reference, but ONNX Runtime: {judged}"
    return ""


def _by_runtime(model: RandomModel, name: str, got: Array, compare: Compare) -> str | None:
    """In words, how ONNX Runtime's outputs differ from the C's; None where ONNX Runtime lacks an operator or a type."""
    feeds = {item: model.values[item] for item in model.inputs}
    try:
        wanted = runtime_outputs(model.proto(), feeds)[name]
    except Exception:  # whatever ONNX Runtime raises, it is no judge here
        return None
    if wanted.shape != got.shape or wanted.dtype != got.dtype:
        return f"{wanted.dtype}{list(wanted.shape)}"
    return compare(wanted, got)


def equal(wanted: Array, got: Array) -> str:
    """Every bit is to be the same."""
    return _told(wanted, got, got != wanted)


def close(wanted: Array, got: Array) -> str:
    """Floats are to be within 2e-5 relative to the value, or 2e-6 to the tensor's largest; others the same."""
    if wanted.dtype.kind != "f":
        return equal(wanted, got)
    allowed = 2e-5 * np.abs(wanted) + 2e-6 * max(float(np.abs(wanted).max()), 1.0)
    return _told(wanted, got, ~(np.abs(got - wanted) <= allowed))


def _told(wanted: Array, got: Array, different: Array) -> str:
    where = np.argwhere(different)
    if not len(where):
        return ""
    first = tuple(where[0])
    return f"{len(where)} of {got.size} differ, first at {list(map(int, first))}: {got[first]} for {wanted[first]}"
