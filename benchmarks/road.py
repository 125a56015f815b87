"""Measures networks against bounds, goals and peers, on RV32 and on a Cortex-M3 in QEMU.

    python benchmarks/road.py --corpus FOLDER [--all] [--build FOLDER] [--only TEXT] [--cores]

Builds golden firmwares of the networks in peers.toml by the public CMake functions (untiled,
-O2), runs them, and prints instructions per inference and per multiply-accumulate, bytes of
read-write pools without what the caller owns, and bytes of code with the kernels that a network
pulls in. Networks with goals in peers.toml are built for more cores and as MinSizeRel too: one
line for each core shows instructions of one inference for each nominal multiply-accumulate, beside
the goal, and bytes of code at both levels. Instructions are not cycles: what a core waits for in
flash, multiplier and branches comes on top. Exit status 1 if a limit below is missed or an output
is wrong; a goal that is missed is marked. Counts repeat exactly with one compiler; limits and goals
hold for GCC 12.2. Needs tilewright's environment, CMake, Ninja, riscv64-unknown-elf-gcc with
qemu-system-riscv32, and arm-none-eabi-gcc with qemu-system-arm.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from corpus_parser import corpus_parser
from link_map import allocators, code_bytes

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
TOOLCHAINS = HERE.parent / "cmake/toolchains"
TOOLCHAIN = TOOLCHAINS / "riscv64-unknown-elf-gcc.cmake"
ARM_TOOLCHAIN = TOOLCHAINS / "arm-none-eabi-gcc.cmake"
NOT_SUPPORTED = 4
"""Exit status of tilewright for a network that it refuses."""

SCRATCH_LIMIT = 1024
PER_MAC_LIMIT = 4.5
CODE_LIMIT = 10 * 1024
POOL_LIMITS = {"KWS int8": 16_000, "IC int8": 49_152, "AD int8": 256}
PER_MAC_LIMITED = ("KWS int8", "IC int8")
CODE_LIMITED = ("KWS int8",)


@dataclass(frozen=True)
class CorePlatform:
    """A core for which goals are stated; with an empty ``platform`` each row keeps its own platform."""

    toolchain: Path
    platform: str = ""


CORES = {
    "rv32imac": CorePlatform(TOOLCHAIN),
    "rv32imafc": CorePlatform(TOOLCHAIN),
    "rv32-rvv": CorePlatform(TOOLCHAIN, "rv32-rvv"),
    "cortex-m0": CorePlatform(ARM_TOOLCHAIN, "cortex-m0"),
    "cortex-m4": CorePlatform(ARM_TOOLCHAIN, "cortex-m4"),
    "cortex-m55": CorePlatform(ARM_TOOLCHAIN, "cortex-m55"),
    "cortex-m3": CorePlatform(ARM_TOOLCHAIN, "mps2-an385-single"),
}


@dataclass(frozen=True)
class Row:
    """A network as peers.toml gives it; peers have (instructions in millions, RAM KB, code KB), goals
    instructions for each multiply-accumulate, by core.
    """

    label: str
    folder: Path
    platform: str
    peers: dict[str, tuple[float, float, float]]
    goals: dict[str, float]

    @property
    def target(self) -> str:
        return re.sub(r"\W+", "_", self.label).strip("_").lower()

    @property
    def types(self) -> list[str]:
        file = self.folder / "types.json"
        table = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        return [f"{tensor}={dtype}" for tensor, dtype in table.items()]


@dataclass(frozen=True)
class Measured:
    """What Tilewright's firmware takes: sizes in bytes; ``scratch`` is the largest scratch buffer in ``pools``."""

    instructions: int
    macs: int
    pools: int
    scratch: int
    code: int
    allocators: tuple[str, ...]
    passed: bool


def main() -> int:
    arguments = parse_arguments()
    rows = read_rows(HERE / "peers.toml", arguments.corpus.resolve(), everything=arguments.all)
    rows = [row for row in rows if arguments.only in row.label]
    supported = [row for row in rows if can_be_compiled(row)]
    with tempfile.TemporaryDirectory() as folder:
        build = arguments.build.resolve() if arguments.build else Path(folder)
        if arguments.cores:
            print_cores(supported, build)
            return 0
        build_firmwares(supported, build)
        results = {row.label: measure(row, build) for row in supported}
        print_peers(rows, results)
        print_cores(supported, build)
    problems = [line for row in supported for line in check_limits(row, results[row.label])]
    problems += [f"{label}: was not measured" for label in POOL_LIMITS if label not in results]
    print()
    print("\n".join(problems) if problems else "all limits are kept")
    return 1 if problems else 0


def parse_arguments() -> argparse.Namespace:
    parser = corpus_parser(
        "Measures networks against bounds and peers.", only="rows whose label has this text", build=True
    )
    parser.add_argument("--all", action="store_true", help="also the rows that take long")
    parser.add_argument(
        "--cores", action="store_true", help="print only the lines for each core, of rows that have goals"
    )
    return parser.parse_args()


def read_rows(file: Path, corpus: Path, *, everything: bool) -> list[Row]:
    table = tomllib.loads(file.read_text(encoding="utf-8"))
    return [
        Row(
            entry["label"],
            corpus / entry["folder"],
            entry["platform"],
            {peer: tuple(values) for peer, values in entry["peers"].items()},
            entry.get("goals", {}),
        )
        for entry in table["network"]
        if everything or not entry.get("long", False)
    ]


def can_be_compiled(row: Row) -> bool:
    """False, with the reason printed, for a network that is absent or not supported yet."""
    model = row.folder / "network.onnx"
    if not model.exists():
        print(f"{row.label}: {row.folder} is not in the corpus")
        return False
    types = [f"--type={text}" for text in row.types]
    done = tilewright("plan", "--model", str(model), "--platform", row.platform, *types)
    if done.returncode not in (0, NOT_SUPPORTED):
        sys.exit(f"{row.label}: {done.stderr}")
    if done.returncode:
        print(f"{row.label}: {done.stderr.strip().splitlines()[0]}")
    return done.returncode == 0


def tilewright(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tilewright", *arguments], capture_output=True, text=True, check=False)


def build_firmwares(rows: Sequence[Row], build: Path, *settings: str, toolchain: Path = TOOLCHAIN) -> None:
    networks = ";".join("|".join((row.target, str(row.folder), row.platform, ",".join(row.types), "")) for row in rows)
    configure = ["cmake", "-S", str(HERE / "road"), "-B", str(build), "-G", "Ninja", f"-DNETWORKS={networks}"]
    configure += [f"-DCMAKE_TOOLCHAIN_FILE={toolchain}", f"-DTILEWRIGHT_PYTHON={sys.executable}"]
    configure += [f"-D{setting}" for setting in settings]
    for command in (configure, ["cmake", "--build", str(build), "-j", "2"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            sys.exit(done.stdout)


def measure(row: Row, build: Path) -> Measured:
    program = build / f"{row.target}.golden"
    done = tilewright("simulate", "--platform", row.platform, "--elf", str(program), "--timeout", "600")
    found = re.search(r"^run 0: instructions (\d+)$", done.stdout, re.MULTILINE)
    plan = json.loads((build / "tilewright" / row.target / "net_plan.json").read_text(encoding="utf-8"))
    text = Path(f"{program}.map").read_text(encoding="utf-8")
    return Measured(
        instructions=int(found[1]) if found else 0,
        macs=sum(layer["macs"] for layer in plan["layers"]),
        pools=written_bytes(plan),
        scratch=max((b["size_bytes"] for b in plan["buffers"] if b["kind"] == "scratch"), default=0),
        code=code_bytes(text, f"lib{row.target}.a"),
        allocators=tuple(allocators(text)),
        passed=done.returncode == 0,
    )


def written_bytes(plan: dict[str, Any]) -> int:
    """Bytes used of all read-write pools."""
    written = {pool["name"] for pool in plan["pools"] if pool["access"] == "rw"}
    return sum(int(use["used_bytes"]) for use in plan["pool_use"] if use["pool"] in written)


def check_limits(row: Row, ours: Measured) -> list[str]:
    """One line for every limit that is missed."""
    problems = []
    if not ours.passed:
        problems.append(f"{row.label}: the outputs are wrong")
    if ours.allocators:
        problems.append(f"{row.label}: the link map names {', '.join(ours.allocators)}")
    bound = POOL_LIMITS.get(row.label)
    if bound is not None and ours.pools > bound + min(ours.scratch, SCRATCH_LIMIT):
        problems.append(f"{row.label}: {ours.pools:,} bytes, {bound:,} and {ours.scratch:,} of scratch are the limit")
    if row.label in PER_MAC_LIMITED and ours.instructions > PER_MAC_LIMIT * ours.macs:
        problems.append(f"{row.label}: {ours.instructions / ours.macs:.2f} instructions per MAC, limit {PER_MAC_LIMIT}")
    if row.label in CODE_LIMITED and ours.code > CODE_LIMIT:
        problems.append(f"{row.label}: {ours.code:,} bytes of code, limit {CODE_LIMIT:,}")
    return problems


def print_peers(rows: Sequence[Row], results: dict[str, Measured]) -> None:
    print(f"\n{'network':<24}{'tool':<18}{'instructions':>14}{'per MAC':>9}{'RAM bytes':>12}{'code bytes':>12}")
    for row in rows:
        ours = results.get(row.label)
        macs = ours.macs if ours else 0
        if ours:
            print_line(row.label, "tilewright", ours.instructions, macs, ours.pools, ours.code)
        for peer, (millions, ram, code) in row.peers.items():
            label = "" if ours or peer != next(iter(row.peers)) else row.label
            print_line(label, peer, millions * 1e6, macs, ram * 1000, code * 1000)


def print_cores(rows: Sequence[Row], build: Path) -> None:
    """Builds and measures the rows that have goals for each core, and prints a line for each."""
    print(
        f"\n{'network':<24}{'core':<12}{'instructions':>14}{'per MAC':>9}{'goal':>7}{'code -O2':>10}{'MinSizeRel':>12}"
    )
    for core, place in CORES.items():
        wanted = [replace(row, platform=place.platform or row.platform) for row in rows if core in row.goals]
        if not wanted:
            continue
        large, small = build / f"{core}-O2", build / f"{core}-MinSizeRel"
        build_firmwares(wanted, large, toolchain=place.toolchain)
        build_firmwares(wanted, small, "CMAKE_BUILD_TYPE=MinSizeRel", toolchain=place.toolchain)
        for row in wanted:
            print_core(row, core, measure(row, large), measure(row, small))


def print_core(row: Row, core: str, large: Measured, small: Measured) -> None:
    each, goal = large.instructions / large.macs, row.goals[core]
    mark = "" if large.passed and small.passed else "  WRONG OUTPUT"
    mark += "" if each <= goal else "  goal missed"
    values = f"{large.instructions:>14,}{each:>9.2f}{goal:>7}{large.code:>10,}{small.code:>12,}"
    print(f"{row.label:<24}{core:<12}{values}{mark}", flush=True)


def print_line(label: str, tool: str, instructions: float, macs: int, ram: float, code: float) -> None:
    per_mac = f"{instructions / macs:.2f}" if macs else "-"
    values = [f"{round(value):,}" if value else "-" for value in (ram, code)]
    print(f"{label:<24}{tool:<18}{round(instructions):>14,}{per_mac:>9}{values[0]:>12}{values[1]:>12}")


if __name__ == "__main__":
    sys.exit(main())
