"""Tensors with several pools to live in: a pool that shrinks pushes them outward, one by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.chains import conv_chain
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.options import CompileOptions, HomeChoice
from tilewright.pipeline import Artifacts, compile_model, plan_model
from tilewright.plan import BufferKind, Plan

PLATFORMS = Path(__file__).parents[2] / "platforms"
ALL_IN_L2 = 1 << 16


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A chain of convolutions, and l3-chain whose l2 holds tensors between layers as well, as its first choice."""
    (tmp_path / "net.onnx").write_bytes(conv_chain(layers=4, channels=6))
    text = (PLATFORMS / "l3-chain.toml").read_text(encoding="utf-8")
    assert text.count('holds = ["tile"]') == 1
    text = text.replace('holds = ["tile"]', 'holds = ["intermediate", "tile"]')
    (tmp_path / "spill.toml").write_text(text, encoding="utf-8")
    return tmp_path


def options(folder: Path, l2: int, **changes: object) -> CompileOptions:
    pools = ("l1=1600", f"l2={l2}")
    return replace(CompileOptions(folder / "net.onnx", str(folder / "spill.toml"), "net", pools=pools), **changes)


def homes(plan: Plan) -> dict[str, str]:
    """The pool of each tensor between layers."""
    kinds = {buffer.name: buffer.kind for buffer in plan.buffers}
    return {item.buffer: item.pool for item in plan.placements if kinds[item.buffer] is BufferKind.INTERMEDIATE}


def used(plan: Plan, pool: str) -> int:
    return next(use.used_bytes for use in plan.pool_use if use.pool == pool)


def test_everything_lives_in_the_first_pool_while_there_is_room(folder: Path) -> None:
    plan = plan_model(options(folder, ALL_IN_L2))
    assert set(homes(plan).values()) == {"l2"}


def sizes(folder: Path, **changes: object) -> dict[int, int]:
    """Size of l2 in bytes, 15/16 of what the plan before took of l2, to the number of tensors that live in l3 then."""
    plan = plan_model(options(folder, ALL_IN_L2))
    found: dict[int, int] = {}
    while not found or min(homes(plan).values()) == "l2":
        size = used(plan, "l2") * 15 // 16
        plan = plan_model(options(folder, size, **changes))
        assert check(plan) == []
        assert used(plan, "l2") <= size
        found[size] = sum(pool == "l3" for pool in homes(plan).values())
    return found


@pytest.mark.parametrize("choice", HomeChoice)
def test_a_pool_that_shrinks_pushes_tensors_outward(folder: Path, choice: HomeChoice) -> None:
    away = list(sizes(folder, placement=choice).values())
    assert away == sorted(away)
    assert len(set(away)) >= 2
    assert away[-1] == 3


def test_the_error_names_a_size_that_works(folder: Path) -> None:
    with pytest.raises(TilewrightError) as caught:
        plan_model(options(folder, 40))
    words = caught.value.help[0].split()
    assert words[0] == "POOLS"
    given = {name: int(size) for name, _, size in (word.partition("=") for word in words if "=" in word)}
    pools = tuple(f"{name}={size}" for name, size in {"l1": 1600, **given}.items())
    assert check(plan_model(replace(options(folder, 40), pools=pools))) == []


def test_pools_that_are_too_small_together_have_sizes_that_work_together(folder: Path) -> None:
    small = replace(options(folder, 40), pools=("l1=100", "l2=40", "l3=10"))
    with pytest.raises(TilewrightError) as caught:
        plan_model(small)
    pools = tuple(word for word in caught.value.help[0].split() if "=" in word)
    assert len(pools) >= 2
    rest = tuple(
        text for text in small.pools if text.partition("=")[0] not in {word.partition("=")[0] for word in pools}
    )
    assert check(plan_model(replace(small, pools=(*pools, *rest)))) == []


def test_a_lock_repeats_the_homes(folder: Path) -> None:
    chosen = options(folder, next(size for size, away in sizes(folder).items() if away > 0))
    first = compile_model(chosen)
    assert "l3" in homes(first.plan).values()
    (folder / "net.lock.json").write_text(first.lock, encoding="utf-8")
    again: Artifacts = compile_model(replace(chosen, plan_lock=folder / "net.lock.json"))
    assert again.files == first.files
