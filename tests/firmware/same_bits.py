"""Runs golden firmwares of one network and compares the checksums of their outputs.

python same_bits.py PLATFORM=ELF PLATFORM=ELF...

Exit status 0 if every firmware passes and all print the same checksums, else 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence

from tilewright.platform import load_platform
from tilewright.tools.simulate import simulate

TIMEOUT_S = 300
CHECKSUM = re.compile(r"^run (\d+): checksum ([0-9a-f]{8})$", re.MULTILINE)


def main(programs: list[str]) -> int:
    return 0 if are_same({program.rpartition("/")[2]: checksums(output_of(program)) for program in programs}) else 1


def are_same(results: Mapping[str, Sequence[str]]) -> bool:
    """Whether at least two firmwares printed checksums, by the firmware's name, and all the same; prints them."""
    for program, sums in results.items():
        sys.stdout.write(f"{program}: {' '.join(sums) or 'no checksum'}\n")
    if len(results) < 2 or not all(results.values()):
        sys.stdout.write("nothing to compare\n")
        return False
    if len({tuple(sums) for sums in results.values()}) != 1:
        sys.stdout.write("the checksums differ\n")
        return False
    return True


def checksums(output: str) -> list[str]:
    """The checksums that a firmware printed, run by run."""
    return [text for _, text in CHECKSUM.findall(output)]


def output_of(program: str) -> str:
    """What a firmware, PLATFORM=ELF, prints."""
    platform, _, elf = program.partition("=")
    lines: list[str] = []
    status = simulate(load_platform(platform), elf, TIMEOUT_S, heard=lines.append)
    if status:
        sys.stdout.write(f"{program}: exit status {status}\n")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
