"""TfIdfVectorizer of numbers: how often each n-gram occurs in a row."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tilewright.graph import Array, DType
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps
from tilewright.importers.onnx.context import Call

_MODES = ("TF", "IDF", "TFIDF")


def tf_idf_vectorizer(call: Call, steps: Steps) -> None:
    """For each n-gram of numbers: how often it occurs (TF), its weight where it occurs (IDF), or the product of both.

    The elements of an n-gram stand 1 to ``max_skip_count`` + 1 positions apart.
    """
    x, mode = call.input(0), str(call.attribute("mode", ""))
    if x.dtype not in (DType.INT32, DType.INT64) or call.attribute("pool_int64s") is None:
        raise Unsupported("n-grams of texts", "give words numbers, in the firmware")
    if mode not in _MODES or len(x.shape) not in (1, 2):
        raise Unsupported(f"mode '{mode}' for {list(x.shape)}", "export the model again")
    columns = np.asarray(call.integers("ngram_indexes", ()), np.int64)
    grams = _grams(call, len(columns))
    rows = x.name if len(x.shape) == 2 else steps.reshape(x.name, 1, *x.shape)
    counts = [_occurrences(call, steps, rows, pool) for _, pool in grams]
    if not counts:
        raise Unsupported("no n-gram of the lengths that are asked for", "export the model again")
    parts = counts[0] if len(counts) == 1 else steps("Concat", *counts, axis=1)
    call.build.require_room(4 * len(columns) * (int(columns.max(initial=0)) + 1))
    numbers = np.concatenate([np.arange(first, first + len(pool)) for first, pool in grams])
    place = np.zeros((len(numbers), int(columns.max()) + 1), np.float32)
    place[np.arange(len(numbers)), columns[numbers]] = 1.0
    total = parts if np.array_equal(place, np.eye(len(numbers))) else steps("MatMul", parts, steps.constant(place))
    steps.finish(steps.reshape(_weighed(call, steps, total, mode), *x.shape[:-1], place.shape[1]))


def _grams(call: Call, known: int) -> list[tuple[int, Array]]:
    """Number of the first n-gram and all n-grams [count, n] of each length that counts."""
    pool = np.asarray(call.integers("pool_int64s", ()), np.int64)
    begins = [*call.integers("ngram_counts", ()), len(pool)]
    least, most = int(call.attribute("min_gram_length", 1)), int(call.attribute("max_gram_length", 1))
    grams, number = [], 0
    for length, (begin, end) in enumerate(pairwise(begins), start=1):
        if not 0 <= begin <= end <= len(pool) or (end - begin) % length:
            raise Unsupported(f"n-grams of length {length} from {begin} to {end}", "export the model again")
        count = (end - begin) // length
        if count and least <= length <= most:
            grams.append((number, pool[begin:end].reshape(count, length)))
        number += count
    if number != known or any(column < 0 for column in call.integers("ngram_indexes", ())):
        raise Unsupported(f"{known} columns for {number} n-grams", "export the model again")
    return grams


def _occurrences(call: Call, steps: Steps, rows: str, pool: Array) -> str:
    """[rows, n-grams]: how often each n-gram occurs, in all distances."""
    batch, extent = steps.tensor(rows).shape
    count, length = pool.shape
    dtype = steps.tensor(rows).dtype.numpy.type
    found = []
    # The only element of a unigram has no distance to another one.
    for distance in range(1, 2 if length == 1 else int(call.attribute("max_skip_count", 0)) + 2):
        places = extent - distance * (length - 1)
        if places < 1:
            break
        hits = ""
        for position in range(length):
            first = position * distance
            some = steps("Slice", rows, *_range(steps, first, first + places))
            column = steps.reshape(some, batch, places, 1)
            hit = steps("Equal", column, steps.constant(pool[:, position], dtype))
            hits = steps("And", hits, hit) if hits else hit
        found.append(steps("ReduceSum", steps.cast(hits, DType.FLOAT32), axes=[1], keepdims=0))
    if not found:
        return steps.constant(np.zeros((batch, count), np.float32))
    total = found[0]
    for other in found[1:]:
        total = steps("Add", total, other)
    return total


def _range(steps: Steps, first: int, last: int) -> tuple[str, str, str]:
    """Starts, ends and axes of a slice of columns."""
    begin, end, axis = (steps.constant([value], np.int64) for value in (first, last, 1))
    return begin, end, axis


def _weighed(call: Call, steps: Steps, counts: str, mode: str) -> str:
    weights = np.asarray(call.numbers("weights", ()), np.float32)
    columns = call.integers("ngram_indexes", ())
    if weights.size and columns != tuple(range(weights.size)):
        raise Unsupported("weights in another order than the columns", "export the model again")
    if mode == "IDF":
        occurs = steps("Greater", counts, steps.constant(0.0))
        counts = steps.cast(occurs, DType.FLOAT32)
    return steps("Mul", counts, steps.constant(weights)) if weights.size and mode != "TF" else counts
