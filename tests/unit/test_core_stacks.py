"""Stacks beside the plan's bytes: larger ones where kernels need them, and what that leaves of the pool."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.base.resources import platforms_dir
from tilewright.options import CompileOptions
from tilewright.pipeline import compile_model, plan_model
from tilewright.plan.json import dumps, loads
from tilewright.platform import load_platform
from tilewright.tools.manifest import PlatformFacts, manifest


def product(folder: Path, rows: int) -> Path:
    """A product of floats as ONNX, ``rows`` by 64 and 64 by 64."""
    weights = onnx.numpy_helper.from_array(np.ones((64, 64), np.float32), "w")
    value = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("MatMul", ["x", "w"], ["y"], name="product")],
        "product",
        [value("x", onnx.TensorProto.FLOAT, [rows, 64])],
        [value("y", onnx.TensorProto.FLOAT, [rows, 64])],
        [weights],
    )
    path = folder / "product.onnx"
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
    return path


def options(folder: Path, rows: int = 16, platform: str = "pulp-open", pools: tuple[str, ...] = ()) -> CompileOptions:
    return CompileOptions(product(folder, rows), platform, "product", pools=pools)


def used_bytes(folder: Path, rows: int, pools: tuple[str, ...] = ()) -> int:
    plan = plan_model(options(folder, rows, pools=pools))
    return next(use.used_bytes for use in plan.pool_use if use.pool == "l1")


def test_plan_and_manifest_say_what_a_core_needs(tmp_path: Path) -> None:
    chosen = options(tmp_path)
    artifacts = compile_model(chosen)
    assert artifacts.plan.core_stack_bytes == 672
    assert loads(dumps(artifacts.plan)) == artifacts.plan
    facts = PlatformFacts("pulp-open", (), "pulp_open", (), "")
    assert b'"core_stack_bytes": 672' in manifest(chosen, artifacts.plan, artifacts.files, facts, "")


def test_other_platforms_say_nothing(tmp_path: Path) -> None:
    plan = plan_model(options(tmp_path, platform="qemu-virt-rv32f"))
    assert plan.core_stack_bytes == 0
    assert "core_stack" not in dumps(plan)


def test_a_plan_leaves_room_by_itself(tmp_path: Path) -> None:
    stacks = load_platform("pulp-open").core_stacks
    assert stacks is not None
    room = stacks.space_bytes - stacks.count * 672 - stacks.other_bytes
    assert used_bytes(tmp_path, rows=400) <= room < 60000


def test_a_pool_without_room_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=r"kernel 'matmul_f32' needs stacks of 672 bytes") as raised:
        plan_model(options(tmp_path, 440, pools=("l1=64400",)))
    assert raised.value.code == "core-stacks"
    assert raised.value.status is ExitStatus.DOES_NOT_FIT
    assert raised.value.at == ("layer 00 mat_mul 64 to 64, 440 rows",)
    assert raised.value.help == ("POOLS l1=58592 leaves room for them",)
    assert used_bytes(tmp_path, rows=440, pools=("l1=58592",)) <= 58592


def test_a_space_that_holds_no_stacks(tmp_path: Path) -> None:
    text = load_text().replace("space_bytes = 65536", "space_bytes = 6000")
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    with pytest.raises(TilewrightError, match="cores have more memory"):
        plan_model(options(tmp_path, platform=str(tmp_path / "small.toml")))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('pool = "l1"\nsize_bytes = 512', 'pool = "l9"\nsize_bytes = 512', "no pool 'l9'"),
        ("size_bytes = 512\n", "size_byte = 512\n", "did you mean 'size_bytes'"),
        ("space_bytes = 65536", "space_bytes = 0", "at least 1"),
    ],
)
def test_mistakes_in_the_platform_file(old: str, new: str, told: str, tmp_path: Path) -> None:
    text = load_text()
    assert old in text
    (tmp_path / "wrong.toml").write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(TilewrightError, match=told):
        load_platform(str(tmp_path / "wrong.toml"))


def load_text() -> str:
    return (platforms_dir() / "pulp-open.toml").read_text(encoding="utf-8")
