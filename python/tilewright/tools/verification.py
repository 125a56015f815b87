"""A model's C on this machine, under sanitizers, or in a simulator, against somebody else's outputs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import numpy as np

from tilewright import __version__
from tilewright.base.errors import bad_input, not_supported
from tilewright.base.lazy_dataclass import dataclass
from tilewright.codegen.render import render
from tilewright.graph import Array, Graph
from tilewright.judges.judged import Judgement, judged
from tilewright.options import CompileOptions, Weights
from tilewright.pipeline import compile_model, imported_graph, sized_platform
from tilewright.plan import InterfaceTensor, Plan
from tilewright.planning.plan_states import initial_content
from tilewright.platform import load_platform
from tilewright.tools.all_files import all_files
from tilewright.tools.bundle import bundle_files
from tilewright.tools.golden import match_arrays, read_arrays
from tilewright.tools.manifest import manifest_name
from tilewright.tools.verification_target import computed_on

_SANITIZERS = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Compared:
    """An output of all runs against the judge's.

    Attributes:
        largest: the largest difference, in the output's stored units or as real numbers.
        step: the real value of one stored unit; 0 for real numbers.
        agreeing: runs in which the largest entry stands at the same place.
        magnitude: the largest magnitude that the judge computed.
    """

    name: str
    largest: float
    step: float
    different: int
    elements: int
    agreeing: int
    runs: int
    magnitude: float

    def line(self) -> str:
        """The comparison as a line of text for the user."""
        steps = f"{self.largest:g} steps of {self.step:g}" if self.step else f"{self.largest:.3g}"
        largest = f"largest entry at the same place in {self.agreeing} of {self.runs} runs"
        return f"{self.name}: largest error {steps}, {self.different} of {self.elements} elements differ, {largest}"


@dataclass(frozen=True, slots=True)
class Verified:
    """What a judge and the C computed, and what the C was made of.

    Attributes:
        model_sha256: of the model's content, as in the plan.
        given: for each input of the plan its arrays of all runs.
        files: name to content of all that was generated and compiled.
    """

    judgement: Judgement
    compared: tuple[Compared, ...]
    model_sha256: str
    given: tuple[Array, ...]
    files: Mapping[str, bytes]

    def worst(self, absolute: float, relative: float) -> Compared | None:
        """The output that exceeds absolute + relative * its magnitude the most; None if none does."""
        found = max(self.compared, key=lambda entry: entry.largest - absolute - relative * entry.magnitude)
        return found if found.largest > absolute + relative * found.magnitude else None


def verified(options: CompileOptions, archive: Path | None, runs: int, seed: int) -> Verified:
    """Compile a model for this machine, or for the platform of a simulator, run it, and compare.

    Args:
        archive: npz with inputs, which decides the number of runs; None for random ones.

    Raises:
        TilewrightError: the model cannot be compiled; the archive does not match its inputs; the platform has no
            simulator; options give the run function other arguments than whole inputs and outputs; the C ends with an
            error.
    """
    _require_runnable(options)
    artifacts, graph = compile_model(options), imported_graph(options, sized_platform(options))
    plan = artifacts.plan
    if archive is None:
        given = drawn_inputs(plan.inputs, runs, seed)
    else:
        given = match_arrays(plan.inputs, read_arrays(archive), str(archive))
    count = len(given[0]) if given else runs
    feeds = [[array[run] for array in given] for run in range(count)]
    judgement = judgement_of(options, graph, feeds)
    files = all_files(options, artifacts)
    if options.platform == "host":
        files = {**files, **bundle_files(files[manifest_name(plan.name)], __version__)}
        with tempfile.TemporaryDirectory() as folder:
            outputs = _computed(_built(Path(folder), plan, files, count), plan, feeds)
    else:
        outputs = computed_on(options.platform, plan, files, feeds)
    compared = tuple(
        _compared(item, [run[at] for run in outputs], [run[at] for run in judgement.outputs])
        for at, item in enumerate(plan.outputs)
    )
    return Verified(judgement, compared, plan.model_sha256, tuple(given), files)


def _require_runnable(options: CompileOptions) -> None:
    """Raise not_supported for a platform or options with which the model cannot be run here."""
    if options.platform != "host" and load_platform(options.platform).simulator is None:
        what = f"platform '{options.platform}' has no simulator"
        raise not_supported("verify-platform", what, help="leave --platform out: the C then runs on this machine")
    others = {
        "IO_IN_POOLS": options.io_in_pools,
        "OUTPUTS_IN_POOLS": options.outputs_in_pools,
        "FEED": bool(options.feed),
        "SLIDE": bool(options.slide),
        "PROFILE": options.profile,
        "WEIGHTS external": options.weights is Weights.EXTERNAL,
    }
    for name, given in others.items():
        if given:
            what = f"verify links no port, gives whole inputs and takes whole outputs, which {name} forbids"
            raise not_supported("verify-option", what, help="leave it out: results are the same")


def judgement_of(options: CompileOptions, graph: Graph, feeds: Sequence[Sequence[Array]]) -> Judgement:
    """The outputs that the best installed judge computes for a model."""
    initial = {state.input: initial_content(graph, state) for state in graph.states}
    return judged(Path(options.model), graph, feeds, initial)


def drawn_inputs(items: Sequence[InterfaceTensor], runs: int, seed: int) -> list[Array]:
    """Random elements: 8 and 16 bits over their whole range, wider integers from 0 to 9, normal real numbers."""
    rng = np.random.default_rng(seed)
    return [_drawn(item, runs, rng) for item in items]


def _drawn(item: InterfaceTensor, runs: int, rng: np.random.Generator) -> Array:
    dtype, shape = np.dtype(item.dtype), (runs, *item.shape)
    if item.required:
        return np.array(np.broadcast_to(np.asarray(item.required, dtype).reshape(item.shape), shape))
    if dtype.kind == "f":
        return rng.normal(0.0, 1.0, shape).astype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.itemsize < 4 else (0, 9)
    drawn: Array = rng.integers(low, high, shape, dtype, endpoint=True)
    return drawn


def _built(folder: Path, plan: Plan, files: Mapping[str, bytes], runs: int) -> Path:
    """The program, compiled by CC, else by the first of cc, gcc and clang."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    tensors = {side: [_tensor(plan, item, side) for item in items] for side, items in _sides(plan)}
    listed = [*tensors["input"], *tensors["output"]]
    context = {"inputs": tensors["input"], "outputs": tensors["output"], "tensors": listed, "runs": runs}
    main = render("verify_main.c.j2", prefix=plan.name, stateful=bool(plan.states), **context)
    (folder / "verify_main.c").write_text(main, encoding="utf-8")
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), "")
    if not compiler:
        raise bad_input("verify-compiler", "no C compiler was found", help="set CC to the name of one")
    sources = sorted(str(path) for path in folder.rglob("*.c"))
    includes = [f"-I{folder}", f"-I{folder / 'include'}"]
    program = folder / "verify"
    words = [*compiler.split(), "-std=c11", "-ffp-contract=off", *_SANITIZERS, *includes, *sources, "-lm"]
    try:
        done = subprocess.run([*words, "-o", str(program)], capture_output=True, text=True, check=False)
    except OSError as error:
        what = f"'{compiler}' cannot be started: {error.strerror}"
        raise bad_input("verify-compiler", what, help="set CC to GCC or Clang") from error
    if done.returncode != 0:
        raise bad_input("verify-compiler", f"'{compiler}' failed: {done.stderr[-2000:]}", help="set CC to GCC or Clang")
    return program


def _sides(plan: Plan) -> tuple[tuple[str, tuple[InterfaceTensor, ...]], ...]:
    return (("input", plan.inputs), ("output", plan.outputs))


def _tensor(plan: Plan, item: InterfaceTensor, side: str) -> dict[str, object]:
    """A tensor of the interface as the template prints it."""
    size = prod(item.shape) * np.dtype(item.dtype).itemsize
    return {
        "macro": f"{plan.name}_{side}_{item.identifier}".upper(),
        "variable": f"{side}_{item.identifier}",
        "size_bytes": size,
    }


def _computed(program: Path, plan: Plan, feeds: Sequence[Sequence[Array]]) -> list[list[Array]]:
    content = b"".join(np.ascontiguousarray(array).tobytes() for run in feeds for array in run)
    try:
        done = subprocess.run([str(program)], input=content, capture_output=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        what = f"{len(feeds)} runs of the C took more than {_SECONDS} seconds"
        raise bad_input("verify-run", what, help="fewer --runs") from error
    if done.returncode != 0:
        told = done.stderr.decode(errors="replace")[-2000:]
        raise bad_input("verify-run", f"the C ended with status {done.returncode}: {told}", help="report it as a bug")
    outputs, at = [], 0
    for _ in feeds:
        run = []
        for item in plan.outputs:
            dtype, count = np.dtype(item.dtype), prod(item.shape)
            run.append(np.frombuffer(done.stdout, dtype, count, at).reshape(item.shape))
            at += count * dtype.itemsize
        outputs.append(run)
    return outputs


def _compared(item: InterfaceTensor, got: list[Array], want: list[Array]) -> Compared:
    """An output against the judge's; NaN equals NaN, and an infinity equals the infinity of its sign."""
    a, b = np.stack(got), np.stack(want)
    real = a.dtype.kind == "f"
    x, y = a.astype(np.float64), b.astype(np.float64)
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    with np.errstate(invalid="ignore"):
        errors = np.nan_to_num(np.where(same, 0.0, np.abs(x - y)), nan=np.inf, posinf=np.inf)
    agreeing = sum(int(p.argmax() == q.argmax()) for p, q in zip(got, want, strict=True))
    scale = item.quantization.scale if item.quantization is not None else ()
    step = 0.0 if real else float(scale[0]) if len(scale) == 1 else 1.0
    largest, magnitude = float(errors.max(initial=0.0)), float(np.abs(y).max(initial=0.0, where=np.isfinite(y)))
    return Compared(item.name, largest, step, int((~same).sum()), same.size, agreeing, len(got), magnitude)
