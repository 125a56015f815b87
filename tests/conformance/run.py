"""Runs cases in batches and says for each one whether it passed, was refused, or is wrong."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import onnx
from tilewright.base.errors import ExitStatus, TilewrightError
from tilewright.graph import Array
from tilewright.options import build_options
from tilewright.pipeline import compile_model

from conformance.build import BuildError, Generated, build
from conformance.cases import NodeCase

_RUN_SECONDS = 60


class Verdict(Enum):
    """What became of a case."""

    PASSED = "passed"
    REFUSED = "refused"
    WRONG = "wrong"


@dataclass(frozen=True)
class Outcome:
    """A case's verdict; ``reason`` is the refusal's or the difference."""

    name: str
    verdict: Verdict
    reason: str = ""
    frozen: bool = False


def run_batch(cases: Sequence[NodeCase], library: Path, platform: str, folder: Path) -> list[Outcome]:
    """The outcomes of some cases, compiled into one executable."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    outcomes: dict[str, Outcome] = {}
    generated: list[tuple[NodeCase, Generated]] = []
    for number, case in enumerate(cases):
        try:
            generated.append((case, generate(case, f"c{number}", platform, folder)))
        except TilewrightError as error:
            outcomes[case.name] = _refused(case, error)
        except Exception as error:  # a defect of the compiler is a wrong result like any other
            outcomes[case.name] = Outcome(case.name, Verdict.WRONG, f"{type(error).__name__}: {error}")
    outcomes.update({outcome.name: outcome for outcome in _execute(generated, library, folder)})
    shutil.rmtree(folder, ignore_errors=True)
    return [outcomes[case.name] for case in cases]


def generate(case: NodeCase, prefix: str, platform: str, folder: Path, pools: Sequence[str] = ()) -> Generated:
    """The case's model as C, with pools of its own; ``pools`` overrides sizes. Raises TilewrightError."""
    path = folder / f"{prefix}.onnx"
    onnx.save(case.model, path)
    values: dict[str, object] = {"model": path, "platform": platform, "name": prefix, "static_pools": True}
    if pools:
        values["pools"] = list(pools)
    if case.empty:
        values["dims"] = [f"{name}=0" for name in case.empty]
    if case.bounds:
        values["bound"] = dict(case.bounds)
    if case.frozen:
        values["freeze"] = folder / f"{prefix}.npz"
        np.savez(folder / f"{prefix}.npz", **dict(case.frozen))
    artifacts = compile_model(build_options(("conformance", values)))
    return Generated(prefix, artifacts.plan, dict(artifacts.files))


def _refused(case: NodeCase, error: TilewrightError) -> Outcome:
    # All cases are valid: one that is said to contradict itself stumbled over a defect of ours.
    if error.status is ExitStatus.INTERNAL or error.code in ("model-broken", "model-contradiction"):
        return Outcome(case.name, Verdict.WRONG, str(error))
    places = error.at if error.code == "unsupported-model" else (error.what,)
    reasons = [place.rpartition("): ")[2] if "): " in place else place for place in places]
    return Outcome(
        case.name, Verdict.REFUSED, f"[{error.code}] " + "; ".join(dict.fromkeys(reasons)), bool(case.frozen)
    )


def _execute(generated: Sequence[tuple[NodeCase, Generated]], library: Path, folder: Path) -> list[Outcome]:
    if not generated:
        return []
    try:
        executable = build(folder, [model for _, model in generated], library, "-O1")
    except BuildError as error:
        if len(generated) == 1:
            return [Outcome(generated[0][0].name, Verdict.WRONG, f"does not compile: {error}")]
        return [outcome for pair in generated for outcome in _execute([pair], library, folder / pair[1].prefix)]
    return [_outcome(case, model, executable) for case, model in generated]


def _outcome(case: NodeCase, model: Generated, executable: Path) -> Outcome:
    problem = ""
    with tempfile.TemporaryDirectory() as name:
        given, got = Path(name) / "inputs", Path(name) / "outputs"
        given.write_bytes(
            b"".join(np.ascontiguousarray(case.inputs[item.name]).tobytes() for item in model.plan.inputs)
        )
        try:
            done = subprocess.run(
                [executable, model.prefix, given, got],
                capture_output=True,
                text=True,
                check=False,
                timeout=_RUN_SECONDS,
            )
            problem = f"status {done.returncode}: {done.stderr[:1500]}" if done.returncode else ""
        except subprocess.TimeoutExpired:
            problem = f"no end within {_RUN_SECONDS} s"
        if not problem:
            problem = _difference(case, model, got.read_bytes())
    return Outcome(case.name, Verdict.WRONG if problem else Verdict.PASSED, problem, bool(case.frozen))


def _difference(case: NodeCase, model: Generated, content: bytes) -> str:
    """Empty if all outputs are as ONNX wants them."""
    position = 0
    counts = {f"{name}_count": np.array([found], np.int32) for name, found in case.bounds.items()}
    for item, (name, wanted) in zip(model.plan.outputs, {**case.outputs, **counts}.items(), strict=True):
        dtype = np.dtype(item.dtype)
        if dtype != wanted.dtype or item.shape != wanted.shape:
            return f"{name}: {item.dtype}{list(item.shape)}, wanted {wanted.dtype}{list(wanted.shape)}"
        size = int(np.prod(item.shape, dtype=np.int64)) * dtype.itemsize
        got = np.frombuffer(content[position : position + size], dtype).reshape(item.shape)
        position += size
        problem = compare(got, wanted, case.rtol, case.atol)
        if problem:
            return f"{name}: {problem}"
    return ""


def compare(got: Array, wanted: Array, rtol: float, atol: float) -> str:
    """Empty if ``got`` is within ONNX's tolerance of ``wanted``; else the first and the largest difference."""
    if got.dtype.kind != "f":
        close = got == wanted
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            close = np.isclose(got, wanted, rtol=rtol, atol=atol, equal_nan=True)
    if close.all():
        return ""
    first = tuple(int(index) for index in np.argwhere(~close)[0])
    return f"{int((~close).sum())} of {got.size} differ, first at {list(first)}: {got[first]} for {wanted[first]}"
