"""Reports how far a long computation is, by log records of the logger ``tilewright.base.progress``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")

LOGGER = "tilewright.base.progress"


def progress(stage: str, done: int, total: int) -> None:
    """Say that ``done`` of ``total`` parts of a stage are done; the record carries all three."""
    facts = {"stage": stage, "done": done, "total": total}
    logging.getLogger(LOGGER).debug("%s: %d of %d", stage, done, total, extra=facts)


def tracked(stage: str, items: Sequence[T]) -> Iterator[T]:
    """The items, with progress told before each and behind the last."""
    for done, item in enumerate(items):
        progress(stage, done, len(items))
        yield item
    progress(stage, len(items), len(items))
