"""``python -m fuzz --count 10000`` compiles spoilt models; exit status 1 if an answer is neither C nor a reason.

With ``--platforms`` platform files are spoilt.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from fuzz.campaign import campaign
from fuzz.cases import fuzz_case
from fuzz.platforms import platform_case


def main(arguments: Sequence[str]) -> int:
    """Run the cases and print the counts; 0 without failures, else 1."""
    parser = argparse.ArgumentParser(prog="fuzz")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument(
        "--compile-every", type=int, default=1, help="compile only the C of cases whose number is a multiple of this"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--platforms", action="store_true", help="spoilt platform files instead of models")
    parser.add_argument("--build", type=Path, default=Path("build/fuzz"))
    options = parser.parse_args(arguments)
    began = time.monotonic()
    numbers = range(options.first, options.first + options.count)
    case_of = platform_case if options.platforms else fuzz_case
    folder = options.build.resolve()
    summary = campaign(numbers, folder, options.processes, case_of, options.compile_every)
    lines = [f"failure {text}" for text in summary.failures]
    lines += [f"  {count:6d}  {kind}" for kind, count in sorted(summary.kinds.items())]
    lines.append(", ".join(f"{name.lower()} {count}" for name, count in sorted(summary.statuses.items())))
    lines.append(
        f"C of {summary.compiled} compiled, of {summary.run} run; at most {summary.most_seconds:.1f} s of processor "
        f"time and {summary.most_bytes >> 20} MiB for one; {time.monotonic() - began:.0f} s in all"
    )
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if summary.failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
