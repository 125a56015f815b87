"""Tiles that the user gives: taken, completed, or refused with what would work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.chains import conv_chain
from support.planned import far_platform, plan_of, planned
from support.small_nodes import conv
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import Graph
from tilewright.options import CompileOptions, read_options_file
from tilewright.pipeline import compile_model
from tilewright.plan import Loop
from tilewright.tiling.problem import TilingProblem


def graph() -> Graph:
    return conv((1, 4, 9, 9), (8, 4, 3, 3), (9, 9), pads=(1, 1, 1, 1))


def steps_of(*given: tuple[str, int], platform: Any = None) -> dict[str, int]:
    platform = platform or far_platform(1 << 16)
    found = planned(graph(), platform, tiles=(("conv", given),))
    assert check(plan_of(graph(), platform, found)) == []
    return {name: step for name, step, _ in found.schedule.layers[0].tile}


def test_given_steps_are_taken_and_the_rest_is_chosen() -> None:
    free = steps_of()
    assert (free["oc"], free["oh"]) == (8, 9)
    given = steps_of(("oh", 2))
    assert (given["oc"], given["oh"], given["ow"]) == (8, 2, 9)
    # Tiles of 7 rows do not divide the 9 rows evenly: enumeration would never try 7.
    assert steps_of(("oh", 7), ("ow", 4))["oh"] == 7


def test_what_does_not_fit_says_how_much_does() -> None:
    with pytest.raises(TilewrightError) as caught:
        planned(graph(), far_platform(1000), tiles=(("conv", (("oh", 9), ("ow", 9))),))
    assert caught.value.code == "tile-overflow"
    needed = int(caught.value.help[0].removeprefix("POOLS l1=").split()[0])
    planned(graph(), far_platform(needed), tiles=(("conv", (("oh", 9), ("ow", 9))),))
    planned(graph(), far_platform(1000))


@pytest.mark.parametrize(
    ("layer", "given", "part"),
    [
        ("covn", ("oh", 2), "which is no layer"),
        ("conv", ("ho", 2), "there is no dimension 'ho'"),
        ("conv", ("oh", 10), "exceeds its extent, 9"),
        ("conv", ("oc", 2), "no multiple of 4"),
        ("conv", ("l2.oh", 2), "no tiles of this layer stay in a pool 'l2'"),
    ],
)
def test_wrong_tiles_are_refused(layer: str, given: tuple[str, int], part: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        planned(graph(), far_platform(1 << 16), tiles=((layer, (given,)),))
    assert caught.value.code == "tile-override"
    assert part in caught.value.what
    assert caught.value.help


def test_tiles_across_groups_are_refused() -> None:
    grouped = conv((1, 4, 5, 5), (16, 2, 3, 3), (3, 3), group=2)
    with pytest.raises(TilewrightError, match="write every element once"):
        planned(grouped, far_platform(1 << 16), tiles=(("conv", (("group", 2), ("oc", 4))),))


def test_a_window_that_stays_whole_is_not_cut() -> None:
    grouped = conv((1, 4, 5, 5), (16, 2, 3, 3), (3, 3), group=2)
    with pytest.raises(TilewrightError, match="'kh' cannot be cut"):
        planned(grouped, far_platform(1 << 16), tiles=(("conv", (("kh", 1),)),))


def test_layers_without_tiles_are_refused() -> None:
    near = far_platform(1 << 16, reach=("l1", "sram", "flash"))
    with pytest.raises(TilewrightError, match="whole tensors"):
        planned(graph(), near, tiles=(("conv", (("oh", 2),)),))


def test_larger_tiles_between_home_and_core(tmp_path: Path) -> None:
    (tmp_path / "net.onnx").write_bytes(conv_chain(channels=16))
    file = tmp_path / "options.toml"
    text = 'model = "net.onnx"\nplatform = "qemu-virt-rv32-l3"\n[tiles.conv2]\noc = 4\nl2 = { oc = 8 }\n'
    file.write_text(text, encoding="utf-8")
    values = read_options_file(file)
    assert values["tiles"]["conv2"] == {"oc": 4, "l2": {"oc": 8}}
    tiles = (("conv2", (("oc", 4), ("l2.oc", 8))),)
    options = CompileOptions(Path(values["model"]), values["platform"], "net", tiles=tiles)
    plan = compile_model(options).plan
    (loop,) = (step for layer in plan.program for step in getattr(layer, "body", ()) if isinstance(step, Loop))
    assert {(coarse.of, coarse.tiles) for coarse in loop.coarse} == {("oc", 2)}
    staged = [buffer.shape for buffer in plan.buffers if buffer.name.startswith("conv2.") and "staged" in buffer.name]
    assert staged
    for given, part in ((("l2.oc", 6), "no multiple of oc = 4"), (("l2.oc", 12), "write every element once")):
        with pytest.raises(TilewrightError, match=part):
            compile_model(
                CompileOptions(options.model, options.platform, "net", tiles=(("conv2", (("oc", 4), given)),))
            )


def test_problems_without_given_steps_are_free() -> None:
    assert TilingProblem.__dataclass_fields__["given"].default_factory() == {}  # type: ignore[misc]
