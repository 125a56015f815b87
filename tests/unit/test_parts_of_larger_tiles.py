"""Larger tiles that begin behind the start of their tensor, where no loop moves them: C on this machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from support.firmware import needs_host_compiler
from support.host_runs import generated, host_outputs

CHAIN = Path(__file__).parents[2] / "platforms" / "l3-chain.toml"


def chain_on_host(folder: Path) -> Path:
    """A platform file: this machine with three levels one behind the other."""
    text = CHAIN.read_text(encoding="utf-8").partition("[simulator]")[0]
    for old, new in (('"qemu_virt"', '"host"'), ("compile_options", "# ")):
        assert old in text
        text = text.replace(old, new)
    target = folder / "chain.toml"
    target.write_text(text, encoding="utf-8")
    return target


@needs_host_compiler
@pytest.mark.parametrize("size", [512000, 160])
def test_a_slice_that_begins_in_the_middle(tmp_path: Path, size: int) -> None:
    info = helper.make_tensor_value_info
    ends = {"starts": [1, 2], "ends": [8, 7], "axes": [2, 3]}
    constants = [numpy_helper.from_array(np.array(values, np.int64), name) for name, values in ends.items()]
    nodes = [helper.make_node("Slice", ["x", *ends], ["y"], "slice")]
    x, y = info("x", TensorProto.FLOAT, [1, 3, 8, 8]), info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "sliced", [x], [y], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    built = generated(model, tmp_path, str(chain_on_host(tmp_path)), pools=[f"l2={size}"])
    feed = np.arange(3 * 8 * 8, dtype=np.float32).reshape(1, 3, 8, 8)
    np.testing.assert_array_equal(host_outputs(built, {"x": feed}, tmp_path)["y"], feed[:, :, 1:8, 2:7])
