"""Runs a command that must fail: exit status 1, and output that matches a pattern.

python expect_failure.py PATTERN COMMAND...
"""

from __future__ import annotations

import re
import subprocess
import sys


def main(pattern: str, *command: str) -> int:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    sys.stdout.write(done.stdout)
    if done.returncode != 1:
        sys.stdout.write(f"exit status {done.returncode}, expected 1\n")
        return 1
    if not re.search(pattern, done.stdout, re.DOTALL):
        sys.stdout.write(f"the output does not match '{pattern}'\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
