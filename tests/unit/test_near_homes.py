"""Intermediate tensors that stay near the core: which ones, what it saves, and what the user says of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docs.pages import blocks
from support.chains import conv_chain
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.options import CompileOptions, Objective, build_options, read_options_file
from tilewright.pipeline import compile_model, plan_model
from tilewright.placement import DoesNotFit
from tilewright.placement.items import Diagnosis
from tilewright.plan import BufferKind, Plan
from tilewright.planning.realise import realise as planned_realise
from tilewright.report.data import report_data
from tilewright.report.text import report_text

ROOT = Path(__file__).parents[2]
PLATFORMS = ROOT / "platforms"
PLENTY = 1 << 16
LAYERS = 4
NEAR = 'holds = ["tile", "scratch", "intermediate"]'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Four convolutions in a chain; t1, t2 and t3 between them have 1,536 bytes each."""
    path = tmp_path / "net.onnx"
    path.write_bytes(conv_chain(LAYERS, channels=6))
    return path


def options(model: Path, l1: int = PLENTY, platform: str = "qemu-virt-rv32f", **changes: Any) -> CompileOptions:
    return replace(CompileOptions(model, platform, "net", pools=(f"l1={l1}",)), **changes)


def travelling(model: Path, l1: int = PLENTY, platform: str = "qemu-virt-rv32f", **changes: Any) -> CompileOptions:
    """The options of a plan for a copy of the platform whose l1 is for tiles alone."""
    text = (PLATFORMS / f"{platform}.toml").read_text(encoding="utf-8")
    assert text.count(NEAR) == 1
    path = model.with_name(f"{platform}-far.toml")
    path.write_text(text.replace(NEAR, 'holds = ["tile", "scratch"]'), encoding="utf-8")
    return options(model, l1, str(path), **changes)


def pools(plan: Plan) -> dict[str, str]:
    """The pool of each tensor between layers."""
    kinds = {buffer.name: buffer.kind for buffer in plan.buffers}
    return {item.buffer: item.pool for item in plan.placements if kinds[item.buffer] is BufferKind.INTERMEDIATE}


def moved(plan: Plan) -> int:
    return sum(size for layer in plan.layers for _, size in layer.link_bytes)


def cycles(plan: Plan) -> int:
    return sum(layer.predicted_cycles for layer in plan.layers)


def sizes(model: Path, least: int) -> list[int]:
    return [least, *(least * 3**step // 2**step for step in (1, 4, 9, 11))]


def least_l1(model: Path) -> int:
    with pytest.raises(TilewrightError) as caught:
        plan_model(options(model, 1))
    return int(caught.value.help[0].split()[1].partition("=")[2])


@pytest.mark.parametrize("platform", ["qemu-virt-rv32", "qemu-virt-rv32-l3", "pulp-open", "siracusa", "mps2-an385"])
def test_what_fits_stays_and_nobody_copies_it(model: Path, platform: str) -> None:
    near, far = plan_model(options(model, 32768, platform)), plan_model(travelling(model, 32768, platform))
    assert pools(near) == dict.fromkeys(("t1", "t2", "t3"), "l1")
    assert moved(far) - moved(near) >= 2 * 3 * 1536
    assert cycles(near) < cycles(far)
    assert check(near) == []


def test_no_size_of_l1_makes_a_plan_worse(model: Path) -> None:
    least = least_l1(model)
    found = []
    for size in sizes(model, least):
        near, far = plan_model(options(model, size)), plan_model(travelling(model, size))
        assert check(near) == []
        assert cycles(near) <= cycles(far)
        found.append(list(pools(near).values()).count("l1"))
    assert found[0] == 0
    assert 0 < sorted(found)[-2] <= sorted(found)[-1] == LAYERS - 1


@pytest.mark.parametrize("l1", [6000, PLENTY])
def test_the_pool_that_tensors_leave_may_be_as_small_as_the_plan_says(model: Path, l1: int) -> None:
    """With every tensor in sram, its two that are alive at once would need 3,072 bytes."""
    plan = plan_model(options(model, l1))
    used = next(use.used_bytes for use in plan.pool_use if use.pool == "sram")
    assert used < 3072
    smaller = plan_model(options(model, l1, pools=(f"l1={l1}", f"sram={max(used, 16)}")))
    assert pools(smaller) == pools(plan)
    assert cycles(smaller) == cycles(plan)


def test_the_least_l1_is_that_of_tiles_alone(model: Path) -> None:
    least = least_l1(model)
    plan_model(travelling(model, least))
    with pytest.raises(TilewrightError):
        plan_model(travelling(model, least - 1))


def test_what_the_user_wants_far_stays_far(model: Path) -> None:
    plan = plan_model(options(model, homes=(("t2", "sram"),)))
    assert pools(plan) == {"t1": "l1", "t2": "sram", "t3": "l1"}
    assert check(plan) == []


def test_what_the_user_wants_near_is_near_whatever_it_costs(model: Path) -> None:
    size = least_l1(model) + 1536 + 512
    free = plan_model(options(model, size))
    wanted = next(name for name, pool in pools(free).items() if pool == "sram")
    plan = plan_model(options(model, size, homes=((wanted, "l1"),)))
    assert pools(plan)[wanted] == "l1"
    assert check(plan) == []


def test_a_tensor_larger_than_l1_cannot_be_wanted_there(model: Path) -> None:
    with pytest.raises(TilewrightError, match="pool 'l1' needs"):
        plan_model(options(model, 1500, homes=(("t2", "l1"),)))


@pytest.mark.parametrize(
    ("homes", "what"),
    [
        ((("t9", "l1"),), "a home is given for 't9': the plan has no such tensor or constant"),
        ((("x", "l1"),), "a home is given for 'x': it is the caller's"),
        ((("t1", "flash"),), "a home is given for 't1': no pool 'flash' holds such tensors"),
        ((("t1", "l9"),), "a home is given for 't1': no pool 'l9' holds such tensors"),
    ],
    ids=["unknown", "the caller's", "constants", "no pool"],
)
def test_what_is_no_tensor_or_no_pool_is_refused(model: Path, homes: Sequence[tuple[str, str]], what: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        plan_model(options(model, homes=tuple(homes)))
    assert caught.value.code == "home-override"
    assert caught.value.what == what


def test_homes_stand_in_the_options_file(model: Path) -> None:
    """The block of docs/explanation/tiling.md."""
    page = (ROOT / "docs" / "explanation" / "tiling.md").read_text(encoding="utf-8")
    (text,) = (item.text for item in blocks(page) if item.language == "toml")
    path = model.with_name("options.toml")
    path.write_text(text, encoding="utf-8")
    call = {"model": model, "platform": "qemu-virt-rv32f", "name": "net"}
    given = build_options(("file", read_options_file(path)), ("call", call))
    assert pools(plan_model(given)) == {"t1": "l1", "t2": "sram", "t3": "l1"}


def test_a_pool_where_the_core_reaches_may_be_given_too(model: Path) -> None:
    plan = plan_model(replace(options(model, platform="qemu-virt-rv32-single", homes=(("t2", "sram"),)), pools=()))
    assert pools(plan)["t2"] == "sram"


@pytest.mark.parametrize("homes", [(), (("t2", "sram"),), (("t1", "l1"),)], ids=["chosen", "far", "near"])
@pytest.mark.parametrize("l1", [6000, PLENTY])
def test_a_lock_repeats_the_choice(model: Path, l1: int, homes: tuple[tuple[str, str], ...]) -> None:
    searched = compile_model(options(model, l1, homes=homes))
    assert "l1" in pools(searched.plan).values()
    path = model.with_name("net.lock.json")
    path.write_text(searched.lock, encoding="utf-8")
    repeated = compile_model(options(model, l1, homes=homes, plan_lock=path))
    assert repeated.files == searched.files
    assert repeated.lock == searched.lock


def test_tensors_of_layers_with_given_tiles_travel(model: Path) -> None:
    plan = plan_model(options(model, tiles=(("conv2", (("oh", 4),)),)))
    assert pools(plan) == {"t1": "sram", "t2": "sram", "t3": "l1"}
    assert next(layer.tiles for layer in plan.layers if layer.name == "conv2") == 2


@pytest.mark.parametrize(
    "changes",
    [{"objective": Objective.BYTES_USED}, {"strategy": "max"}],
    ids=["fewest bytes of pools", "tiles not by cost"],
)
def test_nothing_stays_where_cycles_do_not_decide(model: Path, changes: dict[str, Any]) -> None:
    assert set(pools(plan_model(options(model, **changes))).values()) == {"sram"}


def test_fewest_bytes_moved_is_an_objective_too(model: Path) -> None:
    near = plan_model(options(model, objective=Objective.BYTES_MOVED))
    far = plan_model(travelling(model, objective=Objective.BYTES_MOVED))
    assert set(pools(near).values()) == {"l1"}
    assert moved(near) < moved(far)


def test_tensors_that_find_no_place_leave_room(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where placement misses bytes while a layer runs, fewer tensors stay, or smaller tiles are taken beside them."""
    refused: list[int] = []

    def realise(*given: Any) -> Any:
        if len(refused) < 2:
            refused.append(len(refused))
            tick = 12
            diagnosis = Diagnosis("l1", PLENTY + 60_000, PLENTY, 60_000, tick, (), proved=True, smallest_proved=True)
            error = DoesNotFit("pool-overflow", "no place")
            error.diagnosis = diagnosis
            raise error
        return planned_realise(*given)

    monkeypatch.setattr("tilewright.planning.near_homes.realise", realise)
    plan = plan_model(options(model))
    assert refused == [0, 1]
    assert 0 < list(pools(plan).values()).count("l1") < LAYERS - 1
    assert check(plan) == []


def test_a_tensor_over_the_tiles_of_a_layer_between_is_refused(model: Path) -> None:
    plan = plan_model(options(model))
    offsets = {item.buffer: item.offset_bytes for item in plan.placements}
    tile = next(item.buffer for item in plan.placements if item.buffer.startswith("conv2.") and item.pool == "l1")
    spoilt = [replace(item, offset_bytes=offsets[tile]) if item.buffer == "t2" else item for item in plan.placements]
    rules = {found.rule.value for found in check(replace(plan, placements=tuple(spoilt)))}
    assert rules & {"overlap", "unwritten-read", "overwritten"}


def test_a_pool_for_tiles_alone_may_not_have_tensors(model: Path) -> None:
    plan = plan_model(options(model))
    alone = tuple(
        replace(pool, holds=(BufferKind.TILE, BufferKind.SCRATCH)) if pool.name == "l1" else pool for pool in plan.pools
    )
    assert {found.rule.value for found in check(replace(plan, pools=alone))} == {"pool-holds"}


def test_the_report_names_what_stays(model: Path) -> None:
    plan = plan_model(options(model, homes=(("t2", "sram"),)))
    rows = report_data(plan)["near"]
    assert [(row["name"], row["pool"], row["size_bytes"]) for row in rows] == [("t1", "l1", 1536), ("t3", "l1", 1536)]
    assert rows[0]["layers"] == ["conv1", "conv2"]
    assert "Tensors that stay near the core" in report_text(plan)
    assert "Tensors that stay near the core" not in report_text(plan_model(travelling(model)))
