"""Many cases at once: how many gave C, how many were refused, and the failures, which are neither."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tilewright.base.errors import ExitStatus

from fuzz.bases import bases
from fuzz.cases import FuzzCase, fuzz_case
from fuzz.generate import Answer, generate, uncompilable
from fuzz.runs import ill_behaved
from fuzz.workers import Ended, run_all

_ROUND = 500
_RUN_EVERY = 50
"""Of the models that are accepted, those whose number this divides are run under sanitizers too."""


@dataclass
class Summary:
    """Counts of exit statuses and kinds of spoiling, the most that one case took, and the failures in words."""

    statuses: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    compiled: int = 0
    run: int = 0
    most_seconds: float = 0.0
    most_bytes: int = 0
    failures: list[str] = field(default_factory=list)


def campaign(
    numbers: Sequence[int],
    folder: Path,
    processes: int,
    case_of: Callable[[int], FuzzCase] = fuzz_case,
    compile_every: int = 1,
) -> Summary:
    """Run the cases; the files of failures stay in ``<folder>/failures``.

    Of the cases that are accepted, the C of those whose number ``compile_every`` divides is compiled: compiling takes
    forty times as long as generating.
    """
    bases()
    summary = Summary()
    for first in range(0, len(numbers), _ROUND):
        some = numbers[first : first + _ROUND]
        work = partial(_work, folder=folder, case_of=case_of)
        ended = sorted(run_all(work, some, processes), key=lambda one: one.number)
        _count(summary, ended, folder, case_of, compile_every)
    return summary


def _work(number: int, folder: Path, case_of: Callable[[int], FuzzCase]) -> Answer:
    return generate(case_of(number), folder / str(number))


def _count(
    summary: Summary, ended: Sequence[Ended], folder: Path, case_of: Callable[[int], FuzzCase], compile_every: int
) -> None:
    generated, left = [], []
    for one in ended:
        case = case_of(one.number)
        summary.kinds.update(case.what.rpartition(": ")[2].split(", "))
        summary.most_seconds = max(summary.most_seconds, one.seconds)
        summary.most_bytes = max(summary.most_bytes, one.bytes_used)
        answer = one.answer if isinstance(one.answer, Answer) else None
        problem = one.problem or (answer.problem if answer else "")
        if problem or answer is None:
            _fail(summary, case, problem, answer.text if answer else "", folder)
            continue
        summary.statuses[ExitStatus(answer.status).name] += 1
        if answer.status == ExitStatus.DONE:
            (left if one.number % compile_every else generated).append(answer.folder)
    summary.compiled += len(generated)
    for path, words in uncompilable(generated).items():
        _fail(summary, case_of(int(path.name)), "its C does not compile", words, folder)
    for case in map(case_of, (int(path.name) for path in generated)):
        if case.number % _RUN_EVERY or case.platform:
            continue
        summary.run += 1
        if words := ill_behaved(case, folder / "run"):
            _fail(summary, case, "its C does not run", words, folder)
    for path in (*generated, *left):
        shutil.rmtree(path)


def _fail(summary: Summary, case: FuzzCase, problem: str, text: str, folder: Path) -> None:
    suffix, content = case.spoilt
    kept = folder / "failures" / f"{case.number}{suffix}"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(content)
    (kept.with_suffix(".txt")).write_text(text, encoding="utf-8", errors="backslashreplace")
    summary.statuses["FAILURE"] += 1
    last = [line[:300] for line in text.strip().splitlines()[-3:]]
    summary.failures.append(
        f"{case.number} ({case.what}; {' '.join(case.words)}): {problem}\n    " + "\n    ".join(last)
    )
