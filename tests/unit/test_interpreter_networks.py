"""Whole networks on eight cores in the interpreter of pulp-open: stored outputs, in every order of harts and copies."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator
from support.firmware import build_riscv
from support.gvsoc import PLATFORM
from support.interpreted import WAYS, interpreted, needs_interpreter, run, spoilt_interpreter
from support.inverted_blocks import COLUMNS, NARROW, ROWS, inverted_blocks
from support.many_cores import MODELS
from support.onnx_models import ModelBuilder, runtime_outputs
from support.planned import groups
from tilewright.base.resources import runtime_dir
from tilewright.cli import main
from tilewright.kernels.gcc_options import LIBRARY_OPTIONS
from tilewright.plan.json import loads
from tilewright.tools.golden import GoldenRequest, golden_files
from tilewright.tools.simulate import simulate

pytestmark = needs_interpreter

CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")

NETWORKS = {
    "qdq_residual": ("0.00392157:0", ("l1=8192",), "double"),
    "activations": ("1e-5:1e-4", ("l1=16000",), "double"),
    "deeploy_residual": ("0:0", ("l1=8192", "l2=4500", "l2_constants=1"), "single"),
    "float_mixture": ("1e-5:1e-4", ("l1=8192",), "double"),
    "inverted": ("0:0", ("l1=8000", "l2=2500", "l3_tensors=1"), "single"),
}
"""Network to tolerance, pools and buffering; no constant fits one byte of l2, so that all of them live in l3.

In 2,500 bytes of l2 and one of l3_tensors layers one by one do not fit.
In 4,500 bytes of l2 there is no room for all tensors, so that some travel to and from HyperRAM.
"""


def firmware(model: str, folder: Path, models: Path = MODELS) -> Path:
    """A golden test of the network, as it is generated for pulp-open."""
    tolerance, pools, buffering = NETWORKS.get(model, ("0:0", ("l1=16000",), "double"))
    words = ["--model", str(models / model / "network.onnx"), "--platform", "pulp-open", "--name", "net"]
    words += [f"--pool={pool}" for pool in pools] + [f"--buffering={buffering}", "--output-dir", str(folder)]
    types = models / model / "types.json"
    if types.exists():
        words += [f"--type={name}={dtype}" for name, dtype in json.loads(types.read_text()).items()]
    assert main(["generate", *words]) == 0
    plan = loads((folder / "net_plan.json").read_text(encoding="utf-8"))
    assert any("xpulpv2" in name or "f32" in name for name in plan.kernel_sources)
    vectors = (models / model / "inputs.npz", models / model / "outputs.npz")
    for name, content in golden_files(GoldenRequest(plan, *vectors, tolerance)).items():
        (folder / name).write_bytes(content)
    runtime = runtime_dir()
    sources = [folder / name for name in ("net.c", "net_weights.c", "golden_main.c", "golden_vectors.c")]
    sources += [runtime / name for name in plan.kernel_sources]
    sources.append(runtime / "test_support" / "golden.c")
    includes = (f"-I{folder}", f"-I{runtime / 'test_support'}")
    stacks = (f"-DTILEWRIGHT_CORE_STACK_BYTES={plan.core_stack_bytes}u",) if plan.core_stack_bytes else ()
    # With other options than those of a model's library frames are larger than the stacks.
    options = (*PLATFORM.target.compile_options, *LIBRARY_OPTIONS, *includes, *stacks)
    platform = replace(PLATFORM, target=replace(PLATFORM.target, compile_options=options))
    return build_riscv(platform, sources, folder / "program.elf")


@pytest.mark.parametrize("model", [name for name in NETWORKS if name not in ("activations", "inverted")])
def test_stored_outputs_in_every_order(model: str, tmp_path: Path) -> None:
    assert_equal_in_every_order(firmware(model, tmp_path))


def assert_equal_in_every_order(elf: Path) -> None:
    found = set()
    for options in WAYS.values():
        done = run(*options, elf)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
        found.add("\n".join(line for line in done.stdout.splitlines() if "checksum" in line))
    assert len(found) == 1
    assert "checksum" in found.pop()


def test_tensors_live_in_hyperram(tmp_path: Path) -> None:
    firmware("deeploy_residual", tmp_path)
    plan = loads((tmp_path / "net_plan.json").read_text(encoding="utf-8"))
    assert {"l3", "l3_tensors"} <= {placed.pool for placed in plan.placements}
    assert {"l3_tensors->l2", "l2->l3_tensors"} <= {link for layer in plan.layers for link, moved in layer.link_bytes}


@pytest.mark.corpus
@pytest.mark.skipif(not CORPUS, reason="TILEWRIGHT_CORPUS does not name the folder of test networks")
def test_keyword_spotting(tmp_path: Path) -> None:
    done = run(firmware("MLPerf/KeywordSpotting", tmp_path, Path(CORPUS) / "deeploy" / "Models"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def activations(folder: Path) -> Path:
    """A network of the operators on floats that ``float_mixture`` lacks, with vectors of ONNX's reference evaluator."""
    build, random = ModelBuilder(opset=20), np.random.default_rng(5)

    def drawn(*shape: int) -> str:
        return build.constant(random.normal(0.0, 0.4, shape).astype(np.float32))

    x = build.input("x", [1, 8, 9, 7])
    x = build.node("Conv", x, drawn(8, 1, 3, 3), drawn(8), kernel_shape=[3, 3], pads=[1] * 4, group=8)
    x = build.node("Mul", x, build.node("Sigmoid", x))
    x = build.node("AveragePool", x, kernel_shape=[2, 2])
    x = build.node("Gelu", build.node("Conv", x, drawn(12, 8, 1, 1), kernel_shape=[1, 1]))
    x = build.node("Reshape", x, build.constant(np.array([6, 1, 96])))
    x = build.node("LayerNormalization", x, drawn(96), drawn(96))
    x = build.node("Softmax", build.node("Tanh", build.node("Div", x, drawn(96))), axis=-1)
    x = build.node("LSTM", x, drawn(1, 20, 96), drawn(1, 20, 5), drawn(1, 40), hidden_size=5)
    model = build.model(x)
    folder.mkdir(parents=True)
    onnx.save(model, folder / "network.onnx")
    feeds = {"x": random.normal(0.0, 1.0, (1, 8, 9, 7)).astype(np.float32)}
    (y,) = ReferenceEvaluator(model).run(None, feeds)
    np.savez(folder / "inputs.npz", **feeds)
    np.savez(folder / "outputs.npz", **{model.graph.output[0].name: y})
    return folder


def test_activations_of_floats(tmp_path: Path) -> None:
    activations(tmp_path / "models" / "activations")
    done = run(firmware("activations", tmp_path, tmp_path / "models"))
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr


def inverted(folder: Path) -> Path:
    """The network of ``inverted_blocks``, with vectors of ONNX Runtime."""
    model = inverted_blocks()
    folder.mkdir(parents=True)
    onnx.save(model, folder / "network.onnx")
    feeds = {"x": np.random.default_rng(6).integers(-128, 128, (1, NARROW, ROWS, COLUMNS)).astype(np.int8)}
    np.savez(folder / "inputs.npz", **feeds)
    np.savez(folder / "outputs.npz", y=runtime_outputs(model, feeds)["y"])
    return folder


def test_groups_of_layers_in_every_order(tmp_path: Path) -> None:
    """All cores share the blocks of each stage; no map between the layers exists as a whole."""
    inverted(tmp_path / "models" / "inverted")
    elf = firmware("inverted", tmp_path, tmp_path / "models")
    plan = loads((tmp_path / "net_plan.json").read_text(encoding="utf-8"))
    assert any(len(layer.stages) == 3 for layer in groups(plan))
    assert_equal_in_every_order(elf)


def test_a_wrong_product_of_floats_fails_the_network(tmp_path: Path) -> None:
    change = ("zfinx.c", "fmaf(RS1, RS2, RS3)", "fmaf(RS1, RS2, -RS3)")
    spoilt = interpreted(program=spoilt_interpreter(tmp_path / "spoilt", *change))
    assert simulate(spoilt, firmware("float_mixture", tmp_path), 60) == 1


def test_a_wrong_instruction_fails_the_network(tmp_path: Path) -> None:
    change = ("xpulpv2.c", "hart->x[in->rd] + RS1 * RS2", "hart->x[in->rd] - RS1 * RS2")
    spoilt = interpreted(program=spoilt_interpreter(tmp_path / "spoilt", *change))
    assert simulate(spoilt, firmware("deeploy_residual", tmp_path), 60) == 1
