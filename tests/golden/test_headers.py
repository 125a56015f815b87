"""The headers of the ways to hand memory to a model, word for word; each file is meant to be read.

pytest --update-golden writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tilewright import __version__
from tilewright.base.errors import TilewrightError
from tilewright.options import CompileOptions
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import Plan
from tilewright.tools.workspace import Sharing, shared_pools, workspace_files

HERE = Path(__file__).parent
Golden = Callable[[Path, str], None]


def dense(path: Path, sizes: tuple[int, ...]) -> Path:
    """A chain of Gemm and Relu: audio [1, first] -> scores [1, last]; weights are small whole numbers."""
    nodes, constants, source = [], [], "audio"
    for number, (inputs, outputs) in enumerate(pairwise(sizes)):
        weights = (np.arange(inputs * outputs) % 7 - 3).reshape(inputs, outputs).astype(np.float32)
        constants.append(numpy_helper.from_array(weights, f"weights_{number}"))
        target = "scores" if number + 2 == len(sizes) else f"dense_{number}"
        nodes.append(helper.make_node("Gemm", [source, f"weights_{number}"], [target], f"gemm_{number}"))
        source = target
        if target != "scores":
            source = f"active_{number}"
            nodes.append(helper.make_node("Relu", [target], [source], f"relu_{number}"))
    graph = helper.make_graph(
        nodes,
        "dense",
        [helper.make_tensor_value_info("audio", TensorProto.FLOAT, (1, sizes[0]))],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, (1, sizes[-1]))],
        constants,
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]), path)
    return path


def compiled(folder: Path, name: str = "kws", sizes: tuple[int, ...] = (12, 20, 8, 4), **changes: object) -> Artifacts:
    options = CompileOptions(dense(folder / f"{name}.onnx", sizes), str(HERE / "board.toml"), name)
    return compile_model(replace(options, **changes))


def text(content: bytes) -> str:
    """The text of a generated file without the tool's version, which a release changes."""
    decoded = content.decode().replace(f"Tilewright {__version__} ", "Tilewright ")
    return decoded.replace(f'VERSION "{__version__}"', 'VERSION "0"')


CASES: dict[str, tuple[dict[str, object], tuple[str, ...]]] = {
    "passed_pools": ({}, ("kws.h",)),
    "static_pools": ({"static_pools": True}, ("kws.h", "kws_pools.c")),
    "pinned_pools": ({"pools": ("tcm=96@.dtcm", "sram=4096@0x20000000")}, ("kws.h", "kws_layout.h")),
    "io_in_pools": ({"io_in_pools": True}, ("kws.h",)),
    "outputs_in_pools": ({"outputs_in_pools": True}, ("kws.h",)),
    "io_in_static_pools": ({"io_in_pools": True, "static_pools": True}, ("kws.h",)),
}


@pytest.mark.parametrize("case", CASES)
def test_headers(case: str, tmp_path: Path, golden: Golden) -> None:
    changes, names = CASES[case]
    files = compiled(tmp_path, **changes).files
    for name in names:
        golden(HERE / case / name, text(files[name]))


def models(folder: Path) -> tuple[Plan, Plan]:
    return compiled(folder).plan, compiled(folder, "wake", (10, 30, 2)).plan


@pytest.mark.parametrize("sharing", Sharing)
def test_workspace(sharing: Sharing, tmp_path: Path, golden: Golden) -> None:
    files = workspace_files("shared", models(tmp_path), sharing)
    golden(HERE / f"{sharing.value}_workspace" / "shared.h", text(files["shared.h"]))


def test_a_golden_file_with_another_byte_is_noticed(
    tmp_path: Path, golden: Golden, request: pytest.FixtureRequest
) -> None:
    header = text(compiled(tmp_path).files["kws.h"])
    file = tmp_path / "kws.h"
    file.write_text(header.replace("SIZE", "SIZF", 1), encoding="utf-8")
    if not request.config.getoption("--update-golden"):
        with pytest.raises(AssertionError, match="SIZF"):
            golden(file, header)


def test_new_weights_leave_headers_as_they_are(tmp_path: Path) -> None:
    """Headers do not depend on weights, or all files that include them would be compiled again."""
    first = compiled(tmp_path, static_pools=True)
    model = onnx.load(tmp_path / "kws.onnx")
    weights = numpy_helper.to_array(model.graph.initializer[0]) + 1
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights, "weights_0"))
    onnx.save(model, tmp_path / "kws.onnx")
    options = CompileOptions(tmp_path / "kws.onnx", str(HERE / "board.toml"), "kws", static_pools=True)
    second = compile_model(options)
    changed = {name for name in first.files if first.files[name] != second.files[name]}
    assert {name for name in changed if name.endswith(".h")} == set()
    assert {"kws.c", "kws_weights.c"} <= changed


def sizes_of(plan: Plan) -> dict[str, int]:
    return {use.pool: use.used_bytes for use in plan.pool_use}


def test_sizes_of_workspaces(tmp_path: Path) -> None:
    kws, wake = models(tmp_path)
    for pool in shared_pools("shared", (kws, wake), Sharing.EXCLUSIVE):
        assert pool.size_bytes == max(sizes_of(kws)[pool.name], sizes_of(wake)[pool.name])
        assert {part.offset_bytes for part in pool.parts} == {0}
    for pool in shared_pools("shared", (kws, wake), Sharing.CONCURRENT):
        first, second = pool.parts
        assert first.offset_bytes == 0
        assert first.size_bytes <= second.offset_bytes < first.size_bytes + pool.align_bytes
        assert pool.size_bytes == second.offset_bytes + second.size_bytes
        assert pool.size_bytes < sizes_of(kws)[pool.name] + sizes_of(wake)[pool.name] + pool.align_bytes


def test_the_part_that_ends_between_alignments_is_last(tmp_path: Path) -> None:
    """With sizes 16 n and 16 m + 4 nothing is lost: the sum is enough."""
    kws, wake = models(tmp_path)
    plans = [with_use(kws, "tcm", 20), with_use(wake, "tcm", 32)]
    for order in (plans, plans[::-1]):
        (tcm,) = (pool for pool in shared_pools("shared", order, Sharing.CONCURRENT) if pool.name == "tcm")
        assert tcm.size_bytes == 52
        assert [part.model for part in tcm.parts] == ["wake", "kws"]


def with_use(plan: Plan, pool: str, used_bytes: int) -> Plan:
    return replace(
        plan,
        pool_use=tuple(replace(use, used_bytes=used_bytes) if use.pool == pool else use for use in plan.pool_use),
    )


def test_models_that_cannot_share(tmp_path: Path) -> None:
    kws, wake = models(tmp_path)
    own = compiled(tmp_path, static_pools=True).plan
    moved = compiled(tmp_path, "wake", (10, 30, 2), pools=("tcm=512@.dtcm",)).plan
    pinned = [compiled(tmp_path, name, pools=("tcm=512@0x20000000",)).plan for name in ("kws", "wake")]
    for name, plans, sharing, reason in (
        ("shared", (kws, kws), Sharing.EXCLUSIVE, "two models have the C prefix 'kws'"),
        ("KWS", (kws, wake), Sharing.EXCLUSIVE, "the same C prefix"),
        ("shared", (own, wake), Sharing.EXCLUSIVE, "'kws' has pools of its own"),
        ("shared", (kws, moved), Sharing.EXCLUSIVE, "section '.dtcm'|and in '.dtcm'"),
        ("shared", tuple(pinned), Sharing.CONCURRENT, "address 0x20000000 for model 'kws', on bytes of 'wake'"),
    ):
        with pytest.raises(TilewrightError, match=reason):
            workspace_files(name, plans, sharing)
    assert workspace_files("shared", pinned, Sharing.EXCLUSIVE)
