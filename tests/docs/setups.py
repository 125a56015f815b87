"""What stands in the folder before a page's first block: projects that a reader of a how-to has.

A setup may return variables for the environment of the page's commands.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from docs.pages import ROOT

README = ROOT / "README.md"

_BUFFERS = """
static float audio[KWS_INPUT_AUDIO_COUNT];
static float scores[KWS_OUTPUT_SCORES_COUNT];
static const struct kws_inputs inputs = {.audio = audio};
static const struct kws_outputs outputs = {.scores = scores};
"""
_POOLS = """
static _Alignas(KWS_POOL_SRAM_ALIGN) uint8_t sram[KWS_POOL_SRAM_SIZE];
static const struct kws_pools pools = {.sram = sram};
"""
_AUDIO = "static float audio[KWS_INPUT_AUDIO_COUNT];\n"
_WITH_DTCM = """
name = "board"
target = { kernels = ["scalar"] }
core = { access_cycles = { dtcm = 1, flash = 1 } }
io = { pool = "dtcm" }

[[pool]]
name = "dtcm"
size_bytes = 65536
holds = ["input", "output", "intermediate", "scratch", "tile", "state"]

[[pool]]
name = "flash"
size_bytes = 65536
access = "ro"
holds = ["constant"]
"""


def kws(folder: Path) -> None:
    """The README's project: CMakeLists.txt, main.c, kws.onnx (audio -> scores), and Tilewright beside them."""
    _kws_model(folder)
    text = README.read_text(encoding="utf-8")
    for name, language in (("CMakeLists.txt", "cmake"), ("main.c", "c")):
        block = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
        assert block is not None
        (folder / name).write_text(block[1], encoding="utf-8")
    (folder / "tilewright").symlink_to(ROOT, target_is_directory=True)


def share_pools(folder: Path) -> None:
    """Two models, main.c, and C before the page's lines: how an application calls kws in three forms."""
    kws(folder)
    for name in ("kws", "wake"):
        two_layers(folder / f"{name}.onnx")
    (folder / "board.toml").write_text(_WITH_DTCM, encoding="utf-8")
    for name, platform, *options in (
        ("own", "host"),
        ("pinned", "board.toml", "--pool", "dtcm=4096@.dtcm"),
        ("io", "host", "--io-in-pools"),
        ("result", "host", "--outputs-in-pools"),
    ):
        words = ["generate", "--model", "kws.onnx", "--name", "kws", "--platform", platform, *options]
        command = [sys.executable, "-m", "tilewright", *words, "--output-dir", f"generated {name}"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        lines = {"own": _BUFFERS, "io": _POOLS, "result": _POOLS + _AUDIO}.get(name, "")
        (folder / f"{name}.h").write_text(f'#include "generated {name}/kws.h"\n{lines}', encoding="utf-8")


def digits(folder: Path) -> None:
    """The files of the example digits."""
    shutil.copytree(ROOT / "examples" / "digits", folder, dirs_exist_ok=True)


def camera(folder: Path) -> None:
    """The files of the example camera."""
    shutil.copytree(ROOT / "examples" / "camera", folder, dirs_exist_ok=True)


def waves(folder: Path) -> None:
    """The tutorial's project, as far as CMakeLists.txt and main.c; its model is made by its own script."""
    from docs.pages import blocks

    tutorial = (ROOT / "docs" / "tutorial" / "first-firmware.md").read_text(encoding="utf-8")
    for block in reversed(blocks(tutorial)):
        if block.file in ("make_model.py", "CMakeLists.txt", "main.c"):
            (folder / block.file).write_text(block.text, encoding="utf-8")
    subprocess.run([sys.executable, "make_model.py"], cwd=folder, check=True, capture_output=True)


def sdks(folder: Path) -> dict[str, str]:
    """The README's main.c and model, and stand-ins for Zephyr and ESP-IDF. Returns where they are."""
    kws(folder)
    (folder / "CMakeLists.txt").unlink()
    stand_ins = ROOT / "tests" / "docs" / "stand_ins"
    return {"ZEPHYR_BASE": str(stand_ins / "zephyr"), "IDF_PATH": str(stand_ins / "esp-idf")}


def two_layers(path: Path) -> None:
    """audio [1, 24] -> scores [1, 10], with a tensor between them."""
    random = np.random.default_rng(1)
    shapes = {"w1": (24, 32), "w2": (32, 10)}
    values = {name: random.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    nodes = [
        helper.make_node("MatMul", ["audio", "w1"], ["hidden"], "first"),
        helper.make_node("MatMul", ["hidden", "w2"], ["scores"], "second"),
    ]
    ends = [helper.make_tensor_value_info(*end) for end in (("audio", 1, [1, 24]), ("scores", 1, [1, 10]))]
    constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
    graph = helper.make_graph(nodes, "kws", ends[:1], ends[1:], constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path)


def _kws_model(folder: Path) -> None:
    make = ROOT / "tests" / "cmake" / "make_model.py"
    files = [folder / name for name in ("kws.onnx", "", "inputs.npz", "outputs.npz")]
    subprocess.run([sys.executable, make, files[0], "", *files[2:]], check=True)
