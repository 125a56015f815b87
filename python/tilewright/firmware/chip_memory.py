"""The RAM and flash that a program takes of a chip, by use, and the bytes that are left of each region."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tilewright.base.lazy_dataclass import dataclass
from tilewright.firmware.findings import INSTRUCTIONS, CheckedModel, Finding, Linked
from tilewright.firmware.image import Image, Section
from tilewright.plan import Access


@dataclass(frozen=True, slots=True)
class ChipMemory:
    """Bytes of a chip's memory that a program takes.

    Attributes:
        pools: writable pools of the models, each array once.
        stack: the stack of the deepest run of a model.
        static: all other writable data of the program, the inputs and outputs of models among them.
        code: functions below the models' runs, outside of the port, and the read-only data that they name.
        constants: read-only pools of the models.
        other: code and read-only data of everything else, with the initial values of writable data.
        left: (region, its size, bytes that nothing takes) where regions are known; stacks count as not taken.
    """

    pools: int
    stack: int
    static: int
    code: int
    constants: int
    other: int
    left: tuple[tuple[str, int, int], ...]

    @property
    def ram(self) -> int:
        """All writable memory, with the stack of a run."""
        return self.pools + self.stack + self.static

    @property
    def flash(self) -> int:
        """All read-only memory."""
        return self.code + self.constants + self.other

    def amounts(self) -> Mapping[str, int]:
        """Bytes by the names that a budget can have."""
        return {
            "ram": self.ram,
            "flash": self.flash,
            "stack": self.stack,
            "code": self.code,
            "constants": self.constants,
        }


def chip_memory(image: Image, models: Sequence[CheckedModel], linked: Linked) -> ChipMemory:
    """The bytes of a program that was checked."""
    writable, read_only = _spans(image, models, Access.READ_WRITE), _spans(image, models, Access.READ_ONLY)
    pools = sum(end - begin for begin, end in writable)
    outside = sum(end - begin for begin, end in writable if image.section_at(begin) is None)
    constants = sum(end - begin for begin, end in read_only)
    in_ram = sum(section.size_bytes for section in _taken(image) if section.is_writable)
    in_flash = sum(section.size_bytes for section in _taken(image) if not section.is_writable)
    code = sum(size for _, size in {item for model in models for item in model.code})
    copied = sum(size for _, size in image.copied)
    deferred = sum(end - begin for begin, end in read_only if image.section_at(begin) is None)
    return ChipMemory(
        pools=pools,
        stack=max((model.calls.stack_bytes for model in models), default=0),
        static=in_ram - (pools - outside),
        code=code,
        constants=constants,
        other=in_flash + copied + deferred - code - constants,
        left=tuple(_left(image, linked, [*writable, *read_only])),
    )


def over_budget(memory: ChipMemory, budget: Sequence[tuple[str, int]]) -> Iterator[Finding]:
    """A finding for each amount of bytes that is above what the user allows."""
    amounts = memory.amounts()
    for name, most in budget:
        if name != INSTRUCTIONS and amounts[name] > most:
            yield Finding("budget", name, None, f"at most {most:,} bytes", f"{amounts[name]:,} bytes")


def _taken(image: Image) -> list[Section]:
    return [section for section in image.sections if section.is_allocated and section.size_bytes and not section.is_tls]


def _spans(image: Image, models: Sequence[CheckedModel], access: Access) -> list[tuple[int, int]]:
    """The addresses of the models' pools; bytes that several models share count once."""
    kinds = {(model.plan.name, pool.name): pool.access for model in models for pool in model.plan.pools}
    places = (place for model in models for place in model.pools)
    return sorted(
        {
            (place.address, place.address + place.size_bytes)
            for place in places
            if kinds[place.model, place.pool] is access
        }
    )


def _left(image: Image, linked: Linked, pools: Sequence[tuple[int, int]]) -> Iterator[tuple[str, int, int]]:
    sections = [(section.address, section.end) for section in _taken(image)]
    copied = [(address, address + size) for address, size in image.copied]
    pinned = [(begin, end) for begin, end in pools if image.section_at(begin) is None]
    for name, begin, end in linked.regions.spans:
        spans = (*sections, *copied, *pinned)
        used = sum(max(min(last, end) - max(first, begin), 0) for first, last in spans)
        yield name, end - begin, end - begin - used
