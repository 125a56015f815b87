"""What cannot be read is refused by name, with a way out."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from support.onnx_models import ModelBuilder, imported
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import DType
from tilewright.importers.load import import_model


def small_model():
    build = ModelBuilder()
    x = build.input("x", [2, 3])
    build.node("Gemm", x, build.constant(np.ones((3, 64), np.float32)), output="y")
    return build.model("y")


def refused(path, **options):
    with pytest.raises(TilewrightError) as caught:
        import_model(path, **options)
    return caught.value


def refused_model(folder, model):
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return refused(path)


def test_missing_file(tmp_path):
    error = refused(tmp_path / "none.onnx")
    assert (error.code, error.status) == ("model-missing", ExitStatus.BAD_INPUT)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "model-empty"),
        (b"this is not a model, whatever its suffix says\n", "model-broken"),
        (b"\x00" * 64, "model-broken"),
        (small_model().SerializeToString()[:-40], "model-broken"),
        (small_model().SerializeToString()[:10], "model-broken"),
        (onnx.ModelProto().SerializeToString() + b"\x08\x07", "model-broken"),
    ],
    ids=["empty", "text", "zeros", "cut off", "cut off early", "no graph"],
)
def test_broken_files(tmp_path, content, code):
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    error = refused(path)
    assert (error.code, error.status) == (code, ExitStatus.BAD_INPUT)
    assert error.at
    assert error.help


def test_every_prefix_of_a_file_is_refused_or_read(tmp_path):
    content = small_model().SerializeToString()
    path = tmp_path / "model.onnx"
    for length in range(0, len(content), 7):
        path.write_bytes(content[:length])
        assert refused(path).status in (ExitStatus.BAD_INPUT, ExitStatus.NOT_SUPPORTED)


def test_external_data_that_is_missing(tmp_path):
    model = small_model()
    onnx.save_model(
        model, tmp_path / "model.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0
    )
    assert import_model(tmp_path / "model.onnx").inputs == ("x",)
    (tmp_path / "weights.bin").unlink()
    error = refused(tmp_path / "model.onnx")
    assert error.code == "external-data-missing"
    assert "weights.bin" in str(error)


@pytest.mark.parametrize("opset", [6, 999])
def test_opsets_out_of_range(tmp_path, opset):
    model = small_model()
    model.opset_import[0].version = opset
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    error = refused(path)
    assert (error.code, error.status) == ("opset", ExitStatus.NOT_SUPPORTED)


def test_models_without_operators_of_the_standard_domain(tmp_path):
    build = ModelBuilder()
    build.node("CategoryMapper", build.input("x", [3]), domain="ai.onnx.ml", output="y")
    model = build.model("y")
    del model.opset_import[0]
    error = refused_model(tmp_path, model)
    assert error.status is ExitStatus.NOT_SUPPORTED
    assert "CategoryMapper of domain 'ai.onnx.ml' is not supported" in str(error)
    model.graph.node[0].op_type = "Binarizer"
    assert imported(tmp_path, model).outputs == ("y",)
    model.graph.node.append(helper.make_node("Relu", ["x"], ["z"]))
    assert refused_model(tmp_path, model).code == "model-broken"


def test_all_unsupported_nodes_are_listed(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [1, 2, 4, 4])
    a = build.node("Multinomial", x)
    b = build.node("Bernoulli", a)
    build.node("Frobnicate", b, domain="custom.domain", output="y")
    build.node("Pad", x, build.constant(np.array([0] * 8)), mode="mirror", output="z")
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, build.model("y", "z"))
    text = str(caught.value)
    assert caught.value.status is ExitStatus.NOT_SUPPORTED
    for part in ("Multinomial", "Bernoulli", "Frobnicate", "custom.domain", "mirror", "4 places"):
        assert part in text


def test_nodes_that_contradict_their_operators_are_all_listed(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [1, 2, 4, 4])
    a = build.node("Softmax", x, axis="last")
    b = build.node("Transpose", a, perm=1.5)
    build.node("Flatten", b, b, output="y")
    build.node("Cast", b, output="z")
    error = refused_model(tmp_path, build.model("y", "z"))
    assert (error.code, error.status) == ("model-broken", ExitStatus.BAD_INPUT)
    assert len(error.at) == 4
    text = str(error)
    for part in ("STRING, INT is wanted", "FLOAT, INTS is wanted", "2 inputs; the operator has 1", "'to' is missing"):
        assert part in text


def test_operands_that_do_not_go_together_are_no_defect_of_ours(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [1, 2, 4, 4])
    build.node("QLinearAdd", x, x, domain="com.microsoft", output="y")
    build.node("ReverseSequence", x, build.constant(np.array([[1, 2]])), output="z", time_axis=0, batch_axis=1)
    error = refused_model(tmp_path, build.model("y", "z"))
    assert error.status is ExitStatus.NOT_SUPPORTED
    assert len(error.at) == 2


def test_sizes_beyond_32_bits(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [46341, 46341])
    build.node("Relu", x, output="y")
    z = build.input("z", [1, 1, 4, 4])
    build.node("MaxPool", z, output="w", kernel_shape=[1, 1], strides=[2**40, 1])
    error = refused_model(tmp_path, build.model("y", "w"))
    assert "8,589,953,124 bytes; at most 1,073,741,824" in str(error)
    assert "beyond 32 bits" in str(error)


@pytest.mark.parametrize("strides", [[2, 3], [1, 1], [4, 4]])
@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool", "LpPool"])
def test_windows_larger_than_what_they_see(tmp_path, operator, strides):
    """Also with ceil_mode, which lets the last window reach beyond the padded input, but not the first."""
    build = ModelBuilder(opset=19)
    x = build.input("x", [1, 2, 3, 3])
    build.node(operator, x, output="y", kernel_shape=[4, 4], dilations=[2, 2], strides=strides, ceil_mode=1)
    assert "the window is larger than the padded input" in str(refused_model(tmp_path, build.model("y")))


def test_functions_that_call_themselves(tmp_path):
    model = small_model()
    model.functions.append(
        helper.make_function(
            "own",
            "f",
            ["a"],
            ["b"],
            [helper.make_node("f", ["a"], ["b"], domain="own")],
            [helper.make_opsetid("own", 1)],
        )
    )
    model.opset_import.add(domain="own", version=1)
    model.graph.node[0].CopyFrom(helper.make_node("f", ["x"], ["y"], domain="own"))
    error = refused_model(tmp_path, model)
    assert (error.code, error.status) == ("model-broken", ExitStatus.BAD_INPUT)


@pytest.mark.parametrize(("calls", "constant"), [(40, 1), (12, 1 << 20)])
def test_functions_that_become_more_than_memory_holds(tmp_path, calls, constant):
    """Each function calls the one before it twice: together too many nodes, or constants of too many bytes."""
    model, opsets = small_model(), [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    tensor = helper.make_tensor("c", TensorProto.INT8, [constant], bytes(constant), raw=True)
    body = [helper.make_node("Constant", [], ["c"], value=tensor), helper.make_node("Relu", ["a"], ["b"])]
    for number in range(calls):
        model.functions.append(helper.make_function("own", f"f{number}", ["a"], ["b"], body, opsets))
        word = f"f{number}"
        body = [helper.make_node(word, ends[:1], ends[1:], domain="own") for ends in (["a", "t"], ["t", "b"])]
    model.opset_import.add(domain="own", version=1)
    model.graph.node[0].CopyFrom(helper.make_node(f"f{calls - 1}", ["x"], ["y"], domain="own"))
    error = refused_model(tmp_path, model)
    assert (error.code, error.status) == ("model-broken", ExitStatus.BAD_INPUT)
    assert f"become {2**calls:,} nodes" in str(error)


def test_names_that_are_no_text(tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(small_model().SerializeToString().replace(b"Gemm", b"G\xffmm"))
    error = refused(path)
    assert error.code == "model-broken"
    assert "UTF-8" in str(error)


def test_a_long_list_is_cut(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [4])
    for _ in range(30):
        x = build.node("Multinomial", x)
    with pytest.raises(TilewrightError, match="and 10 more"):
        imported(tmp_path, build.model(x))


def test_dynamic_dimension_without_value(tmp_path):
    build = ModelBuilder()
    x = build.input("x", ["batch", 3])
    shape = build.node("Shape", x)
    build.node("Reshape", x, build.node("Gather", shape, build.constant(np.array([0]))), output="y")
    with pytest.raises(TilewrightError) as caught:
        imported(tmp_path, build.model("y"))
    assert "DIMS batch=<n>, or DIMS *=1" in str(caught.value)
    assert len(caught.value.at) == 1


def test_unknown_names_of_dimensions_and_tensors(tmp_path):
    with pytest.raises(TilewrightError, match="no dynamic dimension 'n'"):
        imported(tmp_path, small_model(), dims={"n": 1})
    with pytest.raises(TilewrightError, match="no input of the model"):
        imported(tmp_path, small_model(), types={"z": DType.INT8})


@pytest.mark.parametrize(
    ("edit", "what"),
    [
        (lambda graph: graph.node[0].input.__setitem__(0, "nowhere"), "nothing writes"),
        (lambda graph: graph.output.add(name="never"), "written by no node"),
        (lambda graph: graph.node.add(op_type="Relu", input=["x"], output=["y"]), "written twice"),
        (
            lambda graph: graph.node.extend(
                [helper.make_node("Relu", ["p"], ["q"]), helper.make_node("Relu", ["q"], ["p"])]
            ),
            "cycle",
        ),
    ],
)
def test_inconsistent_graphs(tmp_path, edit, what):
    model = small_model()
    edit(model.graph)
    with pytest.raises(TilewrightError, match=what) as caught:
        imported(tmp_path, model)
    assert caught.value.status is ExitStatus.BAD_INPUT


@pytest.mark.parametrize(
    ("dtype", "operator", "reason"),
    [(np.float64, "Relu", "float64"), (np.int8, "Sigmoid", "int8"), (np.float32, "Conv", "axes")],
)
def test_types_and_ranks_that_are_not_supported(tmp_path, dtype, operator, reason):
    build = ModelBuilder()
    x = build.input("x", [1, 2, 3, 3, 3, 3], dtype)
    others = {"Conv": np.zeros((2, 2, 3, 3, 3, 3), np.float32)}
    constants = [build.constant(others[operator])] if operator in others else []
    build.node(operator, x, *constants, output="y")
    with pytest.raises(TilewrightError, match=reason) as caught:
        imported(tmp_path, build.model("y"))
    assert caught.value.status is ExitStatus.NOT_SUPPORTED


def test_outputs_that_are_only_known_in_training_cannot_be_used(tmp_path):
    build = ModelBuilder(opset=12)
    x = build.input("x", [1, 1, 4])
    vectors = [build.constant(np.ones(1, np.float32)) for _ in range(4)]
    y, mean = build.node("BatchNormalization", x, *vectors, outputs=2, output="y")
    model = build.model(y)
    model.graph.output.add(name=mean).type.tensor_type.elem_type = TensorProto.FLOAT
    with pytest.raises(TilewrightError, match="training"):
        imported(tmp_path, model)


def test_an_attribute_that_refers_to_no_function(tmp_path):
    build = ModelBuilder()
    build.node("LeakyRelu", build.input("x", [2, 3]), alpha=0.5, output="y")
    model = build.model("y")
    attribute = model.graph.node[0].attribute[0]
    attribute.ClearField("f")
    attribute.ref_attr_name = "q"
    error = refused_model(tmp_path, model)
    assert (error.code, error.status) == ("model-broken", ExitStatus.BAD_INPUT)
    assert "'alpha' is attribute 'q' of a function" in error.what


@pytest.mark.parametrize("operator", ["Unsqueeze", "Squeeze", "ReduceSum"])
@pytest.mark.parametrize("axes", [[1, 1], [0, -2]])
def test_an_axis_that_is_listed_twice(tmp_path, operator, axes):
    axes = [*axes[:1], -4] if operator == "Unsqueeze" and axes[0] == 0 else axes
    build = ModelBuilder()
    x = build.input("x", [1, 1])
    build.node(operator, x, build.constant(np.array(axes, np.int64)), output="y")
    error = refused_model(tmp_path, build.model("y"))
    assert error.status == ExitStatus.NOT_SUPPORTED
    assert "twice" in str(error)


def test_a_constant_index_out_of_range(tmp_path):
    build = ModelBuilder()
    x = build.input("x", [2, 3, 4])
    build.node("Gather", x, build.constant(np.array(7, np.int64)), output="y", axis=1)
    assert "index 7 into axis 1 of extent 3" in str(refused_model(tmp_path, build.model("y")))


def test_an_input_without_elements(tmp_path):
    build = ModelBuilder()
    build.node("Relu", build.input("x", [2, 0]), output="y")
    error = refused_model(tmp_path, build.model("y"))
    assert "extent 0 (x.1)" in str(error)
    assert "DIMS x.1=<n>; if not: DIMS x.1=0" in str(error)
    assert "dynamic" not in str(error)


def test_what_is_not_supported_can_be_brought_along(tmp_path):
    build = ModelBuilder()
    build.node("Frobnicate", build.input("x", [2, 3]), output="y", domain="my.own")
    error = refused_model(tmp_path, build.model("y"))
    assert "OPERATORS" in " ".join(error.help) + str(error)
    assert "Sigmoid" not in str(error)


@pytest.mark.parametrize("parts", [1, 3, 2**31])
def test_a_number_of_parts_that_is_not_that_of_outputs(tmp_path, parts):
    """ONNX's inference would read outside its list of outputs, which ends the process."""
    build = ModelBuilder(18)
    y = build.node("Split", build.input("x", [6]), outputs=2, num_outputs=parts)
    error = refused_model(tmp_path, build.model(*y))
    assert error.status is ExitStatus.BAD_INPUT
    assert f"'num_outputs' is {parts}, of 2 outputs" in str(error)
