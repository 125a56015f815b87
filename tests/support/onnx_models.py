"""Small ONNX models, and what onnxruntime and Tilewright's references make of them."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Graph
from tilewright.importers.load import import_model
from tilewright.judges.exact_products import with_exact_products
from tilewright.rewrites.passes import optimise


class ModelBuilder:
    """Collects nodes and constants of a model."""

    def __init__(self, opset=13):
        self.opset = opset
        self.nodes = []
        self.constants = []
        self.inputs = []
        self._number = itertools.count(1)

    def input(self, name, shape, dtype=np.float32):
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        self.inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def constant(self, array, name=None):
        name = name or f"c{next(self._number)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, operator, *inputs, output=None, outputs=1, domain="", **attributes):
        first = output or f"t{next(self._number)}"
        names = [first, *(f"{first}_{number}" for number in range(1, outputs))]
        self.nodes.append(
            helper.make_node(operator, list(inputs), names, name=f"{operator}_{first}", domain=domain, **attributes)
        )
        return first if outputs == 1 else names

    def quantize(self, x, scale, zero_point=0, dtype=np.int8, output=None, **attributes):
        parameters = [self.constant(np.float32(scale)), self.constant(np.asarray(zero_point, dtype))]
        return self.node("QuantizeLinear", x, *parameters, output=output, **attributes)

    def dequantize(self, x, scale, zero_point=0, dtype=np.int8, output=None, **attributes):
        parameters = [self.constant(np.float32(scale)), self.constant(np.asarray(zero_point, dtype))]
        return self.node("DequantizeLinear", x, *parameters, output=output, **attributes)

    def requantized(self, x, scale, zero_point=0, dtype=np.int8):
        """Quantize, then Dequantize."""
        return self.dequantize(self.quantize(x, scale, zero_point, dtype), scale, zero_point, dtype)

    def model(self, *outputs, dtypes=None):
        domains = {node.domain for node in self.nodes} - {""}
        infos = [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype((dtypes or {}).get(name, np.float32))), None
            )
            for name in outputs
        ]
        graph = helper.make_graph(self.nodes, "test", self.inputs, infos, self.constants)
        opsets = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in sorted(domains))]
        return helper.make_model(graph, opset_imports=opsets, ir_version=min(9, onnx.IR_VERSION))


def runtime_outputs(model, feeds):
    """Outputs of onnxruntime without graph optimisation, by name."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    exact = with_exact_products(model)
    session = onnxruntime.InferenceSession(exact.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))


def imported(folder, model, **options) -> Graph:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return import_model(path, **options)


def outputs_of(graph, feeds):
    values = evaluate(graph, feeds)
    return [values[name] for name in graph.outputs]


def random_feeds(model, seed=0):
    generator = np.random.default_rng(seed)
    feeds = {}
    for info in model.graph.input:
        shape = [dim.dim_value for dim in info.type.tensor_type.shape.dim]
        kind = info.type.tensor_type.elem_type
        if kind == TensorProto.FLOAT:
            feeds[info.name] = generator.normal(size=shape).astype(np.float32)
        else:
            limits = np.iinfo(helper.tensor_dtype_to_np_dtype(kind))
            feeds[info.name] = generator.integers(limits.min, limits.max, shape, limits.dtype, endpoint=True)
    return feeds


def operators(graph):
    """How many nodes there are of each operator."""
    return Counter(node.operator for node in graph.nodes)


def assert_equal_to_runtime(folder, model, *, steps=0, absolute=1e-6, relative=1e-5, feeds=None, **options):
    """Imported and optimised graph against onnxruntime; integers may differ by ``steps``. Gives the optimised graph."""
    feeds = feeds or random_feeds(model)
    expected = list(runtime_outputs(model, feeds).values())
    graph = imported(folder, model, **options)
    optimised = optimise(graph)
    for candidate in (graph, optimised):
        for got, want in zip(outputs_of(candidate, feeds), expected, strict=True):
            assert got.shape == want.shape
            assert got.dtype == want.dtype
            if got.dtype.kind in "iu":
                assert np.abs(got.astype(int) - want.astype(int)).max() <= steps
            else:
                np.testing.assert_allclose(got, want, rtol=relative, atol=absolute)
    return optimised
