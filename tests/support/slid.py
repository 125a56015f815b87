"""Models whose window slides, against the whole window at every step, on this machine under sanitizers."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from conformance.build import Generated, build, runtime_library
from tilewright.graph import Array
from tilewright.options import build_options
from tilewright.pipeline import Artifacts, compile_model
from tilewright.plan import InterfaceTensor, Plan

from support.host_runs import OBJECTS, RUN_SECONDS

UNWRITTEN = 0xA5
"""What the drivers of ``conformance.build`` fill outputs with before a run."""


def compiled(path: Path, name: str = "net", **values: object) -> Artifacts:
    options = {"model": path, "platform": "host", "name": name, "static_pools": True, **values}
    return compile_model(build_options(("test", options)))


def built(found: Artifacts) -> Generated:
    return Generated(found.plan.name, found.plan, dict(found.files))


def random_frames(item: InterfaceTensor, count: int, seed: int = 0) -> Array:
    """[count, *row] of a fed input's type."""
    assert item.fed_axis is not None
    chance, dtype = np.random.default_rng(seed), np.dtype(item.dtype)
    row = (*item.shape[: item.fed_axis], *item.shape[item.fed_axis + 1 :])
    if dtype.kind == "f":
        return chance.normal(size=(count, *row)).astype(dtype)
    limits = np.iinfo(dtype)
    return chance.integers(limits.min, limits.max, (count, *row), dtype, endpoint=True)


def slid_rows(found: Generated, frames: Array, folder: Path) -> Array:
    """The rows [all rows of all runs, *row] that runs over all frames give of the only output; 0xa5 if unwritten."""
    (given,), (taken,) = found.plan.inputs, found.plan.outputs
    assert given.fed_axis is not None
    assert taken.fed_axis is not None
    rows = given.shape[given.fed_axis]
    feeds = [frames[at : at + rows] for at in range(0, len(frames) - rows + 1, rows)]
    row = (*taken.shape[: taken.fed_axis], *taken.shape[taken.fed_axis + 1 :])
    return np.concatenate(_runs(found, feeds, (taken.shape[taken.fed_axis], *row), folder))


def window_rows(whole: Generated, plan: Plan, frames: Array, folder: Path) -> Array:
    """The newest row [frames / frames of a row, *row] of the whole window behind so many frames each.

    Windows in which fewer frames are known than the model has begin with the first frame, and end with zeros; the row
    is that of the newest known frame. Rows that do not exist yet are 0xa5 throughout.
    """
    (given,), (taken,) = plan.inputs, plan.outputs
    assert given.fed_axis is not None
    assert taken.fed_axis is not None
    (whole_input,), (whole_output,) = whole.plan.inputs, whole.plan.outputs
    window, extent = whole_input.shape[given.fed_axis], whole_output.shape[taken.fed_axis]
    each = given.shape[given.fed_axis] // taken.shape[taken.fed_axis]
    ends = range(each, len(frames) + 1, each)
    feeds = [np.moveaxis(_window(frames, end, window), 0, given.fed_axis) for end in ends]
    outputs = _runs(whole, feeds, whole_output.shape, folder)
    found = []
    for end, output in zip(ends, outputs, strict=True):
        newest = extent - 1 - max(0, window - end) // each
        row = np.take(output, max(newest, 0), taken.fed_axis)
        found.append(
            row if newest >= 0 else np.full(row.nbytes, UNWRITTEN, np.uint8).view(row.dtype).reshape(row.shape)
        )
    return np.stack(found)


def _window(frames: Array, end: int, window: int) -> Array:
    known = frames[max(0, end - window) : end]
    return np.concatenate([known, np.zeros((window - len(known), *frames.shape[1:]), frames.dtype)])


def _runs(found: Generated, feeds: Sequence[Array], shape: tuple[int, ...], folder: Path) -> list[Array]:
    """The only output of a model for one input behind the other, in one process."""
    executable = build(folder, [found], runtime_library(OBJECTS))
    command = [str(executable)]
    for number, feed in enumerate(feeds):
        (folder / f"in{number}").write_bytes(np.ascontiguousarray(feed).tobytes())
        command += [found.prefix, str(folder / f"in{number}"), str(folder / f"out{number}")]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=RUN_SECONDS)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
    dtype = np.dtype(found.plan.outputs[0].dtype)
    outputs = (np.frombuffer((folder / f"out{number}").read_bytes(), dtype) for number in range(len(feeds)))
    return [output.reshape(shape) for output in outputs]
