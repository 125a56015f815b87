"""Operators of ai.onnx.ml on numbers: what converters write of linear models, support vectors and preprocessing."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call

_KERNELS = ("LINEAR", "POLY", "RBF", "SIGMOID")


def scaler(call: Call, steps: Steps) -> None:
    """(x - offset) * scale."""
    x = _rows(call, steps)
    offset, scale = call.numbers("offset", (0.0,)), call.numbers("scale", (1.0,))
    features = steps.tensor(x).shape[-1]
    if not {len(offset), len(scale)} <= {1, features}:
        raise Unsupported(f"{len(offset)} offsets and {len(scale)} scales for {features} features")
    steps.finish(steps("Mul", steps("Sub", x, steps.constant(offset)), steps.constant(scale)))


def _rows(call: Call, steps: Steps) -> str:
    """The first input in float32: one row of features, or a matrix of rows."""
    x = steps.cast(call.operand(0), DType.FLOAT32)
    if len(steps.tensor(x).shape) not in (1, 2):
        raise Unsupported(f"features of shape {list(steps.tensor(x).shape)}", "a matrix of rows")
    return x


def normalizer(call: Call, steps: Steps) -> None:
    """Each row divided by its largest element, the sum of its absolute elements, or the root of that of squares."""
    x = _rows(call, steps)
    norm = str(call.attribute("norm", "MAX"))
    axis = len(steps.tensor(x).shape) - 1
    if norm in ("L1", "L2"):
        steps.finish(steps("LpNormalization", x, axis=axis, p=int(norm[1])))
        return
    if norm != "MAX":
        raise Unsupported(f"norm '{norm}'", "MAX, L1 and L2 are supported")
    largest = steps("ReduceMax", x, axes=[axis], keepdims=1)
    one = steps("Where", steps("Equal", largest, steps.constant(0.0)), steps.constant(1.0), largest)
    steps.finish(steps("Div", x, one))


def binarizer(call: Call, steps: Steps) -> None:
    """1 where x is above the threshold, else 0."""
    x = call.input(0)
    threshold = steps.constant(float(call.attribute("threshold", 0.0)), x.dtype.numpy.type)
    steps.finish(steps.cast(steps("Greater", x.name, threshold), x.dtype))


def array_feature_extractor(call: Call, steps: Steps) -> None:
    """The elements at given positions of the last axis."""
    x, indices = call.input(0), call.input(1)
    rows = x.name if len(x.shape) > 1 else steps.reshape(x.name, 1, *x.shape)
    flat = steps.reshape(indices.name, indices.elements)
    steps.finish(steps("Gather", rows, flat, axis=len(steps.tensor(rows).shape) - 1))


def label_encoder(call: Call, steps: Steps) -> None:
    """A table from numbers to numbers, with a default for what it lacks."""
    keys, values = _listed(call, "keys"), _listed(call, "values")
    x = call.input(0)
    wanted = "keys_floats" if x.dtype is DType.FLOAT32 else "keys_int64s"
    if len(keys) != len(values) or not keys.size or (keys.dtype.kind == "f") != (x.dtype is DType.FLOAT32):
        raise Unsupported(f"{len(keys)} keys for {len(values)} values of {x.dtype.value}", f"give {wanted} and values")
    default = _default(call, values)
    table = steps.constant([*values, default], values.dtype.type)
    column = steps.reshape(x.name, *x.shape, 1)
    hits = steps.cast(steps("Equal", column, steps.constant(keys, x.dtype.numpy.type)), DType.INT32)
    last = len(x.shape)
    found = steps("ReduceMax", hits, axes=[last], keepdims=0)
    position = steps("ArgMax", hits, axis=last, keepdims=0)
    missing = steps("Equal", found, steps.constant(0, np.int32))
    place = steps("Where", missing, steps.constant(len(keys), np.int64), position)
    steps.finish(steps("Gather", table, place, axis=0))


def _listed(call: Call, name: str) -> Array:
    for kind, dtype in (("int64s", np.int64), ("floats", np.float32)):
        if call.attribute(f"{name}_{kind}") is not None:
            return np.asarray(call.attribute(f"{name}_{kind}"), dtype)
    tensor = call.attribute(f"{name}_tensor")
    if isinstance(tensor, np.ndarray) and tensor.dtype.kind in "if":
        return tensor.reshape(-1)
    raise Unsupported(f"{name} that are no numbers", "encode numbers")


def _default(call: Call, values: Array) -> float:
    tensor = call.attribute("default_tensor")
    if isinstance(tensor, np.ndarray) and tensor.size == 1 and tensor.dtype.kind in "if":
        return float(tensor.reshape(-1)[0])
    if values.dtype.kind == "f":
        return float(call.attribute("default_float", -0.0))
    return int(call.attribute("default_int64", -1))


def zip_map(call: Call, steps: Steps) -> None:
    """Left out: the map from labels to columns stays a tensor, its columns in the order of the labels."""
    steps.finish(call.operand(0))


def linear_regressor(call: Call, steps: Steps) -> None:
    """x * coefficients + intercepts."""
    targets = int(call.attribute("targets", 1))
    steps.finish(transformed(steps, _linear(call, steps, targets), str(call.attribute("post_transform", "NONE"))))


def linear_classifier(call: Call, steps: Steps) -> None:
    """The class of the largest score, and the scores."""
    labels = class_labels(call)
    rows = len(call.numbers("coefficients", ())) // max(call.input(0).shape[-1], 1)
    scores = _linear(call, steps, rows)
    post = str(call.attribute("post_transform", "NONE"))
    if rows == 1 and len(labels) == 2:
        finish_binary(call, steps, scores, labels, post, threshold=0.0)
        return
    finish_classes(call, steps, scores, labels, post)


def _linear(call: Call, steps: Steps, targets: int) -> str:
    x = steps.cast(call.operand(0), DType.FLOAT32)
    shape = steps.tensor(x).shape
    x = x if len(shape) == 2 else steps.reshape(x, 1, *shape)
    coefficients = np.asarray(call.numbers("coefficients", ()), np.float32)
    features = steps.tensor(x).shape[-1]
    if len(steps.tensor(x).shape) != 2 or coefficients.size != targets * features:
        raise Unsupported(f"{coefficients.size} coefficients for {targets} results of {features} features")
    intercepts = np.asarray(call.numbers("intercepts", (0.0,) * targets), np.float32)
    if intercepts.size not in (0, targets):
        raise Unsupported(f"{intercepts.size} intercepts for {targets} results")
    matrix = steps.constant(np.ascontiguousarray(coefficients.reshape(targets, features).T))
    row = steps.constant(intercepts if intercepts.size else np.zeros(targets, np.float32))
    return steps("Gemm", x, matrix, row)


def class_labels(call: Call) -> Array:
    """The integers that a classifier gives."""
    labels = call.attribute("classlabels_ints") or call.attribute("classlabels_int64s")
    if not labels:
        raise Unsupported("labels that are no integers", "train with integer labels")
    return np.asarray(labels, np.int64)


def finish_classes(call: Call, steps: Steps, scores: str, labels: Array, post: str) -> None:
    """The label of the largest score of each row, and the scores."""
    best = steps("ArgMax", scores, axis=1, keepdims=0)
    ordered = bool((labels == np.arange(len(labels))).all())
    steps.finish(best if ordered else steps("Gather", steps.constant(labels, np.int64), best, axis=0))
    steps.finish(transformed(steps, scores, post), 1)


def finish_binary(
    call: Call, steps: Steps, score: str, labels: Array, post: str, *, threshold: float, shares: bool = False
) -> None:
    """The second label where the one score is above the threshold, and a score for either.

    The first score is 1 - s of ``shares``, else that of -s.
    """
    above = steps("Greater", steps.reshape(score, steps.tensor(score).shape[0]), steps.constant(threshold))
    first, second = (steps.constant(int(label), np.int64) for label in labels)
    steps.finish(steps("Where", above, second, first))
    if shares:
        other = steps("Sub", steps.constant(1.0), score)
        steps.finish(steps("Concat", other, score, axis=1), 1)
        return
    both = steps("Concat", steps("Neg", score), score, axis=1)
    steps.finish(transformed(steps, both, post), 1)


def transformed(steps: Steps, scores: str, post: str) -> str:
    """Scores behind a ``post_transform``."""
    if post == "NONE":
        return scores
    if post == "LOGISTIC":
        return steps("Sigmoid", scores)
    if post == "SOFTMAX":
        return steps("Softmax", scores, axis=len(steps.tensor(scores).shape) - 1)
    raise Unsupported(f"post_transform '{post}'", "NONE, LOGISTIC and SOFTMAX are supported")


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
    """The class that wins most comparisons of two classes, and their results; without probabilities."""
    labels = class_labels(call)
    owned = call.integers("vectors_per_class", ())
    if call.numbers("prob_a", ()) or len(owned) != len(labels):
        raise Unsupported("probabilities of support vectors, or a linear model", "train without probabilities")
    x, count = steps.cast(call.operand(0), DType.FLOAT32), sum(owned)
    pairs = [(one, other) for one in range(len(labels)) for other in range(one + 1, len(labels))]
    rho = np.asarray(call.numbers("rho", ()), np.float32)
    coefficients = np.asarray(call.numbers("coefficients", ()), np.float32)
    if rho.size != len(pairs) or coefficients.size != (len(labels) - 1) * count:
        raise Unsupported(f"{coefficients.size} coefficients and {rho.size} rho for {len(labels)} classes")
    matrix = _comparisons(coefficients.reshape(len(labels) - 1, count), owned, pairs)
    results = steps("Gemm", kernels(call, steps, x, count), steps.constant(matrix), steps.constant(rho))
    wins = steps.cast(steps("Greater", results, steps.constant(0.0)), DType.FLOAT32)
    # A comparison of classes i and j is a vote for i where it is above 0, else for j.
    turned = np.zeros((len(pairs), len(labels)), np.float32)
    base = np.zeros(len(labels), np.float32)
    for number, (one, other) in enumerate(pairs):
        turned[number, one], turned[number, other] = 1.0, -1.0
        base[other] += 1.0
    votes = steps("Gemm", wins, steps.constant(turned), steps.constant(base))
    best = steps("ArgMax", votes, axis=1, keepdims=0)
    steps.finish(steps("Gather", steps.constant(labels, np.int64), best, axis=0))
    post = str(call.attribute("post_transform", "NONE"))
    both = steps("Concat", steps("Neg", results), results, axis=1) if len(pairs) == 1 else results
    steps.finish(transformed(steps, both, post), 1)


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


def learned(earlier: Translators) -> Translators:
    """Translators by operator of ai.onnx.ml; ``earlier`` has those of the ONNX operators."""
    table = {
        "ArrayFeatureExtractor": array_feature_extractor,
        "Binarizer": binarizer,
        "LabelEncoder": label_encoder,
        "LinearClassifier": linear_classifier,
        "LinearRegressor": linear_regressor,
        "Normalizer": normalizer,
        "SVMClassifier": svm_classifier,
        "SVMRegressor": svm_regressor,
        "Scaler": scaler,
        "ZipMap": zip_map,
    }
    return with_steps(earlier, table)
