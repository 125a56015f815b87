"""Slots of tiles that the user gives, by operand and pool: taken, chosen, or refused with what there is."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.chains import conv_chain
from support.forced import levels_platform
from support.planned import far_platform, plan_of, planned
from support.small_nodes import conv
from tilewright.base.errors import TilewrightError
from tilewright.check import check
from tilewright.graph import Graph
from tilewright.options import CompileOptions, LayerBuffers, build_options
from tilewright.pipeline import compile_model
from tilewright.plan import Buffer, CopyStart

TILES = (("conv", (("oh", 3), ("oc", 4))),)
LARGER = (("conv", (("oh", 3), ("oc", 4), ("l2.oc", 4))),)


def graph() -> Graph:
    return conv((1, 4, 9, 9), (8, 4, 3, 3), (9, 9), pads=(1, 1, 1, 1))


def slots(*given: tuple[str, str, str | int], buffering: str = "auto", asynchronous: bool = True) -> dict[str, int]:
    platform = far_platform(1 << 16, asynchronous=asynchronous)
    return {
        name: copies for name, copies in _buffers(given, platform, TILES, buffering).items() if "scratch" not in name
    }


def _buffers(given: LayerBuffers, platform: object, tiles: object, buffering: str) -> dict[str, int]:
    from tilewright.options import Buffering

    how = {"tiles": tiles, "buffers": (("conv", given),) if given else (), "buffering": Buffering(buffering)}
    found = planned(graph(), platform, **how)  # type: ignore[arg-type]
    assert check(plan_of(graph(), platform, found)) == []  # type: ignore[arg-type]
    return {_short(buffer): buffer.copies for buffer in found.schedule.buffers if buffer.name.startswith("conv.")}


def _short(buffer: Buffer) -> str:
    return buffer.name.removeprefix("conv.").removesuffix(".tile")


def test_operands_win_over_the_layer() -> None:
    for name in ("x", "weights", "bias", "y"):
        assert slots((name, "", "single"), buffering="double")[name] == 1
        assert slots((name, "", "double"), buffering="double")[name] == 2
    assert slots(("y", "", "double"), buffering="single") == {"x": 1, "weights": 1, "bias": 1, "y": 2}
    assert slots(("weights", "", "double"), buffering="auto")["weights"] == 2
    assert slots(("weights", "", "single"), buffering="auto")["weights"] == 1


def test_second_slots_are_given_where_the_link_waits_for_nobody() -> None:
    assert set(slots(asynchronous=False).values()) == {1}
    assert slots(("x", "", "double"), asynchronous=False) == {"x": 2, "weights": 1, "bias": 1, "y": 1}


def test_second_slots_go_where_they_pay() -> None:
    """With little room some operands have two slots: a choice that all or none would not give."""
    found = set()
    for room in range(900, 2500, 50):
        layer = planned(graph(), far_platform(room, asynchronous=True)).schedule.layers[0]
        found.add(frozenset(copies for _, copies in layer.copies))
    assert frozenset({1, 2}) in found


def test_larger_tiles_have_slots_too() -> None:
    platform = levels_platform(asynchronous=True)
    for how, copies in (("single", 1), ("double", 2), ("auto", 2)):
        found = _buffers((("weights", "l2", how),), platform, LARGER, "single")
        assert (found["weights.staged"], found["weights"]) == (copies, 1)
    still = levels_platform(asynchronous=False)
    assert _buffers((), still, LARGER, "auto")["weights.staged"] == 1


@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_any_number_of_slots(number: int, asynchronous: bool) -> None:
    found = slots(("x", "", number), ("y", "", number), buffering="single", asynchronous=asynchronous)
    assert found == {"x": number, "weights": 1, "bias": 1, "y": number}
    platform = levels_platform(asynchronous=asynchronous)
    larger = _buffers((("weights", "", number), ("weights", "l2", number)), platform, LARGER, "single")
    assert (larger["weights.staged"], larger["weights"]) == (number, number)


def test_all_slots_but_one_are_filled_ahead() -> None:
    found = planned(graph(), far_platform(1 << 16), tiles=TILES, buffers=(("conv", (("x", "", 4),)),))
    (loop,) = (step for layer in found.schedule.program for step in getattr(layer, "body", ()) if hasattr(step, "body"))
    load = next(step for step in loop.body if isinstance(step, CopyStart) and step.token == "conv.x")
    assert load.runs.first == -3


@pytest.mark.parametrize(
    ("layer", "given", "part", "help_"),
    [
        ("covn", ("x", "", "double"), "which is no layer", "conv"),
        ("conv", ("weihgts", "", "double"), "no tiles of 'weihgts' travel", "weights"),
        ("conv", ("x", "l2", "double"), "no larger tiles of 'x' stay in pool 'l2'", "weights"),
    ],
)
def test_wrong_buffers_are_refused(layer: str, given: tuple[str, str, str], part: str, help_: str) -> None:
    with pytest.raises(TilewrightError, match=part) as caught:
        planned(graph(), levels_platform(asynchronous=True), buffers=((layer, (given,)),))
    assert caught.value.code == "buffer-override"
    assert any(help_ in text for text in caught.value.help)


def test_options_file_and_lock(tmp_path: Path) -> None:
    model = tmp_path / "net.onnx"
    model.write_bytes(conv_chain(channels=16))
    base = {
        "model": str(model),
        "platform": "qemu-virt-rv32-l3",
        "name": "net",
        "tiles": {"conv2": {"oc": 4, "l2": {"oc": 8}}},
    }
    given = {"conv2": {"weights": "double", "l2": {"weights": "double"}}}
    options = build_options(("file", base), ("call", {"buffers": given}))
    assert dict(options.buffers) == {"conv2": (("weights", "", "double"), ("weights", "l2", "double"))}
    found = compile_model(options)
    two = {buffer.name for buffer in found.plan.buffers if buffer.copies == 2}
    assert two == {"conv2.weights.tile", "conv2.weights.staged"}
    lock = tmp_path / "net.lock.json"
    lock.write_text(found.lock, encoding="utf-8")
    again = compile_model(CompileOptions(**{**_fields(options), "plan_lock": lock}))
    assert again.plan == found.plan
    with pytest.raises(TilewrightError, match="not one of auto, single, double"):
        build_options(("file", base), ("call", {"buffers": {"conv2": {"weights": "triple"}}}))
    with pytest.raises(TilewrightError, match="64"):
        build_options(("file", base), ("call", {"buffers": {"conv2": {"weights": 65}}}))
    many = build_options(("file", base), ("call", {"buffers": {"conv2": {"weights": 3, "l2": {"weights": 4}}}}))
    assert dict(many.buffers) == {"conv2": (("weights", "", 3), ("weights", "l2", 4))}
    assert {buffer.copies for buffer in compile_model(many).plan.buffers} == {1, 3, 4}


def _fields(options: CompileOptions) -> dict[str, object]:
    return {name: getattr(options, name) for name in CompileOptions.__dataclass_fields__}
