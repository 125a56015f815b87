"""Models that keep a state, and what several runs compute: by onnxruntime, and by their C under sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
import onnx
from conformance.build import RUNTIME, Generated, runtime_library
from tilewright.graph import Array
from tilewright.plan import Plan

from support.firmware import WARNINGS
from support.host_runs import OBJECTS, generated
from support.objects import LINKER
from support.onnx_models import ModelBuilder, runtime_outputs


@dataclass(frozen=True)
class Stateful:
    """A model and its states: (input, output). ``initial`` are contents that are no zeros."""

    model: onnx.ModelProto
    states: tuple[tuple[str, str], ...] = (("s", "n"),)
    initial: Mapping[str, Array] = field(default_factory=dict)

    @property
    def option(self) -> list[str]:
        """The states as the user writes them."""
        return [f"{old}={new}" for old, new in self.states]


def built(case: Stateful, folder: Path, prefix: str, platform: str = "host", **options: object) -> Generated:
    """The model's C with pools of its own."""
    return generated(case.model, folder / prefix, platform, name=prefix, state=case.option, **options)


def expected(case: Stateful, feeds: Sequence[Mapping[str, Array]]) -> list[dict[str, Array]]:
    """The outputs of each run by onnxruntime, which gets the states of the run before."""
    inputs = {info.name: info for info in case.model.graph.input}
    states = {}
    for name, _ in case.states:
        kind = inputs[name].type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        zeros = np.zeros(shape, onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type))
        states[name] = case.initial.get(name, zeros)
    found = []
    for feed in feeds:
        outputs = runtime_outputs(case.model, {**feed, **states})
        states = {old: outputs[new] for old, new in case.states}
        found.append({name: value for name, value in outputs.items() if name not in dict(case.states).values()})
    return found


def run_program(folder: Path, models: Sequence[Generated]) -> Path:
    """One executable: ``<exe> <prefix> <runs>`` resets, then runs on what stands on standard input.

    ``<exe> <prefix> <runs> again`` resets before each run.
    """
    for model in models:
        for name, content in model.files.items():
            (folder / name).write_bytes(content)
    units = [name for model in models for name in sorted(model.files) if name.endswith(".c")]
    lines = [
        *(f'#include "{name}"' for name in units),
        _HEAD,
        *map(_runner, models),
        "int main(int count, char **text)\n{",
    ]
    lines += [
        f'    if (strcmp(text[1], "{model.prefix}") == 0) {{ return run_{model.prefix}(atoi(text[2]), count > 3); }}'
        for model in models
    ]
    (folder / "main.c").write_text("\n".join([*lines, "    return 9;", "}", ""]), encoding="utf-8")
    flags = ["-std=c11", "-O0", "-ffp-contract=off", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    paths = [f"-I{folder}", f"-I{RUNTIME / 'include'}", str(folder / "main.c"), str(runtime_library(OBJECTS))]
    done = subprocess.run(
        ["gcc", *LINKER, *flags, *WARNINGS, *paths, "-lm", "-o", str(folder / "program")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return folder / "program"


_HEAD = "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"


def _runner(model: Generated) -> str:
    """A C function that resets and runs a model so many times."""
    name, plan, upper = model.prefix, model.plan, model.prefix.upper()
    sides = [(side, items) for side, items in (("input", plan.inputs), ("output", plan.outputs)) if items]
    lines = [f"static int run_{name}(int runs, int again)", "{"]
    for side, items in sides:
        for item in items:
            macro = f"{upper}_{side.upper()}_{item.identifier.upper()}"
            lines.append(f"    static _Alignas({macro}_ALIGN) {macro}_TYPE {item.identifier}[{macro}_COUNT];")
    for side, items in sides:
        members = ", ".join(f".{item.identifier} = {item.identifier}" for item in items)
        lines.append(f"    const struct {name}_{side}s {side}s = {{{members}}};")
    lines += [f"    {name}_reset();", "    for (int run = 0; run < runs; run++) {"]
    lines.append(f"        if (again) {{ {name}_reset(); }}")
    lines += [
        f"        if (fread({i.identifier}, sizeof {i.identifier}, 1, stdin) != 1) {{ return 8; }}" for i in plan.inputs
    ]
    arguments = ", ".join(f"&{side}s" for side, _ in sides)
    lines.append(f"        if ({name}_run({arguments}) != {upper}_OK) {{ return 7; }}")
    lines += [f"        fwrite({i.identifier}, sizeof {i.identifier}, 1, stdout);" for i in plan.outputs]
    return "\n".join([*lines, "    }", "    return 0;", "}"])


def computed(
    program: Path, prefix: str, plan: Plan, feeds: Sequence[Mapping[str, Array]], *, again: bool = False
) -> list[dict[str, Array]]:
    """The outputs of each run; a sanitizer's complaint is an error."""
    given = b"".join(np.ascontiguousarray(feed[item.name]).tobytes() for feed in feeds for item in plan.inputs)
    command = [str(program), prefix, str(len(feeds)), *(["again"] if again else [])]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    content, found = done.stdout, []
    for _ in feeds:
        outputs = {}
        for item in plan.outputs:
            dtype, count = np.dtype(item.dtype), prod(item.shape)
            outputs[item.name] = np.frombuffer(content, dtype, count).reshape(item.shape)
            content = content[count * dtype.itemsize :]
        found.append(outputs)
    return found


def accumulator() -> Stateful:
    """The new state is written element on element over the old one."""
    build = ModelBuilder()
    s, x = build.input("s", [4, 8]), build.input("x", [4, 8])
    n = build.node("Add", s, x, output="n")
    build.node("Relu", n, output="y")
    return Stateful(build.model("n", "y"))


def difference() -> Stateful:
    """The old state is read when the new one is known, so the new one is copied at the end."""
    build = ModelBuilder()
    s, x = build.input("s", [4, 8]), build.input("x", [4, 8])
    n = build.node("Add", s, x, output="n")
    build.node("Sub", s, n, output="y")
    return Stateful(build.model("n", "y"))


def window() -> Stateful:
    """The last rows of a stream, and a convolution over old and new rows."""
    build = ModelBuilder()
    s, x = build.input("s", [1, 3, 2, 4]), build.input("x", [1, 3, 2, 4])
    rows = build.node("Concat", s, x, axis=2)
    build.node("Slice", rows, *(build.constant(np.int64([value])) for value in (2, 4, 2)), output="n")
    weight = build.constant(np.random.default_rng(1).normal(size=(4, 3, 3, 3)).astype(np.float32))
    build.node("Conv", rows, weight, pads=[0, 1, 0, 1], output="y")
    return Stateful(build.model("n", "y"))


def shift_register() -> Stateful:
    """The new state is the old one, moved by a row, and the input."""
    build = ModelBuilder()
    s, x = build.input("s", [5, 6]), build.input("x", [1, 6])
    rest = build.node("Slice", s, *(build.constant(np.int64([value])) for value in (1, 5, 0)))
    n = build.node("Concat", rest, x, axis=0, output="n")
    build.node("ReduceMean", n, axes=[0], keepdims=0, output="y")
    return Stateful(build.model("n", "y"))


def recurrent() -> Stateful:
    """An LSTM of one step with both of its states, which have a direction's axis in the model."""
    build, chance = ModelBuilder(opset=14), np.random.default_rng(2)
    x = build.input("x", [1, 1, 6])
    h, c = build.input("h", [1, 1, 5]), build.input("c", [1, 1, 5])
    weights = [build.constant(chance.normal(size=shape).astype(np.float32) * 0.5) for shape in ((1, 20, 6), (1, 20, 5))]
    y, _, _ = build.node("LSTM", x, *weights, "", "", h, c, output="all", outputs=3, hidden_size=5)
    build.node("Reshape", y, build.constant(np.int64([1, 5])), output="y")
    return Stateful(build.model("y", "all_1", "all_2"), (("h", "all_1"), ("c", "all_2")))


def quantized() -> Stateful:
    """Stored integers with a zero point, which is what the state holds first."""
    build = ModelBuilder()
    s, x = build.input("s", [3, 8], np.int8), build.input("x", [3, 8], np.int8)
    mixed = build.node("Add", build.dequantize(s, 0.1, 7), build.dequantize(x, 0.05, -3))
    n = build.quantize(build.node("Mul", mixed, build.constant(np.float32(0.5))), 0.1, 7, output="n")
    build.quantize(build.node("Relu", build.dequantize(n, 0.1, 7)), 0.1, 7, output="y")
    first = {"s": np.full((3, 8), 7, np.int8)}
    return Stateful(build.model("n", "y", dtypes={"n": np.int8, "y": np.int8}), initial=first)


def initialised() -> Stateful:
    """The file gives the state a value, and an output is a view of the old state."""
    build = ModelBuilder()
    s, x = build.input("s", [2, 3]), build.input("x", [2, 3])
    first = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
    build.constant(first, "s")
    build.node("Mul", s, x, output="n")
    build.node("Reshape", s, build.constant(np.int64([3, 2])), output="y")
    return Stateful(build.model("n", "y"), initial={"s": first})


def crossed() -> Stateful:
    """Each of two states follows from the other: s becomes t + x, and t becomes -s."""
    build = ModelBuilder()
    s, t, x = build.input("s", [7]), build.input("t", [7]), build.input("x", [7])
    build.node("Add", t, x, output="n")
    build.node("Neg", s, output="m")
    build.node("Mul", s, t, output="y")
    return Stateful(build.model("n", "m", "y"), (("s", "n"), ("t", "m")))


CASES = {
    case.__name__: case
    for case in (accumulator, difference, window, shift_register, recurrent, quantized, initialised, crossed)
}


def drawn(seed: int) -> Stateful:
    """A random network of small operators with one to three states."""
    chance = np.random.default_rng(seed)
    build = ModelBuilder()
    count = int(chance.integers(1, 4))
    old = [build.input(f"s{number}", [4, 6]) for number in range(count)]
    known = [*old, build.input("x", [4, 6])]
    made = []
    for _ in range(int(chance.integers(count + 2, 10))):
        one, other = (known[int(chance.integers(len(known)))] for _ in range(2))
        kind = int(chance.integers(6))
        if kind < 2:
            found = build.node(("Add", "Sub")[kind], one, other)
        elif kind == 2:
            found = build.node("Transpose", build.node("Relu", build.node("Transpose", one, perm=[1, 0])), perm=[1, 0])
        elif kind == 3:
            found = build.node("Mul", one, build.constant(np.float32(0.5)))
        else:
            ends = [[build.constant(np.int64([value])) for value in (*rows, 0)] for rows in ((1, 4), (0, 1))]
            parts = [build.node("Slice", one, *ends[0]), build.node("Slice", other, *ends[1])]
            found = build.node("Concat", *parts, axis=0)
        known.append(found)
        made.append(found)
    new = [made[int(number)] for number in chance.choice(len(made) - 1, count, replace=False)]
    for number, name in enumerate(new):
        build.node("Identity", name, output=f"n{number}")
    build.node("Add", made[-1], known[int(chance.integers(len(known)))], output="y")
    outputs = [*(f"n{number}" for number in range(count)), "y"]
    return Stateful(build.model(*outputs), tuple((f"s{number}", f"n{number}") for number in range(count)))
