"""Copies an npz file with one element, of its second run, changed by one.

python change_byte.py FROM TO
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

RUN, ELEMENT = 1, 3


def main(source: str, target: str) -> int:
    with np.load(source) as stored:
        ((name, array),) = stored.items()
    array[RUN].reshape(-1)[ELEMENT] ^= 1
    np.savez(Path(target), **{name: array})
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
