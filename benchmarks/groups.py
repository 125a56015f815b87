"""What groups of layers cost and save: networks layer by layer and block by block, on RV32 in QEMU.

    python benchmarks/groups.py --corpus FOLDER [--only TEXT] [--build FOLDER] [--markdown FILE]

Each network is built as a golden test for a core that addresses all its memory, in several ways: layer by layer; with
the groups of the fewest bytes among plans that are predicted to take at most 3 % longer; in a pool of a given size;
with the fewest bytes whatever they cost, without and with inputs and outputs in the pool. The table has the bytes of
read-write pools, the same with the inputs and outputs that lie with the caller, instructions of one inference, and
their ratio to layer by layer, as measured and as predicted. Exit status 1 if outputs are wrong.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from corpus_parser import corpus_parser
from road import TOOLCHAIN, tilewright, written_bytes

HERE = Path(__file__).resolve().parent
NETWORKS = (
    "kws_int8",
    "ic_int8",
    "mcunet_vww1_80_int8",
    "mbv2_035_144_int8",
    "mbv2_100_224_int8",
    "unet48_int8",
    "unet64",
    "espdl_streaming_tcn",
)
WAYS = {
    "apart": 'groups = "off"\n',
    "groups": 'groups = "auto"\n',
    "least": 'groups = "auto"\nobjective = "bytes_used"\n',
    "placed": 'groups = "auto"\nobjective = "bytes_used"\nio_in_pools = true\n',
}
GIVEN = {
    "kws_int8": 'pools = ["sram=6498"]\n',
    "ic_int8": 'pools = ["sram=17500"]\nio_in_pools = true\n',
    "mcunet_vww1_80_int8": 'pools = ["sram=13300"]\n',
    "mbv2_100_224_int8": 'objective = "bytes_used"\noutputs_in_pools = true\n',
}
"""Pools of a size between what the other ways take, that of ic_int8 with its input and output; or outputs in pools."""


@dataclass(frozen=True)
class Measured:
    """Bytes of read-write pools, bytes of the caller's tensors, instructions, predicted cycles of one way."""

    pools: int
    callers: int
    instructions: int
    predicted: int
    groups: int
    passed: bool


def main() -> int:
    parser = corpus_parser(
        "What groups of layers cost and save.", only="networks whose name has this text", build=True, markdown=True
    )
    arguments = parser.parse_args()
    names = [name for name in NETWORKS if arguments.only in name and (arguments.corpus / "onnx" / name).is_dir()]
    with tempfile.TemporaryDirectory() as folder:
        build = arguments.build.resolve() if arguments.build else Path(folder)
        build.mkdir(parents=True, exist_ok=True)
        build_firmwares(names, arguments.corpus.resolve() / "onnx", build)
        found = {
            name: {way: measure(f"{name}_{way}", platform_of(name), build) for way in ways_of(name)} for name in names
        }
    text = table(found)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")
    return int(not all(item.passed for ways in found.values() for item in ways.values()))


def ways_of(name: str) -> dict[str, str]:
    """The options of each way in which a network is built."""
    if name not in GIVEN:
        return WAYS
    return {**WAYS, "given": 'groups = "auto"\n' + GIVEN[name]}


def platform_of(name: str) -> str:
    return "qemu-virt-rv32-single" if name.endswith("int8") else "qemu-virt-rv32f-single"


def build_firmwares(names: Sequence[str], corpus: Path, build: Path) -> None:
    options = {f"{name}_{way}": text for name in names for way, text in ways_of(name).items()}
    for target, text in options.items():
        (build / f"{target}.toml").write_text(text, encoding="utf-8")
    entries = [
        "|".join((target, str(corpus / name), platform_of(name), "", "", tolerance(name), f"{build / target}.toml"))
        for name in names
        for target in (f"{name}_{way}" for way in ways_of(name))
    ]
    built(entries, build)


def built(entries: Sequence[str], build: Path, toolchain: Path = TOOLCHAIN) -> None:
    """Golden tests, one for each entry of the list NETWORKS of ``road/CMakeLists.txt``, in ``build``/road."""
    configure = ["cmake", "-S", str(HERE / "road"), "-B", str(build / "road"), "-G", "Ninja"]
    configure += [f"-DNETWORKS={';'.join(entries)}", f"-DCMAKE_TOOLCHAIN_FILE={toolchain}"]
    configure += [f"-DTILEWRIGHT_PYTHON={sys.executable}"]
    for command in (configure, ["cmake", "--build", str(build / "road"), "-j", "2"]):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            sys.exit(done.stdout)


def tolerance(name: str) -> str:
    return "1:0" if name.endswith("int8") else "1e-4:1e-4"


def measure(target: str, platform: str, build: Path) -> Measured:
    program = build / "road" / f"{target}.golden"
    done = tilewright("simulate", "--platform", platform, "--elf", str(program), "--timeout", "900")
    found = re.search(r"^run 0: instructions (\d+)$", done.stdout, re.MULTILINE)
    plan = json.loads((build / "road" / "tilewright" / target / "net_plan.json").read_text(encoding="utf-8"))
    placed = {item["buffer"] for item in plan["placements"]}
    tensors = [item for item in (*plan["inputs"], *plan["outputs"]) if item["buffer"] not in placed]
    return Measured(
        pools=written_bytes(plan),
        callers=sum(prod(item["shape"]) * np.dtype(item["dtype"]).itemsize for item in tensors),
        instructions=int(found[1]) if found else 0,
        predicted=sum(layer["predicted_cycles"] for layer in plan["layers"]),
        groups=grouped_layers(plan),
        passed=done.returncode == 0,
    )


def grouped_layers(plan: dict[str, Any]) -> int:
    """Layers of the network that run in groups."""
    return sum(len(step["stages"]) for step in plan["program"] if len(step.get("stages", ())) > 1)


def table(found: dict[str, dict[str, Measured]]) -> str:
    """The table as Markdown, with a trailing newline."""
    lines = [
        "| network | way | pools | with the caller's | instructions | ratio | predicted | layers in groups |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name, ways in found.items():
        base = ways["apart"]
        for way, item in ways.items():
            ratios = [
                f"{own / whole:.3f}" if whole else "-"
                for own, whole in ((item.instructions, base.instructions), (item.predicted, base.predicted))
            ]
            numbers = [f"{number:,}" for number in (item.pools, item.pools + item.callers, item.instructions)]
            wrong = "" if item.passed else " (outputs are wrong)"
            lines.append(f"| {name} | {way}{wrong} | {' | '.join((*numbers, *ratios, str(item.groups)))} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
