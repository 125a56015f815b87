"""Imputer, OneHotEncoder and FeatureVectorizer of ai.onnx.ml on numbers: columns of a table as they enter a model."""

from __future__ import annotations

import numpy as np

from tilewright.graph import DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps, Translators, with_steps
from tilewright.importers.onnx.context import Call


def imputer(call: Call, steps: Steps) -> None:
    """Elements that are missing (NaN, or a stated value) become the value of their column."""
    x = call.input(0)
    if not x.shape or x.dtype not in (DType.FLOAT32, DType.INT64):
        raise Unsupported(f"{x.dtype.value} of shape {list(x.shape)}", "a matrix of float32 or int64")
    real = x.dtype is DType.FLOAT32
    given = call.numbers("imputed_value_floats" if real else "imputed_value_int64s", ())
    columns = x.shape[-1]
    if len(given) not in (1, columns):
        raise Unsupported(f"{len(given)} values for {columns} columns of {x.dtype.value}", "give one for each column")
    values = steps.constant(given, x.dtype.numpy.type)
    missing = call.attribute("replaced_value_float", 0.0) if real else call.attribute("replaced_value_int64", 0)
    if np.isnan(missing):
        is_missing = steps("IsNaN", x.name)
    else:
        is_missing = steps("Equal", x.name, steps.constant(missing, x.dtype.numpy.type))
    steps.finish(steps("Where", is_missing, values, x.name))


def one_hot_encoder(call: Call, steps: Steps) -> None:
    """1 in the column of the element's category, else 0, on an axis of its own behind the others.

    An element of no category gives zeros, also with ``zeros`` 0, where ONNX Runtime ends with an error.
    """
    categories = call.integers("cats_int64s", ())
    if call.attribute("cats_strings") or not categories:
        raise Unsupported("categories that are no numbers", "encode numbers")
    if len(set(categories)) != len(categories):
        raise Unsupported(f"{len(categories)} categories of which two are equal", "export the model again")
    x = steps.cast(call.operand(0), DType.INT64)
    column = steps.reshape(x, *steps.tensor(x).shape, 1)
    steps.finish(steps.cast(steps("Equal", column, steps.constant(categories, np.int64)), DType.FLOAT32))


def feature_vectorizer(call: Call, steps: Steps) -> None:
    """Matrices of one number of rows side by side, each cut or filled with zeros to its ``inputdimensions``."""
    wanted = call.integers("inputdimensions", ())
    if len(wanted) != len(call.node.inputs) or not all(count > 0 for count in wanted):
        raise Unsupported(
            f"inputdimensions {list(wanted)} for {len(call.node.inputs)} inputs", "export the model again"
        )
    parts = [_columns(steps, call.operand(index), count) for index, count in enumerate(wanted)]
    if len({steps.tensor(part).shape[0] for part in parts}) > 1:
        raise Unsupported("inputs of different numbers of rows", "export the model again")
    steps.finish(steps("Concat", *parts, axis=1))


def _columns(steps: Steps, name: str, count: int) -> str:
    """The first ``count`` columns in float32, and columns of zeros for those that are not there."""
    x = steps.cast(name, DType.FLOAT32)
    shape = steps.tensor(x).shape
    if len(shape) not in (1, 2):
        raise Unsupported(f"features of shape {list(shape)}", "a matrix of rows")
    x = x if len(shape) == 2 else steps.reshape(x, 1, *shape)
    rows, columns = steps.tensor(x).shape
    if columns > count:
        begin, end, axis = (steps.constant([number], np.int64) for number in (0, count, 1))
        return steps("Slice", x, begin, end, axis)
    if columns == count:
        return x
    steps.call.build.require_room(4 * rows * (count - columns))
    return steps("Concat", x, steps.constant(np.zeros((rows, count - columns), np.float32)), axis=1)


def categories(earlier: Translators) -> Translators:
    """Translators by operator; ``earlier`` has those of the ONNX operators."""
    table = {"FeatureVectorizer": feature_vectorizer, "Imputer": imputer, "OneHotEncoder": one_hot_encoder}
    return with_steps(earlier, table)
