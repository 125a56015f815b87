"""Small models on which the judges disagree with each other; docs/reference/judges.md lists them by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx
from tilewright.graph import Array

from support.onnx_models import ModelBuilder

LIKE, OTHER, REFUSES = "like", "other", "refuses"
"""A judge gives what Tilewright gives, something else, or nothing. Where Tilewright refuses, others may compute."""


@dataclass(frozen=True)
class Place:
    """A model with one input x, and what each judge makes of it against Tilewright."""

    model: Callable[[], onnx.ModelProto]
    runtime: str
    reference: str
    inference: str
    refused: bool = False

    def feeds(self) -> dict[str, Array]:
        """Elements for the inputs, never equal."""
        chance = np.random.default_rng(0)
        feeds = {}
        for value in self.model().graph.input:
            shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            count = int(np.prod(shape, dtype=int))
            feeds[value.name] = chance.permutation(count).reshape(shape).astype(dtype)
        return feeds


def _node(
    operator: str, *operands: object, opset: int = 19, outputs: int = 1, **attributes: object
) -> Callable[[], onnx.ModelProto]:
    """A model of one node; of its operands, tuples are shapes of inputs, arrays are constants, None is absent."""

    def model() -> onnx.ModelProto:
        build = ModelBuilder(opset)
        names = []
        for number, operand in enumerate(operands):
            if operand is None:
                names.append("")
            elif isinstance(operand, tuple):
                names.append(build.input(f"x{number}", list(operand)))
            else:
                names.append(build.constant(operand))
        given = build.node(operator, *names, output="y", outputs=outputs, **attributes)
        return build.model(*([given] if outputs == 1 else given))

    return model


def _f32(*values: float) -> Array:
    return np.array(values, np.float32)


def _resize(
    scale: float, mode: str, coordinates: str, opset: int = 19, **more: object
) -> Callable[[], onnx.ModelProto]:
    region = _f32(0, 0, 0.1, 0.2, 1, 1, 0.8, 0.7) if coordinates == "tf_crop_and_resize" else None
    attributes = {"mode": mode, "coordinate_transformation_mode": coordinates, **more}
    return _node("Resize", (1, 1, 4, 4), region, _f32(1, 1, scale, scale), opset=opset, **attributes)


def _recurrent() -> onnx.ModelProto:
    weights = np.linspace(-1, 1, 6, dtype=np.float32)
    return _node("RNN", (2, 3, 2), weights.reshape(1, 3, 2), np.eye(3, dtype=np.float32)[None], layout=1, outputs=1)()


def _stored_resize() -> onnx.ModelProto:
    build = ModelBuilder(19)
    x = build.input("x", [1, 1, 4, 4], np.int8)
    y = build.node("Resize", x, "", build.constant(_f32(1, 1, 2, 2)), mode="linear", output="y")
    return build.model(y, dtypes={"y": np.int8})


_LINE = np.linspace(-1, 1, 3, dtype=np.float32).reshape(1, 1, 3)
_ONE = _f32(2).reshape(1, 1, 1)

PLACES: Mapping[str, Place] = {
    "resize-align-corners": Place(_resize(1.7, "linear", "align_corners"), LIKE, OTHER, LIKE),
    "resize-pytorch-half-pixel": Place(_resize(0.3, "cubic", "pytorch_half_pixel"), LIKE, OTHER, LIKE),
    "resize-stored": Place(_stored_resize, LIKE, OTHER, LIKE),
    "resize-crop": Place(_resize(0.3, "linear", "tf_crop_and_resize"), LIKE, OTHER, LIKE),
    "resize-tf-half-pixel-for-nn": Place(_resize(1.5, "nearest", "tf_half_pixel_for_nn"), LIKE, REFUSES, LIKE),
    "resize-opset-10-linear": Place(
        _node("Resize", (1, 1, 4, 4), _f32(1, 1, 1.5, 1.5), opset=10, mode="linear"), LIKE, REFUSES, LIKE
    ),
    "resize-opset-10-smaller": Place(
        _node("Resize", (1, 1, 4, 4), _f32(1, 1, 0.7, 0.7), opset=10, mode="nearest"), LIKE, REFUSES, LIKE
    ),
    "resize-extent": Place(
        _node("Resize", (1, 1, 10, 10), None, _f32(1, 1, 0.7, 0.7), mode="nearest"), OTHER, LIKE, LIKE
    ),
    "upsample-smaller": Place(
        _node("Upsample", (1, 1, 4, 4), _f32(1, 1, 0.5, 0.5), opset=9), REFUSES, REFUSES, OTHER, refused=True
    ),
    "conv-transpose-odd-padding": Place(
        _node("ConvTranspose", (1, 1, 3), _LINE, strides=[2], output_shape=[6]), LIKE, REFUSES, LIKE
    ),
    "conv-transpose-short-kernel": Place(
        _node("ConvTranspose", (1, 1, 3), _ONE, strides=[2], auto_pad="SAME_UPPER"), LIKE, OTHER, LIKE
    ),
    "conv-transpose-smaller": Place(_node("ConvTranspose", (1, 1, 3), _LINE, output_shape=[2]), LIKE, REFUSES, OTHER),
    "conv-transpose-beyond": Place(
        _node("ConvTranspose", (1, 1, 3), _LINE, output_shape=[9]), REFUSES, REFUSES, OTHER, refused=True
    ),
    "conv-transpose-output-padding": Place(
        _node("ConvTranspose", (1, 1, 3), _LINE, strides=[2], output_padding=[2]), REFUSES, REFUSES, OTHER, refused=True
    ),
    "conv-short-kernel": Place(_node("Conv", (1, 1, 5), _ONE, strides=[5], auto_pad="SAME_UPPER"), OTHER, LIKE, LIKE),
    "conv-same-dilations": Place(
        _node("Conv", (1, 1, 5), _LINE, dilations=[2], auto_pad="SAME_UPPER"), REFUSES, LIKE, LIKE
    ),
    "pool-short-kernel": Place(
        _node("MaxPool", (1, 1, 5), kernel_shape=[1], strides=[3], auto_pad="SAME_LOWER"), REFUSES, OTHER, LIKE
    ),
    "pool-same-dilations": Place(
        _node("LpPool", (1, 1, 4), kernel_shape=[2], dilations=[2], auto_pad="SAME_UPPER"), OTHER, OTHER, LIKE
    ),
    "pool-ceil": Place(
        _node("MaxPool", (1, 1, 4), kernel_shape=[2], strides=[5], auto_pad="VALID", ceil_mode=1), LIKE, LIKE, OTHER
    ),
    "pad-wrap-negative": Place(_node("Pad", (2, 3), np.array([0, -1, 0, 2]), mode="wrap"), LIKE, REFUSES, LIKE),
    "pad-reflect-beyond": Place(
        _node("Pad", (2, 3), np.array([0, 3, 0, 0]), mode="reflect"), REFUSES, OTHER, OTHER, refused=True
    ),
    "pad-takes-all": Place(_node("Pad", (2, 3), np.array([0, -4, 0, 5])), OTHER, REFUSES, OTHER, refused=True),
    "split-more-parts": Place(_node("Split", (3, 2), outputs=4, num_outputs=4), OTHER, OTHER, OTHER, refused=True),
    "split-uneven": Place(_node("Split", (5, 2), outputs=2, opset=13), REFUSES, OTHER, REFUSES, refused=True),
    "einsum-ellipses": Place(_node("Einsum", (2, 3, 4), (4, 5), equation="...ij,...jk->...ik"), REFUSES, LIKE, REFUSES),
    "prelu-wide-slope": Place(_node("PRelu", (1, 3), np.ones((2, 3), np.float32)), OTHER, OTHER, OTHER, refused=True),
    "max-unpool-output-shape": Place(
        _node(
            "MaxUnpool",
            (1, 1, 2, 2),
            np.array([5, 7, 13, 15]).reshape(1, 1, 2, 2),
            np.array([1, 1, 5, 5]),
            kernel_shape=[2, 2],
            strides=[2, 2],
        ),
        OTHER,
        LIKE,
        LIKE,
    ),
    "recurrent-clip": Place(
        _node(
            "LSTM",
            (4, 1, 2),
            np.zeros((1, 12, 2), np.float32),
            np.zeros((1, 12, 3), np.float32),
            np.full((1, 24), 5, np.float32),
            hidden_size=3,
            clip=0.5,
        ),
        OTHER,
        OTHER,
        LIKE,
    ),
    "recurrent-batch-first": Place(_recurrent, REFUSES, LIKE, LIKE),
    "lrn-three-axes": Place(_node("LRN", (2, 3, 4), size=3), REFUSES, REFUSES, LIKE),
    "compress-long-condition": Place(
        _node("Compress", (2, 2), np.array([True, False, True]), axis=0), OTHER, REFUSES, OTHER, refused=True
    ),
}
