"""NaN and infinities follow the rule of docs/reference/graph.md, on this machine and on RV32 in QEMU."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from conformance.build import build, runtime_library
from conformance.cases import NodeCase
from conformance.firmware import OnTarget, problems, program
from onnx import TensorProto
from support.firmware import build_riscv, needs_host_compiler, needs_riscv
from support.host_runs import OBJECTS, generated, host_outputs
from support.onnx_models import ModelBuilder, imported, outputs_of
from tilewright.base.resources import runtime_dir
from tilewright.graph import Array
from tilewright.platform import load_platform

NAN, INF = np.nan, np.inf
X = np.array([[1, NAN, INF, -INF, -2.5, 3e9, 300], [-INF, NAN, -1, 0.5, NAN, -3e10, -200]], np.float32)
MOST, LEAST = 2**63 - 1, -(2**63)


def node(operator: str, result: type, outputs: int = 1, **attributes: Any) -> onnx.ModelProto:
    builder = ModelBuilder(13)
    names = builder.node(operator, builder.input("x", [2, 7]), outputs=outputs, **attributes)
    return builder.model(names, dtypes={names: result})


def quantized(dtype: type) -> onnx.ModelProto:
    builder = ModelBuilder(13)
    y = builder.quantize(builder.input("x", [2, 7]), 0.5, 3, dtype)
    return builder.model(y, dtypes={y: dtype})


def pooled(operator: str) -> onnx.ModelProto:
    builder = ModelBuilder(13)
    rows = builder.node("Reshape", builder.input("x", [2, 7]), builder.constant(np.array([1, 1, 2, 7])))
    return builder.model(builder.node(operator, rows, kernel_shape=[1, 2]))


def ranked(largest: int) -> onnx.ModelProto:
    builder = ModelBuilder(13)
    values, places = builder.node(
        "TopK", builder.input("x", [2, 7]), builder.constant(np.array([3])), outputs=2, largest=largest
    )
    return builder.model(values, places, dtypes={places: np.int64})


def cast(dtype: type, to: int) -> onnx.ModelProto:
    return node("Cast", dtype, to=to)


RULE: dict[str, tuple[onnx.ModelProto, list[Any]]] = {
    "QuantizeLinear int8": (quantized(np.int8), [[[5, 3, 127, -128, -2, 127, 127], [-128, 3, 1, 4, 3, -128, -128]]]),
    "QuantizeLinear uint8": (quantized(np.uint8), [[[5, 3, 255, 0, 0, 255, 255], [0, 3, 1, 4, 3, 0, 0]]]),
    "Cast int8": (
        cast(np.int8, TensorProto.INT8),
        [[[1, 0, 127, -128, -2, 127, 127], [-128, 0, -1, 0, 0, -128, -128]]],
    ),
    "Cast uint8": (cast(np.uint8, TensorProto.UINT8), [[[1, 0, 255, 0, 0, 255, 255], [0, 0, 0, 0, 0, 0, 0]]]),
    "Cast int32": (
        cast(np.int32, TensorProto.INT32),
        [[[1, 0, 2**31 - 1, -(2**31), -2, 2**31 - 1, 300], [-(2**31), 0, -1, 0, 0, -(2**31), -200]]],
    ),
    "Cast int64": (
        cast(np.int64, TensorProto.INT64),
        [[[1, 0, MOST, LEAST, -2, 3000000000, 300], [LEAST, 0, -1, 0, 0, -30000001024, -200]]],
    ),
    "Cast bool": (cast(np.bool_, TensorProto.BOOL), [[[1] * 7, [1] * 7]]),
    "MaxPool": (pooled("MaxPool"), [[[[[NAN, NAN, INF, -2.5, 3e9, 3e9], [NAN, NAN, 0.5, NAN, NAN, -200]]]]]),
    "AveragePool": (
        pooled("AveragePool"),
        [[[[[NAN, NAN, NAN, -INF, 1.5e9, 1.50000013e9], [NAN, NAN, -0.25, NAN, NAN, -1.50000005e10]]]]],
    ),
    "ArgMax": (node("ArgMax", np.int64, axis=1), [[[1], [1]]]),
    "ArgMin": (node("ArgMin", np.int64, axis=1), [[[1], [1]]]),
    "ArgMax, last": (node("ArgMax", np.int64, axis=1, select_last_index=1), [[[1], [4]]]),
    "ArgMin, last": (node("ArgMin", np.int64, axis=1, select_last_index=1), [[[1], [4]]]),
    "ReduceMax": (node("ReduceMax", np.float32, axes=[1]), [[[NAN], [NAN]]]),
    "ReduceMin": (node("ReduceMin", np.float32, axes=[1]), [[[NAN], [NAN]]]),
    "TopK": (ranked(1), [[[NAN, INF, 3e9], [NAN, NAN, 0.5]], [[1, 2, 5], [1, 4, 3]]]),
    "TopK of the smallest": (ranked(0), [[[-INF, -2.5, 1], [-INF, -3e10, -200]], [[3, 4, 0], [0, 5, 6]]]),
    "Relu": (node("Relu", np.float32), [[[1, NAN, INF, 0, 0, 3e9, 300], [0, NAN, 0, 0.5, NAN, 0, 0]]]),
}


def expected(name: str) -> list[Array]:
    model, wanted = RULE[name]
    kinds = [onnx.helper.tensor_dtype_to_np_dtype(info.type.tensor_type.elem_type) for info in model.graph.output]
    return [np.asarray(values, kind) for values, kind in zip(wanted, kinds, strict=True)]


def on_platform(platform: str, folder: Path) -> list[OnTarget]:
    """The models of the rule with what it wants of them, as cases."""
    chosen = []
    for number, name in enumerate(RULE):
        model = generated(RULE[name][0], folder / f"m{number}", platform, name=f"c{number}")
        outputs = {item.name: array for item, array in zip(model.plan.outputs, expected(name), strict=True)}
        chosen.append(OnTarget(NodeCase(name, RULE[name][0], {"x": X}, outputs, {}, 1e-6, 0.0, outputs), model))
    return chosen


@pytest.mark.parametrize("name", RULE)
def test_references_follow_the_rule(name: str, tmp_path: Path) -> None:
    with np.errstate(invalid="ignore"):
        outputs = outputs_of(imported(tmp_path, RULE[name][0]), {"x": X})
    for got, want in zip(outputs, expected(name), strict=True):
        np.testing.assert_array_equal(got, want)


@needs_host_compiler
def test_kernels_follow_the_rule_on_this_machine(tmp_path: Path) -> None:
    chosen = on_platform("host", tmp_path)
    executable = build(tmp_path / "net", [item.model for item in chosen], runtime_library(OBJECTS))
    given, printed = tmp_path / "inputs", ""
    given.write_bytes(X.tobytes())
    for item in chosen:
        got = tmp_path / f"outputs_{item.model.prefix}"
        done = subprocess.run([executable, item.model.prefix, given, got], capture_output=True, text=True, check=False)
        printed += f"{item.model.prefix} {done.returncode}\n{got.read_bytes().hex()}\n"
    assert problems(chosen, printed) == {}
    spoilt = printed.replace("ff", "fe", 1)
    assert problems(chosen, spoilt)


@needs_host_compiler
def test_casts_at_the_ends_of_types(tmp_path: Path) -> None:
    """Floats at, before and behind each end of each type: what is beyond becomes the end."""
    limits = {np.dtype(dtype): np.iinfo(dtype) for dtype in (np.int32, np.uint32, np.int64)}
    ends = np.float32([end for limit in limits.values() for end in (limit.min, limit.max)])
    x = np.concatenate([ends, np.nextafter(ends, np.float32(0)), np.nextafter(ends, 2 * ends)])
    builder = ModelBuilder(13)
    given = builder.input("x", x.shape)
    names = {
        dtype: builder.node("Cast", given, to=onnx.helper.np_dtype_to_tensor_dtype(dtype), output=dtype.name)
        for dtype in limits
    }
    model = builder.model(*names.values(), dtypes={name: dtype.type for dtype, name in names.items()})
    got = host_outputs(generated(model, tmp_path / "net"), {"x": x}, tmp_path)
    for dtype, limit in limits.items():
        assert got[names[dtype]].tolist() == [min(max(int(value), limit.min), limit.max) for value in x.tolist()]


@needs_riscv
def test_kernels_follow_the_rule_in_qemu(tmp_path: Path) -> None:
    chosen = on_platform("qemu-virt-rv32f-single", tmp_path)
    for item in chosen:
        for name, content in item.model.files.items():
            (tmp_path / name).write_bytes(content)
    main = tmp_path / "main.c"
    main.write_text(program(chosen), encoding="utf-8")
    kernels = sorted({name for item in chosen for name in item.model.plan.kernel_sources})
    platform = load_platform("qemu-virt-rv32f-single")
    elf = build_riscv(platform, [main, *(runtime_dir() / name for name in kernels)], tmp_path / "program")
    assert platform.simulator is not None
    command = [word.replace("{elf}", str(elf)) for word in platform.simulator.command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert problems(chosen, done.stdout) == {}
