"""``python -m conformance``: all cases on all cores, and a count of what passed, was refused, is wrong."""

from __future__ import annotations

import argparse
import multiprocessing
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from conformance.build import runtime_library
from conformance.cases import NodeCase, node_cases
from conformance.judges import disagreements
from conformance.refusals import without_reason
from conformance.run import Outcome, Verdict, run_batch

_BATCH = 40


def main(arguments: Sequence[str]) -> int:
    """0 if nothing is wrong, each refusal has its reason, and at least ``--least`` cases pass."""
    parser = argparse.ArgumentParser(prog="conformance")
    parser.add_argument("--only", default="", help="regular expression on case names")
    parser.add_argument("--platform", default="host")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--build", type=Path, default=Path("build/conformance"))
    parser.add_argument("--least", type=int, default=0, help="passes that are expected")
    parser.add_argument("--list", action="store_true", help="print every refused case")
    options = parser.parse_args(arguments)
    began = time.monotonic()
    chosen = [case for case in node_cases() if re.search(options.only, case.name)]
    library = runtime_library(options.build.resolve())
    outcomes = _run_all(chosen, library, options)
    print_outcomes(outcomes, options.list)
    passed = sum(outcome.verdict is Verdict.PASSED for outcome in outcomes)
    between = disagreements(chosen)
    for words in between:
        _say(f"judges disagree: {words}")
    unexplained = without_reason(outcome.name for outcome in outcomes if outcome.verdict is Verdict.REFUSED)
    for name in unexplained:
        _say(f"refused, and not in tests/conformance/refusals.py: {name}")
    _say(f"{time.monotonic() - began:.0f} s")
    wrong = bool(between or unexplained) or any(outcome.verdict is Verdict.WRONG for outcome in outcomes)
    return 1 if wrong or passed < options.least else 0


def _run_all(chosen: Sequence[NodeCase], library: Path, options: argparse.Namespace) -> list[Outcome]:
    batches = [range(first, min(first + _BATCH, len(chosen))) for first in range(0, len(chosen), _BATCH)]
    work = partial(_batch, chosen, library, options.platform, options.build.resolve())
    if options.processes == 1 or len(batches) == 1:
        return [outcome for batch in batches for outcome in work(batch)]
    with multiprocessing.get_context("fork").Pool(options.processes) as pool:
        return [outcome for outcomes in pool.imap(work, batches) for outcome in outcomes]


def _batch(chosen: Sequence[NodeCase], library: Path, platform: str, build: Path, batch: range) -> list[Outcome]:
    return run_batch([chosen[number] for number in batch], library, platform, build / f"batch_{batch.start}")


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")


def print_outcomes(outcomes: Sequence[Outcome], every_refusal: bool = False) -> None:
    """The wrong ones by name, refusals by reason, and the counts."""
    for outcome in outcomes:
        if outcome.verdict is Verdict.WRONG or (every_refusal and outcome.verdict is Verdict.REFUSED):
            _say(f"{outcome.verdict.value} {outcome.name}: {outcome.reason}")
    reasons = Counter(outcome.reason for outcome in outcomes if outcome.verdict is Verdict.REFUSED)
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0])):
        _say(f"  {count:4d}  {reason}")
    counts = Counter(outcome.verdict for outcome in outcomes)
    frozen = sum(outcome.frozen and outcome.verdict is Verdict.PASSED for outcome in outcomes)
    _say(
        f"passed {counts[Verdict.PASSED]}, refused {counts[Verdict.REFUSED]}, wrong {counts[Verdict.WRONG]} "
        f"(of the passed, {frozen} with operands that decide shapes frozen)"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
