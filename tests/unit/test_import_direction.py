"""Imports point one way, third-party packages stay in their corners, files stay short."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "tilewright"

CHAIN: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("plan",),
    ("graph", "platform"),
    ("importers", "operators", "options"),
    ("kernels",),
    ("rewrites",),
    ("tiling",),
    ("schedule",),
    ("lifetime",),
    ("placement",),
    ("planning",),
    ("pipeline",),
    ("cli",),
)
"""A part may import itself and every part before it, but none beside it."""

SIDES = ("check", "codegen", "report")
"""These read plans only: they import errors, plan and leaves; pipeline and cli import them."""

LEAVES = ("", "progress", "resources", "copies", "elf", "toml_lines", "toml_file", "codegen.names")
"""Small helpers that anything may import: names, folders, text. They import errors and leaves."""

PART_OF = {
    "plan_json": "plan",
    "plan_facts": "plan",
    "plan_memory": "plan",
    "graph_edit": "graph",
    "platform_file": "platform",
    "platform_types": "platform",
    "__main__": "cli",
    "allocate": "cli",
    "calibrate": "cli",
    "calibration_text": "cli",
    "cli_allocate": "cli",
    "cli_calibrate": "cli",
    "cli_compile": "cli",
    "cli_plan": "cli",
    "cli_platform": "cli",
    "cli_progress": "cli",
    "cli_sweep": "cli",
    "cli_where": "cli",
    "cli_workspace": "cli",
    "cmake_root": "cli",
    "diagnostics": "cli",
    "golden": "cli",
    "golden_layers": "cli",
    "handover": "schedule",
    "lives": "schedule",
    "marks": "schedule",
    "ordering": "schedule",
    "overlays": "schedule",
    "core_stacks": "planning",
    "lock_file": "planning",
    "manifest": "cli",
    "outputs": "cli",
    "own": "kernels",
    "pressure": "schedule",
    "profile_buffer": "schedule",
    "profiles": "cli",
    "plan_lock": "planning",
    "shortage": "planning",
    "scons": "cli",
    "simulate": "cli",
    "sweep": "cli",
    "sweep_picture": "cli",
    "storage": "schedule",
    "tile_loops": "schedule",
    "tiles_together": "planning",
    "workspace": "cli",
}
"""Modules that belong to a part of another name."""

EXCEPTIONS = {
    ("codegen.files", "report.text"): "the memory map beside the C is the text report of the plan",
    ("codegen.linker", "platform_types"): "regions for linker scripts stand in no plan",
    ("report.alive", "lifetime"): "lifetime reads programs, like the sides; reports name the layer at a tick",
    ("report.touches", "lifetime"): "as above: a page shows which layers a buffer outlives",
}

THIRD_PARTY = {
    "onnx": ("importers",),
    "ortools": ("tiling", "schedule", "placement"),
    "jinja2": ("codegen", "report"),
    "onnxruntime": (),
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
    """The part of the chain, or the side, that a module belongs to; 'leaf' for leaves."""
    if module in LEAVES:
        return "leaf"
    top = module.split(".")[0]
    return PART_OF.get(top, top)


def rank(part: str) -> int | None:
    return next((number for number, parts in enumerate(CHAIN) if part in parts), None)


def may_import(part: str, other: str) -> bool:
    """Whether a module of one part may import a module of another."""
    if part == other or other in ("leaf", "errors"):
        return True
    if part in SIDES:
        return other == "plan"
    own, theirs = rank(part), rank(other)
    if own is None:
        return False
    return part in ("pipeline", "cli") if other in SIDES else theirs is not None and theirs < own


def violations(package: Path) -> list[str]:
    """Imports against the rules, one line each."""
    known = modules(package)
    wrong = []
    for name, path in known.items():
        part = part_of(name)
        if part != "leaf" and part not in SIDES and rank(part) is None:
            wrong.append(f"{name} belongs to no part; say in this test which")
        for target in sorted(set(imports(name, path, known))):
            if not target.startswith("."):
                if part not in THIRD_PARTY.get(target, (part,)):
                    wrong.append(f"{name} imports {target}")
                continue
            other = target[1:]
            if not may_import(part, part_of(other)) and (name, other) not in EXCEPTIONS:
                wrong.append(f"{name} imports {other}")
    return wrong


def test_imports_point_one_way() -> None:
    assert violations(ROOT / "python" / PACKAGE) == []


def test_every_exception_is_used() -> None:
    known = modules(ROOT / "python" / PACKAGE)
    for name, other in EXCEPTIONS:
        assert f".{other}" in set(imports(name, known[name], known)), (name, other)
    assert set(LEAVES) | set(PART_OF) <= set(known)


@pytest.mark.parametrize(
    ("module", "text", "found"),
    [
        ("graph", "import tilewright.schedule", "graph imports schedule"),
        ("graph", "from tilewright.platform import Platform", "graph imports platform"),
        ("importers/onnx", "from tilewright.operators import nest", "importers.onnx imports operators.nest"),
        ("tiling/cost", "def f():\n    from tilewright import planning", "tiling.cost imports planning"),
        ("check/rules", "from tilewright.graph import DType", "check.rules imports graph"),
        ("planning", "from tilewright.codegen import layers", "planning imports codegen.layers"),
        ("rewrites/fold", "import onnx.helper", "rewrites.fold imports onnx"),
        ("pipeline", "import onnxruntime", "pipeline imports onnxruntime"),
        ("placement/exact", "from jinja2 import Template", "placement.exact imports jinja2"),
        ("lifetime", "from ortools.sat.python import cp_model", "lifetime imports ortools"),
        ("resources", "from tilewright.plan import Plan", "resources imports plan"),
        ("helpers", "", "helpers belongs to no part; say in this test which"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, module: str, text: str, found: str) -> None:
    names = ["graph", "platform", "schedule", "planning", "operators/nest", "codegen/layers", "plan", module]
    for name in ["__init__", *names]:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("", encoding="utf-8")
    (tmp_path / f"{module}.py").write_text(text, encoding="utf-8")
    assert violations(tmp_path) == [found]


def test_a_right_import_is_let_through(tmp_path: Path) -> None:
    for name, text in {
        "__init__": "",
        "plan": "import tilewright.errors",
        "errors": "",
        "cli": "from tilewright import planning, check",
        "planning": "from tilewright.plan import Plan",
        "check": "from tilewright.plan import Plan",
    }.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    assert violations(tmp_path) == []


def long_files(root: Path) -> list[str]:
    """Files above the limit, with their lines."""
    found = []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and "build" not in path.relative_to(root).parts:
                lines = len(path.read_text(encoding="utf-8", errors="replace").splitlines())
                if lines > LONGEST_FILE:
                    found.append(f"{path.relative_to(root)}: {lines}")
    return found


def test_files_are_short() -> None:
    assert long_files(ROOT) == []


def test_a_long_file_is_found(tmp_path: Path) -> None:
    (tmp_path / "runtime").mkdir()
    (tmp_path / "runtime" / "short.c").write_text("\n" * LONGEST_FILE, encoding="utf-8")
    (tmp_path / "runtime" / "long.c").write_text("\n" * (LONGEST_FILE + 1), encoding="utf-8")
    assert long_files(tmp_path) == ["runtime/long.c: 401"]
