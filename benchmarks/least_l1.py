"""The least l1 of networks and the layer that decides it, from the errors of plans that do not fit; nothing is run.

    python benchmarks/least_l1.py --corpus FOLDER [--network TEXT]... [--markdown FILE]

Every network is planned for qemu-virt-rv32 with one byte of l1, then with as many bytes as each error names, until a
plan fits. The last error names the layer and its largest buffer. sweep.py runs the plans of these sizes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import corpus
from corpus_parser import corpus_parser
from sweep_network import LEAST, NEEDED, POOL
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.base.outputs import write_file
from tilewright.options import CompileOptions
from tilewright.pipeline import plan_model

PLATFORM = "qemu-virt-rv32"


@dataclass(frozen=True)
class Least:
    """A network's least bytes of l1, and what the error for one byte less says; or why the network has no plan."""

    name: str
    size_bytes: int
    decided_by: str = ""
    refused: str = ""

    def row(self) -> str:
        if self.refused:
            return f"| {self.name} | | {self.refused} |"
        layer, _, alive = self.decided_by.partition(", step ")
        largest = re.split(r", (?=\D)", alive.partition("alive: ")[2])[0]
        return f"| {self.name} | {self.size_bytes:,} | {layer}: {short(largest)} |"


def short(buffer: str) -> str:
    """A buffer and its bytes without the layer's name: weights 160 for conv.weights.tile 160."""
    name, _, size = buffer.rpartition(" ")
    return f"{name.removesuffix('.tile').rpartition('.')[2]} {size}"


def main() -> int:
    parser = corpus_parser(__doc__, markdown=True)
    parser.add_argument("--network", action="append", default=[], help="only those with this text; may be repeated")
    arguments = parser.parse_args()
    found = [
        network
        for network in corpus.find_networks(arguments.corpus.resolve(), "")
        if not arguments.network or any(text in network.label for text in arguments.network)
    ]
    rows = []
    for item in measured(found):
        rows.append(item)
        print(item.row(), flush=True)
    if arguments.markdown:
        write_file(arguments.markdown, ("\n".join(table(rows)) + "\n").encode())
    return 0


def measured(networks: Sequence[corpus.Network]) -> Iterator[Least]:
    for network in networks:
        yield least(network)


def least(network: corpus.Network) -> Least:
    """The least l1 of a network, found from one error to the next."""
    size, decided_by = LEAST, ""
    while True:
        try:
            plan_model(options(network, size))
        except TilewrightError as error:
            told = NEEDED.search("\n".join(error.help))
            if error.status is not ExitStatus.DOES_NOT_FIT or told is None or int(told[1]) <= size:
                return Least(network.label, size, refused=f"{error.code}: {error.what.splitlines()[0]}")
            size, decided_by = int(told[1]), "; ".join(error.at)
        else:
            return Least(network.label, size, decided_by)


def options(network: corpus.Network, size: int) -> CompileOptions:
    path, types = network.folder / "network.onnx", tuple(network.types.items())
    return CompileOptions(path, PLATFORM, "net", pools=(f"{POOL}={size}",), types=types)


def table(rows: Sequence[Least]) -> Iterator[str]:
    yield f"| network | least {POOL} | decided by |"
    yield "|---|--:|---|"
    for row in sorted(rows, key=lambda row: row.name):
        yield row.row()


if __name__ == "__main__":
    sys.exit(main())
