"""A user's GVSoC is found where the variable or PATH says; what is missing is said, and disables tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support.firmware import RISCV_GCC
from tilewright.base.errors import TilewrightError
from tilewright.platform import load_platform
from tilewright.tools.simulate import simulator_environment, with_python

ROOT = Path(__file__).resolve().parents[2]
NOT_THERE = "GVSoC is not installed, or GVSOC_INSTALL_DIR does not name its folder"

pytestmark = pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")


def program(path: Path, status: int = 0) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\nexit {status}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def folder_with(tmp_path: Path, *tools: str) -> Path:
    """A folder for PATH that has nothing but these programs of this machine."""
    folder = tmp_path / "tools"
    folder.mkdir(exist_ok=True)
    for tool in tools:
        found = shutil.which(tool)
        assert found
        (folder / tool).symlink_to(found)
    return folder


def found(tmp_path: Path, path: list[Path], *options: str, **environment: str) -> list[str]:
    """GVSoC_FOUND, GVSOC_DIR and GVSOC_PROBLEM."""
    script = tmp_path / "find.cmake"
    script.write_text(
        f'list(PREPEND CMAKE_MODULE_PATH "{ROOT / "cmake"}")\nfind_package(GVSoC MODULE QUIET)\n'
        'message("${GVSoC_FOUND}|${GVSOC_DIR}|${GVSOC_PROBLEM}")\n',
        encoding="utf-8",
    )
    cmake = shutil.which("cmake")
    assert cmake
    variables = {"PATH": os.pathsep.join(map(str, path)), **environment}
    command = [cmake, *options, "-P", str(script)]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return done.stderr.strip().split("|")


def test_without_an_installation(tmp_path: Path) -> None:
    assert found(tmp_path, [tmp_path]) == ["FALSE", "", NOT_THERE]
    assert found(tmp_path, [tmp_path], GVSOC_INSTALL_DIR=str(tmp_path / "elsewhere"))[0] == "FALSE"


@pytest.mark.parametrize("way", ["environment", "variable", "PATH", "link on PATH"])
def test_ways_to_name_an_installation(way: str, tmp_path: Path) -> None:
    there = tmp_path / "a folder" / "gvsoc"
    program(there / "bin" / "gvsoc")
    path = [program(tmp_path / "python" / "python3").parent]
    options, environment = [], {}
    if way == "environment":
        environment["GVSOC_INSTALL_DIR"] = str(there)
    elif way == "variable":
        options.append(f"-DGVSOC_INSTALL_DIR={there}")
    elif way == "PATH":
        path.append(there / "bin")
    else:
        (path[0] / "gvsoc").symlink_to(there / "bin" / "gvsoc")
    assert found(tmp_path, path, *options, **environment) == ["TRUE", str(there), ""]


def test_python_without_the_packages(tmp_path: Path) -> None:
    there = program(tmp_path / "gvsoc" / "bin" / "gvsoc").parent.parent
    poor = program(tmp_path / "poor" / "python3", status=1).parent
    problem = f"GVSoC is in {there}, but no python3 on PATH has its packages"
    assert found(tmp_path, [poor], GVSOC_INSTALL_DIR=str(there)) == ["TRUE", str(there), problem]
    rich = program(tmp_path / "rich" / "python3").parent
    assert found(tmp_path, [poor, rich], GVSOC_INSTALL_DIR=str(there)) == ["TRUE", str(there), ""]


def test_simulator_runs_with_a_python_that_has_its_modules(tmp_path: Path) -> None:
    platform = load_platform("pulp-open")
    poor = program(tmp_path / "poor" / "python3", status=1).parent
    rich = program(tmp_path / "rich" / "python3").parent
    chosen = with_python(platform, {"PATH": f"{poor}{os.pathsep}{rich}"})
    assert chosen["PATH"].split(os.pathsep) == [str(rich), str(poor), str(rich)]
    with pytest.raises(TilewrightError, match=r"no python3 on PATH has what .* needs: prettytable"):
        with_python(platform, {"PATH": str(poor)})
    assert platform.simulator is not None
    plain = replace(platform, simulator=replace(platform.simulator, python_modules=()))
    assert with_python(plain, {"PATH": str(poor)}) == {"PATH": str(poor)}


def test_libraries_lie_beside_the_programs(tmp_path: Path) -> None:
    platform = load_platform("pulp-open")
    program(tmp_path / "gvsoc" / "bin" / "gvsoc")
    by_path = simulator_environment(platform, {"PATH": str(tmp_path / "gvsoc" / "bin")})
    assert by_path["LD_LIBRARY_PATH"] == str(tmp_path / "gvsoc" / "lib")
    named = simulator_environment(platform, {"PATH": "/bin", "GVSOC_INSTALL_DIR": str(tmp_path / "gvsoc")})
    assert named["PATH"] == f"{tmp_path / 'gvsoc' / 'bin'}{os.pathsep}/bin"
    assert simulator_environment(platform, {"PATH": str(tmp_path)}) == {"PATH": str(tmp_path)}


@pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in (RISCV_GCC, "ninja")), reason=f"needs {RISCV_GCC} and Ninja"
)
def test_tests_are_disabled_and_say_why(tmp_path: Path) -> None:
    gcc = [tool.name for tool in Path(shutil.which(RISCV_GCC) or "").parent.glob("riscv64-*")]
    path = folder_with(tmp_path, "cmake", "ninja", "ctest", "sh", *gcc)
    environment = {"PATH": str(path), "PYTHONPATH": str(ROOT / "python"), "HOME": str(tmp_path)}
    build = tmp_path / "build"
    settings = {
        "CMAKE_TOOLCHAIN_FILE": ROOT / "cmake" / "toolchains" / "riscv64-unknown-elf-gcc.cmake",
        "TILEWRIGHT_PYTHON": sys.executable,
        "WRONG_OUTPUTS": ROOT / "tests" / "firmware" / "models" / "deeploy_residual" / "outputs.npz",
        "FAULT_TIMEOUT": 9,
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    source = ROOT / "tests" / "gvsoc" / "faults"
    command = ["cmake", "-G", "Ninja", "-S", source, "-B", build, *options]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    for name in ("golden", "endless_loop"):
        assert f"-- Test {name} is disabled: {NOT_THERE}" in done.stdout
    listing = subprocess.run(
        ["ctest", "--test-dir", build], env=environment, capture_output=True, text=True, check=False
    )
    assert len(re.findall(r"Not Run \(Disabled\)", listing.stdout)) == 5
