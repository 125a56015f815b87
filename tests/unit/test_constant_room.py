"""Constants that fit nowhere are told before tiles are chosen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.onnx_models import ModelBuilder
from tilewright.base.errors import TilewrightError
from tilewright.options import CompileOptions
from tilewright.pipeline import plan_model
from tilewright.planning import retries
from tilewright.planning.constant_room import least_bytes

PLATFORM = "qemu-virt-rv32f-single"


def options_for(folder: Path, flash_bytes: int) -> CompileOptions:
    """Three products with two matrices, of which the first stands twice in the model."""
    build = ModelBuilder(13)
    x = build.input("x", (1, 16))
    matrix = np.random.default_rng(1).normal(size=(16, 16)).astype(np.float32)
    for number, values in enumerate((matrix, matrix, matrix.T)):
        x = build.node("MatMul", x, build.constant(values), output=f"y{number}")
        x = build.node("Sigmoid", x, output=f"s{number}")
    file = folder / "network.onnx"
    onnx.save(build.model(x), file)
    return CompileOptions(file, PLATFORM, "network", pools=(f"flash={flash_bytes}",))


def flash_bytes(options: CompileOptions) -> int:
    """What the constants take."""
    return next(use.used_bytes for use in plan_model(options).pool_use if use.pool == "flash")


def test_the_bytes_that_are_named_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needed = flash_bytes(options_for(tmp_path, 1 << 20))
    assert 2 * 1024 <= needed < 3 * 1024
    assert flash_bytes(options_for(tmp_path, needed)) == needed
    monkeypatch.setattr(retries, "_explained", lambda decider: pytest.fail("tiles are chosen"))
    with pytest.raises(TilewrightError) as caught:
        plan_model(options_for(tmp_path, needed - 1))
    error = caught.value
    assert error.code == "pool-overflow"
    what = f"pool 'flash' needs at least {needed:,} bytes for constants, platform '{PLATFORM}' gives {needed - 1:,}"
    assert error.what == f"{what} (1 too many)"
    assert error.help[0] == f"POOLS flash={needed} if the chip has that much"


def test_what_is_shared_counts_once_and_what_a_kernel_can_do_without_not_at_all() -> None:
    names = [("a", "int8", ()), ("b", "int8", ()), ("c", "int8", ())]
    a, b, c = names
    assert least_bytes([[{a: 5, b: 3}], [{a: 5}]]) == 8
    assert least_bytes([[{a: 5, b: 3}, {c: 1}], [{a: 5}]]) == 6
