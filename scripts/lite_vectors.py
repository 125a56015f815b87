#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores what TensorFlow Lite Micro computes for the models of tests/support/lite_cases.py.

It needs the package ``tflite-micro`` (pip install --pre tflite-micro), of which only development versions exist, and
``ai-edge-litert``, whose reference kernels compute what TensorFlow Lite Micro does not take.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]

from support.lite_cases import CASES, RUNS, lite_case  # noqa: E402, for the path above

TARGET = ROOT / "tests" / "unit" / "importers" / "lite_vectors.npz"


def outputs(name: str) -> dict[str, np.ndarray]:
    """The outputs of a case, with the runs on the first axis, by the case's name and, from the second on, a number."""
    case = lite_case(name)
    run_one = _tflm if case.judge == "tflm" else _litert
    results = [run_one(case.content, [array[run] for array in case.inputs], case.outputs) for run in range(RUNS)]
    return {
        name if number == 0 else f"{name}.{number}": np.stack([result[number] for result in results])
        for number in range(case.outputs)
    }


def _tflm(content: bytes, inputs: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(content)
    for number, array in enumerate(inputs):
        interpreter.set_input(array, number)
    interpreter.invoke()
    return [interpreter.get_output(number) for number in range(count)]


def _litert(content: bytes, inputs: Sequence[np.ndarray], count: int) -> list[np.ndarray]:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(detail["index"], array)
    interpreter.invoke()
    return [interpreter.get_tensor(interpreter.get_output_details()[number]["index"]) for number in range(count)]


def main() -> None:
    """Write the file; with names of cases, renew only theirs."""
    stored = {}
    if sys.argv[1:]:
        with np.load(TARGET) as archive:
            stored = dict(archive)
    for name in sys.argv[1:] or CASES:
        stored.update(outputs(name))
    np.savez_compressed(TARGET, **stored)


if __name__ == "__main__":
    main()
