"""Sizes found at run time, with a declared bound: C under sanitizers against the judges, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from conformance.build import build, runtime_library
from onnx.reference import ReferenceEvaluator
from support.host_runs import OBJECTS, generated, run_outputs
from support.onnx_models import ModelBuilder, imported, runtime_outputs
from tilewright.base.errors import TilewrightError
from tilewright.graph import Array

RNG = np.random.default_rng(14)
INT = np.int64


def suppression(*, center: int = 0, threshold: float | None = 0.1) -> onnx.ModelProto:
    """NonMaxSuppression of up to four boxes for each of two images and three classes, and the boxes' corners."""
    builder = ModelBuilder(17)
    boxes, scores = builder.input("boxes", [2, 30, 4]), builder.input("scores", [2, 3, 30])
    limits = [builder.constant(np.array([4])), builder.constant(np.array([0.3], np.float32))]
    limits += [] if threshold is None else [builder.constant(np.array([threshold], np.float32))]
    found = builder.node("NonMaxSuppression", boxes, scores, *limits, center_point_box=center, output="found")
    places = builder.node("Gather", found, builder.constant(np.array([0, 2])), axis=1)
    taken = builder.node("GatherND", boxes, places, output="taken")
    return builder.model(found, taken, dtypes={found: INT})


def positions() -> onnx.ModelProto:
    builder = ModelBuilder(17)
    found = builder.node("NonZero", builder.node("Relu", builder.input("x", [2, 3, 4])), output="found")
    return builder.model(found, dtypes={found: INT})


def kept(axis: int | None) -> onnx.ModelProto:
    """Slices of x along ``axis`` (elements where it is None) with a score above 0, and the squares of those slices."""
    builder = ModelBuilder(17)
    x, score = builder.input("x", [5, 6]), builder.input("score", [6])
    condition = builder.node("Greater", score, builder.constant(np.float32(0)))
    given = {} if axis is None else {"axis": axis}
    found = builder.node("Compress", x, condition, output="found", **given)
    return builder.model(found, builder.node("Mul", found, found, output="square"))


def different(shape: list[int], **given: int) -> onnx.ModelProto:
    builder = ModelBuilder(17)
    outputs = ["found", "first", "number", "often"]
    builder.nodes.append(onnx.helper.make_node("Unique", [builder.input("x", shape)], outputs, **given))
    return builder.model(*outputs, dtypes=dict.fromkeys(outputs[1:], INT))


def boxes() -> Array:
    """Corners of boxes that often overlap, some in the wrong order."""
    centers = RNG.uniform(0, 4, (2, 30, 2)).astype(np.float32)
    return np.concatenate([centers, centers + RNG.uniform(-0.5, 2, (2, 30, 2)).astype(np.float32)], axis=2)


SCORES = RNG.choice(np.linspace(-0.2, 1, 13, dtype=np.float32), (2, 3, 30))
ROWS = RNG.choice(np.array([0, -0.0, 1.5, -2, np.nan], np.float32), (9, 2))
FEW = RNG.normal(size=(2, 3, 4)).astype(np.float32)
CHOSEN = {"x": RNG.normal(size=(5, 6)).astype(np.float32), "score": np.array([1, -1, 2, 0, 3, -2], np.float32)}
CASES = {
    "boxes": (suppression(), {"boxes": boxes(), "scores": SCORES}, 24),
    "boxes_few": (suppression(), {"boxes": boxes(), "scores": SCORES}, 5),
    "boxes_center": (suppression(center=1, threshold=None), {"boxes": np.abs(boxes()), "scores": SCORES}, 24),
    "places": (positions(), {"x": FEW}, 24),
    "places_few": (positions(), {"x": FEW}, 3),
    "places_none": (positions(), {"x": -np.abs(FEW)}, 3),
    "kept_columns": (kept(1), CHOSEN, 4),
    "kept_elements": (kept(None), CHOSEN, 2),
    "values": (different([40], sorted=1), {"x": RNG.integers(-4, 5, 40).astype(np.float32)}, 30),
    "values_few": (different([40], sorted=0), {"x": RNG.integers(-4, 5, 40).astype(np.float32)}, 4),
    "rows": (different([9, 2], sorted=1, axis=0), {"x": ROWS}, 9),
}
"""Model, inputs and bound."""

AXES = {"places": 1, "places_few": 1, "places_none": 1, "kept_columns": 1}
"""The axis of entries, where it is not the first."""


def judged(name: str) -> dict[str, Array]:
    """ONNX Runtime's outputs; for the cases named ``values`` those of ONNX's reference, for ``rows`` those of NumPy."""
    model, feeds, _ = CASES[name]
    if name == "rows":
        # ONNX Runtime has no Unique, and the reference takes every row with NaN for another one.
        rows = [(0 if a == 0 else a, 0 if b == 0 else b) for a, b in np.nan_to_num(ROWS, nan=9)]
        _, first, number, often = np.unique(np.array(rows), True, True, True, axis=0)
        return {"found": ROWS[first], "first": first, "number": number.reshape(-1), "often": often}
    if name.startswith("values"):
        names = [output.name for output in model.graph.output]
        return dict(zip(names, ReferenceEvaluator(model).run(None, feeds), strict=True))
    return runtime_outputs(model, feeds)


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Array]]:
    """The outputs of all cases by their C."""
    folder = tmp_path_factory.mktemp("bounds")
    models = [
        generated(model, folder / name, name=f"net_{name}", bound={"found": bound})
        for name, (model, _, bound) in CASES.items()
    ]
    executable = build(folder, models, runtime_library(OBJECTS))
    return {
        name: run_outputs(executable, model.prefix, model.plan, CASES[name][1], folder)
        for name, model in zip(CASES, models, strict=True)
    }


@pytest.mark.parametrize("name", CASES)
def test_entries_are_the_judges_and_counted(name: str, computed: dict[str, dict[str, Array]]) -> None:
    wanted, got, bound, axis = judged(name), computed[name], CASES[name][2], AXES.get(name, 0)
    found = wanted["found"].shape[axis]
    assert got["found_count"].tolist() == [found]
    for output, array in wanted.items():
        real = array.shape[axis] if output == "number" else min(found, bound)
        part = np.take(got[output], np.arange(real), axis)
        np.testing.assert_array_equal(part, np.take(array, np.arange(real), axis), err_msg=output)
        if output != "number":
            assert got[output].shape[axis] == bound


def test_entries_that_are_not_there_are_filled(computed: dict[str, dict[str, Array]]) -> None:
    assert (computed["places_none"]["found"] == -1).all()
    assert computed["places_none"]["found_count"].tolist() == [0]
    rows = computed["boxes"]["found"]
    assert (rows[computed["boxes"]["found_count"][0] :] == -1).all()
    assert (computed["kept_columns"]["found"][:, 3:] == 0).all()
    assert computed["values"]["often"][computed["values"]["found_count"][0] :].tolist() == [0] * 21


def refusal(folder: Path, model: onnx.ModelProto, **options: object) -> str:
    with pytest.raises(TilewrightError) as raised:
        imported(folder, model, **options)
    return str(raised.value)


def _behind(operator: str, *others: Array, **given: int) -> onnx.ModelProto:
    builder = ModelBuilder(17)
    found = builder.node("NonZero", builder.input("x", [6, 5]), output="found")
    y = builder.node(operator, found, *(builder.constant(array) for array in others), **given)
    return builder.model(y, dtypes={y: INT})


@pytest.mark.parametrize(
    "model",
    [
        _behind("ReduceMax", axes=[1]),
        _behind("CumSum", np.array(1)),
        _behind("Slice", np.array([1]), np.array([4]), np.array([1])),
        _behind("Gather", np.array([0]), axis=1),
        _behind("Concat", np.zeros((2, 3), INT), axis=1),
        _behind("Add", np.zeros((2, 7), INT)),
        _behind("Flatten", axis=0),
        _behind("Reshape", np.array([7, 2])),
        _behind("Tile", np.array([1, 2])),
        _behind("EyeLike"),
    ],
    ids=lambda model: str(model.graph.node[-1].op_type),
)
def test_what_would_mix_entries_is_refused(model: onnx.ModelProto, tmp_path: Path) -> None:
    said = refusal(tmp_path, model, bounds={"found": 7})
    assert "depend on all 7 entries of '" in said
    assert "'found_count' are real" in said


@pytest.mark.parametrize("operator", ["Shape", "Size"])
def test_the_extent_is_not_known(operator: str, tmp_path: Path) -> None:
    assert "known at run time only" in refusal(tmp_path, _behind(operator), bounds={"found": 7})


def test_other_axes_and_entries_by_themselves_are_free(tmp_path: Path) -> None:
    builder = ModelBuilder(17)
    found = builder.node("NonZero", builder.input("x", [6, 5]), output="found")
    turned = builder.node("Transpose", found, perm=[1, 0])
    real = builder.node("Cast", turned, to=onnx.TensorProto.FLOAT)
    product = builder.node("MatMul", real, builder.constant(np.ones((2, 3), np.float32)))
    y = builder.node("ReduceSum", builder.node("Softmax", product, axis=1), builder.constant(np.array([1])), keepdims=0)
    graph = imported(tmp_path, builder.model(y), bounds={"found": 7})
    assert graph.tensor(y).shape == (7,)
    assert graph.bounded[y].axis == 0
    assert graph.outputs == (y, "found_count")


def test_bounds_that_say_nothing_are_refused(tmp_path: Path) -> None:
    assert "a bound of 31 where at most 30 can be found" in refusal(tmp_path, _behind("Neg"), bounds={"found": 31})
    assert "BOUND found=<n>, at most 30" in refusal(tmp_path, _behind("Neg"))
    for name, frozen in (("fond", {}), ("found", {"x": np.eye(6, 5, dtype=np.float32)})):
        with pytest.raises(TilewrightError, match=f"BOUND names '{name}'"):
            imported(tmp_path, _behind("Neg"), bounds={name: 7, **({} if frozen else {"found": 7})}, freeze=frozen)
    plain = ModelBuilder(17)
    model = plain.model(plain.node("Neg", plain.input("x", [2])))
    with pytest.raises(TilewrightError, match="help: nothing needs a bound in this model: leave it out"):
        imported(tmp_path, model, bounds={"y": 7})
