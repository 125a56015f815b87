"""The graph between import and planning."""

from __future__ import annotations

from tilewright.graph.graph import (
    Array,
    Attributes,
    Bounded,
    Clamp,
    DType,
    Epilogue,
    Graph,
    Node,
    Requantize,
    RequantizeShift,
    RequantizeTwice,
    Rescale,
    RoundAway,
    State,
    Tensor,
    channels_last_order,
    constant,
    identity_order,
    packed_strides_bytes,
    variable,
)

__all__ = [
    "Array",
    "Attributes",
    "Bounded",
    "Clamp",
    "DType",
    "Epilogue",
    "Graph",
    "Node",
    "Requantize",
    "RequantizeShift",
    "RequantizeTwice",
    "Rescale",
    "RoundAway",
    "State",
    "Tensor",
    "channels_last_order",
    "constant",
    "identity_order",
    "packed_strides_bytes",
    "variable",
]
