"""ONNX reductions, ArgMax and ArgMin, and operators along one axis."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from types import MappingProxyType

from tilewright.graph import DType, Tensor
from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.context import Call
from tilewright.importers.onnx.elementwise import typed
from tilewright.importers.onnx.spatial import over, whole_extent
from tilewright.operators.pooling import AveragePoolAttributes

Translate = Callable[[Call], None]

_FLOAT = frozenset({DType.FLOAT32})
_SUMS = frozenset({DType.FLOAT32, DType.INT32, DType.INT64})
_NUMBERS = frozenset(DType) - {DType.BOOL}
REDUCED_TYPES: Mapping[str, frozenset[DType]] = MappingProxyType(
    {
        **dict.fromkeys(("ReduceSum", "ReduceMean", "ReduceProd", "ReduceL1", "ReduceSumSquare"), _SUMS),
        **dict.fromkeys(("ReduceL2", "ReduceLogSum", "ReduceLogSumExp"), _FLOAT),
        **dict.fromkeys(("ReduceMax", "ReduceMin"), frozenset(DType)),
    }
)


_OF_ONE_ITSELF = frozenset({"ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin"})
"""Reductions that give back a single element."""


def reduced_shape(shape: tuple[int, ...], axes: tuple[int, ...], keepdims: bool) -> tuple[int, ...]:
    """The shape of a reduction over ``axes``."""
    if keepdims:
        return tuple(1 if axis in axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in axes)


def _reduction(operator: str) -> Translate:
    def translate(call: Call) -> None:
        """Reduces the given axes. Without axes it reduces all of them, or with ``noop_with_empty_axes`` none.

        Where no axis is reduced, each element is still reduced alone: ReduceSumSquare gives its square.
        """
        x = typed(call, 0, REDUCED_TYPES[operator])
        rank = len(x.shape)
        axes = tuple(sorted(set(call.axes("axes", 1, rank, ()))))
        if not axes and call.attribute("noop_with_empty_axes", 0):
            _each_alone(call, operator, x)
            return
        axes = axes or tuple(range(rank))
        keepdims = bool(call.attribute("keepdims", 1))
        shape = reduced_shape(x.shape, axes, keepdims)
        if operator in _OF_ONE_ITSELF and all(x.shape[axis] == 1 for axis in axes):
            call.emit("Reshape", [x.name], shape)
            return
        call.emit(operator, [x.name], shape, {"axes": axes, "keepdims": keepdims})

    return translate


def _each_alone(call: Call, operator: str, x: Tensor) -> None:
    """Reduce each element of x by itself."""
    if operator in _OF_ONE_ITSELF:
        call.emit("Reshape", [x.name], x.shape)
        return
    column = call.emit("Reshape", [x.name], (x.elements, 1), part="column")
    reduced = call.emit(operator, [column], (x.elements,), {"axes": (1,), "keepdims": False}, part="reduced")
    call.emit("Reshape", [reduced], x.shape)


_MEAN = _reduction("ReduceMean")


def reduce_mean(call: Call) -> None:
    """The mean over the given axes. Over all positions of each channel it is a pool, which has integer kernels.

    Channels are axis 1, or the last axis where the mean is over all between it and the first.
    """
    x = typed(call, 0, REDUCED_TYPES["ReduceMean"])
    rank = len(x.shape)
    axes = tuple(sorted(set(call.axes("axes", 1, rank, ()))))
    perm = _channels_first(axes, rank)
    if x.dtype is not DType.FLOAT32 or perm is None:
        _MEAN(call)
        return
    shape = reduced_shape(x.shape, axes, bool(call.attribute("keepdims", 1)))
    name, extents = x.name, tuple(x.shape[axis] for axis in perm)
    if perm != tuple(range(rank)):
        name = call.emit("Transpose", [name], extents, {"perm": perm}, part="channels")
    windows, outputs = whole_extent(extents[2:])
    narrow = (*extents[:2], *outputs)
    pooled = call.emit(
        "AveragePool", [name], narrow, over(windows, AveragePoolAttributes), part="" if shape == narrow else "pooled"
    )
    if shape != narrow:
        call.emit("Reshape", [pooled], shape)


def _channels_first(axes: tuple[int, ...], rank: int) -> tuple[int, ...] | None:
    """The order of axes in which a mean over ``axes`` is one over all but the first two; None where there is none."""
    if not 2 < rank < 6:
        return None
    if axes == tuple(range(2, rank)):
        return tuple(range(rank))
    return (0, rank - 1, *axes) if axes == tuple(range(1, rank - 1)) else None


def _arg(operator: str) -> Translate:
    def translate(call: Call) -> None:
        """The index of the largest (ArgMax) or smallest (ArgMin) element along one axis, as int64."""
        x = typed(call, 0, _NUMBERS)
        axis = call.axis(int(call.attribute("axis", 0)), len(x.shape))
        keepdims = bool(call.attribute("keepdims", 1))
        attributes = {
            "axes": (axis,),
            "keepdims": keepdims,
            "select_last": bool(call.attribute("select_last_index", 0)),
        }
        call.emit(operator, [x.name], reduced_shape(x.shape, (axis,), keepdims), attributes, dtype=DType.INT64)

    return translate


def _normalised(operator: str, default: int) -> Translate:
    """Runs over ``axis``; before opset 13 over all axes from ``axis`` on, as one axis."""

    def translate(call: Call) -> None:
        x = typed(call, 0, _FLOAT)
        rank = len(x.shape)
        if call.build.opset >= 13:
            call.emit(operator, [x.name], x.shape, {"axis": call.axis(int(call.attribute("axis", -1)), rank)})
            return
        axis = call.axis(int(call.attribute("axis", default)), rank)
        flat = (prod(x.shape[:axis]), prod(x.shape[axis:]))
        rows = call.emit("Reshape", [x.name], flat, part="rows")
        result = call.emit(operator, [rows], flat, {"axis": 1}, part="result")
        call.emit("Reshape", [result], x.shape)

    return translate


def lp_normalization(call: Call) -> None:
    """Divides x by its norm along one axis: the sum of absolute values (p = 1) or the root of the sum of squares."""
    x = typed(call, 0, _FLOAT)
    p = int(call.attribute("p", 2))
    if p not in (1, 2):
        raise Unsupported(f"p = {p}")
    axis = call.axis(int(call.attribute("axis", -1)), len(x.shape))
    call.emit("LpNormalization", [x.name], x.shape, {"axis": axis, "p": p})


def _running(operator: str) -> Translate:
    """The sum (CumSum) or product (CumProd) of all elements up to each one, along one axis."""

    def translate(call: Call) -> None:
        x = typed(call, 0, _SUMS)
        axis = call.axis(int(call.constant(1, "the axis").reshape(-1)[0]), len(x.shape))
        attributes = {name: int(call.attribute(name, 0)) for name in ("exclusive", "reverse")}
        call.emit(operator, [x.name], x.shape, {"axis": axis, **attributes})

    return translate


def top_k(call: Call) -> None:
    """The k largest or smallest elements along one axis and their indices, sorted."""
    x = typed(call, 0, _NUMBERS)
    axis = call.axis(int(call.attribute("axis", -1)), len(x.shape))
    count = int(call.constant(1, "k").reshape(-1)[0]) if call.has(1) else int(call.attribute("k", 0))
    if not 1 <= count <= x.shape[axis]:
        raise Unsupported(f"k = {count} of extent {x.shape[axis]}")
    shape = tuple(count if position == axis else extent for position, extent in enumerate(x.shape))
    call.emit_all(
        "TopK",
        [x.name],
        [(shape, x.dtype), (shape, DType.INT64)],
        {"axis": axis, "largest": int(call.attribute("largest", 1))},
    )


REDUCTION: Mapping[str, Translate] = MappingProxyType(
    {
        **{operator: _reduction(operator) for operator in REDUCED_TYPES},
        "ReduceMean": reduce_mean,
        "ArgMax": _arg("ArgMax"),
        "ArgMin": _arg("ArgMin"),
        "LogSoftmax": _normalised("LogSoftmax", 1),
        "Hardmax": _normalised("Hardmax", 1),
        "LpNormalization": lp_normalization,
        "CumSum": _running("CumSum"),
        "CumProd": _running("CumProd"),
        "TopK": top_k,
    }
)
