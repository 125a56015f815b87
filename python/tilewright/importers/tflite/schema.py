"""The published schema of .tflite files (version 3), as far as the importer reads it: numbers of fields and enums."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from tilewright.base.lazy_dataclass import dataclass

IDENTIFIER = b"TFL3"
VERSION = 3
CIRCULAR_BUFFER = "CUSTOM CIRCULAR_BUFFER"
"""The custom operator that streaming models of TensorFlow Lite Micro have."""

OPERATORS = tuple(
    """
    ADD AVERAGE_POOL_2D CONCATENATION CONV_2D DEPTHWISE_CONV_2D DEPTH_TO_SPACE DEQUANTIZE EMBEDDING_LOOKUP FLOOR
    FULLY_CONNECTED HASHTABLE_LOOKUP L2_NORMALIZATION L2_POOL_2D LOCAL_RESPONSE_NORMALIZATION LOGISTIC
    LSH_PROJECTION LSTM MAX_POOL_2D MUL RELU RELU_N1_TO_1 RELU6 RESHAPE RESIZE_BILINEAR RNN SOFTMAX SPACE_TO_DEPTH
    SVDF TANH CONCAT_EMBEDDINGS SKIP_GRAM CALL CUSTOM EMBEDDING_LOOKUP_SPARSE PAD UNIDIRECTIONAL_SEQUENCE_RNN GATHER
    BATCH_TO_SPACE_ND SPACE_TO_BATCH_ND TRANSPOSE MEAN SUB DIV SQUEEZE UNIDIRECTIONAL_SEQUENCE_LSTM STRIDED_SLICE
    BIDIRECTIONAL_SEQUENCE_RNN EXP TOPK_V2 SPLIT LOG_SOFTMAX DELEGATE BIDIRECTIONAL_SEQUENCE_LSTM CAST PRELU MAXIMUM
    ARG_MAX MINIMUM LESS NEG PADV2 GREATER GREATER_EQUAL LESS_EQUAL SELECT SLICE SIN TRANSPOSE_CONV SPARSE_TO_DENSE
    TILE EXPAND_DIMS EQUAL NOT_EQUAL LOG SUM SQRT RSQRT SHAPE POW ARG_MIN FAKE_QUANT REDUCE_PROD REDUCE_MAX PACK
    LOGICAL_OR ONE_HOT LOGICAL_AND LOGICAL_NOT UNPACK REDUCE_MIN FLOOR_DIV REDUCE_ANY SQUARE ZEROS_LIKE FILL
    FLOOR_MOD RANGE RESIZE_NEAREST_NEIGHBOR LEAKY_RELU SQUARED_DIFFERENCE MIRROR_PAD ABS SPLIT_V UNIQUE CEIL
    REVERSE_V2 ADD_N GATHER_ND COS WHERE RANK ELU REVERSE_SEQUENCE MATRIX_DIAG QUANTIZE MATRIX_SET_DIAG ROUND
    HARD_SWISH IF WHILE NON_MAX_SUPPRESSION_V4 NON_MAX_SUPPRESSION_V5 SCATTER_ND SELECT_V2 DENSIFY SEGMENT_SUM
    BATCH_MATMUL PLACEHOLDER_FOR_GREATER_OP_CODES CUMSUM CALL_ONCE BROADCAST_TO RFFT2D CONV_3D IMAG REAL COMPLEX_ABS
    HASHTABLE HASHTABLE_FIND HASHTABLE_IMPORT HASHTABLE_SIZE REDUCE_ALL CONV_3D_TRANSPOSE VAR_HANDLE READ_VARIABLE
    ASSIGN_VARIABLE BROADCAST_ARGS RANDOM_STANDARD_NORMAL BUCKETIZE RANDOM_UNIFORM MULTINOMIAL GELU
    DYNAMIC_UPDATE_SLICE RELU_0_TO_1 UNSORTED_SEGMENT_PROD UNSORTED_SEGMENT_MAX UNSORTED_SEGMENT_SUM ATAN2
    UNSORTED_SEGMENT_MIN SIGN BITCAST BITWISE_XOR RIGHT_SHIFT
    """.split()
)
"""Builtin operators by code. Later ones (stablehlo) have no kernels for microcontrollers."""

TYPES = tuple(
    "float32 float16 int32 uint8 int64 string bool int16 complex64 int8 float64 complex128 uint64 resource variant "
    "uint32 uint16 int4 bfloat16 int2 uint4 float8_e4m3fn float8_e5m2".split()
)
"""Element types by code."""

ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
PADDINGS = ("SAME", "VALID")


@dataclass(frozen=True, slots=True)
class Option:
    """A field of an operator's options.

    Attributes:
        kind: ``struct`` type of a number; "text", or "integers" for a vector of int32.
        names: of an enum's values.
    """

    name: str
    kind: str
    default: int | float = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Options:
    """The options of an operator: the number of their type in the union, and the fields in the schema's order."""

    type: int
    fields: tuple[Option, ...] = ()


def _integers(*names: str) -> tuple[Option, ...]:
    return tuple(Option(name, "i") for name in names)


def _flags(*names: str) -> tuple[Option, ...]:
    return tuple(Option(name, "?") for name in names)


_PADDING = Option("padding", "b", names=PADDINGS)
_ACTIVATION = Option("activation", "b", names=ACTIVATIONS)
_STRIDES = _integers("stride_w", "stride_h")
_DILATIONS = (Option("dilation_w", "i", 1), Option("dilation_h", "i", 1))
_POOL = Options(5, (_PADDING, *_STRIDES, *_integers("filter_w", "filter_h"), _ACTIVATION))
_REDUCER = Options(27, _flags("keep_dims"))
_TYPE = Option("output_type", "b", names=TYPES)

OPTIONS: Mapping[str, Options] = MappingProxyType(
    {
        "CONV_2D": Options(1, (_PADDING, *_STRIDES, _ACTIVATION, *_DILATIONS)),
        "DEPTHWISE_CONV_2D": Options(2, (_PADDING, *_STRIDES, *_integers("multiplier"), _ACTIVATION, *_DILATIONS)),
        "AVERAGE_POOL_2D": _POOL,
        "MAX_POOL_2D": _POOL,
        "L2_POOL_2D": _POOL,
        "SVDF": Options(6, (*_integers("rank"), _ACTIVATION, *_flags("asymmetric"))),
        "FULLY_CONNECTED": Options(
            8,
            (_ACTIVATION, Option("weights_format", "b", names=("DEFAULT", "SHUFFLED")), *_flags("keep", "asymmetric")),
        ),
        "SOFTMAX": Options(9, (Option("beta", "f"),)),
        "CONCATENATION": Options(10, (*_integers("axis"), _ACTIVATION)),
        "ADD": Options(11, (_ACTIVATION, Option("pot_scale_int16", "?", 1))),
        "SUB": Options(28, (_ACTIVATION, Option("pot_scale_int16", "?", 1))),
        "MUL": Options(21, (_ACTIVATION,)),
        "DIV": Options(29, (_ACTIVATION,)),
        "RESHAPE": Options(17, (Option("new_shape", "integers"),)),
        "SQUEEZE": Options(30, (Option("squeeze_dims", "integers"),)),
        "MEAN": _REDUCER,
        "SUM": _REDUCER,
        "REDUCE_MAX": _REDUCER,
        "REDUCE_MIN": _REDUCER,
        "STRIDED_SLICE": Options(
            32,
            (
                *_integers("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"),
                *_flags("offset"),
            ),
        ),
        "SPLIT": Options(35, _integers("num_splits")),
        "SPLIT_V": Options(79, _integers("num_splits")),
        "TRANSPOSE_CONV": Options(49, (_PADDING, *_STRIDES, _ACTIVATION)),
        "PACK": Options(59, _integers("values_count", "axis")),
        "UNPACK": Options(64, _integers("num", "axis")),
        "GATHER": Options(23, _integers("axis", "batch_dims")),
        "LEAKY_RELU": Options(75, (Option("alpha", "f"),)),
        "UNIDIRECTIONAL_SEQUENCE_LSTM": Options(
            71,
            (
                _ACTIVATION,
                Option("cell_clip", "f"),
                Option("proj_clip", "f"),
                *_flags("time_major", "asymmetric", "diagonal"),
            ),
        ),
        "L2_NORMALIZATION": Options(12, (_ACTIVATION,)),
        "RESIZE_BILINEAR": Options(15, (*_integers("height", "width"), *_flags("align_corners", "half_pixel_centers"))),
        "RESIZE_NEAREST_NEIGHBOR": Options(74, _flags("align_corners", "half_pixel_centers")),
        "SPACE_TO_DEPTH": Options(19, _integers("block_size")),
        "DEPTH_TO_SPACE": Options(94, _integers("block_size")),
        "MIRROR_PAD": Options(77, (Option("mode", "b", names=("REFLECT", "SYMMETRIC")),)),
        "REDUCE_PROD": _REDUCER,
        "REDUCE_ANY": _REDUCER,
        "REDUCE_ALL": _REDUCER,
        "GELU": Options(116, _flags("approximate")),
        "BATCH_MATMUL": Options(101, _flags("adj_x", "adj_y", "asymmetric")),
        "CUMSUM": Options(102, _flags("exclusive", "reverse")),
        "REVERSE_SEQUENCE": Options(87, _integers("seq_dim", "batch_dim")),
        "ONE_HOT": Options(61, _integers("axis")),
        "IF": Options(92, _integers("then", "else")),
        "WHILE": Options(93, _integers("condition", "body")),
        "CALL_ONCE": Options(103, _integers("init_subgraph_index")),
        "VAR_HANDLE": Options(111, (Option("container", "text"), Option("shared_name", "text"))),
        "CAST": Options(37, (Option("input_type", "b", names=TYPES), _TYPE)),
    }
)
"""Operators whose options the importer reads; it needs none of other operators'."""
