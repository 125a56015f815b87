"""Errors that other generators make without a word, each looked for here: in C on this machine, under sanitizers."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.reference
import pytest
from support.firmware import needs_host_compiler
from support.host_runs import TILED, generated, host_outputs
from support.onnx_models import ModelBuilder, random_feeds, runtime_outputs
from tilewright import cli
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.base.resources import runtime_dir
from tilewright.check import check
from tilewright.graph import Array

pytestmark = needs_host_compiler
WAYS = pytest.mark.parametrize(
    ("platform", "options"), [("host", {}), (TILED, {"pools": ["l1=256"]})], ids=["whole", "tiled"]
)


def assert_like_both_judges(model, feeds, folder: Path, platform: str, options, *, steps: int = 0) -> dict[str, Array]:
    """The C gives what onnxruntime and ONNX's reference evaluator give, to the bit for integers."""
    outputs = host_outputs(generated(model, folder, platform, **options), feeds, folder)
    names = [output.name for output in model.graph.output]
    evaluated = dict(zip(names, onnx.reference.ReferenceEvaluator(model).run(None, feeds), strict=True))
    for judge in (runtime_outputs(model, feeds), evaluated):
        for name, wanted in judge.items():
            assert outputs[name].shape == wanted.shape
            assert outputs[name].dtype == wanted.dtype
            if wanted.dtype.kind == "f":
                np.testing.assert_allclose(outputs[name], wanted, rtol=1e-5, atol=1e-6)
            else:
                assert np.abs(outputs[name].astype(int) - wanted.astype(int)).max() <= steps
    return outputs


@WAYS
def test_maxima_of_negative_numbers(tmp_path, platform, options):
    """onnx2c starts its search for a maximum at -FLT_MIN, which is nearly zero."""
    build = ModelBuilder()
    x = build.input("x", [1, 3, 5, 7])
    build.node("GlobalMaxPool", x, output="all")
    build.node("MaxPool", x, output="windows", kernel_shape=[2, 2], pads=[1, 1, 1, 1])
    build.node("ReduceMax", x, output="axes", axes=[2, 3])
    model = build.model("all", "windows", "axes")
    feeds = {"x": -1.0 - np.abs(random_feeds(model)["x"])}
    outputs = assert_like_both_judges(model, feeds, tmp_path, platform, options)
    assert max(array.max() for array in outputs.values()) <= -1.0


@WAYS
def test_scalar_operands_are_not_read_past_their_end(tmp_path, platform, options):
    """Deeploy reads a scalar divisor like a tensor of the other operand's shape."""
    build = ModelBuilder()
    x = build.input("x", [2, 9, 11])
    outputs = []
    for operator in ("Div", "Add", "Sub", "Mul"):
        for rank in (0, 1, 3):
            shape = [1] * rank
            given = build.input(f"{operator}_{rank}", shape)
            inside = build.node(operator, x, given)
            fixed = build.constant(np.full(shape, 1.75, np.float32))
            outputs.append(build.node(operator, inside, fixed, output=f"y_{operator}_{rank}"))
    model = build.model(*outputs)
    assert_like_both_judges(model, random_feeds(model), tmp_path, platform, options)


@WAYS
def test_views_straight_from_input_to_output(tmp_path, platform, options):
    """Such an output is never written where a view is only another name of its input."""
    build = ModelBuilder()
    operands = {"Reshape": [3, 8], "Squeeze": [0, 2], "Unsqueeze": [1], "Flatten": None, "Identity": None}
    for operator, numbers in operands.items():
        constants = [] if numbers is None else [build.constant(np.array(numbers))]
        build.node(operator, build.input(f"x{operator}", [1, 6, 1, 4]), *constants, output=f"y{operator}")
    model = build.model(*(f"y{operator}" for operator in operands))
    feeds = random_feeds(model)
    outputs = assert_like_both_judges(model, feeds, tmp_path, platform, options)
    for operator in operands:
        np.testing.assert_array_equal(outputs[f"y{operator}"].ravel(), feeds[f"x{operator}"].ravel())


def _quantized_gemm(build: ModelBuilder, rows: int) -> str:
    """Gemm of several rows, with a scale for each column of the weights."""
    generator = np.random.default_rng(rows)
    x = build.dequantize(build.input(f"x{rows}", [rows, 12], np.int8), 2.0**-5, 3)
    scales = (2.0 ** -generator.integers(4, 9, 10)).astype(np.float32)
    weights = build.constant(generator.integers(-127, 127, (10, 12), np.int8))
    zeros, wide = build.constant(np.zeros(10, np.int8)), build.constant(np.zeros(10, np.int32))
    w = build.node("DequantizeLinear", weights, build.constant(scales), zeros, axis=0)
    bias = build.constant(generator.integers(-900, 900, 10, np.int32))
    b = build.node("DequantizeLinear", bias, build.constant(scales * np.float32(2.0**-5)), wide, axis=0)
    return build.quantize(build.node("Gemm", x, w, b, transB=1), 0.25, -7, output=f"y{rows}")


@WAYS
def test_gemm_of_several_rows_with_a_scale_for_each_column(tmp_path, platform, options):
    """Deeploy takes the factors of the first rows where the batch is larger than one."""
    build = ModelBuilder(opset=21)
    names = [_quantized_gemm(build, rows) for rows in (1, 2, 5)]
    model = build.model(*names, dtypes=dict.fromkeys(names, np.int8))
    outputs = assert_like_both_judges(model, random_feeds(model), tmp_path, platform, options)
    assert all(len(np.unique(array)) > 3 for array in outputs.values())


def _requantized_gemm(rows: int) -> tuple[onnx.ModelProto, dict[str, Array]]:
    """Deeploy's dialect: Gemm, then RequantShift with a factor and an addend for each column."""
    generator = np.random.default_rng(2)
    constants = {
        "w": generator.integers(-100, 100, (12, 10)).astype(np.float32),
        "mul": generator.integers(1, 90, 10).astype(np.float32),
        "add": generator.integers(-4000, 4000, 10).astype(np.float32),
    }
    build = ModelBuilder()
    x = build.input("x", [rows, 12])
    product = build.node("MatMul", x, build.constant(constants["w"]))
    factors = [build.constant(constants[name]) for name in ("mul", "add")]
    numbers = {"div": 2.0**12, "n_levels": 256.0, "signed": 1.0, "n_levels_out": 256.0}
    names = {name: onnx.numpy_helper.from_array(np.array(value, np.float32)) for name, value in numbers.items()}
    build.node("RequantShift", product, *factors, output="y", **names)
    return build.model("y"), constants


@WAYS
def test_requantised_rows_of_the_dialect(tmp_path, platform, options):
    rows = 3
    model, constants = _requantized_gemm(rows)
    x = np.random.default_rng(3).integers(-128, 127, (rows, 12)).astype(np.int8)
    folder = tmp_path / "net"
    built = generated(model, folder, platform, types={"x": "int8"}, **options)
    (got,) = host_outputs(built, {"x": x}, folder).values()
    total = x.astype(np.int64) @ constants["w"].astype(np.int64)
    total = total * constants["mul"].astype(np.int64) + constants["add"].astype(np.int64)
    wanted = np.clip(np.floor_divide(total + 2**11, 2**12), -128, 127)
    np.testing.assert_array_equal(got.astype(np.int64), wanted)
    assert len(np.unique(wanted)) > 3


@WAYS
def test_int8_joined_into_a_wider_tensor(tmp_path, platform, options):
    """Deeploy copies int8 into a wider output by bytes; here it is widened by Cast, or refused."""
    build = ModelBuilder()
    parts = [build.input(f"x{number}", [2, 3, 5], kind) for number, kind in enumerate((np.int8, np.uint8, np.int32))]
    widened = [build.node("Cast", part, to=onnx.TensorProto.INT32) for part in parts[:2]]
    build.node("Concat", *widened, parts[2], output="y", axis=1)
    model = build.model("y", dtypes={"y": np.int32})
    assert_like_both_judges(model, random_feeds(model), tmp_path, platform, options)


def test_types_that_do_not_agree_are_not_joined(tmp_path):
    build = ModelBuilder()
    build.node("Concat", build.input("a", [2, 3], np.int8), build.input("b", [2, 3], np.int32), output="y", axis=1)
    with pytest.raises(TilewrightError, match=r"\(Concat\): 'b': input 1 .* has type int32; wanted: int8") as caught:
        generated(build.model("y", dtypes={"y": np.int32}), tmp_path)
    assert caught.value.status in (ExitStatus.BAD_INPUT, ExitStatus.NOT_SUPPORTED)


def _branches() -> onnx.ModelProto:
    """Tensors of many sizes alive at once."""
    build = ModelBuilder()
    x = build.input("x", [1, 4, 8, 8])
    kept = [build.node("Sigmoid", x)]
    for number in range(4):
        weights = np.random.default_rng(number).normal(size=(4 + number, 4, 3, 3)).astype(np.float32)
        kept.append(build.node("Conv", kept[0], build.constant(weights), pads=[1, 1, 1, 1]))
    build.node("Concat", *kept, output="y", axis=1)
    return build.model("y")


@pytest.mark.parametrize("algorithm", ["greedy_by_size", "greedy_by_conflicts", "hill_climb"])
def test_buffers_do_not_overlap_in_a_pool_of_limited_size(tmp_path, algorithm):
    """TVM's greedy planner puts buffers over one another once a pool has a size."""
    model = _branches()
    feeds = random_feeds(model)
    free = generated(model, tmp_path / "free", algorithm=algorithm)
    used = next(use.used_bytes for use in free.plan.pool_use if use.pool == "sram")
    folder = tmp_path / "limited"
    limited = generated(model, folder, algorithm=algorithm, pools=[f"sram={used}"])
    assert check(limited.plan) == []
    (got,) = host_outputs(limited, feeds, folder).values()
    (wanted,) = runtime_outputs(model, feeds).values()
    np.testing.assert_allclose(got, wanted, rtol=5e-6, atol=1e-6)


@pytest.mark.parametrize(("platform", "pool"), [("host", "sram=64"), ("qemu-virt-rv32f", "l1=32")])
def test_what_does_not_fit_ends_with_a_status_of_its_own(tmp_path, capsys, platform, pool):
    """DORY ends with status 0 when nothing fits."""
    path = tmp_path / "net.onnx"
    path.write_bytes(_branches().SerializeToString())
    words = ["generate", "--model", str(path), "--platform", platform, "--pool", pool]
    assert cli.main([*words, "--output-dir", str(tmp_path / "c")]) == ExitStatus.DOES_NOT_FIT == 3
    assert not list((tmp_path / "c").glob("*"))
    assert re.search(r"needs [0-9,]+ bytes, platform '\S+' gives (64|32) ", capsys.readouterr().err)


_MISSING = """
#include <stddef.h>
#include "net.h"

int main(void)
{
    static _Alignas(64) uint8_t memory[1u << 20];
    const float *x = (const float *)memory;
    float *y = (float *)(memory + (1u << 19));
    const struct net_inputs inputs = {x}, no_inputs = {NULL};
    const struct net_outputs outputs = {y}, no_outputs = {NULL};
    const struct net_pools pools = {memory + (1u << 18)}, no_pools = {NULL};
    const struct net_pools odd = {memory + (1u << 18) + 1u};
    return !(net_run(&inputs, &outputs, &pools) == NET_OK &&
             net_run(&inputs, &outputs, &no_pools) == NET_BAD_ARGUMENT &&
             net_run(&no_inputs, &outputs, &pools) == NET_BAD_ARGUMENT &&
             net_run(&inputs, &no_outputs, &pools) == NET_BAD_ARGUMENT &&
             net_run(&inputs, &outputs, NULL) == NET_BAD_ARGUMENT &&
             net_run(&inputs, &outputs, &odd) == NET_MISALIGNED);
}
"""


def test_memory_that_is_missing_is_told(tmp_path):
    """emx returns without a word when malloc fails; here nothing is allocated, and a pool that is missing is told."""
    built = generated(_branches(), tmp_path, static_pools=False)
    for name, content in built.files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "main.c").write_text(_MISSING, encoding="ascii")
    sources = [path for path in runtime_dir().rglob("*.[ch]") if not {"ports", "test_support"} & set(path.parts)]
    for path in [*sources, *tmp_path.glob("net*.[ch]")]:
        assert not re.search(r"\b(malloc|calloc|realloc|alloca|free)\s*\(", path.read_text(encoding="utf-8")), path
    kernels = [str(runtime_dir() / name) for name in built.plan.kernel_sources]
    command = ["cc", "-std=c11", f"-I{runtime_dir() / 'include'}", *map(str, tmp_path.glob("*.c")), *kernels, "-lm"]
    port = [str(runtime_dir() / "ports" / "host" / "port.c"), f"-I{runtime_dir() / 'ports' / 'host'}"]
    subprocess.run([*command, *port, "-o", str(tmp_path / "program")], check=True, capture_output=True)
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 0
