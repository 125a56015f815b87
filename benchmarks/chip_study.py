"""A study as a chip designer would make it: how much l1 and l2, and is a DMA worth its area?

    python benchmarks/chip_study.py [--jobs N] [--folder FOLDER] [--page FILE.md] [--picture FILE.svg]

Makes twelve small networks of four kinds (keywords, images, motion, anomalies; three widths each),
plans each with `tilewright explore` on a chip of three levels, with every combination of 7 sizes
of l1, 3 of l2, and copies that the core waits for or a DMA makes: 504 points. Prints for each size
of l1 how many networks fit, and how much slower they are than at their fastest point; --page writes
the tables into docs/explanation/chip-study.md, --picture what it shows. With --folder a study that
was ended goes on.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from tilewright.tools.study import points_of, read_study

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = (8, 16, 24)
L1 = (1024, 2048, 3072, 4096, 6144, 8192, 16384)
L2 = (12288, 24576, 65536)
SLOWER_PERCENT = (1, 35, 70, 75, 100)
WAITS, DMA = "waits", "dma"


class Network:
    """A float32 network under construction; each new layer reads the last one."""

    def __init__(self, shape: Sequence[int], seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.start, self.last, self.channels = list(shape), "x", shape[1]

    def add(self, operator: str, inputs: Sequence[str], **attributes: object) -> str:
        """Append a node; returns the name of its output."""
        self.last = f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [self.last], **attributes))
        return self.last

    def weights(self, *shape: int) -> str:
        """A constant of small random values."""
        name = f"w{len(self.constants)}"
        values = (self.random.standard_normal(shape) / 8).astype(np.float32)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def conv(self, outputs: int, kernel: tuple[int, int], stride: int = 1, groups: int = 1) -> str:
        """A convolution that keeps the extents (or divides them by the stride), and its activation."""
        taps = self.weights(outputs, self.channels // groups, *kernel)
        pads = [extent // 2 for extent in kernel] * 2
        self.add("Conv", [self.last, taps], pads=pads, strides=[stride, stride], group=groups)
        self.channels = outputs
        return self.add("Relu", [self.last])

    def dense(self, inputs: int, outputs: int) -> str:
        """A fully connected layer with its bias."""
        return self.add("Gemm", [self.last, self.weights(inputs, outputs), self.weights(outputs)])

    def content(self) -> bytes:
        """The content of the ONNX file."""
        info = helper.make_tensor_value_info
        ends = [info("x", TensorProto.FLOAT, self.start)], [info(self.last, TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, "study", *ends, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
        return bytes(model.SerializeToString(deterministic=True))


def keywords(width: int) -> Network:
    """Depthwise-separable blocks over 24 frames of 10 coefficients."""
    net = Network([1, 1, 24, 10], width)
    net.conv(width, (5, 3))
    for _ in range(2):
        net.conv(width, (3, 3), groups=width)
        net.conv(width, (1, 1))
    net.add("GlobalAveragePool", [net.last])
    net.add("Flatten", [net.last])
    net.dense(width, 12)
    return net


def images(width: int) -> Network:
    """A residual block and a block that halves rows and columns, over 16 x 16 pixels."""
    net = Network([1, 3, 16, 16], width)
    kept = net.conv(width, (3, 3))
    net.conv(width, (3, 3))
    net.add("Add", [net.last, kept])
    net.conv(2 * width, (3, 3), stride=2)
    net.add("GlobalAveragePool", [net.last])
    net.add("Flatten", [net.last])
    net.dense(2 * width, 10)
    return net


def motion(width: int) -> Network:
    """Convolutions along 64 samples of three axes."""
    net = Network([1, 3, 64, 1], width)
    for kernel in (7, 5, 3):
        net.conv(width, (kernel, 1))
    net.add("GlobalAveragePool", [net.last])
    net.add("Flatten", [net.last])
    net.dense(width, 6)
    return net


def anomalies(width: int) -> Network:
    """An autoencoder over 160 values."""
    net = Network([1, 160], width)
    sizes = (160, 4 * width, 2 * width, 8, 2 * width, 4 * width, 160)
    for inputs, outputs in pairwise(sizes):
        net.dense(inputs, outputs)
        net.add("Relu", [net.last])
    return net


KINDS = (keywords, images, motion, anomalies)


def write_study(folder: Path) -> Path:
    """The models, the two platforms and the study file."""
    folder.mkdir(parents=True, exist_ok=True)
    models = []
    for kind in KINDS:
        for width in WIDTHS:
            models.append(f"{kind.__name__}_{width}.onnx")
            (folder / models[-1]).write_bytes(kind(width).content())
    text = (ROOT / "platforms" / "qemu-virt-rv32-l3.toml").read_text(encoding="utf-8")
    for name in (WAITS, DMA):
        own = text.replace('name = "qemu-virt-rv32-l3"', f'name = "{name}"')
        own = own.replace("asynchronous = false", f"asynchronous = {str(name == DMA).lower()}")
        (folder / f"{name}.toml").write_text(own, encoding="utf-8")
    lines = [f"models = {models}", f'platforms = ["{WAITS}.toml", "{DMA}.toml"]', "[pools]"]
    lines += [f"l1 = {list(L1)}", f"l2 = {list(L2)}", "[options]", 'effort = "fast"']
    study = folder / "study.toml"
    study.write_text("\n".join(lines).replace("'", '"') + "\n", encoding="utf-8")
    return study


@dataclass(frozen=True)
class Point:
    """A row of the table of points; cycles are None where the network does not fit."""

    model: str
    platform: str
    l1: int
    l2: int
    cycles: int | None


def read_points(table: Path, fingerprints: Collection[str]) -> list[Point]:
    """The rows that explore wrote for points of these fingerprints; the table may have others, of earlier studies."""
    found = []
    with table.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["fingerprint"] not in fingerprints:
                continue
            sizes = dict(word.split("=") for word in row["pools"].split())
            cycles = int(row["predicted_cycles"]) if row["status"] == "planned" else None
            platform = row["platform"].removesuffix(".toml")
            found.append(Point(row["model"], platform, int(sizes["l1"]), int(sizes["l2"]), cycles))
    return found


@dataclass(frozen=True)
class Choice:
    """A chip: how many networks fit, and how much slower these are than their fastest point, at most and on average."""

    platform: str
    l1: int
    l2: int
    fitting: int
    mean: float
    worst: float


def choices(points: Sequence[Point]) -> Iterator[Choice]:
    """Every chip of the study."""
    best: dict[str, int] = {}
    for point in points:
        if point.cycles is not None:
            best[point.model] = min(best.get(point.model, point.cycles), point.cycles)
    for platform in (WAITS, DMA):
        for l2 in L2:
            for l1 in L1:
                of = [item for item in points if (item.platform, item.l1, item.l2) == (platform, l1, l2)]
                slower = [item.cycles / best[item.model] for item in of if item.cycles is not None]
                mean = exp(sum(map(log, slower)) / len(slower)) if slower else 0.0
                yield Choice(platform, l1, l2, len(slower), mean, max(slower, default=0.0))


def smallest(found: Sequence[Choice], count: int, most: float) -> Choice | None:
    """The chip of the fewest bytes on which all networks fit and none is slower than allowed."""
    fits = [item for item in found if item.fitting == count and item.worst <= most]
    return min(fits, key=lambda item: (item.l1 + item.l2, item.platform == DMA), default=None)


def tables(points: Sequence[Point], found: Sequence[Choice]) -> str:
    """The study's tables as Markdown."""
    count = len({point.model for point in points})
    planned = sum(point.cycles is not None for point in points)
    lines = [f"{len(points)} points of {count} networks; {planned} of them fit.", ""]
    for platform, title in ((WAITS, "Without a DMA: the core waits for copies"), (DMA, "With a DMA")):
        lines += [f"## {title}", "", "| l1 | " + " | ".join(f"l2 {size:,}" for size in L2) + " |"]
        lines.append("|--:" * (1 + len(L2)) + "|")
        for l1 in L1:
            row = [next(item for item in found if (item.platform, item.l1, item.l2) == (platform, l1, l2)) for l2 in L2]
            cells = [
                f"{item.mean:.3f} ({item.worst:.3f})" + ("" if item.fitting == count else f", {item.fitting} fit")
                if item.fitting
                else "none fits"
                for item in row
            ]
            lines.append(f"| {l1:,} | " + " | ".join(cells) + " |")
        lines.append("")
    lines += ["## The smallest chip", "", "| slower by at most | l1 | l2 | copies |", "|--:|--:|--:|---|"]
    for percent in SLOWER_PERCENT:
        item = smallest(found, count, 1 + percent / 100)
        where = (
            f"{item.l1:,} | {item.l2:,} | {'a DMA' if item.platform == DMA else 'the core waits'}"
            if item
            else "- | - | -"
        )
        lines.append(f"| {percent} % | {where} |")
    return "\n".join(lines) + "\n"


def written(page: str, text: str) -> str:
    """A page with the text between its two comments."""
    marks = "(<!-- chip study -->\n).*?(<!-- end of chip study -->)"
    assert len(re.findall(marks, page, re.DOTALL)) == 1
    return re.sub(marks, lambda found: f"{found[1]}{text}{found[2]}", page, flags=re.DOTALL)


def draw(found: Sequence[Choice], count: int) -> bytes:
    """Slowdown over the size of l1, a line for each l2 and way to copy; only chips on which all networks fit."""
    import matplotlib
    from matplotlib.figure import Figure

    content = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "tilewright", "svg.fonttype": "none"}):
        figure = Figure(figsize=(8, 4.5), layout="constrained")
        axes = figure.subplots()
        for platform, style in ((WAITS, "--"), (DMA, "-")):
            for number, l2 in enumerate(L2):
                line = [item for item in found if (item.platform, item.l2, item.fitting) == (platform, l2, count)]
                label = f"l2 {l2:,}{', DMA' if platform == DMA else ''}"
                places = [item.l1 for item in line], [item.mean for item in line]
                axes.plot(*places, style, marker="o", color=f"C{number}", label=label)
        axes.set_xscale("log", base=2)
        axes.set_xticks(L1, [f"{size:,}" for size in L1])
        axes.minorticks_off()
        axes.set_xlabel("bytes of l1")
        axes.set_ylabel("cycles over those of the fastest point, mean")
        axes.grid(alpha=0.3)
        axes.legend()
        figure.savefig(content, format="svg", metadata={"Date": None})
    return content.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--folder", type=Path, help="keep models and table of points here, and go on with the study found here"
    )
    parser.add_argument("--page", type=Path, metavar="FILE.md")
    parser.add_argument("--picture", type=Path, metavar="FILE.svg")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        study, table = write_study(folder), folder / "points.csv"
        words = [sys.executable, "-m", "tilewright", "explore", study, "--output", table, "--jobs", arguments.jobs]
        subprocess.run([str(word) for word in words], check=True)
        points = read_points(table, {point.fingerprint for point in points_of(read_study(study), folder)})
    found = list(choices(points))
    text = tables(points, found)
    if arguments.page:
        arguments.page.write_text(written(arguments.page.read_text(encoding="utf-8"), text), encoding="utf-8")
    if arguments.picture:
        arguments.picture.write_bytes(draw(found, len({point.model for point in points})))
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
