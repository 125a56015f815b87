"""Vectors of a golden test for which none are stored: random inputs, and what the best judge computes for them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tilewright.base.errors import bad_input
from tilewright.base.lazy_dataclass import dataclass
from tilewright.graph import Array
from tilewright.options import CompileOptions
from tilewright.pipeline import imported_graph, sized_platform
from tilewright.plan import Plan
from tilewright.tools.golden import match_arrays, read_arrays
from tilewright.tools.verification import drawn_inputs, judgement_of

_RUNS = 4


@dataclass(frozen=True, slots=True)
class MadeVectors:
    """The files, and who computed the outputs."""

    inputs: Path
    outputs: Path
    judge: str


def made_vectors(options: CompileOptions, plan: Plan, inputs: Path | None, folder: Path) -> MadeVectors:
    """Write ``made_inputs.npz`` and ``made_outputs.npz``.

    Args:
        options: with which the model was generated.
        inputs: arrays to compute the outputs of; None for random ones.
        folder: of the files; made if it does not exist.

    Raises:
        TilewrightError (bad input): the model has no inputs and outputs of its own at this place, or ``inputs`` does
            not match them.
    """
    graph = imported_graph(options, sized_platform(options))
    kept = {state.input for state in graph.states}
    if [item.name for item in plan.inputs] != [name for name in graph.inputs if name not in kept]:
        raise bad_input("golden-arrays", "the plan has other inputs than the model", help="give INPUTS and OUTPUTS")
    if inputs is None:
        arrays = drawn_inputs(plan.inputs, _RUNS, seed=0)
    else:
        arrays = match_arrays(plan.inputs, read_arrays(inputs), str(inputs))
    count = len(arrays[0]) if arrays else 1
    judgement = judgement_of(options, graph, [[array[run] for array in arrays] for run in range(count)])
    folder.mkdir(parents=True, exist_ok=True)
    results = [np.stack([run[at] for run in judgement.outputs]) for at in range(len(plan.outputs))]
    return MadeVectors(
        _written(folder / "made_inputs.npz", arrays),
        _written(folder / "made_outputs.npz", results),
        judgement.judge,
    )


def _written(path: Path, arrays: Sequence[Array]) -> Path:
    np.savez(path, *arrays)
    return path
