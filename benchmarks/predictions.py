"""Compares predicted with measured instructions of whole networks, on every platform that QEMU runs.

    python benchmarks/predictions.py --corpus FOLDER [--only TEXT] [--build FOLDER] [--markdown FILE]

Builds golden firmwares by the public CMake functions (-O2), runs one inference of each, and prints what the plan's
layers are predicted to take beside what QEMU counts, in several sizes of ``l1`` where kernels reach ``l1`` only. Exit
status 1 if a prediction is off by more than LIMIT or an output is wrong; ``--only`` takes platforms and networks whose
name has a text. Counts repeat exactly with one compiler; LIMIT holds for GCC 12.2. Needs tilewright's environment,
CMake, Ninja, riscv64-unknown-elf-gcc with qemu-system-riscv32, and arm-none-eabi-gcc with qemu-system-arm.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpus_parser import corpus_parser
from groups import built
from road import ARM_TOOLCHAIN, TOOLCHAIN, Row, tilewright

LIMIT = 0.05
QUANTISED = (
    "onnx/kws_int8",
    "onnx/ic_int8",
    "onnx/ad_int8",
    "deeploy/Models/MLPerf/KeywordSpotting",
    "deeploy/Models/MLPerf/ImageClassification",
)
FLOATS = ("onnx/kws_f32", "onnx/ic_f32", "onnx/ad_f32")
LITE = (
    *(
        f"tflite/{name}_int8"
        for name in ("kws", "ic", "ad", "cnn_s_kws", "person_detect", "rps", "te_vww80", "te_lenet")
    ),
    *(
        f"tflite/{name}"
        for name in ("mnist_lstm_int8", "ad_fullint_floatio", "op16_conv0", "op16_conv10", "op16_tconv1")
    ),
)
SIZES = (65_536, 16_000, 8_000)


@dataclass(frozen=True)
class Board:
    """What is measured on a platform: networks (folders of the corpus), and sizes of ``l1``; 0 for one without."""

    toolchain: Path
    networks: tuple[str, ...] = QUANTISED
    sizes: tuple[int, ...] = (0,)


BOARDS = {
    "qemu-virt-rv32-single": Board(TOOLCHAIN, (*QUANTISED, *LITE)),
    "qemu-virt-rv32": Board(TOOLCHAIN, (*QUANTISED, "onnx/mcunet_vww1_80_int8", "onnx/mbv2_035_144_int8"), SIZES),
    "qemu-virt-rv32-l3": Board(TOOLCHAIN, sizes=SIZES[1:]),
    "qemu-virt-rv32f-single": Board(TOOLCHAIN, FLOATS),
    "qemu-virt-rv32f": Board(TOOLCHAIN, FLOATS, SIZES),
    "rv32-rvv": Board(TOOLCHAIN),
    "mps2-an385-single": Board(ARM_TOOLCHAIN, (*QUANTISED, *LITE[:3])),
    "mps2-an385": Board(ARM_TOOLCHAIN, sizes=SIZES),
    "cortex-m0": Board(ARM_TOOLCHAIN),
    "cortex-m4": Board(ARM_TOOLCHAIN),
    "cortex-m7": Board(ARM_TOOLCHAIN),
    "cortex-m33": Board(ARM_TOOLCHAIN),
    "cortex-m55": Board(ARM_TOOLCHAIN),
}


@dataclass(frozen=True)
class Case:
    """One firmware: a network on a platform; ``l1`` is 0 where the platform has no such pool."""

    platform: str
    folder: Path
    l1: int

    @property
    def network(self) -> str:
        """The network's name; some are in the corpus as ONNX and as .tflite."""
        return f"{self.folder.name}{'.tflite' * (self.folder / 'model.tflite').exists()}"

    @property
    def target(self) -> str:
        return re.sub(r"\W+", "_", f"{self.platform}_{self.network}_{self.l1}")

    @property
    def entry(self) -> str:
        """The firmware as an entry of the list NETWORKS of ``road/CMakeLists.txt``."""
        types = ",".join(Row("", self.folder, self.platform, {}, {}).types)
        pool = f"l1={self.l1}" if self.l1 else ""
        tolerance = "1e-4:1e-4" if self.folder.name.endswith("f32") else "1:0"
        return "|".join((self.target, str(self.folder), self.platform, types, pool, tolerance))


@dataclass(frozen=True)
class Measured:
    """Instructions of one inference, predicted and counted."""

    predicted: int
    counted: int
    passed: bool

    @property
    def error(self) -> float:
        """Of the counted instructions: how much more are predicted."""
        return self.predicted / self.counted - 1.0 if self.counted else 0.0

    @property
    def is_close(self) -> bool:
        """Whether outputs are right and the prediction is within LIMIT."""
        return self.passed and self.counted > 0 and abs(self.predicted - self.counted) <= LIMIT * self.counted


def main() -> int:
    parser = corpus_parser(
        "Compares predicted with counted instructions on QEMU's platforms.",
        only="platforms and networks whose name has this text",
        build=True,
        markdown=True,
    )
    arguments = parser.parse_args()
    cases = list(chosen_cases(arguments.corpus.resolve(), arguments.only))
    with tempfile.TemporaryDirectory() as temporary:
        build = arguments.build.resolve() if arguments.build else Path(temporary)
        found = dict(measured(cases, build))
    text = table(found)
    print(text)
    if arguments.markdown:
        arguments.markdown.write_text(text, encoding="utf-8")
    missed = sum(not item.is_close for item in found.values())
    print(f"{missed} of {len(found)} missed" if missed or not found else f"all {len(found)} within {LIMIT:.0%}")
    return 1 if missed or not found else 0


def chosen_cases(corpus: Path, only: str) -> Iterator[Case]:
    """The firmwares of which the platform or the network has the text ``only``."""
    for platform, board in BOARDS.items():
        for network in board.networks:
            if only in platform or only in network:
                yield from (Case(platform, corpus / network, size) for size in board.sizes)


def measured(cases: Sequence[Case], build: Path) -> Iterator[tuple[Case, Measured]]:
    """Builds all firmwares, one project for each toolchain, and runs them."""
    for toolchain in (TOOLCHAIN, ARM_TOOLCHAIN):
        own = [case for case in cases if BOARDS[case.platform].toolchain == toolchain]
        if not own:
            continue
        folder = build / toolchain.stem
        folder.mkdir(parents=True, exist_ok=True)
        built([case.entry for case in own], folder, toolchain)
        for case in own:
            yield case, measure(case, folder / "road")


def measure(case: Case, build: Path) -> Measured:
    program = build / f"{case.target}.golden"
    done = tilewright("simulate", "--platform", case.platform, "--elf", str(program), "--timeout", "900")
    found = re.search(r"^run 0: instructions (\d+)$", done.stdout, re.MULTILINE)
    plan = json.loads((build / "tilewright" / case.target / "net_plan.json").read_text(encoding="utf-8"))
    predicted = sum(layer["predicted_cycles"] for layer in plan["layers"])
    return Measured(predicted, int(found[1]) if found else 0, done.returncode == 0)


def table(found: dict[Case, Measured]) -> str:
    """The table as Markdown, with a trailing newline."""
    lines = ["| platform | network | l1 | predicted | counted | error | |", "|---|---|--:|--:|--:|--:|---|"]
    lines += [row(case, item) for case, item in found.items()]
    return "\n".join(lines) + "\n"


def row(case: Case, item: Measured) -> str:
    mark = "" if item.is_close else "missed" if item.passed else "wrong output"
    size = f"{case.l1:,}" if case.l1 else ""
    error = f"{100 * item.error:+.1f} %".replace("-", "\N{MINUS SIGN}")
    cells = (case.platform, case.network, size, f"{item.predicted:,}", f"{item.counted:,}", error, mark)
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
