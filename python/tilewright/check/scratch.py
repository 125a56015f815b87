"""Rules on scratch: what a kernel needs is there, for it alone."""

from __future__ import annotations

from collections.abc import Iterable

from tilewright.check.expand import Site, scratch_of
from tilewright.check.names import Facts
from tilewright.check.rules import Log, Rule
from tilewright.plan import Buffer, BufferKind, Kernel


def check_scratch(facts: Facts, every: Iterable[Site], log: Log) -> None:
    """Scratch buffers are of that kind, each named once by a call, and hold what the kernel needs."""
    for site in every:
        if isinstance(site.step, Kernel):
            _check_kernel(facts, site.step, site, log)


def _check_kernel(facts: Facts, kernel: Kernel, site: Site, log: Log) -> None:
    names = scratch_of(kernel)
    if len(set(names)) < len(names):
        log.report(Rule.SCRATCH, f"one scratch buffer twice among {', '.join(names)}", site.place)
    for name in names:
        kind = facts.buffers[name].kind
        if kind is not BufferKind.SCRATCH:
            log.report(Rule.SCRATCH, f"{name} is no scratch, but of kind {kind.value}", site.place)
    for name, needed in zip(kernel.scratch, kernel.scratch_bytes, strict=True):
        size = _row_bytes(facts.buffers[name])
        if size < needed:
            log.report(Rule.SCRATCH, f"{name} has {size} bytes in a row, the kernel needs {needed}", site.place)
    split = kernel.split
    if split is not None and split.scratch_bytes != kernel.scratch_bytes:
        message = f"each core has {split.scratch_bytes} bytes of scratch, needs {kernel.scratch_bytes}"
        log.report(Rule.SCRATCH, message, site.place)


def _row_bytes(buffer: Buffer) -> int:
    """Bytes of the buffer's elements where these are bytes side by side, as kernels take scratch to be; else 0."""
    if buffer.dtype != "uint8" or buffer.strides_bytes != (1,):
        return 0
    return min(buffer.shape[0], buffer.size_bytes)
