"""Reading .tflite files: spoilt ones are errors with a place, whatever is wrong with them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.lite_cases import lite_case
from support.lite_models import Part, Step, Value, lite_model
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.importers.load import import_model
from tilewright.importers.tflite.convert import convert_lite
from tilewright.importers.tflite.flatbuffer import Bytes, Spoilt, Table
from tilewright.importers.tflite.reading import read_lite

ADD = Step("ADD", (0, 1), (2,), {"activation": "NONE"})
QUANTISED = {"scale": (0.5,), "zero_point": (3,)}


def written(folder: Path, content: bytes, name: str = "net.tflite") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def refusal(path: Path) -> TilewrightError:
    with pytest.raises(TilewrightError) as caught:
        import_model(path)
    return caught.value


def test_what_is_read(tmp_path: Path) -> None:
    model = read_lite(written(tmp_path, lite_case("conv_relu6").content))
    (subgraph,) = model.subgraphs
    (operator,) = subgraph.operators
    weights = subgraph.tensors[1]
    assert (operator.operator, operator.inputs, operator.outputs) == ("CONV_2D", (0, 1, 2), (3,))
    assert operator.options["padding"] == "VALID"
    assert operator.options["activation"] == "RELU6"
    assert operator.options["dilation_w"] == 1
    assert (len(weights.scale), weights.axis, weights.data is not None) == (5, 0, True)


def test_int4_is_unpacked(tmp_path: Path) -> None:
    packed = Value((5,), "int4", data=np.array([0x7F, 0x81, 0x03], np.uint8))
    content = lite_model([packed, Value((5,), "int8")], [Step("RESHAPE", (0,), (1,))], (), (1,))
    data = read_lite(written(tmp_path, content)).subgraphs[0].tensors[0].data
    assert data is not None
    assert data.tolist() == [-1, 7, 1, -8, 3]


def ending(path: Path) -> ExitStatus:
    """How the import of a file ends."""
    try:
        import_model(path)
    except TilewrightError as error:
        return error.status
    return ExitStatus.DONE


@pytest.mark.parametrize("case", ["conv", "add", "mean"])
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.long)])
def test_mutated_files(case: str, count: int, tmp_path: Path) -> None:
    """A spoilt file gives a graph or an error that a user can act upon, and nothing else."""
    good, rng = lite_case(case).content, np.random.default_rng(len(case))
    ends = set()
    for number in range(count):
        content = bytearray(good)
        for position in rng.integers(8, len(content), 1 + number % 3):
            content[position] = int(rng.choice([0, 1, 255, 128, rng.integers(256)]))
        if number % 7 == 0:
            del content[int(rng.integers(8, len(content))) :]
        ends.add(ending(written(tmp_path, bytes(content))))
    assert {ExitStatus.BAD_INPUT, ExitStatus.NOT_SUPPORTED, ExitStatus.DONE} >= ends > {ExitStatus.BAD_INPUT}


def test_structures_that_overlap_are_not_read_without_end() -> None:
    file = Bytes.of(bytes(64))
    file.claim(0, 64, "root")
    file.left = 63
    with pytest.raises(Spoilt, match="overlap"):
        file.claim(0, 64, "root")


def test_a_field_outside_its_table_is_noticed() -> None:
    content = bytearray(lite_case("add").content)
    root = int.from_bytes(content[:4], "little")
    vtable = root - int.from_bytes(content[root : root + 4], "little", signed=True)
    content[vtable + 4] = 0xF0
    with pytest.raises(Spoilt, match="outside"):
        Table.root(Bytes.of(bytes(content)))


@pytest.mark.parametrize(
    ("values", "steps", "told"),
    [
        ([Value((2,)), Value((2,)), Value((2,))], [Step("ADD", (0, 7), (2,))], "tensor 7 of 3"),
        ([Value((2,)), Value((2,)), Value((2,))], [Step("ADD", (0, 1), (2,))], "which nothing has written"),
        ([Value((2,)), Value((2,))], [Step("ABS", (0,), (1,)), Step("ABS", (0,), (1,))], "written already"),
        ([Value((2,), data=np.zeros(3, np.int8)), Value((2,))], [Step("ABS", (0,), (1,))], "3 bytes of data"),
        ([Value((2,), scale=(1.0, 2.0), zero_point=(1, 2, 3)), Value((2,))], [Step("ABS", (0,), (1,))], "2 scales"),
        ([Value((-2,)), Value((2,))], [Step("ABS", (0,), (1,))], "shape: [-2]"),
    ],
)
def test_contradictions(values: list[Value], steps: list[Step], told: str, tmp_path: Path) -> None:
    error = refusal(written(tmp_path, lite_model(values, steps, (0,), (len(values) - 1,))))
    assert error.code == "model-broken"
    assert told in error.what


def test_a_state_in_two_layouts_is_refused(tmp_path: Path) -> None:
    state = Value((1, 6), scale=(0.5,), zero_point=(0,), variable=True)
    values = [Value((1, 4), scale=(0.5,), zero_point=(0,)), state]
    for filters, times in ((2, 3), (3, 2)):
        for shape in ((filters, 4), (filters, times)):
            values.append(Value(shape, scale=(0.5,), zero_point=(0,), data=np.ones(shape, np.int8)))
        values.append(Value((1, filters), scale=(0.5,), zero_point=(0,)))
    given = {"rank": 1, "activation": "RELU"}
    steps = [Step("SVDF", (0, 2, 3, -1, 1), (4,), given), Step("SVDF", (0, 5, 6, -1, 1), (7,), given)]
    error = refusal(written(tmp_path, lite_model(values, steps, (0,), (4, 7))))
    assert "input 4 is kept in another layout by another operator" in str(error)


def test_every_unsupported_operator_is_named(tmp_path: Path) -> None:
    values = [Value((2,), **QUANTISED) for _ in range(4)]
    steps = [Step("COS", (0,), (1,)), Step("UNIQUE", (0,), (2,)), Step("ADD", (1, 2), (3,), {"activation": "NONE"})]
    error = refusal(written(tmp_path, lite_model(values, steps, (0,), (3,))))
    assert error.status is ExitStatus.NOT_SUPPORTED
    assert [place.split(":")[0] for place in error.at] == ["operator 0 (COS) of 't1'", "operator 1 (UNIQUE) of 't2'"]


def test_a_custom_operator_that_reads_scratch_is_named(tmp_path: Path) -> None:
    """As in models that Vela compiled, whose tensors of scratch nothing writes."""
    steps = [Step("CUSTOM ethos-u", (0, 1), (2,))]
    error = refusal(written(tmp_path, lite_model([Value((2,)) for _ in range(3)], steps, (0,), (2,))))
    assert error.status is ExitStatus.NOT_SUPPORTED
    assert error.at == ("operator 0 (CUSTOM ethos-u) of 't2': operator CUSTOM ethos-u is not supported",)


@pytest.mark.parametrize(
    ("kind", "scales", "operator", "told"),
    [
        ("int8", 1, "FULLY_CONNECTED", ""),
        ("int8", 5, "FULLY_CONNECTED", "int4 weights with a scale for each channel"),
        ("int16", 1, "FULLY_CONNECTED", "int4 weights beside int16"),
        ("int16", 5, "DEPTHWISE_CONV_2D", "int4 weights beside int16"),
    ],
)
def test_int4_weights_that_no_two_runtimes_round_alike(
    kind: str, scales: int, operator: str, told: str, tmp_path: Path
) -> None:
    options = {"activation": "NONE"}
    shapes, axis = [(2, 4), (5, 4), (2, 5)], 0
    if operator == "DEPTHWISE_CONV_2D":
        shapes, axis = [(1, 4, 4, 5), (1, 1, 1, 5), (1, 4, 4, 5)], 3
        options = {"activation": "NONE", "padding": "SAME", "stride_w": 1, "stride_h": 1, "multiplier": 1}
    x, y = (Value(shape, kind, (0.5,), (0,)) for shape in shapes[::2])
    w = Value(shapes[1], "int4", (0.5,) * scales, (0,) * scales, np.ones(shapes[1], np.int8), axis)
    path = written(tmp_path, lite_model([x, w, y], [Step(operator, (0, 1), (2,), options)], (0,), (2,)))
    if not told:
        assert import_model(path).nodes
        return
    assert told in str(refusal(path))


@pytest.mark.parametrize(
    ("custom", "told"),
    [
        ((1, 1, 4, 2, 40, 1), ""),
        ((1, 2, 4, 2, 40, 1), "ends a run before"),
        ((), "ends a run before"),
        ((2, 1, 1, 2, 44, 1), ""),
        ((9,), "no FlexBuffer"),
        ((1, 1, 4, 9, 40, 1), "outside"),
        ((0, 1, 4, 2, 40, 1), "a vector of 0 elements"),
        ((1, 1, 12, 2, 40, 1), "no integer"),
    ],
)
def test_runs_that_a_buffer_skips(custom: tuple[int, ...], told: str, tmp_path: Path) -> None:
    x = Value((1, 1, 1, 2), **QUANTISED)
    rows = Value((1, 3, 1, 2), **QUANTISED, variable=True)
    step = Step("CUSTOM CIRCULAR_BUFFER", (0,), (1,), {"custom": custom} if custom else {})
    path = written(tmp_path, lite_model([x, rows], [step], (0,), (1,)))
    if not told:
        assert len(import_model(path).states) == 1
        return
    assert told in str(refusal(path))


def test_a_scale_of_real_numbers_is_refused(tmp_path: Path) -> None:
    values = [Value((2,), **QUANTISED), Value((2,), "float32", **QUANTISED)]
    error = refusal(written(tmp_path, lite_model(values, [Step("QUANTIZE", (0,), (1,))], (0,), (1,))))
    assert "float32 with a scale" in str(error)


def test_a_shape_that_is_not_computed_is_refused(tmp_path: Path) -> None:
    values = [Value((2, 3), **QUANTISED), Value((2, 3), **QUANTISED), Value((3, 2), **QUANTISED)]
    error = refusal(written(tmp_path, lite_model(values, [ADD], (0, 1), (2,))))
    assert "computes int8[2, 3], the file says int8[3, 2]" in str(error)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
        (b"\n<!DOCTYPE html><html>", "web page"),
        (b"PK\x03\x04archive/data.pkl", "torch.onnx.export"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
    ],
)
def test_files_that_are_no_models(content: bytes, told: str, tmp_path: Path) -> None:
    error = refusal(written(tmp_path, content, "net.onnx"))
    assert error.code == "model-format"
    assert told in str(error)


def test_the_name_does_not_decide(tmp_path: Path) -> None:
    content = lite_case("add").content
    graph = import_model(written(tmp_path, content, "net.onnx"))
    assert [node.operator for node in graph.nodes] == ["Transpose", "Transpose", "ScaledSum", "Transpose"]
    assert graph.nodes == import_model(written(tmp_path, content)).nodes


def loop(going_on: Step, body: list[Step], *, shape: tuple[int, ...] = (2,), variable: bool = False) -> bytes:
    """WHILE over a number that is an input and a tensor; both subgraphs have a constant 1 and room for two results."""
    number, x = Value((), "int32"), Value(shape, "float32", variable=variable)
    one = Value((), "int32", data=np.int32(1))
    condition = Part([number, x, Value((), "bool"), one], [going_on], (0, 1), (2,))
    inside = Part([number, x, number, x, one], body, (0, 1), (2, 3))
    step = Step("WHILE", (0, 1), (2, 3), {"condition": 1, "body": 2})
    return lite_model([number, x, number, x], [step], (0, 1), (2, 3), condition, inside)


COUNTING = [Step("ADD", (0, 4), (2,), {"activation": "NONE"}), Step("RELU", (1,), (3,))]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (loop(Step("LESS", (0, 3), (2,)), COUNTING), "how often the loop runs is known at run time only"),
        (loop(Step("LESS", (0, 3), (2,)), COUNTING, variable=True), "a tensor that is kept from run to run"),
        (loop(Step("EQUAL", (3, 3), (2,)), COUNTING), "loops of more than 4096 operators when unrolled"),
        (
            loop(Step("EQUAL", (3, 3), (2,)), [COUNTING[0], Step("UNIQUE", (1,), (3,))]),
            "operator 1 (UNIQUE) of subgraph 2: operator UNIQUE is not supported",
        ),
    ],
)
def test_loops_that_are_refused(content: bytes, told: str, tmp_path: Path) -> None:
    error = refusal(written(tmp_path, content))
    assert error.status is ExitStatus.NOT_SUPPORTED
    assert told in str(error)


@pytest.mark.parametrize("data", [None, np.asarray([True, False])], ids=["input", "constant"])
def test_a_branch_of_two_conditions_is_refused(data: np.ndarray | None, tmp_path: Path) -> None:
    x = Value((2,), "float32")
    parts = [Part([x, x], [Step(operator, (0,), (1,))], (0,), (1,)) for operator in ("RELU", "NEG")]
    step = Step("IF", (1, 0), (2,), {"then": 1, "else": 2})
    content = lite_model([x, Value((2,), "bool", data=data), x], [step], (0, 1) if data is None else (0,), (2,), *parts)
    assert "its condition has 2 elements instead of one" in str(refusal(written(tmp_path, content)))


def test_a_loop_with_too_few_results_is_refused(tmp_path: Path) -> None:
    content = loop(Step("LESS", (0, 3), (2,)), COUNTING)
    model = read_lite(written(tmp_path, content))
    body = replace(model.subgraphs[2], outputs=(2,))
    with pytest.raises(TilewrightError, match="subgraph 2 has 2 inputs and 1 outputs"):
        convert_lite(replace(model, subgraphs=(*model.subgraphs[:2], body)))
