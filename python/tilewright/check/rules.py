"""The rules that a plan must keep, and the record of those that it breaks."""

from __future__ import annotations

from dataclasses import field
from enum import Enum

from tilewright.base.lazy_dataclass import dataclass


class Rule(Enum):
    """What a sound plan keeps; docs/reference/plan.md lists the rules by these names."""

    UNKNOWN_NAME = "unknown-name"
    DUPLICATE_NAME = "duplicate-name"
    MALFORMED = "malformed"
    TOO_LARGE = "too-large"
    CIRCULAR_VIEW = "circular-view"
    BUFFER_SIZE = "buffer-size"

    UNPLACED = "unplaced"
    PLACED_TWICE = "placed-twice"
    CALLER_BUFFER = "caller-buffer"
    POOL_CANDIDATE = "pool-candidate"
    POOL_HOLDS = "pool-holds"
    ALIGNMENT = "alignment"
    CAPACITY = "capacity"
    POOL_USE = "pool-use"
    AT_OFFSET = "at-offset"
    TRAILS = "trails"
    OVERLAP = "overlap"
    PROFILE = "profile"
    GUARDS = "guards"
    INTERFACE = "interface"
    FEED = "feed"
    SLIDE = "slide"
    STATE = "state"
    LAYER_FACTS = "layer-facts"

    DOUBLE_BEGIN = "double-begin"
    DOUBLE_END = "double-end"
    NEVER_ENDED = "never-ended"
    OUTSIDE_LIFETIME = "outside-lifetime"

    CORE_REACH = "core-reach"
    LINK_REACH = "link-reach"
    LINK_ALIGNMENT = "link-alignment"
    LINK_ROUND_UP = "link-round-up"
    FORBIDDEN_WRITE = "forbidden-write"
    SPLIT = "split"
    SCRATCH = "scratch"
    WORDS = "words"

    MAP = "map"
    BOX = "box"
    COVERAGE = "coverage"
    WRITE_ORDER = "write-order"

    RECTANGLE = "rectangle"
    COPY_SHAPE = "copy-shape"
    COPY_ORIGIN = "copy-origin"

    TOKEN_SCOPE = "token-scope"
    TOKEN_NOT_STARTED = "token-not-started"
    TOKEN_REUSED = "token-reused"
    NEVER_AWAITED = "never-awaited"
    END_BEFORE_WAIT = "end-before-wait"
    READ_BEFORE_WAIT = "read-before-wait"
    OVERWRITTEN_BEFORE_WAIT = "overwritten-before-wait"
    DESTINATION_BUSY = "destination-busy"

    SLOT_CONTENT = "slot-content"
    UNWRITTEN_READ = "unwritten-read"
    PARTIAL_READ = "partial-read"
    REDUCTION_ORDER = "reduction-order"
    WRITTEN_TWICE = "written-twice"
    OUTPUT_INCOMPLETE = "output-incomplete"


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule: which, what exactly, and where in the plan."""

    rule: Rule
    message: str
    where: str

    def __str__(self) -> str:
        return f"{self.rule.value}: {self.message} ({self.where})"


@dataclass(slots=True)
class Log:
    """Collects violations; a rule is reported once for each place, however many blocks break it there."""

    violations: list[Violation] = field(default_factory=list)
    seen: set[tuple[Rule, str]] = field(default_factory=set)

    def report(self, rule: Rule, message: str, place: str, block: int | None = None) -> None:
        """Record a violation at a place; the block is named but does not make another place."""
        if (rule, place) in self.seen:
            return
        self.seen.add((rule, place))
        where = place if block is None else f"{place}, block {block}"
        self.violations.append(Violation(rule, message, where))
