"""Trains a MobileNet of which about half the multiply-accumulates are dead, and one without, and measures both.

    python benchmarks/dead_channels.py train FOLDER
    python benchmarks/dead_channels.py measure FOLDER

`train` needs torch, onnx and onnxruntime in an environment of its own, and about three minutes of one core. Images are
made from a fixed seed: a bright bar at one of eight angles on noise. Both networks have the same shape, a residual sum
in it, and train for as many steps; in one a group L1 penalty on the scales and shifts of batch normalisation takes the
weakest channels to zero until 47 % of the multiply-accumulates compute or read such channels, then it trains on with
these at zero; channels that a residual sum adds go together. Both are quantised by ONNX Runtime to
int8 QDQ with int8 inputs and outputs. FOLDER gets, for each, a folder as a corpus has it.

`measure` builds both for RV32IMAC as road.py does, and prints instructions, their ratio, and multiply-accumulates that
the plans still have. Exit status 1 if an output is wrong; a goal that is missed is marked.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

GOAL = 0.6
SIZE, CLASSES, BATCH, STEPS, RUNS = 64, 8, 32, 260, 4
WIDTHS = ((24, 1), (48, 2), (48, 1), (96, 2), (96, 1), (96, 1), (96, 1), (192, 2), (192, 1))
"""Channels and stride of each pair of a depthwise and a pointwise convolution."""
FIRST = 16
DEAD_SHARE = 0.47
FIRST_STEP, AMOUNT, WEAKEST = 40, 0.03, 0.32
"""The step from which the penalty works, what it takes each time, and the part of the channels that it takes from."""
NAMES = ("dense", "dead")
PLATFORM = "qemu-virt-rv32-single"


def main() -> int:
    parser = argparse.ArgumentParser(description="Trains and measures a MobileNet with dead channels.")
    parser.add_argument("step", choices=("train", "measure"))
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    return train_all(arguments.folder) if arguments.step == "train" else measure_all(arguments.folder.resolve())


def images(generator: np.random.Generator, count: int) -> tuple[Any, Any]:
    """Images, float32[count, 3, SIZE, SIZE], and for each the number of its bar's angle (0 to 7)."""
    labels = generator.integers(0, CLASSES, count)
    rows, columns = np.mgrid[0:SIZE, 0:SIZE] - SIZE / 2
    angles = (labels * np.pi / CLASSES)[:, None, None]
    shifts = generator.uniform(-12, 12, (count, 1, 1))
    distance = np.abs(rows * np.cos(angles) + columns * np.sin(angles) - shifts)
    bars = (distance < generator.uniform(2, 5, (count, 1, 1))).astype(np.float32)
    colours = generator.uniform(0.5, 1.5, (count, 3, 1, 1)).astype(np.float32)
    noise = generator.normal(0, 0.6, (count, 3, SIZE, SIZE)).astype(np.float32)
    return bars[:, None] * colours + noise, labels


def network() -> torch.nn.Module:
    """Depthwise and pointwise convolutions; pairs that keep shape have a residual sum."""
    from torch import nn

    def block(inputs: int, outputs: int, size: int, stride: int, groups: int = 1) -> nn.Module:
        conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, groups=groups, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU())

    class Pair(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.depthwise = block(inputs, inputs, 3, stride, inputs)
            self.pointwise = block(inputs, outputs, 1, 1)
            self.is_residual = inputs == outputs and stride == 1

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            y: torch.Tensor = self.pointwise(self.depthwise(x))
            return x + y if self.is_residual else y

    inputs = (FIRST, *(width for width, _ in WIDTHS[:-1]))
    pairs = [Pair(before, width, stride) for before, (width, stride) in zip(inputs, WIDTHS, strict=True)]
    last = WIDTHS[-1][0]
    return nn.Sequential(block(3, FIRST, 3, 2), *pairs, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, CLASSES))


def groups_of(model: Any) -> list[list[Any]]:
    """Batch normalisations whose channels a residual sum adds, or one alone, from the first block to the last pair."""
    groups = [[model[0][1]]]
    for pair in model[1:-3]:
        if not pair.is_residual:
            groups.append([])
        groups[-1].append(pair.pointwise[1])
    return groups


def live_channels(model: Any) -> list[Any]:
    """bool[channels] of each group: those with a scale or a shift that is not zero."""
    values = [[value.detach() for norm in group for value in (norm.weight, norm.bias)] for group in groups_of(model)]
    return [sum(value != 0 for value in group) > 0 for group in values]


def share_of_dead(model: Any) -> float:
    """The part of the multiply-accumulates that compute or read dead channels."""
    live = live_channels(model)
    size, group = SIZE // 2, 0
    nominal, remaining = 27 * FIRST * size**2, 27 * int(live[0].sum()) * size**2
    for pair in model[1:-3]:
        before = live[group]
        group += 0 if pair.is_residual else 1
        size = size // pair.depthwise[0].stride[0]
        inputs, outputs = int(before.sum()), int(live[group].sum())
        nominal += (9 + len(live[group])) * len(before) * size**2
        remaining += (9 + outputs) * inputs * size**2
    return 1.0 - remaining / nominal


def shrink(model: Any, amount: float) -> None:
    """A step of the penalty: scales and shifts of a group's weakest channels go towards zero, and end there."""
    import torch

    with torch.no_grad():
        for group in groups_of(model):
            values = [value for norm in group for value in (norm.weight, norm.bias)]
            length = torch.stack(values).square().sum(0).sqrt()
            weakest = length <= length.kthvalue(int(WEAKEST * len(length))).values
            factor = torch.where(weakest, (1 - amount / length.clamp(min=1e-9)).clamp(min=0), 1.0)
            for value in values:
                value.mul_(factor)


def train(model: Any, *, is_penalised: bool) -> float:
    """Train the network; returns its accuracy on images that were not trained on."""
    import torch

    generator = np.random.default_rng(1)
    optimiser = torch.optim.Adam(model.parameters(), 3e-3)
    held: list[Any] | None = None
    for step in range(STEPS):
        x, labels = images(generator, BATCH)
        loss = torch.nn.functional.cross_entropy(model(torch.from_numpy(x)), torch.from_numpy(labels))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if is_penalised and held is None and step >= FIRST_STEP:
            shrink(model, AMOUNT)
            held = live_channels(model) if share_of_dead(model) >= DEAD_SHARE else None
        elif held is not None:
            hold(model, held)
    model.eval()
    x, labels = images(np.random.default_rng(2), 256)
    with torch.no_grad():
        right = model(torch.from_numpy(x)).argmax(1).numpy() == labels
    return float(right.mean())


def hold(model: Any, live: list[Any]) -> None:
    """Puts the scales and shifts of dead channels back to zero."""
    import torch

    with torch.no_grad():
        for group, mask in zip(groups_of(model), live, strict=True):
            for norm in group:
                norm.weight.mul_(mask)
                norm.bias.mul_(mask)


def train_all(folder: Path) -> int:
    import torch

    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    for name in NAMES:
        torch.manual_seed(0)
        model = network()
        accuracy = train(model, is_penalised=name == "dead")
        print(f"{name}: accuracy {accuracy:.3f}, {100 * share_of_dead(model):.1f} % of the MACs are dead", flush=True)
        write(model, folder / name)
    return 0


def write(model: Any, folder: Path) -> None:
    """Exports and quantises the model, and stores inputs with what ONNX Runtime computes from them."""
    import onnxruntime
    import torch
    from onnxruntime import quantization

    folder.mkdir(parents=True, exist_ok=True)
    x, _ = images(np.random.default_rng(3), 32)

    class Reader(quantization.CalibrationDataReader):
        left = len(x)

        def get_next(self) -> dict[str, Any] | None:
            self.left -= 1
            return {"x": x[self.left : self.left + 1]} if self.left >= 0 else None

    with tempfile.TemporaryDirectory() as work:
        exported, prepared = Path(work) / "float.onnx", Path(work) / "prepared.onnx"
        example = torch.from_numpy(x[:1])
        torch.onnx.export(
            model, (example,), str(exported), dynamo=False, opset_version=17, input_names=["x"], output_names=["y"]
        )
        quantization.shape_inference.quant_pre_process(str(exported), str(prepared))
        kinds = {"activation_type": quantization.QuantType.QInt8, "weight_type": quantization.QuantType.QInt8}
        quantization.quantize_static(
            str(prepared), str(folder / "network.onnx"), Reader(), per_channel=True,
            quant_format=quantization.QuantFormat.QDQ, **kinds,
        )  # fmt: skip
    scale, zero = without_floats(folder / "network.onnx")
    stored = np.clip(np.rint(x[:RUNS] / scale) + zero, -128, 127).astype(np.int8)
    session = onnxruntime.InferenceSession(str(folder / "network.onnx"), providers=["CPUExecutionProvider"])
    outputs = [session.run(None, {session.get_inputs()[0].name: run[None]})[0] for run in stored]
    np.savez(folder / "inputs.npz", x=stored[:, None])
    np.savez(folder / "outputs.npz", y=np.stack(outputs))


def without_floats(file: Path) -> tuple[Any, Any]:
    """Takes quantisation off the model's ends, which are int8 then. Scale and zero point of its input."""
    import onnx

    model = onnx.load(file)
    graph = model.graph
    (first,) = [node for node in graph.node if node.op_type == "QuantizeLinear" and node.input[0] == "x"]
    (last,) = [node for node in graph.node if node.op_type == "DequantizeLinear" and node.output[0] == "y"]
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}
    graph.input[0].name, graph.output[0].name = first.output[0], last.input[0]
    for info in (graph.input[0], graph.output[0]):
        info.type.tensor_type.elem_type = onnx.TensorProto.INT8
    graph.node.remove(first)
    graph.node.remove(last)
    onnx.save(model, file)
    return constants[first.input[1]], constants[first.input[2]]


def measure_all(folder: Path) -> int:
    from road import Row, build_firmwares, measure

    rows = [Row(name, folder / name, PLATFORM, {}, {}) for name in NAMES]
    found = {}
    with tempfile.TemporaryDirectory() as build:
        build_firmwares(rows, Path(build))
        for row in rows:
            found[row.label] = measure(row, Path(build))
            plan = json.loads((Path(build) / "tilewright" / row.target / "net_plan.json").read_text(encoding="utf-8"))
            layers = len(plan["layers"])
            values = found[row.label]
            print(
                f"{row.label:<8}{values.instructions:>14,} instructions{values.macs:>12,} MACs in {layers} layers"
                f"{values.pools:>10,} bytes{'' if values.passed else '  WRONG OUTPUT'}"
            )
    ratio = found["dead"].instructions / found["dense"].instructions
    print(f"ratio {ratio:.3f}, goal {GOAL}{'' if ratio <= GOAL else '  goal missed'}")
    return 0 if all(each.passed for each in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
