"""Operators of ai.onnx.ml on numbers: what converters write of linear models and preprocessing."""

from __future__ import annotations

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call


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
    """The integers that a classifier gives; Unsupported for labels that are texts."""
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
    """Scores behind a ``post_transform``; Unsupported for an unknown one."""
    if post == "NONE":
        return scores
    if post == "LOGISTIC":
        return steps("Sigmoid", scores)
    if post == "SOFTMAX":
        return steps("Softmax", scores, axis=len(steps.tensor(scores).shape) - 1)
    raise Unsupported(f"post_transform '{post}'", "NONE, LOGISTIC and SOFTMAX are supported")


def learned(earlier: Translators) -> Translators:
    """Translators by operator of ai.onnx.ml; ``earlier`` has those of the ONNX operators."""
    table = {
        "ArrayFeatureExtractor": array_feature_extractor,
        "Binarizer": binarizer,
        "LabelEncoder": label_encoder,
        "LinearClassifier": linear_classifier,
        "LinearRegressor": linear_regressor,
        "Normalizer": normalizer,
        "Scaler": scaler,
        "ZipMap": zip_map,
    }
    return with_steps(earlier, table)
