"""Rule of layouts: every object file of the program was compiled with the headers of this plan."""

from __future__ import annotations

from collections.abc import Iterator

from tilewright.firmware.findings import Finding
from tilewright.firmware.image import Image
from tilewright.plan import Plan
from tilewright.plan.layout_hash import layout_hash

SECTION = ".tilewright.layout"
"""The section to which every file that includes a model's header adds ``<model>:<layout hash>``; it is not loaded."""


def wrong_layouts(image: Image, plan: Plan) -> Iterator[Finding]:
    """A finding if the program has a layout hash of the model that is not the plan's, or none at all."""
    wanted = f"{plan.name}:{layout_hash(plan)}"
    found = [record for record in _records(image) if record.startswith(f"{plan.name}:")]
    if not found:
        yield Finding("layout", SECTION, None, wanted, "no record: the linker script discards the section, or LTO did")
    for record in found:
        if record != wanted:
            what = f"{record}, from an object that was compiled with another {plan.name}.h"
            yield Finding("layout", SECTION, None, wanted, what)


def _records(image: Image) -> list[str]:
    texts = (item.content for item in image.sections if item.name == SECTION)
    return sorted({part.decode("ascii", "replace") for text in texts for part in text.split(b"\0") if part})
