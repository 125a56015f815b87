"""Random float32 models: three to eight operators of the default domain."""

from __future__ import annotations

import random
from math import prod

import numpy as np

from support.random_model import RandomModel, Step, Unfit, grown

_UNARY = (
    "Relu Sigmoid Tanh Softplus Softsign HardSwish Mish Abs Neg Erf Sin Cos Atan Identity Elu Selu Celu LeakyRelu "
    "ThresholdedRelu HardSigmoid Gelu"
).split()
_REDUCTIONS = "ReduceSum ReduceMean ReduceMax ReduceMin ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp".split()


def random_float(seed: int) -> RandomModel:
    """Always the same model for the same seed."""
    chance = random.Random(seed)
    model = RandomModel(chance, np.random.default_rng(seed))
    spatial = [chance.randint(1, 9) for _ in range(chance.choice((0, 0, 1, 1, 2, 2, 2, 2, 3)))]
    shape = (chance.choice((1, 1, 2)), chance.randint(1, 8), *spatial)
    for _ in range(chance.choice((1, 1, 2))):
        model.input(model.normal(shape))
    return grown(model, STEPS, chance.randint(3, 8))


def _any(model: RandomModel) -> str:
    return model.pick(lambda name: model.values[name].dtype == np.float32)


def _of_rank(model: RandomModel, *ranks: int) -> str:
    return model.pick(lambda name: model.values[name].dtype == np.float32 and len(model.shape(name)) in ranks)


def unary(model: RandomModel) -> None:
    model.add(model.chance.choice(_UNARY), _any(model))


def clip(model: RandomModel) -> None:
    low, high = sorted(model.numbers.normal(size=2).astype(np.float32))
    ends = [model.constant(low), model.constant(high)]
    model.add("Clip", _any(model), *model.chance.choice((ends, ends[:1], ["", ends[1]])))


def _partner(model: RandomModel, name: str) -> str:
    """Another operand of a broadcasting operator: of the same shape, or a constant that broadcasts."""
    shape = model.shape(name)
    if model.chance.random() < 0.5:
        return model.pick(lambda other: model.shape(other) == shape and model.values[other].dtype == np.float32)
    kept = model.chance.randint(0, len(shape))
    return model.constant(model.normal([model.chance.choice((1, extent)) for extent in shape[kept:]]))


def binary(model: RandomModel) -> None:
    name = _any(model)
    operands = [name, _partner(model, name)]
    model.chance.shuffle(operands)
    model.add(model.chance.choice(("Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean")), *operands)


def divided(model: RandomModel) -> None:
    name = _any(model)
    shape = [model.chance.choice((1, extent)) for extent in model.shape(name)]
    model.add("Div", name, model.constant(np.abs(model.normal(shape)) + np.float32(0.5)))


def prelu(model: RandomModel) -> None:
    name = _any(model)
    model.add("PRelu", name, model.constant(model.normal([model.chance.choice((1, e)) for e in model.shape(name)])))


def where(model: RandomModel) -> None:
    name = _any(model)
    other = _partner(model, name)
    compare = model.chance.choice(("Greater", "Less", "GreaterOrEqual", "LessOrEqual"))
    condition = model.add(compare, name, model.constant(np.float32(0.37)))
    model.add("Where", condition, name, other)


def reduction(model: RandomModel) -> None:
    name = _any(model)
    rank = len(model.shape(name))
    axes = sorted(model.chance.sample(range(rank), model.chance.randint(0, rank)))
    operands = [model.constant(np.array(axes, np.int64))] if axes or model.chance.random() < 0.3 else []
    model.add(model.chance.choice(_REDUCTIONS), name, *operands, keepdims=model.chance.randint(0, 1))


def along(model: RandomModel) -> None:
    """Operators that work along one axis."""
    name = _any(model)
    kind = model.chance.choice(("Softmax", "LogSoftmax", "CumSum", "LpNormalization", "LayerNormalization"))
    axis = model.axis(name)
    if kind == "CumSum":
        flags = {"exclusive": model.chance.randint(0, 1), "reverse": model.chance.randint(0, 1)}
        model.add(kind, name, model.constant(np.int64(axis)), **flags)
    elif kind == "LayerNormalization":
        shape = model.shape(name)[axis:]
        model.add(kind, name, model.constant(model.normal(shape)), model.constant(model.normal(shape)), axis=axis)
    else:
        model.add(kind, name, axis=axis)


def transpose(model: RandomModel) -> None:
    name = _any(model)
    model.add("Transpose", name, perm=model.chance.sample(range(len(model.shape(name))), len(model.shape(name))))


def reshape(model: RandomModel) -> None:
    name = _any(model)
    left, shape = model.values[name].size, []
    for _ in range(model.chance.randint(0, 3)):
        extent = model.chance.choice([number for number in range(1, left + 1) if left % number == 0])
        shape.append(extent)
        left //= extent
    shape.append(model.chance.choice((left, -1)))
    model.add("Reshape", name, model.constant(np.array(shape, np.int64)))


def view(model: RandomModel) -> None:
    name = _any(model)
    kind = model.chance.choice(("Flatten", "Unsqueeze", "Squeeze"))
    if kind == "Flatten":
        model.add(kind, name, axis=model.axis(name))
    elif kind == "Unsqueeze":
        model.add(kind, name, model.constant(np.array([model.chance.randint(0, len(model.shape(name)))])))
    else:
        ones = [axis for axis, extent in enumerate(model.shape(name)) if extent == 1]
        model.add(kind, name, *([model.constant(np.array(ones[:1]))] if ones else []))


def sliced(model: RandomModel) -> None:
    name, axis = _any(model), 0
    axis = model.axis(name)
    extent = model.shape(name)[axis]
    step = model.chance.choice((1, 1, 2, 3, -1, -2))
    first, last = sorted((model.chance.randint(0, extent), model.chance.randint(0, extent)))
    start, end = (first, last) if step > 0 else (last, first - extent - 1)
    numbers = (start, model.chance.choice((end, 2**40 if step > 0 else -(2**40))), axis, step)
    model.add("Slice", name, *(model.constant(np.array([number])) for number in numbers))


def padded(model: RandomModel) -> None:
    name = _any(model)
    mode = model.chance.choice(("constant", "reflect", "edge", "wrap"))
    pads = [model.chance.choice((0, 0, 1, 2)) for _ in range(2 * len(model.shape(name)))]
    if mode != "constant" and any(pad >= extent for pad, extent in zip(pads, model.shape(name) * 2, strict=True)):
        raise Unfit("pads")
    value = [model.constant(np.float32(1.5))] if mode == "constant" and model.chance.random() < 0.5 else []
    model.add("Pad", name, model.constant(np.array(pads)), *value, mode=mode)


def concat(model: RandomModel) -> None:
    name = _any(model)
    shape, axis = model.shape(name), model.axis(name)
    shape_of_others = [extent for position, extent in enumerate(shape) if position != axis % len(shape)]

    def fits(other: str) -> bool:
        found = model.shape(other)
        rest = [extent for position, extent in enumerate(found) if position != axis % len(shape)]
        return model.values[other].dtype == np.float32 and len(found) == len(shape) and rest == shape_of_others

    names = [name, *(model.pick(fits) for _ in range(model.chance.randint(1, 2)))]
    model.chance.shuffle(names)
    model.add("Concat", *names, axis=axis)


def split(model: RandomModel) -> None:
    name = _any(model)
    axis = model.axis(name)
    extent = model.shape(name)[axis]
    if extent < 2:
        raise Unfit("nothing to split")
    first = model.chance.randint(1, extent - 1)
    model.add("Split", name, model.constant(np.array([first, extent - first])), outputs=2, axis=axis)


def repeated(model: RandomModel) -> None:
    name = _any(model)
    shape = model.shape(name)
    if model.chance.random() < 0.5:
        model.add("Tile", name, model.constant(np.array([model.chance.choice((1, 1, 2)) for _ in shape], np.int64)))
    else:
        wanted = [model.chance.choice((1, 3)) if extent == 1 else extent for extent in shape]
        model.add("Expand", name, model.constant(np.array([2, *wanted][model.chance.randint(0, 1) :], np.int64)))


def gather(model: RandomModel) -> None:
    name = _any(model)
    axis = model.axis(name)
    shape = [model.chance.randint(1, 4) for _ in range(model.chance.randint(0, 2))]
    extent = model.shape(name)[axis]
    model.add("Gather", name, model.constant(model.integers(-extent, extent - 1, shape, "int64")), axis=axis)


def blocks(model: RandomModel) -> None:
    model.add(model.chance.choice(("DepthToSpace", "SpaceToDepth")), _of_rank(model, 4), blocksize=2)


def resized(model: RandomModel) -> None:
    name = _of_rank(model, 3, 4)
    mode = model.chance.choice(("nearest", "linear"))
    scales = [1.0, 1.0, *(model.chance.choice((0.5, 1.0, 2.0, 3.0)) for _ in model.shape(name)[2:])]
    way = model.chance.choice(("asymmetric", "half_pixel", "align_corners"))
    operands = ("", model.constant(np.array(scales, np.float32)))
    model.add("Resize", name, *operands, mode=mode, coordinate_transformation_mode=way)


def normalised(model: RandomModel) -> None:
    name = _of_rank(model, 3, 4, 5)
    channels = model.shape(name)[1]
    vectors = [model.constant(model.normal((channels,))) for _ in range(3)]
    variance = model.constant(np.abs(model.normal((channels,))) + np.float32(0.5))
    kind = model.chance.choice(("InstanceNormalization", "BatchNormalization", "GroupNormalization"))
    if prod(model.shape(name)[2:]) == 1:
        # ONNX Runtime folds mean and variance into factor and bias, which loses the bias where the variance is 0.
        kind = "BatchNormalization"
    if kind == "InstanceNormalization":
        model.add(kind, name, *vectors[:2])
    elif kind == "BatchNormalization":
        model.add(kind, name, *vectors, variance)
    else:
        model.add(kind, name, *vectors[:2], num_groups=model.chance.choice([g for g in (1, 2, 4) if channels % g == 0]))


def windows(model: RandomModel, spatial: int) -> dict[str, object]:
    """Geometry of a window operator."""
    many = range(spatial)
    kernel = [model.chance.randint(1, 3) for _ in many]
    found: dict[str, object] = {"kernel_shape": kernel, "strides": [model.chance.randint(1, 2) for _ in many]}
    if model.chance.random() < 0.7:
        ends = [model.chance.randint(0, extent - 1) for extent in kernel * 2]
        found["pads"] = ends
    else:
        found["auto_pad"] = model.chance.choice(("SAME_UPPER", "SAME_LOWER", "VALID"))
        # The evaluator and onnxruntime take negative padding where windows are smaller than strides.
        found["strides"] = [min(pair) for pair in zip(found["strides"], kernel, strict=True)]  # type: ignore[call-overload]
    return found


def convolution(model: RandomModel) -> None:
    name = _of_rank(model, 3, 4, 5)
    channels, spatial = model.shape(name)[1], len(model.shape(name)) - 2
    group = model.chance.choice([number for number in (1, 1, 2, channels) if channels % number == 0])
    outputs = group * model.chance.randint(1, 6)
    geometry = windows(model, spatial)
    geometry["dilations"] = [model.chance.choice((1, 1, 2)) for _ in range(spatial)]
    kernel = geometry["kernel_shape"]
    weights = model.constant(model.normal((outputs, channels // group, *kernel)))  # type: ignore[misc]
    bias = [model.constant(model.normal((outputs,)))] if model.chance.random() < 0.7 else []
    model.add("Conv", name, weights, *bias, group=group, **geometry)


def transposed_convolution(model: RandomModel) -> None:
    name = _of_rank(model, 3, 4)
    channels, spatial = model.shape(name)[1], len(model.shape(name)) - 2
    geometry = windows(model, spatial)
    geometry.pop("auto_pad", None)
    weights = model.constant(model.normal((channels, model.chance.randint(1, 5), *geometry["kernel_shape"])))  # type: ignore[misc]
    model.add("ConvTranspose", name, weights, **geometry)


def pooling(model: RandomModel) -> None:
    name = _of_rank(model, 3, 4, 5)
    if model.chance.random() < 0.25:
        model.add(model.chance.choice(("GlobalAveragePool", "GlobalMaxPool")), name)
        return
    geometry = windows(model, len(model.shape(name)) - 2)
    kind = model.chance.choice(("MaxPool", "AveragePool"))
    if kind == "AveragePool" and "pads" in geometry:
        geometry["count_include_pad"] = model.chance.randint(0, 1)
    if kind == "MaxPool" and geometry.get("auto_pad") == "SAME_LOWER":
        # ONNX's evaluator puts an odd element of padding behind; the standard and onnxruntime put it before.
        geometry["auto_pad"] = "SAME_UPPER"
    model.add(kind, name, **geometry)


def product(model: RandomModel) -> None:
    name = _of_rank(model, 2, 3, 4)
    depth, columns = model.shape(name)[-1], model.chance.randint(1, 9)
    if len(model.shape(name)) == 2 and model.chance.random() < 0.5:
        turned = model.chance.randint(0, 1)
        weights = model.constant(model.normal((columns, depth) if turned else (depth, columns)))
        bias = [model.constant(model.normal((columns,)))] if model.chance.random() < 0.7 else []
        scale = model.chance.choice((1.0, 1.0, 0.5))
        model.add("Gemm", name, weights, *bias, transB=turned, alpha=scale, beta=scale)
        return
    if model.chance.random() < 0.4:
        other = model.pick(lambda found: len(model.shape(found)) >= 2 and model.shape(found)[-2] == depth)
        model.add("MatMul", name, other)
        return
    model.add("MatMul", name, model.constant(model.normal((depth, columns))))


STEPS: tuple[Step, ...] = (
    unary,
    unary,
    unary,
    clip,
    binary,
    binary,
    binary,
    divided,
    prelu,
    where,
    reduction,
    along,
    along,
    transpose,
    reshape,
    view,
    sliced,
    padded,
    concat,
    concat,
    split,
    repeated,
    gather,
    blocks,
    resized,
    normalised,
    convolution,
    convolution,
    convolution,
    transposed_convolution,
    pooling,
    pooling,
    product,
    product,
)
