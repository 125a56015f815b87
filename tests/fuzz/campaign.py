"""Many cases at once: what was generated, what was refused and what must not be."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tilewright.base.errors import ExitStatus

from fuzz.bases import bases
from fuzz.cases import fuzz_case
from fuzz.generate import Answer, generate, uncompilable
from fuzz.workers import Ended, run_all

_ROUND = 500


@dataclass
class Summary:
    """Counts of exit statuses and kinds of spoiling, the most that one case took, and the failures in words."""

    statuses: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    compiled: int = 0
    most_seconds: float = 0.0
    most_bytes: int = 0
    failures: list[str] = field(default_factory=list)


def campaign(numbers: Sequence[int], folder: Path, processes: int) -> Summary:
    """Run the cases; the models of failures stay in ``<folder>/failures``."""
    bases()
    summary = Summary()
    for first in range(0, len(numbers), _ROUND):
        some = numbers[first : first + _ROUND]
        ended = sorted(run_all(lambda number: _work(number, folder), some, processes), key=lambda one: one.number)
        _count(summary, ended, folder)
    return summary


def _work(number: int, folder: Path) -> Answer:
    return generate(fuzz_case(number), folder / str(number))


def _count(summary: Summary, ended: Sequence[Ended], folder: Path) -> None:
    generated = []
    for one in ended:
        summary.kinds.update(fuzz_case(one.number).what.split(", "))
        summary.most_seconds = max(summary.most_seconds, one.seconds)
        summary.most_bytes = max(summary.most_bytes, one.bytes_used)
        answer = one.answer if isinstance(one.answer, Answer) else None
        problem = one.problem or (answer.problem if answer else "")
        if problem or answer is None:
            _fail(summary, one.number, problem, answer.text if answer else "", folder)
            continue
        summary.statuses[ExitStatus(answer.status).name] += 1
        if answer.status == ExitStatus.DONE:
            generated.append(answer.folder)
    summary.compiled += len(generated)
    for path, words in uncompilable(generated).items():
        _fail(summary, int(path.name), "its C does not compile", words, folder)
    for path in generated:
        shutil.rmtree(path)


def _fail(summary: Summary, number: int, problem: str, text: str, folder: Path) -> None:
    case = fuzz_case(number)
    kept = folder / "failures" / f"{number}.onnx"
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(case.content)
    (kept.with_suffix(".txt")).write_text(text, encoding="utf-8", errors="backslashreplace")
    summary.statuses["FAILURE"] += 1
    last = [line[:300] for line in text.strip().splitlines()[-3:]]
    summary.failures.append(f"{number} ({case.what}; {' '.join(case.words)}): {problem}\n    " + "\n    ".join(last))
