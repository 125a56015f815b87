"""e^x and functions that consist of it (power_f32.h), as cores with an FPU compute them, against float64."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from math import exp, expm1, inf, isnan, nan, tanh
from pathlib import Path

import numpy as np
import pytest
from support.firmware import needs_host_compiler
from tilewright.base.resources import runtime_dir

pytestmark = needs_host_compiler

STEP = 2.0**-24
"""Half of the distance of two floats next to 1."""

FUNCTIONS: dict[str, Callable[[float], float]] = {
    "exp": exp,
    "exp_less_one": expm1,
    "tanh": tanh,
}


@pytest.fixture(scope="module", params=["plain", "fused"])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("powers")
    text = '#include "tilewright/kernels/power_f32.h"\n' + "".join(
        f"float run_{name}(float x);\nfloat run_{name}(float x)\n{{\n    return tilewright_{name}(x);\n}}\n"
        for name in FUNCTIONS
    )
    (folder / "powers.c").write_text(text, encoding="utf-8")
    if request.param == "fused" and "fma" not in Path("/proc/cpuinfo").read_text(encoding="utf-8").split():
        pytest.skip("this processor does not fuse products and sums")
    words = ["-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared", "-Wall", "-Wextra", "-Wconversion", "-Werror"]
    words += ["-mfma"] if request.param == "fused" else []
    command = [str(shutil.which("cc")), *words, f"-I{runtime_dir() / 'include'}"]
    command += [str(folder / "powers.c"), "-lm", "-o", str(folder / "powers.so")]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(folder / "powers.so"))


def function(library: ctypes.CDLL, name: str) -> Callable[[float], float]:
    found = getattr(library, f"run_{name}")
    found.argtypes, found.restype = [ctypes.c_float], ctypes.c_float
    return lambda x: float(found(x))


def largest_error(library: ctypes.CDLL, name: str, numbers: np.ndarray) -> float:
    """In steps of the value itself."""
    run, wanted = function(library, name), FUNCTIONS[name]
    numbers = numbers.astype(np.float32).astype(np.float64)
    errors = [abs(run(x) - wanted(x)) / abs(wanted(x)) for x in numbers.tolist()]
    return max(errors) / STEP


def test_powers_are_within_two_steps(library: ctypes.CDLL) -> None:
    numbers = np.concatenate([np.linspace(-86.9, 87.9, 20_001), np.linspace(-1.1, 1.1, 20_000)])
    assert largest_error(library, "exp", numbers) < 2.0
    assert largest_error(library, "exp_less_one", numbers) < 3.0


def test_functions_of_powers_are_within_few_steps(library: ctypes.CDLL) -> None:
    signs = np.array([[-1.0], [1.0]])
    small = (signs * np.geomspace(1e-30, 1.0, 3001)).ravel()
    assert largest_error(library, "tanh", np.concatenate([np.linspace(-12.0, 12.0, 20_000), small])) < 4.0
    assert largest_error(library, "exp_less_one", small) < 3.0


def test_far_numbers_end_at_the_limits(library: ctypes.CDLL) -> None:
    run = {name: function(library, name) for name in FUNCTIONS}
    assert all(isnan(run[name](nan)) for name in FUNCTIONS)
    for far in (100.0, 1e30, inf):
        assert 0.0 <= run["exp"](-far) < 1e-37
        assert 1e38 < run["exp"](far) < inf
        assert run["exp_less_one"](-far) == -1.0
        assert (run["tanh"](-far), run["tanh"](far)) == (-1.0, 1.0)
