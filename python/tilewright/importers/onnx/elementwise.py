"""ONNX operators that work element by element, on any element type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from tilewright.graph import DType, Tensor
from tilewright.importers.construction import Unsupported, broadcast, dtype_named
from tilewright.importers.onnx.context import Call

Translate = Callable[[Call], None]

_FLOAT_UNARY = (
    "Exp Log Sqrt Reciprocal Floor Ceil Round Erf Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
    "Softplus Softsign Mish"
).split()
_PARAMETERS: Mapping[str, Mapping[str, float]] = {
    "Elu": {"alpha": 1.0},
    "Selu": {"alpha": 1.6732632423543772, "gamma": 1.0507009873554805},
    "Celu": {"alpha": 1.0},
    "ThresholdedRelu": {"alpha": 1.0},
    "Swish": {"alpha": 1.0},
    "Shrink": {"bias": 0.0, "lambd": 0.5},
}
_NUMBERS = frozenset(DType) - {DType.BOOL}
_INTEGERS = _NUMBERS - {DType.FLOAT32}
_FLOAT = frozenset({DType.FLOAT32})
_BOOL = frozenset({DType.BOOL})
_ALL = frozenset(DType)


def typed(call: Call, index: int, types: frozenset[DType]) -> Tensor:
    """An input of one of the given types; Unsupported for another."""
    tensor = call.input(index)
    if tensor.dtype not in types:
        known = ", ".join(sorted(dtype.value for dtype in types))
        raise Unsupported(f"input {index} has type {tensor.dtype.value}; {known} can be computed", "insert a Cast")
    return tensor


def pair(call: Call, types: frozenset[DType]) -> tuple[Tensor, Tensor]:
    """Two inputs of one of the given types; Unsupported if their types differ."""
    a, b = typed(call, 0, types), typed(call, 1, types)
    if a.dtype is not b.dtype:
        raise Unsupported(f"operands of types {a.dtype.value} and {b.dtype.value}", "insert a Cast")
    return a, b


def unary(operator: str, types: frozenset[DType] = _FLOAT, result: DType | None = None) -> Translate:
    """Computes the function of that name for each element."""
    defaults = _PARAMETERS.get(operator, {})

    def translate(call: Call) -> None:
        x = typed(call, 0, types)
        attributes = {name: float(call.attribute(name, value)) for name, value in defaults.items()}
        call.emit(operator, [x.name], x.shape, attributes, dtype=result)

    return translate


def binary(operator: str, types: frozenset[DType], result: DType | None = None, swapped: bool = False) -> Translate:
    """Computes the function of that name for two tensors of one type, which broadcast."""

    def translate(call: Call) -> None:
        a, b = pair(call, types)
        names = [b.name, a.name] if swapped else [a.name, b.name]
        call.emit(operator, names, broadcast(a.shape, b.shape), dtype=result)

    return translate


def arithmetic(operator: str, floats: Translate) -> Translate:
    """Adds, subtracts, multiplies or divides two tensors of one type, which broadcast."""

    def translate(call: Call) -> None:
        x = call.input(0)
        if call.build.integers_in_floats or not x.dtype.is_integer:
            floats(call)
            return
        binary(f"{operator}Integer", _INTEGERS)(call)

    return translate


def folded(operator: str) -> Translate:
    """Takes the smaller (Min) or larger (Max) of two tensors after the other, which broadcast."""

    def translate(call: Call) -> None:
        parts = [typed(call, index, _NUMBERS) for index in range(len(call.node.inputs))]
        if len(parts) == 1:
            call.emit("Reshape", [parts[0].name], parts[0].shape)
            return
        total, shape = parts[0].name, parts[0].shape
        for number, part in enumerate(parts[1:], start=1):
            if part.dtype is not parts[0].dtype:
                raise Unsupported("operands of different types", "insert a Cast")
            shape = broadcast(shape, part.shape)
            word = "" if number == len(parts) - 1 else f"part{number}"
            total = call.emit(operator, [total, part.name], shape, part=word)

    return translate


def erfc(call: Call) -> None:
    """1 - Erf. tf2onnx writes it for GELU of Keras, though ONNX does not define it."""
    x = typed(call, 0, _FLOAT)
    error = call.emit("Erf", [x.name], x.shape, part="erf")
    one = call.literal(np.ones((), np.float32), f"{call.node.outputs[0]}/one")
    call.emit("Sub", [one, error], x.shape, _OFFSETS)


def mean(call: Call) -> None:
    """Multiplies the sum of all tensors, which broadcast, by 1 / their number."""
    parts = [typed(call, index, _FLOAT) for index in range(len(call.node.inputs))]
    shape = broadcast(*(part.shape for part in parts))
    total = parts[0].name
    for number, part in enumerate(parts[1:], start=1):
        sum_shape = broadcast(call.build.tensor(total).shape, part.shape)
        total = call.emit("Add", [total, part.name], sum_shape, _OFFSETS, part=f"sum{number}")
    factor = call.literal(np.float32(1.0 / len(parts)).reshape(()), f"{call.node.outputs[0]}/factor")
    call.emit("Mul", [total, factor], shape, _OFFSETS)


def mod(call: Call) -> None:
    """The remainder of a / b. It has the sign of b, or with ``fmod`` the sign of a."""
    a, b = pair(call, _NUMBERS)
    fmod = bool(call.attribute("fmod", 0))
    call.emit("FMod" if fmod else "Mod", [a.name, b.name], broadcast(a.shape, b.shape))


def power(call: Call) -> None:
    """Raises a to the power b. An integer b is converted to the type of a."""
    a, b = typed(call, 0, _NUMBERS), typed(call, 1, _NUMBERS)
    shape = broadcast(a.shape, b.shape)
    exponent = b.name
    mixed = a.dtype in (DType.INT32, DType.INT64) and b.dtype is DType.FLOAT32
    if a.dtype is not b.dtype and not mixed:
        if a.dtype is not DType.FLOAT32 and b.dtype is DType.FLOAT32:
            raise Unsupported(f"{a.dtype.value} to a power of type float32", "insert a Cast")
        exponent = call.emit("Cast", [b.name], b.shape, dtype=a.dtype, part="exponent")
    call.emit("Pow", [a.name, exponent], shape)


def bit_shift(call: Call) -> None:
    """Shifts the bits of each element of a by b, to the left or to the right."""
    a, b = pair(call, _INTEGERS)
    operator = {"LEFT": "ShiftLeft", "RIGHT": "ShiftRight"}.get(str(call.attribute("direction")))
    if operator is None:
        raise Unsupported(f"direction '{call.attribute('direction')}'")
    call.emit(operator, [a.name, b.name], broadcast(a.shape, b.shape))


def where(call: Call) -> None:
    """Takes elements of x where the condition is true, else of y. The tensors broadcast."""
    condition = typed(call, 0, _BOOL)
    a, b = call.input(1), call.input(2)
    if a.dtype is not b.dtype:
        raise Unsupported(f"operands of types {a.dtype.value} and {b.dtype.value}", "insert a Cast")
    shape = broadcast(condition.shape, a.shape, b.shape)
    call.emit("Where", [condition.name, a.name, b.name], shape, dtype=a.dtype)


def gelu(call: Call) -> None:
    """x * P(X <= x) for a normal X, computed by erf, or by tanh if ``approximate`` says so."""
    x = typed(call, 0, _FLOAT)
    call.emit("Gelu", [x.name], x.shape, {"by_tanh": call.attribute("approximate", "none") == "tanh"})


def is_inf(call: Call) -> None:
    """Whether an element is infinite. The attributes may leave out one sign."""
    x = typed(call, 0, _FLOAT)
    attributes = {
        "positive": float(call.attribute("detect_positive", 1)),
        "negative": float(call.attribute("detect_negative", 1)),
    }
    call.emit("IsInf", [x.name], x.shape, attributes, dtype=DType.BOOL)


def prelu(call: Call) -> None:
    """x, and slope * x below 0. The slope broadcasts to x."""
    a, b = pair(call, _NUMBERS)
    if broadcast(a.shape, b.shape) != a.shape:
        raise Unsupported(f"slope of shape {list(b.shape)} for {list(a.shape)}")
    call.emit("PRelu", [a.name, b.name], a.shape)


def convert_to(call: Call, dtype: DType) -> None:
    """The first input in another element type."""
    x = call.input(0)
    if x.dtype is dtype:
        call.emit("Reshape", [x.name], x.shape)
        return
    call.emit("Cast", [x.name], x.shape, dtype=dtype)


def cast(call: Call) -> None:
    """Converts elements to the type of the attribute ``to``."""
    to = int(call.attribute("to", 0))
    if to not in ELEMENT_TYPES:
        raise Unsupported(f"a cast to ONNX element type {to}", "cast to float32 or an integer type")
    convert_to(call, dtype_named(ELEMENT_TYPES[to]))


def bit_cast(call: Call) -> None:
    """The bytes of each element as an element of another type of the same size."""
    x, to = call.input(0), int(call.attribute("to", 0))
    if to not in ELEMENT_TYPES:
        raise Unsupported(f"bits of ONNX element type {to}", "float32 and integer types are supported")
    dtype = dtype_named(ELEMENT_TYPES[to])
    if dtype.size_bytes != x.dtype.size_bytes:
        raise Unsupported(f"{x.dtype.value} as {dtype.value}", "both types have to have the same size")
    if dtype is DType.BOOL and x.dtype is not DType.BOOL:
        raise Unsupported(f"{x.dtype.value} as bool, whose bytes are 0 and 1", "compare with 0")
    call.emit("Reshape" if x.dtype is dtype else "BitCast", [x.name], x.shape, dtype=dtype)


def cast_like(call: Call) -> None:
    """Converts elements of the first input to the type of the second one."""
    known = call.known(1)
    convert_to(
        call, call.input(1).dtype if known is None or known.dtype == np.float64 else dtype_named(known.dtype.name)
    )


def clip(call: Call, floats: Translate) -> None:
    """Limits elements to [min, max]. Constant bounds of float32 are one operator, others Max and Min."""
    x = call.input(0)
    known = all(call.known(index) is not None for index in (1, 2) if call.has(index))
    if (x.dtype is DType.FLOAT32 and known) or call.build.opset < 11:
        floats(call)
        return
    typed(call, 0, _NUMBERS)
    bounds = [(operator, index) for operator, index in (("Max", 1), ("Min", 2)) if call.has(index)]
    name = x.name
    for number, (operator, index) in enumerate(bounds):
        bound = call.input(index)
        if bound.dtype is not x.dtype or bound.elements != 1:
            raise Unsupported(f"a bound {bound.dtype.value}{list(bound.shape)} of {x.dtype.value}")
        scalar = bound.name
        if bound.shape:
            scalar = call.emit("Reshape", [bound.name], (), dtype=bound.dtype, part=f"bound{index}")
        word = "" if number == len(bounds) - 1 else "above"
        name = call.emit(operator, [name, scalar], x.shape, part=word)
    if not bounds:
        call.emit("Reshape", [x.name], x.shape)


def relu(call: Call, floats: Translate) -> None:
    """The larger of x and 0."""
    x = call.input(0)
    if x.dtype is DType.FLOAT32 or call.build.integers_in_floats:
        floats(call)
        return
    typed(call, 0, _INTEGERS)
    zero = call.literal(np.zeros((), x.dtype.numpy), f"{call.node.outputs[0]}/zero")
    call.emit("Max", [x.name, zero], x.shape)


def wrapped(translate: Callable[[Call, Translate], None], floats: Translate) -> Translate:
    """``translate`` with the translator of the float case."""

    def both(call: Call) -> None:
        translate(call, floats)

    both.__doc__ = translate.__doc__
    return both


def expand(call: Call) -> None:
    """Expand to the shape that both broadcast to."""
    x = call.input(0)
    wanted = tuple(int(extent) for extent in call.constant(1, "the shape").reshape(-1))
    shape = broadcast(x.shape, wanted)
    call.emit("Reshape" if shape == x.shape else "Expand", [x.name], shape)


_OFFSETS: Mapping[str, int] = MappingProxyType({"a_zero_point": 0, "b_zero_point": 0})
ELEMENT_TYPES: Mapping[int, str] = MappingProxyType(
    {
        1: "float32",
        2: "uint8",
        3: "int8",
        4: "uint16",
        5: "int16",
        6: "int32",
        7: "int64",
        9: "bool",
        11: "float32",
        12: "uint32",
    }
)
"""ONNX's numbers of the element types that the graph knows; tensors of float64 are computed in float32."""


def _comparisons() -> dict[str, Translate]:
    return {
        "Equal": binary("Equal", _ALL, DType.BOOL),
        "Less": binary("Less", _ALL, DType.BOOL),
        "LessOrEqual": binary("LessOrEqual", _ALL, DType.BOOL),
        "Greater": binary("Less", _ALL, DType.BOOL, swapped=True),
        "GreaterOrEqual": binary("LessOrEqual", _ALL, DType.BOOL, swapped=True),
        **{name: binary(name, _BOOL) for name in ("And", "Or", "Xor")},
    }


def elementwise(earlier: Mapping[str, Translate]) -> dict[str, Translate]:
    """Translators by ONNX operator; ``earlier`` has those for float32 that some of them fall back on."""
    table: dict[str, Translate] = {name: unary(name) for name in (*_FLOAT_UNARY, *_PARAMETERS)}
    table.update({name: unary(name, _NUMBERS) for name in ("Abs", "Neg", "Sign")})
    table.update({name: arithmetic(name, earlier[name]) for name in ("Add", "Sub", "Mul", "Div")})
    table.update({name: binary(name, _INTEGERS) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")})
    table.update(_comparisons())
    table.update(
        {
            "BitwiseNot": unary("BitwiseNot", _INTEGERS),
            "Not": unary("Not", _BOOL),
            "IsNaN": unary("IsNaN", _FLOAT, DType.BOOL),
            "IsInf": is_inf,
            "Min": folded("Min"),
            "Max": folded("Max"),
            "Mean": mean,
            "Erfc": erfc,
            "Mod": mod,
            "Pow": power,
            "BitShift": bit_shift,
            "Where": where,
            "Gelu": gelu,
            "PRelu": prelu,
            "Cast": cast,
            "BitCast": bit_cast,
            "CastLike": cast_like,
            "Clip": wrapped(clip, earlier["Clip"]),
            "Relu": wrapped(relu, earlier["Relu"]),
            "Expand": expand,
        }
    )
    return table
