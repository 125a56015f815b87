"""Loops in the form in which tf2onnx writes the recurrent layers of Keras 3, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.onnx_models import imported, operators, outputs_of, runtime_outputs
from tilewright.importers.onnx import recurrent_loops
from tilewright.rewrites.passes import optimise

STEPS, INPUTS, UNITS = 5, 3, 4
FLOAT, INT = TensorProto.FLOAT, TensorProto.INT32


class Graph:
    """Nodes and constants of a graph or body."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, name, array):
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def cast(self, x, to):
        self.nodes.append(helper.make_node("Cast", [x], [to], to=FLOAT))
        return to

    def node(self, operator, *inputs, to, **attributes):
        outputs = to if isinstance(to, list) else [to]
        self.nodes.append(helper.make_node(operator, list(inputs), outputs, **attributes))
        return to


def drawn(seed, *shape):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32) * 0.5


def column(body, name, x, first, end):
    """Columns of a row, by Slice."""
    names = [body.constant(f"{name}_{word}", value) for word, value in (("s", [0, first]), ("e", [2**31 - 1, end]))]
    return body.node("Slice", x, *names, body.constant(f"{name}_a", [0, 1]), to=name)


def rnn(body, x, states, weights):
    """tanh(x W + h R + b)."""
    parts = [body.node("MatMul", x, weights["W"], to="xw"), body.node("MatMul", states[0], weights["R"], to="hr")]
    body.node("Add", body.node("Add", *parts, to="sum"), weights["B"], to="biased")
    return [body.node("Tanh", "biased", to="new_h")]


def gru_after(body, x, states, weights):
    """A step of GRU with ``reset_after``: the body splits the biases, a row for the input and one for the state."""
    body.node("Split", weights["B"], to=["b0", "b1"], axis=0)
    axis = body.constant("axis0", [0])
    for side, operand, matrix in (("x", x, weights["W"]), ("h", states[0], weights["R"])):
        bias = body.node("Squeeze", "b0" if side == "x" else "b1", axis, to=f"{side}_bias")
        body.node("Add", body.node("MatMul", operand, matrix, to=f"{side}w"), bias, to=f"{side}_sum")
    body.node("Split", "x_sum", to=["xz", "xr", "xn"], axis=-1)
    hz, hr, hn = (column(body, f"h{n}", "h_sum", n * UNITS, (n + 1) * UNITS) for n in range(3))
    z = body.node("Sigmoid", body.node("Add", "xz", hz, to="z_sum"), to="z")
    r = body.node("Sigmoid", body.node("Add", "xr", hr, to="r_sum"), to="r")
    body.node("Add", "xn", body.node("Mul", r, hn, to="reset"), to="n_sum")
    return [_gru_end(body, states[0], z, "n_sum")]


def gru_before(body, x, states, weights):
    """A step of GRU without ``reset_after``: the state is reset before it is multiplied."""
    body.node("Add", body.node("MatMul", x, weights["W"], to="xw"), weights["B"], to="x_sum")
    body.node("Split", "x_sum", to=["xz", "xr", "xn"], axis=-1)
    hz, hr, hn = (column(body, f"R{n}", weights["R"], n * UNITS, (n + 1) * UNITS) for n in range(3))
    h = states[0]
    z = body.node("Sigmoid", body.node("Add", "xz", body.node("MatMul", h, hz, to="hz"), to="z_sum"), to="z")
    r = body.node("Sigmoid", body.node("Add", "xr", body.node("MatMul", h, hr, to="hr"), to="r_sum"), to="r")
    hidden = body.node("MatMul", body.node("Mul", r, h, to="reset"), hn, to="hn")
    body.node("Add", "xn", hidden, to="n_sum")
    return [_gru_end(body, h, z, "n_sum")]


def _gru_end(body, h, z, argument):
    one = body.constant("one", np.float32(1.0))
    n = body.node("Tanh", argument, to="n")
    kept = body.node("Mul", z, h, to="kept")
    taken = body.node("Mul", body.node("Sub", one, z, to="1-z"), n, to="taken")
    return body.node("Add", kept, taken, to="new_h")


def lstm(body, x, states, weights):
    """Gates i, f, c, o side by side."""
    parts = [body.node("MatMul", x, weights["W"], to="xw"), body.node("MatMul", states[0], weights["R"], to="hr")]
    body.node("Add", body.node("Add", *parts, to="sum"), weights["B"], to="biased")
    body.node("Split", "biased", to=["i_sum", "f_sum", "g_sum", "o_sum"], axis=1)
    i, f, o = (body.node("Sigmoid", f"{gate}_sum", to=gate) for gate in "ifo")
    g = body.node("Tanh", "g_sum", to="g")
    kept = body.node("Mul", f, states[1], to="f*c")
    body.node("Add", kept, body.node("Mul", i, g, to="i*g"), to="new_c")
    return [body.node("Mul", o, body.node("Tanh", "new_c", to="tanh_c"), to="new_h"), "new_c"]


CELLS = {
    "rnn": (rnn, "RNN", 1, 1, (UNITS,)),
    "gru_after": (gru_after, "GRU", 3, 1, (2, 3 * UNITS)),
    "gru_before": (gru_before, "GRU", 3, 1, (3 * UNITS,)),
    "lstm": (lstm, "LSTM", 4, 2, (4 * UNITS,)),
}
"""The cell, the operator, its gates, its states, the shape of its bias as Keras keeps it."""


def selected(body, name, mask, one, other):
    """mask ? one : other, as tf2onnx writes SelectV2; an empty ``other`` stands for zeros."""
    body.node("Mul", body.cast(mask, f"{name}_m"), one, to=f"{name}_one")
    body.cast(body.node("Not", mask, to=f"{name}_not"), f"{name}_n")
    other = other or body.constant(f"{name}_zero", np.float32(0.0))
    body.node("Mul", other, f"{name}_n", to=f"{name}_other")
    return body.node("Add", f"{name}_one", f"{name}_other", to=name)


def body_of(cell, masked, zeros):
    """The body: counter, states, weights that are handed on, and the condition that counts twice."""
    body = Graph()
    states = ["h", "c"][: CELLS[cell][3]]
    weights = {word: f"{word}_in" for word in "WRB"}
    row = body.node("Gather", "xs", "t", to="row")
    new = CELLS[cell][0](body, row, states, weights)
    carried, seen = list(new), new[0]
    if masked:
        mask = body.node("Gather", "ms", "t", to="mask")
        carried = [
            selected(body, f"s{n}", mask, one, old) for n, (one, old) in enumerate(zip(new, states, strict=True))
        ]
        seen = selected(body, "out", mask, new[0], "" if zeros else "before")
    body.node("Add", "t", body.constant("step", np.int32(1)), to="next")
    for name, number in (("next", "less"), ("iteration", "less_1")):
        body.cast(name, f"{number}_c")
        body.node("Less", f"{number}_c", body.constant(f"{number}_n", np.float32(STEPS)), to=number)
    body.node("And", "less_1", "less", to="on")
    body.node("Identity", seen, to="seen")
    before = [body.node("Identity", seen, to="handed")] if masked and not zeros else []
    for word in "WRB":
        body.node("Identity", f"{word}_in", to=f"{word}_out")
    value = helper.make_tensor_value_info
    handed = ["before"] if before else []
    inputs = [
        value("iteration", TensorProto.INT64, []),
        value("going", TensorProto.BOOL, []),
        value("t", INT, []),
        *(value(name, FLOAT, ["n", UNITS]) for name in (*handed, *states)),
        *(value(f"{word}_in", FLOAT, None) for word in "WRB"),
    ]
    outputs = [
        value("on", TensorProto.BOOL, []),
        value("next", INT, []),
        *(value(name, FLOAT, None) for name in (*before, *carried, "W_out", "R_out", "B_out", "seen")),
    ]
    graph = helper.make_graph(body.nodes, "body", inputs, outputs, body.constants)
    return graph, states, bool(handed)


def model_of(cell, masked=False, zeros=False, change=lambda body: None):
    """A network of one loop: all steps, and the last state."""
    _, _, gates, _, bias_shape = CELLS[cell]
    body, states, handed = body_of(cell, masked, zeros)
    change(body)
    main = Graph()
    trips = main.constant("trips", np.int64(STEPS))
    going = main.constant("yes", np.asarray(True))
    first = main.constant("zero", np.int32(0))
    zero = main.constant("zeros", np.zeros((2, UNITS), np.float32))
    shapes = {"W": (INPUTS, gates * UNITS), "R": (UNITS, gates * UNITS), "B": bias_shape}
    weights = [main.constant(word, drawn(seed, *shapes[word])) for seed, word in enumerate("WRB")]
    given = [first, *([zero] if handed else []), *([zero] * len(states)), *weights]
    after = [f"after{number}" for number in range(len(given))]
    main.nodes.append(helper.make_node("Loop", [trips, going, *given], [*after, "all"], name="loop", body=body))
    value = helper.make_tensor_value_info
    inputs = [value("xs", FLOAT, [STEPS, 2, INPUTS])]
    inputs += [value("ms", TensorProto.BOOL, [STEPS, 2, 1])] if masked else []
    last = after[1 + handed]
    graph = helper.make_graph(
        main.nodes, "g", inputs, [value("all", FLOAT, None), value(last, FLOAT, None)], main.constants
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 15)], ir_version=8)


def feeds_of(masked):
    feeds = {"xs": drawn(9, STEPS, 2, INPUTS)}
    if masked:
        feeds["ms"] = np.random.default_rng(5).random((STEPS, 2, 1)) < 0.6
    return feeds


def check(folder, model, masked=False):
    """The optimised graph, whose outputs are ONNX Runtime's."""
    feeds = feeds_of(masked)
    graph = optimise(imported(folder, model))
    for got, want in zip(outputs_of(graph, feeds), runtime_outputs(model, feeds).values(), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    return graph


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("masked", [False, True])
def test_loops_of_keras_are_recurrent_operators(tmp_path, cell, masked):
    graph = check(tmp_path, model_of(cell, masked), masked)
    assert operators(graph) == {CELLS[cell][1]: 1, "Reshape": 2}


def test_masked_steps_may_be_zeros(tmp_path):
    """Keras's Bidirectional, where it gives all steps, has zeros as the outputs of masked steps."""
    graph = check(tmp_path, model_of("lstm", masked=True, zeros=True), masked=True)
    assert operators(graph)["LSTM"] == 1


def replaced(old, new):
    def change(body):
        for node in body.node:
            if node.output[0] == old:
                node.op_type = new

    return change


@pytest.mark.parametrize(
    ("cell", "change"),
    [
        ("rnn", replaced("new_h", "Sin")),
        ("gru_after", replaced("z", "Tanh")),
        ("gru_after", replaced("kept", "Add")),
        ("gru_before", replaced("taken", "Sub")),
        ("lstm", replaced("f", "Relu")),
        ("lstm", replaced("new_c", "Sub")),
    ],
)
def test_other_loops_are_unrolled(tmp_path, cell, change):
    """One operator of the body differs, so that RNN, GRU and LSTM do not fit the loop."""
    graph = check(tmp_path, model_of(cell, change=change))
    assert not set(operators(graph)) & {"RNN", "GRU", "LSTM"}


def test_a_mask_that_one_state_has_is_none(tmp_path):
    """Here the mask keeps the hidden state only: an LSTM with a mask keeps the cell state in masked steps too."""

    def change(body):
        for node in body.node:
            if node.output[0] == "s1":
                node.CopyFrom(helper.make_node("Identity", ["new_c"], ["s1"]))

    graph = check(tmp_path, model_of("lstm", masked=True, change=change), masked=True)
    assert "LSTM" not in operators(graph)


def test_finding_out_takes_none_of_the_bytes_for_constants(tmp_path, monkeypatch):
    """Looking for a recurrent operator in a loop counts nothing against the bytes that the model may compute."""
    attempts = []

    def attempt(node, build, visit):
        before = build.computed_bytes
        found = became_recurrent(node, build, visit)
        attempts.append((found, before - build.computed_bytes))
        return found

    became_recurrent = recurrent_loops.became_recurrent
    monkeypatch.setattr(recurrent_loops, "became_recurrent", attempt)
    imported(tmp_path, model_of("rnn", change=replaced("new_h", "Sin")))
    assert attempts == [(False, 0)]
