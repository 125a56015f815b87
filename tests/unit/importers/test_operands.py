"""Operands against the patterns of their operators: what is refused, and what the message says."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.onnx_models import ModelBuilder, imported
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.importers.onnx.convert import TRANSLATORS
from tilewright.importers.onnx.operands import PATTERNS
from tilewright.importers.onnx.patterns import Mismatch, parsed, require_match


def zeros(*shape):
    return np.zeros(shape, np.float32)


def refusal(folder, operator, x, *operands, opset=18, domain="", **attributes):
    """What is said of a node whose first operand is an input of the model and whose others are constants."""
    build = ModelBuilder(opset)
    names = [build.input("x", list(x.shape), x.dtype)]
    names += ["" if array is None else build.constant(array, f"c{at}") for at, array in enumerate(operands, start=1)]
    build.node(operator, *names, output="y", domain=domain, **attributes)
    with pytest.raises(TilewrightError) as caught:
        imported(folder, build.model("y"))
    assert caught.value.status in (ExitStatus.BAD_INPUT, ExitStatus.NOT_SUPPORTED)
    return str(caught.value)


def test_every_operator_has_a_pattern():
    assert set(TRANSLATORS) == set(PATTERNS)


def test_the_refusal_says_node_operand_and_both_sides(tmp_path):
    text = refusal(tmp_path, "GRU", zeros(3, 1, 40), zeros(1, 6, 3), zeros(1, 6, 2), hidden_size=2)
    assert "node 'GRU_y' (GRU): 'c1': input 1 (W) has shape [1, 6, 3]; wanted: [d, 3*h, i] = [1, 6, 40]" in text
    assert "X [t, b, i] = [3, 1, 40]" in text
    assert "hidden_size = 2" in text


@pytest.mark.parametrize(
    ("at", "shape"),
    [(1, (1, 12, 5)), (2, (1, 12, 4)), (3, (1, 12)), (4, (3,)), (5, (1, 1, 3)), (6, (2, 2, 3)), (7, (1, 6))],
    ids=["W", "R", "B", "sequence_lens", "initial_h", "initial_c", "P"],
)
def test_operands_of_a_recurrent_layer(tmp_path, at, shape):
    shapes = [(1, 12, 4), (1, 12, 3), (1, 24), (2,), (1, 2, 3), (1, 2, 3), (1, 9)]
    shapes[at - 1] = shape
    operands = [np.ones(one, np.int32) if n == 4 else zeros(*one) for n, one in enumerate(shapes, start=1)]
    text = refusal(tmp_path, "LSTM", zeros(5, 2, 4), *operands)
    assert f"input {at} (" in text
    assert f"has shape {list(shape)}" in text


def test_batch_first_and_both_directions(tmp_path):
    operands = [zeros(2, 3, 4), zeros(2, 3, 3), None, None, zeros(2, 2, 3)]
    text = refusal(tmp_path, "RNN", zeros(1, 5, 4), *operands, layout=1, direction="bidirectional")
    assert "input 5 (initial_h) has shape [2, 2, 3]; wanted: [b, d, h] = [1, 2, 3]" in text
    text = refusal(tmp_path, "RNN", zeros(5, 1, 4), zeros(1, 3, 4), zeros(1, 3, 3), direction="bidirectional")
    assert "wanted: [d, 1*h, i] = [2, 1*h, 4]" in text


@pytest.mark.parametrize(
    ("operator", "operands", "said"),
    [
        ("LayerNormalization", [zeros(3)], "input 1 (Scale) has shape [3]; wanted: what broadcasts to [*s] = [2, 8]"),
        ("Add", [zeros(3)], "input 1 (B) has shape [3]; wanted: [~s] = [2, 8]"),
        ("Where", [zeros(8), zeros(8)], "input 0 (condition) has type float32; wanted: bool"),
        ("Gemm", [zeros(7, 3)], "input 1 (B) has shape [7, 3]; wanted: [k, n] = [8, n]"),
        ("Add", [np.zeros(8, np.int32)], "input 1 (B) has type int32; wanted: float32 as A"),
        ("Concat", [zeros(2)], "input 1 (inputs) has shape [2]; wanted: [_, d1] = [_, 8]"),
    ],
)
def test_operands_that_do_not_fit(tmp_path, operator, operands, said):
    attributes = {"axis": 0} if operator in ("Concat", "LayerNormalization") else {}
    assert said in refusal(tmp_path, operator, zeros(2, 8), *operands, **attributes)


def test_one_operand_more(tmp_path):
    text = refusal(tmp_path, "QuickGelu", zeros(2, 8), zeros(2, 8), domain="com.microsoft")
    assert "2 inputs; the operator has 1" in text


def test_reading_a_pattern():
    pattern = parsed("X[n,c,*s] W[group*p,c/group,*k#s] B?:float32[group*p]; group=2; *k=kernel_shape")
    f = "float32"
    good = [(f, (1, 4, 5, 5)), (f, (6, 2, 3, 3)), (f, (6,))]
    require_match(pattern, good, {"kernel_shape": [3, 3]})
    require_match(pattern, good[:2], {})
    for at, other, said in (
        (1, (f, (5, 2, 3, 3)), "group*p"),
        (1, (f, (6, 4, 3, 3)), "[group*p, c/group, *k#s] = [group*p, 2, *k#s]"),
        (1, (f, (6, 2, 3)), "*k#s"),
        (2, (f, (4,)), "[group*p] = [6], with group = 2"),
        (2, ("int8", (6,)), "has type int8; wanted: float32"),
    ):
        with pytest.raises(Mismatch, match=re.escape(said)) as caught:
            require_match(pattern, [*good[:at], other, *good[at + 1 :]], {})
        assert caught.value.position == at
    with pytest.raises(Mismatch, match="and kernel_shape"):
        require_match(pattern, good, {"kernel_shape": [2, 2]})


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("A[@]", [()]),
        ("A[@]", [(1,)]),
        ("A*[~s]", [(2, 1), (3,), (1, 1)]),
        ("A[*s] B[<*s]", [(4, 2, 3), (2, 1)]),
        ("A[*s] B[2*#s]", [(4, 2, 3), (6,)]),
        ("A[m,k] B[k,n] C?[<m,n]", [(2, 3), (3, 4), (1, 4)]),
        ("A[...,n] B[n|@]", [(2, 3), ()]),
    ],
)
def test_shapes_that_a_pattern_takes(text, shapes):
    require_match(parsed(text), [("float32", shape) for shape in shapes], {})


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("A[@]", [(2,)]),
        ("A*[~s]", [(2, 4), (3,)]),
        ("A[*s] B[<*s]", [(2, 3), (4, 2, 3)]),
        ("A[*s] B[2*#s]", [(4, 2, 3), (3,)]),
        ("A B", [(2,)]),
        ("A:T B:T", [(2,), (2,), (2,)]),
    ],
)
def test_shapes_that_a_pattern_refuses(text, shapes):
    with pytest.raises(Mismatch):
        require_match(parsed(text), [("float32", shape) for shape in shapes], {})
