"""The plan's JSON: round trip on arbitrary plans, layout, and refusal of broken text."""

from __future__ import annotations

import json
from dataclasses import replace
from enum import EnumMeta
from typing import Any, get_type_hints

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tilewright import plan
from tilewright.base.errors import TilewrightError
from tilewright.plan import (
    Access,
    Begin,
    Core,
    Index,
    Kernel,
    Loop,
    Operand,
    Plan,
    Pool,
    Runs,
    Wait,
)
from tilewright.plan.json import dumps, loads

EMPTY = Plan(
    name="m",
    model="m.onnx",
    model_sha256="00",
    platform="p",
    port=None,
    tool_version="0",
    pools=(Pool("l1", 64, 4, 1, 0, Access.READ_WRITE, ()),),
    links=(),
    core=Core(1, (("l1", 1),)),
    io_pool="l1",
    stack_bytes=0,
    inputs=(),
    outputs=(),
    buffers=(),
    relations=(),
    placements=(),
    program=(),
    layers=(),
    pool_use=(),
    kernel_sources=(),
)
KERNEL = Kernel(
    "k",
    "tw_k",
    (Operand("x", ()),),
    (),
    (),
    ((0, -1),),
    (("low", float("-inf")), ("zero", -0.0), ("many", (1, 2)), ("reals", (1.0, 1e30)), ("none", ()), ("text", "a")),
)
SMALL = replace(EMPTY, program=(Loop((Index("i", 5, 2),), (Begin("x"), Wait("t", Runs(first=-1)), KERNEL)),))


def of(cls: type, **known: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances of a dataclass; every field of a simple type varies."""
    simple: dict[object, st.SearchStrategy[Any]] = {
        int: st.integers(-(2**70), 2**70),
        str: st.text(max_size=3),
        float: st.floats(),
        bool: st.booleans(),
        str | None: st.none() | st.text(max_size=3),
        int | None: st.none() | st.integers(),
        tuple[int, ...]: tuples(st.integers()),
        tuple[str, ...]: tuples(st.text(max_size=3)),
    }
    hints = get_type_hints(cls)
    chosen = {name: simple[hint] for name, hint in hints.items() if hint in simple}
    chosen |= {name: st.sampled_from(hint) for name, hint in hints.items() if isinstance(hint, EnumMeta)}
    return st.builds(cls, **(chosen | known))


def tuples(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=2).map(tuple)


def any_step() -> st.SearchStrategy[Any]:
    term = st.tuples(st.text(max_size=2), st.integers())
    operand = of(plan.Operand, rectangle=tuples(of(plan.AxisRange, terms=tuples(term))))
    runs = of(plan.Runs)
    value = st.one_of(st.integers(), st.floats(), st.text(max_size=3), tuples(st.integers()), tuples(st.floats()))
    kernel = of(
        plan.Kernel,
        reads=tuples(operand),
        writes=tuples(operand),
        axes=tuples(tuples(st.integers())),
        attributes=tuples(st.tuples(st.text(max_size=3), value)),
        runs=runs,
    )
    copy = of(plan.CopyStart, source=operand, destination=operand, runs=runs)
    leaf = st.one_of(kernel, copy, of(plan.Wait, runs=runs), of(plan.Begin))
    nested = st.one_of(leaf, of(plan.End))

    def containers(steps: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        loop = of(
            plan.Loop,
            indices=tuples(of(plan.Index)),
            coarse=tuples(of(plan.CoarseIndex)),
            body=tuples(steps),
            runs=runs,
        )
        return loop | of(plan.Layer, stages=tuples(of(plan.Stage)), body=tuples(steps))

    return st.recursive(nested, containers, max_leaves=4)


def any_plan() -> st.SearchStrategy[Plan]:
    """Plans with every kind of content; they need not make sense."""
    named = tuples(st.tuples(st.text(max_size=3), st.integers()))
    quantization = st.none() | of(plan.Quantization, scale=tuples(st.floats()))
    interface = tuples(of(plan.InterfaceTensor, quantization=quantization))
    tile = tuples(st.tuples(st.text(max_size=2), st.integers(), st.integers()))
    facts = of(plan.LayerFacts, tile=tile, copies=named, link_bytes=named, compulsory_link_bytes=named)
    return of(
        Plan,
        pools=tuples(of(Pool, holds=tuples(st.sampled_from(plan.BufferKind)))),
        links=tuples(of(plan.Link)),
        core=of(Core, access_cycles=named),
        inputs=interface,
        outputs=interface,
        buffers=tuples(of(plan.Buffer)),
        relations=tuples(of(plan.Relation)),
        placements=tuples(of(plan.Placement)),
        program=tuples(any_step()),
        layers=tuples(facts),
        pool_use=tuples(of(plan.PoolUse)),
    )


@settings(max_examples=30, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(any_plan())
def test_any_plan_survives_a_round_trip(content: Plan) -> None:
    text = dumps(content)
    # repr tells apart what == does not (1 and 1.0, 0.0 and -0.0) and lets NaN equal NaN.
    assert repr(loads(text)) == repr(content)
    assert dumps(loads(text)) == text


def test_small_plan_survives_a_round_trip() -> None:
    assert repr(loads(dumps(SMALL))) == repr(SMALL)


def test_an_integer_in_a_real_field_gives_the_same_text() -> None:
    link = plan.Link("a", "l1", "l1", 4, 0, 0, 1, 0, 1, 1, 1, False, "core")
    other = replace(link, bytes_per_cycle=4.0)
    assert dumps(replace(EMPTY, links=(link,))) == dumps(replace(EMPTY, links=(other,)))


def test_text_is_strict_json_with_one_short_line_per_step() -> None:
    text = dumps(SMALL)
    document = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert list(document)[:3] == ["format", "name", "model"]
    assert text.endswith("}\n")
    assert '\n    {"step": "wait", "token": "t", "runs": {"first": -1}},\n' in text


def deep(levels: int) -> str:
    """A plan whose steps nest deeper than any program."""
    step = '{"step": "layer", "name": "l", "stages": [], "body": [' * levels + "]}" * levels
    return broken('"program": [', '"program": [' + step + ",")


def broken(change: str, by: str) -> str:
    text = dumps(SMALL)
    assert change in text
    return text.replace(change, by, 1)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("", "plan-json", "line 1, column 1"),
        (dumps(SMALL)[:-20], "plan-json", "line "),
        ("[" * 100_000, "plan-json", ""),
        (deep(400), "plan-json", ""),
        ('{"format": ' + "1" * 5000 + "}", "plan-json", ""),
        ("[]", "plan-data", "$"),
        ("{}", "plan-format", "$"),
        (broken('"format": 2', '"format": 999'), "plan-format", "$.format"),
        (broken('"format": 2', '"format": 1'), "plan-format", "$.format"),
        (broken('"format": 2', '"format": true'), "plan-format", "$.format"),
        (broken(' "stack_bytes": 0,\n', ""), "plan-data", "$"),
        (broken('"stack_bytes": 0', '"stack_bytes": "0"'), "plan-data", "$.stack_bytes"),
        (broken('"stack_bytes": 0', '"stack_bytes": true'), "plan-data", "$.stack_bytes"),
        (broken('"stack_bytes": 0', '"stack_bytes": NaN'), "plan-json", "$"),
        (broken('"stack_bytes": 0', '"stack_bytes": 0, "stack_bytes": 1'), "plan-data", "$"),
        (broken('"stack_bytes"', '"stack"'), "plan-data", "$"),
        (broken('"step": "begin"', '"step": "start"'), "plan-data", "$.program[0].body[0]"),
        (broken('"step": "begin"', '"step": []'), "plan-data", "$.program[0].body[0]"),
        (broken('"first": -1', '"first": -1.5'), "plan-data", "$.program[0].body[1].runs.first"),
        (broken('["low", {"float": "-inf"}]', '["low", {"float": "x"}]'), "plan-data", ".attributes[0][1]"),
        (broken('["low", {"float": "-inf"}]', '["low"]'), "plan-data", ".attributes[0]"),
        (broken('"access": "rw"', '"access": "wr"'), "plan-data", "$.pools[0].access"),
        (broken('"program": [', '"program": 3, "x": ['), "plan-data", "$"),
    ],
)
def test_broken_text_is_refused_with_its_place(text: str, code: str, place: str) -> None:
    with pytest.raises(TilewrightError) as caught:
        loads(text)
    assert caught.value.code == code
    assert place in "; ".join(caught.value.at)


def test_a_value_that_no_plan_may_hold_is_a_defect() -> None:
    with pytest.raises(TypeError):
        dumps(replace(EMPTY, name=[]))  # type: ignore[arg-type]


def test_a_plan_of_the_first_format_is_refused_with_the_remedy() -> None:
    with pytest.raises(TilewrightError) as caught:
        loads(broken('"format": 2', '"format": 1'))
    assert caught.value.what == "plan format 1 is not known; this version reads 2"
    assert caught.value.help == ("generate the plan again with this version",)
