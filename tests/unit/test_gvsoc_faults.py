"""What ends a firmware wrongly in GVSoC fails its ctest in time, and leaves no process behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import pytest
from support.firmware import RISCV_GCC
from support.gvsoc import HAS_GVSOC
from support.processes import inside

ROOT = Path(__file__).resolve().parents[2]
NETWORK = ROOT / "tests" / "firmware" / "models" / "deeploy_residual"
TIMEOUT_S = 8

pytestmark = pytest.mark.skipif(
    not HAS_GVSOC or shutil.which("ninja") is None, reason=f"needs {RISCV_GCC}, Ninja and GVSoC (GVSOC_INSTALL_DIR)"
)

EXPECTED = {
    "golden": (True, "0 failures"),
    "wrong_golden": (False, "1 of "),
    "illegal_instruction": (False, "begun\n\ntrap: mcause="),
    "write_outside_l1": (False, f"begun\ntilewright: killed after {TIMEOUT_S} s"),
    "endless_loop": (False, f"begun\ntilewright: killed after {TIMEOUT_S} s"),
}
"""Test to whether it passes, and what it prints."""


def with_one_wrong(outputs: Path, folder: Path) -> Path:
    arrays = dict(np.load(outputs))
    first = next(iter(arrays.values()))
    first.reshape(-1)[0] += 1
    np.savez(folder / "wrong.npz", **arrays)
    return folder / "wrong.npz"


def test_faults_fail_their_tests(tmp_path: Path) -> None:
    build, work = tmp_path / "build", tmp_path / "work"
    work.mkdir()
    # Every folder of a simulator lies here, so that whatever is left of one can be told.
    environment = {**os.environ, "TMPDIR": str(work), "PYTHONPATH": str(ROOT / "python")}
    options = {
        "CMAKE_BUILD_TYPE": "Release",
        "CMAKE_TOOLCHAIN_FILE": ROOT / "cmake" / "toolchains" / "riscv64-unknown-elf-gcc.cmake",
        "TILEWRIGHT_PYTHON": sys.executable,
        "WRONG_OUTPUTS": with_one_wrong(NETWORK / "outputs.npz", tmp_path),
        "FAULT_TIMEOUT": TIMEOUT_S,
    }
    source = ROOT / "tests" / "gvsoc" / "faults"
    settings = [f"-D{name}={value}" for name, value in options.items()]
    subprocess.run(["cmake", "-G", "Ninja", "-S", source, "-B", build, *settings], check=True, env=environment)
    subprocess.run(["cmake", "--build", build], check=True, env=environment)
    results = tmp_path / "results.xml"
    command = ["ctest", "--test-dir", build, "-j", "2", "--output-junit", results]
    assert subprocess.run(command, check=False, env=environment).returncode != 0
    found = {case.attrib["name"]: case for case in ElementTree.parse(results).getroot().iter("testcase")}
    assert found.keys() == EXPECTED.keys()
    for name, (passes, text) in EXPECTED.items():
        output = found[name].findtext("system-out") or ""
        assert (found[name].attrib["status"] == "run") == passes, output
        assert text in output
        assert float(found[name].attrib["time"]) < TIMEOUT_S + 30
    assert inside(work) == []
    assert list(work.iterdir()) == []
