"""Calibrates and judges the cost model of pulp-open in GVSoC, and measures how copies and kernels overlap.

    python benchmarks/cluster.py calibrate --corpus FOLDER [--output FILE.toml]
    python benchmarks/cluster.py predict --corpus FOLDER
    python benchmarks/cluster.py overlap --corpus FOLDER [--only TEXT]
    python benchmarks/cluster.py networks --corpus FOLDER [--only TEXT]
    python benchmarks/cluster.py layers --corpus FOLDER [--only TEXT] [--further | --floats | --lite]

``calibrate`` measures the micro-benchmarks of micro_models.py, micro_shapes.py, micro_floats.py and micro_lite.py with
one core and with eight, and writes the platform file (the shipped one) with the constants that fit.
``predict`` compares the predicted cycles of six networks with those of a whole inference, and
``overlap`` each double-buffered layer with builds without its copies and without its kernels, and
whole networks with single buffering, which must fail the same limits: layers whose copies run one behind
the other with their kernels. ``networks`` prints the multiply-accumulates per cycle of whole
networks, first inference, in a large and in a small l1, beside what they are to reach: those that are
computed, and those of the model as written, of which channels that are always constant are left out.
``layers`` compares the predicted cycles of each layer of them that takes much of the time with a profile, with
``--further`` those of other quantised networks of the corpus, with ``--floats`` those of float32, with ``--lite``
those of .tflite files.
The exit status is 1 where a limit below is missed. Needs GVSoC (GVSOC_INSTALL_DIR), tilewright's
environment, CMake, Ninja and riscv64-unknown-elf-gcc.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cluster_networks import ASKED_FOR, IN_EXTERNAL_RAM, JUDGED, NETWORKS, SIZES
from corpus_parser import corpus_parser
from micro_floats import FLOATS
from micro_lite import LITE, write_lite
from micro_models import MODELS, write_models
from micro_shapes import SHAPES
from tilewright.catalogue.macs import macs_of_nodes
from tilewright.graph import DType
from tilewright.importers.load import import_model

ROOT = Path(__file__).resolve().parent.parent
PLATFORM = ROOT / "platforms/pulp-open.toml"
TOOLCHAIN = ROOT / "cmake/toolchains/riscv64-unknown-elf-gcc.cmake"
OVERLAPPED = ("MLPerf/KeywordSpotting", "MLPerf/ImageClassification", "MLPerf/AnomalyDetection")
L1 = 16_000
SMALL_L1, LARGE_L1 = 7_000, 58_000
CORES = (1, 8)
FAMILIES = {"scalar": '["scalar"]', "simd": '["xpulpv2", "scalar"]'}
WAYS = {
    "scalar": ((8, SMALL_L1), (8, LARGE_L1)),
    "simd": ((1, L1), (8, L1), (8, SMALL_L1), (8, LARGE_L1)),
}
"""By family: the cores and the bytes of l1 with which micro-benchmarks are measured."""
ROOMY = ("rows", *FLOATS, *LITE)
"""Micro-benchmarks whose layers the smallest l1 does not hold."""
SHIPPED = "shipped"

PREDICTION_LIMIT = 0.05
LAYER_LIMIT = 0.10
LARGE_SHARE = 0.05
"""Of a network's cycles: layers that take more are judged by LAYER_LIMIT."""

OVERLAP_LIMIT = 1.10
"""Cycles of a layer that its copies bound, over those of its copies alone."""
WAIT_LIMIT = 0.15
"""Of the cycles of a layer's copies: what a layer may wait for them whose kernels take longer than they do."""
LEAST_TILES = 4
LEAST_TILE_BYTES = 2048


@dataclass(frozen=True)
class Case:
    """One firmware: a network on a number of cores; ``leave_out`` names what the build lacks: KERNELS, COPIES.

    ``l2`` is 0 where the platform's size stays.
    """

    folder: Path
    cores: int
    l1: int = L1
    l2: int = 0
    buffering: str = "single"
    profile: bool = True
    leave_out: str = ""
    family: str = SHIPPED

    @property
    def model(self) -> Path:
        """The file of the network."""
        lite = self.folder / "model.tflite"
        return lite if lite.exists() else self.folder / "network.onnx"

    @property
    def target(self) -> str:
        run = "p" if self.profile else "w"
        sizes = (self.l1, self.l2) if self.l2 else (self.l1,)
        parts = (self.folder.name, self.cores, *sizes, self.buffering, run, self.family, self.leave_out)
        return re.sub(r"\W+", "_", "_".join(map(str, parts))).strip("_")


def main() -> int:
    parser = corpus_parser(
        __doc__, only="networks whose folder has this text, for overlap, networks and layers", build=True
    )
    parser.add_argument("what", choices=["calibrate", "predict", "overlap", "networks", "layers"])
    others = parser.add_mutually_exclusive_group()
    others.add_argument("--further", action="store_true", help="for layers: other networks than those that are judged")
    others.add_argument("--floats", action="store_true", help="for layers: networks of float32")
    others.add_argument("--lite", action="store_true", help="for layers: networks that are .tflite files")
    parser.add_argument("--output", type=Path, default=PLATFORM, help="platform file that calibrate writes")
    parsed = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        build = parsed.build or Path(temporary)
        build.mkdir(parents=True, exist_ok=True)
        models = parsed.corpus / "deeploy/Models"
        if parsed.what == "calibrate":
            return calibrate(build, parsed.output)
        if parsed.what == "networks":
            return networks(parsed.corpus, build, parsed.only)
        if parsed.what == "layers":
            return layers(judged_layers(parsed), build)
        return predict(parsed.corpus, build) if parsed.what == "predict" else overlap(models, build, parsed.only)


def calibrate(build: Path, output: Path) -> int:
    models = build / "models"
    small = [*write_models(models, {**MODELS, **SHAPES, **FLOATS}), *write_lite(models)]
    cases = [
        Case(folder, cores, l1, family=family)
        for folder in small
        for family, ways in WAYS.items()
        for cores, l1 in ways
        if l1 > SMALL_L1 or folder.name not in ROOMY
    ]
    results = run(cases, build)
    profiles = [str(results[case.target]) for case in cases]
    words = [sys.executable, "-m", "tilewright", "calibrate", "--platform", str(PLATFORM), "--output", str(output)]
    command = [*words, *(f"--profile={path}" for path in profiles)]
    return subprocess.run(command, env=environment(), check=False).returncode


def predict(corpus: Path, build: Path) -> int:
    cases = [Case(corpus / name, cores, profile=False) for name in JUDGED for cores in CORES]
    results = run(cases, build)
    missed = 0
    print(f"{'network':<24}{'cores':>6}{'predicted':>14}{'measured':>14}{'error':>9}")
    for case in cases:
        plan = json.loads((build / "build/tilewright" / case.target / "net_plan.json").read_text(encoding="utf-8"))
        predicted = sum(layer["predicted_cycles"] for layer in plan["layers"])
        measured = inference_cycles(results[case.target])
        error = predicted / measured - 1.0
        print(f"{case.folder.name:<24}{case.cores:>6}{predicted:>14,}{measured:>14,}{100 * error:>8.1f}%")
        missed += abs(error) > PREDICTION_LIMIT
    return verdict(missed, f"predictions that are further than {PREDICTION_LIMIT:.0%} from what was measured")


def networks(corpus: Path, build: Path, only: str) -> int:
    """Whole networks with the buffering that Tilewright chooses, with the right bits."""
    aims = whole_networks(corpus, only)
    results = run(tuple(aims), build)
    missed = 0
    titles = ("network", "l1", "cycles", "predicted", "per cycle", "as written", "to reach")
    print("{:<24}{:>8}{:>14}{:>14}{:>11}{:>12}{:>10}".format(*titles))
    for case, aim in aims.items():
        plan = json.loads((build / "build/tilewright" / case.target / "net_plan.json").read_text(encoding="utf-8"))
        predicted, macs = (sum(layer[key] for layer in plan["layers"]) for key in ("predicted_cycles", "macs"))
        cycles = inference_cycles(results[case.target])
        missed += macs / cycles < aim
        reached = f"{macs / cycles:>11.2f}{written_macs(case.folder) / cycles:>12.2f}{aim:>10.1f}"
        print(f"{case.folder.name:<24}{case.l1:>8,}{cycles:>14,}{predicted:>14,}{reached}")
    return verdict(missed, "networks that compute less per cycle than they are to reach")


def whole_networks(corpus: Path, only: str) -> dict[Case, float]:
    """Each network in each size of l1, with what it is to reach."""
    return {
        Case(corpus / name, 8, l1, buffering="auto", profile=False): aim
        for name, by_l1 in NETWORKS.items()
        if only in name
        for l1, aim in by_l1.items()
    }


def written_macs(folder: Path) -> int:
    """Multiply-accumulates of the model as it is written, before any rewriting."""
    types = {name: DType(text) for name, text in element_types(folder).items()}
    graph = import_model(folder / "network.onnx", types=types)
    return sum(macs_of_nodes(graph).values())


def element_types(folder: Path) -> dict[str, str]:
    """Element types of inputs that hold integers in float tensors, by name of the input."""
    types = folder / "types.json"
    found: dict[str, str] = json.loads(types.read_text(encoding="utf-8")) if types.exists() else {}
    return found


def judged_layers(parsed: argparse.Namespace) -> list[Case]:
    """The networks and sizes of l1 that the command line asks for."""
    names, sizes = next(
        (networks for option, networks in ASKED_FOR.items() if getattr(parsed, option)), (NETWORKS, SIZES)
    )
    known = [(name, l1, 0) for name in names for l1 in sizes]
    known += [(name, *pools) for name, pools in IN_EXTERNAL_RAM.items()] if parsed.further else []
    return [Case(parsed.corpus / name, 8, l1, l2, "auto") for name, l1, l2 in known if parsed.only in name]


def layers(cases: Sequence[Case], build: Path) -> int:
    """Predicted and profiled cycles of whole networks, and of each of their large layers."""
    results = run(cases, build)
    return verdict(
        sum(predicted_layers(case, json.loads(results[case.target].read_text(encoding="utf-8"))) for case in cases),
        f"predictions further than {PREDICTION_LIMIT:.0%} from whole networks, or {LAYER_LIMIT:.0%} from large layers",
    )


def predicted_layers(case: Case, profile: Any) -> int:
    """Prints a network and its large layers, returns how many of both are predicted too far off."""
    whole = profile["cycles"]
    judged = [(f"{case.folder.name} {case.l1:,}", "", profile, PREDICTION_LIMIT)]
    judged += [
        (f"  {layer['name']}", layer["kernel"].removeprefix("tilewright_"), layer, LAYER_LIMIT)
        for layer in profile["layers"]
        if layer["cycles"] > LARGE_SHARE * whole
    ]
    missed = 0
    for name, kernel, part, limit in judged:
        error = part["predicted_cycles"] / part["cycles"] - 1.0
        missed += abs(error) > limit
        mark = " !" if abs(error) > limit else ""
        counts = f"{part['predicted_cycles']:>12,}{part['cycles']:>12,}{100 * error:>7.1f}%{mark}"
        print(f"{name[:40]:<42}{kernel:<32}{counts}")
    return missed


def overlap(models: Path, build: Path, only: str) -> int:
    """Layers of double-buffered networks within the limits, and of single-buffered ones beyond them."""
    folders = [models / name for name in OVERLAPPED if only in name]
    cases = [
        Case(folder, cores, buffering=buffering, leave_out=left)
        for folder in folders
        for cores in CORES
        for buffering in ("double", "single")
        for left in ("", "COPIES", "KERNELS")
    ]
    whole = [
        Case(folder, cores, buffering=buffering, profile=False)
        for folder in folders
        for cores in CORES
        for buffering in ("single", "double")
    ]
    results = run([*cases, *whole], build)
    missed = 0
    for number in range(0, len(cases), 3):
        case = cases[number]
        profiles = [json.loads(results[item.target].read_text()) for item in cases[number : number + 3]]
        print(f"{case.folder.name}, {case.cores} cores, {case.buffering} buffering")
        judged = [is_overlapped(*layers) for layers in zip(*(profile["layers"] for profile in profiles), strict=True)]
        if case.buffering == "double":
            missed += judged.count(False)
        elif True in judged:
            missed += judged.count(True)
            print("  limits that copies behind kernels meet see no overlap")
    missed += doubled_networks(whole, results)
    return verdict(missed, "limits")


def is_overlapped(layer: Any, computed: Any, moved: Any) -> bool | None:
    """Whether a layer's copies run beside its kernels; None for too few tiles, or too few bytes in each.

    ``computed`` is the same layer without copies, ``moved`` without kernels. The copies into the first tile and out
    of the last run beside nothing: a tile's share of all copies on each end, which is not counted. Where kernels take
    longer, what is left of the waiting is held against the copies; else the layer's cycles.
    """
    tiles = layer["tiles"]
    if tiles < LEAST_TILES or layer["copied_bytes"] / tiles < LEAST_TILE_BYTES:
        return None
    ends = 2.0 * moved["wait_cycles"] / tiles
    waited = max(layer["wait_cycles"] - ends, 0.0)
    if computed["cycles"] > moved["cycles"]:
        ratio, limit = waited / moved["wait_cycles"], WAIT_LIMIT
    else:
        ratio, limit = (layer["cycles"] - ends) / moved["cycles"], OVERLAP_LIMIT
    print(
        f"  {layer['name']:<16}{tiles:>5} tiles{layer['cycles']:>12,} cycles, waits {layer['wait_cycles']:>9,}, at the "
        f"ends {ends:>9,.0f}; kernels {computed['cycles']:>11,}, copies {moved['cycles']:>9,}; {ratio:.3f} of {limit}"
    )
    return bool(ratio <= limit)


def doubled_networks(cases: Sequence[Case], results: dict[str, Path]) -> int:
    missed = 0
    for single, double in zip(cases[::2], cases[1::2], strict=True):
        cycles = [inference_cycles(results[case.target]) for case in (single, double)]
        missed += cycles[1] >= cycles[0]
        print(f"{single.folder.name:<22}{single.cores:>2} cores: single {cycles[0]:,} cycles, double {cycles[1]:,}")
    return missed


def verdict(missed: int, what: str) -> int:
    print(f"{missed} missed: {what}" if missed else "all within their limits")
    return 1 if missed else 0


def inference_cycles(log: Path) -> int:
    """Cycles of the first inference, as the golden test printed them."""
    found = re.search(r"^run 0: cycles (\d+)$", log.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"{log} tells no cycles")
    return int(found[1])


def run(cases: Sequence[Case], folder: Path) -> dict[str, Path]:
    """Build and simulate; the profile of each profiled target, the log of the others."""
    for cores in CORES:
        for family in (SHIPPED, *FAMILIES):
            text = PLATFORM.read_text(encoding="utf-8").replace("\ncount = 8\n", f"\ncount = {cores}\n")
            if family != SHIPPED:
                text = re.sub(r"(?m)^kernels = .*$", f"kernels = {FAMILIES[family]}", text)
            (folder / f"{family}{cores}.toml").write_text(text, encoding="utf-8")
    (folder / "CMakeLists.txt").write_text("\n".join(project(cases, folder)), encoding="utf-8")
    build = folder / "build"
    for words in (
        ["cmake", "-G", "Ninja", "-S", str(folder), "-B", str(build), "--toolchain", str(TOOLCHAIN)],
        ["cmake", "--build", str(build)],
    ):
        done = subprocess.run(words, env=environment(), check=False, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stdout[-4000:] + done.stderr[-4000:])
    command = ["ctest", "-V", "-j2", "--test-dir", str(build)]
    done = subprocess.run(command, env=environment(), check=False, capture_output=True, text=True)
    if done.returncode or "Disabled" in done.stdout:
        raise SystemExit(done.stdout[-4000:])
    found = {}
    for case in cases:
        log = build / f"{case.target}.log"
        log.write_text("\n".join(output_of(case, done.stdout)), encoding="utf-8")
        found[case.target] = build / f"{case.target}.t_profile.json" if case.profile else log
    return found


def environment() -> dict[str, str]:
    """This process's environment, with Tilewright's sources as PYTHONPATH."""
    return {**os.environ, "PYTHONPATH": str(ROOT / "python")}


def output_of(case: Case, text: str) -> list[str]:
    """The lines that a case's test printed, from those of all tests, which begin with their numbers."""
    number = re.search(rf"(?m)^\s*Start\s+(\d+): {case.target}[.]t$", text)
    start = f"{number[1]}: " if number is not None else ""
    return [line.removeprefix(start) for line in text.splitlines() if start and line.startswith(start)]


def project(cases: Iterable[Case], folder: Path) -> Iterable[str]:
    """A CMake project with a golden test for each case, all through the public functions."""
    yield "cmake_minimum_required(VERSION 3.22)\nproject(cluster LANGUAGES C)\nenable_testing()"
    yield f'set(TILEWRIGHT_PYTHON "{sys.executable}")\nset(TILEWRIGHT_SHARE_KERNELS ON)'
    yield f'add_subdirectory("{ROOT}" tilewright)'
    for case in cases:
        listed = " ".join(f"{name}={dtype}" for name, dtype in element_types(case.folder).items())
        given = case.folder / "options.toml"
        options = f' OPTIONS "{given}")' if given.exists() else ")"
        yield (
            f'tilewright_add_model({case.target} MODEL "{case.model}" NAME net POOLS l1={case.l1}'
            f"{f' l2={case.l2}' if case.l2 else ''}"
            f' PLATFORM "{folder}/{case.family}{case.cores}.toml" BUFFERING {case.buffering}'
            f"{' PROFILE' if case.profile else ''}{f' TYPES {listed}' if listed else ''}{options}"
        )
        tolerance = "1e9:0" if case.profile else "0:0"
        yield (
            f'tilewright_add_golden_test(NAME {case.target}.t MODEL {case.target} INPUTS "{case.folder}/inputs.npz"'
            f' OUTPUTS "{case.folder}/outputs.npz" UNWATCHED TIMEOUT 300 TOLERANCE {tolerance})'
        )
        if case.leave_out:
            yield f"target_compile_definitions({case.target} PRIVATE TILEWRIGHT_PROFILE_{case.leave_out}=0)"


if __name__ == "__main__":
    sys.exit(main())
