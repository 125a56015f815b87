"""Which shapes and types the operands of each ONNX operator may have together, held before a node is translated.

One pattern for each operator (``patterns.py``), or a function of the node where attributes decide. Element types of
ONNX's own operators stand in ONNX's descriptions, those of com.microsoft in the patterns.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from tilewright.importers.construction import Construction, Unsupported, computed_type
from tilewright.importers.onnx.patterns import Mismatch, Shape, parsed, require_match
from tilewright.importers.onnx.schema_checks import FormalInput, formal_inputs
from tilewright.importers.onnx.source import SourceNode

_HELP = "export the model again, or correct the operand"
_Shapes = Sequence[Shape | None]
_By = Callable[[SourceNode, _Shapes, int], str]
"""The pattern of a node, given the shapes of its operands and the opset."""


def require_operands(node: SourceNode, build: Construction) -> None:
    """Hold the operands of a node against its operator's pattern, and their types against ONNX's description.

    Operands that are not known yet are passed over. In the Deeploy dialect types mean nothing.

    Raises:
        Unsupported: the operand, what it is and what the operator wants.
    """
    entry = PATTERNS.get(node.operator)
    operands = [_operand(name, build) if name else None for name in node.inputs]
    if entry is None or any(name and operand is None for name, operand in zip(node.inputs, operands, strict=True)):
        return
    types = not build.integers_in_floats
    shapes = [operand[1] if operand else None for operand in operands]
    pattern = parsed(entry if isinstance(entry, str) else entry(node, shapes, build.opset))
    try:
        require_match(pattern, operands, node.attributes, types=types)
        if types and node.is_standard:
            _require_types(formal_inputs(node.operator, build.opset), operands)
    except Mismatch as problem:
        name = node.inputs[problem.position] if problem.position < len(node.inputs) else ""
        raise Unsupported(f"'{name}': {problem.reason}" if name else problem.reason, _HELP) from None


def _operand(name: str, build: Construction) -> tuple[str, Shape] | None:
    if name in build.constants:
        array = build.constants[name]
        return computed_type(array.dtype.name), array.shape
    tensor = build.tensors.get(name)
    return (tensor.dtype.value, tensor.shape) if tensor is not None else None


def _require_types(formal: Sequence[FormalInput], operands: Sequence[tuple[str, Shape] | None]) -> None:
    """Types that ONNX allows, and one type for all operands whose types it gives one name."""
    seen: dict[str, tuple[str, str]] = {}
    for position, operand in enumerate(operands):
        number = min(position, len(formal) - 1)
        # Nodes that stand for control flow may have the inputs of another opset.
        if operand is None or number < 0 or (number < position and not formal[number].variadic):
            continue
        told, found = formal[number], operand[0]
        if told.types and found not in told.types:
            allowed = " or ".join(sorted(told.types))
            raise Mismatch(position, f"input {position} ({told.name}) has type {found}; wanted: {allowed}")
        if not told.same:
            continue
        other, wanted = seen.setdefault(told.same, (told.name, found))
        if wanted != found:
            raise Mismatch(position, f"input {position} ({told.name}) has type {found}; wanted: {wanted} as {other}")


def _rank(shapes: _Shapes, index: int) -> int:
    shape = shapes[index] if index < len(shapes) else None
    return len(shape) if shape is not None else 0


def _axis(node: SourceNode, name: str, default: int, rank: int) -> int:
    """An axis from an attribute, negative ones resolved; an axis out of range is left to the translator."""
    axis = node.attributes.get(name, default)
    return (axis + rank if axis < 0 else axis) if isinstance(axis, int) else default


def _list_length(node: SourceNode, name: str) -> int:
    value = node.attributes.get(name)
    return len(value) if isinstance(value, list) else 0


def _recurrent(gates: int, more: str = "") -> _By:
    def pattern(node: SourceNode, shapes: _Shapes, opset: int) -> str:
        directions = 2 if node.attributes.get("direction") == "bidirectional" else 1
        x, state = ("b,t,i", "b,d,h") if node.attributes.get("layout") else ("t,b,i", "d,b,h")
        weights = f"W[d,{gates}*h,i] R[d,{gates}*h,h] B?[d,{2 * gates}*h]"
        behind = f"sequence_lens?[b] initial_h?[{state}] " + more.replace("state", state)
        return f"X[{x}] {weights} {behind}; d={directions}; h=hidden_size"

    return pattern


def _product(words: str) -> _By:
    """A matrix product as NumPy's: A and B with one axis are a row and a column.

    ``{a}`` and ``{b}`` in the words stand for their shapes, ``{rows}`` for those of values for each row of A and
    ``{columns}`` for each column of B.
    """

    def pattern(node: SourceNode, shapes: _Shapes, opset: int) -> str:
        if node.attributes.get("transBatchA") or node.attributes.get("transBatchB"):
            return "A B"
        positions = [0, 3] if node.operator == "QLinearMatMul" else [0, 1]
        a, b = (_rank(shapes, position) for position in positions)
        left, right = ("~p,m,k" if a > 1 else "k"), ("~p,k,n" if b > 1 else "k")
        if a > 1 and node.attributes.get("transA"):
            left = "~p,k,m"
        if b > 1 and node.attributes.get("transB"):
            right = "~p,n,k"
        rows = "@|m|~p,m,1" if a > 1 else "@"
        columns = "@" if b < 2 else "@|n|1,n" if b == 2 else "@|~p,1,n"
        return words.format(a=left, b=right, rows=rows, columns=columns)

    return pattern


def _gemm(words: str) -> _By:
    def pattern(node: SourceNode, shapes: _Shapes, opset: int) -> str:
        a = "k,m" if node.attributes.get("transA") else "m,k"
        b = "n,k" if node.attributes.get("transB") else "k,n"
        scale = shapes[4] if len(shapes) > 4 else None
        scales = "1" if scale == (1,) else "n" if scale else ""
        return words.format(a=a, b=b, scale=scales)

    return pattern


def _gemm_of_batches(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    """Gemm, and what is written as Gemm where both A and B have leading axes."""
    batches = min(_rank(shapes, 0), _rank(shapes, 1)) > 2
    return _gemm("A[*s,{a}] B[*s,{b}] C?" if batches else "A[{a}] B[{b}] C?[<m,n]")(node, shapes, opset)


def _quantized_along(words: str) -> _By:
    """QuantizeLinear and DequantizeLinear: one scale, one for each position of an axis, or one for each block."""

    def pattern(node: SourceNode, shapes: _Shapes, opset: int) -> str:
        rank, scale = _rank(shapes, 0), shapes[1] if len(shapes) > 1 else None
        if scale in ((), (1,)):
            return words.format(x="...", scale="@")
        axis = _axis(node, "axis", 1, rank)
        axes = [f"d{position}" for position in range(rank)]
        block = node.attributes.get("block_size", 0)
        if isinstance(block, int) and block and 0 <= axis < rank:
            extent = shapes[0][axis] if shapes[0] else 0
            # The last block may be shorter than the others.
            along = str(-(-extent // block)) if block > 0 and extent % block else f"{axes[axis]}/block_size"
            blocks = [*axes[:axis], along, *axes[axis + 1 :]]
            return words.format(x=",".join(axes), scale=",".join(blocks)) + f"; block_size={block}"
        along = axes[axis] if 0 <= axis < rank else "_"
        return words.format(x=",".join(axes), scale=along)

    return pattern


def _batch_normalization(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    x = "n,c,..." if _rank(shapes, 0) > 1 else "n"
    c = "c" if _rank(shapes, 0) > 1 else "1"
    return f"X[{x}] scale[{c}] B[{c}] input_mean[{c}] input_var[{c}]"


def _pad(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    if node.attributes.get("pads") is not None:
        return "data"
    if _rank(shapes, 3):
        return "data[*s] pads[2*a] constant_value?[@] axes[a]"
    return "data[*s] pads[2*#s] constant_value?[@] axes?[_]"


def _concat(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    rank = _rank(shapes, 0)
    axis = _axis(node, "axis", 1, rank)
    return f"inputs*[{','.join('_' if position == axis else f'd{position}' for position in range(rank))}]"


def _quantized_concat(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    if (len(node.inputs) - 2) % 3:
        return "Y_scale Y_zero_point inputs*"
    rank = _rank(shapes, 2)
    axis = _axis(node, "axis", 1, rank)
    axes = ",".join("_" if position == axis else f"d{position}" for position in range(rank))
    parts = [f"X{n}:T[{axes}] scale{n}:float32[@] zero_point{n}?:T[@]" for n in range((len(node.inputs) - 2) // 3)]
    return f"Y_scale:float32[@] Y_zero_point:T[@] {' '.join(parts)}; {_EIGHT}"


def _skip_norm(words: str) -> _By:
    def pattern(node: SourceNode, shapes: _Shapes, opset: int) -> str:
        x = "b,s,h" if _rank(shapes, 0) == 3 else "s,h"
        skip = "b,s,h|1,s,h|s,h" if _rank(shapes, 0) == 3 else "s,h"
        return words.format(x=x, skip=skip)

    return pattern


def _split(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    return f"input split?[{len(node.outputs)}]"


def _resize(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    if opset < 11:
        return "X[*s] scales[#s]"
    axes = str(_list_length(node, "axes") or "#s")
    cropped = node.attributes.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    roi = f"2*{axes}" if cropped else "_"
    return f"X[*s] roi?[{roi}] scales?[{axes}|0] sizes?[{axes}|0]"


def _upsample(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    return "X" if node.attributes.get("scales") is not None else "X[*s] scales[#s]"


def _reverse_sequence(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    x = "b,t,..." if node.attributes.get("batch_axis", 1) == 0 else "t,b,..."
    return f"input[{x}] sequence_lens[b]"


def _tensor_scatter(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    rank = _rank(shapes, 0)
    axis = _axis(node, "axis", -2, rank)
    axes = [f"d{position}" if position != axis else "_" for position in range(rank)]
    return f"past_cache[{','.join(axes)}] update[{','.join(axes)}] write_indices?[{axes[0] if axes else '_'}]"


def _group_normalization(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    values = "num_groups" if opset < 21 else "c"
    return f"X[n,c,...] scale[{values}] bias[{values}]; num_groups=1"


def _deeploy_norm(node: SourceNode, shapes: _Shapes, opset: int) -> str:
    return "X[*s] scale[<*s]"


_ONE = "X"
_TWO = "A[~s] B[~s]"
_ANY = "data*[~s]"
_UNARY = (
    "Abs Acos Acosh Asin Asinh Atan Atanh Cast Ceil Celu Cos Cosh Elu Erf Erfc Exp Flatten Floor Gelu HardSigmoid "
    "HardSwish Hardmax Identity IsInf IsNaN LeakyRelu Log LogSoftmax LpNormalization LRN Mish Neg Not QuickGelu "
    "Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh "
    "ThresholdedRelu Transpose BitwiseNot ArgMax ArgMin"
).split()
_BINARY = (
    "Add And BitShift BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Mod Mul Or Pow "
    "Sub Xor"
).split()
_LEARNED = (
    "Binarizer LinearClassifier LinearRegressor Normalizer SVMClassifier SVMRegressor Scaler "
    "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor"
).split()
_REDUCTIONS = [f"Reduce{word}" for word in "L1 L2 LogSum LogSumExp Max Mean Min Prod Sum SumSquare".split()]
_POOLS = "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool".split()
_EIGHT = "T: int8|uint8; U: int8|uint8; V: int8|uint8"
_STORED_ONE = f"X:T x_scale:float32[@] x_zero_point?:T[@] y_scale:float32[@] y_zero_point?:T[@]; {_EIGHT}"
_STORED_TWO = (
    "A:T[~s] a_scale:float32[] a_zero_point?:T[] B:T[~s] b_scale:float32[] b_zero_point?:T[] "
    f"c_scale:float32[] c_zero_point?:T[]; {_EIGHT}"
)

PATTERNS: Mapping[str, str | _By] = MappingProxyType(
    {
        **dict.fromkeys(_UNARY, _ONE),
        **dict.fromkeys(_BINARY, _TWO),
        **dict.fromkeys(("Max", "Min", "Mean", "Sum"), _ANY),
        **dict.fromkeys(_REDUCTIONS, "data axes?[_]"),
        **dict.fromkeys(_POOLS, "X[n,c,...]"),
        "AffineGrid": "theta[n,_,_] size[_]",
        "BitCast": _ONE,
        "BatchNormalization": _batch_normalization,
        "CastLike": "input target_type",
        "Clip": "input min?[@] max?[@]",
        "Col2Im": "input[n,_,_] image_shape[a] block_shape[a]",
        "Compress": "input condition[_]",
        "Concat": _concat,
        "Conv": "X[n,c,*s] W[group*p,c/group,*k#s] B?[group*p]; group=1; *k=kernel_shape",
        "ConvInteger": "x[n,c,*s] w[group*p,c/group,*k#s] x_zero_point?[@] w_zero_point?[@|group*p]; group=1; "
        "*k=kernel_shape",
        "ConvTranspose": "X[n,group*q,*s] W[group*q,p,*k#s] B?[group*p]; group=1; *k=kernel_shape",
        "CumProd": "x axis[@]",
        "CumSum": "x axis[@]",
        "DFT": "input dft_length?[@] axis?[@]",
        "DeformConv": "X[n,group*c,_,_] W[group*m,c,_,_] offset[n,_,h,w] B?[group*m] mask?[n,_,h,w]; group=1",
        "DepthToSpace": "input[n,c,h,w]",
        "Det": _ONE,
        "DequantizeLinear": _quantized_along("x[{x}] x_scale[{scale}] x_zero_point?[{scale}]"),
        "Dropout": "data ratio?[@] training_mode?[@]",
        "Einsum": "Inputs*",
        "Expand": "input shape[_]",
        "EyeLike": "input[_,_]",
        "GRU": _recurrent(3),
        "Gather": "data indices",
        "GatherElements": "data[*s] indices[*t#s]",
        "GatherND": "data indices",
        "Gemm": _gemm_of_batches,
        "GridSample": "X[n,c,...] grid[n,...]",
        "GroupNormalization": _group_normalization,
        "InstanceNormalization": "input[n,c,...] scale[c] B[c]",
        "LSTM": _recurrent(4, "initial_c?[state] P?[d,3*h]"),
        "LayerNormalization": "X[*s] Scale[<*s] B?[<*s]",
        "MatMul": _product("A[{a}] B[{b}]"),
        "MatMulInteger": _product("A[{a}] B[{b}] a_zero_point?[{rows}] b_zero_point?[{columns}]"),
        "MaxUnpool": "X[*s] I[*s] output_shape?[#s]",
        **dict.fromkeys(("OptionalGetElement", "OptionalHasElement"), "input?"),
        "NonMaxSuppression": "boxes[b,n,4] scores[b,c,n] max_output_boxes_per_class?[@] iou_threshold?[@] "
        "score_threshold?[@]",
        "NonZero": _ONE,
        "OneHot": "indices depth[@] values[2]",
        "PRelu": "X[*s] slope[<*s]",
        "Pad": _pad,
        "QLinearConv": "x[n,c,*s] x_scale[@] x_zero_point[@] w[group*p,c/group,*k#s] w_scale[@|group*p] "
        "w_zero_point[@|group*p] y_scale[@] y_zero_point[@] B?[group*p]; group=1; *k=kernel_shape",
        "QLinearMatMul": _product(
            "a[{a}] a_scale[{rows}] a_zero_point[{rows}] b[{b}] b_scale[{columns}] b_zero_point[{columns}] "
            "y_scale[@] y_zero_point[@]"
        ),
        "QuantizeLinear": _quantized_along("x[{x}] y_scale[{scale}] y_zero_point?[{scale}]"),
        "RMSNorm": _deeploy_norm,
        "RMSNormalization": "X[*s] scale[<*s]",
        "RNN": _recurrent(1),
        "RoiAlign": "X[n,c,h,w] rois[r,4] batch_indices[r]",
        "Reshape": "data shape[_]",
        "Resize": _resize,
        "ReverseSequence": _reverse_sequence,
        "Scatter": "data[*s] indices[*t#s] updates[*t]",
        "STFT": "signal[b,_|b,_,_] frame_step[@] window?[w] frame_length?[]",
        "ScatterElements": "data[*s] indices[*t#s] updates[*t]",
        "ScatterND": "data indices updates",
        "SimplifiedLayerNormalization": "X[*s] scale[<*s]",
        "Slice": "data starts?[a] ends?[a] axes?[a] steps?[a]",
        "SpaceToDepth": "input[n,c,h,w]",
        "Split": _split,
        "Squeeze": "data axes?[_]",
        "TensorScatter": _tensor_scatter,
        "Tile": "input[*s] repeats[#s]",
        "TfIdfVectorizer": _ONE,
        "TopK": "X K?[1]",
        "Trilu": "input k?[@]",
        "Unique": _ONE,
        "Unsqueeze": "data axes?[_|@]",
        "Upsample": _upsample,
        "Where": "condition[~s] X[~s] Y[~s]",
        # Of ai.onnx.ml.
        **dict.fromkeys(_LEARNED, "X:T; T: float32|float64|int32|int64"),
        **dict.fromkeys(("LabelEncoder", "ZipMap"), _ONE),
        "FeatureVectorizer": "X*:T[...]; T: float32|float64|int32|int64",
        "Imputer": "X:T; T: float32|int64",
        "OneHotEncoder": "X:T; T: float32|float64|int32|int64",
        "ArrayFeatureExtractor": "X:T Y:int64; T: float32|float64|int32|int64",
        # Of com.microsoft.
        "MatMulNBits": "A:float32[...] B:uint8 scales:float32 zero_points? g_idx?:int32 bias?:float32[n]; n=N",
        "BiasGelu": "A:float32[*s,n] B:float32[n]",
        "DynamicQuantizeMatMul": _product(
            "A:float32[{a}] B:T[{b}] b_scale:float32[{columns}] b_zero_point?:T[{columns}] bias?:float32[n]; "
            "T: int8|uint8"
        ),
        "DynamicQuantizeLSTM": "X:float32[t,b,i] W:T[d,i,4*h] R:T[d,h,4*h] B?:float32[d,8*h] sequence_lens?:int32[b] "
        "initial_h?:float32[d,b,h] initial_c?:float32[d,b,h] P?:float32[d,3*h] W_scale:float32 W_zero_point:T "
        "R_scale:float32 R_zero_point:T; h=hidden_size; T: int8|uint8",
        "FastGelu": "X:float32[*s,n] bias?:float32[n]",
        "FusedConv": "X:float32[n,c,*s] W:float32[group*p,c/group,*k#s] B?:float32[group*p] "
        "Z?:float32[n,group*p,*t#s]; group=1; *k=kernel_shape",
        "FusedGemm": _gemm("A:float32[{a}] B:float32[{b}] C?:float32[<m,n]"),
        "FusedMatMul": _product("A:float32[{a}] B:float32[{b}]"),
        "MatMulIntegerToFloat": _product(
            "A:T[{a}] B:U[{b}] a_scale:float32[@] b_scale:float32[{columns}] a_zero_point?:T[@] "
            "b_zero_point?:U[{columns}] "
            "bias?:float32[n]; T: int8|uint8; U: int8|uint8"
        ),
        "QGemm": _gemm(
            "A:T[{a}] a_scale:float32[@] a_zero_point:T[@] B:U[{b}] b_scale:float32[{scale}] b_zero_point:U[{scale}] "
            f"C?:int32[<m,n] y_scale?:float32[@] y_zero_point?:T[@]; {_EIGHT}"
        ),
        **dict.fromkeys(
            "QLinearGlobalAveragePool QLinearLeakyRelu QLinearSigmoid QLinearSoftmax".split(),
            _STORED_ONE,
        ),
        **dict.fromkeys(("QLinearAveragePool", "QLinearReduceMean"), _STORED_ONE.replace("[@]", "[]")),
        **dict.fromkeys(("QLinearAdd", "QLinearMul"), _STORED_TWO),
        "QLinearConcat": _quantized_concat,
        "QLinearWhere": "condition:bool[~s] X:T[~s] x_scale:float32[@] x_zero_point:T[@] Y:T[~s] y_scale:float32[@] "
        f"y_zero_point:T[@] z_scale:float32[@] z_zero_point:T[@]; {_EIGHT}",
        "SkipLayerNormalization": _skip_norm(
            "input:float32[{x}] skip:float32[{skip}] gamma:float32[h] beta?:float32[h] bias?:float32[h]"
        ),
        "SkipSimplifiedLayerNormalization": _skip_norm(
            "input:float32[{x}] skip:float32[{skip}] gamma:float32[h] bias?:float32[h]"
        ),
        # Of Deeploy.
        "RequantShift": "x mul add",
    }
)
"""The pattern of each operator, or a function that gives the pattern of a node."""
