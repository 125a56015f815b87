"""The checker: sound plans pass, and every way to spoil one is named by its own rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.edits import copy, on_step, same, wait, with_buffer, with_links, without
from support.groups import in_channel_tiles, two_stages
from support.sound import (
    APART,
    BASE,
    PERMUTED,
    RASTER,
    REDUCTION,
    REVERSE,
    above,
    one_tile_loop,
    placed_io,
    ring,
    rounded_up,
    stored,
    trails,
    window,
    words,
)
from support.spoilt_feeding import FEEDING, fed
from support.spoilt_flow import FLOW, TOKENS
from support.spoilt_guards import GUARDS, guarded
from support.spoilt_memory import MEMORY
from support.spoilt_nest import NESTS, caller_view, transposed
from support.spoilt_profile import PROFILES, profiled
from support.spoilt_sliding import SLIDING, slid
from support.spoilt_split import SPLITS, shared
from support.spoilt_states import STATES, stateful
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.check import Rule, check, require_sound
from tilewright.plan import Begin, BufferKind, CopyStart, End, Index, Kernel, Layer, Loop, Plan, Runs, Step, Wait
from tilewright.plan.json import dumps, loads

SPOILT = {**MEMORY, **FLOW, **SPLITS, **PROFILES, **NESTS, **STATES, **GUARDS, **FEEDING, **SLIDING}
SOUND = {
    "two layers": BASE,
    "reduction": REDUCTION,
    "shared by cores": shared(),
    "one tile": one_tile_loop(),
    "in place": trails(0, 0),
    "trails": trails(4, 8),
    "window in raster order": window(1, 36),
    "window in blocks": window(1, 36, replace(RASTER, block=8)),
    "raster order in place": stored(trails(0, 0), RASTER),
    "columns apart in place": stored(trails(0, 0), APART),
    "elements in reverse order": stored(above(trails(0, 4), 4), REVERSE),
    "transposition apart": transposed(108),
    "permutation in place": stored(transposed(0), PERMUTED),
    "part of the caller's input": caller_view(8),
    "words": words(),
    "ring": ring(),
    "ring filled whole each time": on_step(ring(), copy("conv.x"), lambda step: replace(step, kept="")),
    "ring that a copy empties": with_buffer(BASE, "relu.y", ring_axis=0),
    "ring that a kernel writes": two_stages(),
    "ring with a row more": two_stages(4, late=2),
    "ring of a tile that a kernel writes": two_stages(3, BufferKind.TILE),
    "ring whose rows are written in parts": in_channel_tiles(),
    "fed rows": fed(),
    "fed rows in a ring with a row more": fed(4, late=2),
    "a window that slides": slid(),
    "a window with a ring of two turns a period": slid(6),
    "io in pools": placed_io(160),
    "synchronous": with_links(BASE, asynchronous=False),
    "aligned links": with_links(BASE, align_bytes=2),
    "rounding links": rounded_up(),
    "profiled": profiled(),
    "guarded": guarded(),
    "state in place": stateful(),
    "state by a copy": stateful(in_place=False),
    "read from a file": loads(dumps(BASE)),
}


@pytest.mark.parametrize("name", SOUND)
def test_sound_plans_pass(name: str) -> None:
    assert check(SOUND[name]) == []
    require_sound(SOUND[name])


@pytest.mark.parametrize("name", SPOILT)
def test_spoilt_plans_are_caught_by_their_rule(name: str) -> None:
    rule, make = SPOILT[name]
    violations = check(make())
    assert violations, "the checker found nothing"
    assert violations[0].rule is rule, "\n".join(map(str, violations))


def test_every_rule_has_a_spoilt_plan() -> None:
    assert {rule for rule, _ in SPOILT.values()} == set(Rule)


@pytest.mark.parametrize("name", TOKENS)
def test_synchronous_links_need_the_same_discipline(name: str) -> None:
    rule, make = TOKENS[name]
    assert check(with_links(make(), asynchronous=False))[0].rule is rule


def test_messages_name_buffers_addresses_and_step() -> None:
    (violation, *_) = check(MEMORY["moved onto a live neighbour"][1]())
    assert str(violation) == (
        "overlap: conv.y [40, 88) and conv.w [40, 48) in pool l1 are alive together (tick 4, begin conv.y; with conv.w)"
    )
    (violation, *_) = check(FLOW["no wait for a load"][1]())
    assert str(violation) == (
        "read-before-wait: conv.x [0, 4)x[0, 4) is read before the copy into it was awaited "
        "(layer conv, tick 12, kernel conv, block 0)"
    )


def test_a_defect_of_ours_and_a_broken_file_differ_in_status() -> None:
    plan = MEMORY["offset moved by one byte"][1]()
    with pytest.raises(TilewrightError) as caught:
        require_sound(plan)
    assert (caught.value.code, caught.value.status) == ("plan-alignment", ExitStatus.INTERNAL)
    with pytest.raises(TilewrightError) as caught:
        require_sound(plan, from_file=True)
    assert (caught.value.code, caught.value.status) == ("plan-alignment", ExitStatus.BAD_INPUT)


def test_bytes_of_a_root_stay_while_a_view_lives() -> None:
    plan = on_step(BASE, same(End("m")), without)
    plan = on_step(plan, same(Begin("relu.x")), lambda step: (End("m"), step))
    assert check(plan) == []


def test_a_view_that_begins_after_its_root_ended_holds_nothing() -> None:
    plan = on_step(on_step(BASE, same(End("m")), without), same(Begin("v")), without)
    plan = on_step(plan, same(Begin("relu.x")), lambda step: (End("m"), Begin("v"), step))
    assert [violation.rule for violation in check(plan)] == [Rule.UNWRITTEN_READ]


def nested(inner: Loop) -> Plan:
    """The loop over oc and oh as a loop over oh inside a loop over oc."""

    def split(step: Layer) -> Layer:
        outer = Loop((Index("oc", 4, 2),), (replace(inner, runs=Runs(0, 1, 2, ("oc",))),))
        return replace(step, body=(outer,)) if step.name == "conv" else step

    return on_step(BASE, lambda step: isinstance(step, Layer), split)


def inner_loop() -> Loop:
    (layer,) = (step for step in BASE.program if isinstance(step, Layer) and step.name == "conv")
    (loop,) = layer.body
    assert isinstance(loop, Loop)
    return replace(loop, indices=loop.indices[1:], body=tuple(map(of_one_channel, loop.body)))


def of_one_channel(step: Step) -> Step:
    """The step for the tiles of one entry into the inner loop."""
    assert isinstance(step, (CopyStart, Wait, Kernel))
    over = tuple(name for name in step.runs.over if name != "oc")
    return replace(step, runs=replace(step.runs, count=step.runs.count // 2, over=over))


def test_loops_nest_and_tiles_restart_in_the_inner_loop() -> None:
    assert check(nested(inner_loop())) == []


def test_marks_in_a_loop_forget_the_tile_before() -> None:
    inner = inner_loop()
    body = tuple(step for step in inner.body if step != Wait("conv.w", Runs(0, 3, 1)))
    assert check(nested(replace(inner, body=body)))[0].rule is Rule.READ_BEFORE_WAIT
    marks = on_step(on_step(BASE, same(Begin("conv.w")), without), same(End("conv.w")), without)
    plan = on_step(marks, copy("conv.w"), lambda step: (Begin("conv.w"), step))
    plan = on_step(plan, copy("conv.y"), lambda step: (step, End("conv.w")))
    assert check(plan)[0].rule is Rule.UNWRITTEN_READ


def test_a_wait_for_a_later_copy_does_not_count_for_an_earlier_one() -> None:
    plan = on_step(BASE, copy("relu.x"), lambda step: (step, replace(step, token="other", source=step.source)))
    assert check(plan)[0].rule is Rule.DESTINATION_BUSY
    assert check(on_step(plan, wait("relu.x"), lambda step: Wait("other")))[0].rule is Rule.DESTINATION_BUSY
