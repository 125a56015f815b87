"""Col2Im: blocks of an image, added where they overlap, as a transposed convolution that moves each element."""

from __future__ import annotations

from math import prod

import numpy as np

from tilewright.importers.construction import Unsupported
from tilewright.importers.onnx.composed import Steps
from tilewright.importers.onnx.context import Call


def col2im(call: Call, steps: Steps) -> None:
    """The image of which the columns are blocks; where blocks overlap, their elements add up."""
    x = call.real(0)
    image = [int(extent) for extent in call.constant(1, "the shape of the image").reshape(-1)]
    block = [int(extent) for extent in call.constant(2, "the shape of blocks").reshape(-1)]
    rank, elements = len(image), prod(block)
    strides = list(call.geometry("strides", (1,) * rank))
    dilations = list(call.geometry("dilations", (1,) * rank))
    pads = list(call.geometry("pads", (0,) * (2 * rank)))
    if len(x.shape) != 3 or len(block) != rank or min(block, default=0) < 1 or x.shape[1] % elements:
        raise Unsupported(f"blocks {block} of an image {image} in columns of shape {list(x.shape)}")
    reach = [dilation * (extent - 1) + 1 for dilation, extent in zip(dilations, block, strict=True)]
    room = [image[axis] + pads[axis] + pads[rank + axis] - reach[axis] for axis in range(rank)]
    places = [extent // stride + 1 for extent, stride in zip(room, strides, strict=True)]
    if min(room) < 0 or prod(places) != x.shape[2]:
        raise Unsupported(f"{x.shape[2]} columns of blocks {block} in an image {image}", "export the model again")
    channels = x.shape[1] // elements
    call.build.require_room(4 * x.shape[1] * elements)
    weights = np.tile(np.eye(elements, dtype=np.float32).reshape(elements, 1, *block), (channels, *(1,) * (rank + 1)))
    steps.finish(
        steps(
            "ConvTranspose",
            steps.reshape(x.name, x.shape[0], x.shape[1], *places),
            steps.constant(weights),
            group=channels,
            strides=strides,
            dilations=dilations,
            pads=pads,
            output_padding=[extent % stride for extent, stride in zip(room, strides, strict=True)],
        )
    )
