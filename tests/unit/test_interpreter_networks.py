"""Whole networks on eight cores in the interpreter of pulp-open: stored outputs, in every order of harts and copies."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import build_riscv
from support.gvsoc import PLATFORM
from support.interpreted import WAYS, interpreted, needs_interpreter, run, spoilt_interpreter
from support.many_cores import MODELS
from tilewright.base.resources import runtime_dir
from tilewright.cli import main
from tilewright.plan.json import loads
from tilewright.tools.golden import GoldenRequest, golden_files
from tilewright.tools.simulate import simulate

pytestmark = needs_interpreter

CORPUS = os.environ.get("TILEWRIGHT_CORPUS", "")

NETWORKS = {
    "qdq_residual": ("0.00392157:0", ("l1=8192",), "double"),
    "deeploy_residual": ("0:0", ("l1=8192", "l2=4500", "l2_constants=1"), "single"),
}
"""Network to tolerance, pools and buffering; no constant fits one byte of l2, so that all of them live in l3.

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
    assert any("xpulpv2" in name for name in plan.kernel_sources)
    vectors = (models / model / "inputs.npz", models / model / "outputs.npz")
    for name, content in golden_files(GoldenRequest(plan, *vectors, tolerance)).items():
        (folder / name).write_bytes(content)
    runtime = runtime_dir()
    sources = [folder / name for name in ("net.c", "net_weights.c", "golden_main.c", "golden_vectors.c")]
    sources += [runtime / name for name in plan.kernel_sources]
    sources.append(runtime / "test_support" / "golden.c")
    includes = (f"-I{folder}", f"-I{runtime / 'test_support'}")
    options = (*PLATFORM.target.compile_options, *includes)
    platform = replace(PLATFORM, target=replace(PLATFORM.target, compile_options=options))
    return build_riscv(platform, sources, folder / "program.elf")


@pytest.mark.parametrize("model", NETWORKS)
def test_stored_outputs_in_every_order(model: str, tmp_path: Path) -> None:
    elf = firmware(model, tmp_path)
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


def test_a_wrong_instruction_fails_the_network(tmp_path: Path) -> None:
    change = ("xpulpv2.c", "hart->x[in->rd] + RS1 * RS2", "hart->x[in->rd] - RS1 * RS2")
    spoilt = interpreted(program=spoilt_interpreter(tmp_path / "spoilt", *change))
    assert simulate(spoilt, firmware("deeploy_residual", tmp_path), 60) == 1
