"""Which tests continuous integration may leave out, and why; any other skip fails it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

ALLOWED: Mapping[str, str] = {
    r"GVSoC": "GVSoC is in no package, so machines of continuous integration lack it",
    r"TILEWRIGHT_CORPUS|got empty parameter set for \(network\)": (
        "networks that belong to others are no part of the project"
    ),
    r"needs chromium and chromedriver": "Ubuntu has Chromium as a snap only",
    r"onnxruntime before 1\.24": "the newest onnxruntime for Python 3.10 has that defect",
    r"the interpreter has development versions only": (
        "the package tflite-micro is a nightly build; its vectors are stored, and tests compare with these"
    ),
    r"needs a mount namespace of its own": "containers without the right to mount",
}
"""Part of a skip's reason (a regular expression) to why it may happen."""


def unexpected(reasons: Iterable[tuple[str, str]]) -> list[str]:
    """Lines for skips that nothing allows, from pairs of a test's name and the reason that it gave."""
    return [
        f"{test}: {reason}" for test, reason in reasons if not any(re.search(pattern, reason) for pattern in ALLOWED)
    ]
