"""If, Loop and Scan that fold or unroll, and Einsum, against ONNX's reference evaluator."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, parser
from onnx.helper import make_graph, make_model, make_node, make_tensor, make_tensor_value_info
from onnx.reference import ReferenceEvaluator
from support.onnx_models import ModelBuilder, imported, operators, outputs_of
from tilewright.base.errors import TilewrightError
from tilewright.importers.construction import Construction
from tilewright.importers.onnx import control
from tilewright.rewrites.passes import optimise

HEAD = '<ir_version: 9, opset_import: ["" : 18]>\n'


def values(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def check(folder, text, **feeds):
    """Equal to the reference, before and after optimisation; gives the optimised graph."""
    model = parser.parse_model(HEAD + text)
    wanted = ReferenceEvaluator(model).run(None, feeds)
    graph = imported(folder, model)
    optimised = optimise(graph)
    for candidate in (graph, optimised):
        for got, want in zip(outputs_of(candidate, feeds), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    return optimised


@pytest.mark.parametrize("rank", [2, 3])
def test_of_if_the_branch_remains_that_runs(tmp_path, rank):
    """The condition follows from a shape, as exporters write it."""
    shape = (3, 4) if rank == 2 else (1, 3, 4)
    graph = check(
        tmp_path,
        f"""g (float[{",".join(map(str, shape))}] x) => (float[N,M] y) {{
          shape = Shape(x)
          rank = Size(shape)
          three = Constant<value_int: int = 3>()
          deep = Equal(rank, three)
          y = If(deep) <
            then_branch: graph = a () => (float[N,M] s) {{
              axis = Constant<value_ints: ints = [0]>()
              flat = Squeeze(x, axis)
              s = Relu(flat) }},
            else_branch: graph = b () => (float[N,M] t) {{ t = Neg(x) }}
          >
        }}""",
        x=values(1, *shape),
    )
    assert operators(graph)["Neg"] == (1 if rank == 2 else 0)


LOOP = """g (float[4] x) => (float[4] last, float[N,4] all) {
  trips = Constant<value_int: int = TRIPS>()
  yes = Constant<value: tensor = bool {1}>()
  last, all = Loop(trips, yes, x) <
    body: graph = b (int64 i, bool going, float[4] state) => (bool on, float[4] next, float[4] seen) {
      limit = Constant<value_int: int = LIMIT>()
      on = Less(i, limit)
      number = Cast<to: int = 1>(i)
      scaled = Mul(state, x)
      next = Add(scaled, number)
      seen = Identity(next) }
  >
}"""


@pytest.mark.parametrize(("trips", "limit", "runs"), [(3, 9, 3), (9, 2, 3), (1, 9, 1)])
def test_loops_unroll_until_count_or_condition_end_them(tmp_path, trips, limit, runs):
    text = LOOP.replace("TRIPS", str(trips)).replace("LIMIT", str(limit))
    graph = check(tmp_path, text, x=values(2, 4))
    assert operators(graph)["MulAdd"] == runs


def test_bodies_in_bodies_read_what_is_around_them(tmp_path):
    check(
        tmp_path,
        """g (float[4] x) => (float[4] y) {
          trips = Constant<value_int: int = 2>()
          nothing = Constant<value: tensor = bool {1}>()
          y = Loop(trips, nothing, x) <
            body: graph = b (int64 i, bool going, float[4] state) => (bool on, float[4] next) {
              on = Identity(going)
              one = Constant<value_int: int = 1>()
              first = Less(i, one)
              twice = Add(state, state)
              next = If(first) <
                then_branch: graph = c () => (float[4] p) { p = Mul(twice, x) },
                else_branch: graph = d () => (float[4] q) { q = Sub(twice, state) }
              > }
          >
        }""",
        x=values(3, 4),
    )


SCAN = """g (float[2] start, float[2,5] sequence) => (float[2] last, float[2,5] sums) {
  last, sums = Scan <num_scan_inputs: int = 1, scan_input_axes: ints = [1], scan_output_axes: ints = [-1]OTHERS,
    body: graph = b (float[2] state, float[2] entry) => (float[2] next, float[2] seen) {
      next = Add(state, entry)
      seen = Mul(next, entry) }
  >(start, sequence)
}"""


@pytest.mark.parametrize("others", ["", ", scan_input_directions: ints = [1], scan_output_directions: ints = [1]"])
def test_scans_unroll_along_any_axis_both_ways(tmp_path, others):
    model = parser.parse_model(HEAD + SCAN.replace("OTHERS", others))
    start, sequence = values(4, 2), values(5, 2, 5)
    state, seen = start, []
    for entry in sequence.T[::-1] if others else sequence.T:
        state = state + entry
        seen.append(state * entry)
    graph = imported(tmp_path, model)
    last, sums = outputs_of(optimise(graph), {"start": start, "sequence": sequence})
    np.testing.assert_allclose(last, state, rtol=1e-6)
    np.testing.assert_allclose(sums, np.stack(seen[::-1] if others else seen, axis=-1), rtol=1e-6)


def refusal(folder, text):
    with pytest.raises(TilewrightError) as error:
        imported(folder, parser.parse_model(HEAD + text))
    assert error.value.code == "unsupported-model"
    return str(error.value)


def test_what_run_time_decides_is_refused(tmp_path):
    branches = "then_branch: graph = a () => (float[2] s) { s = Relu(x) }, else_branch: graph = b () => (float[2] t) {"
    text = f"g (float[2] x, bool c) => (float[2] y) {{ y = If(c) < {branches} t = Neg(x) }} > }}"
    assert "its condition is computed at run time" in refusal(tmp_path, text)
    text = LOOP.replace("(float[4] x)", "(float[4] x, int64 trips)").replace(
        "trips = Constant<value_int: int = TRIPS>()\n", ""
    )
    assert "its count is computed at run time" in refusal(tmp_path, text.replace("LIMIT", "9"))
    text = LOOP.replace("on = Less(i, limit)", "sum = ReduceSum<keepdims: int = 0>(state)\n on = IsNaN(sum)")
    assert "behind iteration 0 is computed" in refusal(tmp_path, text.replace("TRIPS", "3").replace("LIMIT", "9"))


@pytest.mark.parametrize("dimensions", [[0], [2]])
def test_conditions_and_counts_have_one_element(tmp_path, dimensions):
    several = make_tensor("c", TensorProto.BOOL, dimensions, [True] * dimensions[0])
    bodies = [
        make_graph(
            [make_node(operator, ["x"], [name])], name, [], [make_tensor_value_info(name, TensorProto.FLOAT, [2])]
        )
        for operator, name in (("Relu", "s"), ("Neg", "t"))
    ]
    x, y = (make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    node = make_node("If", ["c"], ["y"], then_branch=bodies[0], else_branch=bodies[1])
    with pytest.raises(TilewrightError, match=f"its condition has {dimensions[0]} elements instead of one"):
        imported(tmp_path, make_model(make_graph([node], "g", [x], [y], [several])))
    several = make_tensor("c", TensorProto.INT64, dimensions, [1] * dimensions[0])
    number, on, again = (
        make_tensor_value_info(name, kind, [])
        for name, kind in (("i", TensorProto.INT64), ("on", TensorProto.BOOL), ("again", TensorProto.BOOL))
    )
    state, after = (make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("s", "t"))
    steps = [make_node("Identity", ["on"], ["again"]), make_node("Neg", ["s"], ["t"])]
    node = make_node("Loop", ["c", "", "x"], ["y"], body=make_graph(steps, "body", [number, on, state], [again, after]))
    with pytest.raises(TilewrightError, match=f"its count has {dimensions[0]} elements instead of one"):
        imported(tmp_path, make_model(make_graph([node], "g", [x], [y], [several])))


def test_names_of_iterations_are_found_without_trying_those_before():
    """Trying each would take a minute for a loop of 4,096 nodes."""
    tried = []

    class Names(set):
        def __contains__(self, name):
            tried.append(name)
            return super().__contains__(name)

    build = Construction(18, False, {}, reserved=Names())
    names = [build.reserve("loop/value") for _ in range(100)]
    assert names == ["loop/value", *(f"loop/value_{number}" for number in range(2, 101))]
    assert len(tried) < 3 * len(names)


def test_inner_nodes_are_named(tmp_path):
    text = LOOP.replace("Mul(state, x)", "Bernoulli(state)").replace("TRIPS", "2").replace("LIMIT", "9")
    assert "in its body, node of 'scaled' (Bernoulli): operator Bernoulli is not supported" in refusal(tmp_path, text)


def test_endless_loops_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(control, "MOST_NODES", 50)
    text = LOOP.replace("TRIPS", str(2**31)).replace("LIMIT", str(2**31))
    assert "more than 50 nodes when unrolled" in refusal(tmp_path, text)
    empty = """g (float[2] x) => (float[2] y) {
      yes = Constant<value: tensor = bool {1}>()
      y = Loop(, yes, x) < body: graph = b (int64 i, bool on, float[2] state) => (bool on, float[2] state) { } >
    }"""
    assert "more than 50 nodes when unrolled" in refusal(tmp_path, empty)


EQUATIONS = {
    "ij,jk->ik": ((3, 4), (4, 5)),
    "bij,bjk->bik": ((2, 3, 4), (2, 4, 5)),
    "bhqd,bhkd->bhqk": ((2, 3, 4, 5), (2, 3, 6, 5)),
    "bhqk,bkhd->bqhd": ((2, 3, 4, 6), (2, 6, 3, 5)),
    "...ij,...jk->...ik": ((2, 1, 3, 4), (5, 4, 2)),
    "ij->ji": ((3, 4),),
    "ij->i": ((3, 4),),
    "ij->": ((3, 4),),
    "...ii->...i": ((2, 3, 3),),
    "ii": ((4, 4),),
    "i,i": ((5,), (5,)),
    "i,j": ((3,), (4,)),
    "ij,ij->ij": ((3, 4), (3, 4)),
    "ij,kj,lk->il": ((2, 3), (4, 3), (5, 4)),
    "ba,b": ((2, 3), (2,)),
    "bij , bj -> bi": ((2, 3, 4), (2, 4)),
    "ab,cd->acbd": ((2, 3), (4, 5)),
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsum(tmp_path, equation):
    build = ModelBuilder(17)
    names = [build.input(f"x{number}", shape) for number, shape in enumerate(EQUATIONS[equation])]
    model = build.model(build.node("Einsum", *names, output="y", equation=equation))
    feeds = {name: values(number, *EQUATIONS[equation][number]) for number, name in enumerate(names)}
    graph = optimise(imported(tmp_path, model))
    (got,) = outputs_of(graph, feeds)
    np.testing.assert_allclose(got, np.einsum(equation, *feeds.values()), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("equation", ["ij,jk->ii", "ij,jk->il", "ij", "i1,jk->i", "ijk,jk->i"])
def test_equations_that_do_not_fit(tmp_path, equation):
    build = ModelBuilder(17)
    names = [build.input("a", (3, 4)), build.input("b", (4, 5))]
    model = build.model(build.node("Einsum", *names, output="y", equation=equation))
    with pytest.raises(TilewrightError):
        imported(tmp_path, model)


def test_a_wrong_expectation_is_noticed(tmp_path):
    model = parser.parse_model(HEAD + SCAN.replace("OTHERS", ""))
    wrong = onnx.ModelProto.FromString(model.SerializeToString().replace(b"Mul", b"Sub"))
    feeds = {"start": values(4, 2), "sequence": values(5, 2, 5)}
    got, want = (outputs_of(imported(tmp_path, candidate), feeds)[1] for candidate in (model, wrong))
    assert not np.allclose(got, want)
