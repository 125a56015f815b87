"""A model's outputs as its C computes them on this machine under sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from conformance.build import Generated, build, runtime_library
from tilewright.graph import Array
from tilewright.options import build_options
from tilewright.pipeline import compile_model
from tilewright.plan import Plan

OBJECTS = Path(__file__).parents[2] / "build" / "sanitized"
RUN_SECONDS = 180
TILED = str(Path(__file__).parents[1] / "conformance" / "host-tiled.toml")


def generated(model: onnx.ModelProto, folder: Path, platform: str = "host", **options: object) -> Generated:
    """The model's C with pools of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    values = {"model": path, "platform": platform, "name": "net", "static_pools": True, **options}
    artifacts = compile_model(build_options(("test", values)))
    return Generated(str(values["name"]), artifacts.plan, dict(artifacts.files))


def host_outputs(built: Generated, feeds: Mapping[str, Array], folder: Path) -> dict[str, Array]:
    """Outputs by name; a sanitizer's complaint is an error."""
    executable = build(folder, [built], runtime_library(OBJECTS))
    return run_outputs(executable, built.prefix, built.plan, feeds, folder)


def run_outputs(
    executable: Path, prefix: str, plan: Plan, feeds: Mapping[str, Array], folder: Path
) -> dict[str, Array]:
    """Outputs by name of one of the models of an executable; a sanitizer's complaint is an error."""
    given, got = folder / "inputs", folder / "outputs"
    given.write_bytes(b"".join(np.ascontiguousarray(feeds[item.name]).tobytes() for item in plan.inputs))
    command = [executable, prefix, given, got]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
    assert done.returncode == 0, done.stderr[-2000:]
    content, position, outputs = got.read_bytes(), 0, {}
    for item in plan.outputs:
        dtype = np.dtype(item.dtype)
        size = int(np.prod(item.shape, dtype=np.int64)) * dtype.itemsize
        outputs[item.name] = np.frombuffer(content[position : position + size], dtype).reshape(item.shape)
        position += size
    return outputs
