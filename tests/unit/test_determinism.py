"""Same inputs, same bytes: two processes that differ in everything else."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.sampled import sampled

MODELS = Path(__file__).parents[1] / "firmware" / "models"
SURROUNDINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C", "HOME": "/"},
    {"PYTHONHASHSEED": "4242", "TZ": "Pacific/Chatham", "LC_ALL": "C.UTF-8", "HOME": "/tmp"},
)
COMMANDS = {
    "qdq_residual": ["--platform", "qemu-virt-rv32", "--pool", "l1=3072"],
    "deeploy_residual": ["--platform", "qemu-virt-rv32", "--pool", "l1=6144", "--buffering", "double"],
    "float_mixture": ["--platform", "qemu-virt-rv32-single", "--static-pools"],
}


def generate(folder: Path, network: str, options: list[str], surroundings: dict[str, str]) -> dict[str, bytes]:
    """Files by name, generated and with a golden test, from copies in a folder of their own."""
    source = folder / "source"
    shutil.copytree(MODELS / network, source)
    types = source / "types.json"
    named = json.loads(types.read_text(encoding="utf-8")) if types.exists() else {}
    options = [*options, *(f"--type={tensor}={dtype}" for tensor, dtype in named.items())]
    environment = {**os.environ, **surroundings}
    model, out = str(source / "network.onnx"), str(folder / "out")
    command = ["generate", "--model", model, "--name", "net", "--output-dir", out, *options]
    vectors = ["--inputs", str(source / "inputs.npz"), "--outputs", str(source / "outputs.npz"), "--tolerance", "1:0"]
    golden = ["golden", "--plan", f"{out}/net_plan.json", *vectors, "--output-dir", f"{out}/golden"]
    for arguments in (command, golden):
        subprocess.run([sys.executable, "-m", "tilewright", *arguments], cwd=folder, env=environment, check=True)
    files = (path for path in Path(out).rglob("*") if path.is_file())
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.mark.parametrize("network", sampled(COMMANDS, 2))
def test_two_processes_write_the_same_bytes(network: str, tmp_path: Path) -> None:
    results = []
    for folder, surroundings in zip(("here", "some where/else"), SURROUNDINGS, strict=True):
        (tmp_path / folder).mkdir(parents=True)
        results.append(generate(tmp_path / folder, network, COMMANDS[network], surroundings))
    assert sorted(results[0]) == sorted(results[1])
    assert {"net.c", "net_weights.c", "net_plan.json", "net_manifest.json"} <= set(results[0])
    for file, content in results[0].items():
        assert content == results[1][file], file
        assert str(tmp_path).encode() not in content, f"{file} names a folder"


def test_a_difference_would_be_noticed(tmp_path: Path) -> None:
    results = []
    for folder, size in (("a", "l1=12288"), ("b", "l1=12289")):
        (tmp_path / folder).mkdir()
        options = ["--platform", "qemu-virt-rv32", "--pool", size]
        results.append(generate(tmp_path / folder, "qdq_residual", options, SURROUNDINGS[0]))
    assert results[0] != results[1]
