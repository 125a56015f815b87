#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores what TensorFlow Lite Micro computes for the models of tests/support/lite_cases.py.

It needs the package ``tflite-micro`` (pip install --pre tflite-micro), of which only development versions exist, and
``ai-edge-litert``, whose reference kernels compute what TensorFlow Lite Micro does not take.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]

from support.lite_cases import CASES, RUNS, lite_case  # noqa: E402, for the path above

TARGET = ROOT / "tests" / "unit" / "importers" / "lite_vectors.npz"


def outputs(name: str) -> dict[str, np.ndarray]:
    """The outputs of a case, with the runs on the first axis, by the case's name and, from the second on, a number."""
    case = lite_case(name)
    made = _tflm if case.judge == "tflm" else _litert
    run_one, results = made(case.content, case.outputs), []
    for run in range(RUNS):
        if not case.stateful:
            run_one = made(case.content, case.outputs)
        results.append(run_one([array[run] for array in case.inputs]))
    return {
        name if number == 0 else f"{name}.{number}": np.stack([result[number] for result in results])
        for number in range(case.outputs)
    }


Run = Callable[[Sequence[np.ndarray]], list[np.ndarray]]


def _tflm(content: bytes, count: int) -> Run:
    """A new interpreter: from inputs to outputs."""
    from tflite_micro import runtime

    interpreter = runtime.Interpreter.from_bytes(content)

    def run(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        for number, array in enumerate(inputs):
            interpreter.set_input(array, number)
        interpreter.invoke()
        return [interpreter.get_output(number).copy() for number in range(count)]

    return run


def _litert(content: bytes, count: int) -> Run:
    """A new interpreter: from inputs to outputs."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()

    def run(inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        for detail, array in zip(interpreter.get_input_details(), inputs, strict=True):
            interpreter.set_tensor(detail["index"], array)
        interpreter.invoke()
        details = interpreter.get_output_details()
        return [interpreter.get_tensor(details[number]["index"]) for number in range(count)]

    return run


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
