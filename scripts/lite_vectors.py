#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores what TensorFlow Lite Micro computes for the models of tests/support/lite_cases.py.

It needs the package ``tflite-micro`` (pip install --pre tflite-micro), of which only development versions exist.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]

from support.lite_cases import CASES, RUNS, lite_case  # noqa: E402, for the path above

TARGET = ROOT / "tests" / "unit" / "importers" / "lite_vectors.npz"


def outputs(name: str) -> np.ndarray:
    """The output of a case, with the runs on the first axis."""
    from tflite_micro import runtime

    case = lite_case(name)
    results = []
    for run in range(RUNS):
        interpreter = runtime.Interpreter.from_bytes(case.content)
        for number, array in enumerate(case.inputs):
            interpreter.set_input(array[run], number)
        interpreter.invoke()
        results.append(interpreter.get_output(0))
    return np.stack(results)


def main() -> None:
    """Write the file."""
    np.savez_compressed(TARGET, **{name: outputs(name) for name in CASES})


if __name__ == "__main__":
    main()
