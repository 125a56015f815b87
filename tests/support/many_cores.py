"""Networks planned for several cores, built for this machine with ports that tell the order of work and copies."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tilewright.base.resources import platforms_dir, runtime_dir
from tilewright.cli import main
from tilewright.plan import Plan
from tilewright.plan.json import loads
from tilewright.tools.golden import GoldenRequest, golden_files

from support.firmware import WARNINGS
from support.objects import kept

MODELS = Path(__file__).parents[1] / "firmware" / "models"
SUPPORT = Path(__file__).parent
MANY_CORES = SUPPORT / "many_cores.c"
ORDERS = [(way, order) for way in ((), ("-DAT_ONCE",)) for order in ({}, {"BACKWARD": "1"})]
"""Macros and environment of many_cores.c: work at the join and at the start of a fork, forwards and backwards."""


def platform_with(cores: int, folder: Path, *, base: str = "pulp-open", scalar: bool = False) -> Path:
    """A platform file with so many cores, whose links need not be waited for at once."""
    text = (platforms_dir() / f"{base}.toml").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^kernels = .*", 'kernels = ["scalar"]', text) if scalar else text
    text = text.replace("asynchronous = false", "asynchronous = true").replace("pointer_bytes = 4", "pointer_bytes = 8")
    path = folder / "cores.toml"
    path.write_text(re.sub(r"(?m)^count = \d+", f"count = {cores}", text), encoding="utf-8")
    return path


def generate(
    model: str,
    cores: int,
    l1: int,
    folder: Path,
    *,
    base: str = "pulp-open",
    scalar: bool = False,
    buffering: str = "double",
    tiles: str = "",
    buffers: str = "",
) -> Plan:
    types = MODELS / model / "types.json"
    options = (
        [f"--type={name}={dtype}" for name, dtype in json.loads(types.read_text()).items()] if types.exists() else []
    )
    if tiles:
        options += ["--objective", "bytes_moved", "--set", f"tiles={tiles}"]
    if buffers:
        options += ["--set", f"buffers={buffers}"]
    platform = platform_with(cores, folder, base=base, scalar=scalar)
    words = ["--model", str(MODELS / model / "network.onnx"), "--platform", str(platform), "--pool", f"l1={l1}"]
    assert (
        main(["generate", *words, "--name", "net", "--buffering", buffering, "--output-dir", str(folder), *options])
        == 0
    )
    return loads((folder / "net_plan.json").read_text(encoding="utf-8"))


def build_golden(
    model: str,
    plan: Plan,
    tolerance: str,
    folder: Path,
    *,
    late: bool = False,
    at_once: bool = False,
    hooked: bool = False,
) -> Path:
    """A program that compares the network with the stored outputs.

    Copies are made when they start, or with ``late`` when they are waited for. Cores work when a
    fork is joined, or with ``at_once`` when it starts. With ``hooked`` (and ``late``) it ends where a copy
    is under way behind a layer.
    """
    vectors = (MODELS / model / "inputs.npz", MODELS / model / "outputs.npz")
    for name, content in golden_files(GoldenRequest(plan, *vectors, tolerance)).items():
        (folder / name).write_bytes(content)
    runtime = runtime_dir()
    sources = [folder / name for name in ("net.c", "net_weights.c", "golden_main.c", "golden_vectors.c")]
    sources += [runtime / name for name in plan.kernel_sources]
    copies = SUPPORT / "late_port.c" if late else runtime / "ports" / "common" / "core_copies.c"
    sources += [MANY_CORES, copies, runtime / "ports" / "host" / "port.c"]
    includes = [f"-I{path}" for path in (folder, runtime / "include", runtime / "test_support")]
    program = folder / f"golden_{int(late)}{int(at_once)}"
    command = [*WARNINGS, "-D_DEFAULT_SOURCE", *(["-DAT_ONCE"] if at_once else []), *includes]
    command += ["-DTILEWRIGHT_LAYER_HOOK=late_port_layer_done"] if hooked else []
    sources.append(runtime / "test_support" / "golden.c")
    subprocess.run(["cc", *command, *kept(["cc", *command], sources), "-lm", "-o", str(program)], check=True)
    return program


def result(program: Path, **environment: str) -> tuple[int, str]:
    """Exit status and lines with checksums."""
    done = subprocess.run([program], capture_output=True, text=True, check=False, env={**os.environ, **environment})
    return done.returncode, "".join(line for line in done.stdout.splitlines() if "checksum" in line)


def checksums(program: Path, **environment: str) -> str:
    status, found = result(program, **environment)
    assert status == 0, found
    return found


def every_order(model: str, plan: Plan, tolerance: str, folder: Path) -> Sequence[str]:
    """Checksums with copies made early and late, work done early and late, cores forwards and backwards."""
    ways = [(late, at_once) for late in (False, True) for at_once in (False, True)]
    programs = [build_golden(model, plan, tolerance, folder, late=late, at_once=at_once) for late, at_once in ways]
    return [checksums(program, **order) for program in programs for order in ({}, {"BACKWARD": "1"})]
