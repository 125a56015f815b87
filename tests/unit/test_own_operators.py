"""Operators that a firmware project brings along, and every way to declare one wrongly."""

from __future__ import annotations

import re
import textwrap
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import numpy as np
import pytest
from support.onnx_models import ModelBuilder
from tilewright import own
from tilewright.base.errors import TilewrightError
from tilewright.catalogue.evaluate import evaluate
from tilewright.graph import Graph
from tilewright.importers.load import import_model
from tilewright.importers.own import OwnImport
from tilewright.options import CompileOptions
from tilewright.own import load_operators
from tilewright.pipeline import compile_model
from tilewright.rewrites.passes import optimise

EXAMPLE = Path(__file__).parents[2] / "examples/own-operator"
DECLARATION = EXAMPLE / "median_filter.py"


def imported(path: Path, *references: str) -> Graph:
    operators = load_operators(references)
    graph = import_model(path, own={(o.domain, o.name): OwnImport(o.infer, o.attributes) for o in operators})
    return Graph(
        graph.name,
        graph.nodes,
        graph.tensors,
        graph.inputs,
        graph.outputs,
        {f"{o.domain}.{o.name}".lstrip("."): o for o in operators},
    )


def filtered(folder: Path, *, constant: bool = False, shape: tuple[int, ...] = (2, 9), **attributes: int) -> Path:
    """A model of one MedianFilter."""
    build = ModelBuilder(17)
    x = build.constant(np.arange(18, dtype=np.float32).reshape(2, 9)) if constant else build.input("x", shape)
    y = build.node("MedianFilter", x, domain="com.example", output="y", **attributes)
    if constant:
        y = build.node("Add", y, build.input("other", shape), output="sum")
    path = folder / "model.onnx"
    path.write_bytes(build.model(y).SerializeToString())
    return path


def declared(folder: Path, text: str) -> str:
    path = folder / "declared.py"
    path.write_text(textwrap.dedent(text))
    return str(path)


def refusal(*references: str) -> TilewrightError:
    with pytest.raises(TilewrightError) as error:
        load_operators(references)
    assert error.value.code == "own-operator"
    return error.value


def results(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """Got and stored output of the example's network."""
    with np.load(EXAMPLE / "inputs.npz") as inputs, np.load(EXAMPLE / "outputs.npz") as outputs:
        return evaluate(graph, {"noisy": inputs["noisy"]})["features"], outputs["features"]


def test_the_example_gives_what_its_vectors_say() -> None:
    graph = optimise(imported(EXAMPLE / "denoise.onnx", str(DECLARATION)))
    assert [node.operator for node in graph.nodes] == ["com.example.MedianFilter", "Conv"]
    np.testing.assert_allclose(*results(graph), rtol=1e-5, atol=1e-5)


def test_another_window_is_noticed(tmp_path: Path) -> None:
    text = DECLARATION.read_text().replace("// 2\n    y = np", "// 2 - 1\n    y = np")
    graph = imported(EXAMPLE / "denoise.onnx", declared(tmp_path, text))
    got, want = results(graph)
    assert not np.allclose(got, want, rtol=1e-5, atol=1e-5)


def test_tiles_overlap_by_the_window() -> None:
    options = CompileOptions(
        EXAMPLE / "denoise.onnx", "qemu-virt-rv32f", "net", pools=("l1=4000",), operators=(str(DECLARATION),)
    )
    artifacts = compile_model(options)
    assert '#include "median_filter.h"' in artifacts.files["net.c"].decode()
    layer = artifacts.plan.layers[0]
    assert layer.kernel == "median_filter"
    assert layer.tiles > 1
    assert "kernels/walk.c" in artifacts.plan.kernel_sources
    assert compile_model(options).files == artifacts.files


def test_nodes_of_constants_fold(tmp_path: Path) -> None:
    graph = optimise(imported(filtered(tmp_path, constant=True, size=3), str(DECLARATION)))
    assert [node.operator for node in graph.nodes] == ["Add"]


def test_a_node_that_the_declaration_refuses(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=r"MedianFilter.*size 4; odd numbers") as error:
        imported(filtered(tmp_path, size=4), str(DECLARATION))
    assert error.value.status == 4


def test_attributes_that_the_declaration_lacks(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match="there is no attribute 'width'"):
        imported(filtered(tmp_path, width=3), str(DECLARATION))
    without_default = DECLARATION.read_text().replace("size: int = 3", "size: int")
    with pytest.raises(TilewrightError, match="attribute 'size' is missing"):
        imported(filtered(tmp_path), declared(tmp_path, without_default))


def test_a_declaration_without_a_type_of_attributes_gets_them_by_name(tmp_path: Path) -> None:
    text = DECLARATION.read_text().replace("attributes=MedianFilterAttributes,", "")
    by_name = text.replace("node.given(MedianFilterAttributes).size", 'node.attributes["size"]')
    by_name = by_name.replace("given.size", 'given["size"]').replace('f"size {given["size"]};', '"size;')
    graph = imported(filtered(tmp_path, size=5), declared(tmp_path, by_name))
    x = np.random.default_rng(5).standard_normal((2, 9)).astype(np.float32)
    (wanted,) = (evaluate(imported(filtered(tmp_path, size=5), str(DECLARATION)), {"x": x})["y"],)
    np.testing.assert_array_equal(evaluate(graph, {"x": x})["y"], wanted)


def test_without_its_declaration_the_operator_is_unknown(tmp_path: Path) -> None:
    with pytest.raises(TilewrightError, match=r"operator MedianFilter of domain 'com.example' is not supported"):
        imported(filtered(tmp_path))


def test_files_that_declare_nothing(tmp_path: Path) -> None:
    assert "cannot read" in str(refusal(str(tmp_path / "absent.py")))
    assert "does not declare OPERATORS" in str(refusal(declared(tmp_path, "X = 1")))
    assert "does not declare OPERATORS" in str(refusal(declared(tmp_path, "OPERATORS = (1,)")))
    assert "ZeroDivisionError" in str(refusal(declared(tmp_path, "A = 1\nB = 1 // 0")))
    assert "line 2" in str(refusal(declared(tmp_path, "A = 1\nB = 1 // 0")))
    assert "SyntaxError" in str(refusal(declared(tmp_path, "def")))
    assert "twice" in str(refusal(str(DECLARATION), str(DECLARATION)))
    assert not list(tmp_path.rglob("__pycache__"))


def test_names_of_our_own_need_a_domain(tmp_path: Path) -> None:
    text = DECLARATION.read_text().replace('name="MedianFilter"', 'name="Conv"').replace('domain="com.example",', "")
    assert "is an operator of Tilewright" in str(refusal(declared(tmp_path, text)))


def test_exceptions_of_a_declaration_name_its_file_and_line(tmp_path: Path) -> None:
    text = DECLARATION.read_text().replace("if given.size % 2", "if given.sise % 2")
    path = declared(tmp_path, text)
    with pytest.raises(TilewrightError, match=r"AttributeError.*sise") as error:
        imported(filtered(tmp_path), path)
    assert "declared.py (MedianFilter), line" in str(error.value)
    assert error.value.status == 2


def test_entry_points_of_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "median_package.py"
    package.write_text(DECLARATION.read_text())
    monkeypatch.syspath_prepend(tmp_path)
    offered = EntryPoints([EntryPoint("median", "median_package", own.ENTRY_POINTS)])
    monkeypatch.setattr(own, "entry_points", lambda group: offered.select(group=group))
    assert [operator.name for operator in load_operators(["median"])] == ["MedianFilter"]
    assert "entry points: median" in str(refusal("mode"))


@pytest.mark.parametrize(
    ("file", "begins"),
    [("CMakeLists.txt", "tilewright_add_model("), ("median_filter.py", "OPERATORS = ("), ("median_filter.h", "struct")],
)
def test_the_how_to_shows_the_example(file: str, begins: str) -> None:
    page = (EXAMPLE.parents[1] / "docs/how-to/add-an-operator.md").read_text()
    block = next(text for text in re.findall(r"```\w+\n(.*?)```", page, re.DOTALL) if text.startswith(begins))
    content = re.sub(r"/\*.*?\*/", "", (EXAMPLE / file).read_text(), flags=re.DOTALL).split()
    assert " ".join(block.split()) in " ".join(content)
