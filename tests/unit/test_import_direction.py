"""Imports point one way, third-party packages stay in their corners, files stay short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "tilewright"

PARTS = (
    "base",
    "plan",
    "graph",
    "platform",
    "options",
    "operators",
    "kernels",
    "catalogue",
    "importers",
    "judges",
    "own",
    "rewrites",
    "storage",
    "tiling",
    "fusion",
    "schedule",
    "placement",
    "planning",
    "check",
    "firmware",
    "report",
    "codegen",
    "pipeline",
    "tools",
    "planned_model",
    "cli",
    "scons",
)
"""The folders and modules of the package: each imports only itself and what stands before it.

``report`` stands before ``codegen``, since the memory map beside the C is the plan's report as text.
"""

FROM_PLAN_ONLY = {
    "check": ("base", "plan"),
    "firmware": ("base", "plan"),
    "report": ("base", "plan"),
    "importers": ("base", "plan", "graph", "operators", "catalogue"),
    "judges": ("base", "plan", "graph", "operators", "catalogue"),
}
"""Parts that import nothing but what is named here, and themselves."""

CODEGEN_FROM = ("base", "plan", "platform", "report")
"""Generated code is a function of the plan; the linker script of the platform, whose regions stand in no plan."""

ENTRIES = ("", "__main__", "cmake_root")
"""The package itself, and modules that others start: they import what they like, and nothing imports them."""

THIRD_PARTY = {
    "onnx": ("importers", "judges"),
    "ortools": ("tiling", "fusion", "schedule", "storage", "placement"),
    "jinja2": ("codegen", "report"),
    "elftools": ("firmware",),
    "onnxruntime": ("judges",),
    "tflite_micro": ("judges",),
}
"""Package to the parts that may import it."""

LONGEST_FILE = 400
SUFFIXES = (".py", ".c", ".h", ".cpp", ".hpp", ".cmake", ".j2", ".sh")
FOLDERS = ("python", "runtime", "templates", "cmake", "tests", "examples", "benchmarks")


def modules(package: Path) -> dict[str, Path]:
    """Dotted name below the package (empty for the package itself) to its file."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[str]:
    """Everything that a module imports: ``tilewright``'s own as ``.module``, others as top-level names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            targets = [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} has a relative import in line {node.lineno}"
            targets = [(node.module or "", alias.name) for alias in node.names]
        else:
            continue
        for target, member in targets:
            top, _, inside = target.partition(".")
            if top != PACKAGE:
                yield top
                continue
            submodule = f"{inside}.{member}".lstrip(".")
            yield "." + (submodule if member and submodule in known else inside)


def part_of(module: str) -> str:
    """The part that a module belongs to."""
    return module.split(".")[0]


def may_import(part: str, other: str) -> bool:
    """Whether a module of one part may import a module of another."""
    if part == other or other == "":
        return True
    narrow = {**FROM_PLAN_ONLY, "codegen": CODEGEN_FROM}
    if part in narrow:
        return other in narrow[part]
    return PARTS.index(other) < PARTS.index(part) if other in PARTS else False


def violations(package: Path) -> list[str]:
    """Imports against the rules, one line each."""
    known = modules(package)
    wrong = []
    for name, path in known.items():
        part = part_of(name)
        if name in ENTRIES:
            continue
        if part not in PARTS:
            wrong.append(f"{name} belongs to no part; say in this test which")
            continue
        for target in sorted(set(imports(name, path, known))):
            if not target.startswith("."):
                if part not in THIRD_PARTY.get(target, (part,)):
                    wrong.append(f"{name} imports {target}")
            elif not may_import(part, part_of(target[1:])):
                wrong.append(f"{name} imports {target[1:]}")
    return wrong


def circles(package: Path) -> list[str]:
    """Sets of modules that import each other, one line each."""
    known = modules(package)
    edges = {
        name: {target[1:] for target in imports(name, path, known) if target.startswith(".")} - {name, ""}
        for name, path in known.items()
    }
    reach = {name: _reached(name, edges) for name in edges}
    found = {
        tuple(sorted(other for other in reach[name] if name in reach.get(other, ())))
        for name in edges
        if name in reach[name]
    }
    return sorted(" and ".join(names) for names in found)


def _reached(name: str, edges: dict[str, set[str]]) -> set[str]:
    """All modules that a module imports, directly or not."""
    found: set[str] = set()
    open_ends = set(edges.get(name, ()))
    while open_ends:
        module = open_ends.pop()
        if module not in found:
            found.add(module)
            open_ends |= edges.get(module, set())
    return found


def test_imports_point_one_way() -> None:
    assert violations(ROOT / "python" / PACKAGE) == []


def test_no_modules_import_each_other() -> None:
    assert circles(ROOT / "python" / PACKAGE) == []


def test_every_part_is_there() -> None:
    known = {part_of(name) for name in modules(ROOT / "python" / PACKAGE)}
    assert known - set(ENTRIES) == set(PARTS)


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("graph/graph", "import tilewright.schedule", "graph.graph imports schedule"),
        ("graph/graph", "from tilewright.platform import Platform", "graph.graph imports platform"),
        ("importers/load", "from tilewright.kernels import own", "importers.load imports kernels.own"),
        ("operators/conv", "import tilewright.importers", "operators.conv imports importers"),
        ("tiling/cost", "def f():\n    from tilewright import planning", "tiling.cost imports planning"),
        ("check/rules", "from tilewright.graph import DType", "check.rules imports graph"),
        ("planning/retries", "from tilewright.codegen import layers", "planning.retries imports codegen.layers"),
        ("codegen/layers", "import tilewright.schedule", "codegen.layers imports schedule"),
        ("rewrites/fold", "import onnx.helper", "rewrites.fold imports onnx"),
        ("pipeline", "import onnxruntime", "pipeline imports onnxruntime"),
        ("placement/exact_search", "from jinja2 import Template", "placement.exact_search imports jinja2"),
        ("plan/lifetimes", "from ortools.sat.python import cp_model", "plan.lifetimes imports ortools"),
        ("base/resources", "from tilewright.plan import Plan", "base.resources imports plan"),
        ("helpers", "", "helpers belongs to no part; say in this test which"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, module: str, text: str, found: str) -> None:
    names = ["graph/__init__", "platform/__init__", "schedule/__init__", "planning/__init__", "plan/__init__"]
    for name in ["__init__", *names, "operators/nest", "kernels/own", "importers/__init__", "codegen/layers", module]:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("", encoding="utf-8")
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    assert violations(tmp_path) == [found]


def test_a_right_import_is_let_through(tmp_path: Path) -> None:
    for name, text in {
        "__init__": "",
        "plan": "import tilewright.base",
        "base": "",
        "cli": "from tilewright import planning, check",
        "planning": "from tilewright.plan import Plan",
        "check": "from tilewright.plan import Plan",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert violations(tmp_path) == []


def test_a_circle_is_found(tmp_path: Path) -> None:
    for name, text in {
        "__init__": "",
        "problem": "def f():\n    from tilewright import sharing",
        "sharing": "from tilewright import operand",
        "operand": "import tilewright.problem",
        "cost": "import tilewright.problem",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert circles(tmp_path) == ["operand and problem and sharing"]


WRITTEN = "/* Written by scripts/"
"""At the head of C that nobody edits."""


def long_files(root: Path) -> list[str]:
    """Files above the limit, with their lines."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and "build" not in path.relative_to(root).parts:
                text = path.read_text(encoding="utf-8", errors="replace")
                lines = len(text.splitlines())
                if lines > LONGEST_FILE and WRITTEN not in text[:200]:
                    found.append(f"{path.relative_to(root)}: {lines}")
    return found


def test_files_are_short() -> None:
    assert long_files(ROOT) == []


def test_a_long_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "short.c").write_text("\n" * LONGEST_FILE, encoding="utf-8")
    (tmp_path / "runtime" / "long.c").write_text("\n" * (LONGEST_FILE + 1), encoding="utf-8")
    assert long_files(tmp_path) == ["runtime/long.c: 401"]
