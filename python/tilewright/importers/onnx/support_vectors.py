"""SVMClassifier and SVMRegressor of ai.onnx.ml: kernel functions of support vectors, and what follows them."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.learned import class_labels, transformed

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")
_CERTAIN = 1e-7
"""The least probability that a comparison of two classes leaves to the other class."""


def svm_regressor(call: Call, steps: Steps) -> None:
    """Sum of coefficient * kernel(x, support vector), + rho; with ``one_class`` its sign, 1 or -1."""
    count = int(call.attribute("n_supports", 0))
    coefficients = np.asarray(call.numbers("coefficients", ()), np.float32)
    rho = np.asarray(call.numbers("rho", (0.0,)), np.float32)
    x = steps.cast(call.operand(0), DType.FLOAT32)
    values = x if count == 0 else kernels(call, steps, x, count)
    if coefficients.size != steps.tensor(values).shape[-1]:
        raise Unsupported(f"{coefficients.size} coefficients for {steps.tensor(values).shape[-1]} values")
    y = steps("Gemm", values, steps.constant(coefficients.reshape(-1, 1)), steps.constant(rho[:1]))
    if int(call.attribute("one_class", 0)):
        positive = steps("Greater", y, steps.constant(0.0))
        y = steps("Where", positive, steps.constant(1.0), steps.constant(-1.0))
    steps.finish(transformed(steps, y, str(call.attribute("post_transform", "NONE"))))


def svm_classifier(call: Call, steps: Steps) -> None:
    """The class that wins most comparisons of two classes, and their results, or the probability of each class."""
    labels = class_labels(call)
    owned = call.integers("vectors_per_class", ())
    if len(owned) != len(labels):
        raise Unsupported("a linear model, which has no support vectors", "write it as LinearClassifier")
    x, count = steps.cast(call.operand(0), DType.FLOAT32), sum(owned)
    pairs = [(one, other) for one in range(len(labels)) for other in range(one + 1, len(labels))]
    rho = np.asarray(call.numbers("rho", ()), np.float32)
    coefficients = np.asarray(call.numbers("coefficients", ()), np.float32)
    if rho.size != len(pairs) or coefficients.size != (len(labels) - 1) * count:
        raise Unsupported(f"{coefficients.size} coefficients and {rho.size} rho for {len(labels)} classes")
    matrix = _comparisons(coefficients.reshape(len(labels) - 1, count), owned, pairs)
    results = steps("Gemm", kernels(call, steps, x, count), steps.constant(matrix), steps.constant(rho))
    wins = steps.cast(steps("Greater", results, steps.constant(0.0)), DType.FLOAT32)
    best = steps("ArgMax", _votes(steps, wins, pairs, len(labels)), axis=1, keepdims=0)
    steps.finish(steps("Gather", steps.constant(labels, np.int64), best, axis=0))
    if call.numbers("prob_a", ()):
        scores = _probabilities(call, steps, results, len(labels))
    else:
        scores = steps("Concat", steps("Neg", results), results, axis=1) if len(pairs) == 1 else results
    steps.finish(transformed(steps, scores, str(call.attribute("post_transform", "NONE"))), 1)


def _votes(steps: Steps, wins: str, pairs: list[tuple[int, int]], classes: int) -> str:
    """How many comparisons each class wins: one of i and j is a vote for i where its result is above 0, else for j."""
    turned = np.zeros((len(pairs), classes), np.float32)
    base = np.zeros(classes, np.float32)
    for number, (one, other) in enumerate(pairs):
        turned[number, one], turned[number, other] = 1.0, -1.0
        base[other] += 1.0
    return steps("Gemm", wins, steps.constant(turned), steps.constant(base))


def _probabilities(call: Call, steps: Steps, results: str, classes: int) -> str:
    """The probability of each class, from that of the first class in each comparison of two."""
    slopes, shifts = (np.asarray(call.numbers(name, ()), np.float32) for name in ("prob_a", "prob_b"))
    rows, pairs = steps.tensor(results).shape
    if slopes.size != pairs or shifts.size != pairs:
        raise Unsupported(f"{slopes.size} prob_a and {shifts.size} prob_b for {pairs} comparisons")
    line = steps("Add", steps("Mul", results, steps.constant(slopes)), steps.constant(shifts))
    share = steps("Sub", steps.constant(1.0), steps("Sigmoid", line))
    bounded = steps("Clip", share, steps.constant(_CERTAIN), steps.constant(1.0 - _CERTAIN))
    return call.emit("PairwiseCoupling", [bounded], (rows, classes), {"axis": 1}, part="coupled")


def _comparisons(coefficients: Array, owned: tuple[int, ...], pairs: list[tuple[int, int]]) -> Array:
    """For each comparison of two classes the factor of each support vector."""
    begins = np.concatenate([[0], np.cumsum(owned)])
    matrix = np.zeros((coefficients.shape[1], len(pairs)), np.float32)
    for number, (one, other) in enumerate(pairs):
        of_one, of_other = (slice(begins[at], begins[at + 1]) for at in (one, other))
        matrix[of_one, number] = coefficients[other - 1, of_one]
        matrix[of_other, number] = coefficients[one, of_other]
    return matrix


def kernels(call: Call, steps: Steps, x: str, count: int) -> str:
    """The kernel function of each row of x with each support vector."""
    kind = str(call.attribute("kernel_type", "LINEAR"))
    features = steps.tensor(x).shape[-1]
    vectors = np.asarray(call.numbers("support_vectors", ()), np.float32)
    gamma, shift, degree = (*call.numbers("kernel_params", (0.0, 0.0, 0.0)), 0.0, 0.0, 0.0)[:3]
    if len(steps.tensor(x).shape) != 2 or vectors.size != count * features or kind not in _KERNELS:
        raise Unsupported(f"kernel {kind} of {vectors.size} numbers for {count} vectors of {features} features")
    vectors = vectors.reshape(count, features)
    if kind == "RBF":
        rows = steps.reshape(x, steps.tensor(x).shape[0], 1, features)
        apart = steps("Sub", rows, steps.constant(vectors))
        squares = steps("ReduceSumSquare", apart, axes=[2], keepdims=0)
        return steps("Exp", steps("Mul", squares, steps.constant(-gamma)))
    products = steps("MatMul", x, steps.constant(np.ascontiguousarray(vectors.T)))
    if kind == "LINEAR":
        return products
    shifted = steps("Add", steps("Mul", products, steps.constant(gamma)), steps.constant(shift))
    return steps("Tanh", shifted) if kind == "SIGMOID" else steps("Pow", shifted, steps.constant(degree))


def support_vectors(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the ONNX operators."""
    return with_steps(earlier, {"SVMClassifier": svm_classifier, "SVMRegressor": svm_regressor})
