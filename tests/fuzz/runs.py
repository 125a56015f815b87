"""Runs the C of a spoilt model that was accepted, under sanitizers, on random inputs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
from conformance.build import BuildError
from support.host_runs import generated, host_outputs
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import Array
from tilewright.plan import InterfaceTensor

from fuzz.cases import FuzzCase

_MOST_BYTES = 1 << 26
"""Larger interfaces are left out: sanitizers would take minutes."""


def ill_behaved(case: FuzzCase, folder: Path) -> str:
    """Empty if the model's C runs; else the words of the compiler or the sanitizer."""
    shutil.rmtree(folder, ignore_errors=True)
    given = dict(zip(case.words, case.words[1:], strict=False))
    dims = dict([given["--dim"].split("=")]) if "--dim" in given else {}
    try:
        built = generated(onnx.ModelProto.FromString(case.content), folder, dims=[f"{k}={v}" for k, v in dims.items()])
        tensors = (*built.plan.inputs, *built.plan.outputs)
        if sum(int(np.prod(tensor.shape, dtype=int)) for tensor in tensors) > _MOST_BYTES:
            return ""
        feeds = {tensor.name: _any(tensor, case.number) for tensor in built.plan.inputs}
        host_outputs(built, feeds, folder)
    except TilewrightError as error:
        return str(error) if error.status is ExitStatus.INTERNAL else ""
    except (BuildError, AssertionError, subprocess.TimeoutExpired) as error:
        return str(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def _any(tensor: InterfaceTensor, seed: int) -> Array:
    """Elements of random bits: any numbers of the type, for floats also NaN and infinities."""
    chance = np.random.default_rng(seed)
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "b":
        return chance.integers(0, 2, tensor.shape).astype(dtype)
    size = int(np.prod(tensor.shape, dtype=int)) * dtype.itemsize
    return np.frombuffer(chance.bytes(size), dtype).reshape(tensor.shape)
