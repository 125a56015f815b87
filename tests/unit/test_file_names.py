"""A file name of the package says one thing: no base name occurs in two folders but those listed here."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

PACKAGE = Path(__file__).parents[2] / "python" / "tilewright"

FAMILIES = (
    "conv elementwise feed fixed_point found indexing line map matmul max_pool movement quantization recurrent "
    "reduction spatial trees windows"
)
"""A family of operators: its declaration, its kernels, and how nodes of each format become it."""

FORMATS = "context convert nodes reading"
"""A stage of importing, once for each format: a node's surroundings, a file's nodes, special nodes, a file's bytes."""

COMMANDS = "allocate calibrate diff golden simulate sweep where workspace"
"""A command: its arguments, and what it does."""

OWN = "own"
"""Operators that a firmware project declares, at each stage that knows them."""

ALLOWED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        FAMILIES.split(),
        (
            "operators",
            "kernels/scalar",
            "kernels/xpulpv2",
            "kernels/rvv",
            "kernels/dsp",
            "kernels/mve",
            "importers/onnx",
            "importers/tflite",
        ),
    ),
    **dict.fromkeys(
        FORMATS.split(), ("importers/onnx", "importers/tflite", "importers/deeploy", "importers/qoperator")
    ),
    **dict.fromkeys(COMMANDS.split(), ("cli", "tools", "report")),
    OWN: (".", "kernels", "importers"),
}
"""A base name that occurs in several folders, and the folders in which it may."""

NOT_COUNTED = ("__init__", "__main__")


def repeated(package: Path) -> dict[str, list[str]]:
    """Base names that occur in several folders below the package, and these folders."""
    folders: dict[str, list[str]] = {}
    for path in sorted(package.rglob("*.py")):
        if path.stem not in NOT_COUNTED:
            folders.setdefault(path.stem, []).append(str(PurePosixPath(path.relative_to(package).parent)))
    return {name: found for name, found in folders.items() if len(found) > 1}


def ambiguous(package: Path) -> list[str]:
    """Base names in folders that the list above does not allow, one line each."""
    return [
        f"{name} in {folder}"
        for name, folders in repeated(package).items()
        for folder in folders
        if folder not in ALLOWED.get(name, ())
    ]


def test_a_file_name_says_one_thing() -> None:
    assert ambiguous(PACKAGE) == []


def test_the_list_is_no_longer_than_needed() -> None:
    assert set(ALLOWED) - set(repeated(PACKAGE)) == set()


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("check/alive", "report/alive"), ["alive in check", "alive in report"]),
        (("operators/conv", "kernels/xpulpv2/conv", "tiling/conv"), ["conv in tiling"]),
        (("cli/where", "report/where", "check/__init__", "report/__init__"), []),
    ],
)
def test_a_repeated_name_is_found(tmp_path: Path, names: tuple[str, ...], found: list[str]) -> None:
    for name in names:
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert ambiguous(tmp_path) == found
