"""Which kernel an operator gets, and which of nearly equal tiles: predicted cycles, then SIMD words and cores."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.planned import far_platform, link, planned
from support.small_nodes import conv
from tilewright.base.errors import TilewrightError
from tilewright.base.resources import platforms_dir
from tilewright.graph import Node
from tilewright.kernels.kernel import Kernel, KernelChoice, TileSteps
from tilewright.operators.nest import Dimension, Nest, along
from tilewright.options import Objective, build_options
from tilewright.pipeline import compile_model
from tilewright.plan import KernelOffer, Plan
from tilewright.platform import load_platform
from tilewright.platform.costs import Costs, KernelCost
from tilewright.report.data import report_data
from tilewright.report.text import report_text
from tilewright.tiling.choice import TilingOptions, choose_tiles
from tilewright.tiling.core_split import CoreSplit
from tilewright.tiling.hints import IDLE_SHARE, idle_cores, idle_factor, idle_lanes
from tilewright.tiling.kernel_choice import cheapest_kernel
from tilewright.tiling.operand import TileOperand
from tilewright.tiling.problem import TilingProblem
from tilewright.tiling.tile_choice import TileChoice

MODELS = Path(__file__).parents[1] / "firmware" / "models"
EXTENTS = {"r": 10, "c": 12}
WITHOUT = TilingOptions(hints=False)


def elementwise(
    extents: dict[str, int],
    cycles: Callable[[TileSteps], float],
    symbol: str = "f",
    uncut: frozenset[str] = frozenset(),
    scratch: int = 0,
) -> TilingProblem:
    """y = f(x), int8[r, c] in sram, tiles in l1."""
    axes = (along("r"), along("c"))
    nest = Nest(tuple(Dimension(*item) for item in extents.items()), (axes,), (axes,))
    declared = Kernel(
        symbol, None, lambda choice, steps: cycles(steps), scratch=lambda choice, steps: {"scratch": scratch}
    )
    kernel = KernelChoice(declared, (), nest, (), (), (), uncut=uncut)
    x = TileOperand(
        name="x",
        write=False,
        axes=axes,
        extents=tuple(extents.values()),
        order=(0, 1),
        view=(0, 1),
        element_bytes=1,
        align_bytes=1,
        home="sram",
        link=None,
        near="l1",
        dtype="int8",
        tensor="x",
    )
    operands = (
        replace(x, link=link("sram", "l1")),
        replace(x, name="y", tensor="y", write=True, link=link("l1", "sram")),
    )
    return TilingProblem(Node("node", "F", ("x",), ("y",)), kernel, operands, "l1")


def points(each: float) -> Callable[[TileSteps], float]:
    return lambda steps: each * steps["r"] * steps["c"]


def vectors(each: float = 1000.0) -> TilingProblem:
    """Rows of 12 channels that are cut between channels, on words of four bytes."""
    return replace(elementwise(EXTENTS, points(each), uncut=frozenset({"r"})), simd_bytes=4)


def chosen(problem: TilingProblem, l1_bytes: int, options: TilingOptions | None = None) -> TileChoice:
    return choose_tiles(problem, {"l1": l1_bytes}, options or TilingOptions())


def test_whole_words_are_preferred_where_they_cost_nearly_the_same() -> None:
    plain, hinted = chosen(vectors(), 130, WITHOUT), chosen(vectors(), 130)
    assert (plain.steps["c"], plain.hinted) == (6, False)
    assert (hinted.steps["c"], hinted.hinted) == (4, True)
    assert plain.predicted_cycles < hinted.predicted_cycles < plain.predicted_cycles * (1.0 + IDLE_SHARE)
    assert hinted.least_cost == plain.least_cost == plain.predicted_cycles
    assert chosen(vectors(), 130) == hinted
    # Words of one byte leave nothing idle.
    assert chosen(replace(vectors(), simd_bytes=1), 130) == plain


@pytest.mark.parametrize(("l1_bytes", "tiles"), [(1000, 1), (130, 2)])
def test_the_first_call_of_a_layer_takes_longer(l1_bytes: int, tiles: int) -> None:
    calls = replace(vectors(), costs=Costs(kernels=(("f", KernelCost(100.0)),)))
    first = replace(vectors(), costs=Costs(kernels=(("f", KernelCost(100.0, first_cycles=700.0)),)))
    without, found = (chosen(problem, l1_bytes, WITHOUT) for problem in (calls, first))
    assert EXTENTS["c"] == tiles * found.steps["c"]
    assert found.predicted_cycles == without.predicted_cycles + 700


def test_a_hint_never_asks_for_more_than_there_is() -> None:
    choice = chosen(vectors(), 79)
    assert choice.steps["c"] == 3
    assert idle_lanes(vectors(), choice.steps) == pytest.approx(0.25)
    assert choice.steps == chosen(vectors(), 79, WITHOUT).steps


def test_a_hint_is_worth_little() -> None:
    # Another tile's set-up is more than what idles: the words stay broken.
    choice = chosen(vectors(each=1.0), 130)
    assert (choice.steps["c"], choice.hinted) == (6, False)


def test_given_tiles_win() -> None:
    assert chosen(replace(vectors(), given={"c": 6}), 130).steps["c"] == 6


def shared_rows() -> TilingProblem:
    """72 rows for eight cores, where copies take much longer than kernels."""
    cores = {"cores": 8, "costs": Costs(fork_cycles=1.0)}
    problem = elementwise({"r": 72, "c": 256}, points(0.01), uncut=frozenset({"c"}))
    return replace(problem, **cores)


def test_work_for_every_core_is_preferred() -> None:
    problem = shared_rows()
    plain, hinted = chosen(problem, 6300, WITHOUT), chosen(problem, 6300)
    assert (plain.steps["r"], hinted.steps["r"], hinted.hinted) == (9, 8, True)
    assert idle_cores(problem, plain.steps, problem.core_split(plain.steps)) == pytest.approx(1 - 72 / 128)
    assert idle_cores(problem, hinted.steps, problem.core_split(hinted.steps)) == 0.0
    assert idle_factor(problem, hinted.steps, 0.5) == 1.0 + IDLE_SHARE / 2


def test_one_core_that_works_alone_leaves_the_others_idle() -> None:
    problem = shared_rows()
    assert idle_cores(problem, problem.extents, None) == 1 - 1 / 8
    assert idle_cores(replace(problem, cores=1), problem.extents, None) == 0.0
    assert idle_cores(problem, problem.extents, CoreSplit("r", 18, 4)) == 0.5


def test_the_cheaper_kernel_is_taken_and_the_first_of_equals() -> None:
    slow, fast = elementwise(EXTENTS, points(9.0), "slow"), elementwise(EXTENTS, points(3.0), "fast")
    same = elementwise(EXTENTS, points(3.0), "same")
    found = cheapest_kernel([slow, fast, same], {"l1": 1000}, TilingOptions())
    assert found.problem is fast
    assert found.choice == chosen(fast, 1000)
    cycles = chosen(slow, 1000).predicted_cycles
    assert found.others == (
        KernelOffer("slow", cycles),
        KernelOffer("same", found.choice.predicted_cycles),
    )
    first = cheapest_kernel([fast, slow], {"l1": 1000}, TilingOptions())
    assert first.problem is fast
    assert first.others == (KernelOffer("slow", 9 * 120, calls_only=True),)


def test_a_kernel_that_is_hardly_faster_is_not_taken() -> None:
    preferred, other = (elementwise(EXTENTS, points(each), "f") for each in (300.0, 297.0))
    found = cheapest_kernel([preferred, other], {"l1": 130}, TilingOptions())
    assert found.problem is preferred
    assert chosen(other, 130).predicted_cycles < found.choice.predicted_cycles
    # The bound is that of all kernels that were cut.
    cut = cheapest_kernel([preferred, replace(other, kernel=cheaper_calls(other.kernel))], {"l1": 130}, TilingOptions())
    assert cut.problem is preferred
    assert cut.choice.least_cost < cut.choice.cost


def cheaper_calls(kernel: KernelChoice) -> KernelChoice:
    """One call for everything would cost little; tiles cost what they did."""
    declared = replace(kernel.kernel, cycles=lambda choice, steps: 1.0 if steps == EXTENTS else kernel.cycles(steps))
    return replace(kernel, kernel=declared)


def test_a_faster_kernel_in_smaller_tiles_may_be_slower() -> None:
    # Scratch leaves room for one row at a time, and each tile has its set-up.
    greedy = elementwise(EXTENTS, points(3.0), "greedy", scratch=230)
    frugal = elementwise(EXTENTS, points(4.0), "frugal")
    assert cheapest_kernel([greedy, frugal], {"l1": 1000}, TilingOptions()).problem is greedy
    found = cheapest_kernel([greedy, frugal], {"l1": 256}, TilingOptions())
    assert found.problem is frugal
    assert found.others == (KernelOffer("greedy", chosen(greedy, 256).predicted_cycles),)


def test_a_variant_is_for_where_the_first_does_not_fit() -> None:
    first = elementwise(EXTENTS, points(9.0), scratch=230)
    later = replace(elementwise(EXTENTS, points(3.0)), variant=1)
    found = cheapest_kernel([first, later], {"l1": 1000}, TilingOptions())
    assert (found.problem, found.others) == (first, ())
    assert cheapest_kernel([first, later], {"l1": 200}, TilingOptions()).problem is later


def test_a_variant_is_taken_where_it_moves_fewer_bytes() -> None:
    """A convolution whose sums are whole in 5,000 bytes, but not without loading the image many times."""
    graph = conv((1, 64, 1, 128), (64, 64, 1, 3), (1, 128), pads=(0, 1, 0, 1))
    fast, frugal = (
        planned(graph, far_platform(5000), objective=objective).layers[0]
        for objective in (Objective.CYCLES, Objective.BYTES_MOVED)
    )
    assert (fast.problem.variant, frugal.problem.variant) == (0, 1)
    assert "ic" in frugal.choice.order
    whole = choose_tiles(fast.problem, {"l1": 5000}, TilingOptions(objective=Objective.BYTES_MOVED))
    assert frugal.choice.cost < whole.cost


def test_a_kernel_that_does_not_fit_is_named() -> None:
    large, small = elementwise(EXTENTS, points(1.0), "large", scratch=600), elementwise(EXTENTS, points(9.0), "small")
    found = cheapest_kernel([large, small], {"l1": 500}, TilingOptions())
    assert (found.problem, found.others) == (small, (KernelOffer("large", None),))
    with pytest.raises(TilewrightError, match="l1=602"):
        cheapest_kernel([large, replace(large)], {"l1": 500}, TilingOptions())


def test_cycles_compare_kernels_only_where_they_are_minimised() -> None:
    slow, fast = elementwise(EXTENTS, points(9.0), "slow"), elementwise(EXTENTS, points(3.0), "fast")
    for objective in (Objective.BYTES_MOVED, Objective.BYTES_USED):
        assert cheapest_kernel([slow, fast], {"l1": 1000}, TilingOptions(objective=objective)).problem is slow


def compiled(model: str, **options: object) -> Plan:
    values = {"model": MODELS / model / "network.onnx", "platform": "pulp-open", "name": "net", **options}
    return compile_model(build_options(("test", values))).plan


def test_plan_and_report_say_why() -> None:
    plan = compiled("qdq_residual", pools=["l1=8192"])
    (layer, *_) = [item for item in plan.layers if item.kernel.startswith("tilewright_conv_xpulpv2")]
    assert layer.reasons is not None
    others = layer.reasons.others
    assert [other.kernel.removesuffix("_layer") for other in others] == [
        "tilewright_conv_packed_4_to4_sorted",
        "tilewright_conv_packed_4_to4",
        "tilewright_conv_integer",
    ]
    for other in others:
        assert other.calls_only
        assert other.predicted_cycles is not None
        assert other.predicted_cycles > layer.predicted_cycles
    found = next(item["reasons"] for item in report_data(plan)["layers"] if item["name"] == layer.name)
    assert found["other_kernels"] == [
        {"kernel": other.kernel, "predicted_cycles": other.predicted_cycles, "calls_only": True} for other in others
    ]
    text = report_text(plan)
    for other in others:
        assert f"{other.kernel}: {other.predicted_cycles:,} cycles for its calls alone" in text
    assert "idle cores" in text


def test_the_option_switches_hints_off() -> None:
    types = json.loads((MODELS / "deeploy_residual/types.json").read_text())
    on, off = (compiled("deeploy_residual", pools=["l1=4000"], types=types, hints=hints) for hints in (True, False))
    hinted = {layer.name for layer in on.layers if layer.reasons is not None and layer.reasons.hinted}
    assert hinted == {one.name for one, other in zip(on.layers, off.layers, strict=True) if one.tile != other.tile}
    assert not any(layer.reasons is not None and layer.reasons.hinted for layer in off.layers)
    assert hinted


def test_words_are_powers_of_two(tmp_path: Path) -> None:
    assert load_platform("pulp-open").core.simd_bytes == 4
    assert load_platform("qemu-virt-rv32").core.simd_bytes == 1
    text = (platforms_dir() / "pulp-open.toml").read_text(encoding="utf-8")
    (tmp_path / "board.toml").write_text(text.replace("simd_bytes = 4", "simd_bytes = 3"), encoding="utf-8")
    with pytest.raises(TilewrightError, match="simd_bytes"):
        load_platform(tmp_path / "board.toml")
