"""What the products of packed convolutions take, and the least that any order of their taps would.

    python benchmarks/packed_runs.py --corpus FOLDER --only TEXT

One multiplication gives the products of two pixels while the magnitudes of a run's weights add up to at most 256
(``kernels/scalar/rounds.py``). Whatever the order of taps and channels and the lengths of runs, the runs of a channel
are at least a 256th of the sum of its magnitudes. Instructions are those of the C core on RV32IMAC: of a tap and of a
run of two channels, for each multiply-accumulate; what runs beside the taps (gathering, rounding, storing) is left out,
and in the bound what it takes to find the next run, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from corpus_parser import corpus_parser
from tilewright.kernels.kernel import ConstantOperand, KernelChoice, packed_array
from tilewright.kernels.scalar.conv_packed import ConvPacked, product_cycles
from tilewright.kernels.scalar.rounds import COLUMNS, HEAD, Core
from tilewright.options import CompileOptions
from tilewright.pipeline import imported_graph, sized_platform
from tilewright.planning.prepare import prepare

LARGEST = 256
"""What the magnitudes of the weights of a run add up to at most."""


@dataclass(frozen=True)
class Products:
    """The packed products of a layer: taps of a channel, and means of its pairs of channels."""

    name: str
    macs: int
    taps: int
    pixels: int
    runs: float
    fewest_runs: float

    def per_mac(self, runs: float) -> float:
        """Instructions of taps and runs for a multiply-accumulate."""
        return product_cycles(self.pixels, self.taps, runs) / (COLUMNS * self.pixels * self.taps)


def products_of(name: str, choice: KernelChoice) -> Products:
    """The products of a layer whose kernel is a packed one with weights of 8 bits."""
    given = choice.given(ConvPacked)
    operand = next(read for read in choice.reads if isinstance(read, ConstantOperand) and read.role == "weights")
    packed = packed_array(operand.data, {}).reshape(-1, HEAD + COLUMNS * given.taps)
    rounds = next(core.rounds for core in Core if given.products.endswith(core.value))
    turns = packed[:, COLUMNS:HEAD].view(np.uint8).astype(np.int64) * given.unit
    lengths, counts = (np.array([how(runs) for runs in rounds]) for how in (sum, len))
    runs = (turns * counts).sum(axis=1) + given.taps - (turns * lengths).sum(axis=1)
    sums = np.abs(packed[:, HEAD:].astype(np.int64)).reshape(-1, given.taps, COLUMNS).sum(axis=1)
    # Channels with like sums make the pairs whose larger sums are least.
    larger = np.sort(sums, axis=None)[1::COLUMNS]
    fewest = float((-(-larger // LARGEST)).mean())
    return Products(name, choice.nest.points, given.taps, given.pixels, float(runs.mean()), fewest)


def network(model: Path) -> list[Products]:
    """The packed products of a model, whose layers run one by one on RV32IMAC."""
    options = CompileOptions(model=model, platform="qemu-virt-rv32-single", name="net")
    sized = sized_platform(options)
    found = []
    for problems in prepare(imported_graph(options, sized), sized, options).problems:
        choice = next((item.kernel for item in problems if "conv_packed" in item.kernel.name), None)
        if choice is not None and "_wide" not in choice.name:
            found.append(products_of(choice.reads[0].tensor, choice))
    return found


def main() -> int:
    parser = corpus_parser("What packed products take, and the least for any order of taps.")
    parser.add_argument("--only", required=True, help="take only networks whose name has this text")
    arguments = parser.parse_args()
    for folder in sorted((arguments.corpus / "onnx").iterdir()):
        if arguments.only in folder.name:
            print_network(folder.name, network(folder / "network.onnx"))
    return 0


def print_network(name: str, layers: list[Products]) -> None:
    print(f"{name:<42}{'taps':>6}{'runs':>8}{'least':>8}{'instructions':>14}{'least':>7}")
    for layer in layers:
        now, least = layer.per_mac(layer.runs), layer.per_mac(layer.fewest_runs)
        print(
            f"  {layer.name:<40.39}{layer.taps:>6}{layer.runs:>8.1f}{layer.fewest_runs:>8.1f}{now:>14.2f}{least:>7.2f}"
        )
    macs = sum(layer.macs for layer in layers)
    now, least = (
        sum(layer.macs * layer.per_mac(runs) for layer, runs in zip(layers, counts, strict=True)) / macs
        for counts in ([layer.runs for layer in layers], [layer.fewest_runs for layer in layers])
    )
    print(f"  {'all':<40}{'':>22}{now:>14.2f}{least:>7.2f}")


if __name__ == "__main__":
    raise SystemExit(main())
