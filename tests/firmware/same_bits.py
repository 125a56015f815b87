"""Runs golden firmwares of one network and compares the checksums of their outputs.

python same_bits.py PLATFORM=ELF PLATFORM=ELF...

Exit status 0 if every firmware passes and all print the same checksums, else 1.
"""

from __future__ import annotations

import re
import sys

from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

TIMEOUT_S = 300
CHECKSUM = re.compile(r"^run (\d+): checksum ([0-9a-f]{8})$", re.MULTILINE)


def main(programs: list[str]) -> int:
    results = {program: checksums(program) for program in programs}
    for program, sums in results.items():
        sys.stdout.write(f"{program.rpartition('/')[2]}: {' '.join(sums) or 'no checksum'}\n")
    if len(programs) < 2 or not all(results.values()):
        sys.stdout.write("nothing to compare\n")
        return 1
    if len({tuple(sums) for sums in results.values()}) != 1:
        sys.stdout.write("the checksums differ\n")
        return 1
    return 0


def checksums(program: str) -> list[str]:
    """What a firmware prints, run by run; nothing if it could not be run."""
    platform, _, elf = program.partition("=")
    lines: list[str] = []
    status = simulate(load_platform(platform), elf, TIMEOUT_S, heard=lines.append)
    found = CHECKSUM.findall("\n".join(lines))
    if not found:
        sys.stdout.write(f"{program}: exit status {status}\n")
    return [text for _, text in found]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
