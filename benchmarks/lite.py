"""Every .tflite model of a corpus: on this machine, on RV32 in QEMU, and there in tiles, against its stored outputs.

    python benchmarks/lite.py --corpus FOLDER [--only TEXT] [--build FOLDER] [--markdown FILE]

Models are all folders with model.tflite, inputs.npz and outputs.npz, or outputs_tflm.npz, which counts then.
Each is built by the public CMake functions as golden tests of all its vectors, in their order: for `host`, for
qemu-virt-rv32-single, and for qemu-virt-rv32 with an l1 of a quarter of the read-write bytes that the second
needs, or of the fewest bytes that work. Of models that remember, outputs_fresh.npz holds what each vector gives
right after a reset; its first vectors are a test of their own on this machine, as many as --fresh says. Integers
must be equal, real numbers within 1e-6 + 1e-5 of the value. Exit status 1 if a model is refused or an output is
wrong. Counts repeat exactly with one compiler; needs CMake, Ninja, riscv64-unknown-elf-gcc and
qemu-system-riscv32.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from corpus_parser import corpus_parser
from link_map import code_bytes
from tilewright.base.errors import TilewrightError
from tilewright.options import build_options
from tilewright.pipeline import compile_model

HERE = Path(__file__).resolve().parent
TOOLCHAIN = HERE.parent / "cmake/toolchains/riscv64-unknown-elf-gcc.cmake"
NEEDED = re.compile(r"POOLS l1=(\d+)")
STEPS = 64
TIMEOUT_SECONDS = 1200
TOLERANCE = "1e-6:1e-5"
TILED = "qemu-virt-rv32"


@dataclass(frozen=True)
class Model:
    """A folder of the corpus, and what of it is built.

    Attributes:
        ram: read-write bytes of the pools of the untiled model.
        l1: bytes of the tiled one.
        is_exact: whether no output is of real numbers.
    """

    name: str
    folder: Path
    vectors: int
    ram: int
    l1: int
    is_exact: bool

    @property
    def outputs(self) -> Path:
        stored = self.folder / "outputs_tflm.npz"
        return stored if stored.exists() else self.folder / "outputs.npz"


@dataclass(frozen=True)
class Ran:
    """A golden firmware: whether all vectors were right, its instructions, and its bytes of memory and code."""

    passed: bool
    instructions: int = 0
    ram: int = 0
    callers: int = 0
    code: int = 0


def main() -> int:
    arguments = parse_arguments()
    models, refused = find_models(arguments.corpus.resolve(), arguments.only)
    with tempfile.TemporaryDirectory() as folder:
        build = (arguments.build or Path(folder)).resolve()
        hosts = on_this_machine(models, build / "host", arguments.fresh)
        boards = in_qemu(models, build / "qemu")
    lines = table(models, hosts, boards)
    wrong = [model.name for model in models if not (hosts[model.name] and all(r.passed for r in boards[model.name]))]
    lines += ["", f"{len(models)} models, {len(refused)} refused, {len(wrong)} wrong."]
    lines += [f"Refused: {name}: {why}" for name, why in refused.items()] + [f"Wrong: {name}" for name in wrong]
    text = "\n".join(lines) + "\n"
    sys.stdout.write(text)
    if arguments.markdown:
        arguments.markdown.write_text(f"{_HEAD}\n{text}", encoding="utf-8")
    return 1 if wrong or refused else 0


def parse_arguments() -> argparse.Namespace:
    parser = corpus_parser(
        "Compares the .tflite models of a corpus with their stored outputs.",
        only="models with this text in their name",
        build=True,
        markdown=True,
    )
    parser.add_argument(
        "--fresh",
        type=int,
        default=3,
        help="of models with a state: the number of vectors that are run right after a reset",
    )
    return parser.parse_args()


def find_models(corpus: Path, only: str) -> tuple[list[Model], dict[str, str]]:
    """Models that can be built, and why the others are refused."""
    models, refused = [], {}
    for path in sorted(corpus.rglob("model.tflite")):
        name, folder = path.parent.name, path.parent
        if only not in name or not (folder / "inputs.npz").exists():
            continue
        try:
            models.append(described(name, folder))
        except TilewrightError as error:
            refused[name] = str(error).splitlines()[0]
    return models, refused


def described(name: str, folder: Path) -> Model:
    """A model with its sizes. Raises TilewrightError where it is refused."""
    values = {"model": folder / "model.tflite", "platform": f"{TILED}-single", "name": "net"}
    plan = compile_model(build_options(("lite", values))).plan
    data = next(use.used_bytes for use in plan.pool_use if use.pool == "sram")
    with np.load(folder / "inputs.npz") as stored:
        vectors = len(stored[stored.files[0]])
    exact = all(np.dtype(item.dtype).kind != "f" for item in plan.outputs)
    return Model(name, folder, vectors, data, smallest_l1(values, max(data // 4, 16)), exact)


def smallest_l1(values: dict[str, Any], size: int) -> int:
    """The first size from ``size`` on with which the model can be tiled: each error says what was needed."""
    for _ in range(STEPS):
        try:
            compile_model(build_options(("lite", values | {"platform": TILED, "pools": (f"l1={size}",)})))
        except TilewrightError as error:
            found = NEEDED.search(str(error))
            if found is None or int(found[1]) <= size:
                raise
            size = int(found[1])
            continue
        return size
    raise AssertionError(f"no size of l1 was found in {STEPS} steps")


def network(model: Model, variant: str, platform: str, *, pool: str = "", folder: Path | None = None) -> str:
    """A line of NETWORKS of road/CMakeLists.txt."""
    tolerance = "0:0" if model.is_exact else TOLERANCE
    return "|".join((f"{model.name}.{variant}", str(folder or model.folder), platform, "", pool, tolerance))


def on_this_machine(models: Sequence[Model], build: Path, fresh: int) -> dict[str, bool]:
    """Whether all golden tests of a model pass on this machine."""
    networks = []
    for model in models:
        networks.append(network(model, "host", "host"))
        if not (model.folder / "outputs_fresh.npz").exists():
            continue
        for number in range(min(fresh, model.vectors)):
            folder = one_vector(model, number, build / "vectors" / f"{model.name}_{number}")
            networks.append(network(model, f"fresh{number}", "host", folder=folder))
    build_all(networks, build, ())
    done = subprocess.run(["ctest", "--test-dir", str(build), "-j", "2"], capture_output=True, text=True, check=False)
    (build / "ctest.log").write_text(done.stdout, encoding="utf-8")
    passed = set(re.findall(r"(\S+)\.golden \.+ *Passed", done.stdout))
    tests = [line.split("|")[0] for line in networks]
    return {
        model.name: all(test in passed for test in tests if test.rpartition(".")[0] == model.name) for model in models
    }


def one_vector(model: Model, number: int, folder: Path) -> Path:
    """A folder with the model and one of its vectors, whose outputs are those after a reset."""
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / "model.tflite"
    target.write_bytes((model.folder / "model.tflite").read_bytes())
    for source, file in (("inputs.npz", "inputs.npz"), ("outputs_fresh.npz", "outputs.npz")):
        with np.load(model.folder / source) as stored:
            np.savez(folder / file, **{name: stored[name][number : number + 1] for name in stored.files})
    return folder


def in_qemu(models: Sequence[Model], build: Path) -> dict[str, tuple[Ran, Ran]]:
    """The untiled and the tiled firmware of each model."""
    networks = []
    for model in models:
        networks.append(network(model, "untiled", f"{TILED}-single"))
        networks.append(network(model, "tiled", TILED, pool=f"l1={model.l1}"))
    build_all(networks, build, (f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}", "-DTILEWRIGHT_SHARE_KERNELS=ON"))
    return {
        model.name: (
            ran(f"{model.name}.untiled", f"{TILED}-single", build),
            ran(f"{model.name}.tiled", TILED, build),
        )
        for model in models
    }


def build_all(networks: Sequence[str], build: Path, options: Sequence[str]) -> None:
    configure = ["cmake", "-S", str(HERE / "road"), "-B", str(build), "-G", "Ninja", *options]
    configure += [f"-DNETWORKS={';'.join(networks)}", f"-DTILEWRIGHT_PYTHON={sys.executable}"]
    for command in (configure, ["cmake", "--build", str(build), "-j", "2"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            sys.exit(done.stdout[-4000:])


def ran(target: str, platform: str, build: Path) -> Ran:
    program = build / f"{target}.golden"
    words = ["--platform", platform, "--elf", str(program), "--timeout", str(TIMEOUT_SECONDS)]
    command = [sys.executable, "-m", "tilewright", "simulate", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"^run 0: instructions (\d+)$", done.stdout, re.MULTILINE)
    plan = json.loads((build / "tilewright" / target / "net_plan.json").read_text(encoding="utf-8"))
    placed = {item["buffer"] for item in plan["placements"]}
    tensors = [item for item in (*plan["inputs"], *plan["outputs"]) if item["buffer"] not in placed]
    return Ran(
        passed=done.returncode == 0,
        instructions=int(found[1]) if found else 0,
        ram=sum(use["used_bytes"] for use in plan["pool_use"] if use["pool"] != "flash"),
        callers=sum(prod(item["shape"]) * np.dtype(item["dtype"]).itemsize for item in tensors),
        code=code_bytes(Path(f"{program}.map").read_text(encoding="utf-8"), f"lib{target}.a"),
    )


def table(models: Sequence[Model], hosts: Mapping[str, bool], boards: Mapping[str, tuple[Ran, Ran]]) -> list[str]:
    """The table as Markdown."""
    lines = [
        "| model | runs | host | untiled | instructions | RAM | with I/O | code | tiled | l1 | instructions |",
        "|---|--:|---|---|--:|--:|--:|--:|---|--:|--:|",
    ]
    words = {True: "equal", False: "WRONG"}
    for model in models:
        untiled, tiled = boards[model.name]
        numbers = (untiled.instructions, untiled.ram, untiled.ram + untiled.callers, untiled.code)
        cells = [model.name, str(model.vectors), words[hosts[model.name]], words[untiled.passed]]
        cells += [f"{number:,}" for number in numbers]
        cells += [words[tiled.passed], f"{model.l1:,}", f"{tiled.instructions:,}"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


_HEAD = """# Every .tflite model of the corpus

Written by `lite.py` with GCC 12.2: all stored vectors of each model on this machine and on RV32 in QEMU (untiled, and
in tiles with an l1 of a quarter of the untiled RAM or of the fewest bytes that work), instructions of the first
inference, bytes of RAM without and with the caller's inputs and outputs, bytes of code with the kernels. `equal`:
integers are those of TensorFlow Lite Micro, or of LiteRT's reference kernels where it does not load the model; real
numbers within 1e-6 + 1e-5 of the value.
"""


if __name__ == "__main__":
    sys.exit(main())
