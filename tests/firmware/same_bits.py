"""Runs golden firmwares of one network and compares the checksums of their outputs.

python same_bits.py PLATFORM=ELF PLATFORM=ELF...

Exit status 0 if every firmware passes and all print the same checksums, else 1.
"""

from __future__ import annotations

import re
import subprocess
import sys

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
    command = [sys.executable, "-m", "tilewright", "simulate", "--platform", platform, "--elf", elf, "--timeout", "300"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not CHECKSUM.search(done.stdout):
        sys.stdout.write(f"{program}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return [text for _, text in CHECKSUM.findall(done.stdout)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
