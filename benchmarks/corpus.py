"""Every network of a corpus on RV32 in QEMU, tiled: what it costs, and whether its outputs are right.

    python benchmarks/corpus.py --corpus FOLDER [--only TEXT] [--build FOLDER] [--json FILE] [--markdown FILE]

Networks are all folders with network.onnx, inputs.npz and outputs.npz. Each is generated for
qemu-virt-rv32, or qemu-virt-rv32f where it has real numbers, built as a golden test by the public
CMake functions, and run. The table has instructions of one inference, bytes of each pool with the
proven lower bound ('=' where both are equal), bytes of code with the kernels, and CPU seconds of the
generation. Exit status 1 if a network fails: outputs that are wrong, a crash, or more than three
of Deeploy's networks refused.

Outputs of integers must be equal; under onnx/ they may be one step away, and real numbers behind
DequantizeLinear one scale, or as far as `one_step_noise` of stats.json says: by as many steps single
steps inside a deep network move its outputs. Real numbers must be within 1e-4, relative or absolute
(Deeploy), or 1e-5 and 1e-4 of the value (onnx/).
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from corpus_parser import corpus_parser
from link_map import code_bytes
from tilewright.base.errors import TilewrightError
from tilewright.graph import DType, Graph
from tilewright.importers.load import import_model
from tilewright.operators.quantization import QuantizationAttributes

HERE = Path(__file__).resolve().parent
TOOLCHAIN = HERE.parent / "cmake/toolchains/riscv64-unknown-elf-gcc.cmake"
NOT_SUPPORTED = 4
"""Exit status of tilewright for a network that it refuses."""
MOST_REFUSED = 3
TIMEOUT_SECONDS = 1200
MOVED_SHARE = "0.0001"
"""The share of elements inside a network that stats.json moves by one step."""


@dataclass(frozen=True)
class Network:
    """A folder of the corpus."""

    label: str
    folder: Path

    @property
    def target(self) -> str:
        return re.sub(r"\W+", "_", self.label).strip("_").lower()

    @property
    def model(self) -> Path:
        """The ONNX network, or the .tflite model of a folder without one."""
        network = self.folder / "network.onnx"
        return network if network.exists() else self.folder / "model.tflite"

    @property
    def of_deeploy(self) -> bool:
        return self.label.startswith("deeploy/")

    @cached_property
    def types(self) -> dict[str, str]:
        """Element types of inputs that hold integers, by name; none if a stored input holds fractions."""
        file = self.folder / "types.json"
        listed = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        with np.load(self.folder / "inputs.npz") as stored:
            whole = all(np.array_equal(stored[name], np.rint(stored[name])) for name in stored.files)
        return listed if whole else {}

    @property
    def noise_steps(self) -> int:
        """Steps of the output's scale by which single steps inside the network may move its outputs; at least one."""
        file = self.folder / "stats.json"
        noise = json.loads(file.read_text(encoding="utf-8")).get("one_step_noise", {}) if file.exists() else {}
        return max(1, int(noise.get(MOVED_SHARE, {}).get("max_abs", 1)))

    def graph(self) -> Graph:
        """The network in normal form. Raises TilewrightError where it is refused."""
        types = {name: DType(text) for name, text in self.types.items()}
        return import_model(self.model, types=types)


@dataclass(frozen=True)
class Pool:
    """Use of one pool in bytes."""

    name: str
    used: int
    bound: int


@dataclass(frozen=True)
class Result:
    """What came of a network; a number is 0 if the network failed before that number was measured."""

    state: str
    reason: str = ""
    instructions: int = 0
    macs: int = 0
    pools: tuple[Pool, ...] = ()
    code: int = 0
    seconds: float = 0.0


def main() -> int:
    arguments = parse_arguments()
    networks = find_networks(arguments.corpus.resolve(), arguments.only)
    with tempfile.TemporaryDirectory() as folder:
        build = arguments.build.resolve() if arguments.build else Path(folder)
        results = run_all(networks, build)
    print_table(networks, results)
    if arguments.json:
        rows = [{"network": n.label, **as_json(results[n.label])} for n in networks]
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    if arguments.markdown:
        arguments.markdown.write_text(markdown(networks, results), encoding="utf-8")
    return summary(networks, results)


def parse_arguments() -> argparse.Namespace:
    parser = corpus_parser(
        "Runs every network of a corpus in QEMU and says what it costs.",
        only="networks with this text in their path",
        build=True,
        markdown=True,
    )
    parser.add_argument("--json", type=Path, help="also write the results to this file, as JSON")
    return parser.parse_args()


def find_networks(corpus: Path, only: str) -> list[Network]:
    found = [Network(str(path.parent.relative_to(corpus)), path.parent) for path in corpus.rglob("network.onnx")]
    complete = [n for n in found if all((n.folder / name).exists() for name in ("inputs.npz", "outputs.npz"))]
    return sorted((n for n in complete if only in n.label), key=lambda network: network.label)


def run_all(networks: Sequence[Network], build: Path) -> dict[str, Result]:
    """Generate each for its time and refusal, then configure and build what is left at once, then run."""
    results: dict[str, Result] = {}
    lines: dict[str, str] = {}
    for network in networks:
        try:
            graph = network.graph()
        except TilewrightError as error:
            results[network.label] = Result("refused", str(error).splitlines()[0])
            continue
        platform = platform_of(graph)
        results[network.label] = generated(network, platform, build / "generated" / network.target)
        folder = with_matching_vectors(network, graph, build / "vectors" / network.target)
        fields = (network.target, str(folder), platform, types_of(network), "", tolerance_of(network, graph))
        lines[network.label] = "|".join(fields)
    wanted = [network for network in networks if results[network.label].state == "generated"]
    broken = build_firmwares({network.target: lines[network.label] for network in wanted}, build)
    for network in wanted:
        if network.target in broken:
            results[network.label] = Result("failed", broken[network.target])
            continue
        platform = lines[network.label].split("|")[2]
        results[network.label] = measured(network, platform, build, results[network.label])
        print(f"{network.label}: {results[network.label].state}", file=sys.stderr)
    return results


def with_matching_vectors(network: Network, graph: Graph, folder: Path) -> Path:
    """The network's folder, or a copy without the arrays that belong to no tensor.

    Some vectors have weights behind the inputs; arrays are in the order of the graph's tensors.
    """
    sides = (("inputs.npz", graph.inputs), ("outputs.npz", graph.outputs))
    stored = {file: dict(np.load(network.folder / file)) for file, _ in sides}
    if all(len(stored[file]) <= len(names) for file, names in sides):
        return network.folder
    shutil.copytree(network.folder, folder, dirs_exist_ok=True)
    for file, names in sides:
        arrays = stored[file]
        chosen = names if set(names) <= set(arrays) else list(arrays)[: len(names)]
        np.savez(folder / file, **{name: arrays[key] for name, key in zip(names, chosen, strict=True)})
    return folder


def platform_of(graph: Graph) -> str:
    """A core with FPU for a network with real numbers."""
    real = any(tensor.dtype is DType.FLOAT32 for tensor in graph.tensors.values())
    return "qemu-virt-rv32f" if real else "qemu-virt-rv32"


def types_of(network: Network) -> str:
    return ",".join(f"{name}={dtype}" for name, dtype in network.types.items())


def tolerance_of(network: Network, graph: Graph) -> str:
    """The TOLERANCE of a network as <absolute>:<relative>.

    A golden test adds both, and 5e-5 + 5e-5 |x| is never above the larger of 1e-4 and 1e-4 |x|.
    """
    outputs = [graph.tensor(name) for name in graph.outputs]
    real = any(tensor.dtype is DType.FLOAT32 for tensor in outputs)
    if network.of_deeploy:
        return "5e-5:5e-5" if real else "0:0"
    scales = [scale for name in graph.outputs for scale in step_of(graph, name)]
    if scales:
        return f"{network.noise_steps * max(scales) * (1 + 1e-5):.9g}:0"
    return "1e-5:1e-4" if real else f"{network.noise_steps}:0"


def step_of(graph: Graph, output: str) -> tuple[float, ...]:
    """The scales of the Dequantize that gives an output, directly or through Reshape and Transpose; else none."""
    producer = graph.producers().get(output)
    while producer is not None and producer.operator in ("Reshape", "Transpose"):
        producer = graph.producers().get(producer.inputs[0])
    if producer is None or producer.operator != "Dequantize":
        return ()
    return producer.given(QuantizationAttributes).scale


def generated(network: Network, platform: str, folder: Path) -> Result:
    """CPU seconds of a cold generation, or why there is none."""
    model = ["--model", str(network.folder / "network.onnx"), "--platform", platform, "--name", "net"]
    types = [f"--type={name}={dtype}" for name, dtype in network.types.items()]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = tilewright("generate", *model, "--output-dir", str(folder), *types)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode:
        state = "refused" if done.returncode == NOT_SUPPORTED else "failed"
        return Result(state, (done.stderr.strip().splitlines() or ["no message"])[0], seconds=seconds)
    return Result("generated", seconds=seconds)


def tilewright(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tilewright", *arguments], capture_output=True, text=True, check=False)


def build_firmwares(lines: Mapping[str, str], build: Path) -> dict[str, str]:
    """Configure and build; gives the targets that cannot be configured, with the error."""
    broken: dict[str, str] = {}
    while set(lines) - set(broken):
        networks = ";".join(line for target, line in lines.items() if target not in broken)
        configure = ["cmake", "-S", str(HERE / "road"), "-B", str(build), "-G", "Ninja", f"-DNETWORKS={networks}"]
        configure += [f"-DCMAKE_TOOLCHAIN_FILE={TOOLCHAIN}", f"-DTILEWRIGHT_PYTHON={sys.executable}"]
        configure += ["-DTILEWRIGHT_SHARE_KERNELS=ON"]
        done = subprocess.run(configure, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if not done.returncode:
            break
        found = re.search(r"tilewright_add_\w+\((\w+)[^)]*\):\s*(error.*)", done.stdout)
        if found is None or found[1] not in lines:
            sys.exit(done.stdout[-4000:])
        broken[found[1]] = found[2]
    # A firmware that cannot be built is found missing below; the others are built all the same.
    subprocess.run(["cmake", "--build", str(build), "-j", "2", "--", "-k", "0"], stdout=subprocess.DEVNULL, check=False)
    return broken


def measured(network: Network, platform: str, build: Path, before: Result) -> Result:
    program = build / f"{network.target}.golden"
    if not program.exists():
        return Result("failed", "the firmware was not built", seconds=before.seconds)
    done = tilewright("simulate", "--platform", platform, "--elf", str(program), "--timeout", str(TIMEOUT_SECONDS))
    found = re.search(r"^run 0: instructions (\d+)$", done.stdout, re.MULTILINE)
    plan = json.loads((build / "tilewright" / network.target / "net_plan.json").read_text(encoding="utf-8"))
    map_text = Path(f"{program}.map").read_text(encoding="utf-8")
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return Result(
        "passed" if done.returncode == 0 else "failed",
        "" if done.returncode == 0 else " / ".join(lines[-2:]),
        instructions=int(found[1]) if found else 0,
        macs=sum(layer["macs"] for layer in plan["layers"]),
        pools=tuple(Pool(use["pool"], use["used_bytes"], use["lower_bound_bytes"]) for use in plan["pool_use"]),
        code=code_bytes(map_text, f"lib{network.target}.a"),
        seconds=before.seconds,
    )


def as_json(result: Result) -> dict[str, Any]:
    pools = {pool.name: {"used_bytes": pool.used, "lower_bound_bytes": pool.bound} for pool in result.pools}
    return {
        "state": result.state,
        "reason": result.reason,
        "instructions": result.instructions,
        "macs": result.macs,
        "pools": pools,
        "code_bytes": result.code,
        "generation_cpu_seconds": round(result.seconds, 2),
    }


def markdown(networks: Sequence[Network], results: dict[str, Result]) -> str:
    """The table as a page."""
    lines = ["# Every network of the corpus on RV32 in QEMU, tiled\n"]
    lines.append(
        "Written by `corpus.py` with GCC 12.2: instructions of one inference, bytes used of each pool and the proven "
        "lower bound (= where both are equal), bytes of code with the kernels, CPU seconds of the generation.\n"
    )
    lines += ["| network | instructions | l1 | sram | flash | code | s |", "|---|--:|--:|--:|--:|--:|--:|"]
    for network in networks:
        result = results[network.label]
        used = {pool.name: pool for pool in result.pools}
        cells = " | ".join(use_text(used.get(name)) for name in ("l1", "sram", "flash"))
        label = network.label if result.state == "passed" else f"{network.label} ({result.state}: {result.reason})"
        lines.append(f"| {label} | {result.instructions:,} | {cells} | {result.code:,} | {result.seconds:.1f} |")
    return "\n".join(lines) + "\n"


def print_table(networks: Sequence[Network], results: dict[str, Result]) -> None:
    width = max((len(network.label) for network in networks), default=0)
    pools = "".join(f"{name:>20}" for name in ("l1", "sram", "flash"))
    print(f"{'network':<{width}} {'instructions':>14}{pools}{'code':>8}{'cpu s':>7}")
    for network in networks:
        result = results[network.label]
        if not result.pools:
            print(f"{network.label:<{width}} {result.state}: {result.reason}")
            continue
        used = {pool.name: pool for pool in result.pools}
        cells = "".join(f"{use_text(used.get(name)):>20}" for name in ("l1", "sram", "flash"))
        mark = "" if result.state == "passed" else f"  {result.state}: {result.reason}"
        numbers = f"{result.instructions:>14,}{cells}{result.code:>8,}{result.seconds:>7.1f}"
        print(f"{network.label:<{width}} {numbers}{mark}")


def use_text(pool: Pool | None) -> str:
    if pool is None or not pool.used:
        return "-"
    return f"{pool.used:,} =" if pool.used == pool.bound else f"{pool.used:,} >{pool.bound:,}"


def summary(networks: Sequence[Network], results: dict[str, Result]) -> int:
    """Counts, and the exit status."""
    failed = False
    for origin, chosen in (
        ("deeploy", [n for n in networks if n.of_deeploy]),
        ("others", [n for n in networks if not n.of_deeploy]),
    ):
        states = [results[network.label].state for network in chosen]
        passed, refused = states.count("passed"), states.count("refused")
        print(f"{origin}: passed {passed}, refused {refused}, failed {len(states) - passed - refused}")
        failed |= passed + refused < len(states) or refused > (MOST_REFUSED if origin == "deeploy" else 0)
    bounds = [pool for result in results.values() for pool in result.pools]
    equal = sum(pool.used == pool.bound for pool in bounds)
    print(f"pools at their lower bound: {equal} of {len(bounds)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
