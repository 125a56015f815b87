"""Homes that the user gives: candidate pools of one tensor, addresses, and pools of constants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.chains import conv_chain
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.options import CompileOptions, HomeChoice, Objective, build_options
from tilewright.options.home_text import GivenHome, given_home
from tilewright.pipeline import compile_model, plan_model
from tilewright.plan import Plan

PLATFORMS = Path(__file__).parents[2] / "platforms"
Homes = dict[str, object]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four convolutions in a chain; t1, t2 and t3 between them have 1,536 bytes each. l3-chain with tensors in l2."""
    (tmp_path / "net.onnx").write_bytes(conv_chain(layers=4, channels=6))
    text = (PLATFORMS / "l3-chain.toml").read_text(encoding="utf-8")
    text = text.replace('holds = ["tile"]', 'holds = ["intermediate", "tile"]')
    (tmp_path / "chain.toml").write_text(text, encoding="utf-8")
    return tmp_path


def options(folder: Path, homes: Homes, platform: str = "qemu-virt-rv32f", **changes: object) -> CompileOptions:
    platform = str(folder / platform) if platform.endswith(".toml") else platform
    given = {"model": str(folder / "net.onnx"), "platform": platform, "name": "net", "homes": homes}
    return replace(build_options(("test", given)), **changes)  # type: ignore[arg-type]


def places(plan: Plan) -> dict[str, tuple[str, int]]:
    return {item.buffer: (item.pool, item.offset_bytes) for item in plan.placements}


def refused(folder: Path, homes: Homes, platform: str = "qemu-virt-rv32f", **changes: object) -> TilewrightError:
    with pytest.raises(TilewrightError) as caught:
        plan_model(options(folder, homes, platform, **changes))
    return caught.value


def test_an_address_is_kept_and_the_rest_is_placed_around_it(folder: Path) -> None:
    for platform in ("qemu-virt-rv32f", "qemu-virt-rv32f-single", "chain.toml"):
        pool = "l2" if platform == "chain.toml" else "sram"
        plan = plan_model(options(folder, {"t2": f"{pool}@0x1000", "t3": f"{pool}@8"}, platform))
        assert places(plan)["t2"] == (pool, 4096)
        assert places(plan)["t3"] == (pool, 8)
        assert check(plan) == []


def test_a_state_an_input_and_a_constant_have_addresses_too(folder: Path) -> None:
    free = plan_model(options(folder, {}, "qemu-virt-rv32f-single", io_in_pools=True))
    constant = next(buffer.name for buffer in free.buffers if buffer.sha256)
    homes: Homes = {"x": "sram@64", constant: "flash@1024"}
    plan = plan_model(options(folder, homes, "qemu-virt-rv32f-single", io_in_pools=True))
    assert places(plan)["x"] == ("sram", 64)
    assert places(plan)[constant] == ("flash", 1024)
    assert check(plan) == []


def test_a_tensor_with_an_address_is_no_ring_of_a_group(folder: Path) -> None:
    (folder / "net.onnx").write_bytes(conv_chain(layers=4, size=16))
    free = plan_model(options(folder, {}, "host", objective=Objective.BYTES_USED))
    assert next(buffer for buffer in free.buffers if buffer.name == "t2").ring_axis is not None
    plan = plan_model(options(folder, {"t2": "sram@2048"}, "host", objective=Objective.BYTES_USED))
    assert places(plan)["t2"] == ("sram", 2048)
    assert next(buffer for buffer in plan.buffers if buffer.name == "t2").ring_axis is None
    assert check(plan) == []


def test_constants_live_where_the_user_wants_them(folder: Path) -> None:
    free = plan_model(options(folder, {}, "pulp-open"))
    constants = [buffer.name for buffer in free.buffers if buffer.sha256]
    assert {places(free)[name][0] for name in constants} == {"l2_constants"}
    wanted = {constants[0]: "l3", constants[2]: "l3@256"}
    plan = plan_model(options(folder, dict(wanted), "pulp-open"))
    found = {name: places(plan)[name] for name in constants}
    assert found[constants[0]][0] == "l3"
    assert found[constants[2]] == ("l3", 256)
    assert {found[name][0] for name in constants if name not in wanted} == {"l2_constants"}
    assert check(plan) == []


@pytest.mark.parametrize("choice", HomeChoice)
def test_one_tensor_has_candidates_of_its_own(folder: Path, choice: HomeChoice) -> None:
    """The pools of t2 are l3, then l2; t1 has l2 alone; without a wish each tensor may live in l2."""
    room = {"pools": ("l1=1600", "l2=65536"), "placement": choice}
    plan = plan_model(options(folder, {"t2": ["l3", "l2"], "t1": "l2"}, "chain.toml", **room))
    assert {name: places(plan)[name][0] for name in ("t1", "t2", "t3")} == {"t1": "l2", "t2": "l3", "t3": "l2"}
    free = plan_model(options(folder, {}, "chain.toml", **room))
    used = next(use.used_bytes for use in free.pool_use if use.pool == "l2")
    for size in range(used - 64, used - 1200, -128):
        small = {**room, "pools": ("l1=1600", f"l2={size}")}
        plan = plan_model(options(folder, {"t1": "l2", "t3": ["l2", "l3"]}, "chain.toml", **small))
        assert places(plan)["t1"][0] == "l2"
        assert check(plan) == []


def test_candidates_say_whether_a_tensor_may_stay_near(folder: Path) -> None:
    homes: Homes = {"t1": ["l1", "sram"], "t2": ["sram"]}
    found = places(plan_model(options(folder, homes)))
    assert (found["t1"][0], found["t2"][0], found["t3"][0]) == ("l1", "sram", "l1")


def test_where_kernels_address_all_pools_placement_chooses(folder: Path) -> None:
    everywhere = ("dtcm", "axi", "d2")
    free = places(plan_model(options(folder, {}, "stm32h743")))
    assert free["t2"][0] == everywhere[0]
    found = places(plan_model(options(folder, {"t2": ["d2", "axi"]}, "stm32h743")))
    assert found["t2"][0] in ("d2", "axi")


@pytest.mark.parametrize(
    ("homes", "what"),
    [
        ({"t2": "sram@0x800000"}, "which end before offset 8,388,608"),
        ({"x": "sram"}, "it is the caller's"),
        ({"t7": "sram"}, "the plan has no such tensor or constant"),
        ({"t2": ["sram", "flash"]}, "no pool 'flash' holds such tensors"),
        ({"conv2.weights": ["flash", "flash"], "conv2.bias": "l1"}, "no pool 'l1' holds such tensors"),
    ],
)
def test_homes_that_cannot_be_are_refused(folder: Path, homes: Homes, what: str) -> None:
    error = refused(folder, homes)
    assert error.code == "home-override"
    assert what in error.what


@pytest.mark.parametrize("value", [4, "sram@", "sram@-4", "sram,", ["sram", 3], ""])
def test_values_of_another_form_are_refused(folder: Path, value: object) -> None:
    assert refused(folder, {"t2": value}).code == "bad-option"


def test_addresses_that_overlap_while_both_live_are_refused(folder: Path) -> None:
    """t1 and t2 live together, t1 and t3 do not; t2 may be written some way behind or before what is read of t1."""
    error = refused(folder, {"t1": "sram@0", "t2": "sram@16"}, "qemu-virt-rv32f-single")
    assert error.code == "fixed-offset"
    assert "'t1' and 't2' overlap" in error.what
    for homes in ({"t1": "sram@0", "t2": "sram@512"}, {"t1": "sram@0", "t3": "sram@16"}):
        plan = plan_model(options(folder, dict(homes), "qemu-virt-rv32f-single"))
        assert {name: f"sram@{places(plan)[name][1]}" for name in homes} == homes
        assert check(plan) == []


def test_an_address_that_no_alignment_allows_is_refused(folder: Path) -> None:
    error = refused(folder, {"t1": "sram@1023"})
    assert error.code == "fixed-offset"
    assert "cannot be at offset 1,023 of pool 'sram'" in error.what


def test_a_lock_repeats_homes_and_names_others(folder: Path) -> None:
    wanted = options(folder, {"t2": "l2@512", "t1": ["l3", "l2"]}, "chain.toml", pools=("l1=1600",))
    found = compile_model(wanted)
    path = folder / "net.lock.json"
    path.write_text(found.lock, encoding="utf-8")
    assert compile_model(replace(wanted, plan_lock=path)).files == found.files
    with pytest.raises(TilewrightError, match="option 'homes'") as caught:
        plan_model(replace(wanted, homes=(("t2", "l2@1024"),), plan_lock=path))
    assert caught.value.code == "plan-lock"


def test_text_of_a_home() -> None:
    assert given_home("l2") == GivenHome(("l2",))
    assert given_home("l2@0x20") == GivenHome(("l2",), 32)
    assert given_home("l2, l3,l2") == GivenHome(("l2", "l3"))
